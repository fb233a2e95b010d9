"""bAbI in its original text files: numbered statements, and questions with their answer and the lines it rests on."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from verax.data.assemble import assemble
from verax.data.columns import Columns
from verax.data.labels import sorted_names
from verax.data.public.splits import check_split, four_fifths
from verax.data.rows import Row, Source
from verax.data.table import fingerprint, lines
from verax.types import Dataset, UserError

SUFFIX = ".txt"
_FILE = re.compile(r"qa(\d+)_(?:.+_)?(train|test)\.txt")
_LINE = re.compile(r"([0-9]{1,9}) (.*)", re.DOTALL)
_COLUMNS = Columns(
    parts=("paragraph", "question"),
    label="answer",
    id="id",
    gold_chars=("gold",),
    maskable_part=("paragraph",),
    metric="micro_f1",
)


def read_babi(path: Path) -> Generator[Row, None, None]:
    """A row for each question, with what was said in its story so far.

    A line is a number, a space and a statement, or a number, a space and a question, its answer and the numbers of the
    lines that it rests on, with tabs between them. Number 1 begins a story.

    Returns:
        rows with the columns `number` (of the question in the file, from 0), `story` (from 0), `paragraph`, `question`,
        `answer` and `gold`: for each part the characters of the sentences that the answer rests on.
    """
    said: dict[int, tuple[int, int]] = {}  # where each statement of the story stands in the paragraph, by line number
    paragraph, story, last, place, asked = "", -1, 0, 0, 0
    for place, line in lines(path):
        if not line.strip():
            continue
        where = f"{path}:{place}"
        number, content = _numbered(where, line, last)
        if number == 1:
            said, paragraph, story = {}, "", story + 1
        last = number
        if "\t" not in content:
            start = len(paragraph) + bool(paragraph)
            paragraph = f"{paragraph} {content}" if paragraph else content
            said[number] = (start, len(paragraph))
            continue
        question, answer, support = _asked(where, content)
        gold = [[_found(where, named, said) for named in support], []]
        cells = {"paragraph": paragraph, "question": question, "answer": answer, "gold": gold}
        yield Row(where, f"line {place}", {"number": asked, "story": story, **cells})
        asked += 1
    if not asked:
        raise UserError(f"{path}:{place + 1}: the file ends without a question in the format of bAbI")


def _numbered(where: str, line: str, last: int) -> tuple[int, str]:
    """The number of a line and the rest of it, given the number of the line before."""
    found = _LINE.fullmatch(line.rstrip())
    if found is None:
        raise UserError(f"{where}: expected a line of bAbI (a number, a space, a sentence), got {line.strip()[:40]!r}")
    number, content = int(found[1]), found[2].strip()
    if number not in (1, last + 1):
        follows = f"{last + 1} or 1" if last else "1"
        raise UserError(f"{where}: expected the line number {follows}, got {number}")
    if "\t" not in content and content.endswith("?"):
        raise UserError(f"{where}: a question needs its answer after a tab, got {content[:40]!r}")
    return number, content


def _asked(where: str, content: str) -> tuple[str, str, list[str]]:
    fields = [field.strip() for field in content.split("\t")]
    if len(fields) != 3 or not all(fields):
        raise UserError(f"{where}: expected question, answer and supporting lines with tabs between, got {fields}")
    return fields[0], fields[1], fields[2].split()


def _found(where: str, named: str, said: Mapping[int, tuple[int, int]]) -> list[int]:
    span = said.get(int(named)) if re.fullmatch(r"[0-9]{1,9}", named) else None
    if span is None:
        raise UserError(f"{where}: the supporting line {named!r} is no statement of the story so far")
    return list(span)


def tasks_in(folder: Path) -> dict[int, dict[str, Path]]:
    """The bAbI files of a folder by task and then `train` or `test`, as they are named: `qa1_..._train.txt`."""
    tasks: dict[int, dict[str, Path]] = {}
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        raise UserError(f"{folder}: can't be read: {error.strerror}") from None
    for path in paths:
        if named := _FILE.fullmatch(path.name):
            tasks.setdefault(int(named[1]), {}).setdefault(named[2], path)
    return tasks


def is_babi(path: Path) -> bool:
    """Whether a path is a text file, or a folder with files named as those of bAbI."""
    return (path.is_file() and path.suffix.lower() == SUFFIX) or (path.is_dir() and bool(tasks_in(path)))


def load_babi(
    path: Path, *, split: str | None, limit: int | None, labels: Sequence[str] | None = None, lang: str = "en"
) -> Dataset:
    """The questions of a file, or of a split of the one task in a folder.

    Args:
        split: of a folder `train`, `validation` or `test` (the default). A file is one split: it is written down.
        limit: the first so many questions.
        labels: the answers in the order of their numbers; left out: those of the file (of a folder: of its train file),
            sorted.
    """
    if path.is_dir():
        tasks = tasks_in(path)
        if len(tasks) > 1:
            raise UserError(f"{path}: holds the bAbI tasks {', '.join(map(str, sorted(tasks)))}; name one of its files")
        ((task, files),) = tasks.items()
        return load_task(f"babi-{task}", files, split=split or "test", limit=limit, labels=labels, lang=lang)
    told = {} if split is None else {"split": split}
    return _dataset(path, _questions(path), path.stem, limit, labels, lang, told)


def load_task(
    name: str,
    files: Mapping[str, Path],
    *,
    split: str,
    limit: int | None,
    labels: Sequence[str] | None = None,
    lang: str = "en",
) -> Dataset:
    """A split of a task: the first four fifths of the train file by whole stories, the rest of it, or the test file.

    Args:
        name: what ids begin with.
        files: the train file, which knows all answers, and the test file.
    """
    check_split(name, split)
    held = "test" if split == "test" else "train"
    for needed in ("train", held):
        if needed not in files:
            beside = next(iter(files.values()))
            raise UserError(f"{name}: there is no {needed} file beside {beside}, and {split} needs it")
    rows = _questions(files["train"])
    labels = _answers(rows) if labels is None else labels
    if split == "test":
        rows = _questions(files["test"])
    else:
        end = _cut(rows)
        rows = rows[:end] if split == "train" else rows[end:]
    return _dataset(files[held], rows, f"{name}/{split}", limit, labels, lang, {"split": split})


def _cut(rows: Sequence[Row]) -> int:
    """Where validation begins: after four fifths of the questions, or at the start of the story that is told there."""
    end = four_fifths(len(rows))
    while 0 < end < len(rows) and rows[end].cells["story"] == rows[end - 1].cells["story"]:
        end -= 1
    return end


def _questions(path: Path) -> list[Row]:
    fingerprint(path)  # which refuses a file that can't be read
    return list(read_babi(path))


def _answers(rows: Iterable[Row]) -> tuple[str, ...]:
    return sorted_names(row.cells["answer"] for row in rows)


def _dataset(
    path: Path,
    rows: Sequence[Row],
    prefix: str,
    limit: int | None,
    labels: Sequence[str] | None,
    lang: str,
    told: Mapping[str, str],
) -> Dataset:
    provenance = {"path": str(path), "sha256": fingerprint(path), **told}
    source = Source(str(path), (_with_id(row, prefix) for row in rows), provenance)
    names = _answers(rows) if labels is None else labels
    return assemble(source, columns=_COLUMNS, labels=names, lang=lang, limit=limit)


def _with_id(row: Row, prefix: str) -> Row:
    cells: dict[str, Any] = {**row.cells, "id": f"{prefix}/{row.cells['number']:05d}"}
    return Row(row.where, row.position, cells)
