"""The unified framework for programs and papers: every cell as a record, and a table for each property."""

from __future__ import annotations

from verax.report.tables import Table, Value
from verax.report.unified_words import BASE_NAMES, Shown, caption, ends, lines, titles
from verax.results.render.numbers import MISSING, count, number
from verax.stats.unified import Cell, Property, Stability, Unified
from verax.types import Estimate

STABILITY_SAID = (
    "Stability of spans: mean adjusted Rand index between the partition of an input and those by other seeds, 1 if the "
    "seed does not matter. In brackets: 95 % intervals over instances (BCa bootstrap)."
)


def unified_records(found: Unified) -> Table:
    """Every cell of every property, then the stability of spans, in full precision."""
    records = [_record(one, cell) for one in found.properties for cell in one.cells]
    blank = dict.fromkeys(records[0])
    records += [blank | _stable(row) for row in found.stability]
    heads = ("Property", "Method", "Value")
    cells = tuple((str(row["property"]), str(row["method"]), str(row["value"])) for row in records)
    return Table(tuple(blank), tuple(records), heads, cells)


def _record(one: Property, cell: Cell) -> dict[str, Value]:
    return {
        "property": one.name,
        "metric": one.metric,
        "kind": cell.kind,
        "base": cell.base,
        "method": cell.method,
        **_flat("value", cell.value),
        "n": cell.n,
        **_flat("difference", cell.difference),
        "pairs": cell.pairs,
        "best": cell.best,
        "like_random": None if cell.difference is None else cell.like_random,
        "higher_is_better": one.higher_is_better,
        "over": one.over,
        "words": cell.words,
        "random_bound": None if cell.bounds is None else cell.bounds.random,
        "uniform_bound": None if cell.bounds is None else cell.bounds.uniform,
        **_flat("sf", cell.sf),
        "f1_without": one.without,
        "seeds": one.seeds,
    }


def _stable(row: Stability) -> dict[str, Value]:
    facts: dict[str, Value] = {"property": "stability", "kind": "span_interaction", "base": row.base}
    facts |= {"method": row.method, "n": row.n, "higher_is_better": True, "over": "instances"}
    return facts | _flat("value", row.value)


def _flat(name: str, value: Estimate | None) -> dict[str, Value]:
    known = (None, None, None) if value is None else value
    return dict(zip((name, f"{name}_low", f"{name}_high"), known, strict=True))


def unified_tables(found: Unified) -> list[Table]:
    """Kinds by bases under each property, as the paper has them, and the stability of spans."""
    heads = tuple(BASE_NAMES[base] for base in found.bases())
    tables = []
    for one, title in zip(found.properties, titles(found), strict=True):
        cells = tuple((line.name, *map(written, line.cells)) for line in lines(found, one))
        tables.append(Table((), (), (title, *heads), cells, 1, f"{title}. {caption(one)}"))
    if found.stability:
        rows = tuple((row.method, written(Shown(row.value)), count(row.n)) for row in found.stability)
        tables.append(Table((), (), ("Spans", "Stability", "n"), rows, 1, STABILITY_SAID))
    return tables


def written(cell: Shown | None) -> str:
    """Signs, value and interval: `◆ 0.642 [0.500, 0.767]`."""
    if cell is None:
        return MISSING
    return " ".join(filter(None, (cell.signs, number(cell.value.value), ends(cell.value))))
