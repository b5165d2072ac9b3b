"""Agents of one request, by each of the real clients; each returns what an agent would see.

A client that is not installed has its test skipped.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import pytest

Ask = Callable[[str, str], Any]
KEY = "sk-of-nobody"


def library(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed")


def openai_chat(url: str, text: str) -> Any:
    with library("openai").OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        reply = client.chat.completions.create(model="m", messages=_said(text))
        return reply.model_dump()


def openai_chat_streamed(url: str, text: str) -> Any:
    with library("openai").OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        stream = client.chat.completions.create(model="m", messages=_said(text), stream=True)
        return [event.choices[0].delta.content for event in stream]


def openai_chat_async(url: str, text: str) -> Any:
    async def ask() -> Any:
        async with library("openai").AsyncOpenAI(
            base_url=f"{url}/v1", api_key=KEY, max_retries=0
        ) as client:
            reply = await client.chat.completions.create(model="m", messages=_said(text))
            return reply.model_dump()

    return asyncio.run(ask())


def openai_chat_async_streamed(url: str, text: str) -> Any:
    async def ask() -> Any:
        async with library("openai").AsyncOpenAI(
            base_url=f"{url}/v1", api_key=KEY, max_retries=0
        ) as client:
            stream = await client.chat.completions.create(
                model="m", messages=_said(text), stream=True
            )
            return [event.choices[0].delta.content async for event in stream]

    return asyncio.run(ask())


def openai_responses(url: str, text: str) -> Any:
    with library("openai").OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        return client.responses.create(model="m", input=text).output_text


def openai_responses_streamed(url: str, text: str) -> Any:
    with library("openai").OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        stream = client.responses.create(model="m", input=text, stream=True)
        return [event.type + getattr(event, "delta", "") for event in stream]


def anthropic(url: str, text: str) -> Any:
    with library("anthropic").Anthropic(base_url=url, api_key=KEY, max_retries=0) as client:
        reply = client.messages.create(model="m", max_tokens=9, messages=_said(text))
        return reply.model_dump()


def anthropic_streamed(url: str, text: str) -> Any:
    with (
        library("anthropic").Anthropic(base_url=url, api_key=KEY, max_retries=0) as client,
        client.messages.stream(model="m", max_tokens=9, messages=_said(text)) as stream,
    ):
        return [*stream.text_stream, stream.get_final_message().stop_reason]


def anthropic_async(url: str, text: str) -> Any:
    async def ask() -> Any:
        async with library("anthropic").AsyncAnthropic(
            base_url=url, api_key=KEY, max_retries=0
        ) as client:
            reply = await client.messages.create(model="m", max_tokens=9, messages=_said(text))
            return reply.model_dump()

    return asyncio.run(ask())


@cache
def bedrock(url: str) -> Any:
    """One client for all: to make one is slow."""
    return library("boto3").client(
        "bedrock-runtime",
        endpoint_url=url,
        region_name="eu-central-1",
        aws_access_key_id="of nobody",
        aws_secret_access_key="of nobody",  # noqa: S106 - of nobody
        config=library("botocore.config").Config(retries={"total_max_attempts": 1}),
    )


def converse(url: str, text: str) -> Any:
    reply = bedrock(url).converse(modelId="v.m-1:0", messages=_told(text))
    return reply["output"], reply["usage"], reply["stopReason"]


def converse_streamed(url: str, text: str) -> Any:
    return list(bedrock(url).converse_stream(modelId="v.m-1:0", messages=_told(text))["stream"])


def requests_json(url: str, text: str) -> Any:
    reply = library("requests").post(f"{url}/v1/chat/completions", json=_body(text), timeout=60)
    return reply.status_code, reply.json(), reply.headers["X-Request-Id"]


def requests_streamed(url: str, text: str) -> Any:
    with library("requests").post(
        f"{url}/v1/chat/completions", json=_body(text, stream=True), timeout=60, stream=True
    ) as reply:
        return list(reply.iter_content(None))


def requests_lines(url: str, text: str) -> Any:
    with library("requests").Session() as session:
        reply = session.post(
            f"{url}/v1/chat/completions", data=iter(_pieces(text)), timeout=60, stream=True
        )
        return list(reply.iter_lines(chunk_size=1))


def urllib3_whole(url: str, text: str) -> Any:
    with library("urllib3").PoolManager() as pool:
        reply = pool.request(
            "POST", f"{url}/v1/chat/completions", body=json.dumps(_body(text)).encode()
        )
        return reply.status, json.loads(reply.data)


def urllib3_streamed(url: str, text: str) -> Any:
    with library("urllib3").PoolManager() as pool:
        reply = pool.request(
            "POST",
            f"{url}/v1/chat/completions",
            body=json.dumps(_body(text, stream=True)),
            preload_content=False,
        )
        chunks = list(reply.stream())
        reply.release_conn()
        return chunks


def httpx_json(url: str, text: str) -> Any:
    reply = library("httpx").post(timeout=60, url=f"{url}/v1/chat/completions", json=_body(text))
    return reply.status_code, reply.json()


def httpx2_streamed(url: str, text: str) -> Any:
    with library("httpx2").stream(
        "POST", f"{url}/v1/chat/completions", json=_body(text, stream=True), timeout=60
    ) as reply:
        return list(reply.iter_raw())


def aiohttp_json(url: str, text: str) -> Any:
    async def ask() -> Any:
        async with (
            library("aiohttp").ClientSession() as session,
            session.post(f"{url}/v1/chat/completions", json=_body(text)) as reply,
        ):
            return reply.status, await reply.json(), reply.headers["X-Request-Id"]

    return asyncio.run(ask())


def aiohttp_streamed(url: str, text: str) -> Any:
    async def ask() -> Any:
        async with (
            library("aiohttp").ClientSession() as session,
            session.post(f"{url}/v1/chat/completions", json=_body(text, stream=True)) as reply,
        ):
            return [chunk async for chunk, _ in reply.content.iter_chunks() if chunk]

    return asyncio.run(ask())


def aiohttp_lines(url: str, text: str) -> Any:
    async def ask() -> Any:
        async with (
            library("aiohttp").ClientSession(f"{url}/") as session,
            session.post("/v1/chat/completions", data=json.dumps(_body(text, stream=True))) as got,
        ):
            return [line async for line in got.content]

    return asyncio.run(ask())


CLIENTS: tuple[Ask, ...] = (
    openai_chat, openai_chat_streamed, openai_chat_async, openai_chat_async_streamed,
    openai_responses, openai_responses_streamed, anthropic, anthropic_streamed, anthropic_async,
    converse, converse_streamed, requests_json, requests_streamed, requests_lines, urllib3_whole,
    urllib3_streamed, httpx_json, httpx2_streamed, aiohttp_json, aiohttp_streamed, aiohttp_lines,
)  # fmt: skip


def _said(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def _told(text: str) -> list[Any]:
    return [{"role": "user", "content": [{"text": text}]}]


def _body(text: str, *, stream: bool = False) -> dict[str, Any]:
    return {"model": "m", "messages": _said(text), "stream": stream}


def _pieces(text: str) -> Iterable[bytes]:
    whole = json.dumps(_body(text, stream=True)).encode()
    return (whole[:9], whole[9:])
