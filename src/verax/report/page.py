"""The report: one HTML file that needs no network, in which nothing but its own small script can run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from verax.report import card, crosslingual, instances, leaderboard, masking, nle, unified
from verax.report.content import Content, content_of, entry, written
from verax.report.words import style_sheet
from verax.results.render.markup import Html, join, tag, visible
from verax.results.render.numbers import plural
from verax.store.files import replace_file
from verax.store.read import Stored, read_run


class Section(NamedTuple):
    """A part of the page: its anchor, its heading, and the function that draws it (empty: left out)."""

    anchor: str
    title: str
    draw: Callable[[Content], Html]


SECTIONS = (
    Section("leaderboard", "Leaderboard", leaderboard.section),
    Section("masking", "Recursive masking", masking.section),
    Section("unified", "Kinds and properties", unified.section),
    Section("crosslingual", "Across languages", crosslingual.section),
    Section("nle", "Free-text explanations", nle.section),
    Section("instances", "Instances", instances.section),
    Section("card", "Run card", card.section),
)


def write_report(folder: Path, out: Path | None = None, *, instances: int = 100) -> Path:
    """Write the report of a run.

    Args:
        folder: the run.
        out: the file to write, `report.html` in the folder by default; replaced as a whole or not at all.
        instances: how many instances the page shows at most.

    Returns:
        The file that was written.
    """
    path = out or folder / "report.html"
    page = render(read_run(folder), instances=instances)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, page.encode())
    return path


def render(stored: Stored, *, instances: int = 100) -> str:
    """The page of a run; the same run always gives the same characters."""
    content = content_of(stored, instances)
    drawn = [(section, html) for section in SECTIONS if (html := section.draw(content))]
    links = [tag("a", section.title, href=f"#{section.anchor}") for section, _ in drawn]
    body = join(
        tag("a", "To the content", href="#content", class_="skip-link"),
        tag("header", tag("div", _head(content), tag("nav", links, aria_label="Sections")), class_="top"),
        tag(
            "main",
            [
                tag(
                    "section",
                    tag("h2", section.title, id=f"{section.anchor}-title"),
                    html,
                    id=section.anchor,
                    aria_labelledby=f"{section.anchor}-title",
                    class_=f"page {section.anchor}",
                )
                for section, html in drawn
            ],
            id="content",
        ),
        tag("footer", tag("p", f"verax {written(content.card, 'verax')} · {written(content.card, 'created')}")),
    )
    return _document(_title(content), body)


def _title(content: Content) -> str:
    return f"{written(content.card, 'model', 'name')} on {written(content.card, 'data', 'name')}"


def _head(content: Content) -> Html:
    """What was run on what, and how much of it."""
    counts = [
        plural(len(content.instances), "instance"),
        *([] if content.only_texts else [plural(len(content.methods), "method")]),
        *([plural(len(content.setups), "set-up")] if content.setups else []),
        plural(len(content.metrics), "metric"),
    ]
    split = entry(content.card, "data", "split")
    name = written(content.card, "data", "name") + (f" ({split})" if split else "")
    return tag(
        "div",
        tag("p", "verax report", class_="brand"),
        tag(
            "h1",
            tag("span", written(content.card, "model", "name"), dir="auto"),
            tag("small", " on "),
            tag("span", name, dir="auto"),
        ),
        tag("p", " · ".join(counts), class_="facts-line"),
    )


def _assets(ending: str) -> list[str]:
    """The page's own style sheets or scripts, in the order of their names."""
    folder = resources.files("verax.report") / "assets"
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(ending))
    return [(folder / name).read_text(encoding="utf-8") for name in names]


def _hash(code: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


def _document(title: str, body: Html) -> str:
    """The whole file. Its policy allows exactly the style and the script below, by hash, and no request at all."""
    style = "\n".join([*_assets(".css"), style_sheet()])
    script = "\n".join(_assets(".js"))
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    head = join(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=Html(policy)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", visible(title), " · verax"),
        tag("style", Html(style)),
    )
    script_tag = tag("script", Html(script))
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body>{body}{script_tag}</body>\n</html>\n'
