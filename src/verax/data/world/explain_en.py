"""A sentence that says why a hypothesis follows, is excluded or stays open, in the words of the two texts."""

from __future__ import annotations

from verax.data.world.facts import Fact, Judgement, Scene
from verax.data.world.lexicon_en import words_of
from verax.data.world.phrase import Sentence


class Telling:
    """A scene with its role ("premise") and the text that told it, to speak of its facts in the same words."""

    def __init__(self, role: str, scene: Scene, told: Sentence[Fact]) -> None:
        self.says = f"the {role} says that "
        self.role = role
        self.scene = scene
        self.told = told

    def kind(self, thing: int) -> str:
        """The noun that a thing was called by."""
        return self.value(self.scene.kind_fact(thing))

    def value(self, fact: Fact) -> str:
        """The words of a fact, its "not" included; a deed told of its victim is turned back to its doer."""
        first = self.told.spans(fact, 0)[0]
        said = " ".join(token.text for token in self.told.tokens[first.start : first.end])
        return words_of(fact.concept)[0] if said.startswith("being ") else said

    def clause(self, fact: Fact) -> str:
        """A fact as a clause of its own: "the dog is not chasing the cat"."""
        other = "" if fact.other is None else f" the {self.kind(fact.other)}"
        return f"the {self.kind(fact.thing)} is {self.value(fact)}{other}"


def explained(premise: Telling, hypothesis: Telling, judgement: Judgement) -> str:
    """Why the premise gives the hypothesis its label, in one English sentence."""
    kinds: list[str] = []
    reasons: list[str] = []
    met = set()
    for known, asked in judgement.met:
        if known == premise.scene.kind_fact(known.thing):
            narrow, wide = premise.kind(known.thing), hypothesis.kind(asked.thing)
            if judgement.hypothesis == (asked,):
                return _sentence([f"the {premise.role} speaks of {_a(narrow)}, and not every {narrow} is {_a(wide)}"])
            kinds += [f"{_a(narrow)} is {_a(wide)}"] if narrow != wide else []
        else:
            met.add(asked)
            reasons.append(_reason(premise, hypothesis, known, asked, judgement.label))
    unmet = [fact for fact in judgement.hypothesis if fact not in met and fact in hypothesis.scene.facts]
    reasons += [f"the {premise.role} does not say whether {_affirmed(hypothesis.clause(fact))}" for fact in unmet]
    return _sentence(kinds + _gathered(reasons, premise.says))


def _reason(premise: Telling, hypothesis: Telling, known: Fact, asked: Fact, label: str) -> str:
    """How one fact of the premise bears on the fact of the hypothesis that it meets."""
    given, wanted = premise.value(known), hypothesis.value(asked)
    if known.other is not None:
        given, wanted = premise.clause(known), hypothesis.clause(asked)
    if label == "neutral":
        return f"{_that(given, known)} {_leaves(known)} {_affirmed(wanted)}"
    if given == wanted:
        return f"{premise.says}{premise.clause(known)}"
    if label == "entailment":
        return f"if {given}, then {wanted}" if known.other is not None else f"what is {given} is {wanted}"
    if _affirmed(given) == _affirmed(wanted):
        return f"{premise.says}{premise.clause(known)}, and the {hypothesis.role} says the opposite"
    if known.other is not None:
        return f"if {given}, it cannot be that {wanted}"
    denied = "" if asked.holds else f", which the {hypothesis.role} denies"
    return f"what is {given} {'cannot be' if asked.holds else 'is'} {_affirmed(wanted)}{denied}"


def _that(given: str, known: Fact) -> str:
    return f"that {given}" if known.other is not None else f"what is {given}"


def _leaves(known: Fact) -> str:
    return "leaves open whether" if known.other is not None else "may or may not be"


def _affirmed(words: str) -> str:
    """The same without its "not"."""
    return words.removeprefix("not ").replace(" not ", " ")


def _gathered(reasons: list[str], says: str) -> list[str]:
    """Several things that the premise says, said in one go."""
    said = [reason.removeprefix(says) for reason in reasons if reason.startswith(says)]
    others = [reason for reason in reasons if not reason.startswith(says)]
    return [*others, *([says + " and that ".join(said)] if said else [])]


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _sentence(reasons: list[str]) -> str:
    text = ", and ".join(reasons)
    return f"{text[0].upper()}{text[1:]}."
