"""Statements from the fillers of a template: completed, checked, and in the order of the input."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from verax.metrics.free_text.linguistics import (
    NOUNS,
    SUBJECTS,
    VERBS,
    Linguistics,
    ParsedToken,
    Tokens,
    is_root_noun,
    lacks,
    linguistics,
)
from verax.metrics.free_text.templates import AGREEING, Filled, Template
from verax.types import Undefined

_PLURAL_PRONOUNS = frozenset({"they", "we", "you", "these", "those"})
_HISS = ("s", "sh", "ch", "x", "z", "o")
_IRREGULAR = {"be": "is", "have": "has"}
# what is left of a template that does not fit, or speaks of the task itself
_DEBRIS = re.compile(
    r"\b(?:(?:does|do|did) not|not (?:necessarily|always|both)|can not|just because|because|whether|either|or not|"
    r"no way|at the same time|the same|different|sentence|statement|premise|hypothesis|text|description|implie[sd]|"
    r"imply|plus|infer\w*|mean(?:s|ing)?|assum\w+|true|possible|impossible|way of|another word|rephras\w+|synonym\w*|"
    r"nor|how|what|therefore|stands to reason|difficult|hard to|un?likely|words?|(?:type|kind|sort|form) of|mention\w*|"
    r"refers?|says?|states?|stated|rather than|instead of|as opposed to|other than|while also|only|even|if|could have|"
    r"indicat\w+|i think)\b|[;:]|\w- |, not\b",
    re.I,
)
_OPEN_WORDS = """
    a an and are as at be been being can could did do does for from had has have in into is not of on onto or than that
    the to was were which who will with would
