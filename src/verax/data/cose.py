"""CoS-E: questions of CommonsenseQA with three or five choices, and what people selected and wrote to say why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from verax.data.columns import Columns
from verax.data.formats import Beside, Format, with_cells
from verax.data.rows import Row, describe
from verax.data.table import read_jsonl
from verax.data.text import split_words
from verax.registry import unknown

_QUESTION, _CHOICES, _LABEL, _ID = "question", "choices", "label", "id"
_KEY, _WHY = "answerKey", "explanation"
_GOLD = "selected words"
_CHOICE = "choice {}"
_SPLIT = "_rand_split"
_SHORTEST_PIECE = 3  # letters of a single word by which it is known though the rest of it was not selected


def _explained_in(path: Path) -> tuple[Path, ...]:
    """The file of explanations that lies beside a file of questions, if there is one."""
    split, cut, _ = path.stem.partition(_SPLIT)
    return tuple(sorted(path.parent.glob(f"cose_{split}_v*_processed.jsonl"))[:1]) if cut else ()


def _explained(files: tuple[Path, ...], rows: Iterator[Row]) -> Iterator[Row]:
    """Rows with the explanations that a file beside them has by their ids."""
    found: dict[str | None, Any] = {}
    for file in files:
        for row in read_jsonl(file):
            row.require(_ID)
            row.require(_WHY)
            found[row.name(_ID)] = row.cells[_WHY]
    for row in rows:
        why = found.get(row.name(_ID)) if found else None
        yield row if why is None else with_cells(row, **{_WHY: why})


def _choices_of(cells: Mapping[str, Any]) -> int:
    """How many choices a row has; none if it is not one of CoS-E."""
    question = cells.get(_QUESTION)
    published = isinstance(question, dict) and "stem" in question
    choices = question.get(_CHOICES) if isinstance(question, dict) else cells.get(_CHOICES)
    return len(choices) if isinstance(choices, list) and (published or _LABEL in cells) else 0


def _answered(rows: Iterator[Row], letters: Sequence[str]) -> Iterator[Row]:
    """Rows with the question, each choice and the letter of the right one, whichever form they come in."""
    for row in rows:
        question = row.cells.get(_QUESTION)
        if isinstance(question, dict):
            asked = row.text(f"{_QUESTION}.stem", question.get("stem"))
            choices, label = _lettered(row, question, letters)
        else:
            asked = row.text(_QUESTION, question)
            items = _enough(row, _CHOICES, row.cells.get(_CHOICES), letters)
            choices = [row.text(f"{_CHOICES}[{number}]", item) for number, item in enumerate(items)]
            label = row.cells.get(_LABEL)
        why, selected = _reasons(row)
        words = None if selected is None else _found(asked, selected)
        gold = None if words is None else [words, *([] for _ in letters)]
        told = {_CHOICE.format(letter): choice for letter, choice in zip(letters, choices, strict=True)}
        yield with_cells(row, **{_QUESTION: asked, _LABEL: label, _WHY: why, _GOLD: gold, **told})


def _lettered(row: Row, question: Mapping[str, Any], letters: Sequence[str]) -> tuple[list[str], str | None]:
    """The choices as CommonsenseQA writes them, and the letter of the right one by its place."""
    items = _enough(row, f"{_QUESTION}.{_CHOICES}", question.get(_CHOICES), letters)
    texts, keys = [], []
    for number, item in enumerate(items):
        field = f"{_QUESTION}.{_CHOICES}[{number}]"
        if not isinstance(item, dict):
            raise row.error(field, f"expected an object with label and text, got {describe(item)}")
        texts.append(row.text(f"{field}.text", item.get("text")))
        keys.append(row.text(f"{field}.label", item.get("label")))
    right = row.name(_KEY)
    if right is not None and right not in keys:
        raise row.error(_KEY, unknown("choice", right, keys))
    return texts, None if right is None else letters[keys.index(right)]


def _enough(row: Row, field: str, value: Any, letters: Sequence[str]) -> list[Any]:
    choices = row.items(field, value, "a list of choices")
    if len(choices) != len(letters):
        raise row.error(field, f"expected {len(letters)} choices, as in the first row, got {len(choices)}")
    return choices


def _reasons(row: Row) -> tuple[Any, str | None]:
    """What somebody wrote, and what was selected in the question."""
    why = row.cells.get(_WHY)
    if isinstance(why, dict):
        field, why, selected = f"{_WHY}.selected", *(why.get(name) for name in ("open-ended", "selected"))
    else:
        field, selected = "highlight", row.cells.get("highlight")
    return why, None if selected is None else row.text(field, selected)


def _found(question: str, selected: str) -> list[int] | None:
    """Numbers of the selected words in the question; None if it does not have them.

    People also selected what the page had around the question ("Question:", "Answer Choices:"), cut words short, and
    selected several stretches, which then stand with commas between them.
    """
    there = [(number, word.lower()) for number, word in enumerate(split_words(question).words) if _spoken(word)]
    words = [word for _, word in there]
    whole = _bare(selected)
    for wanted in (whole, whole[1:] if whole and whole[0].endswith("question") else []):
        if places := _places(words, wanted):
            return [there[place][0] for place in places]
    stretches = [_places(words, _bare(stretch)) for stretch in selected.split(",") if _bare(stretch)]
    return sorted({there[p][0] for places in stretches for p in places}) if stretches and all(stretches) else None


def _bare(selected: str) -> list[str]:
    """The selected words without signs, and without the heading of the choices."""
    before, _, _ = selected.lower().partition("answer choices")
    return [word for word in split_words(before).words if _spoken(word)]


def _spoken(word: str) -> bool:
    return any(sign.isalnum() for sign in word)


def _places(words: Sequence[str], wanted: Sequence[str]) -> range:
    """Where a row of words stands among others; its first and its last may be the rest or the start of a longer one."""
    starts = range(len(words) - len(wanted) + 1) if wanted else range(0)
    for alike in (_same, _cut_short):
        for start in starts:
            if alike(words[start : start + len(wanted)], wanted):
                return range(start, start + len(wanted))
    return range(0)


def _same(words: Sequence[str], wanted: Sequence[str]) -> bool:
    return list(words) == list(wanted)


def _cut_short(words: Sequence[str], wanted: Sequence[str]) -> bool:
    if len(wanted) == 1:
        return len(wanted[0]) >= _SHORTEST_PIECE and wanted[0] in words[0]
    ends = words[0].endswith(wanted[0]) and words[-1].startswith(wanted[-1])
    return ends and _same(words[1:-1], wanted[1:-1])


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
        beside=Beside(_explained_in, _explained),
    )


COSE_3 = _format(3)  # version 1.0
COSE_5 = _format(5)  # version 1.11
