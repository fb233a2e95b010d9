"""What recursive masking says in words and short cells, for the page, the terminal and tables alike."""

from __future__ import annotations

from collections.abc import Sequence

from verax.results.render.numbers import MISSING, percent, plural
from verax.stats.areas import NO_AREA
from verax.stats.leaderboard import ALPHA
from verax.types import Estimate, MaskingCurve, MaskingCurves, Performance

PERFORMANCE: dict[Performance, str] = {
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "micro_f1": "micro F1",
    "matthews": "Matthews correlation",
}
NO_BOUND = "no bound"
_ONLY_THE_END = (
    " The test tends to reject fully masked inputs, because it has seen few; what tells there is the performance: it "
    "must not be below that of the most frequent class."
)
_REASONS = {NO_AREA: "random masking costs nothing"}


def ordered(curves: MaskingCurves) -> list[MaskingCurve]:
    """The measures by their area, best first, the random one last."""
    return sorted(curves.curves, key=lambda row: (row.method == curves.baseline, -row.acu.value))


def baseline_of(curves: MaskingCurves) -> MaskingCurve:
    """The curve of the random measure."""
    return next(row for row in curves.curves if row.method == curves.baseline)


def span(value: Estimate) -> str:
    """A value in percent, with its interval where it has one: `12.2 [11.5, 12.8]`."""
    if value.low is None or value.high is None:
        return percent(value.value)
    return f"{percent(value.value)} [{percent(value.low)}, {percent(value.high)}]"


def areas(curves: MaskingCurves, row: MaskingCurve) -> tuple[str, str]:
    """ACU and RACU; dashes for the random measure, whose areas are 0 by definition."""
    if row.method == curves.baseline:
        return MISSING, MISSING
    return span(row.acu), MISSING if row.racu is None else span(row.racu)


def tested(curves: MaskingCurves, row: MaskingCurve) -> bool:
    """Whether both curves that an area lies between were tested."""
    return row.p_values is not None and baseline_of(curves).p_values is not None


def invalid(curves: MaskingCurves, row: MaskingCurve) -> tuple[int, ...]:
    """The points at which this measure or the random one is not in-distribution: the area is not valid there."""
    outside = {*row.outside(ALPHA), *baseline_of(curves).outside(ALPHA)}
    return tuple(place for place, ratio in enumerate(row.ratios) if ratio in outside)


def stretches(places: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbouring points joined, each stretch by its first and last point."""
    joined: list[tuple[int, int]] = []
    for place in places:
        if joined and joined[-1][1] == place - 1:
            joined[-1] = (joined[-1][0], place)
        else:
            joined.append((place, place))
    return joined


def ratios(places: Sequence[int], points: int) -> str:
    """The masking ratios of these points: `10 %, 40–100 %`."""
    ends = [[f"{100 * end / (points - 1):.3g}" for end in stretch] for stretch in stretches(places)]
    return ", ".join(f"{'–'.join(dict.fromkeys(stretch))} %" for stretch in ends)


def marks(curves: MaskingCurves, row: MaskingCurve) -> list[str]:
    """What must be known to read a row."""
    found = []
    if places := invalid(curves, row):
        found.append(f"not valid at {ratios(places, len(row.curve))}")
    if row.method == curves.baseline:
        return ["baseline", *found]
    if row.racu is None:
        found.append(f"no RACU: {_REASONS.get(row.reason or '', row.reason)}")
    elif row.signed:
        found.append(NO_BOUND)
    return found


def performance_said(curves: MaskingCurves) -> str:
    """How the model does with nothing and with everything masked, beside always naming the most frequent class."""
    random = baseline_of(curves)
    name = PERFORMANCE[random.metric]
    last = random.curve[-1]
    said = (
        f"{name[0].upper()}{name[1:]} in percent: {span(random.curve[0])} with nothing masked, {span(last)} with "
        f"everything masked; always naming the most frequent class gives {percent(curves.majority)}."
    )
    if last.high is not None and last.high < curves.majority:
        said += " With everything masked the model does worse than that: such inputs are unlike those it was made for."
    return said


def distribution_said(curves: MaskingCurves) -> str:
    """Whether masked inputs are in-distribution, and where they are not."""
    rows = ordered(curves)
    known = [row for row in rows if row.p_values is not None]
    if not known:
        return (
            "Whether masked inputs are in-distribution was not tested (metric in_distribution): "
            "the numbers are valid only if they are."
        )
    untested = f" Not tested: {', '.join(row.method for row in rows if row not in known)}." if known != rows else ""
    out = [row for row in known if row.outside(ALPHA)]
    if not out:
        return f"Masked inputs pass as in-distribution at every masking ratio (no p below {ALPHA})." + untested
    every = ratios(sorted({place for row in out for place in _outside(row)}), len(out[0].curve))
    who = f"{len(out)} of {plural(len(known), 'measure')}"
    if len(out) <= 2:
        who = " and ".join(row.method for row in out)
    return (
        f"Masked inputs are not in-distribution (p < {ALPHA}) at masking ratios {every}, with {who}: "
        f"the numbers are not valid there.{_ONLY_THE_END if every == '100 %' else ''}{untested}"
    )


def _outside(row: MaskingCurve) -> list[int]:
    outside = row.outside(ALPHA)
    return [place for place, ratio in enumerate(row.ratios) if ratio in outside]


def intervals_said(curves: MaskingCurves) -> str:
    """What the intervals are over."""
    random = baseline_of(curves)
    if random.over == "seeds":
        few = " So few runs say little." if curves.runs < 3 else ""
        return f"In brackets: 95 % intervals over {curves.runs} runs that differ in the seed of their model.{few}"
    return f"In brackets: 95 % intervals over the {plural(random.n, 'instance')} of this run (BCa bootstrap)."
