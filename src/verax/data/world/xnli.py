"""Inference pairs told in six languages, word by word aligned, and pairs whose two parts differ in language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from random import Random

from verax.data.world.explain_en import Telling
from verax.data.world.facts import Judgement, Scene, judged_as
from verax.data.world.gold import decisive, gold
from verax.data.world.inference import draw_hypothesis, draw_premise
from verax.data.world.languages.plan import Plan, described, stated
from verax.data.world.languages.telling import LANGUAGES, GoldAlignments, Told, told
from verax.data.world.nli import LABELS
from verax.data.world.splits import check_split, draw_balanced, drawn_for, provenance
from verax.registry import registered, unknown
from verax.types import Dataset, Human, Instance, UserError

_PARTS = (0, 1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A premise and a hypothesis before they are told in any language.

    Args:
        wording: what the choice between words of the same meaning is drawn from.
    """

    name: str
    label: str
    scenes: tuple[Scene, Scene]
    plans: tuple[Plan, Plan]
    judgement: Judgement
    wording: int

    def told(self, part: int, lang: str) -> Told:
        """A part in the words of a language."""
        return told(self.plans[part], lang, Random(f"{self.wording}/{part}/{lang}"))

    def gold(self, parts: Sequence[Told], langs: Sequence[str]) -> Human:
        """What decides; why is told in English alone, of English texts."""
        above, below = (part.sentence for part in parts)
        if any(lang != "en" for lang in langs):
            return decisive(above, below, self.judgement, _PARTS)
        premise, hypothesis = Telling("premise", self.scenes[0], above), Telling("hypothesis", self.scenes[1], below)
        return gold(premise, hypothesis, self.judgement, _PARTS)

    def instance(self, parts: Sequence[Told], langs: Sequence[str]) -> Instance:
        """The two parts, each in its language; the instance is of the language of its premise."""
        name = f"{self.name}/{'-'.join(dict.fromkeys(langs))}"
        texts = tuple(part.sentence.text for part in parts)
        return Instance(name, texts, self.label, langs[0], human=self.gold(parts, langs))


@registered(
    "world/xnli",
    "The same inference pairs in en, de, es, fr, bg and zh, with gold words, span pairs and word alignments.",
)
def load(split: str = "test", limit: int | None = None, seed: int = 0, langs: Sequence[str] = LANGUAGES) -> Dataset:
    """Inference pairs, each in every language, with their label, what decides it, and gold word alignments.

    The instances of an input stand together, English first; they share their `parallel_id`.

    Args:
        split: `train`, `validation` or `test`. What a hypothesis claims in one split is claimed in no other.
        limit: how many inputs, each in every language; all of the split by default.
        seed: another seed draws other instances of the same split.
        langs: the languages, all six by default.
    """
    chosen = _check_languages(langs)
    instances: list[Instance] = []
    groups = []
    for pair in _pairs("xnli", split, check_split(split, limit), seed):
        parts = {lang: [pair.told(part, lang) for part in _PARTS] for lang in chosen}
        own = {lang: replace(pair.instance(parts[lang], (lang,)), parallel_id=pair.name) for lang in chosen}
        instances += own.values()
        groups.append({lang: (own[lang].id, tuple(part.pieces for part in parts[lang])) for lang in chosen})
    aligned = GoldAlignments(groups)
    told_in = provenance(split, seed) | {"languages": ", ".join(chosen)}
    return Dataset("world/xnli", tuple(instances), LABELS, told_in, (0,), aligned=aligned)


@registered(
    "world/xnli-mixed",
    "Inference pairs with the premise in one language and the hypothesis in another.",
)
def mixed(split: str = "train", limit: int | None = None, seed: int = 0, langs: Sequence[str] = LANGUAGES) -> Dataset:
    """Inference pairs whose premise is in one language and whose hypothesis is in another; arguments as of `load`."""
    chosen = _check_languages(langs)
    if len(chosen) == 1:
        raise UserError(f"langs: got {chosen[0]!r} alone, mixed pairs need two languages or more")
    instances = []
    for pair in _pairs("xnli-mixed", split, check_split(split, limit), seed):
        two = Random(f"{pair.wording}/mixed").sample(chosen, 2)
        instances.append(pair.instance([pair.told(part, two[part]) for part in _PARTS], two))
    told_in = provenance(split, seed) | {"languages": ", ".join(chosen)}
    return Dataset("world/xnli-mixed", tuple(instances), LABELS, told_in, (0,))


def compose(rng: Random, split: str, label: str, name: str) -> Pair:
    """One pair of a split with the label that is asked for."""
    hypothesis = drawn_for(split, draw_hypothesis, attrgetter("claim"), rng)
    premise = draw_premise(rng, hypothesis, label)
    judgement = judged_as(label, premise, hypothesis)
    plans = described(premise, rng), stated(hypothesis, rng)
    return Pair(name, label, (premise, hypothesis), plans, judgement, rng.getrandbits(32))


def _pairs(task: str, split: str, count: int, seed: int) -> list[Pair]:
    return draw_balanced(task, LABELS, compose, attrgetter("plans"), split, count, seed)


def _check_languages(langs: Sequence[str]) -> tuple[str, ...]:
    """The languages in their usual order, English first."""
    for lang in langs:
        if lang not in LANGUAGES:
            raise UserError(unknown("language", lang, LANGUAGES))
    if not langs:
        raise UserError(f"langs: got none, must be some of {', '.join(LANGUAGES)}")
    return tuple(lang for lang in LANGUAGES if lang in langs)
