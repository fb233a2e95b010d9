"""Three-choice questions: which choice follows from what the question says?

The three choices are drawn before one of them is made the right one, and their order is random. So neither the choices
nor the question reveal the answer by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from random import Random
from typing import Literal, NamedTuple, get_args

from verax.data.text import split_words
from verax.data.world import read_toml
from verax.data.world.knowledge import AFFORDS, CHILDREN, dimension_of, excludes, group_of, narrower, values, wider
from verax.data.world.lexicon_en import FUNCTION_WORDS, article, synonyms, to_sentence, with_article
from verax.data.world.paraphrases_en import (
    Term,
    content_words,
    contradictions,
    draw_exclusive,
    draw_independent,
    draw_kind,
    draw_term,
    draw_unlike,
    kind_pools,
    paraphrases,
)
from verax.data.world.phrase import Phrase, TaggedText, as_text, plain, tagged
from verax.data.world.splits import DrawnTask, draw_for_split
from verax.types import Human, Instance, Span

QuestionForm = Literal["kind", "member", "value", "sure", "excluded"]
QuestionTag = Literal["given", "asked"]


class Verb(NamedTuple):
    """A verb in its base form and in the past tense."""

    base: str
    past: str


LABELS = ("A", "B", "C")
_VERBS = (
    Verb("find", "found"),
    Verb("draw", "drew"),
    Verb("photograph", "photographed"),
    Verb("describe", "described"),
)
_VALUE_QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "colour": ("which colour is the {}", "what colour does the {} have"),
    "activity": ("what is the {} doing",),
    "place": ("where is the {}", "where can the {} be found"),
}
_GROUPS = tuple(AFFORDS)
_DISTRACTOR_SHARE = 0.7
_SAME_GROUP_SHARE = 0.7
_MEMBER_GROUPS = tuple(
    group for group in _GROUPS if group != "person" and sum(kind in CHILDREN for kind in CHILDREN[group]) >= len(LABELS)
)


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """The content of a question.

    Args:
        given: what the question says about the subject; `right` follows from it.
        other: kind of a second person or thing that `misleading` is about; None: there is none.
        misleading: supports the first wrong choice; in a question about certainty, supports its opposite.
        verb: what the people do in a question about kinds.
    """

    form: QuestionForm
    kind: str
    given: Term
    right: Term
    wrong: tuple[Term, Term]
    other: str | None
    misleading: Term
    verb: Verb = _VERBS[0]

    @property
    def key(self) -> str:
        """Key of the content, independent of words and order."""
        concepts = [self.given.concept, self.misleading.concept]
        if self.about_certainty:  # both are about the subject, in any order
            return repr((self.form, self.kind, sorted(concepts)))
        return repr((self.form, self.kind, self.other, concepts[: 1 + (self.other is not None)]))

    @property
    def about_certainty(self) -> bool:
        """Whether it asks what must or cannot be true."""
        return self.form in ("sure", "excluded")

    @property
    def about_kinds(self) -> bool:
        """Whether the choices are kinds ("a dog") rather than values ("wet")."""
        return self.form in ("kind", "member")

    @property
    def subject(self) -> str:
        """The noun for the subject."""
        return synonyms(self.kind)[0]

    def choice(self, term: Term) -> str:
        """The text of a choice."""
        return with_article(term.words) if self.about_kinds else term.words


def compose(rng: Random, split: str, label: str, name: str) -> Instance:
    """One question whose right choice has the given letter."""
    question = draw_for_split(split, draw_question, attrgetter("key"), rng)
    text = write_question(question, rng)
    place = LABELS.index(label)
    choices = [*question.wrong]
    rng.shuffle(choices)
    choices.insert(place, question.right)
    texts = [split_words(question.choice(choice)) for choice in choices]
    words = texts[place].words
    right = Span(1 + place, len(words) - len(question.right.words.split()), len(words))
    deciding = content_words(question.right.words)
    gold: list[tuple[int, ...]] = [text.content_words(("given", "asked")), (), (), ()]
    gold[1 + place] = tuple(number for number, word in enumerate(words) if word in deciding)
    pairs = tuple((span, right) for span in text.spans("given", 0))
    return Instance(name, (text.text, *texts), label, human=Human(tuple(gold), pairs, explain_choice(question)))


def draw_question(rng: Random) -> ChoiceQuestion:
    """A question of any form."""
    form: QuestionForm = rng.choice(get_args(QuestionForm))
    return _DRAW[form](rng, form)


def _draw_kind_question(rng: Random, form: QuestionForm) -> ChoiceQuestion:
    """Somebody has a poodle: it is a dog."""
    pools = kind_pools()
    pool = rng.choice(pools[1:]) if rng.random() < _SAME_GROUP_SHARE else pools[0]
    right, *wrong = (draw_term(rng, kind) for kind in rng.sample(pool, len(LABELS)))
    given = rng.choice(paraphrases(right, group_of(right.concept)))
    misleading = rng.choice(paraphrases(wrong[0], group_of(wrong[0].concept)))
    return _about_people(rng, form, given, right, wrong, misleading)


def _draw_member_question(rng: Random, form: QuestionForm) -> ChoiceQuestion:
    """Somebody wants a dog: a poodle is one."""
    if rng.random() < _SAME_GROUP_SHARE:
        wide = rng.sample([k for k in CHILDREN[rng.choice(_MEMBER_GROUPS)] if k in CHILDREN], len(LABELS))
    else:
        wide = rng.sample([group for group in _GROUPS if group != "person"], len(LABELS))
    right, *wrong = (draw_term(rng, rng.choice(narrower(kind)[1:])) for kind in wide)
    given, misleading = (
        draw_term(rng, rng.choice([w for w in wider(own.concept)[1:] if excludes(w, other.concept)]))
        for own, other in ((right, wrong[0]), (wrong[0], right))
    )
    return _about_people(rng, form, given, right, wrong, misleading)


def _about_people(
    rng: Random, form: QuestionForm, given: Term, right: Term, wrong: list[Term], misleading: Term
) -> ChoiceQuestion:
    kind = draw_kind(rng, ("person",))
    other = draw_unlike(rng, kind, ("person",)) if rng.random() < _DISTRACTOR_SHARE else None
    return ChoiceQuestion(form, kind, given, right, (wrong[0], wrong[1]), other, misleading, rng.choice(_VERBS))


def _draw_value_question(rng: Random, form: QuestionForm) -> ChoiceQuestion:
    """A hat is scarlet: it is red."""
    kind = draw_kind(rng)
    group = group_of(kind)
    right, *wrong = (draw_term(rng, value) for value in draw_exclusive(rng, group, len(LABELS)))
    given = rng.choice(paraphrases(right, group))
    misleading = rng.choice(paraphrases(wrong[0], group))
    fits = [g for g in _GROUPS if misleading.concept in values(g, dimension_of(misleading.concept))]
    other = draw_unlike(rng, kind, fits) if rng.random() < _DISTRACTOR_SHARE else None
    return ChoiceQuestion(form, kind, given, right, (wrong[0], wrong[1]), other, misleading)


def _draw_certainty_question(rng: Random, form: QuestionForm) -> ChoiceQuestion:
    """A poodle is napping and filthy: it must be resting, and it cannot be clean."""
    kind = draw_kind(rng)
    group = group_of(kind)
    right, *wrong = (draw_term(rng, value) for value in draw_independent(rng, group, len(LABELS)))
    towards, against = (paraphrases, contradictions) if form == "sure" else (contradictions, paraphrases)
    given, misleading = rng.choice(towards(right, group)), rng.choice(against(wrong[0], group))
    return ChoiceQuestion(form, kind, given, right, (wrong[0], wrong[1]), None, misleading)


_DRAW: Mapping[QuestionForm, Callable[[Random, QuestionForm], ChoiceQuestion]] = {
    "kind": _draw_kind_question,
    "member": _draw_member_question,
    "value": _draw_value_question,
    "sure": _draw_certainty_question,
    "excluded": _draw_certainty_question,
}


def write_question(question: ChoiceQuestion, rng: Random) -> TaggedText[QuestionTag]:
    """The given information in random order, and the question."""
    given = _two_values(question, rng) if question.about_certainty else _two_clauses(question, rng)
    return as_text(given + plain(".") + _asked(question, rng) + plain("?"))


def _two_clauses(question: ChoiceQuestion, rng: Random) -> Phrase[QuestionTag]:
    """A clause about the subject, and often one about another person or thing."""
    own = plain(article(question.subject)) + _subject(question) + _predicate(question, question.given)
    if question.other is None:
        return own
    other = plain(with_article(synonyms(question.other)[0])) + _predicate(question, question.misleading)
    first, second = rng.sample((own, other), 2)
    return first + plain(rng.choice((", and", ", while"))) + second


def _predicate(question: ChoiceQuestion, term: Term) -> Phrase[QuestionTag]:
    if not question.about_kinds:
        return plain("is") + _value(question, term)
    verb = question.verb.past if question.form == "kind" else f"wants to {question.verb.base}"
    return plain(f"{verb} {article(term.words)}") + _value(question, term)


def _two_values(question: ChoiceQuestion, rng: Random) -> Phrase[QuestionTag]:
    first, second = rng.sample([_value(question, question.given), _value(question, question.misleading)], 2)
    return plain(f"{with_article(question.subject)} is") + first + plain("and") + second


def _asked(question: ChoiceQuestion, rng: Random) -> Phrase[QuestionTag]:
    if question.form == "sure":
        return plain("what") + _asked_words("must") + plain(f"the {question.subject} be")
    if question.form == "excluded":
        return plain(f"what can the {question.subject}") + _asked_words("not") + plain("be")
    if question.form == "value":
        template = rng.choice(_VALUE_QUESTIONS[dimension_of(question.right.concept)])
        before, _, after = template.partition("{}")
        return plain(before) + _subject(question) + plain(after)
    auxiliary = "did" if question.form == "kind" else "can"
    return plain(f"what {auxiliary} the") + _subject(question) + plain(question.verb.base)


def _subject(question: ChoiceQuestion) -> Phrase[QuestionTag]:
    """The subject, which is gold if there is another person or thing."""
    return plain(question.subject) if question.other is None else _asked_words(question.subject)


def _asked_words(words: str) -> Phrase[QuestionTag]:
    return tagged(words, "asked", FUNCTION_WORDS)


def _value(question: ChoiceQuestion, term: Term) -> Phrase[QuestionTag]:
    return tagged(term.words, "given", FUNCTION_WORDS) if term is question.given else plain(term.words)


_EXPLANATIONS: Mapping[QuestionForm, list[str]] = read_toml("explanations_en.toml")["questions"]


def explain_choice(question: ChoiceQuestion) -> tuple[str, ...]:
    """Three explanations of the right choice."""
    fields = {
        "subject": question.subject,
        "past": question.verb.past,
        "given": question.given.words,
        "a_given": with_article(question.given.words),
        "right": question.right.words,
        "a_right": with_article(question.right.words),
        "wrong": " or ".join(map(question.choice, question.wrong)),
        "no_wrong": " and ".join(f"no {wrong.words}" for wrong in question.wrong),
    }
    return tuple(to_sentence(template.format(**fields)) for template in _EXPLANATIONS[question.form])


load = DrawnTask(
    "world/questions",
    "Questions with three choices, with gold words, span pairs and explanations in several phrasings.",
    LABELS,
    compose,
    maskable=(0,),
)
