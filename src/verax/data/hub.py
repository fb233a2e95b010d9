"""Hugging Face datasets, from the hub or from a folder, through the `datasets` library."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import Any

from verax.data.rows import Row, Source
from verax.registry import unknown
from verax.types import UserError

Pick = Callable[[int], Mapping[int, str]]
"""Given how many rows a split has, which of them are wanted, in order and counted from 0, and the id of each."""
ID = "id"


class NotFound(UserError):
    """The hub has no such dataset, or can't be asked."""


def open_hub(name: str, split: str | None, revision: str | None, pick: Pick | None = None) -> Source:
    """A dataset of the hub: `owner/name`, or `owner/name:configuration`; rows that are picked have the column `ID`."""
    path, _, configuration = name.partition(":")
    datasets = _library()
    splits = _attempt(name, lambda: datasets.load_dataset(path, configuration or None, revision=revision))
    return _source(name, splits, split, {"name": name} | ({"revision": revision} if revision else {}), pick)


def open_folder(path: Path, split: str | None) -> Source:
    """A folder that `save_to_disk` wrote, or one with data files that the library knows how to read."""
    datasets = _library()
    saved = (path / "dataset_dict.json").exists() or (path / "state.json").exists()
    load = datasets.load_from_disk if saved else datasets.load_dataset
    return _source(str(path), _attempt(str(path), lambda: load(str(path))), split, {"path": str(path)})


def _library() -> Any:
    # Imported here: it takes seconds, and it is an extra that most installations can do without.
    try:
        import datasets  # noqa: PLC0415
    except ImportError:
        raise NotFound("Hugging Face datasets need an extra: pip install 'verax[datasets]'") from None
    return datasets


def _attempt(name: str, load: Callable[[], Any]) -> Any:
    """The result of a call into the library, whose many exceptions become one line."""
    datasets = _library()
    try:
        return load()
    except (ConnectionError, datasets.exceptions.DatasetNotFoundError) as error:
        raise NotFound(f"the Hugging Face hub does not help: {_one_line(error)}") from None
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        raise UserError(f"{name}: {_one_line(error)}") from None


def _one_line(error: Exception) -> str:
    line = " ".join(str(error).split())
    return line if len(line) <= 300 else f"{line[:297]}..."


def _source(
    name: str, loaded: Any, split: str | None, provenance: Mapping[str, str], pick: Pick | None = None
) -> Source:
    splits = loaded if isinstance(loaded, dict) else {str(loaded.split or "all"): loaded}
    chosen = split or (next(iter(splits)) if len(splits) == 1 else "test")
    if chosen not in splits:
        raise UserError(f"{name}: {unknown('split', chosen, splits)}")
    table = splits[chosen]
    class_names = {
        column: tuple(feature.names) for column, feature in table.features.items() if hasattr(feature, "names")
    }
    about = {"license": table.info.license, "citation": table.info.citation}
    told = {field: value for field, value in about.items() if value}
    numbered: Iterable[tuple[int, dict[str, Any]]] = enumerate(table)
    if pick is not None:
        wanted = pick(len(table))
        picked = zip(wanted.items(), table.select(list(wanted)), strict=True)
        numbered = ((number, {**cells, ID: name}) for (number, name), cells in picked)
    return Source(name, _rows(name, numbered, class_names), {**provenance, "split": chosen, **told}, class_names)


def _rows(
    name: str, numbered: Iterable[tuple[int, dict[str, Any]]], class_names: Mapping[str, tuple[str, ...]]
) -> Generator[Row, None, None]:
    """Rows named by their number from 1, class numbers turned into their names."""
    for number, cells in numbered:
        named = {column: _class_name(cells[column], names) for column, names in class_names.items()}
        yield Row(f"{name}: row {number + 1}", f"row {number + 1}", {**cells, **named})


def _class_name(number: int | None, names: tuple[str, ...]) -> str | None:
    return None if number is None or number < 0 else names[number]
