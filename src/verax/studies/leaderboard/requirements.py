"""Requirements on the results of a run, such as `leave_one_out: comprehensiveness > random`.

The grammar is `[METHOD:] METRIC OPERATOR VALUE`. The value is a number, which the mean is compared with, or `random`,
which a method must be significantly better than in the test of the leaderboard.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from verax.registry import unknown
from verax.results.render.numbers import number, p_phrase
from verax.results.run import Run
from verax.studies.leaderboard.analysis import Board, Standing, boards_of, contrast
from verax.types import Estimate, UserError

RANDOM = "random"
_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_FORM = re.compile(r"(?P<left>.+?)\s*(?P<operator>>=|<=|>|<)\s*(?P<value>[^<>=]+)")


class Requirement(NamedTuple):
    """A requirement as it was written, and its parts; without a method it is about all of them."""

    text: str
    method: str | None
    metric: str
    operator: str
    number: float | None

    @classmethod
    def parse(cls, text: str) -> Requirement:
        """Parse `[METHOD:] METRIC OPERATOR VALUE`."""
        found = _FORM.fullmatch(text.strip())
        if found is None:
            raise UserError(f"--require: expected [METHOD:] METRIC OPERATOR VALUE, such as {_EXAMPLE!r}, got {text!r}")
        method, colon, metric = found["left"].rpartition(":")
        value = found["value"].strip()
        try:
            number = None if value == RANDOM else float(value)
        except ValueError:
            raise UserError(f"--require: {text!r}: expected a number or random, got {value!r}") from None
        if number is None and found["operator"] in {">=", "<="}:
            raise UserError(f"--require: {text!r}: only > and < compare with random: significantly better, or not")
        return cls(text.strip(), method.strip() if colon else None, metric.strip(), found["operator"], number)


_EXAMPLE = "leave_one_out: comprehensiveness > random"


class Assessed(NamedTuple):
    """A requirement on one method, or a comparison with an earlier run, and whether it is met.

    Args:
        value: mean over the inputs, of a comparison over those that both runs have.
        found: what was found, in words.
        compared: whether it is a comparison with an earlier run.
    """

    requirement: str
    method: str
    metric: str
    value: Estimate | None
    found: str
    met: bool
    compared: bool = False


def check_requirements(run: Run, requirements: Sequence[Requirement], *, interval: bool = False) -> list[Assessed]:
    """Each requirement for each method that it is about.

    Args:
        interval: whether a number is compared with the end of the 95 % interval that is worse for the requirement,
            instead of the mean.
    """
    boards = boards_of(run)
    return [
        _checked(requirement, board, standing, interval=interval)
        for requirement in requirements
        for board in [_board(requirement, boards)]
        for standing in _standings(requirement, run, board)
    ]


def _board(requirement: Requirement, boards: Mapping[str, Board]) -> Board:
    """The ranking of the metric, by its label, or by a name that only one metric has."""
    named = [board for board in boards.values() if board.metric.name == requirement.metric]
    board = boards.get(requirement.metric) or (named[0] if len(named) == 1 else None)
    if board is None:
        raise UserError(f"--require: {requirement.text!r}: {unknown('metric', requirement.metric, list(boards))}")
    good = ">" if board.metric.ascending else "<"
    if requirement.number is None and requirement.operator != good:
        better = "higher" if board.metric.ascending else "lower"
        raise UserError(
            f"--require: {requirement.text!r}: {better} values of {board.metric.label} are better; write "
            f"{board.metric.label} {good} random"
        )
    return board


def _standings(requirement: Requirement, run: Run, board: Board) -> list[Standing]:
    """The methods that a requirement is about: a named one, or all but random explanations and controls."""
    manifest = run.manifest
    if requirement.method is None:
        found = [one for one in board.standings if not one.random and not manifest.method(one.method).baseline]
        if not found:
            raise UserError(f"--require: {requirement.text!r}: no method has results under {board.metric.label}")
        return found
    by_label = {one.method: one for one in board.standings}
    label = manifest.find_method(requirement.method, by_label)
    if label is None:
        raise UserError(f"--require: {requirement.text!r}: {unknown('method', requirement.method, list(by_label))}")
    return [by_label[label]]


def _checked(requirement: Requirement, board: Board, standing: Standing, *, interval: bool) -> Assessed:
    metric, mean = board.metric.label, standing.mean
    if mean is None:
        return Assessed(requirement.text, standing.method, metric, None, "no value", met=False)
    if requirement.number is None:
        return Assessed(requirement.text, standing.method, metric, mean, _against_random(standing), met=standing.better)
    compare, bound = _OPERATORS[requirement.operator], requirement.number
    if not interval:
        met = compare(mean.value, bound)
        return Assessed(requirement.text, standing.method, metric, mean, "", met=met)
    if mean.interval is None:
        return Assessed(requirement.text, standing.method, metric, mean, "no interval", met=False)
    low, high = mean.interval
    end, name = (low, "lower") if requirement.operator.startswith(">") else (high, "upper")
    return Assessed(
        requirement.text, standing.method, metric, mean, f"{name} end {number(end)}", met=compare(end, bound)
    )


def _against_random(standing: Standing) -> str:
    """How a method compares with random, as in the verdict on it."""
    if standing.p is None:
        return "is itself random" if standing.random else "no random explanation to compare with"
    if standing.better:
        return p_phrase(standing.p)
    words = "worse than random" if standing.worse else "like random" if standing.like_random else "too few inputs"
    return f"{words}, {p_phrase(standing.p)}"


def check_no_worse(run: Run, earlier: Run) -> Iterator[Assessed]:
    """Each method under each metric against an earlier run: significantly worse is not met, as in `verax compare`."""
    for one in contrast(earlier, run):
        label = one.method.labels[1] or one.method.name
        if one.method.entry.baseline:
            continue
        found = one.change if one.p is None else f"{one.change}, {p_phrase(one.p)}"
        text = f"{one.metric.label} no worse than {earlier.folder}"
        value = None if one.second is None else Estimate(one.second, n=one.n)
        found = f"was {number(one.first)}, {found}"
        yield Assessed(text, label, one.metric.label, value, found, met=one.change != "worse", compared=True)
