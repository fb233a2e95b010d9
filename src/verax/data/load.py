"""`load_dataset`: a built-in dataset, user files or a folder, a table in memory, or a Hugging Face dataset."""

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
from verax.data.comve import COMVE, COMVE_TABLE
from verax.data.cose import COSE_3, COSE_5
from verax.data.eraser import is_eraser, load_eraser
from verax.data.esnli import ESNLI, EXNLI
from verax.data.fever import FEVER
from verax.data.files import languages_of, named_files
from verax.data.formats import Format, first_cells
from verax.data.hub import NotFound, open_folder, open_hub
from verax.data.memory import is_table, open_table
from verax.data.parallel import LANG, LanguageOptions, Missing, only_languages, with_language
from verax.data.rows import Source, without_none
from verax.data.segmenters import Segment
from verax.data.selection import draw_sample
from verax.data.snli import SNLI, XNLI
from verax.data.spanex import SPANEX_FEVER, SPANEX_SNLI
from verax.data.table import SUFFIXES, open_file
from verax.registry import entries, resolve, unknown
from verax.types import Dataset, UserError

# XNLI before SNLI, whose columns it also has.
FORMATS = (XNLI, SNLI, ESNLI, EXNLI, FEVER, SPANEX_SNLI, SPANEX_FEVER, COSE_3, COSE_5, COMVE, COMVE_TABLE)
_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?(:[\w.-]+)?", re.ASCII)


def load_dataset(
    name: str | Path | Sequence[str | Path] | Any,
    *,
    split: str | None = None,
    limit: int | None = None,
    sample: int | None = None,
    columns: Columns | Mapping[str, Any] | None = None,
    labels: Sequence[str] | None = None,
    lang: str = "en",
    seed: int = 0,
    revision: str | None = None,
    langs: Sequence[str] | None = None,
    missing: Missing = "error",
    segment: Segment = "auto",
    alignments: Mapping[str, str | Sequence[str]] | None = None,
    one_based: Sequence[str] = (),
) -> Dataset:
    """Load instances by name, or from a table in memory.

    Args:
        name: a name that `verax list datasets` shows; or the path of a JSONL, CSV, TSV or Parquet file, or of a folder
            that the `datasets` library can read; or a text file of bAbI, or a folder with those of a task; or a file of
            SNLI, XNLI, e-SNLI, e-XNLI, FEVER with gold evidence or SpanEx as it was published, or a folder in the
            format of ERASER, which are recognised unless `columns` are given; or a dataset of the Hugging Face hub,
            `owner/name` or `owner/name:configuration`. Several files are a list, comma-separated names, or a pattern
            (`test.*.jsonl`); if their names differ only in a language code, it is the default language of their rows.
            Or a table in memory: a pandas DataFrame, an Arrow table, a list of dicts, or a Hugging Face `Dataset`.
        split: `test` by default, or the only one available. For a file or table it is only recorded.
        limit: maximum number of rows to read; of parallel data the maximum number of inputs, each in all languages.
        sample: number of inputs to draw at random by `seed`, out of the first `limit` if both are given; of parallel
            data each in all languages. They keep their order.
        columns: meaning of each column; see `Columns`.
        labels: class names in index order. Default: those that the dataset declares, otherwise the sorted set of
            those seen.
        lang: language of rows that do not declare one.
        seed: seed of a built-in dataset, and of `sample`.
        revision: branch, tag or commit of a dataset of the hub.
        langs: languages to keep; default: all.
        missing: treatment of inputs of parallel data that are missing in some language: `error`, or `skip`, which
            leaves them out and counts them in the provenance.
        segment: word segmentation of scripts without spaces: `auto` uses the segmenter of the language if installed and
            character clusters otherwise, `clusters` always uses clusters, `required` fails without a segmenter.
        alignments: word alignment files in Pharaoh format by language pair (`en-de`, reference first): one file per
            part, one line per row of the second language.
        one_based: those of the files that count words from 1 instead of 0.
    """
    table = open_table(name, split) if is_table(name) else None
    names = [name] if isinstance(name, (str, Path)) else name
    if table is None and not (isinstance(names, (list, tuple)) and all(isinstance(one, (str, Path)) for one in names)):
        raise UserError(
            "data: expected a name, files, or a table (a pandas DataFrame, an Arrow table, a list of dicts, a Hugging "
            f"Face Dataset), got {type(name).__name__}"
        )
    request = _Request(
        title=", ".join(map(str, names)) if table is None else table.name,
        paths=tuple(named_files(name)) if table is None else (),
        split=split,
        seed=seed,
        columns=columns,
        revision=revision,
        options=LanguageOptions(
            None if langs is None else tuple(langs), missing, segment, _listed(alignments or {}), tuple(one_based)
        ),
        common={"limit": limit, "labels": labels, "lang": lang},
    )
    if table is not None:
        _reject("the data is a table in memory", revision=revision)
        dataset = assemble(table, columns=parse_columns(columns), options=request.options, **request.common)
    else:
        dataset = _load_registered(request) if request.title in entries("datasets") else _read(request)
    if limit is not None:
        dataset = replace(dataset, provenance={**dataset.provenance, "limit": str(limit)})
    return dataset if sample is None else draw_sample(dataset, sample, seed)


