"""Sentiment: does the speaker have a positive or a negative opinion of a thing?

The label is the speaker's own opinion of the thing as a whole. A negation ("not", "never", "far from") reverses a
positive or negative word. A clause or phrase with "although" or "despite" only concedes a point; after "but" or "yet"
comes the deciding clause. The opinion of others counts as far as the speaker agrees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Literal, get_args

from verax.data.world import read_toml
from verax.data.world.knowledge import PARTS, group_of, narrower, values
from verax.data.world.lexicon_en import article, synonyms, to_sentence
from verax.data.world.phrase import Phrase, TaggedText, TaggedToken, as_text, plain, tagged
from verax.data.world.splits import DrawnTask, draw_for_split
from verax.types import Human, Instance

OpinionTag = Literal["verdict", "negation", "contrast", "holder", "agreement"]
WordClass = Literal["adjective", "noun", "verb"]
WordsByPolarity = Mapping[bool, tuple[str, ...]]
"""Positive words and negative words."""

_WORD_CLASSES: tuple[WordClass, ...] = get_args(WordClass)
_TABLES = read_toml("opinion_en.toml")
LEXICON: Mapping[WordClass, WordsByPolarity] = {
    word_class: {True: tuple(table["positive"].split()), False: tuple(table["negative"].split())}
    for word_class in _WORD_CLASSES
    for table in (_TABLES[word_class],)
}
_INTENSIFIERS = ("very", "really", "truly", "rather", "quite")
_FUNCTION_WORDS = frozenset(("do", "could", "would", "by", "very", "really", "being", "at", "in", "the"))
OTHERS = ("my neighbours", "my sisters", "my parents", "some friends", "the critics", "most customers")

LABELS = ("negative", "positive")
LENGTHS = range(6, 26)
_THINGS = tuple(kind for group in PARTS for kind in narrower(group)[1:])


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An evaluating word, whether it is positive, and whether it is negated."""

    word_class: WordClass
    word: str
    positive_word: bool
    negated: bool

    @property
    def positive(self) -> bool:
        """Whether the evaluation as a whole is positive."""
        return self.positive_word != self.negated


@dataclass(frozen=True, slots=True)
class Opinion:
    """A thing, the deciding evaluation, and the form of the text (see `_FORMS`)."""

    thing: str
    evaluation: Evaluation
    form: str


def compose(rng: Random, split: str, label: str, name: str) -> Instance:
    """One instance with the given label."""
    while True:
        opinion = draw_for_split(split, lambda rng: _draw_opinion(rng, label == "positive"), _key, rng)
        text = as_text(_FORMS[opinion.form](rng, opinion) + plain("."))
        if len(text.tokens) in LENGTHS:
            human = Human((text.content_words(get_args(OpinionTag)),), explanations=(_explain(opinion, text, label),))
            return Instance(name, (text.text,), label, human=human)


def _draw_opinion(rng: Random, positive: bool) -> Opinion:
    form = rng.choice(tuple(_FORMS))
    return Opinion(rng.choice(_THINGS), _draw_evaluation(rng, positive, _FORM_CLASSES.get(form, _WORD_CLASSES)), form)


def _draw_evaluation(
    rng: Random, positive: bool, word_classes: tuple[WordClass, ...] = _WORD_CLASSES, negatable: bool = True
) -> Evaluation:
    """A positive or negative evaluation; half of the negatable ones are negated."""
    negated = negatable and rng.random() < 0.5
    word_class = rng.choice(word_classes)
    positive_word = positive != negated
    return Evaluation(word_class, rng.choice(LEXICON[word_class][positive_word]), positive_word, negated)


def _key(opinion: Opinion) -> str:
    return f"{opinion.thing} {opinion.evaluation.word} {opinion.evaluation.negated}"


def _clause(
    rng: Random, evaluation: Evaluation, subject: str, decides: bool = True, holder: OpinionTag | None = None
) -> Phrase[OpinionTag]:
    """An evaluation as a clause about its subject; its words are tagged only if it decides the opinion."""
    if evaluation.word_class != "verb":
        return plain(f"{subject} is") + _complement(rng, evaluation, decides)
    speaker: Phrase[OpinionTag] = (TaggedToken("I", holder, holder is not None),)
    intensifier: Phrase[OpinionTag] = plain("really") if not evaluation.negated and rng.random() < 0.3 else ()
    return speaker + _negation(rng, evaluation, decides) + intensifier + _verdict(evaluation, decides) + plain(subject)


def _complement(rng: Random, evaluation: Evaluation, decides: bool) -> Phrase[OpinionTag]:
    """The complement of "is" (or, if not negated, of "call it"): "not very reliable", "a real joy"."""
    verdict = _verdict(evaluation, decides)
    if evaluation.word_class == "adjective":
        intensified = not evaluation.negated and rng.random() < 0.5
        intensifier: Phrase[OpinionTag] = plain(rng.choice(_INTENSIFIERS)) if intensified else ()
        return _negation(rng, evaluation, decides) + intensifier + verdict
    noun: Phrase[OpinionTag] = (plain("real") if rng.random() < 0.3 else ()) + verdict
    return _negation(rng, evaluation, decides) + plain(article(noun[0].text)) + noun


def _verdict(evaluation: Evaluation, decides: bool) -> Phrase[OpinionTag]:
    return tagged(evaluation.word, "verdict", _FUNCTION_WORDS) if decides else plain(evaluation.word)


