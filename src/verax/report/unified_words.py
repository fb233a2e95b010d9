"""What the unified framework says in words and short cells, for the page, the terminal and tables alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from verax.results.render.numbers import number, plural
from verax.stats.unified import BASES, Cell, Property, PropertyName, Unified
from verax.types import Base, Estimate, Kind

BEST = "◆"
WEAK = "○"
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
SIGNS_SAID = (
    f"{BEST} the best kind of its base, or can't be told apart from it; {WEAK} can't be told apart from random "
    "of its kind (95 % intervals of the differences hold 0); Δ difference from that."
)
SUFFICIENCY_SAID = (
    "Sufficiency is the share of predictions that stay when nothing but the top words is left, so higher is better; "
    "captions in the paper call lower better, which contradicts its own Equation 3."
)
DRAWN_SAID = (
    "Random is here as many scores drawn from 0 to 1 (in the table for span pairs, above as many equal ones): random "
    "explanations may have fewer pieces, and fewer pieces have less entropy."
)
_TITLES: dict[PropertyName, str] = {
    "comprehensiveness": "Comprehensiveness",
    "sufficiency": "Sufficiency",
    "agreement_of_words": "Agreement on words",
    "agreement_of_pairs": "Agreement on pairs",
    "simulatability": "Simulatability",
    "complexity": "Complexity",
}
UNITS: dict[PropertyName, str] = {
    "comprehensiveness": "predictions that flip",
    "sufficiency": "predictions kept",
    "agreement_of_words": "average precision",
    "agreement_of_pairs": "average precision",
    "simulatability": "RSF, in F1",
    "complexity": "entropy, turned round",
}
_MEASURED: dict[PropertyName, str] = {
    "comprehensiveness": "Share of predictions that change when the top words are removed",
    "sufficiency": "Share of predictions that stay when nothing but the top words is left",
    "agreement_of_words": "Average precision of words, ranked by score, against those that people marked",
    "agreement_of_pairs": "Average precision of word pairs, ranked by score, against the span pairs that people marked",
    "simulatability": "RSF, the F1 of agents that imitate the model with explanations minus without; SF with them",
    "complexity": "Entropy of the highest scores, in nats",
}


class Shown(NamedTuple):
    """A number of a table with its interval, its signs, and how far it is above random."""

    value: Estimate
    signs: str = ""
    difference: Estimate | None = None


class Line(NamedTuple):
    """A row of a table: its name, and a number for each base."""

    name: str
    cells: tuple[Shown | None, ...]


def titles(found: Unified) -> list[str]:
    """The title of each property, with what tells it from others of the same name."""
    plain = [_title(one) for one in found.properties]
    met = Counter(plain)
    return [
        f"{title}: {one.metric}" if met[title] > 1 else title
        for one, title in zip(found.properties, plain, strict=True)
    ]


def _title(one: Property) -> str:
    insertion = one.parameters.get("insertion")
    return f"{_TITLES[one.name]} ({insertion})" if insertion else _TITLES[one.name]


def lines(found: Unified, one: Property) -> list[Line]:
    """The table of a property: a row for each kind, and below what it must be read beside."""
    bases = found.bases()
    rows = [Line(KIND_NAMES[kind], tuple(_shown(one.at(kind, base)) for base in bases)) for kind in found.kinds()]
    for kind in found.kinds():
        sfs = [cell.sf if (cell := one.at(kind, base)) else None for base in bases]
        if any(sfs):
            rows.append(Line(f"SF, {KIND_NAMES[kind]}", tuple(Shown(sf) if sf else None for sf in sfs)))
    bounds = [next((cell.bounds for kind in found.kinds() if (cell := one.at(kind, base))), None) for base in bases]
    if any(bounds):
        named = (("drawn scores", "random"), ("equal scores", "uniform"))
        rows += [
            Line(name, tuple(Shown(Estimate(getattr(bound, which))) if bound else None for bound in bounds))
            for name, which in named
        ]
    return rows


def _shown(cell: Cell | None) -> Shown | None:
    if cell is None:
        return None
    signs = f"{BEST if cell.best else ''}{WEAK if cell.like_random else ''}"
    return Shown(cell.value, signs, cell.difference)


def ends(value: Estimate) -> str:
    """The interval in brackets; nothing where there is none."""
    return "" if value.low is None or value.high is None else f"[{number(value.low)}, {number(value.high)}]"


def gain(value: Estimate) -> str:
    """A difference with its sign and its interval."""
    return f"{value.value:+.3f} {ends(value)}".rstrip()


def direction(one: Property) -> str:
    """Which way a property is to be read."""
    return "higher is better" if one.higher_is_better else "lower is better"


def caption(one: Property) -> str:
    """What is measured, at which budget, and what the intervals are over."""
    return f"{_MEASURED[one.name]}; {direction(one)}. {_budget(one)} {_intervals(one)}"


def _budget(one: Property) -> str:
    """How many words or pieces count, and who decides it."""
    given = one.parameters
    matched = given.get("within") == "budget" or one.name != "agreement_of_words"
    whose = "of the same base (random: averaged over the bases)"
    if given.get("budget") == "shared":
        whose = "averaged over all span explanations of the run"
    match one.name:
        case "agreement_of_words" if matched:
            said = f"Within as many words as the top {_k(given, 3)} {whose} have."
        case "agreement_of_words" | "agreement_of_pairs":
            said = f"Over all {'words' if one.name == 'agreement_of_words' else 'word pairs'}, without a budget."
        case "simulatability":
            said = f"Agents see as many words as the top {_k(given, 1)} {whose} have.{_without(one)}"
        case "complexity":
            said = f"Of as many scores as there are span pairs {whose}. {DRAWN_SAID}"
        case _:
            said = f"Measured {_grid(given, whose)}{_words(one)}."
    return said


def _grid(given: Any, whose: str) -> str:
    """At which numbers of words predictions are looked at."""
    words = given.get("words")
    if isinstance(words, list | tuple):
        return f"at {', '.join(map(str, words))} words"
    how = "piece by piece up to" if given.get("grid") == "incremental" else "at"
    return f"{how} as many words as the top {_k(given, 3)} {whose} have"


def _k(given: Any, default: int) -> str:
    k = given.get("k", default)
    if k == 1:
        return "span pair"
    return f"1 to {k} span pairs" if given.get("grid") == "matched" else f"{k} span pairs"


def _without(one: Property) -> str:
    return "" if one.without is None else f" Without explanations their F1 is {number(one.without)}."


def _words(one: Property) -> str:
    """How many words the largest budget is, on average, of each base."""
    sizes = {}
    for base in BASES:
        sizes[base] = next((cell.words for cell in one.cells if cell.base == base and cell.words is not None), None)
    said = [f"{BASE_NAMES[base]} {size:.1f}" for base, size in sizes.items() if size is not None]
    return f"; at most, on average: {', '.join(said)}" if said else ""


def _intervals(one: Property) -> str:
    counts = sorted({cell.n for cell in one.cells})
    several = plural(counts[-1], "instance") if len(counts) == 1 else f"{counts[0]} to {plural(counts[-1], 'instance')}"
    if one.name == "simulatability":
        several += " that were held out"
    if one.over == "instances" or one.seeds is None:
        return f"In brackets: 95 % intervals over {several} (BCa bootstrap)."
    return f"In brackets: 95 % intervals over {one.seeds} seeds of the agents and {several} (BCa bootstrap)."


def verdict(found: Unified) -> str:
    """How many of all explanations can be told from random, and which way, in a sentence."""
    better = worse = alike = 0
    for one, cell in _compared(found.properties):
        if cell.like_random:
            alike += 1
        elif cell.difference is not None and (cell.difference.value > 0) == one.higher_is_better:
            better += 1
        else:
            worse += 1
    total = better + worse + alike
    return (
        f"Of {plural(total, 'comparison')} with the random explanation of the same kind {better} are better, {worse} "
        f"worse, and {alike} can't be told apart from it (one 95 % interval each, not corrected for their number)."
    )


def _compared(properties: Sequence[Property]) -> Iterator[tuple[Property, Cell]]:
    for one in properties:
        yield from ((one, cell) for cell in one.cells if cell.difference is not None)


def methods_said(found: Unified) -> str:
    """Which methods stand for each kind."""
    said = []
    for kind in found.kinds():
        named = dict.fromkeys(cell.method for one in found.properties for cell in one.cells if cell.kind == kind)
        said.append(f"{KIND_NAMES[kind]}: {', '.join(named)}")
    return f"{'; '.join(said)}."