@dataclass(frozen=True, slots=True)
class _Request:
    """The arguments of `load_dataset`; `common` are those that every reader takes."""

    title: str
    paths: tuple[Path, ...]
    split: str | None
    seed: int
    columns: Columns | Mapping[str, Any] | None
    revision: str | None
    options: LanguageOptions
    common: Mapping[str, Any]

    def of_languages(self) -> dict[str, Any]:
        """The options for multilingual data, None where they have their default."""
        given, default = self.options, LanguageOptions()
        return {
            field.name: None if (value := getattr(given, field.name)) == getattr(default, field.name) else value
            for field in fields(LanguageOptions)
        }


def _load_registered(request: _Request) -> Dataset:
    """Load a registered dataset."""
    name, langs = request.title, request.options.langs
    why = f"{name} is {'built in' if entries('datasets')[name].kind == 'built-in' else 'a registered dataset'}"
    others = {**request.of_languages(), "langs": None}
    _reject(why, columns=request.columns, labels=request.common["labels"], revision=request.revision, **others)
    split = {} if request.split is None else {"split": request.split}
    dataset: Dataset = resolve("datasets", name)(limit=request.common["limit"], seed=request.seed, **split)
    return dataset if langs is None else only_languages(dataset, langs)


def _read(request: _Request) -> Dataset:
    """Load files, a folder, or a dataset of the hub."""
    title, split, columns, revision = request.title, request.split, request.columns, request.revision
    path = request.paths[0] if request.paths else Path(title).expanduser()
    if len(request.paths) > 1:
        _reject(f"{title} is a list of files", revision=revision)
        return _load_several(request)
    if columns is None and is_eraser(path):
        _reject(f"{title} is in the format of ERASER", **request.of_languages(), revision=revision)
        return load_eraser(path, split=split, **request.common)
    if (columns is None or path.suffix.lower() == SUFFIX) and (public := detect_format(path)) is not None:
        _reject(f"{title} is in the format of {public.name}", columns=columns, revision=revision)
        return public.load([path], split=split, options=request.options, **request.common)
    if is_babi(path):
        _reject(f"{title} is in the format of bAbI", columns=columns, **request.of_languages(), revision=revision)
        return load_babi(path, split=split, **request.common)
    source = _open(str(path) if request.paths else title, split, revision)
    return assemble(source, columns=parse_columns(columns), options=request.options, **request.common)


def _load_several(request: _Request) -> Dataset:
    """Load several files as one dataset, in the given order: all of one public format, or all plain tables."""
    title, paths, split, columns = request.title, request.paths, request.split, request.columns
    public = [detect_format(path) if columns is None else None for path in paths]
    if public[0] is not None:
        for path, other in zip(paths, public, strict=True):
            if other is not public[0]:
                raise UserError(f"{path}: expected the format {public[0].name}, like {paths[0]}")
        return replace(public[0].load(paths, split=split, options=request.options, **request.common), name=title)
    sources = [open_file(path) for path in paths]
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
    return assemble(
        Source(title, rows, {**kept, **without_none(split=split)}),
        columns=parsed,
        options=request.options,
        **request.common,
    )


def _open(name: str, split: str | None, revision: str | None) -> Source:
    path = Path(name).expanduser()
    if path.is_file():
        _reject(f"{name} is a file", revision=revision)
        source = open_file(path)
        return replace(source, provenance={**source.provenance, **without_none(split=split)})
    if path.is_dir():
        _reject(f"{name} is a folder", revision=revision)
        return open_folder(path, split)
    return _open_hub_or_explain(name, path, split, revision)


def _listed(alignments: Mapping[str, str | Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {pair: (paths,) if isinstance(paths, str) else tuple(paths) for pair, paths in alignments.items()}


def _reject(why: str, **given: object) -> None:
    for field, value in given.items():
        if value is not None:
            raise UserError(f"{field}: not supported here, since {why}; got {value!r}")


def _open_hub_or_explain(name: str, path: Path, split: str | None, revision: str | None) -> Source:
    """Open a dataset of the hub, or raise the most helpful error."""
    if path.suffix.lower() in (*SUFFIXES, SUFFIX) or name.startswith((".", "~", "/")):
        siblings = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, siblings, n=1)
        raise UserError(f"no such file: {name}" + (f"; did you mean {str(path.parent / near[0])!r}?" if near else ""))
    built_in = entries("datasets")
    # A request to the hub takes half a minute without network, so a misspelled built-in name is rejected first.
    ours = {other.partition("/")[0] for other in built_in if "/" in other}
    if name.partition("/")[0] in ours or not _HUB_NAME.fullmatch(name):
        raise UserError(unknown("dataset", name, built_in))
    try:
        return open_hub(name, split, revision)
    except NotFound as error:
        raise UserError(f"{unknown('dataset', name, built_in)}; there is no such file, and {error}") from None


def detect_format(path: Path) -> Format | None:
    """The public format of a file; None for other files, folders and missing paths."""
    if not path.is_file():
        return None
    for candidate in FORMATS:
        reader = candidate.readers.get(path.suffix.lower())
        if reader is not None and candidate.fits(first_cells(reader, path)):
            return candidate
    return None
