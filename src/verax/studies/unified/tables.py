"""Tables of the unified framework: kinds by bases under each property, and the stability of spans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from verax.results.render.numbers import number, plural
from verax.results.table import Cell, Column, Mark, Table, TableRow
from verax.studies.marks import marks_of, too_few
from verax.studies.unified.analysis import BASES, Entry, Property, PropertyName, Stability, Unified, UnifiedRun
from verax.types import Base, Kind
from verax.types.numbers import FEWEST

BEST = Mark("best", "◆", "may be the best kind of its base: no other kind is significantly better")
KIND_NAMES: dict[Kind, str] = {
    "span_interaction": "span pairs",
    "token_interaction": "word pairs",
    "token": "words",
}
BASE_NAMES: dict[Base, str] = {
    "shapley": "Shapley",
    "attention": "Attention",
    "integrated_gradients": "Integrated gradients",
    "random": "Random",
}
_TITLES: dict[PropertyName, str] = {
    "comprehensiveness": "Comprehensiveness",
    "sufficiency": "Sufficiency",
    "agreement_of_words": "Agreement on words",
    "agreement_of_pairs": "Agreement on pairs",
    "simulatability": "Simulatability",
    "complexity": "Complexity",
}
_MEASURED: dict[PropertyName, str] = {
    "comprehensiveness": "Share of predictions that flip when the top words are removed",
    "sufficiency": "Share of predictions that stay when only the top words are kept",
    "agreement_of_words": "Average precision of words, ranked by score, against human highlights",
    "agreement_of_pairs": "Average precision of word pairs, ranked by score, against annotated span pairs",
    "simulatability": "RSF, the F1 of agents that imitate the model with explanations minus without; SF with them",
    "complexity": "Entropy of the highest scores, in nats",
}
_DRAWN = "Below: as many scores drawn from 0 to 1, and as many equal ones."


def tables(result: Unified) -> list[Table]:
    """Kinds by bases under each property, how often each kind is best, the models, and the stability of spans.

    Rows of several runs are in sections.
    """
    named = [dict(zip(titles(run), run.properties, strict=True)) for run in result.sections]
    every = dict.fromkeys(title for properties in named for title in properties)
    bases = [base for base in BASES if any(base in run.bases() for run in result.runs)]
    made = [_table(result, named, title, bases) for title in every]
    if len(result.runs) > 1:
        made.append(_wins(result, named[: len(result.runs)]))
    if any(run.f1 is not None for run in result.runs):
        made.append(_models(result))
    return [*made, *([_stability(result)] if any(run.stability for run in result.runs) else [])]


def titles(run: UnifiedRun) -> list[str]:
    """The title of each property, with its metric where two share a title."""
    plain = [_title(one) for one in run.properties]
    counts = Counter(plain)
    return [
        f"{title}: {one.metric}" if counts[title] > 1 else title
        for one, title in zip(run.properties, plain, strict=True)
    ]


def _title(one: Property) -> str:
    variant = one.parameters.get("insertion")
    if one.name == "agreement_of_words" and one.parameters.get("within") == "budget":
        variant = "at the budget"
    return f"{_TITLES[one.name]} ({variant})" if variant else _TITLES[one.name]


def direction(one: Property) -> str:
    """Which way a property is read."""
    return "higher is better" if one.higher_is_better else "lower is better"


_PROPERTY_FIELDS = ("metric", "over", "seeds", "without")
_ENTRY_FIELDS = ("method", "n", "pairs", "p", "words")
"""What programs get besides: of the property, and of the entry of each base."""


def _table(result: Unified, named: Sequence[Mapping[str, Property]], title: str, bases: Sequence[Base]) -> Table:
    rows: list[TableRow] = []
    captions: dict[str, str] = {}
    several = len(result.runs) > 1
    for run, properties in zip(result.sections, named, strict=True):
        if title in properties:
            rows += _rows(run, properties[title], bases, run.name if several else "")
            captions[run.name] = caption(properties[title])
    one = next(properties[title] for properties in named if title in properties)
    shared = len(set(captions.values())) == 1
    columns = (
        Column("explanation", "Explanation", "text"),
        *(Column(base, BASE_NAMES[base]) for base in bases),
        *(Column(field) for field in _PROPERTY_FIELDS),
        *(Column(f"{base}_{field}") for base in bases for field in _ENTRY_FIELDS),
    )
    return Table(
        title.lower().replace(" ", "_"),
        f"{title} ({direction(one)})",
        columns,
        tuple(rows),
        caption=caption(one) if shared else " ".join(f"{name}: {words}" for name, words in captions.items()),
        verdict=too_few(one.too_few) if len(result.runs) == 1 else "",
    )


def _rows(run: UnifiedRun, one: Property, bases: Sequence[Base], section: str) -> Iterator[TableRow]:
    """A row for each kind, and below what it must be read together with."""
    prefix = f"{section}: " if section else ""
    facts = [Cell(getattr(one, field)) for field in _PROPERTY_FIELDS]

    def row(name: str, cells: Sequence[Cell], kind: Kind | None = None) -> TableRow:
        entries = [None if kind is None else one.at(kind, base) for base in bases]
        more = [Cell(None if entry is None else getattr(entry, field)) for entry in entries for field in _ENTRY_FIELDS]
        return TableRow((Cell(prefix + name), *cells, *facts, *more), section=section)

    for kind in run.kinds():
        yield row(KIND_NAMES[kind], [_cell(one.at(kind, base)) for base in bases], kind)
    for kind in run.kinds():
        sfs = [entry.sf if (entry := one.at(kind, base)) else None for base in bases]
        if any(sfs):
            yield row(f"SF, {KIND_NAMES[kind]}", [Cell(sf) for sf in sfs])
    bounds = [next((entry.bounds for kind in run.kinds() if (entry := one.at(kind, base))), None) for base in bases]
    if any(bounds):
        yield row("drawn scores", [Cell(None if bound is None else bound.random) for bound in bounds])
        yield row("equal scores", [Cell(None if bound is None else bound.uniform) for bound in bounds])
    most = [next((entry.maximum for kind in run.kinds() if (entry := one.at(kind, base))), None) for base in bases]
    if any(value is not None for value in most):
        yield row("attainable maximum", [Cell(value) for value in most])


def _cell(entry: Entry | None) -> Cell:
    if entry is None:
        return Cell()
    marks = marks_of(best=entry.best, like_random=entry.like_random, worse=entry.worse, best_mark=BEST)
    return Cell(entry.value, marks=marks, difference=entry.difference, details=(f"{entry.method}, n = {entry.n}",))


def caption(one: Property) -> str:
    """What is measured, at which budget, and what the intervals are over."""
    return f"{_MEASURED[one.name]}. {_budget(one)} {_intervals(one)}"


def _budget(one: Property) -> str:
    """How many words or pieces count, and what sets that number."""
    given = one.parameters
    owner = "of the same base (random: averaged over the bases)"
    if given.get("budget") == "shared":
        owner = "averaged over all span explanations of the run"
    match one.name:
        case "agreement_of_words" if given.get("within") == "budget":
            return (
                f"Within as many words as the top {_k(given, 3)} {owner} have; gold words beyond count as missed, so "
                "the attainable maximum is below 1."
            )
        case "agreement_of_words" | "agreement_of_pairs":
            return f"Over all {'words' if one.name == 'agreement_of_words' else 'word pairs'}, without a budget."
        case "simulatability":
            without = "" if one.without is None else f" Without explanations their F1 is {number(one.without)}."
            return f"Agents see as many words as the top {_k(given, 1)} {owner} have.{without}"
        case "complexity":
            return f"Over as many scores as there are span pairs {owner}. {_DRAWN}"
    return f"Measured {_grid(given, owner)}{_words(one)}."


def _grid(given: Mapping[str, Any], owner: str) -> str:
    """At which numbers of words predictions are compared."""
    words = given.get("words")
    if isinstance(words, list | tuple):
        return f"at {', '.join(map(str, words))} words"
    step = "piece by piece up to" if given.get("grid") == "incremental" else "at"
    return f"{step} as many words as the top {_k(given, 3)} {owner} have"


def _k(given: Mapping[str, Any], default: int) -> str:
    k = given.get("k", default)
    if k == 1:
        return "span pair"
    return f"1 to {k} span pairs" if given.get("grid") == "matched" else f"{k} span pairs"


def _words(one: Property) -> str:
    """The mean size of the largest budget, for each base."""
    sizes = {
        base: next((entry.words for entry in one.entries if entry.base == base and entry.words is not None), None)
        for base in BASES
    }
    listed = [f"{BASE_NAMES[base]} {size:.1f}" for base, size in sizes.items() if size is not None]
    return f"; at most, on average: {', '.join(listed)}" if listed else ""


def _intervals(one: Property) -> str:
    counts = sorted({entry.n for entry in one.entries})
    several = plural(counts[-1], "instance") if len(counts) == 1 else f"{counts[0]} to {plural(counts[-1], 'instance')}"
    if one.name == "simulatability":
        several += " that were held out"
    seeds = "" if one.over == "instances" or one.seeds is None else f"{one.seeds} seeds of the agents and "
    spans = sum(entry.kind == "span_interaction" and entry.base != "random" for entry in one.entries)
    own = ", for span pairs from those matched to the method (in the column: their mean)" if spans > 1 else ""
    difference = f"Δ: difference from random{own}."
    if counts[-1] < FEWEST:
        return f"Over {seeds}{several}; there are intervals from {FEWEST} on. {difference}"
    budgets = f" and the budgets of {one.draws} seeds" if one.draws > 1 else ""
    return (
        f"In brackets: 95 % intervals over {seeds}{several}{budgets} (BCa bootstrap). {difference} Marks come from the "
        "joint test of all methods, not from these intervals."
    )


def _wins(result: Unified, named: Sequence[Mapping[str, Property]]) -> Table:
    """How often each kind is best, and better than random, of all runs and bases."""
    kinds = [kind for kind in KIND_NAMES if any(kind in run.kinds() for run in result.runs)]
    rows = []
    for title in dict.fromkeys(title for properties in named for title in properties):
        found = [properties[title] for properties in named if title in properties]
        cases = [
            [entry for kind in kinds if (entry := one.at(kind, base))]
            for one in found
            for base in BASES
            if base != "random"
        ]
        sign = 1 if found[0].higher_is_better else -1
        contests = [entries for entries in cases if len(entries) > 1]
        tested = [entry for entries in cases for entry in entries if entry.difference is not None]
        best = [kind for entries in contests for kind in _best(entries, sign)]
        alone = [entries[0].kind for case in contests if len(entries := [one for one in case if one.best]) == 1]
        above = [one.kind for one in tested if one.difference is not None and sign * one.difference.value > 0]
        better = [one.kind for one in tested if one.better]
        sizes = Counter(entry.kind for entry in tested)
        rows.append(_win_row(f"{title}: best kind", kinds, best, alone, dict.fromkeys(kinds, len(contests))))
        rows.append(_win_row(f"{title}: better than random", kinds, above, better, sizes))
    columns = (
        Column("property", "Property", "text"),
        *(Column(kind, KIND_NAMES[kind], "text") for kind in kinds),
        *(Column(f"{kind}_{field}") for kind in kinds for field in ("wins", "significant", "cases")),
    )
    return Table(
        "wins",
        "How often each kind wins",
        columns,
        tuple(rows),
        caption="Of all runs and bases; in brackets how many of these are significant in the joint test of the run. A "
        "tie is won by none.",
    )


def _best(entries: Sequence[Entry], sign: int) -> list[Kind]:
    """The kind with the best value, if only one has it."""
    values = [sign * entry.value.value for entry in entries]
    winners = [entry.kind for entry, value in zip(entries, values, strict=True) if value >= max(values) - 1e-9]
    return winners if len(winners) == 1 else []


def _win_row(
    name: str, kinds: Sequence[Kind], wins: Sequence[Kind], significant: Sequence[Kind], cases: Mapping[Kind, int]
) -> TableRow:
    counts = [(wins.count(kind), significant.count(kind), cases.get(kind, 0)) for kind in kinds]
    shown = [Cell(f"{won} of {of} ({sure})" if of else None) for won, sure, of in counts]
    return TableRow((Cell(name), *shown, *(Cell(number) for several in counts for number in several)))


def _models(result: Unified) -> Table:
    rows = [TableRow((Cell(run.name), Cell(run.model), Cell(run.data), Cell(run.f1))) for run in result.runs]
    names = (("run", "Run"), ("model", "Model"), ("data", "Data"))
    columns = (*(Column(name, title, "text") for name, title in names), Column("f1", "Macro F1"))
    return Table(
        "models",
        "The explained models",
        columns,
        tuple(rows),
        caption="Macro F1 of the model on the explained inputs. In brackets: 95 % intervals over instances (BCa "
        "bootstrap).",
    )


def _spans(one: Stability, run: str) -> Cell:
    label, shown = (f"{run}: {name}" if run else name for name in (one.method, one.display))
    return Cell(label, shown=shown)


def _stability(result: Unified) -> Table:
    several = len(result.runs) > 1
    rows = [
        TableRow((_spans(one, run.name if several else ""), Cell(one.value), Cell(one.n)))
        for run in result.runs
        for one in run.stability
    ]
    columns = (Column("spans", "Spans", "text"), Column("stability", "Stability"), Column("n", "n", "count"))
    return Table(
        "stability",
        "Stability of the spans",
        columns,
        tuple(rows),
        caption="Mean adjusted Rand index between the partition of an input and those by other seeds; 1 if the seed "
        "does not matter. In brackets: 95 % intervals over instances (BCa bootstrap).",
        verdict="Louvain's partitions of small graphs depend on the order in which words are visited. Where stability "
        "is far below 1, another seed gives other spans, and results for span pairs hold for these spans only.",
    )


def findings(result: Unified) -> list[str]:
    """How many explanations are significantly better or worse than random."""
    return [_finding(run, run.name if len(result.runs) > 1 else "") for run in result.runs]


def _finding(run: UnifiedRun, name: str) -> str:
    better = worse = alike = 0
    for one in run.properties:
        for entry in one.entries:
            better += entry.better
            worse += entry.worse
            alike += entry.like_random
    prefix = f"{name}: of" if name else "Of"
    if not better + worse + alike:
        return f"{f'{name}: no' if name else 'No'} comparison with random has enough inputs to tell."
    return (
        f"{prefix} {plural(better + worse + alike, 'comparison')} with the random explanation of the same kind "
        f"{better} are significantly better, {worse} worse, and {alike} not significantly different."
    )


def reading(result: Unified) -> list[str]:
    """What is compared with what."""
    names = {one.name for run in result.runs for one in run.properties}
    lines = [
        f"Methods: {_methods(result.runs[0])}",
        *result.notes,
        "Words, word pairs and span pairs are compared at the same number of words: that of the top span pairs. The "
        "figure shows the difference from the random explanation of the same kind on the same instances (Δ in the "
        "tables), so 0 is random; right is better in every panel. Random span pairs are as many and as long as those "
        "that they are compared with.",
        "With budgets by base, explanations of one base have the same number of words; those of different bases and "
        "of random need not: the captions state how many they have. Metrics with budget: shared give all the same.",
    ]
    if "sufficiency" in names:
        lines.append(
            "Sufficiency is the share of predictions that stay when only the top words are kept, so higher is better; "
            "captions in the paper call lower better, which contradicts its own Equation 3."
        )
    return [*lines, *(["Complexity is inverted in the figure."] if "complexity" in names else [])]


def _methods(run: UnifiedRun) -> str:
    """The methods of each kind."""
    parts = []
    for kind in run.kinds():
        named = dict.fromkeys(entry.method for one in run.properties for entry in one.entries if entry.kind == kind)
        parts.append(f"{KIND_NAMES[kind]}: {', '.join(named)}")
    return f"{'; '.join(parts)}."
