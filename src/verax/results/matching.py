"""Several runs together: which of their methods are the same, and which runs can be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from verax.results.manifest import MethodEntry
from verax.results.run import Run
from verax.types import UserError


class MatchedMethod(NamedTuple):
    """One method in several runs.

    Args:
        name: its label, with the values of the parameters that differ between the runs.
        labels: its label in each run; None where the run does not have it.
    """

    name: str
    labels: tuple[str | None, ...]
    entry: MethodEntry


def match_methods(
    runs: Sequence[Run], methods: Callable[[Run], Sequence[str]] = lambda run: run.methods
) -> list[MatchedMethod]:
    """The methods of several runs, matched by label, or else by name and the parameters that differ within a run.

    A method whose other parameters differ between runs keeps one row that shows them; one that cannot be matched keeps
    a row of its own. Nothing is dropped.
    """
    listed = [list(methods(run)) for run in runs]
    everywhere = list(dict.fromkeys(label for labels in listed for label in labels))
    exact = {label for label in everywhere if all(label in labels for labels in listed)}
    left = [
        [run.manifest.method(label) for label in labels if label not in exact]
        for run, labels in zip(runs, listed, strict=True)
    ]
    found: list[MatchedMethod] = []
    used: set[str] = set()
    for label in everywhere:
        entry = _entry(runs, label)
        if label in exact:
            found.append(MatchedMethod(label, tuple(label for _ in runs), entry))
        elif label not in used:
            variants = _variants(left, entry)
            labels = tuple(None if variant is None else variant.label for variant in variants)
            used |= {name for name in labels if name is not None}
            found.append(MatchedMethod(_shown(left, variants), labels, entry))
    return found


def _entry(runs: Sequence[Run], label: str) -> MethodEntry:
    holders = [run for run in runs if any(entry.label == label for entry in run.manifest.methods)]
    return (holders or list(runs))[0].manifest.method(label)


def _variants(left: Sequence[Sequence[MethodEntry]], entry: MethodEntry) -> tuple[MethodEntry | None, ...]:
    """The same method among the unmatched ones of each run: of the same identity and distinguishing parameters."""
    alike = [[other for other in entries if _identity(other) == _identity(entry)] for entries in left]
    distinguishing = _distinguishing(alike)
    own = [_value(entry, name) for name in distinguishing]
    same = [
        [other for other in entries if [_value(other, name) for name in distinguishing] == own] for entries in alike
    ]
    if any(len(entries) > 1 for entries in same):  # which of them is meant cannot be decided
        same = [[other for other in entries if other.label == entry.label] for entries in same]
    return tuple(entries[0] if entries else None for entries in same)


def _identity(entry: MethodEntry) -> tuple[str, str, str | None, str | None]:
    return entry.name or entry.label, entry.kind, entry.base, entry.target


def _distinguishing(entries_of_runs: Sequence[Sequence[MethodEntry]]) -> list[str]:
    """The parameters in which methods of one run differ, their target included."""
    parameters = [name for entries in entries_of_runs for entry in entries for name in entry.parameters]
    names = dict.fromkeys([*parameters, "target"])
    return [
        name
        for name in names
        if any(len({repr(_value(entry, name)) for entry in entries}) > 1 for entries in entries_of_runs)
    ]


def _value(entry: MethodEntry, name: str) -> Any:
    return entry.target if name == "target" and entry.target is not None else entry.parameters.get(name)


def _shown(left: Sequence[Sequence[MethodEntry]], variants: Sequence[MethodEntry | None]) -> str:
    """The name with the parameters that differ: `integrated_gradients (aggregate: l2; steps: 75 / 100)`."""
    distinct = list({entry.label: entry for entry in variants if entry is not None}.values())
    if len(distinct) == 1:
        return distinct[0].label
    distinguishing = _distinguishing(
        [[entry for entry in entries if entry.name == distinct[0].name] for entries in left]
    )
    names = dict.fromkeys([*distinguishing, *(name for entry in distinct for name in entry.parameters)])
    values = {name: list(dict.fromkeys(str(_value(entry, name)) for entry in distinct)) for name in names}
    shown = [name for name in names if name in distinguishing or len(values[name]) > 1]
    words = "; ".join(f"{name}: {' / '.join(values[name])}" for name in shown)
    return f"{distinct[0].name or distinct[0].label} ({words})" if words else " / ".join(e.label for e in distinct)


def require_equal(runs: Sequence[Run], facts: Mapping[str, Callable[[Run], Any]], purpose: str) -> None:
    """Reject runs that differ in what they must share; the message names the two runs and the difference.

    Args:
        facts: what must be equal, by its name in the message.
        purpose: completes the message "cannot be ...", such as `averaged`.
    """
    for other in runs[1:]:
        for name, fact in facts.items():
            ours, theirs = fact(runs[0]), fact(other)
            if ours != theirs:
                raise UserError(
                    f"{runs[0].folder} and {other.folder} cannot be {purpose}: {name} differs, {_short(ours)} and "
                    f"{_short(theirs)}"
                )


def require_different_models(runs: Sequence[Run]) -> None:
    """Reject two runs of the same model where each run must have a model of its own."""
    for number, run in enumerate(runs):
        for other in runs[:number]:
            if run.manifest.model.hash is not None and run.manifest.model.hash == other.manifest.model.hash:
                raise UserError(f"{other.folder} and {run.folder} are runs of the same model: they are not independent")


def require_same_texts(first: Run, second: Run) -> None:
    """Reject runs that share no instance, or in which one id has different texts."""
    if first.manifest.data.hash is not None and first.manifest.data.hash == second.manifest.data.hash:
        return
    ids = set(first.instances.ids)
    shared = [name for name in second.instances.ids if name in ids]
    if not shared:
        raise UserError(f"{first.folder} and {second.folder} share no instance, so they cannot be compared")
    texts = {instance.id: [part.raw for part in instance.parts] for instance in first.inputs(shared)}
    for instance in second.inputs(shared):
        if texts[instance.id] != [part.raw for part in instance.parts]:
            raise UserError(f"instance {instance.id!r} is not the same text in {first.folder} and in {second.folder}")


def data_name(run: Run) -> str:
    """The data set of a run, with its split."""
    data = run.manifest.data
    return f"{data.name} ({data.split})" if data.split else data.name


def by_data(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Runs grouped by the inputs that they explain."""
    groups: dict[str, list[Run]] = {}
    names: dict[str, str] = {}
    for run in runs:
        key = run.manifest.data.hash or str(run.folder)
        names.setdefault(key, data_name(run))
        groups.setdefault(key, []).append(run)
    taken = list(names.values())
    return {
        names[key] if taken.count(names[key]) == 1 else f"{names[key]}, inputs {key[:8]}": members
        for key, members in groups.items()
    }


def _short(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