"""
_OPEN_END = frozenset(_OPEN_WORDS.split())
"""Words that no statement ends with."""
_DEFINITE = re.compile(r"^(?:(?:just|only)\s+)?(?:the|this|that|these|those)\s+|^(?:just|only)\s+", re.I)
_AT_ONCE = re.compile(r"(?:[ ,]+(?:simultaneously|at the same time|at once|as well|too))+$", re.I)
_BEING = re.compile(r"^(?:be|being) (?:both )?", re.I)
_PURPOSE = re.compile(r" (?:to|for|in order) ", re.I)
_VOWEL = re.compile(r"^[aeiou]", re.I)
_MOST_WORDS = 30
_MOST_WORDS_OF_A_THING = 9
# a predicate after `is`: no bare or finite verb
_NO_PREDICATE = frozenset({"VB", "VBZ", "VBP", "VBD", "MD"})


@dataclass(frozen=True)
class Statements:
    """Makes premise and hypothesis of the fillers of a template.

    Args:
        parts: premise and hypothesis of the input; empty if they are not known.
    """

    parts: tuple[str, ...]
    pipeline: str

    @property
    def _language(self) -> Linguistics:
        return linguistics(self.pipeline)

    def of(self, template: Template, filled: Filled) -> tuple[str, str]:
        """Premise and hypothesis; raises Undefined if one of them is no statement."""
        if template.nouns:
            self._require_things(filled)
        if " to be Y" in template.phrase and _PURPOSE.search(filled["Y"]):
            raise Undefined("no_statement", f"{filled['Y']!r} names a purpose")
        if template.phrase.startswith("not every"):
            filled = {**filled, "X": _with_article(filled["X"])}
        filled = self._without_ellipsis(template, filled)
        raw = [self._stated(template.premise, filled), self._stated(template.hypothesis, filled)]
        if self._is_thing(raw[1]) and not self._is_thing(raw[0]):
            raise Undefined("no_subject", f"hypothesis {raw[1]!r}, by the template {template.phrase!r}")
        patterns = (template.premise, template.hypothesis)
        halves = [
            self._completed(half, raw[1 - number]) if len(patterns[number].split()) == 1 else half
            for number, half in enumerate(raw)
        ]
        for name, half in zip(("premise", "hypothesis"), halves, strict=True):
            tokens = self._language.read(half)
            missing = lacks(tokens) or (None if _is_statement(half, tokens) else "statement")
            if missing is not None:
                raise Undefined(f"no_{missing}", f"{name} {half!r}, by the template {template.phrase!r}")
        if halves[0].lower() == halves[1].lower():
            raise Undefined("no_statement", f"both halves are {halves[0]!r}, by the template {template.phrase!r}")
        # of `not all X are Y` the premise is that there is an X, whatever the input says first
        about_x = template.premise == "X" and template.hypothesis.startswith("X ")
        return (halves[0], halves[1]) if about_x else self._in_order(*halves)

    def _in_order(self, premise: str, hypothesis: str) -> tuple[str, str]:
        """The halves, exchanged if that way they have more words of their own part of the input."""
        if len(self.parts) != 2:
            return premise, hypothesis
        first, second = map(self._content, self.parts)
        one, other = self._content(premise), self._content(hypothesis)
        as_read = len(one & first - second) + len(other & second - first)
        exchanged = len(other & first - second) + len(one & second - first)
        return (hypothesis, premise) if exchanged > as_read else (premise, hypothesis)

    def _content(self, text: str) -> frozenset[str]:
        return frozenset(token.lemma for token in self._language.read(text.lower()) if token.content)

    def _require_things(self, filled: Filled) -> None:
        """Reject gaps that are no short noun phrases, or that the input does not speak of."""
        spoken_of = frozenset[str]().union(*map(self._content, self.parts))
        for gap, words in filled.items():
            tokens = self._language.read(words)
            bad = {token.pos for token in tokens} & (VERBS | {"ADV", "CCONJ", "PART", "PRON", "PUNCT", "SCONJ"})
            if bad or len(tokens) > _MOST_WORDS_OF_A_THING or not any(map(is_root_noun, tokens)):
                raise Undefined("no_subject", f"{gap} is no thing: {words!r}")
            if self.parts and not self._content(words) & spoken_of:
                raise Undefined("no_statement", f"the input says nothing of {words!r}")

    def _without_ellipsis(self, template: Template, filled: Filled) -> Filled:
        """Two predicates of one subject, with the verb or the article that the second one leaves out."""
        if template.predicates != {"Y", "Z"} or "Y" not in template.premise:
            return filled
        if "," in filled["Y"] or ("do" in template.premise.split() and " " in filled["Y"] and " " not in filled["Z"]):
            raise Undefined("no_statement", f"{filled['Z']!r} is no predicate like {filled['Y']!r}")
        if "be" not in template.premise.split():
            return filled
        first, second = self._language.read(filled["Y"]), self._language.read(filled["Z"])
        if not first or not second or first[0].tag != "VBG":
            article = filled["Y"].split()[0].lower()
            if article in {"a", "an"} and second and second[0].tag == "NN":
                return {**filled, "Z": _with_article(filled["Z"])}
            return filled
        begin, after = second[0], first[1] if len(first) > 1 else None
        same = after is not None and after.pos == begin.pos == "ADP"
        objects = {"DET", "NUM", "NOUN", "PROPN", "PRON"}
        if same or (after is not None and after.pos in objects and begin.pos in {"DET", "NUM"}):
            return {**filled, "Z": f"{first[0].text} {filled['Z']}"}
        if begin.pos in objects:
            raise Undefined("no_statement", f"{filled['Z']!r} is no predicate like {filled['Y']!r}")
        return filled

    def _stated(self, pattern: str, filled: Filled) -> str:
        """One half: the fillers of its gaps, with an agreeing verb if one has to be inserted."""
        words = pattern.split()
        if not set(AGREEING) & set(words):
            if len(words) > 1 and filled[words[0]].lower().split()[-1] in _OPEN_END:
                raise Undefined("no_statement", f"{filled[words[0]]!r} is no subject")
            return _AT_ONCE.sub("", " ".join(filled[word] for word in words))
        subject, verb, predicate = filled[words[0]], words[1], _AT_ONCE.sub("", filled[words[2]])
        if self._language.read(subject)[0].tag == "VBG" or subject.lower() in _OPEN_END:
            raise Undefined("no_subject", f"{subject!r} is no subject")
        plural = self._is_plural(predicate if subject.lower() == "there" else subject)
        if verb == "be":
            predicate = _BEING.sub("", predicate)
            tokens = self._language.read(f"{subject} {'are' if plural else 'is'} {predicate}")
            start = len(f"{subject} {'are' if plural else 'is'} ")
            head = next((token for token in tokens if token.start >= start), None)
            if head is not None and head.tag in _NO_PREDICATE:
                raise Undefined("no_statement", f"{predicate!r} does not follow {subject!r}")
            return f"{subject} {'am' if subject.lower() == 'i' else 'are' if plural else 'is'} {predicate}"
        if predicate.startswith("be "):
            return self._stated(pattern.replace(" do ", " be "), filled)
        if self._language.read(f"they will {predicate}")[2].tag != "VB":
            raise Undefined("no_statement", f"{predicate!r} is nothing that {subject!r} does")
        first, space, rest = predicate.partition(" ")
        return f"{subject} {first if plural else _third_person(first)}{space}{rest}"

    def _completed(self, half: str, other: str) -> str:
        """A half with what it leaves out: `there is` before a thing, a subject before `running`."""
        tokens = self._language.read(half)
        if not tokens or any(token.dep in SUBJECTS for token in tokens):
            return half
        if tokens[0].tag == "VBG" and not is_root_noun(tokens[0]) and not any(t.pos == "AUX" for t in tokens[1:]):
            has_one = any(token.dep in SUBJECTS for token in self._language.read(other))
            subject = (self._subject(other) if has_one else None) or (
                self._subject(self.parts[0]) if self.parts else None
            )
            if subject is None:
                return half
            be = "are" if self._is_plural(subject) else "is"
            return f"{subject} {be} {_BEING.sub('', half)}"
        return self._there_is(half, tokens) if self._is_thing(half) else half

    def _is_thing(self, text: str) -> bool:
        """Whether a text is a noun with its attributes, and no verb."""
        tokens = self._language.read(text)
        return any(map(is_root_noun, tokens)) and not any(token.pos in VERBS for token in tokens)

    def _there_is(self, thing: str, tokens: Tokens) -> str:
        """`there is a thing`, with the article that a bare noun has in the input."""
        head = next(filter(is_root_noun, tokens))
        bare = _DEFINITE.sub("", thing)
        joined = re.search(rf"\b{re.escape(head.text)} and\b", thing) is not None
        if joined and head.tag == "NN" and _is_bare(self._language.read(bare)):
            raise Undefined("no_statement", f"{thing!r} lacks an article")
        if head.tag in {"NNS", "NNPS"} or head.plural or joined:
            return f"there are {bare}"
        if not _is_bare(self._language.read(bare)):
            return f"there is {bare}"
        if not any(self._counts(part, head.text) for part in self.parts):
            raise Undefined("no_statement", f"{thing!r} lacks an article")
        return f"there is {_with_article(bare)}"

    def _counts(self, part: str, noun: str) -> bool:
        """Whether a part of the input has the noun, by itself, after `a`: it can be counted."""
        tokens = self._language.read(part.lower())
        places = [i for i, token in enumerate(tokens) if token.text == noun.lower() and token.dep != "compound"]
        return any(tokens[i].text in {"a", "an"} for place in places for i in range(max(0, place - 3), place))

    def _subject(self, text: str) -> str | None:
        """The subject of a text with the words before it that belong to it; None without one."""
        tokens = self._language.read(text)
        for place, token in enumerate(tokens):
            if token.dep in SUBJECTS - {"expl"} or is_root_noun(token):
                start = place
                while start and tokens[start - 1].dep in {"det", "amod", "compound", "nummod", "poss", "advmod"}:
                    start -= 1
                found = text[tokens[start].start : token.end].lower()
                return None if found in {"it", "this", "that"} else found
        return None

    def _is_plural(self, subject: str) -> bool:
        """Whether the verb of a subject has the plural form, which is also that of `I`."""
        if subject.lower() in _PLURAL_PRONOUNS | {"i"}:
            return True
        # A predicate that fits every subject lets the pipeline identify the subject.
        if (first := self._language.read(subject)[0]).pos == "NUM" and first.text.lower() not in {"one", "1"}:
            return True
        tokens = self._language.read(f"{subject} can not be here")
        heads = [token for token in tokens if token.dep in SUBJECTS]
        joined = any(token.dep == "conj" for token in tokens) and " and " in f" {subject.lower()} "
        return joined or bool(heads and (heads[0].plural or heads[0].text.lower() in _PLURAL_PRONOUNS))


def _is_statement(half: str, tokens: Tokens) -> bool:
    """Whether a half with a subject and a verb is a whole statement, and nothing else."""
    words = half.lower().split()
    return (
        2 <= len(words) <= _MOST_WORDS
        and words[-1] not in _OPEN_END
        and tokens[0].pos not in {"CCONJ", "SCONJ"}
        and (tokens[0].pos != "ADP" or "," in half)
        and tokens[0].tag not in {"VB", "VBG", "VBZ", "VBD", "MD"}
        and not (tokens[0].pos == "DET" and tokens[1].pos in VERBS)
        and _subject_place(tokens) < _verb_place(tokens)
        and _DEBRIS.search(half) is None
        and not _joins_unlike(tokens)
        and not _has_two_clauses(tokens)
    )


def _subject_place(tokens: Tokens) -> int:
    return next(i for i, token in enumerate(tokens) if token.dep in SUBJECTS or is_root_noun(token))


def _verb_place(tokens: Tokens) -> int:
    """The first verb that is no attribute of a noun (`a smiling man`); there is one at the end otherwise."""
    verbs = (i for i, token in enumerate(tokens) if token.pos in VERBS and token.dep not in {"amod", "compound"})
    return next(verbs, len(tokens))


def _has_two_clauses(tokens: Tokens) -> bool:
    """Whether a comma is followed by another clause, unless a phrase such as `on Monday` comes before it."""
    commas = [place for place, token in enumerate(tokens) if token.text == ","]
    if not commas or tokens[0].pos == "ADP":
        return False
    return any(token.dep in SUBJECTS for token in tokens[commas[0] :])


def _joins_unlike(tokens: Tokens) -> bool:
    """Whether a statement about what something is goes on with something else: `women are people and playing`."""
    pairs = pairwise(tokens)
    follows = any(one.pos == "CCONJ" and (other.tag == "VBG" or other.pos == "ADP") for one, other in pairs)
    return follows and any(token.dep == "attr" and token.pos in NOUNS for token in tokens)


def _is_bare(tokens: Tokens) -> bool:
    first: ParsedToken = tokens[0]
    return first.pos not in {"DET", "NUM", "PRON"} and first.tag not in {"PRP$", "WP$"}


def _with_article(words: str) -> str:
    return f"{'an' if _VOWEL.match(words) else 'a'} {words}"


def _third_person(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("y") and verb[-2:-1] not in set("aeiou"):
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(_HISS) else f"{verb}s"
