"""One label of several from a generator without likelihoods: its answer in words is parsed.

If the answer comes with its most likely first tokens, they give the probability of each label, and the label itself if
the text names none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import regex

from verax.models.endpoint.errors import EndpointUnparsedAnswer
from verax.models.generator import ChoicePass, ChosenLabel, ConcurrentRequest, GeneratePass, TextAnswer
from verax.types import Generated, Undefined

READING = "2"
"""Raised whenever another label is read from the same answer: it is part of the key of a prediction."""
_AROUND = " \t\r\n\"'`*_.,:;!?()[]{}<>«»“”‘’„。，"
# "is not a contradiction" names a label and means another
# matched backwards from the label, so that many labels in a long answer take no longer than the answer
_DENIED = regex.compile(
    r"(?:\b(?:not|no|nor|neither|never|cannot)|n['’]t)(?:\s+\w+){0,2}\s+", regex.IGNORECASE | regex.REVERSE
)
# forms of a label of one letter, since "a" is a word, too; after a colon so is "A", if a word follows it
_MARKED = (
    r"\((?P<letter>{0})\)",
    r"\A[\s*_]*(?P<letter>{0})[*_]*[).:](?=[\s*_]|\Z)",
    r"(?i:\banswer\s+is|\boption)[\s*_]+(?P<letter>{0})(?!\w)",
    r"(?i:\banswer(?:\s+is)?[*_]*:)[\s*_]*(?P<letter>{0})(?!\w|[ \t]+\w)",
)
# what follows and what precedes a label that is by itself in an answer that goes on
_CLOSED = r"[*_\"'`)\]]*(?:\s*[.:;!]|\s*\n|\s*\Z)"
_ANSWERED = r"(?:\A|\banswer(?:\s+is)?[*_]*+:?)[\s\"'`*_(\[]*"
_LONGEST_QUOTE = 120
_SHORTEST_PREFIX = 3
"""Letters of a token that may be the beginning of a label; fewer begin too many other words."""


class _NoLabelNamed(EndpointUnparsedAnswer):
    """The answer mentions no label."""


def text_request(request: ConcurrentRequest, tops: int = 0) -> GeneratePass:
    """The request as one for a text: a choice asks for a label in words, and for `tops` most likely first tokens."""
    if isinstance(request, GeneratePass):
        return request
    labels = ", ".join(request.labels)
    user = f"{request.prompt.user.rstrip()}\n\nAnswer with exactly one of these and nothing else: {labels}"
    prompt, length = replace(request.prompt, user=user), request.max_new_tokens
    return GeneratePass(prompt, max_new_tokens=length, tops=tops, repeat=request.repeat)


def read_answer(request: ConcurrentRequest, answer: Generated | Undefined) -> TextAnswer:
    """A text as the answer to a request: the text itself, or the label of a choice."""
    if isinstance(answer, Undefined) or not isinstance(request, ChoicePass):
        return answer
    try:
        return read_choice(answer, request.labels)
    except EndpointUnparsedAnswer as error:
        return error


def read_choice(answer: Generated, labels: Sequence[str]) -> ChosenLabel:
    """The label that the answer names, with probabilities if its first tokens agree; else the one that they begin.

    The text decides: a first token may begin a label and yet be another word (`In` of `incorrect`).
    """
    begun = label_by_tops(answer.tops, labels)
    try:
        named = parse_label(answer.text, labels, cut_off=answer.finish == "length")
    except _NoLabelNamed:
        if begun is None:
            raise
        return begun
    return begun if begun is not None and begun.label == named else ChosenLabel(named, "parsed")


def label_by_tops(tops: Sequence[tuple[str, float]], labels: Sequence[str]) -> ChosenLabel | None:
    """The label that the most likely first tokens begin, with the probability of each label among all labels.

    A token belongs to a label if it is its beginning, of three letters or more, or all of it and marks, in any case;
    to a label of one letter only if it is that letter. There is none if tokens that belong to no label are as likely as
    those that do, or if tokens that may belong to several could change the choice. Labels that no token begins have a
    probability of 0, since nothing is known of tokens that are not listed.
    """
    mass, ambiguous, other = dict.fromkeys(labels, 0.0), 0.0, 0.0
    for token, value in tops:
        owners = [label for label in labels if _begins(token.strip(_AROUND), label.strip(_AROUND))]
        if len(owners) == 1:
            mass[owners[0]] += math.exp(value)
        elif owners:
            ambiguous += math.exp(value)
        else:
            other += math.exp(value)
    total, (best, *rest) = sum(mass.values()), sorted(mass.values(), reverse=True)
    if total <= other or best - max(rest, default=0.0) <= ambiguous:
        return None
    likeliest = max(labels, key=mass.__getitem__)
    return ChosenLabel(likeliest, "first_token", tuple(mass[label] / total for label in labels))


def _begins(token: str, label: str) -> bool:
    if _is_letter(label):
        return token == label
    token, label = token.casefold(), label.casefold()
    if len(token) < len(label):
        return len(token) >= _SHORTEST_PREFIX and label.startswith(token)
    return token == label or (token.startswith(label) and not token[len(label)].isalnum())  # "now" is not "no"


def parse_label(text: str, labels: Sequence[str], *, cut_off: bool = False) -> str:
    """The label that an answer names; raises EndpointUnparsedAnswer if it names none, or more than one.

    An answer that is a label, in any case and with marks around it, is that label. Else the label must be the only one
    that occurs in it as a whole word, and must not be denied there ("not neutral"). A label of one letter occurs only
    in its own case, and marked as one: "(A)", "A." at the start, "answer is A", "Answer: A", "option A".

    In an answer that was cut off, only a label that is by itself at the start or after "answer" counts: "to decide
    whether it is neutral, we" has not decided.
    """
    bare = text.strip(_AROUND)
    for label in labels:
        inner = label.strip(_AROUND)
        if bare == inner or (not _is_letter(label) and bare.casefold() == inner.casefold()):
            return label
    occurrences = _occurrences(text, labels)
    named = {label for _, label in occurrences}
    if len(named) == 1 and not any(_DENIED.match(text, endpos=start) for start, _ in occurrences):
        label = named.pop()
        if not cut_off or _is_by_itself(text, label):
            return label
        raise EndpointUnparsedAnswer(f"the answer was cut off: {text.strip()[:_LONGEST_QUOTE]!r}")
    what = "no label" if not named else "a label that it denies" if len(named) == 1 else "several labels"
    kind = EndpointUnparsedAnswer if named else _NoLabelNamed
    raise kind(f"the answer names {what}: {text.strip()[:_LONGEST_QUOTE]!r}")


def _occurrences(text: str, labels: Sequence[str]) -> list[tuple[int, str]]:
    """Start of each occurrence of a label in a text, and the label."""
    letters = [label for label in labels if _is_letter(label)]
    words = [label for label in labels if not _is_letter(label)]
    occurrences = []
    if words:
        # longest first: "not entailed" is no occurrence of "entailed"
        longest_first = "|".join(regex.escape(label) for label in sorted(words, key=len, reverse=True))
        named = regex.compile(rf"(?<!\w)(?:{longest_first})(?!\w)", regex.IGNORECASE)
        spellings: dict[str, str] = {}
        for match in named.finditer(text):
            if match[0] not in spellings:
                spellings[match[0]] = _label_of(match[0], words)
            occurrences.append((match.start(), spellings[match[0]]))
        text = named.sub(lambda match: "\0" * len(match[0]), text)  # "C++" is no occurrence of "C"
    for form in _MARKED if letters else ():
        matches = regex.finditer(form.format("|".join(letters)), text)
        occurrences += [(match.start(), match["letter"]) for match in matches]
    return occurrences


def _is_by_itself(text: str, label: str) -> bool:
    pattern = regex.escape(label) if _is_letter(label) else f"(?i:{regex.escape(label)})"
    return regex.search(f"(?i:{_ANSWERED}){pattern}{_CLOSED}", text) is not None


def _is_letter(label: str) -> bool:
    return len(label) == 1 and label.isalpha()


def _label_of(word: str, labels: Sequence[str]) -> str:
    return next(label for label in labels if regex.fullmatch(regex.escape(label), word, regex.IGNORECASE))
