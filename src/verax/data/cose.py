"""CoS-E: CommonsenseQA questions with three or five choices, and human highlights and explanations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from verax.data.columns import Columns
from verax.data.formats import Companions, Format
from verax.data.rows import Record, describe
from verax.data.table import read_jsonl
from verax.data.text import split_words
from verax.registry import unknown

_QUESTION, _CHOICES, _LABEL, _ID = "question", "choices", "label", "id"
_KEY, _WHY = "answerKey", "explanation"
_GOLD = "selected words"
_CHOICE = "choice {}"
_SPLIT = "_rand_split"
_MIN_FRAGMENT = 3  # letters of a partially selected single word that suffice to identify it


def _explained_in(path: Path) -> tuple[Path, ...]:
    """The explanation file next to a question file, if there is one."""
    split, cut, _ = path.stem.partition(_SPLIT)
    return tuple(sorted(path.parent.glob(f"cose_{split}_v*_processed.jsonl"))[:1]) if cut else ()


def _explained(files: tuple[Path, ...], rows: Iterator[Record]) -> Iterator[Record]:
    """Rows joined by id with the explanations of the companion file."""
    explanations: dict[str | None, Any] = {}
    for file in files:
        for row in read_jsonl(file):
            row.require(_ID)
            row.require(_WHY)
            explanations[row.name(_ID)] = row.cells[_WHY]
    for row in rows:
        explanation = explanations.get(row.name(_ID)) if explanations else None
        yield row if explanation is None else row.with_cells({_WHY: explanation})


def _choices_of(cells: Mapping[str, Any]) -> int:
    """Number of choices of a row; 0 if it is not in CoS-E format."""
    question = cells.get(_QUESTION)
    published = isinstance(question, dict) and "stem" in question
    choices = question.get(_CHOICES) if isinstance(question, dict) else cells.get(_CHOICES)
    return len(choices) if isinstance(choices, list) and (published or _LABEL in cells) else 0


def _answered(rows: Iterator[Record], letters: Sequence[str]) -> Iterator[Record]:
    """Rows with the question, each choice and the letter of the correct one, from either published form."""
    for row in rows:
        question = row.cells.get(_QUESTION)
        if isinstance(question, dict):
            stem = row.text(f"{_QUESTION}.stem", question.get("stem"))
            choices, label = _lettered(row, question, letters)
        else:
            stem = row.text(_QUESTION, question)
            items = _enough(row, _CHOICES, row.cells.get(_CHOICES), letters)
            choices = [row.text(f"{_CHOICES}[{number}]", item) for number, item in enumerate(items)]
            label = row.cells.get(_LABEL)
        explanation, selected = _reasons(row)
        words = None if selected is None else _selected_words(stem, selected)
        gold = None if words is None else [words, *([] for _ in letters)]
        choice_cells = {_CHOICE.format(letter): choice for letter, choice in zip(letters, choices, strict=True)}
        yield row.with_cells({_QUESTION: stem, _LABEL: label, _WHY: explanation, _GOLD: gold, **choice_cells})


def _lettered(row: Record, question: Mapping[str, Any], letters: Sequence[str]) -> tuple[list[str], str | None]:
    """The choices in CommonsenseQA format, and the letter of the correct one by its position."""
    items = _enough(row, f"{_QUESTION}.{_CHOICES}", question.get(_CHOICES), letters)
    texts, keys = [], []
    for number, item in enumerate(items):
        field = f"{_QUESTION}.{_CHOICES}[{number}]"
        if not isinstance(item, dict):
            raise row.error(field, f"expected an object with label and text, got {describe(item)}")
        texts.append(row.text(f"{field}.text", item.get("text")))
        keys.append(row.text(f"{field}.label", item.get("label")))
    key = row.name(_KEY)
    if key is not None and key not in keys:
        raise row.error(_KEY, unknown("choice", key, keys))
    return texts, None if key is None else letters[keys.index(key)]


def _enough(row: Record, field: str, value: Any, letters: Sequence[str]) -> list[Any]:
    choices = row.items(field, value, "a list of choices")
    if len(choices) != len(letters):
        raise row.error(field, f"expected {len(letters)} choices, as in the first row, got {len(choices)}")
    return choices


def _reasons(row: Record) -> tuple[Any, str | None]:
    """The written explanation and the selected text of the question."""
    why = row.cells.get(_WHY)
    if isinstance(why, dict):
        field, why, selected = f"{_WHY}.selected", *(why.get(name) for name in ("open-ended", "selected"))
    else:
        field, selected = "highlight", row.cells.get("highlight")
    return why, None if selected is None else row.text(field, selected)


def _selected_words(question: str, selected: str) -> list[int] | None:
    """Indices of the selected words in the question; None if they are not found.

    Annotators also selected page text around the question ("Question:", "Answer Choices:"), selected partial words, and
    selected several passages, which are joined by commas.
    """
    numbered = [(number, word.lower()) for number, word in enumerate(split_words(question).words) if _is_word(word)]
    words = [word for _, word in numbered]
    whole = _bare(selected)
    for wanted in (whole, whole[1:] if whole and whole[0].endswith("question") else []):
        if places := _places(words, wanted):
            return [numbered[place][0] for place in places]
    passages = [_places(words, _bare(passage)) for passage in selected.split(",") if _bare(passage)]
    return sorted({numbered[p][0] for places in passages for p in places}) if passages and all(passages) else None


def _bare(selected: str) -> list[str]:
    """The selected words without punctuation and without the heading of the choices."""
    before, _, _ = selected.lower().partition("answer choices")
    return [word for word in split_words(before).words if _is_word(word)]


def _is_word(word: str) -> bool:
    return any(sign.isalnum() for sign in word)


def _places(words: Sequence[str], wanted: Sequence[str]) -> range:
    """Positions of a sequence of words among others; its first and last word may be incomplete."""
    starts = range(len(words) - len(wanted) + 1) if wanted else range(0)
    for matches in (_equal, _cut_short):
        for start in starts:
            if matches(words[start : start + len(wanted)], wanted):
                return range(start, start + len(wanted))
    return range(0)


def _equal(words: Sequence[str], wanted: Sequence[str]) -> bool:
    return list(words) == list(wanted)


def _cut_short(words: Sequence[str], wanted: Sequence[str]) -> bool:
    if len(wanted) == 1:
        return len(wanted[0]) >= _MIN_FRAGMENT and wanted[0] in words[0]
    ends = words[0].endswith(wanted[0]) and words[-1].startswith(wanted[-1])
    return ends and _equal(words[1:-1], wanted[1:-1])


def _format(count: int) -> Format:
    letters = tuple(ascii_uppercase[:count])
    return Format(
        name="CoS-E",
        readers={".jsonl": read_jsonl},
        fits=lambda cells: _choices_of(cells) == count,
        convert=partial(_answered, letters=letters),
        columns=Columns(
            parts=(_QUESTION, *map(_CHOICE.format, letters)),
            label=_LABEL,
            id=_ID,
            gold_words=(_GOLD,),
            explanations=(_WHY,),
            maskable_part=(_QUESTION,),
        ),
        labels=letters,
        companions=Companions(_explained_in, _explained),
    )


COSE_3 = _format(3)  # version 1.0
COSE_5 = _format(5)  # version 1.11
