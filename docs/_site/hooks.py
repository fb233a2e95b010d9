"""How the site is made from Markdown that is also read in the repository: navigation, links, notebooks, names."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
from notebooks import markdown, read

DOCS = Path(__file__).parent.parent
ROOT = DOCS.parent
OUTSIDE = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
"""Pages of the repository's root that are part of the site."""
LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(#[^)\s]*)?(?=\))")
WHOLE_LINK = re.compile(r"\[([^\]\[]+)\]\((\.\./[^)\s#:]+)\)")
LISTED = re.compile(r"^(?:- |\| )\[`?([^\]`]+)`?\]\(([^)\s#:]+)\)", re.M)
"""A page in an index: the first link of an item of a list or of a row of a table."""
FENCE = re.compile(r"^(```\w+) (\S+)$", re.M)
PUBLIC = re.compile(r"^\| `([\w.]+)` \|.*$", re.M)
"""A name that is documented; one with dots is not in `verax` itself."""

Nav = list[dict[str, Any]]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the navigation from docs/README.md."""
    config.nav = navigation()
    return config


def navigation() -> Nav:
    """The sections of docs/README.md, with the pages that each lists; those below a third-level heading as a group."""
    _, *sections = re.split(r"^## ", (DOCS / "README.md").read_text("utf-8"), flags=re.M)
    nav: Nav = [{"Home": "README.md"}]
    for section in sections:
        title, _, body = section.partition("\n")
        own, *groups = re.split(r"^### ", body, flags=re.M)
        pages = listed(own)
        for group in groups:
            name, _, items = group.partition("\n")
            pages.append({name: listed(items)})
        if pages:
            nav.append({title: pages})
    return nav


def listed(index: str) -> Nav:
    """The pages that an index lists; a folder's README brings those that it lists itself."""
    pages: Nav = []
    for title, link in LISTED.findall(index):
        path = in_site(PurePosixPath(link))
        if path.name == "README.md":
            inner = LISTED.findall((DOCS / path).read_text("utf-8"))
            pages.append({title: [str(path), *({name: str(path.parent / page)} for name, page in inner)]})
        else:
            pages.append({title: str(path)})
    return pages


def in_site(path: PurePosixPath) -> PurePosixPath:
    """Where a file of the repository is on the site; both paths are relative to docs/."""
    inside = PurePosixPath(os.path.normpath(path).removeprefix("../"))
    return inside.with_suffix(".md") if inside.suffix == ".ipynb" else inside


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root, and notebooks as Markdown."""
    for name in OUTSIDE:
        text = LINK.sub(lambda link: link[0].removeprefix("docs/"), (ROOT / name).read_text("utf-8"))
        files.append(File.generated(config, name, content=text))
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        files.remove(file)
        path = in_site(PurePosixPath(file.src_uri))
        files.append(File.generated(config, str(path), content=markdown(read(DOCS / file.src_uri))))
    return files


def on_page_markdown(text: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to pages of the site, show the names of files, and document the public names.

    Of a file that is in the repository and not on the site, such as code, the path is shown in place of the link.
    """
    folder = PurePosixPath(page.file.src_uri).parent
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]

    def link(found: re.Match[str]) -> str:
        return os.path.relpath(in_site(folder / found[1]), folder) + (found[2] or "")

    def shown(found: re.Match[str]) -> str:
        path = os.path.relpath((DOCS / folder / found[2]).resolve(), ROOT)
        inside = path.startswith("docs/") or path in OUTSIDE or not (ROOT / path).is_file()
        return found[0] if inside else f"{found[1]} (`{path}`)"

    text = LINK.sub(link, WHOLE_LINK.sub(shown, text))
    text = FENCE.sub(r'\1 title="\2"', text)
    return documented(text) if page.file.src_uri == "api.md" else text


def documented(text: str) -> str:
    """The page of the Python interface, with the documentation of the names of a section below their table."""
    sections = []
    for section in re.split(r"(?=^## )", text, flags=re.M):
        names = PUBLIC.findall(section)
        linked = PUBLIC.sub(lambda row: row[0].replace(f"`{row[1]}`", f"[`{row[1]}`](#verax.{row[1]})", 1), section)
        sections.append(linked + "".join(f"\n::: verax.{name}\n" for name in names))
    return "".join(sections)
