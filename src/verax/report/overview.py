"""The grid of methods by metrics at the head of the leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from verax.report.content import Content
from verax.report.labels import breakable, direction, method_label
from verax.report.ranking import best_group, like_random
from verax.results.render.markup import Html, join, tag
from verax.results.render.numbers import interval, number
from verax.types import Summary

BEST = "◆"
WEAK = "○"


def overview(content: Content, tables: Mapping[str, Sequence[Summary]]) -> Html:
    """Value and interval of each method under each metric, the best group marked by a sign, a weight and a colour.

    Args:
        tables: the rows of each metric, best first.
    """
    best = {metric: set(best_group(rows)) for metric, rows in tables.items()}
    found = {(row.method, row.metric): row for row in content.summaries}
    head = [
        tag(
            "th",
            tag("a", breakable(metric), href=f"#metric-{place}", dir="auto"),
            tag("small", direction(content, metric)),
            scope="col",
        )
        for place, metric in enumerate(tables)
    ]
    body = []
    for method in content.methods:
        cells = [_cell(content, found.get((method, metric)), best=method in best[metric]) for metric in tables]
        body.append(tag("tr", tag("th", method_label(content, method), scope="row"), cells))
    table = tag(
        "table",
        tag("caption", "Mean of each metric over the instances, by method"),
        tag("thead", tag("tr", tag("th", "Method", scope="col"), head)),
        tag("tbody", body),
        class_="overview",
    )
    legend = (
        f"{BEST} best value, or can't be told apart from the best · "
        f"{WEAK} can't be told apart from {content.chance} · in brackets: 95 % interval of the mean"
    )
    return join(
        tag("div", table, class_="scroll", role="region", aria_label="Overview of methods and metrics", tabindex=0),
        tag("p", legend, class_="legend"),
    )


def _cell(content: Content, row: Summary | None, *, best: bool) -> Html:
    if row is None:
        return tag("td", tag("span", "no scores", class_="quiet"))
    signs = {BEST: "in the best group"} if best else {}
    if like_random(row):  # where nothing beats chance the best is no better than it
        signs[WEAK] = f"not told apart from {content.chance}"
    sign = _sign("".join(signs), ", ".join(signs.values())) if signs else None
    value = tag("span", sign, number(row.mean), class_="value")
    return tag("td", value, tag("small", interval(row.low, row.high)), class_="best" if best else None)


def _sign(sign: str, meaning: str) -> Html:
    return tag("span", sign, class_="sign", role="img", aria_label=meaning, title=meaning)
