"""Gold annotations of a premise and a hypothesis: deciding words, span pairs, and explanations in English."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from verax.data.world.facts import Fact, Judgement, Scene
from verax.data.world.knowledge import is_a
from verax.data.world.lexicon_en import synonyms, to_sentence, with_article
from verax.data.world.phrase import TaggedText
from verax.types import Human, Unit


def gold_annotations(
    premise: TaggedText[Fact],
    hypothesis: TaggedText[Fact],
    judgement: Judgement,
    parts: tuple[int, int],
    explanations: tuple[str, ...] = (),
) -> Human:
    """Gold words and span pairs, in any languages.

    Args:
        parts: part indices of the premise and the hypothesis; a span pair names the lower part first.
    """
    pairs: list[Unit] = []
    for known, asked in judgement.matches:
        ours, theirs = premise.spans(known, parts[0]), hypothesis.spans(asked, parts[1])
        pairs += [tuple(sorted((a, b))) for a in ours for b in theirs]
    words = {
        parts[0]: premise.content_words(judgement.premise),
        parts[1]: hypothesis.content_words(judgement.hypothesis),
    }
    return Human((words[0], words[1]), tuple(pairs), explanations)


@dataclass(frozen=True, slots=True)
class SceneText:
    """A scene with its role in the task ("premise") and its English text, whose words the explanations use."""

    role: str
    scene: Scene
    tagged: TaggedText[Fact]

    @property
    def says(self) -> str:
        """Introduction of a clause that the text contains."""
        return f"the {self.role} says that "

    def kind(self, thing: int) -> str:
        """The noun for a thing."""
        return self.value(self.scene.kind_fact(thing))

    def value(self, fact: Fact) -> str:
        """The words of a fact, including its "not"; a passive becomes active."""
        first = self.tagged.spans(fact, 0)[0]
        words = " ".join(token.text for token in self.tagged.tokens[first.start : first.end])
        return synonyms(fact.concept)[0] if words.startswith("being ") else words

    def clause(self, fact: Fact) -> str:
        """A fact as a clause: "the dog is not chasing the cat"."""
        other = "" if fact.other is None else f" the {self.kind(fact.other)}"
        return f"the {self.kind(fact.thing)} is {self.value(fact)}{other}"


def explain_label(premise: SceneText, hypothesis: SceneText, judgement: Judgement) -> str:
    """An explanation of the label, in one English sentence."""
    kinds: list[str] = []
    reasons: list[str] = []
    met = set()
    for known, asked in judgement.matches:
        if known == premise.scene.kind_fact(known.thing):
            narrow, wide = premise.kind(known.thing), hypothesis.kind(asked.thing)
            if judgement.hypothesis == (asked,):
                speaks_of = f"the {premise.role} speaks of {with_article(narrow)}"
                return to_sentence(f"{speaks_of}, and not every {narrow} is {with_article(wide)}")
            kinds += [f"{with_article(narrow)} is {with_article(wide)}"] if narrow != wide else []
        else:
            met.add(asked)
            reasons.append(_reason(premise, hypothesis, known, asked, judgement.label))
    unmet = [fact for fact in judgement.hypothesis if fact not in met and fact in hypothesis.scene.facts]
    reasons += [f"the {premise.role} does not say whether {_affirmative(hypothesis.clause(fact))}" for fact in unmet]
    stated = [reason.removeprefix(premise.says) for reason in reasons if reason.startswith(premise.says)]
    reasons = [reason for reason in reasons if not reason.startswith(premise.says)]
    reasons += [premise.says + " and that ".join(stated)] if stated else []
    return to_sentence(", and ".join(kinds + reasons))


def _reason(premise: SceneText, hypothesis: SceneText, known: Fact, asked: Fact, label: str) -> str:
    """How a fact of the premise decides a fact of the hypothesis."""
    relation = known.other is not None
    given, wanted = premise.value(known), hypothesis.value(asked)
    if relation:
        given, wanted = premise.clause(known), hypothesis.clause(asked)
    if label != "neutral" and given == wanted:
        return f"{premise.says}{premise.clause(known)}"
    if label == "contradiction" and _affirmative(given) == _affirmative(wanted):
        return f"{premise.says}{premise.clause(known)}, and the {hypothesis.role} says the opposite"
    if relation:
        return {
            "neutral": f"that {given} leaves open whether {_affirmative(wanted)}",
            "entailment": f"if {given}, then {wanted}",
            "contradiction": f"if {given}, it cannot be that {wanted}",
        }[label]
    denial = f"cannot be {wanted}" if asked.holds else f"is {_affirmative(wanted)}, which the {hypothesis.role} denies"
    return {
        "neutral": f"what is {given} may or may not be {_affirmative(wanted)}",
        "entailment": f"what is {given} is {wanted}",
        "contradiction": f"what is {given} {denial}",
    }[label]


def _affirmative(words: str) -> str:
    """The words without "not"."""
    return words.removeprefix("not ").replace(" not ", " ")


def rephrase(premise: SceneText, hypothesis: SceneText, judgement: Judgement) -> tuple[str, ...]:
    """Three more explanations, which relate a clause of the premise to one of the hypothesis."""
    asked = [fact for fact in judgement.hypothesis if fact in hypothesis.scene.facts]
    if not asked:  # the premise only says that something of a wider kind is there
        ((wider, narrower),) = judgement.matches
        wide, narrow = premise.kind(wider.thing), hypothesis.kind(narrower.thing)
        return _open(f"there is {with_article(wide)}", f"the {wide} is {with_article(narrow)}")
    met = [(known, fact) for known, fact in judgement.matches if fact in asked]
    if met:
        known = _joint_clause(premise, [fact for fact, _ in met], with_article)
    else:  # the premise says nothing in this dimension
        known = f"there is {' and '.join(with_article(premise.kind(fact.thing)) for fact, _ in judgement.matches)}"
    wanted = _joint_clause(hypothesis, asked, lambda noun: f"the {noun}")
    if judgement.label == "neutral":
        return _open(known, wanted)
    if judgement.label == "entailment":
        return _following(known, wanted, _equivalent(premise.scene, hypothesis.scene, met))
    together = f"it cannot be that {known} and that {wanted}"
    given, denied = met[0]
    if given.other is None and given.holds and denied.holds:
        together = (
            f"the {hypothesis.kind(denied.thing)} cannot be {premise.value(given)} and {hypothesis.value(denied)}"
        )
    return (
        to_sentence(f"{together} at the same time"),
        to_sentence(f"if {known}, then it is not true that {wanted}"),
        to_sentence(f"that {known} and that {wanted} cannot both be true"),
    )


def _following(known: str, wanted: str, equivalent: bool) -> tuple[str, ...]:
    third = f"if {known}, then {wanted}"
    if equivalent:
        third = f"saying that {known} is the same as saying that {wanted}"
    elif " not " in wanted:  # "if it is red, then it is not blue" could also explain why "it is blue" is false
        third = f"that {known} shows that {wanted}"
    reasons = (f"that {known} implies that {wanted}", f"{known}, which means that {wanted}", third)
    return tuple(map(to_sentence, reasons))


def _open(known: str, wanted: str) -> tuple[str, ...]:
    return (
        to_sentence(f"just because {known} does not mean that {wanted}"),
        to_sentence(f"that {known} does not imply that {wanted}"),
        to_sentence(f"even if {known}, it is not certain that {wanted}"),
    )


def _equivalent(premise: Scene, hypothesis: Scene, met: list[tuple[Fact, Fact]]) -> bool:
    """Whether the facts of the premise also follow from those of the hypothesis."""
    return all(
        is_a(asked.concept, known.concept)
        and asked.holds == known.holds
        and is_a(hypothesis.kinds[asked.thing], premise.kinds[known.thing])
        for known, asked in met
    )


def _joint_clause(text: SceneText, facts: list[Fact], determine: Callable[[str], str]) -> str:
    """Facts about one thing in one clause, negated ones last."""
    predicates = []
    for fact in sorted(facts, key=lambda fact: not fact.holds):
        other = "" if fact.other is None else f" {determine(text.kind(fact.other))}"
        predicates.append(f"{text.value(fact)}{other}")
    return f"{determine(text.kind(facts[0].thing))} is {' and '.join(predicates)}"
