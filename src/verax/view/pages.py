"""Pages of the viewer: markup from the pieces of the report."""

from __future__ import annotations

from collections.abc import Sequence

from verax.report import card
from verax.report.content import Content
from verax.report.page import banners, head, made_by, section_html, study_sections, top, verdicts_html
from verax.results.render.html import findings_html, table_html
from verax.results.render.markup import Child, Html, join, tag, visible
from verax.results.render.numbers import plural
from verax.results.run import Run
from verax.results.study import Findings
from verax.view.library import OpenRun

VIEW = "verax view"
WHAT_IF_PATH = "/what-if"
STYLES = ("report.css", "view.css")
KEYS = (
    ("/", "search"),
    ("j, k", "next, previous instance or run"),
    ("n, p", "next, previous page"),
    ("?", "this help"),
)


def document(title: str, heading: Html, links: Sequence[Html], content: Child, *, footer: str = "") -> str:
    """A whole page: header with links, content, and help on keys."""
    head_ = join(
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", visible(title), " · verax"),
        [tag("link", rel="stylesheet", href=f"/assets/{name}") for name in STYLES],
        tag("script", src="/assets/report.js", defer=True),
        tag("script", src="/assets/view.js", type="module"),
    )
    keys = [tag("div", tag("dt", tag("kbd", key)), tag("dd", meaning)) for key, meaning in KEYS]
    close = tag("form", tag("button", "Close"), method="dialog")
    body = join(
        tag("a", "Skip to the content", href="#content", class_="skip-link"),
        *top(heading, links, "Pages"),
        tag("main", content, id="content", tabindex=-1),
        tag("footer", tag("p", footer)) if footer else None,
        tag(
            "dialog",
            tag("h2", "Keys", id="keys-title"),
            tag("dl", keys, class_="keys-list"),
            close,
            id="keys",
            aria_labelledby="keys-title",
        ),
        tag("p", id="announce", role="status", class_="unseen"),
    )
    return f'<!doctype html>\n<html lang="en">\n<head>{head_}</head>\n<body>{body}</body>\n</html>\n'


def link(text: str, href: str, *, current: bool = False) -> Html:
    """A link of the navigation."""
    return tag("a", text, href=href, aria_current="page" if current else None)


WHAT_IF = link("What if", WHAT_IF_PATH)


def message(title: str, text: str) -> str:
    """A page that says why there is no other."""
    return document(title, _brand(title), [link("Runs", "/")], tag("p", text, class_="alarm", role="alert"))


def _brand(title: str) -> Html:
    return tag("div", tag("p", VIEW, class_="brand"), tag("h1", title))


def runs_page(entries: Sequence[OpenRun]) -> str:
    """All runs with status and verdict, and a form to compare two."""
    links = [link("Runs", "/", current=True), WHAT_IF]
    if not entries:
        nothing = tag(
            "p", "There is no run in the given folders yet. ", tag("a", "Look again", href="/"), class_="note"
        )
        return document("Runs", _brand("Runs"), links, nothing)
    several = len(entries) > 1
    button = tag("p", tag("button", "Compare the two chosen runs"), class_="submit") if several else None
    form = tag("form", [_run_card(entry, choice=several) for entry in entries], button, action="/compare", id="runs")
    return document("Runs", _brand("Runs"), links, form, footer=plural(len(entries), "run"))


def _run_card(entry: OpenRun, *, choice: bool) -> Html:
    """A run before it is opened, which may take seconds: its folder, and what follows."""
    box = tag("input", type="checkbox", name="run", value=entry.name, aria_label=f"Compare {entry.shown}")
    return tag(
        "article",
        tag(
            "header",
            tag("h2", tag("a", entry.shown, href=f"/runs/{entry.name}", dir="auto")),
            tag("label", box, " compare", class_="check") if choice else None,
        ),
        lazy(f"/runs/{entry.name}/summary", "The run is being read."),
        class_="block run",
    )


def summary(entry: OpenRun) -> Html:
    """Model and data of a run, its status, its size and its verdict."""
    run = entry.run
    facts = (tag("strong", run.name, dir="auto"), " · ", _sizes(run))
    return join(tag("p", facts), status(entry), verdict(entry, folded=True))


def _sizes(run: Run) -> Html:
    sizes = [plural(len(run.instances), "instance"), plural(len(run.methods), "method")]
    return tag("span", " · ".join([*sizes, plural(len(run.metrics), "metric")]), class_="quiet")


