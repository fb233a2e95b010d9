"""`load_dataset`: a built-in name, a file or folder of one's own, or a Hugging Face dataset."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from verax.data.assemble import assemble
from verax.data.babi import SUFFIX, is_babi, load_babi
from verax.data.columns import Columns, parse_columns
from verax.data.eraser import is_eraser, load_eraser
from verax.data.hub import NotFound, open_folder, open_hub
from verax.data.recognise import recognised
from verax.data.rows import Source
from verax.data.table import SUFFIXES, open_file
from verax.registry import entries, resolve, unknown
from verax.types import Dataset, UserError

_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?(:[\w.-]+)?", re.ASCII)


def load_dataset(
    name: str | Path,
    *,
    split: str | None = None,
    limit: int | None = None,
    columns: Columns | Mapping[str, Any] | None = None,
    labels: Sequence[str] | None = None,
    lang: str = "en",
    seed: int = 0,
    revision: str | None = None,
) -> Dataset:
    """Load instances by name.

    Args:
        name: a name that `verax list datasets` shows; or the path of a JSONL, CSV, TSV or Parquet file, or of a folder
            that the `datasets` library can read; or a text file of bAbI, or a folder with those of a task; or a file of
            SNLI, e-SNLI, FEVER with gold evidence or SpanEx as it was published, or a folder in the format of ERASER,
            which are recognised unless `columns` are given; or a dataset of the Hugging Face hub, `owner/name` or
            `owner/name:configuration`.
        split: `test` by default, or the only one there is. A file is one split: it is written down, not looked for.
        limit: read the first so many rows and no more.
        columns: which column means what; see `Columns`.
        labels: names of the classes in the order of their numbers. Left out: those that the dataset declares, else
            the sorted set of those seen.
        lang: language of rows that have no language of their own.
        seed: what a built-in dataset is made from; other data is not drawn at random.
        revision: of a dataset of the hub: branch, tag or commit.
    """
    known = entries("datasets").get(str(name))
    path = Path(name).expanduser()
    if known is not None:
        why = f"{name} is {'built in' if known.kind == 'built-in' else 'known by its name'}"
        _refuse(why, columns=columns, labels=labels, revision=revision)
        load = resolve("datasets", str(name))
        dataset: Dataset = load(limit=limit, seed=seed) if split is None else load(split=split, limit=limit, seed=seed)
    elif columns is None and is_eraser(path):
        _refuse(f"{name} is in the format of ERASER", revision=revision)
        dataset = load_eraser(path, split=split, limit=limit, labels=labels, lang=lang)
    elif (columns is None or path.suffix.lower() == SUFFIX) and (public := recognised(path)) is not None:
        _refuse(f"{name} is in the format of {public.name}", columns=columns, revision=revision)
        dataset = public.load([path], split=split, limit=limit, labels=labels, lang=lang)
    elif is_babi(path):
        _refuse(f"{name} is in the format of bAbI", columns=columns, revision=revision)
        dataset = load_babi(path, split=split, limit=limit, labels=labels, lang=lang)
    else:
        source = _open(str(name), split, revision)
        dataset = assemble(source, columns=parse_columns(columns), labels=labels, lang=lang, limit=limit)
    told = {} if limit is None else {"limit": str(limit)}
    return replace(dataset, provenance={**dataset.provenance, **told})


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
