"""The table of one metric: methods best first, with interval, test, group and what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from verax.report.content import Content, entry, written
from verax.report.labels import direction, method_label, parameter
from verax.report.plot import Axis, axis_of, interval_svg, ticks_svg
from verax.report.ranking import verdict
from verax.results.render.markup import Html, join, tag
from verax.results.render.numbers import count, interval, number, p_value
from verax.types import Summary

_LANES = 8
_P = "p against random"


@dataclass(frozen=True, slots=True)
class Ranked:
    """The rows of one metric, best first, and what they share: axis, random explanations, letters of their groups."""

    content: Content
    rows: Sequence[Summary]
    axis: Axis | None
    baselines: Mapping[str, Summary]
    letters: Sequence[str]


def metric_table(content: Content, metric: str, rows: Sequence[Summary], anchor: str) -> Html:
    """One metric: what it says in words, its table, and its parameters.

    Args:
        rows: best first.
        anchor: the id of its heading.
    """
    baselines = {row.method: row for row in rows if row.method in content.baselines.values()}
    letters = list(dict.fromkeys(letter for row in rows for letter in row.group))
    ranked = Ranked(content, rows, axis_of(rows), baselines, letters)
    body = [_row(ranked, place) for place in range(len(rows))]
    table = tag("table", tag("thead", _head(ranked)), tag("tbody", body), class_="ranking", aria_labelledby=anchor)
    absent = [method for method in content.methods if method not in {row.method for row in rows}]
    return tag(
        "section",
        tag("h3", tag("span", metric, dir="auto"), " ", tag("small", direction(content, metric)), id=anchor),
        tag("p", verdict(rows, content.chance), dir="auto"),
        tag("div", table, class_="scroll", role="region", aria_labelledby=anchor, tabindex=0),
        tag("p", "Without any score: ", ", ".join(absent), class_="note", dir="auto") if absent else None,
        _about(content, metric),
        class_="metric",
    )


def _head(ranked: Ranked) -> Html:
    ticks = ticks_svg(ranked.axis) if ranked.axis else None
    numbers = ("Value", "95 % interval", _P, "n", "Skipped")
    return tag(
        "tr",
        tag("th", "Method", scope="col"),
        tag("th", "Group", scope="col"),
        tag("th", tag("span", "Mean and interval", class_="unseen"), ticks, scope="col"),
        [tag("th", label, scope="col", class_="number") for label in numbers],
    )


def _row(ranked: Ranked, place: int) -> Html:
    content, row = ranked.content, ranked.rows[place]
    random = ranked.baselines.get(content.baselines[row.method])
    return tag(
        "tr",
        tag("th", method_label(content, row.method), scope="row"),
        tag("td", _brackets(ranked, place), class_="groups"),
        tag("td", interval_svg(row, ranked.axis, random) if ranked.axis else None, class_="plotted"),
        tag("td", tag("strong", number(row.mean)), class_="number", data_head="value"),
        tag("td", interval(row.low, row.high), class_="number", data_head="interval"),
        tag("td", p_value(row.p_holm), class_="number", data_head=_P),
        tag("td", count(row.n), class_="number", data_head="n"),
        tag("td", _skipped(content, row), class_="number", data_head="skipped"),
        class_="baseline" if row.method in ranked.baselines else None,
    )


def _brackets(ranked: Ranked, place: int) -> Html:
    """The letters of a row, each in its own lane, so that rows join into a bracket; very many are just listed."""
    rows, here = ranked.rows, ranked.rows[place].group
    if len(ranked.letters) > _LANES:
        return join(here)
    lanes = []
    for letter in ranked.letters:
        if letter not in here:
            lanes.append(tag("span", class_="lane"))
            continue
        opens = place == 0 or letter not in rows[place - 1].group
        closes = place == len(rows) - 1 or letter not in rows[place + 1].group
        ends = f"{' opens' if opens else ''}{' closes' if closes else ''}"
        lanes.append(tag("span", tag("b", letter), class_=f"lane held{ends}"))
    return tag("div", lanes, class_="lanes")


def _skipped(content: Content, row: Summary) -> Html:
    """How many instances have no value, and on demand why."""
    reasons = content.reasons.get((row.method, row.metric))
    if not reasons:
        return join(count(row.skipped))
    said = [f"{reason}: {count(times)}" for reason, times in reasons.most_common()]
    listed = tag("ul", [tag("li", line, dir="auto") for line in said])
    return tag("details", tag("summary", count(row.skipped), title=", ".join(said)), listed)


def _about(content: Content, metric: str) -> Html | None:
    """Parameters and reference of a metric."""
    recorded = content.metric(metric)
    parameters = entry(recorded, "parameters")
    facts = [f"{key} = {parameter(value)}" for key, value in parameters.items()] if isinstance(parameters, dict) else []
    if recorded.get("reference"):
        facts.append(written(recorded, "reference"))
    return tag("p", " · ".join(facts), class_="note", dir="auto") if facts else None
