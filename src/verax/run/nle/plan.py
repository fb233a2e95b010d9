"""The plan of a run over free-text explanations: every row that it consists of, by key."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from verax.engine.protocols import AnsweringMethod, TextMetric, needs
from verax.models.classifier import Encoder
from verax.models.self_explainer import SelfExplainer
from verax.run.parameters import Configured
from verax.run.plan import Remaining, input_key
from verax.store.keys import JSON, hash_bytes, key_of
from verax.types import Dataset, Instance, Passes, UserError


class PlannedTest(NamedTuple):
    """One metric of one explanation, and the key of its score."""

    metric: Configured[TextMetric]
    key: str


@dataclass(frozen=True, slots=True)
class PlannedNle:
    """What one set-up says of one instance, and the scores that it gets."""

    setup: Configured[AnsweringMethod]
    key: str
    scores: tuple[PlannedTest, ...]


@dataclass(frozen=True, slots=True)
class PlannedInput:
    """One instance and what is said of it."""

    instance: Instance
    key: str
    explanations: tuple[PlannedNle, ...]

    def row_keys(self) -> Iterator[str]:
        """The rows that are counted: explanations and scores."""
        for explanation in self.explanations:
            yield explanation.key
            yield from (score.key for score in explanation.scores)


@dataclass(frozen=True)
class TextPlan:
    """Everything that such a run consists of."""

    instances: tuple[PlannedInput, ...]
    setups: tuple[Configured[AnsweringMethod], ...]
    metrics: tuple[Configured[TextMetric], ...]

    def row_keys(self) -> Iterator[str]:
        """Every row that is counted at the end."""
        for planned in self.instances:
            yield from planned.row_keys()

    def remaining(self, present: Collection[str]) -> Remaining:
        """What is still to be done; how many passes that takes depends on what the model says."""
        keys = list(self.row_keys())
        return Remaining(len(keys), sum(key in present for key in keys), Passes(0, 0))


def make_plan(
    by: SelfExplainer,
    data: Dataset,
    setups: Sequence[Configured[AnsweringMethod]],
    metrics: Sequence[Configured[TextMetric]],
    *,
    vocabulary: Sequence[str],
    encoder: Encoder | None,
    again: Collection[str] = (),
) -> TextPlan:
    """Lay out the rows.

    Args:
        by: who is asked.
        vocabulary: what metrics draw random words from.
        encoder: of their semantic match.
        again: keys of rows that hold no result and are to be asked for again: they get other keys.
    """
    for namespace, named in (("methods", setups), ("metrics", metrics)):
        labels = [one.label for one in named]
        if repeated := sorted({label for label in labels if labels.count(label) > 1}):
            raise UserError(f"{namespace}: {repeated[0]!r} is there twice")
    identities = {one.label: _identity(one) for one in setups}
    words = hash_bytes("\n".join(vocabulary).encode("utf-8", "surrogatepass"))
    told = {one.label: _told(one, words, encoder) for one in metrics}
    planned = []
    for instance in data.instances:
        content = input_key(instance)
        said = []
        for setup in setups:
            own = key_of(row="nle", input=content, model=by.fingerprint, setup=identities[setup.label])
            own = _fresh(own, again)
            scores = [
                PlannedTest(one, _fresh(key_of(row="tested", explanation=own, metric=told[one.label]), again))
                for one in metrics
            ]
            said.append(PlannedNle(setup, own, tuple(scores)))
        planned.append(PlannedInput(instance, content, tuple(said)))
    return TextPlan(tuple(planned), tuple(setups), tuple(metrics))


def _fresh(key: str, again: Collection[str]) -> str:
    """The key, or one that is made of it where a row is to be had anew: the store keeps what it has."""
    while key in again:
        key = key_of(again=key)
    return key


def _identity(named: Configured[AnsweringMethod] | Configured[TextMetric]) -> dict[str, JSON]:
    return {"name": named.name, "version": named.component.version, "parameters": named.parameters}


def _told(named: Configured[TextMetric], words: str, encoder: Encoder | None) -> dict[str, JSON]:
    """What decides the scores of a metric beside the explanation."""
    needed, semantic = needs(named.component), getattr(named.component, "semantic", None)
    handed: Mapping[str, JSON] = {
        **({"vocabulary": words} if "vocabulary" in needed else {}),
        **({"encoder": encoder.fingerprint} if encoder is not None and semantic is not None else {}),
    }
    return {**_identity(named), "told": dict(named.component.provenance), "handed": handed}
