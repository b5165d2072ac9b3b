"""What the site needs beside its pages: the changelog, `llms.txt`, and a check of what it loads.

mkdocs counts every warning that is logged here, and fails the build.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

LOG = logging.getLogger("mkdocs.hooks.sopbench")
LOADS = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"?(https?:)?//|<link\b[^>]*>")
STYLE = re.compile(r"(?:@import|url\()\s*[\"']?(?:https?:)?//")
FIRST_SENTENCE = re.compile(r".*?[.!?](?=\s|$)", re.DOTALL)
CODE = re.compile(r"`[^`]+`")
KEY = "sopbench_pages"
BEHIND = (
    "changelog.md",
    "explanation/architecture.md",
    "explanation/follow-one-task.md",
    "explanation/performance.md",
    "reference/api/",
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the changelog, which lies outside of the folder of the pages."""
    text = (Path(config.docs_dir).parent / "CHANGELOG.md").read_text("utf-8")
    text = text.replace("](docs/", "](")
    files.append(File.generated(config, "changelog.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Take the backslash off a pipe in the code of a table: GitHub needs it, mkdocs shows it.

    Pages that few users look for stand behind the others in the search.
    """
    if page.file.src_uri.startswith(BEHIND):
        page.meta["search"] = {"boost": 0.3}
    lines = markdown.split("\n")
    return "\n".join(
        CODE.sub(lambda code: code[0].replace("\\|", "|"), line) if line.startswith("|") else line
        for line in lines
    )


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Remember the pages in the order of the navigation."""
    del files
    config.extra[KEY] = [page for page in nav.pages if page.file.src_uri != "changelog.md"]
    return nav


def on_post_build(config: MkDocsConfig) -> None:
    """Write `llms.txt`, and look for anything that a page would fetch from elsewhere."""
    site = Path(config.site_dir)
    (site / "llms.txt").write_text(llms_txt(config), encoding="utf-8")
    for path in site.rglob("*.html"):
        for fetched in fetched_from_elsewhere(path.read_text("utf-8")):
            LOG.warning("%s fetches from elsewhere: %s", path.relative_to(site), fetched)
    for path in site.rglob("*.css"):
        if STYLE.search(path.read_text("utf-8")):
            LOG.warning("%s fetches from elsewhere", path.relative_to(site))


def fetched_from_elsewhere(html: str) -> list[str]:
    """Return the tags that load something by an absolute address."""
    return [
        found[0]
        for found in LOADS.finditer(html)
        if not found[0].startswith("<link") or re.search(r"href=\"?(?:https?:)?//", found[0])
    ]


def llms_txt(config: MkDocsConfig) -> str:
    """Return the pages with what each is about, for readers that are models."""
    pages: list[Any] = config.extra[KEY]
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    section = None
    for page in pages:
        top = page.ancestors[-1].title if page.ancestors else "Start"
        if top != section:
            lines += ["", f"## {top}", ""]
            section = top
        about = _about(page)
        lines.append(f"- [{page.title}]({page.url}){f': {about}' if about else ''}")
    return "\n".join(lines) + "\n"


def _about(page: Page) -> str:
    """Return the first sentence of a page, without its marks."""
    for paragraph in (page.markdown or "").split("\n\n"):
        if paragraph.strip() and not paragraph.lstrip().startswith(
            ("#", "|", "`", ":::", "-", "!")
        ):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
            text = re.sub(r"[`*]", "", text).removeprefix("Context. ")
            found = FIRST_SENTENCE.match(text)
            return found[0] if found else text
    return ""
