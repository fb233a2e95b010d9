"""The format of the ERASER benchmark: tokenized documents, and the evidence tokens for each query."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verax.data.assemble import assemble
from verax.data.columns import Columns
from verax.data.formats import files_provenance, first_cells, has
from verax.data.rows import Record, Source, describe, without_none
from verax.data.table import lines, read_jsonl
from verax.registry import unknown
from verax.types import Dataset, UserError

_FILES = {"train": "train.jsonl", "validation": "val.jsonl", "test": "test.jsonl"}
_APART, _TOGETHER = "docs", "docs.jsonl"
_PAIR = ("premise", "hypothesis")
_QUERY, _DOCUMENT = "query", "document"
_ID, _DOCIDS, _EVIDENCES = "annotation_id", "docids", "evidences"
_GOLD = "evidence in {part}"


def is_eraser(path: Path) -> bool:
    """Whether a path is a folder with documents and annotations, or an annotation file next to its documents."""
    file = next(iter(_splits(path).values()), path) if path.is_dir() else path
    if not file.is_file() or file.suffix != ".jsonl" or not _has_documents(file.parent):
        return False
    return has(_ID, _EVIDENCES)(first_cells(read_jsonl, file))


def load_eraser(
    path: Path, *, split: str | None, limit: int | None, labels: Sequence[str] | None = None, lang: str = "en"
) -> Dataset:
    """Load the annotations of a file, or of a split of a folder.

    Args:
        split: of a folder: `train`, `validation` or `test` (default, unless there is only one); of a file: recorded.
        labels: class names in index order; default: those seen, sorted.
    """
    if path.is_dir():
        files = _splits(path)
        split = split or (next(iter(files)) if len(files) == 1 else "test")
        if split not in files:
            raise UserError(f"{path}: {unknown('split', split, files)}")
        path = files[split]
    source = Source(str(path), _rows(path), {**files_provenance([path]), **without_none(split=split)})
    return assemble(source, columns=_columns(path), labels=labels, lang=lang, limit=limit)


def _splits(folder: Path) -> dict[str, Path]:
    return {split: path for split, name in _FILES.items() if (path := folder / name).is_file()}


def _columns(path: Path) -> Columns:
    """Columns inferred from the first row: two documents, a query and its document, or a single document."""
    first = next(read_jsonl(path), None)
    if first is None:
        raise UserError(f"{path}: contains no rows")
    parts = tuple(_wanted(first, _evidences(first)))
    has_query = bool(first.cells.get(_QUERY)) and parts == (_DOCUMENT,)
    gold: list[str | None] = [_GOLD.format(part=part) for part in parts]
    return Columns(
        parts=(_QUERY, *parts) if has_query else parts,
        label="classification",
        id=_ID,
        gold_words=(None, *gold) if has_query else tuple(gold),
        maskable_part=parts[:1],
        metric="macro_f1",
    )


def _rows(path: Path) -> Generator[Record, None, None]:
    """Rows with the words of each document part and the indices of the evidence words."""
    documents = _read_documents(path.parent)
    for row in read_jsonl(path):
        evidences = _evidences(row)
        cells: dict[str, Any] = {}
        for part, names in _wanted(row, evidences).items():
            words: list[str] = []
            gold: list[int] = []
            for name in names:
                tokens = _tokens(row, name, path.parent, documents)
                inside = [evidence.checked(row, len(tokens)) for evidence in evidences if evidence.document == name]
                for number, token in enumerate(tokens):
                    if not token.strip():  # other white space counts as a token but is no word
                        continue
                    if any(number in tokens_of for tokens_of in inside):
                        gold.append(len(words))
                    words.append(token)
            cells |= {part: words, _GOLD.format(part=part): gold if evidences else None}
        yield row.with_cells(cells)


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Evidence tokens `start` to `end` (half-open) of a document, and the field they were read from."""

    field: str
    document: str
    start: int
    end: int

    def checked(self, row: Record, tokens: int) -> range:
        """The token indices, checked against the length of the document."""
        if not 0 <= self.start < self.end <= tokens:
            message = f"[{self.start}, {self.end}] is outside the {tokens} tokens of {self.document!r}"
            raise row.error(self.field, message)
        return range(self.start, self.end)


def _evidences(row: Record) -> list[_Evidence]:
    """The evidence of all groups, flattened."""
    evidences = []
    groups = row.items(_EVIDENCES, row.cells.get(_EVIDENCES), "a list of groups of evidence")
    for place, group in enumerate(groups):
        for number, item in enumerate(row.items(f"{_EVIDENCES}[{place}]", group, "a list of evidence")):
            field = f"{_EVIDENCES}[{place}][{number}]"
            if not isinstance(item, dict):
                raise row.error(field, f"expected an object, got {describe(item)}")
            document = row.text(f"{field}.docid", item.get("docid"))
            start, end = (
                row.whole_number(f"{field}.{name}", item.get(name), "the number of a token")
                for name in ("start_token", "end_token")
            )
            evidences.append(_Evidence(field, document, start, end))
    return evidences


def _wanted(row: Record, evidences: Sequence[_Evidence]) -> dict[str, list[str]]:
    """Document names of each part: premise and hypothesis, or a single document."""
    docids = row.cells.get(_DOCIDS)
    if docids is None:  # without evidence either, the document has the id of the annotation
        names = [evidence.document for evidence in evidences] or [row.name(_ID) or ""]
    else:
        names = [row.text(_DOCIDS, name) for name in row.items(_DOCIDS, docids, "a list of documents")]
    for part in _PAIR:
        if base := next((name.removesuffix(f"_{part}") for name in names if name.endswith(f"_{part}")), None):
            parts = {part: [f"{base}_{part}"] for part in _PAIR}
            break
    else:
        parts = {_DOCUMENT: list(dict.fromkeys(names))}
    known = {name for names in parts.values() for name in names}
    for evidence in evidences:
        if evidence.document not in known:
            raise row.error(f"{evidence.field}.docid", unknown("document", evidence.document, known))
    return parts


def _read_documents(folder: Path) -> Mapping[str, str] | None:
    """Documents by name, if they are in one file; None if each has its own."""
    file = folder / _TOGETHER
    if not file.is_file():
        return None
    return {
        row.text("docid", row.cells.get("docid")): row.text(_DOCUMENT, row.cells.get(_DOCUMENT))
        for row in read_jsonl(file)
    }


def _tokens(row: Record, name: str, folder: Path, documents: Mapping[str, str] | None) -> list[str]:
    """The tokens of a document, sentence by sentence."""
    path = folder / _APART / name
    sentences: list[str] | None = None
    if documents is not None:
        sentences = documents[name].split("\n") if name in documents else None
    elif path.parent == folder / _APART:
        with suppress(OSError, ValueError):  # an invalid file name is treated as a missing file
            sentences = [line for _, line in lines(path)]
    if sentences is None:
        place = folder / (_APART if documents is None else _TOGETHER)
        raise row.error(_DOCIDS, f"document {name!r} not found in {place}")
    return [token for sentence in sentences for token in sentence.strip().split(" ") if token]


def _has_documents(folder: Path) -> bool:
    return (folder / _APART).is_dir() or (folder / _TOGETHER).is_file()
