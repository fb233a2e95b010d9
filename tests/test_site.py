"""The documentation as a site: it builds without a warning, loads nothing from elsewhere, and fits small screens.

`VERAX_SITE` names a site that is checked in place of one that is built here.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import nullcontext
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import hooks
import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

import verax
from support.browser import Browser

ROOT = Path(__file__).parent.parent
LOADED = {
    ("audio", "src"),
    ("embed", "src"),
    ("iframe", "src"),
    ("image", "href"),
    ("img", "src"),
    ("img", "srcset"),
    ("input", "src"),
    ("link", "href"),
    ("object", "data"),
    ("script", "src"),
    ("source", "src"),
    ("source", "srcset"),
    ("use", "href"),
    ("video", "poster"),
    ("video", "src"),
}
"""Attributes whose address a page loads, which a link does not."""
SHOWN = (
    "index.html",
    "notebooks/quick-start.html",
    "notebooks/interactions.html",
    "api.html",
    "metrics.html",
    "404.html",
)
IN_CSS = re.compile(r"url\(\s*['\"]?([^)'\"]+)|@import\s+['\"]([^'\"]+)")


class Resources(HTMLParser):
    """The addresses that a page loads, also those in its styles, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if (tag, name) in LOADED:
                self.addresses.append(value or "")
            elif name == "style":
                self.addresses += in_css(value or "")
        if tag == "link" and dict(attrs).get("rel") == "canonical":
            self.addresses.pop()

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.lasttag == "style":
            self.addresses += in_css(data)


def in_css(text: str) -> list[str]:
    """The addresses that a style sheet loads."""
    return [one or other for one, other in IN_CSS.findall(text)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built in strict mode: a broken link or anchor, or a page that the navigation lacks, fails here."""
    if given := os.environ.get("VERAX_SITE"):
        return ROOT / given
    folder = tmp_path_factory.mktemp("site")
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    made = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", folder],
        cwd=ROOT,
        env=quiet,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return folder


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("[there](other.md#a-heading)", True),
        ("[nowhere](no-such.md)", False),
        ("[nowhere](other.md#no-such-heading)", False),
        ("[nowhere](../NO-SUCH.md)", False),
    ],
)
def test_a_broken_link_fails_the_build(text: str, holds: bool, tmp_path: Path) -> None:
    """With the settings of the site, and two pages of its own."""
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "index.md").write_text(text, "utf-8")
    (pages / "other.md").write_text("# A heading", "utf-8")
    changed = {"docs_dir": str(pages), "site_dir": str(tmp_path / "site"), "hooks": [], "plugins": [], "extra_css": []}
    config = load_config(str(ROOT / "mkdocs.yml"), **changed)
    with nullcontext() if holds else pytest.raises(Abort):
        build(config)


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    found = {path: Resources(path.read_text("utf-8")).addresses for path in site.rglob("*.html")}
    found |= {path: in_css(path.read_text("utf-8")) for path in site.rglob("*.css")}
    assert len(found) > 100
    assert sum(map(len, found.values())) > 500
    outside = [
        (path.name, address)
        for path, addresses in found.items()
        for address in addresses
        if urlsplit(address).scheme not in {"", "data"} or address.startswith("//")
    ]
    assert outside == []
    local = {
        path.parent / unquote(urlsplit(address).path)
        for path, addresses in found.items()
        for address in addresses
        if urlsplit(address).path and not address.startswith(("data:", "/"))
    }
    assert [path for path in local if not path.is_file()] == []


def test_pages_have_nothing_for_which_scripts_of_the_theme_fetch(site: Path) -> None:
    """They would get mermaid for diagrams, and facts of a repository; other hosts in them are in comments only."""
    triggers = re.compile(r'class="[^"]*\bmermaid\b|data-md-component="source"')
    assert [path.name for path in site.rglob("*.html") if triggers.search(path.read_text("utf-8"))] == []
    scripts = "".join(path.read_text("utf-8") for path in (site / "assets" / "javascripts").glob("*.js"))
    fetched = set(re.findall(r"[\"'`]https?://([\w.-]+)", scripts))
    assert fetched <= {"unpkg.com", "api.github.com", "www.w3.org"}


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("page", SHOWN)
def test_a_page_asks_no_other_place_and_fits(page: str, width: int, site: Path, browser: Browser) -> None:
    browser.open(site / page, width=width)
    assert [url for url in browser.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert browser.ask("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_every_public_name_is_documented_and_rendered(site: Path) -> None:
    page = (site / "api.html").read_text("utf-8")
    names = {*verax.__all__, *hooks.PUBLIC.findall((ROOT / "docs" / "api.md").read_text("utf-8"))}
    assert [name for name in names if f'id="verax.{name}"' not in page] == []
    text = Resources(page).text
    assert text.count("Parameters:") > 15
    assert "Args:" not in text


def test_notebooks_are_shown_with_their_outputs(site: Path) -> None:
    for path in (ROOT / "docs" / "notebooks").glob("*.ipynb"):
        page = (site / "notebooks" / f"{path.stem}.html").read_text("utf-8")
        assert '<div class="output">' in page
        assert 'href="own-model-and-data.html"' in page
