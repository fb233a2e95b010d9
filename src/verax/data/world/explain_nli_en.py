"""Further phrasings of why a hypothesis follows, is excluded or stays open: a clause of each text, set in relation."""

from __future__ import annotations

from collections.abc import Callable

from verax.data.world.explain_en import Telling
from verax.data.world.facts import Fact, Judgement
from verax.data.world.knowledge import is_a
from verax.data.world.rewording_en import with_article


def rephrased(premise: Telling, hypothesis: Telling, judgement: Judgement) -> tuple[str, ...]:
    """Three sentences that name what the premise says and what the hypothesis makes of it."""
    reasons = _reasons(premise, hypothesis, judgement)
    return tuple(f"{reason[0].upper()}{reason[1:]}." for reason in reasons)


def _reasons(premise: Telling, hypothesis: Telling, judgement: Judgement) -> tuple[str, ...]:
    asked = [fact for fact in judgement.hypothesis if fact in hypothesis.scene.facts]
    if not asked:
        return _of_open(*_of_wider_kind(premise, hypothesis, judgement))
    met = [pair for pair in judgement.met if pair[1] in asked]
    known = _clause(premise, [fact for fact, _ in met], with_article) if met else _there_is(premise, judgement)
    wanted = _clause(hypothesis, asked, _the)
    if judgement.label == "neutral":
        return _of_open(known, wanted)
    if judgement.label == "entailment":
        return _of_following(known, wanted, _says_the_same(premise, hypothesis, met))
    return _of_excluded(known, wanted, _at_once(premise, hypothesis, *met[0]))


def _of_following(known: str, wanted: str, same: bool) -> tuple[str, ...]:
    third = f"if {known}, then {wanted}"
    if same:
        third = f"saying that {known} is the same as saying that {wanted}"
    elif " not " in wanted:  # "if it is red, then it is not blue" could as well be said against "it is blue"
        third = f"that {known} shows that {wanted}"
    return f"that {known} implies that {wanted}", f"{known}, which means that {wanted}", third


def _of_open(known: str, wanted: str) -> tuple[str, ...]:
    return (
        f"just because {known} does not mean that {wanted}",
        f"that {known} does not imply that {wanted}",
        f"even if {known}, it is not certain that {wanted}",
    )


def _of_excluded(known: str, wanted: str, at_once: str | None) -> tuple[str, ...]:
    return (
        f"{at_once or f'it cannot be that {known} and that {wanted}'} at the same time",
        f"if {known}, then it is not true that {wanted}",
        f"that {known} and that {wanted} cannot both be true",
    )


def _at_once(premise: Telling, hypothesis: Telling, known: Fact, asked: Fact) -> str | None:
    """Two values that one thing can't have; None where there is more to it than that."""
    if known.other is not None or not known.holds or not asked.holds:
        return None
    return f"the {hypothesis.kind(asked.thing)} cannot be {premise.value(known)} and {hypothesis.value(asked)}"


def _of_wider_kind(premise: Telling, hypothesis: Telling, judgement: Judgement) -> tuple[str, str]:
    """That something is there, and that it is of a narrower kind."""
    ((known, asked),) = judgement.met
    wide, narrow = premise.kind(known.thing), hypothesis.kind(asked.thing)
    return f"there is {with_article(wide)}", f"the {wide} is {with_article(narrow)}"


def _there_is(premise: Telling, judgement: Judgement) -> str:
    """What the premise says where it has no answer: that the things are there."""
    return f"there is {' and '.join(with_article(premise.kind(known.thing)) for known, _ in judgement.met)}"


def _says_the_same(premise: Telling, hypothesis: Telling, met: list[tuple[Fact, Fact]]) -> bool:
    """Whether the premise also follows from the hypothesis, in that it says nothing narrower."""
    return all(
        is_a(asked.concept, known.concept)
        and asked.holds == known.holds
        and is_a(hypothesis.scene.kinds[asked.thing], premise.scene.kinds[known.thing])
        for known, asked in met
    )


def _clause(telling: Telling, facts: list[Fact], determined: Callable[[str], str]) -> str:
    """Facts of one thing in one clause, what is denied at its end."""
    said = []
    for fact in sorted(facts, key=lambda fact: not fact.holds):
        other = "" if fact.other is None else f" {determined(telling.kind(fact.other))}"
        said.append(f"{telling.value(fact)}{other}")
    return f"{determined(telling.kind(facts[0].thing))} is {' and '.join(said)}"


def _the(noun: str) -> str:
    return f"the {noun}"
