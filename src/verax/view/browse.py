"""The instances of a run: search, filters and pages, and one instance with everything known about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast, get_args
from urllib.parse import urlencode

from verax.report import instances, parallel, texts
from verax.report.content import Content
from verax.report.elements import select
from verax.report.page import section_html
from verax.results.figure import SHAPES, Figure, Line, Panel, Scale, Series
from verax.results.manifest import MetricEntry
from verax.results.render.html import figure_html
from verax.results.render.markup import Html, join, tag
from verax.results.render.numbers import count, number, plural
from verax.results.render.svg import COLOURS
from verax.results.selection import Order, Query
from verax.types import Estimate, UserError
from verax.view.library import OpenRun
from verax.view.pages import page_of

PER_PAGE = 20
ORDERS: dict[str, str] = {
    "run": "as in the run",
    "disagreement": "methods disagree most",
    "gap": "largest gap between metrics",
}
MEANINGS: dict[Order, str] = {
    "run": "",
    "disagreement": "Disagreement: share of pairs of methods whose strongest word or pair differs; random baselines "
    "are left out, and explanations are compared with those of the same kind.",
    "gap": "Gap: an explanation ranks high under one metric and low under another. The number is the largest "
    "difference of its ranks, each a share of all explanations of the run; random baselines are left out.",
}


def list_page(entry: OpenRun, given: Mapping[str, str]) -> str:
    """One page of the instances that fit a query."""
    query, page = _query(given), _page(given)
    numbers = entry.index.select(query)
    pages = max(-(-len(numbers) // PER_PAGE), 1)
    page = min(page, pages)
    shown = numbers[(page - 1) * PER_PAGE : page * PER_PAGE]
    found = f"{count(len(numbers))} of {plural(len(entry.index), 'instance')}"
    meaning = MEANINGS[query.order]
    content = join(
        _form(entry, query),
        tag("p", found, id="found", role="status"),
        tag("p", meaning, class_="note") if meaning else None,
        _list(entry, query, list(map(int, shown))),
        _turn(given, page, pages),
    )
    return page_of(entry, "/instances", section_html("browse", "Instances", content))


def _query(given: Mapping[str, str]) -> Query:
    order = given.get("order", "run")
    if order not in get_args(Order):
        raise UserError(f"order: expected one of {', '.join(get_args(Order))}, got {order!r}")
    text, label = given.get("q", ""), given.get("label", "")
    return Query(text, label, "wrong" in given, "skipped" in given, cast(Order, order))


def _page(given: Mapping[str, str]) -> int:
    page = given.get("page", "1")
    if not page.isascii() or not page.isdigit() or not 0 < len(page) < 10:
        raise UserError(f"page: expected a number, got {page!r}")
    return max(int(page), 1)


def _form(entry: OpenRun, query: Query) -> Html:
    boxes = {"wrong": ("wrong predictions", query.wrong), "skipped": ("with skipped methods", query.skipped)}
    labels = {"": "all", **{label: label for label in entry.index.labels}}
    return tag(
        "form",
        tag(
            "label",
            "Text ",
            tag("input", type="search", name="q", value=query.text, placeholder="words or id", aria_keyshortcuts="/"),
        ),
        select("Label", "label", labels, query.label, name_="label"),
        select("Order", "order", ORDERS, query.order, name_="order"),
        [
            tag("label", tag("input", type="checkbox", name=name, value="1", checked=on), f" {text}", class_="check")
            for name, (text, on) in boxes.items()
        ],
        tag("button", "Search"),
        id="search",
        role="search",
        class_="filter",
        aria_label="Search the instances",
    )


def _list(entry: OpenRun, query: Query, numbers: list[int]) -> Html:
    if not numbers:
        return tag("p", "No instance fits.", class_="note")
    content = Content(entry.run, [entry.index.ids[place] for place in numbers])
    values = {"run": None, "disagreement": "disagreement", "gap": "gap"}[query.order]
    rows = []
    for place, instance in zip(numbers, content.instances, strict=True):
        prediction = content.predictions.get(instance.id)
        facts = None if values is None else tag("span", f"{values} {number(getattr(entry.index, values)[place])}")
        href = f"/runs/{entry.name}/instances/{place}"
        rows.append(
            tag(
                "li",
                tag("p", tag("a", instance.id, href=href, dir="auto"), class_="instance-id"),
                [tag("p", part.raw, dir="auto", lang=part.lang, class_="excerpt") for part in instance.parts],
                instances.labels_html(instance, prediction),
                tag("p", facts, class_="note") if facts else None,
            )
        )
    return tag("ol", rows, class_="results", start=1)


def _turn(given: Mapping[str, str], page: int, pages: int) -> Html | None:
    """Links to the previous and the next page."""
    if pages == 1:
        return None
    kept = {name: value for name, value in given.items() if name != "page"}

    def to(target: int, text: str, relation: str) -> Html:
        if not 1 <= target <= pages:
            return tag("span", text, class_="quiet", aria_disabled="true")
        return tag("a", text, href=f"?{urlencode({**kept, 'page': target})}", rel=relation)

    place = tag("span", f"page {count(page)} of {count(pages)}")
    links = (to(page - 1, "Previous", "prev"), place, to(page + 1, "Next", "next"))
    return tag("nav", links, aria_label="Pages of instances", class_="pages")


def instance_page(entry: OpenRun, place: int) -> str:
    """One instance with all methods, free text, curves and its translations."""
    content = Content(entry.run, [entry.index.ids[place]])
    shared = entry.run.instances.parallel_ids[place]
    sections = (
        ("instances", "Explanations", instances.section(content, controls=False)),
        ("texts", "Free text", texts.section(content, controls=False)),
        ("curves", "Curves", _curves(content)),
        ("parallel", "Alignment", parallel.section(content, of=shared) if shared is not None else join()),
    )
    near = {"prev": (place - 1, "Previous instance"), "next": (place + 1, "Next instance")}
    turn = [
        tag("a", text, href=f"/runs/{entry.name}/instances/{other}", rel=relation)
        for relation, (other, text) in near.items()
        if 0 <= other < len(entry.index)
    ]
    edit = tag("a", "What if the text were different?", href=f"/what-if?run={entry.name}&instance={place}")
    body = [section_html(*section) for section in sections if section[2]]
    return page_of(entry, "/instances", join(tag("nav", turn, edit, aria_label="Instance", class_="pages"), body))


AXES = {
    "recursive_masking": ("words masked [%]", "probability of the gold class"),
    "comprehensiveness": ("top words removed [%]", "drop of the predicted class"),
    "sufficiency": ("top words kept [%]", "drop of the predicted class"),
}
"""What the axes of a stored curve are, by the name of the metric."""


def _curves(content: Content) -> Html:
    """What was stored of this instance while words were removed or masked, a panel for each metric."""
    scores = [score for rows in content.scores.values() for score in rows if score.curve]
    manifest = content.manifest
    methods = list(dict.fromkeys(score.method for score in scores))
    series = tuple(
        # as many methods as there are colours share a shape
        Series(manifest.display(name), SHAPES[place // COLOURS % len(SHAPES)], baseline=manifest.method(name).random)
        for place, name in enumerate(methods)
    )
    panels = [
        _panel(entry, {methods.index(score.method): score.curve for score in scores if score.metric == entry.label})
        for entry in manifest.metrics
        if entry.ranked and any(score.metric == entry.label for score in scores)
    ]
    if not panels:
        return join()
    return figure_html(Figure("curves", "While words are removed", series, tuple(panels)))


def _panel(metric: MetricEntry, curves: Mapping[int, tuple[float, ...] | None]) -> Panel:
    across, up = AXES.get(metric.name, ("step", "value"))
    lines = []
    for method, curve in curves.items():
        if curve:
            shares = _shares(metric, len(curve))
            lines.append(Line(method, shares, tuple(Estimate(value) for value in curve)))
    percent = metric.name in AXES
    return Panel(metric.label, Scale(across, percent=percent), Scale(up), tuple(lines), description=f"{up} by {across}")


def _shares(metric: MetricEntry, points: int) -> tuple[float, ...]:
    """Where the points of a curve are: at the bins of an erasure metric, or in equal steps from 0 to 1."""
    bins = metric.parameters.get("bins")
    if isinstance(bins, list | tuple) and len(bins) == points:
        return tuple(map(float, bins))
    last = max(points - 1, 1) if metric.name in AXES else 1
    return tuple(step / last for step in range(points))
