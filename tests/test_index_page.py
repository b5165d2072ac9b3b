"""The page that an index shows has the text of the README, and links that lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import index_page
import pytest

README = Path(__file__).parents[1] / "README.md"
SOURCE = "https://git.example.com/team/pytest-sopbench"


def test_links_lead_to_the_tag_of_the_release() -> None:
    text = "[Pages](docs/index.md), ![a picture](docs/a.png), [`c`](docs/c.md#part)"

    page = index_page.absolute(text, SOURCE, "1.0.0")

    assert (
        f"[Pages]({SOURCE}/blob/v1.0.0/docs/index.md), "
        f"![a picture]({SOURCE}/raw/v1.0.0/docs/a.png), "
        f"[`c`]({SOURCE}/blob/v1.0.0/docs/c.md#part)"
    ) == page


@pytest.mark.parametrize("version", ["1.0.1.dev3", "0"])
def test_a_version_without_a_tag_leads_to_the_newest_state(version: str) -> None:
    page = index_page.absolute("[Pages](docs/index.md)", SOURCE, version)

    assert f"[Pages]({SOURCE}/blob/HEAD/docs/index.md)" == page


@pytest.mark.parametrize("text", ["[a](https://example.com/b)", "[part](#part)", '{"a": [(1, 2)]}'])
def test_what_leads_nowhere_in_the_repository_stays(text: str) -> None:
    assert text == index_page.absolute(text, SOURCE, "1.0.0")


def test_without_an_address_the_page_is_the_readme() -> None:
    assert README.read_text("utf-8") == index_page.absolute(README.read_text("utf-8"), "", "1.0.0")


def test_no_link_of_the_readme_stays_relative() -> None:
    page = index_page.absolute(README.read_text("utf-8"), SOURCE, "1.0.0")

    assert [] == re.findall(r"\]\((?!https://)[^)]*\)", page)
    assert page.count(SOURCE) == README.read_text("utf-8").count("](")


def test_the_build_sets_the_field_that_the_project_leaves_open() -> None:
    metadata = {"urls": {"Source": SOURCE}, "version": "1.0.0"}
    hook = index_page.IndexPage(str(README.parent), {})

    hook.update(metadata)

    readme = metadata["readme"]
    assert isinstance(readme, dict)
    assert "text/markdown" == readme["content-type"]
    assert f"{SOURCE}/blob/v1.0.0/docs/tutorial.md" in readme["text"]
