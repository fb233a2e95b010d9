"""One label of several by a generator that gives no likelihoods: ask for it in words, and read what is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import regex

from verax.models.generator import ChoicePass, GeneratePass
from verax.types import Undefined

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
_LONGEST_QUOTE = 120


def ask_for_label(choice: ChoicePass) -> GeneratePass:
    """The pass that asks for a label: the prompt, and what may be answered."""
    labels = ", ".join(choice.labels)
    user = f"{choice.prompt.user.rstrip()}\n\nAnswer with exactly one of these and nothing else: {labels}"
    return GeneratePass(replace(choice.prompt, user=user), max_new_tokens=choice.max_new_tokens)


def parse_label(text: str, labels: Sequence[str]) -> str:
    """The label that an answer names; raises Undefined if it names none, or more than one.

    An answer that is a label, whatever its case and the marks around it, is that label. Else the label must be the only
    one that occurs in it as a whole word, and must not be denied there ("not neutral"). A label of one letter occurs
    only in its own case, and marked as one: "(A)", "A." at the start, "answer is A", "Answer: A", "option A".
    """
    bare = text.strip(_AROUND)
    for label in labels:
        inner = label.strip(_AROUND)
        if bare == inner or (not _is_letter(label) and bare.casefold() == inner.casefold()):
            return label
    found = _occurrences(text, labels)
    named = {label for _, label in found}
    if len(named) == 1 and not any(_DENIED.search(text[:start]) for start, _ in found):
        return named.pop()
    what = "no label" if not named else "a label that it denies" if len(named) == 1 else "several labels"
    raise Undefined("unparsed_answer", f"the answer names {what}: {text.strip()[:_LONGEST_QUOTE]!r}")


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


def _is_letter(label: str) -> bool:
    return len(label) == 1 and label.isalpha()


def _label_of(word: str, labels: Sequence[str]) -> str:
    return next(label for label in labels if regex.fullmatch(regex.escape(label), word, regex.IGNORECASE))
