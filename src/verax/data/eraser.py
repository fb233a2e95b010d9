"""The format of the ERASER benchmark: documents in tokens, and for each query the tokens that are evidence."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verax.data.assemble import assemble
from verax.data.columns import Columns
from verax.data.formats import first_cells, has, provenance, with_cells
from verax.data.rows import Row, Source, describe
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
    """Whether a path is a folder with documents and annotations, or a file with annotations beside its documents."""
    file = next(iter(_splits(path).values()), path) if path.is_dir() else path
    if not file.is_file() or file.suffix != ".jsonl" or not _has_documents(file.parent):
        return False
    return has(_ID, _EVIDENCES)(first_cells(read_jsonl, file))


def load_eraser(
    path: Path, *, split: str | None, limit: int | None, labels: Sequence[str] | None = None, lang: str = "en"
) -> Dataset:
    """The annotations of a file, or of a split of a folder.

    Args:
        split: of a folder `train`, `validation` or `test` (the default, unless there is but one). A file is one split:
            it is written down.
        limit: the first so many.
        labels: names of the classes in the order of their numbers; left out: those seen, sorted.
    """
    if path.is_dir():
        there = _splits(path)
        split = split or (next(iter(there)) if len(there) == 1 else "test")
        if split not in there:
            raise UserError(f"{path}: {unknown('split', split, there)}")
        path = there[split]
    told = {} if split is None else {"split": split}
    source = Source(str(path), _rows(path), {**provenance([path]), **told})
    return assemble(source, columns=_columns(path), labels=labels, lang=lang, limit=limit)


def _splits(folder: Path) -> dict[str, Path]:
    return {split: path for split, name in _FILES.items() if (path := folder / name).is_file()}


def _columns(path: Path) -> Columns:
    """What the parts are: two documents, a query and its document, or a document alone, as in the first row."""
    first = next(read_jsonl(path), None)
    if first is None:
        raise UserError(f"{path}: there is no row in it")
    parts = tuple(_wanted(first, _evidences(first)))
    asked = bool(first.cells.get(_QUERY)) and parts == (_DOCUMENT,)
    gold: list[str | None] = [_GOLD.format(part=part) for part in parts]
    return Columns(
        parts=(_QUERY, *parts) if asked else parts,
        label="classification",
        id=_ID,
        gold_words=(None, *gold) if asked else tuple(gold),
        maskable_part=parts[:1],
        metric="macro_f1",
    )


def _rows(path: Path) -> Generator[Row, None, None]:
    """Rows with the words of each part that is a document, and the numbers of those that are evidence."""
    documents = _Documents.of(path.parent)
    for row in read_jsonl(path):
        evidences = _evidences(row)
        cells: dict[str, Any] = {}
        for part, names in _wanted(row, evidences).items():
            words: list[str] = []
            gold: list[int] = []
            for name in names:
                tokens = documents.tokens(row, name)
                inside = [evidence.checked(row, len(tokens)) for evidence in evidences if evidence.document == name]
                for number, token in enumerate(tokens):
                    if not token.strip():  # a space that is not " " counts as a token, but nobody can read it
                        continue
                    if any(number in tokens_of for tokens_of in inside):
                        gold.append(len(words))
                    words.append(token)
            cells |= {part: words, _GOLD.format(part=part): gold if evidences else None}
        yield with_cells(row, **cells)


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Tokens `start` to `end` (half-open) of a document, and the field that names them."""

    field: str
    document: str
    start: int
    end: int

    def checked(self, row: Row, tokens: int) -> range:
        """The numbers of its tokens, given how many the document has."""
        if not 0 <= self.start < self.end <= tokens:
            message = f"[{self.start}, {self.end}] does not lie in the {tokens} tokens of {self.document!r}"
            raise row.error(self.field, message)
        return range(self.start, self.end)


def _evidences(row: Row) -> list[_Evidence]:
    """The evidence of all groups."""
    found = []
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
            found.append(_Evidence(field, document, start, end))
    return found


def _wanted(row: Row, evidences: Sequence[_Evidence]) -> dict[str, list[str]]:
    """The names of the documents behind each part: of premise and hypothesis, or of a single document."""
    given = row.cells.get(_DOCIDS)
    if given is None:  # then, if there is no evidence either, the document is called like the annotation
        names = [evidence.document for evidence in evidences] or [row.name(_ID) or ""]
    else:
        names = [row.text(_DOCIDS, name) for name in row.items(_DOCIDS, given, "a list of documents")]
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


@dataclass(frozen=True, slots=True)
class _Documents:
    """Documents by their names.

    Args:
        place: the folder with a file for each, or the file that holds all.
        texts: those of a file that holds all.
    """

    place: Path
    texts: Mapping[str, str] | None

    @classmethod
    def of(cls, folder: Path) -> _Documents:
        """The documents that belong to the annotations of a folder."""
        file = folder / _TOGETHER
        if not file.is_file():
            return cls(folder / _APART, None)
        texts = (
            (row.text("docid", row.cells.get("docid")), row.text(_DOCUMENT, row.cells.get(_DOCUMENT)))
            for row in read_jsonl(file)
        )
        return cls(file, dict(texts))

    def tokens(self, row: Row, name: str) -> list[str]:
        """The tokens of a document, sentence after sentence."""
        sentences = self._sentences(name)
        if sentences is None:
            raise row.error(_DOCIDS, f"there is no document {name!r} in {self.place}")
        return [token for sentence in sentences for token in sentence.strip().split(" ") if token]

    def _sentences(self, name: str) -> list[str] | None:
        if self.texts is not None:
            return self.texts[name].split("\n") if name in self.texts else None
        path = self.place / name
        try:
            return [line for _, line in lines(path)] if path.parent == self.place else None
        except (OSError, ValueError):  # a name that no file can have is as good as a file that is not there
            return None


def _has_documents(folder: Path) -> bool:
    return (folder / _APART).is_dir() or (folder / _TOGETHER).is_file()
