"""Inference pairs in six languages with word alignments, and pairs whose parts differ in language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from random import Random

from verax.data.world.facts import Judgement, Scene, judge_as
from verax.data.world.gold import SceneText, explain_label, gold_annotations
from verax.data.world.inference import draw_hypothesis, draw_premise
from verax.data.world.languages.plan import TextPlan, plan_description, plan_statement
from verax.data.world.languages.realisation import LANGUAGES, GoldAlignments, Realisation, realise
from verax.data.world.nli import LABELS
from verax.data.world.splits import draw_balanced, draw_for_split, draw_size, drawn_provenance
from verax.registry import registered, unknown
from verax.types import Dataset, Instance, UserError


@dataclass(frozen=True, slots=True)
class InferencePair:
    """A premise and a hypothesis before realisation; `wording` seeds the choice between synonyms."""

    name: str
    label: str
    scenes: tuple[Scene, Scene]
    plans: tuple[TextPlan, TextPlan]
    judgement: Judgement
    wording: int

    def realise(self, *langs: str) -> tuple[Realisation, ...]:
        """The premise and the hypothesis, each in a language."""
        return tuple(
            realise(plan, lang, Random(f"{self.wording}/{part}/{lang}"))
            for part, (plan, lang) in enumerate(zip(self.plans, langs, strict=True))
        )

    def instance(self, parts: Sequence[Realisation]) -> Instance:
        """An instance in the language of its premise; English pairs have an explanation."""
        premise, hypothesis = (part.tagged for part in parts)
        langs = (premise.text.lang, hypothesis.text.lang)
        explanations: tuple[str, ...] = ()
        if langs == ("en", "en"):
            texts = SceneText("premise", self.scenes[0], premise), SceneText("hypothesis", self.scenes[1], hypothesis)
            explanations = (explain_label(*texts, self.judgement),)
        human = gold_annotations(premise, hypothesis, self.judgement, (0, 1), explanations)
        name = f"{self.name}/{'-'.join(dict.fromkeys(langs))}"
        return Instance(name, (premise.text, hypothesis.text), self.label, langs[0], human=human)


@registered(
    "world/xnli",
    "The same inference pairs in en, de, es, fr, bg and zh, with gold words, span pairs and word alignments.",
)
def load(split: str = "test", limit: int | None = None, seed: int = 0, langs: Sequence[str] = LANGUAGES) -> Dataset:
    """Inference pairs in each language, with labels, gold words and span pairs, and gold word alignments.

    The translations of an input are adjacent, English first, and share their `parallel_id`.

    Args:
        split: `train`, `validation` or `test`. The claims of the hypotheses of a split occur in no other.
        limit: maximum number of inputs, each in every language; default: all of the split.
        seed: another seed draws other instances of the same split.
    """
    chosen = _check_languages(langs)
    instances: list[Instance] = []
    groups = []
    for pair in _draw_pairs("xnli", split, limit, seed):
        group = {}
        for lang in chosen:
            parts = pair.realise(lang, lang)
            instances.append(replace(pair.instance(parts), parallel_id=pair.name))
            group[lang] = instances[-1].id, tuple(part.anchors for part in parts)
        groups.append(group)
    origin = drawn_provenance(split, seed) | {"languages": ", ".join(chosen)}
    return Dataset("world/xnli", tuple(instances), LABELS, origin, (0,), aligned=GoldAlignments(groups))


@registered(
    "world/xnli-mixed",
    "Inference pairs with the premise in one language and the hypothesis in another.",
)
def mixed(split: str = "train", limit: int | None = None, seed: int = 0, langs: Sequence[str] = LANGUAGES) -> Dataset:
    """Inference pairs with the premise in one language and the hypothesis in another; arguments as for `load`."""
    chosen = _check_languages(langs)
    if len(chosen) == 1:
        raise UserError(f"langs: got {chosen[0]!r} alone, mixed pairs need two languages or more")
    instances = tuple(
        pair.instance(pair.realise(*Random(f"{pair.wording}/mixed").sample(chosen, 2)))
        for pair in _draw_pairs("xnli-mixed", split, limit, seed)
    )
    origin = drawn_provenance(split, seed) | {"languages": ", ".join(chosen)}
    return Dataset("world/xnli-mixed", instances, LABELS, origin, (0,))


def compose(rng: Random, split: str, label: str, name: str) -> InferencePair:
    """One pair with the given label."""
    hypothesis = draw_for_split(split, draw_hypothesis, attrgetter("claim"), rng)
    premise = draw_premise(rng, hypothesis, label)
    judgement = judge_as(label, premise, hypothesis)
    plans = plan_description(premise, rng), plan_statement(hypothesis, rng)
    return InferencePair(name, label, (premise, hypothesis), plans, judgement, rng.getrandbits(32))


def _draw_pairs(task: str, split: str, limit: int | None, seed: int) -> list[InferencePair]:
    return draw_balanced(task, LABELS, compose, attrgetter("plans"), split, draw_size(split, limit), seed)


def _check_languages(langs: Sequence[str]) -> tuple[str, ...]:
    """The languages in their usual order, English first."""
    for lang in langs:
        if lang not in LANGUAGES:
            raise UserError(unknown("language", lang, LANGUAGES))
    if not langs:
        raise UserError(f"langs: got none, must be some of {', '.join(LANGUAGES)}")
    return tuple(lang for lang in LANGUAGES if lang in langs)
