"""botocore, below boto3: Bedrock with `converse`, `converse_stream`, `invoke_model`.

The door is `URLLib3Session.send`, the same from botocore 1.31 to 1.44. It is above urllib3, which
would see the same requests: an exception that we raise there would be one more that botocore
repeats.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

from pytest_sopbench._replay.seams.take import Door, Seam, Take, beneath, tape_for
from pytest_sopbench._replay.seams.urllib3_pools import plain_headers, read_body, served
from pytest_sopbench._replay.seams.wire import tap
from pytest_sopbench._replay.tape.exchange import Request, Response


def _doors(module: Any) -> tuple[Door, ...]:
    return (Door(owner=module.URLLib3Session, name="send", through=_seen),)


def _seen(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def send(self: Any, request: Any) -> Any:
        tape = tape_for(request.url)
        if tape is None:
            return original(self, request)
        request.body, sent = read_body(request.body)
        headers = plain_headers(request.headers)
        asked = Request(method=request.method, url=request.url, headers=headers, body=sent)
        answer = tape.answer(asked)
        if answer is not None:
            return _served(answer, request)
        try:
            with beneath():
                live = original(self, request)
        except BaseException as error:
            tape.lost(asked, error)
            raise
        take = Take(tape, asked, status=live.status_code, headers=live.headers.items())
        if request.stream_output:
            tap(live.raw, take)
        else:
            take.add(live.content)
            take.end()
        return live

    return send


def _served(answer: Response, request: Any) -> Any:
    raw = served(answer, method=request.method, url=request.url, preload=False, decode=False)
    types = import_module("botocore.awsrequest")
    response = types.AWSResponse(request.url, raw.status, raw.headers, raw)
    if not request.stream_output:
        # Read here, as botocore does, so that the reply can be asked for its content at any time.
        _ = response.content
    return response


BOTOCORE = Seam(module="botocore.httpsession", library="botocore", doors=_doors)
