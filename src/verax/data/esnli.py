"""e-SNLI as it was published: CSV with the words that annotators marked between asterisks, and what they wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from verax.data.columns import Columns
from verax.data.formats import Format, has, with_cells
from verax.data.rows import Row
from verax.data.snli import LABELS
from verax.data.table import read_csv
from verax.data.text import split_words, words_over
from verax.types import Text

_SENTENCES = ("Sentence1", "Sentence2")
_MARKED, _WHY = "{sentence}_marked_{annotator}", "Explanation_{annotator}"
_ANNOTATORS = (1, 2, 3)
_GOLD, _EXPLANATIONS = "marked", "explanations"
_ALIKE = 0.8  # of the letters, or it is another sentence


def _annotated(rows: Iterator[Row]) -> Iterator[Row]:
    """Rows with the words that anybody marked, for each sentence, and all explanations."""
    for row in rows:
        marked = [_by_anybody(row, sentence) for sentence in _SENTENCES]
        gold = None if marked == [None, None] else [sorted(words or ()) for words in marked]
        why = [row.cells.get(_WHY.format(annotator=annotator), "") for annotator in _ANNOTATORS]
        yield with_cells(row, **{_GOLD: gold, _EXPLANATIONS: why})


def _by_anybody(row: Row, sentence: str) -> set[int] | None:
    """Numbers of the words that some annotator marked; None where none of them left a marked sentence."""
    text = split_words(row.text(sentence, row.cells[sentence]))
    spelled = _spell(text.raw)
    found: set[int] | None = None
    for annotator in _ANNOTATORS:
        field = _MARKED.format(sentence=sentence, annotator=annotator)
        copy = row.text(field, row.cells.get(field, ""))
        if copy.strip():
            found = (found or set()) | _words_at(text, _marked(row, field, spelled, copy))
    return found


class _Spelling(NamedTuple):
    """The letters and digits of a text, where each stands, and how many asterisks come before it and in all."""

    letters: list[str]
    places: list[int]
    stars: list[int]


def _spell(text: str) -> _Spelling:
    places, stars, count = [], [], 0
    for place, sign in enumerate(text):
        if sign.isalnum():
            places.append(place)
            stars.append(count)
        elif sign == "*":
            count += 1
    return _Spelling([text[place].lower() for place in places], places, [*stars, count])


def _marked(row: Row, field: str, sentence: _Spelling, copy: str) -> list[int]:
    """Where the letters and digits of a sentence are that stand between asterisks in a copy of it, in order.

    Only letters and digits are compared and marked: annotators clicked on words with the punctuation that clings to
    them, and the copy may differ in white space, quotation marks and now and then a letter.
    """
    theirs = _spell(copy)
    pairs = _same(sentence.letters, theirs.letters)
    if 2 * len(pairs) < _ALIKE * (len(sentence.letters) + len(theirs.letters)):
        raise row.error(field, f"expected the sentence with asterisks around what is marked, got {copy[:40]!r}")
    stars = theirs.stars
    if sentence.letters == theirs.letters:  # asterisks that the sentence has of its own mark nothing
        stars = [there - here for there, here in zip(stars, sentence.stars, strict=True)]
    if stars[-1] % 2:
        raise row.error(field, f"an asterisk has no partner in {copy[:40]!r}")
    hit = [sentence.places[our] for our, their in pairs if stars[their] % 2]
    if not hit and any(count % 2 for count in stars):
        raise row.error(field, "what stands between asterisks is not in the sentence")
    return hit


def _same(ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[int, int]]:
    """Numbers of the letters that two spellings share, in order."""
    if ours == theirs:
        return [(number, number) for number in range(len(ours))]
    blocks = SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks()
    return [(block.a + k, block.b + k) for block in blocks for k in range(block.size)]


def _words_at(text: Text, places: Sequence[int]) -> set[int]:
    """Numbers of the words at places that are in order."""
    found: set[int] = set()
    end = 0
    for place in places:
        if place >= end and (words := words_over(text, place, place + 1)):
            found.update(words)
            end = text.offsets[words[-1]][1]
    return found


ESNLI = Format(
    name="e-SNLI",
    readers={".csv": read_csv},
    fits=has("pairID", "gold_label", *_SENTENCES, *(_MARKED.format(sentence=name, annotator=1) for name in _SENTENCES)),
    convert=_annotated,
    columns=Columns(
        parts=_SENTENCES,
        label="gold_label",
        id="pairID",
        gold_words=(_GOLD,),
        explanations=(_EXPLANATIONS,),
        maskable_part=_SENTENCES[:1],
        metric="macro_f1",
    ),
    labels=LABELS,
)
