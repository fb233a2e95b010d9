"""One label of several by a generator that gives no likelihoods: ask for it in words, and read what is answered.

Where the answer comes with the likeliest first tokens, they tell how probable each label is, and which one it is if the
text names none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import regex

from verax.models.generator import Choice, ChoicePass, GeneratePass
from verax.types import Generated, Undefined

_AROUND = " \t\r\n\"'`*_.,:;!?()[]{}<>«»“”‘’„。，"
# "is not a contradiction" names a label and means another
_DENIED = regex.compile(r"(?:\b(?:not|no|nor|neither|never|cannot)|n['’]t)(?:\s+\w+){0,2}\s+$", regex.IGNORECASE)
# what may stand around a label of one letter: "a" is a word, too; behind a colon so is "A", if a word follows it
_MARKED = (
    r"\((?P<letter>{0})\)",
    r"\A[\s*_]*(?P<letter>{0})[*_]*[).:](?=[\s*_]|\Z)",
    r"(?i:\banswer\s+is|\boption)[\s*_]+(?P<letter>{0})(?!\w)",
    r"(?i:\banswer(?:\s+is)?[*_]*:)[\s*_]*(?P<letter>{0})(?!\w|[ \t]+\w)",
)
# what a label that stands by itself comes before, and what it comes behind, in an answer that goes on
_CLOSED = r"[*_\"'`)\]]*(?:\s*[.:;!]|\s*\n|\s*\Z)"
_ANSWERED = r"(?:\A|\banswer(?:\s+is)?[*_]*:?[\s*_]*)[\s\"'`*_(\[]*"
READING = "2"
"""Raised whenever another label comes to be read from the same answer: it is part of what decides a class."""
_LONGEST_QUOTE = 120
_LEAST = 3
"""Letters of a token that may be the beginning of a label; fewer begin too many other words."""


class _Unnamed(Undefined):
    """The answer says nothing of any label."""


def ask_for_label(choice: ChoicePass, tops: int = 0) -> GeneratePass:
    """The pass that asks for a label: the prompt, what may be answered, and how many first tokens are to be told."""
    labels = ", ".join(choice.labels)
    user = f"{choice.prompt.user.rstrip()}\n\nAnswer with exactly one of these and nothing else: {labels}"
    return GeneratePass(replace(choice.prompt, user=user), max_new_tokens=choice.max_new_tokens, tops=tops)


def read_choice(answer: Generated, labels: Sequence[str]) -> Choice:
    """The label that the answer names, with probabilities if its first tokens agree; else the one that they begin.

    What is written has the last word: a first token may begin a label and yet be another word (`In` of `incorrect`).
    """
    begun = label_by_tops(answer.tops, labels)
    try:
        named = parse_label(answer.text, labels, cut_off=answer.finish == "length")
    except _Unnamed:
        if begun is None:
            raise
        return begun
    return begun if begun is not None and begun.label == named else Choice(named, "parsed")


def label_by_tops(tops: Sequence[tuple[str, float]], labels: Sequence[str]) -> Choice | None:
    """The label that the likeliest first tokens begin, with the probability of each label among all labels.

    A token belongs to a label if it is its beginning, of three letters or more, or all of it and marks, in any case;
    to one of a single letter only if it is that letter. There is none if tokens that belong to no label are as likely
    as those that do, or if tokens that may belong to several could turn the choice. Labels that no token begins have a
    probability of 0: nothing is known of tokens that are not told.
    """
    mass, open_mass, other = dict.fromkeys(labels, 0.0), 0.0, 0.0
    for token, value in tops:
        whose = [label for label in labels if _begins(token.strip(_AROUND), label.strip(_AROUND))]
        if len(whose) == 1:
            mass[whose[0]] += math.exp(value)
        elif whose:
            open_mass += math.exp(value)
        else:
            other += math.exp(value)
    whole, (best, *rest) = sum(mass.values()), sorted(mass.values(), reverse=True)
    if whole <= other or best - max(rest, default=0.0) <= open_mass:
        return None
    likeliest = max(labels, key=mass.__getitem__)
    return Choice(likeliest, "first_token", tuple(mass[label] / whole for label in labels))


def _begins(token: str, label: str) -> bool:
    if _is_letter(label):
        return token == label
    token, label = token.casefold(), label.casefold()
    if len(token) < len(label):
        return len(token) >= _LEAST and label.startswith(token)
    return token == label or (token.startswith(label) and not token[len(label)].isalnum())  # "now" is no "no"


def parse_label(text: str, labels: Sequence[str], *, cut_off: bool = False) -> str:
    """The label that an answer names; raises Undefined if it names none, or more than one.

    An answer that is a label, whatever its case and the marks around it, is that label. Else the label must be the only
    one that occurs in it as a whole word, and must not be denied there ("not neutral"). A label of one letter occurs
    only in its own case, and marked as one: "(A)", "A." at the start, "answer is A", "Answer: A", "option A".

    Of an answer that was cut off, only a label that stands by itself at the start or behind "answer" counts: who knows
    what "to decide whether it is neutral, we" would have come to.
    """
    bare = text.strip(_AROUND)
    for label in labels:
        inner = label.strip(_AROUND)
        if bare == inner or (not _is_letter(label) and bare.casefold() == inner.casefold()):
            return label
    found = _occurrences(text, labels)
    named = {label for _, label in found}
    if len(named) == 1 and not any(_DENIED.search(text[:start]) for start, _ in found):
        label = named.pop()
        if not cut_off or _stands_alone(text, label):
            return label
        raise Undefined("unparsed_answer", f"the answer was cut off: {text.strip()[:_LONGEST_QUOTE]!r}")
    what = "no label" if not named else "a label that it denies" if len(named) == 1 else "several labels"
    kind = Undefined if named else _Unnamed
    raise kind("unparsed_answer", f"the answer names {what}: {text.strip()[:_LONGEST_QUOTE]!r}")


def _occurrences(text: str, labels: Sequence[str]) -> list[tuple[int, str]]:
    """Where labels occur in a text, and which."""
    letters, words = [one for one in labels if _is_letter(one)], [one for one in labels if not _is_letter(one)]
    found = []
    if words:
        # longest first: "not entailed" is no occurrence of "entailed"
        longest_first = "|".join(regex.escape(label) for label in sorted(words, key=len, reverse=True))
        matches = list(regex.finditer(rf"(?<!\w)(?:{longest_first})(?!\w)", text, regex.IGNORECASE))
        found += [(match.start(), _label_of(match[0], words)) for match in matches]
        for match in matches:  # "C++" is no occurrence of "C"
            text = text[: match.start()] + "\0" * len(match[0]) + text[match.end() :]
    for form in _MARKED if letters else ():
        matches = regex.finditer(form.format("|".join(letters)), text)
        found += [(match.start(), match["letter"]) for match in matches]
    return found


def _stands_alone(text: str, label: str) -> bool:
    written = regex.escape(label) if _is_letter(label) else f"(?i:{regex.escape(label)})"
    return regex.search(f"(?i:{_ANSWERED}){written}{_CLOSED}", text) is not None


def _is_letter(label: str) -> bool:
    return len(label) == 1 and label.isalpha()


def _label_of(word: str, labels: Sequence[str]) -> str:
    return next(label for label in labels if regex.fullmatch(regex.escape(label), word, regex.IGNORECASE))
