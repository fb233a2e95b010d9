"""The report: one HTML file that needs no network, in which only its own small script can run."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from verax.report import card, instances, parallel, texts
from verax.report.content import Content
from verax.report.words import style_sheet
from verax.results.render.html import findings_html
from verax.results.render.markup import Html, join, tag, visible
from verax.results.render.numbers import plural
from verax.results.roar import has_result, load_result
from verax.results.run import Run
from verax.store.files import replace_file
from verax.studies.masking.roar import roar_findings


class Section(NamedTuple):
    """A part of the page: its anchor, its heading, and the function that draws it (empty: left out)."""

    anchor: str
    title: str
    draw: Callable[[Content], Html]


INSTANCES = (
    Section("parallel", "Parallel sentences", parallel.section),
    Section("texts", "Free text, instance by instance", texts.section),
    Section("instances", "Instances", instances.section),
    Section("card", "Run card", card.section),
)
"""The sections below those of the studies."""


def write_report(folder: Path, out: Path | None = None, *, instances: int = 100) -> Path:
    """Write the report of a run.

    Args:
        folder: the run.
        out: the file to write, `report.html` in the folder by default; replaced as a whole or not at all.
        instances: number of instances that the page shows at most.

    Returns:
        The file that was written.
    """
    path = out or folder / "report.html"
    page = _roar_page(folder) if has_result(folder) else render(Run(folder), instances=instances)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, page.encode())
    return path


def render(run: Run, *, instances: int = 100) -> str:
    """The page of a run; the same run always gives the same characters."""
    content = Content(run, instances)
    footer = f"verax {run.manifest.verax} · {run.manifest.created}"
    return _page(run.name, _head(content), list(_sections(content)), footer, _problems(run))


def _roar_page(folder: Path) -> str:
    """The page of a finished ROAR: its areas and curves, and its recipe."""
    result = load_result(folder)
    findings = roar_findings([folder])
    model, data = Path(str(result.spec["base"])).name, str(result.spec["data"]["name"])
    facts = [plural(len(result.measures), "measure"), plural(int(result.cost["trainings"]), "training")]
    recipe = tag("pre", json.dumps(dict(result.spec), indent=1, ensure_ascii=False))
    sections = [
        ("masking", "Recursive ROAR", join(findings_html(findings), [tag("p", note) for note in findings.reading])),
        ("card", "Recipe", recipe),
    ]
    return _page(f"{model} on {data}", _title(model, data, facts), sections, f"seed {result.spec['seed']}")


def _page(
    title: str, head: Html, sections: Sequence[tuple[str, str, Html]], footer: str, problems: Html | None = None
) -> str:
    links = [tag("a", name, href=f"#{anchor}") for anchor, name, _ in sections]
    body = join(
        tag("a", "Skip to the content", href="#content", class_="skip-link"),
        tag("header", tag("div", head, tag("nav", links, aria_label="Sections")), class_="top"),
        tag("main", problems, [_section(*section) for section in sections], id="content"),
        tag("footer", tag("p", footer)),
    )
    return _document(title, body)


def _sections(content: Content) -> Iterator[tuple[str, str, Html]]:
    """Anchor, title and content of each section: the studies that apply, then the instances, then the card."""
    found = content.run.findings()
    for findings in found:
        yield findings.study.name, findings.study.title, findings_html(findings)
    if not found:
        yield (
            "leaderboard",
            "Leaderboard",
            tag("p", "This run holds no scores, so there is nothing to rank.", class_="note"),
        )
    for section in INSTANCES:
        html = section.draw(content)
        if html:
            yield section.anchor, section.title, html


def _section(anchor: str, title: str, html: Html) -> Html:
    return tag(
        "section",
        tag("h2", title, id=f"{anchor}-title"),
        html,
        id=anchor,
        aria_labelledby=f"{anchor}-title",
        class_=f"page {anchor}",
    )


def _problems(run: Run) -> Html | None:
    """What the reader must know before anything else: what could not be read, what is not finished."""
    if not run.problems:
        return None
    return tag("ul", [tag("li", line, dir="auto") for line in run.problems], class_="alarm", role="alert")


def _head(content: Content) -> Html:
    """What was run on what, and how much of it."""
    manifest = content.manifest
    counts = [plural(content.total, "instance"), plural(len(content.run.methods), "method")]
    counts.append(plural(len(content.run.metrics), "metric"))
    split = manifest.data.split
    return _title(manifest.model.name, manifest.data.name + (f" ({split})" if split else ""), counts)


def _title(model: str, data: str, facts: Sequence[str]) -> Html:
    named = tag("h1", tag("span", model, dir="auto"), tag("small", " on "), tag("span", data, dir="auto"))
    return tag("div", tag("p", "verax report", class_="brand"), named, tag("p", " · ".join(facts), class_="facts-line"))


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