def _negation(rng: Random, evaluation: Evaluation, decides: bool) -> Phrase[OpinionTag]:
    if not evaluation.negated:
        return ()
    words = rng.choice(_TABLES[evaluation.word_class]["negations"])
    return tagged(words, "negation", _FUNCTION_WORDS) if decides else plain(words)


def _contrast(rng: Random, *conjunctions: str) -> Phrase[OpinionTag]:
    """A conjunction or preposition that determines which clause decides."""
    return tagged(rng.choice(conjunctions), "contrast", frozenset())


def _direct(rng: Random, opinion: Opinion) -> Phrase[OpinionTag]:
    """A neutral description and the deciding clause."""
    dimension = rng.choice(("colour", "place"))
    value = rng.choice(synonyms(rng.choice(values(group_of(opinion.thing), dimension))))
    description = plain(f"the {opinion.thing} is {value}") + plain(rng.choice((".", ", and")))
    return description + _clause(rng, opinion.evaluation, rng.choice(("it", f"the {opinion.thing}")))


def _concessive_clause(rng: Random, opinion: Opinion) -> Phrase[OpinionTag]:
    """The deciding clause and a conceded one."""
    main = _clause(rng, opinion.evaluation, f"the {opinion.thing}")
    concession = _contrast(rng, "although", "though", "even though") + _minor_clause(rng, opinion)
    return concession + plain(",") + main if rng.random() < 0.5 else main + plain(",") + concession


def _concessive_phrase(rng: Random, opinion: Opinion) -> Phrase[OpinionTag]:
    """The deciding clause and a conceded point."""
    main = _clause(rng, opinion.evaluation, f"the {opinion.thing}")
    minor = _draw_evaluation(rng, not opinion.evaluation.positive, ("adjective",), negatable=False)
    concession = _contrast(rng, "despite", "in spite of") + plain(f"the {minor.word} {_part(rng, opinion.thing)}")
    return concession + plain(",") + main if rng.random() < 0.5 else main + concession


def _adversative(rng: Random, opinion: Opinion) -> Phrase[OpinionTag]:
    """A minor point, then the deciding clause."""
    conjunction = plain(",") + _contrast(rng, "but", "yet")
    return _minor_clause(rng, opinion) + conjunction + _clause(rng, opinion.evaluation, f"the {opinion.thing}")


def _minor_clause(rng: Random, opinion: Opinion) -> Phrase[OpinionTag]:
    """The opposite evaluation of a part of the thing."""
    evaluation = _draw_evaluation(rng, not opinion.evaluation.positive)
    return _clause(rng, evaluation, f"the {_part(rng, opinion.thing)}", decides=False)


def _part(rng: Random, thing: str) -> str:
    return rng.choice(PARTS[group_of(thing)])


def _two_holders(rng: Random, opinion: Opinion) -> Phrase[OpinionTag]:
    """The speaker's opinion and that of others, which may be the same."""
    theirs_positive = rng.random() < 0.5
    theirs = f"{rng.choice(OTHERS)} {rng.choice(LEXICON['verb'][theirs_positive])}"
    same = theirs_positive == opinion.evaluation.positive
    joint = plain(rng.choice((", and", ".") if same else (", but", ".", ", while")))
    own_first = rng.random() < 0.5
    own = _clause(rng, opinion.evaluation, f"the {opinion.thing}" if own_first else "it", holder="holder")
    return own + joint + plain(f"{theirs} it") if own_first else plain(f"{theirs} the {opinion.thing}") + joint + own


def _quotation(rng: Random, opinion: Opinion) -> Phrase[OpinionTag]:
    """The words of others, and whether the speaker agrees."""
    evaluation = opinion.evaluation
    quoted = plain(f"{rng.choice(OTHERS)} call the {opinion.thing}")
    quoted += _complement(rng, replace(evaluation, negated=False), decides=True)
    tag: OpinionTag = "negation" if evaluation.negated else "agreement"
    reply = rng.choice(("do not agree", "disagree") if evaluation.negated else ("agree", "do agree"))
    joint = rng.choice((", but", ".") if evaluation.negated else (", and", "."))
    return quoted + plain(f"{joint} I") + tagged(reply, tag, frozenset(("do",)))


_FORMS: Mapping[str, Callable[[Random, Opinion], Phrase[OpinionTag]]] = {
    "direct": _direct,
    "concessive clause": _concessive_clause,
    "concessive phrase": _concessive_phrase,
    "adversative": _adversative,
    "two holders": _two_holders,
    "quotation": _quotation,
}
_FORM_CLASSES: Mapping[str, tuple[WordClass, ...]] = {"quotation": ("adjective", "noun"), "two holders": ("verb",)}


def _explain(opinion: Opinion, text: TaggedText[OpinionTag], label: str) -> str:
    """Why the opinion has its label, in one English sentence."""
    contrast, negation = (
        " ".join(token.text for token in text.tokens if token.tag == tag) for tag in ("contrast", "negation")
    )
    rule = {
        "concessive clause": f'what "{contrast}" brings in only concedes a point, ',
        "concessive phrase": f'what "{contrast}" brings in only concedes a point, ',
        "adversative": f'what comes after "{contrast}" decides, ',
        "two holders": "only what the speaker thinks counts, ",
    }.get(opinion.form, "")
    reason = f'{rule}"{opinion.evaluation.word}" is {"praise" if opinion.evaluation.positive_word else "blame"}'
    reason += f', and "{negation}" turns it round' if negation else ""
    return to_sentence(f"{reason}, so the opinion of the {opinion.thing} is {label}")


load = DrawnTask(
    "world/opinion",
    "Opinions about things, with negation and contrast, gold words and explanations.",
    LABELS,
    compose,
)
