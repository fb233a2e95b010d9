"""The report: one HTML file that needs no network, in which only its own small script can run."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path

from verax.report import card, instances, parallel, texts
from verax.report.content import Content
from verax.report.words import style_sheet
from verax.results.render.html import findings_html, verdict_html
from verax.results.render.markup import Html, join, tag, visible
from verax.results.render.numbers import plural
from verax.results.roar import has_result, load_result
from verax.results.run import Run
from verax.results.study import Findings
from verax.store.files import replace_file
from verax.store.verify import signed_page
from verax.studies.leaderboard.conclusion import conclusion
from verax.studies.masking.roar import roar_findings

REPORT = "verax report"
SECTIONS: tuple[tuple[str, str, Callable[[Content], Html]], ...] = (
    ("parallel", "Parallel sentences", parallel.section),
    ("texts", "Free text, instance by instance", texts.section),
    ("instances", "Instances", instances.section),
    ("card", "Run card", card.section),
)
"""Sections below those of the studies: anchor, heading, and the function that draws it; an empty one is left out."""


def write_report(folder: Path, out: Path | None = None, *, instances: int = 100, run: Run | None = None) -> Path:
    """Write the report of a run, atomically, and return its path.

    Args:
        out: the file to write; `report.html` in the folder by default.
        instances: largest number of instances on the page.
    """
    path = out or folder / "report.html"
    page = _roar_page(folder) if has_result(folder) else render(run or Run(folder), instances=instances)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, signed_page(page))
    return path


def render(run: Run, *, instances: int = 100) -> str:
    """The page of a run; the same run always gives the same characters."""
    content = Content(run, run.instances.ids[:instances])
    return _page(run.name, head(run), list(_sections(content)), made_by(run), banners(run))


def made_by(run: Run) -> str:
    """The version that computed a run, and when."""
    return f"verax {run.manifest.verax} · {run.manifest.created}"


def _roar_page(folder: Path) -> str:
    """The page of a finished ROAR: its areas and curves, and its recipe."""
    result = load_result(folder)
    model, data = Path(str(result.spec["base"])).name, str(result.spec["data"]["name"])
    facts = [plural(len(result.measures), "measure"), plural(int(result.cost["trainings"]), "training")]
    recipe = tag("pre", json.dumps(dict(result.spec), indent=1, ensure_ascii=False))
    sections = [("masking", "Recursive ROAR", findings_html(roar_findings([folder]))), ("card", "Recipe", recipe)]
    return _page(f"{model} on {data}", _title(model, data, " · ".join(facts)), sections, f"seed {result.spec['seed']}")


def _page(
    title: str, head: Html, sections: Sequence[tuple[str, str, Html]], footer: str, problems: Html | None = None
) -> str:
    links = [tag("a", name, href=f"#{anchor}") for anchor, name, _ in sections]
    body = join(
        tag("a", "Skip to the content", href="#content", class_="skip-link"),
        *top(head, links, "Sections"),
        tag("main", problems, [section_html(*section) for section in sections], id="content"),
        tag("footer", tag("p", footer)),
    )
    return _document(title, body)


def top(head: Html, links: Sequence[Html], name: str) -> tuple[Html, Html]:
    """The header of a page, and its navigation, which stays in view."""
    listed = tag("div", links, class_="scroll")
    return tag("header", tag("div", head), class_="top"), tag("nav", listed, aria_label=name, class_="bar")


def _sections(content: Content) -> Iterator[tuple[str, str, Html]]:
    """Anchor, title and content of each section: verdicts, the studies that apply, the instances, the card."""
    yield from study_sections(content.run)
    for anchor, title, draw in SECTIONS:
        if html := draw(content):
            yield anchor, title, html


def study_sections(run: Run) -> Iterator[tuple[str, str, Html]]:
    """Anchor, title and content of the verdicts and of the studies that apply."""
    found = run.findings()
    if verdicts := verdicts_html(run, found):
        yield "judgement", "Verdict", join(verdicts, _notes(run))
    elif notes := _notes(run):
        yield "judgement", "Notes", notes
    for findings in found:
        yield findings.study.name, findings.study.title, findings_html(findings)
    if not found:
        nothing = tag("p", "This run holds no scores, so there is nothing to rank.", class_="note")
        yield "leaderboard", "Leaderboard", nothing


def verdicts_html(run: Run, found: Sequence[Findings], *, folded: bool = False) -> Html:
    """Which method to use, and the verdicts of all studies on each; empty for a run without scores.

    Args:
        folded: show what each verdict says of each method on demand.
    """
    verdicts = [findings.verdict for findings in found if findings.verdict is not None]
    ranked = any(findings.study.name == "leaderboard" for findings in found)
    return join(_conclusion(run) if ranked else None, [verdict_html(table, folded=folded) for table in verdicts])


def _conclusion(run: Run) -> Html | None:
    """Which method to use and how certain that is; None for a run that ranks no methods."""
    board = run.study("leaderboard")
    if board is None or not any(made.boards for made in board.runs):
        return None
    found = conclusion(board)
    return tag(
        "div",
        tag("h3", "Which method to use"),
        tag("p", found.use, class_="use", dir="auto"),
        tag("p", found.certainty, class_="note", dir="auto"),
        class_="conclusion",
    )


def section_html(anchor: str, title: str, html: Html) -> Html:
    """A section of the page below its heading."""
    heading = tag("h2", title, id=f"{anchor}-title")
    return tag("section", heading, html, id=anchor, aria_labelledby=f"{anchor}-title", class_=f"page {anchor}")


def banners(run: Run) -> Html:
    """What could not be read or is not finished."""
    return _listed(run.problems, class_="alarm", role="alert")


def _notes(run: Run) -> Html:
    """How results stopped the run, and its warnings."""
    return _listed(run.notices + run.manifest.warnings, class_="warnings", role="note")


def _listed(lines: Sequence[str], **attributes: str) -> Html:
    # a role on the list itself would hide from screen readers that it is one
    return tag("div", tag("ul", [tag("li", line, dir="auto") for line in lines]), **attributes) if lines else join()


def head(run: Run, brand: str = REPORT) -> Html:
    """Model, data, and the size of the run, below the name of what shows them."""
    data = run.manifest.data
    status = tag("span", run.status_line, class_="status-line")
    counts = [plural(len(run.instances), "instance"), plural(len(run.methods), "method")]
    counts.append(plural(len(run.metrics), "metric"))
    if run.accuracies:
        counts.append(f"accuracy {run.accuracy_in_words}")
    facts = join(status, [f" · {fact}" for fact in counts])
    return _title(run.manifest.model.name, data.name + (f" ({data.split})" if data.split else ""), facts, brand)


def _title(model: str, data: str, facts: str, brand: str = REPORT) -> Html:
    named = tag("h1", tag("span", model, dir="auto"), tag("small", " on "), tag("span", data, dir="auto"))
    return tag("div", tag("p", brand, class_="brand"), named, tag("p", facts, class_="facts-line"))


def style() -> str:
    """The style sheet of the page."""
    return "\n".join([*_assets(".css"), style_sheet()])


def script() -> str:
    """The script of the page."""
    return "\n".join(_assets(".js"))


def _assets(ending: str) -> list[str]:
    """The page's own style sheets or scripts, in the order of their names."""
    folder = resources.files("verax.report") / "assets"
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(ending))
    return [(folder / name).read_text(encoding="utf-8") for name in names]


def _hash(code: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


def _document(title: str, body: Html) -> str:
    """The whole file; its policy allows only this style sheet and script, by hash, and no requests."""
    css, code = style(), script()
    policy = (
        f"default-src 'none'; style-src {_hash(css)}; script-src {_hash(code)}; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    head = join(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=Html(policy)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", visible(title), " · verax"),
        tag("style", Html(css)),
    )
    script_tag = tag("script", Html(code))
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body>{body}{script_tag}</body>\n</html>\n'
