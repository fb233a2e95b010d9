"""e-SNLI and e-XNLI as published: CSV with highlighted words between asterisks; e-SNLI also has explanations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from verax.data.columns import Columns
from verax.data.formats import Format, has
from verax.data.parallel import PARALLEL_ID
from verax.data.rows import Record
from verax.data.snli import LABELS
from verax.data.table import read_csv
from verax.data.text import split_words, words_over
from verax.types import Text

PAIR_ID, SENTENCES = "pairID", ("Sentence1", "Sentence2")
_MARKED, _WHY = "{sentence}_marked_{annotator}", "Explanation_{annotator}"
_ANNOTATORS = (1, 2, 3)
_GOLD, _EXPLANATIONS = "marked", "explanations"
_PARTS, _LANGUAGE, _UNKNOWN = ("premise", "hypothesis"), "language", "[UNK]"
_MIN_SIMILARITY = 0.8  # minimum share of equal letters for two copies of a sentence


def _annotated(rows: Iterator[Record]) -> Iterator[Record]:
    """Rows with the words highlighted by any annotator in each sentence, and all explanations."""
    for row in rows:
        marked = [highlighted(row, sentence, row.text(sentence, row.cells[sentence])) for sentence in SENTENCES]
        gold = None if marked == [None, None] else [sorted(words or ()) for words in marked]
        yield row.with_cells({_GOLD: gold, _EXPLANATIONS: explanations_of(row)})


def explanations_of(row: Record) -> list[str]:
    """The free-text explanations of all annotators."""
    return [row.cells.get(_WHY.format(annotator=annotator), "") for annotator in _ANNOTATORS]


def highlighted(row: Record, sentence: str, raw: str) -> set[int] | None:
    """Indices of the words of a sentence that any annotator highlighted; None if no annotator returned it.

    Args:
        sentence: `Sentence1` or `Sentence2`.
        raw: the sentence, of this row or as another data set spells it.
    """
    text = split_words(raw)
    spelled = _spell(text.raw)
    words: set[int] | None = None
    for annotator in _ANNOTATORS:
        field = _MARKED.format(sentence=sentence, annotator=annotator)
        copy = row.text(field, row.cells.get(field, ""))
        if copy.strip():
            words = (words or set()) | _words_at(text, _marked_in(row, field, spelled, copy))
    return words


def _marked_in(row: Record, field: str, sentence: _Spelling, copy: str) -> list[int]:
    """The highlighted letters of a sentence; a UserError about the field if the copy is of another sentence."""
    try:
        return _marked(sentence, copy)
    except ValueError as error:
        raise row.error(field, str(error)) from None


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


def _marked(sentence: _Spelling, copy: str) -> list[int]:
    """Positions of the letters and digits of a sentence that are between asterisks in a copy of it, in order.

    Only letters and digits are compared and marked: annotators clicked on words with adjacent punctuation, and the copy
    may differ in white space, quotation marks and an occasional letter. Raises a ValueError if the copy is of another
    sentence, or its asterisks are not in pairs.
    """
    theirs = _spell(copy)
    pairs = _same(sentence.letters, theirs.letters)
    if 2 * len(pairs) < _MIN_SIMILARITY * (len(sentence.letters) + len(theirs.letters)):
        raise ValueError(f"expected the sentence with asterisks around highlighted words, got {copy[:40]!r}")
    stars = theirs.stars
    if sentence.letters == theirs.letters:  # asterisks of the sentence itself mark nothing
        stars = [there - here for there, here in zip(stars, sentence.stars, strict=True)]
    if stars[-1] % 2:
        raise ValueError(f"unbalanced asterisk in {copy[:40]!r}")
    hit = [sentence.places[our] for our, their in pairs if stars[their] % 2]
    if not hit and any(count % 2 for count in stars):
        raise ValueError("the text between asterisks is not in the sentence")
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
    fits=has(PAIR_ID, "gold_label", *SENTENCES, *(_MARKED.format(sentence=name, annotator=1) for name in SENTENCES)),
    convert=_annotated,
    columns=Columns(
        parts=SENTENCES,
        label="gold_label",
        id=PAIR_ID,
        gold_words=(_GOLD,),
        explanations=(_EXPLANATIONS,),
        maskable_part=SENTENCES[:1],
        metric="macro_f1",
    ),
    labels=LABELS,
)


def _projected(rows: Iterator[Record]) -> Iterator[Record]:
    """Rows of e-XNLI with highlighted stretches of characters; the n-th rows of all languages are translations.

    Words that the tokenizer of its authors did not know are `[UNK]` in the highlighted copy; a sentence of which too
    little is left to find the others has no highlights.
    """
    counts: Counter[str] = Counter()
    for row in rows:
        lang = row.text(_LANGUAGE, row.cells[_LANGUAGE])
        stretches = [_stretches(row, part) for part in _PARTS]
        known = None if None in stretches else stretches
        yield row.with_cells({PARALLEL_ID: str(counts[lang]), _GOLD: known})
        counts[lang] += 1


def _stretches(row: Record, part: str) -> list[list[int]] | None:
    """Stretches [start, end] of highlighted letters of a part; None if they cannot be found."""
    field = f"{part}_highlighted"
    sentence, copy = row.text(part, row.cells[part]), row.text(field, row.cells.get(field, ""))
    spelled = _spell(sentence)
    try:
        letters = _marked(spelled, copy.replace(_UNKNOWN, " "))
    except ValueError as error:
        if _UNKNOWN in copy:
            return None
        raise row.error(field, str(error)) from None
    return [[letter, letter + 1] for letter in letters]


EXNLI = Format(
    name="e-XNLI",
    readers={".csv": read_csv},
    fits=has(_LANGUAGE, "label", *_PARTS, *(f"{part}_highlighted" for part in _PARTS)),
    convert=_projected,
    columns=Columns(parts=_PARTS, label="label", lang=_LANGUAGE, parallel_id=PARALLEL_ID, gold_chars=(_GOLD,)),
    labels=LABELS,
)
