"""bAbI in its original text files: numbered statements, and questions with answers and supporting lines."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path

from verax.data.assemble import assemble
from verax.data.columns import Columns
from verax.data.formats import check_split, four_fifths
from verax.data.labels import sorted_names
from verax.data.rows import Record, Source, without_none
from verax.data.table import file_hash, lines
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


def read_babi(path: Path) -> Generator[Record, None, None]:
    """One row per question, with the preceding statements of its story.

    A line is a number, a space and a statement, or a number, a space and a tab-separated question, answer and list of
    supporting line numbers. Number 1 begins a story.

    Returns:
        rows with the columns `number` (of the question in the file, from 0), `story` (from 0), `paragraph`, `question`,
        `answer` and `gold`: for each part the character ranges of the supporting sentences.
    """
    statements: dict[int, tuple[int, int]] = {}  # character range in the paragraph by line number
    paragraph, story, last, line_number, n_questions = "", -1, 0, 0, 0
    for line_number, line in lines(path):
        if not line.strip():
            continue
        where = f"{path}:{line_number}"
        number, content = _numbered(where, line, last)
        if number == 1:
            statements, paragraph, story = {}, "", story + 1
        last = number
        if "\t" not in content:
            start = len(paragraph) + bool(paragraph)
            paragraph = f"{paragraph} {content}" if paragraph else content
            statements[number] = (start, len(paragraph))
            continue
        question, answer, support = _question(where, content)
        gold = [[_statement_span(where, supporting, statements) for supporting in support], []]
        cells = {"paragraph": paragraph, "question": question, "answer": answer, "gold": gold}
        yield Record(where, f"line {line_number}", {"number": n_questions, "story": story, **cells})
        n_questions += 1
    if not n_questions:
        raise UserError(f"{path}:{line_number + 1}: expected a question in bAbI format before the end of the file")


def _numbered(where: str, line: str, last: int) -> tuple[int, str]:
    """The number and content of a line, given the number of the previous line."""
    match = _LINE.fullmatch(line.rstrip())
    if match is None:
        raise UserError(f"{where}: expected a bAbI line (a number, a space, a sentence), got {line.strip()[:40]!r}")
    number, content = int(match[1]), match[2].strip()
    if number not in (1, last + 1):
        follows = f"{last + 1} or 1" if last else "1"
        raise UserError(f"{where}: expected the line number {follows}, got {number}")
    if "\t" not in content and content.endswith("?"):
        raise UserError(f"{where}: a question needs its answer after a tab, got {content[:40]!r}")
    return number, content


def _question(where: str, content: str) -> tuple[str, str, list[str]]:
    fields = [field.strip() for field in content.split("\t")]
    if len(fields) != 3 or not all(fields):
        raise UserError(f"{where}: expected a tab-separated question, answer and supporting lines, got {fields}")
    return fields[0], fields[1], fields[2].split()


def _statement_span(where: str, named: str, statements: Mapping[int, tuple[int, int]]) -> list[int]:
    span = statements.get(int(named)) if re.fullmatch(r"[0-9]{1,9}", named) else None
    if span is None:
        raise UserError(f"{where}: the supporting line {named!r} is not a previous statement of the story")
    return list(span)


def tasks_in(folder: Path) -> dict[int, dict[str, Path]]:
    """The bAbI files of a folder by task and `train` or `test`, from their names: `qa1_..._train.txt`."""
    tasks: dict[int, dict[str, Path]] = {}
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        raise UserError(f"{folder}: cannot be read: {error.strerror}") from None
    for path in paths:
        if match := _FILE.fullmatch(path.name):
            tasks.setdefault(int(match[1]), {}).setdefault(match[2], path)
    return tasks


def is_babi(path: Path) -> bool:
    """Whether a path is a text file, or a folder with bAbI file names."""
    return (path.is_file() and path.suffix.lower() == SUFFIX) or (path.is_dir() and bool(tasks_in(path)))


def load_babi(
    path: Path, *, split: str | None, limit: int | None, labels: Sequence[str] | None = None, lang: str = "en"
) -> Dataset:
    """Load the questions of a file, or of a split of the only task in a folder.

    Args:
        split: of a folder: `train`, `validation` or `test` (the default); of a file: recorded.
        labels: answers in index order; default: those of the file (of a folder: of its train file), sorted.
    """
    if path.is_dir():
        tasks = tasks_in(path)
        if len(tasks) > 1:
            raise UserError(
                f"{path}: contains the bAbI tasks {', '.join(map(str, sorted(tasks)))}; give one of its files"
            )
        ((task, files),) = tasks.items()
        return load_task(f"babi-{task}", files, split=split or "test", limit=limit, labels=labels, lang=lang)
    return _dataset(path, _questions(path), path.stem, limit, labels, lang, split)


def load_task(
    name: str,
    files: Mapping[str, Path],
    *,
    split: str,
    limit: int | None,
    labels: Sequence[str] | None = None,
    lang: str = "en",
) -> Dataset:
    """Load a split of a task: the first four fifths of the train file by whole stories, its rest, or the test file.

    Args:
        name: prefix of the ids.
        files: the train file, which has all answers, and the test file.
    """
    check_split(name, split)
    file = "test" if split == "test" else "train"
    for needed in ("train", file):
        if needed not in files:
            other = next(iter(files.values()))
            raise UserError(f"{name}: the split {split} needs a {needed} file next to {other}")
    rows = _questions(files["train"])
    labels = _answers(rows) if labels is None else labels
    if split == "test":
        rows = _questions(files["test"])
    else:
        end = _cut(rows)
        rows = rows[:end] if split == "train" else rows[end:]
    return _dataset(files[file], rows, f"{name}/{split}", limit, labels, lang, split)


def _cut(rows: Sequence[Record]) -> int:
    """Start of validation: after four fifths of the questions, moved back to the start of a story."""
    end = four_fifths(len(rows))
    while 0 < end < len(rows) and rows[end].cells["story"] == rows[end - 1].cells["story"]:
        end -= 1
    return end


def _questions(path: Path) -> list[Record]:
    file_hash(path)  # raises a UserError for an unreadable file
    return list(read_babi(path))


def _answers(rows: Iterable[Record]) -> tuple[str, ...]:
    return sorted_names(row.cells["answer"] for row in rows)


def _dataset(
    path: Path,
    rows: Sequence[Record],
    prefix: str,
    limit: int | None,
    labels: Sequence[str] | None,
    lang: str,
    split: str | None,
) -> Dataset:
    provenance = {"path": str(path), "sha256": file_hash(path), **without_none(split=split)}
    named = (row.with_cells({"id": f"{prefix}/{row.cells['number']:05d}"}) for row in rows)
    source = Source(str(path), named, provenance)
    names = _answers(rows) if labels is None else labels
    return assemble(source, columns=_COLUMNS, labels=names, lang=lang, limit=limit)