def status(entry: OpenRun) -> Html:
    """Status of a run; one that is not finished has a bar, which the script of the page keeps up to date."""
    run = entry.run
    line = tag("span", run.status_line, class_="status-line")
    if run.status != "unfinished":
        return tag("p", line, class_="status")
    planned = run.tables.planned or 0
    bar = tag("progress", value=planned - run.tables.missing, max=max(planned, 1), aria_label="Rows done")
    return tag(
        "p", line, " ", bar, class_="status", data_watch=f"/runs/{entry.name}/status", data_version=entry.version
    )


def lazy(source: str, meanwhile: str) -> Html:
    """Content that the script of the page fetches, or a link to it."""
    waiting = tag("p", meanwhile, " ", tag("a", "Open it", href=source), class_="note")
    return tag("div", waiting, data_load=source, aria_busy="true")


def run_links(entry: OpenRun, current: str) -> list[Html]:
    """Links between the pages of a run."""
    pages = {"": "Results", "/instances": "Instances", "/card": "Run card"}
    links = [link(text, f"/runs/{entry.name}{path}", current=path == current) for path, text in pages.items()]
    return [link("All runs", "/"), *links, WHAT_IF]


def run_page(entry: OpenRun) -> str:
    """Status and problems of a run; verdict, tables and figures follow."""
    results = lazy(f"/runs/{entry.name}/findings", "The results are being computed.")
    unfinished = entry.run.status == "unfinished"
    # that a run is unfinished is a problem of its own, which the status says, and keeps up to date
    problems = banners(entry.run) if len(entry.run.problems) > unfinished else None
    content = join(problems, status(entry) if unfinished else None, results)
    return page_of(entry, "", content)


def card_page(entry: OpenRun) -> str:
    """The run card."""
    html = section_html("card", "Run card", card.section(Content(entry.run, ())))
    return page_of(entry, "/card", html)


def page_of(entry: OpenRun, path: str, content: Child) -> str:
    """A page of a run."""
    links = run_links(entry, path)
    return document(entry.run.name, head(entry.run, VIEW), links, content, footer=made_by(entry.run))


def findings(entry: OpenRun) -> Html:
    """Verdict and all studies of a run, as in its report."""
    with entry.analysing:
        return join([section_html(*section) for section in study_sections(entry.run)])


def verdict(entry: OpenRun, *, folded: bool = False) -> Html:
    """The verdicts of a run; of one that ranks no methods, the first sentence of each study."""
    with entry.analysing:
        found = entry.run.findings()
        first = [tag("p", sentence, dir="auto") for one in found for sentence in one.sentences[:1]]
        return verdicts_html(entry.run, found, folded=folded) or join(first) or tag("p", "Nothing was scored.")


def tables(entry: OpenRun, prefix: str) -> Html:
    """The tables of all studies of a run; `prefix` makes their anchors unique in a page of two runs."""
    with entry.analysing:
        found = entry.run.findings()
    return join(
        [
            tag(
                "div",
                [table_html(table, f"{prefix}-{one.study.name}-{n}") for n, table in enumerate(one.tables, 1)],
                class_="sheets",
            )
            for one in found
        ]
    )


def compare_page(first: OpenRun, second: OpenRun, found: Findings | None, refusal: str) -> str:
    """Two runs side by side: their difference, then the results of each."""
    links = [link("All runs", "/"), *(link(entry.shown, f"/runs/{entry.name}") for entry in (first, second))]
    difference = tag("p", refusal, class_="alarm", role="note") if found is None else findings_html(found)
    sides = [
        tag(
            "section",
            tag("h2", entry.run.name, id=f"side-{place}", dir="auto"),
            tag("p", tag("code", entry.shown, dir="auto"), class_="note"),
            status(entry),
            lazy(f"/runs/{entry.name}/verdict", "The verdict is being computed."),
            lazy(f"/runs/{entry.name}/tables?prefix={place}", "The tables are being computed."),
            aria_labelledby=f"side-{place}",
        )
        for place, entry in zip(("first", "second"), (first, second), strict=True)
    ]
    content = join(section_html("difference", "Difference", difference), tag("div", sides, class_="sides"))
    return document("Comparison", _brand("Comparison of two runs"), links, content)
