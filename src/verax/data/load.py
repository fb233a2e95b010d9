"""`load_dataset`: a built-in name, a file or folder of one's own, or a Hugging Face dataset."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from verax.data.assemble import assemble
from verax.data.babi import SUFFIX, is_babi, load_babi
from verax.data.columns import Columns, parse_columns
from verax.data.eraser import is_eraser, load_eraser
from verax.data.files import languages_of, named_files
from verax.data.hub import NotFound, open_folder, open_hub
from verax.data.parallel import Choice, Missing, only_languages
from verax.data.recognise import recognised
from verax.data.rows import Source
from verax.data.segmenters import Segment
from verax.data.table import SUFFIXES, open_file
from verax.data.translations import LANG, with_language
from verax.registry import entries, resolve, unknown
from verax.types import Dataset, UserError

_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?(:[\w.-]+)?", re.ASCII)


def load_dataset(
    name: str | Path | Sequence[str | Path],
    *,
    split: str | None = None,
    limit: int | None = None,
    columns: Columns | Mapping[str, Any] | None = None,
    labels: Sequence[str] | None = None,
    lang: str = "en",
    seed: int = 0,
    revision: str | None = None,
    langs: Sequence[str] | None = None,
    missing: Missing = "error",
    segment: Segment = "auto",
    alignments: Mapping[str, str | Sequence[str]] | None = None,
) -> Dataset:
    """Load instances by name.

    Args:
        name: a name that `verax list datasets` shows; or the path of a JSONL, CSV, TSV or Parquet file, or of a folder
            that the `datasets` library can read; or a text file of bAbI, or a folder with those of a task; or a file of
            SNLI, XNLI, e-SNLI, FEVER with gold evidence or SpanEx as it was published, or a folder in the format of
            ERASER, which are recognised unless `columns` are given; or a dataset of the Hugging Face hub, `owner/name`
            or `owner/name:configuration`. Several files are a list, names with commas between, or a pattern
            (`test.*.jsonl`); where they are called alike but for a language, rows without a language have that one.
        split: `test` by default, or the only one there is. A file is one split: it is written down, not looked for.
        limit: read the first so many rows and no more; of parallel data the first so many inputs, each in all
            languages.
        columns: which column means what; see `Columns`.
        labels: names of the classes in the order of their numbers. Left out: those that the dataset declares, else
            the sorted set of those seen.
        lang: language of rows that have no language of their own.
        seed: what a built-in dataset is made from; other data is not drawn at random.
        revision: of a dataset of the hub: branch, tag or commit.
        langs: keep these languages alone.
        missing: what an input of parallel data is that is not there in every language: an `error`, or left out
            (`skip`), which is counted in the provenance.
        segment: how words are found that no spaces part: by the segmenter of the language if it is installed (`auto`,
            else by character clusters), by `clusters` always, or by a segmenter that must be there (`required`).
        alignments: files of word alignments in Pharaoh's format by pair of languages, `en-de`, the reference first: one
            for each part, a line for each row of the second language.
    """
    asked = _Asked(
        title=str(name) if isinstance(name, (str, Path)) else ", ".join(map(str, name)),
        paths=tuple(named_files(name)),
        split=split,
        seed=seed,
        columns=columns,
        revision=revision,
        choice=Choice(None if langs is None else tuple(langs), missing, segment, _listed(alignments or {})),
        chosen={"limit": limit, "labels": labels, "lang": lang},
    )
    dataset = _known(asked) if asked.title in entries("datasets") else _read(asked)
    told = {} if limit is None else {"limit": str(limit)}
    return replace(dataset, provenance={**dataset.provenance, **told})


@dataclass(frozen=True, slots=True)
class _Asked:
    """The arguments of `load_dataset`; `chosen` are those that every reader takes."""

    title: str
    paths: tuple[Path, ...]
    split: str | None
    seed: int
    columns: Columns | Mapping[str, Any] | None
    revision: str | None
    choice: Choice
    chosen: Mapping[str, Any]

    def of_languages(self) -> dict[str, Any]:
        """The options for data in several languages, None where they are as by default."""
        given, default = self.choice, Choice()
        return {
            field.name: None if (value := getattr(given, field.name)) == getattr(default, field.name) else value
            for field in fields(Choice)
        }


def _known(asked: _Asked) -> Dataset:
    """A dataset that verax knows by its name."""
    name, langs = asked.title, asked.choice.langs
    why = f"{name} is {'built in' if entries('datasets')[name].kind == 'built-in' else 'known by its name'}"
    others = {**asked.of_languages(), "langs": None}
    _refuse(why, columns=asked.columns, labels=asked.chosen["labels"], revision=asked.revision, **others)
    split = {} if asked.split is None else {"split": asked.split}
    dataset: Dataset = resolve("datasets", name)(limit=asked.chosen["limit"], seed=asked.seed, **split)
    return dataset if langs is None else only_languages(dataset, langs)


def _read(asked: _Asked) -> Dataset:
    """Files, a folder, or a dataset of the hub."""
    title, split, columns, revision = asked.title, asked.split, asked.columns, asked.revision
    path = asked.paths[0] if asked.paths else Path(title).expanduser()
    if len(asked.paths) > 1:
        _refuse(f"{title} are files", revision=revision)
        return _load_several(asked)
    if columns is None and is_eraser(path):
        _refuse(f"{title} is in the format of ERASER", **asked.of_languages(), revision=revision)
        return load_eraser(path, split=split, **asked.chosen)
    if (columns is None or path.suffix.lower() == SUFFIX) and (public := recognised(path)) is not None:
        _refuse(f"{title} is in the format of {public.name}", columns=columns, revision=revision)
        return public.load([path], split=split, choice=asked.choice, **asked.chosen)
    if is_babi(path):
        _refuse(f"{title} is in the format of bAbI", columns=columns, **asked.of_languages(), revision=revision)
        return load_babi(path, split=split, **asked.chosen)
    source = _open(str(path) if asked.paths else title, split, revision)
    return assemble(source, columns=parse_columns(columns), choice=asked.choice, **asked.chosen)


def _load_several(asked: _Asked) -> Dataset:
    """Files that are read as one, in the order of their names: all of one public format, or all plain tables."""
    title, paths, split, columns = asked.title, asked.paths, asked.split, asked.columns
    public = [recognised(path) if columns is None else None for path in paths]
    if public[0] is not None:
        for path, other in zip(paths, public, strict=True):
            if other is not public[0]:
                raise UserError(f"{path}: not in the format of {public[0].name}, which {paths[0]} is in")
        return replace(public[0].load(paths, split=split, choice=asked.choice, **asked.chosen), name=title)
    sources = [open_file(path) for path in paths]
    told = {} if split is None else {"split": split}
    kept = {field: ", ".join(source.provenance[field] for source in sources) for field in ("path", "sha256")}
    by_name = languages_of(paths)
    rows = (
        with_language(row, by_name.get(path))
        for path, source in zip(paths, sources, strict=True)
        for row in source.rows
    )
    parsed = parse_columns(columns)
    if by_name and parsed.lang is None:
        parsed = parsed.model_copy(update={"lang": LANG})
    return assemble(Source(title, rows, {**kept, **told}), columns=parsed, choice=asked.choice, **asked.chosen)


def _open(name: str, split: str | None, revision: str | None) -> Source:
    path = Path(name).expanduser()
    if path.is_file():
        _refuse(f"{name} is a file", revision=revision)
        source = open_file(path)
        told = {} if split is None else {"split": split}
        return replace(source, provenance={**source.provenance, **told})
    if path.is_dir():
        _refuse(f"{name} is a folder", revision=revision)
        return open_folder(path, split)
    return _elsewhere(name, path, split, revision)


def _listed(alignments: Mapping[str, str | Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {pair: (paths,) if isinstance(paths, str) else tuple(paths) for pair, paths in alignments.items()}


def _refuse(why: str, **given: object) -> None:
    for field, value in given.items():
        if value is not None:
            raise UserError(f"{field}: {why} and takes none, got {value!r}")


def _elsewhere(name: str, path: Path, split: str | None, revision: str | None) -> Source:
    """A dataset of the hub, or the error that helps most."""
    if path.suffix.lower() in (*SUFFIXES, SUFFIX) or name.startswith((".", "~", "/")):
        siblings = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, siblings, n=1)
        raise UserError(f"no such file: {name}" + (f"; did you mean {str(path.parent / near[0])!r}?" if near else ""))
    built_in = entries("datasets")
    # Asking the hub takes half a minute where there is no network, so a slip in a built-in name never gets that far.
    ours = {other.partition("/")[0] for other in built_in if "/" in other}
    if name.partition("/")[0] in ours or not _HUB_NAME.fullmatch(name):
        raise UserError(unknown("dataset", name, built_in))
    try:
        return open_hub(name, split, revision)
    except NotFound as error:
        raise UserError(f"{unknown('dataset', name, built_in)}; there is no such file, and {error}") from None
