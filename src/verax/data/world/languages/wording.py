"""Words that know what they say, and what the grammars of all languages share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from random import Random
from typing import NamedTuple

from verax.data.world.facts import Fact
from verax.data.world.languages.plan import Clause, Noun, Plan, Saying
from verax.data.world.phrase import Sentence, Token, sentence

Piece = tuple[int, Fact | str, str]
"""What a word says: the number of the clause, the fact or noun it speaks of, and its role there."""


class Word(NamedTuple):
    """A word of any language.

    Args:
        pieces: what it says; the French "du" says a preposition and an article. Words of two languages that share a
            piece translate each other.
        fact: what it speaks of, None for a word of grammar alone.
        carries: whether its own meaning carries that fact.
    """

    text: str
    pieces: tuple[Piece, ...] = ()
    fact: Fact | None = None
    carries: bool = False

    def saying_also(self, piece: Piece) -> Word:
        """The same word, which says one piece more."""
        return self._replace(pieces=(*self.pieces, piece))


Words = tuple[Word, ...]
Table = Mapping[str, tuple[str, ...]]


OPEN_PLACES = frozenset(("indoors", "outdoors"))
"""Places that are said by an adverb, or by words that do not translate one by one."""


def table(text: str) -> Table:
    """Concepts and the ways to say them: entries end in a semicolon, ways are divided by a slash."""
    entries = (entry.partition(":") for entry in text.split(";") if entry.strip())
    return {concept.strip(): tuple(way.strip() for way in ways.split("/")) for concept, _, ways in entries}


def merged(first: Word, second: Word, text: str) -> Word:
    """One word that says what two would have said."""
    leading = first if first.fact is not None else second
    pieces = tuple(dict.fromkeys(first.pieces + second.pieces))
    return Word(text, pieces, leading.fact, first.carries or second.carries)


def contracted(words: Words, contractions: Mapping[tuple[str, str], str]) -> Words:
    """Words of which some neighbours are written as one: "de" and "el" as "del"."""
    found: list[Word] = []
    for word in words:
        short = contractions.get((found[-1].text, word.text)) if found else None
        found[-1:] = [*found[-1:], word] if short is None else [merged(found[-1], word, short)]
    return tuple(found)


def as_sentence(words: Words, lang: str, apart: str) -> Sentence[Fact]:
    """Words set as running text, each with the fact it speaks of; `apart` is what stands between two words."""
    return sentence(tuple(Token(word.text, word.fact, word.carries) for word in words), lang, apart)


class Grammar(ABC):
    """How a language tells a plan.

    A grammar is used for one text: it holds the source of its choices between words of the same meaning, and the
    number of the clause that it is at.
    """

    lang: str
    apart = " "
    silent: frozenset[str] = frozenset()
    """Words that belong to a saying but carry none of its meaning on their own."""
    openings: Mapping[str, str]
    joints: Mapping[str, str]
    """Words with their role after a colon; words of two languages that open or join in the same role are linked."""
    together: str
    """What stands between two predicates of a clause."""
    stop = "."

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.number = 0
        self._called: dict[tuple[int, str], str] = {}

    def tell(self, plan: Plan) -> Words:
        """The words of a text."""
        words = self.roles(self.openings[plan.opening], "opening")
        for number, clause in enumerate(plan.clauses):
            joint = plan.joints[number - 1] if number else None
            self.number = number
            words += self.roles(self.joints[joint], "joint") if joint else ()
            words += self.clause(clause, joint or plan.opening)
        return self.smoothed((*words, Word(self.stop, ((len(plan.clauses), "joint", "stop"),))))

    @abstractmethod
    def clause(self, clause: Clause, after: str) -> Words:
        """A clause; `after` is the joint or opening that it follows, which may ask for another order of words."""

    @abstractmethod
    def noun(self, noun: Noun, case: str = "subject") -> Words:
        """A noun with its article and adjectives."""

    def joined(self, parts: list[Words]) -> Words:
        """Predicates of one clause, one after the other."""
        words = parts[0]
        for number, part in enumerate(parts[1:]):
            words += self.roles(self.together, f"together {number}") + part
        return words

    def smoothed(self, words: Words) -> Words:
        """Words as they are written next to each other."""
        return words

    def pick(self, ways: tuple[str, ...]) -> str:
        """One of several ways to say the same."""
        return ways[0] if len(ways) == 1 else self.rng.choice(ways)

    def called(self, noun: Noun, ways: Table) -> str:
        """What a thing is called at a place of the text: chosen once, so that whatever agrees with it can ask again."""
        mention = self.number, noun.slot
        if mention not in self._called:
            self._called[mention] = self.pick(ways[noun.kind.concept])
        return self._called[mention]

    def roles(self, written: str, about: str) -> Words:
        """Words of grammar from a table: "wir:we sehen:see"; what is empty behind its colon says nothing of its own."""
        pairs = (word.rpartition(":") for word in written.split())
        return tuple(
            Word(text, tuple((self.number, about, r) for r in role.split("+") if r)) for text, _, role in pairs
        )

    def of(self, text: str, about: Fact | str, *roles: str) -> Words:
        """Words that say something of a noun or predicate in one or several roles, but no fact."""
        return tuple(Word(word, tuple((self.number, about, role) for role in roles)) for word in text.split())

    def fact(self, text: str, fact: Fact, *roles: str, carries: bool = True) -> Words:
        """Words that say a fact, each of them the whole of it if no other role is given."""
        pieces = tuple((self.number, fact, role) for role in roles or ("value",))
        words = text.replace("_", " ").split()
        return tuple(Word(word, pieces, fact, carries and self._means(word, words)) for word in words)

    def kind(self, text: str, noun: Noun) -> Words:
        """The words of a noun itself."""
        words = text.replace("_", " ").split()
        pieces: tuple[Piece, ...] = ((self.number, noun.slot, "kind"),)
        return tuple(Word(word, pieces, noun.kind, self._means(word, words)) for word in words)

    def _means(self, word: str, words: list[str]) -> bool:
        """Whether a word of a saying carries its meaning: all that is said does, if it is a single word."""
        return len(words) == 1 or word not in self.silent

    def copula(self, text: str, number: int, *roles: str) -> Words:
        """Words of the finite verb of the predicate with that number, if it is a word of grammar."""
        return self.of(text, f"predicate {number}", *(roles or ("copula",)))

    def verb(self, text: str, fact: Fact, number: int) -> Words:
        """A finite verb that says a fact by itself: it translates "sleeping" and also the "is" before it."""
        copula = (self.number, f"predicate {number}", "copula")
        return tuple(word.saying_also(copula) for word in self.fact(text, fact))

    def object(self, saying: Saying, case: str = "object") -> Words:
        """The second thing of a relation."""
        if saying.other is None:
            raise ValueError("a relation needs two things")
        return self.noun(saying.other, case)

    def denial(self, text: str, fact: Fact) -> Words:
        """Words that deny a fact, none if it holds."""
        if fact.holds:
            return ()
        return tuple(Word(word, ((self.number, fact, "not"),), fact, True) for word in text.split())


class SubjectFirst(Grammar):
    """A language whose clauses all begin with their subject, followed by one predicate after the other."""

    def clause(self, clause: Clause, after: str) -> Words:
        """The same order of words, whatever the clause follows."""
        if clause.there:
            return self.there(clause)
        parts = [self.saying(clause.subject, saying, number) for number, saying in enumerate(clause.sayings)]
        return self.noun(clause.subject) + self.joined(parts)

    def saying(self, subject: Noun, saying: Saying, number: int) -> Words:
        """A predicate with its verb; `number` tells it from the others of its clause."""
        forms = {
            "quality": self.quality,
            "activity": self.activity,
            "place": self.place,
            "deed": self.passive if saying.passive else self.deed,
            "position": self.position,
            "comparison": self.comparison,
        }
        return forms[saying.form](subject, saying, number)

    @abstractmethod
    def quality(self, subject: Noun, saying: Saying, number: int) -> Words:
        """ "is big", "is not big"."""

    @abstractmethod
    def activity(self, subject: Noun, saying: Saying, number: int) -> Words:
        """ "is sleeping", "is sleeping in the kitchen", "is not sleeping"."""

    @abstractmethod
    def place(self, subject: Noun, saying: Saying, number: int) -> Words:
        """ "is in the kitchen", "is not in the kitchen"."""

    @abstractmethod
    def deed(self, subject: Noun, saying: Saying, number: int) -> Words:
        """ "is chasing the cat", "is not chasing the cat"."""

    @abstractmethod
    def passive(self, subject: Noun, saying: Saying, number: int) -> Words:
        """ "is being chased by the dog"; never denied."""

    @abstractmethod
    def position(self, subject: Noun, saying: Saying, number: int) -> Words:
        """ "is near the table", "is not near the table"."""

    @abstractmethod
    def comparison(self, subject: Noun, saying: Saying, number: int) -> Words:
        """ "is bigger than the cat", "is not bigger than the cat"."""

    @abstractmethod
    def there(self, clause: Clause) -> Words:
        """That there is a thing at a place."""
