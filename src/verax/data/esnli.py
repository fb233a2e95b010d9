"""e-SNLI as published: CSV with highlighted words between asterisks, and free-text explanations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from verax.data.columns import Columns
from verax.data.formats import Format, has, with_cells
from verax.data.rows import Record
from verax.data.snli import LABELS
from verax.data.table import read_csv
from verax.data.text import split_words, words_over
from verax.types import Text

_SENTENCES = ("Sentence1", "Sentence2")
_MARKED, _WHY = "{sentence}_marked_{annotator}", "Explanation_{annotator}"
_ANNOTATORS = (1, 2, 3)
_GOLD, _EXPLANATIONS = "marked", "explanations"
_MIN_SIMILARITY = 0.8  # minimum share of equal letters for two copies of a sentence


def _annotated(rows: Iterator[Record]) -> Iterator[Record]:
    """Rows with the words highlighted by any annotator in each sentence, and all explanations."""
    for row in rows:
        marked = [_highlighted_by_any(row, sentence) for sentence in _SENTENCES]
        gold = None if marked == [None, None] else [sorted(words or ()) for words in marked]
        explanations = [row.cells.get(_WHY.format(annotator=annotator), "") for annotator in _ANNOTATORS]
        yield with_cells(row, **{_GOLD: gold, _EXPLANATIONS: explanations})


def _highlighted_by_any(row: Record, sentence: str) -> set[int] | None:
    """Indices of the words that any annotator highlighted; None if no annotator returned the sentence."""
    text = split_words(row.text(sentence, row.cells[sentence]))
    spelled = _spell(text.raw)
    words: set[int] | None = None
    for annotator in _ANNOTATORS:
        field = _MARKED.format(sentence=sentence, annotator=annotator)
        copy = row.text(field, row.cells.get(field, ""))
        if copy.strip():
            words = (words or set()) | _words_at(text, _marked(row, field, spelled, copy))
    return words


class _Spelling(NamedTuple):
    """Letters and digits of a text, their positions, and the number of asterisks before each and in total."""

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


def _marked(row: Record, field: str, sentence: _Spelling, copy: str) -> list[int]:
    """Positions of the letters and digits of a sentence that are between asterisks in a copy of it, in order.

    Only letters and digits are compared and marked: annotators clicked on words with adjacent punctuation, and the copy
    may differ in white space, quotation marks and an occasional letter.
    """
    theirs = _spell(copy)
    pairs = _same(sentence.letters, theirs.letters)
    if 2 * len(pairs) < _MIN_SIMILARITY * (len(sentence.letters) + len(theirs.letters)):
        raise row.error(field, f"expected the sentence with asterisks around highlighted words, got {copy[:40]!r}")
    stars = theirs.stars
    if sentence.letters == theirs.letters:  # asterisks of the sentence itself mark nothing
        stars = [there - here for there, here in zip(stars, sentence.stars, strict=True)]
    if stars[-1] % 2:
        raise row.error(field, f"unbalanced asterisk in {copy[:40]!r}")
    hit = [sentence.places[our] for our, their in pairs if stars[their] % 2]
    if not hit and any(count % 2 for count in stars):
        raise row.error(field, "the text between asterisks is not in the sentence")
    return hit


def _same(ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[int, int]]:
    """Index pairs of the letters that two spellings share, in order."""
    if ours == theirs:
        return [(number, number) for number in range(len(ours))]
    blocks = SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks()
    return [(block.a + k, block.b + k) for block in blocks for k in range(block.size)]


def _words_at(text: Text, places: Sequence[int]) -> set[int]:
    """Indices of the words at the given positions, which must be sorted."""
    words_hit: set[int] = set()
    end = 0
    for place in places:
        if place >= end and (words := words_over(text, place, place + 1)):
            words_hit.update(words)
            end = text.offsets[words[-1]][1]
    return words_hit


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
