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
_LONGEST_QUOTE = 120


def ask_for_label(choice: ChoicePass) -> GeneratePass:
    """The pass that asks for a label: the prompt, and what may be answered."""
    labels = ", ".join(choice.labels)
    user = f"{choice.prompt.user.rstrip()}\n\nAnswer with exactly one of these and nothing else: {labels}"
    return GeneratePass(replace(choice.prompt, user=user), max_new_tokens=choice.max_new_tokens)


def parse_label(text: str, labels: Sequence[str]) -> str:
    """The label that an answer names; raises Undefined if it names none, or more than one.

    An answer that is a label, whatever its case and the marks around it, is that label. Else the label must be the only
    one that occurs in it as a whole word, and must not be denied there ("not neutral").
    """
    bare = text.strip(_AROUND).casefold()
    for label in labels:
        if bare == label.strip(_AROUND).casefold():
            return label
    # longest first: "not entailed" is no occurrence of "entailed"
    longest_first = "|".join(regex.escape(label) for label in sorted(labels, key=len, reverse=True))
    found = list(regex.finditer(rf"(?<!\w)(?:{longest_first})(?!\w)", text, regex.IGNORECASE))
    named = {_label_of(match[0], labels) for match in found}
    if len(named) == 1 and not any(_DENIED.search(text[: match.start()]) for match in found):
        return named.pop()
    what = "no label" if not named else "a label that it denies" if len(named) == 1 else "several labels"
    raise Undefined("unparsed_answer", f"the answer names {what}: {text.strip()[:_LONGEST_QUOTE]!r}")


def _label_of(word: str, labels: Sequence[str]) -> str:
    return next(label for label in labels if regex.fullmatch(regex.escape(label), word, regex.IGNORECASE))
