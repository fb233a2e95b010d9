"""Names of methods, metrics, datasets and models: lazy, so that listing them imports nothing heavy."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Literal

from verax.types import UserError

Room = Literal["methods", "metrics", "datasets", "models"]


@dataclass(frozen=True, slots=True)
class Entry:
    """What a name stands for: `module:object`, its kind, and one line for a person who chooses."""

    name: str
    target: str
    kind: str
    summary: str


def _table(*entries: Entry) -> dict[str, Entry]:
    return {entry.name: entry for entry in entries}


BUILT_IN: dict[Room, dict[str, Entry]] = {
    "methods": _table(
        Entry("random", "verax.methods.token.random:Random", "token", "Scores drawn at random: the baseline."),
        Entry(
            "leave_one_out",
            "verax.methods.token.leave_one_out:LeaveOneOut",
            "token",
            "How much the target drops when a word is removed; n + 1 forward passes.",
        ),
        Entry(
            "saliency",
            "verax.methods.token.saliency:Saliency",
            "token",
            "Absolute gradient at the word embedding; 1 backward pass.",
        ),
        Entry(
            "input_x_gradient",
            "verax.methods.token.input_x_gradient:InputXGradient",
            "token",
            "Gradient times word embedding; 1 backward pass.",
        ),
        Entry(
            "integrated_gradients",
            "verax.methods.token.integrated_gradients:IntegratedGradients",
            "token",
            "Gradient averaged along the path from a baseline, times the way gone; one backward pass a step.",
        ),
    ),
    "metrics": _table(
        Entry(
            "comprehensiveness",
            "verax.metrics.faithfulness.comprehensiveness:Comprehensiveness",
            "faithfulness",
            "Drop of the predicted class when the top words are deleted (AOPC); higher is better.",
        ),
        Entry(
            "sufficiency",
            "verax.metrics.faithfulness.sufficiency:Sufficiency",
            "faithfulness",
            "Drop of the predicted class when only the top words are left (AOPC); lower is better.",
        ),
        Entry(
            "agreement",
            "verax.metrics.agreement.agreement:Agreement",
            "agreement",
            "Average precision against the words that people marked; higher is better.",
        ),
        Entry(
            "complexity",
            "verax.metrics.complexity.complexity:Complexity",
            "complexity",
            "Entropy of the scores; lower is simpler.",
        ),
    ),
    "datasets": _table(
        Entry(
            "world/nli",
            "verax.data.world.nli:load",
            "built-in",
            "Inference pairs from a small knowledge base, with gold words, span pairs and explanations.",
        ),
        Entry(
            "world/opinion",
            "verax.data.world.opinion:load",
            "built-in",
            "Opinions about things with negation and contrast, with gold words and explanations.",
        ),
    ),
    "models": _table(
        Entry("world/nli", "verax.models.shipped:world_nli", "built-in", "Small BERT for world/nli."),
        Entry("world/opinion", "verax.models.shipped:world_opinion", "built-in", "Small BERT for world/opinion."),
    ),
}


def entries(room: Room) -> dict[str, Entry]:
    """All names of a room: the built-in ones, then those of plug-ins (entry-point group `verax.<room>`)."""
    found = dict(BUILT_IN[room])
    for point in entry_points(group=f"verax.{room}"):
        if point.name in found:
            raise UserError(f"the plug-in {point.value} calls itself {point.name!r}, which is taken in {room}")
        origin = point.dist.name if point.dist else "a plug-in"
        found[point.name] = Entry(point.name, point.value, "plug-in", f"From {origin}.")
    return found


def resolve(room: Room, name: str) -> Any:
    """The object behind a name, imported now."""
    table = entries(room)
    if name not in table:
        raise UserError(unknown(room.removesuffix("s"), name, table))
    module, _, attribute = table[name].target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def unknown(what: str, name: str, valid: Iterable[str]) -> str:
    """The message for a name that nobody knows, with the nearest one that somebody does."""
    names = list(valid)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}?" if near else f"valid: {', '.join(sorted(names))}"
    return f"unknown {what} {name!r}; {hint}"
