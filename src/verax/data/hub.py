"""Hugging Face datasets from the hub or a folder, through the `datasets` library."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import Any

from verax.data.rows import Record, Source
from verax.registry import unknown
from verax.types import UserError

Pick = Callable[[int], Mapping[int, str]]
"""Given the number of rows of a split, the selected row numbers (from 0, in order) and their ids."""
ID = "id"


class NotFound(UserError):
    """The hub has no such dataset, or cannot be reached."""


def open_hub(name: str, split: str | None, revision: str | None, pick: Pick | None = None) -> Source:
    """Open a dataset of the hub: `owner/name` or `owner/name:configuration`; picked rows have the column `ID`."""
    path, _, configuration = name.partition(":")
    datasets = _library()
    splits = _attempt(name, lambda: datasets.load_dataset(path, configuration or None, revision=revision))
    return loaded_source(name, splits, split, {"name": name} | ({"revision": revision} if revision else {}), pick)


def open_folder(path: Path, split: str | None) -> Source:
    """Open a folder written by `save_to_disk`, or one with data files that the library can read."""
    datasets = _library()
    saved = (path / "dataset_dict.json").exists() or (path / "state.json").exists()
    load = datasets.load_from_disk if saved else datasets.load_dataset
    return loaded_source(str(path), _attempt(str(path), lambda: load(str(path))), split, {"path": str(path)})


def _library() -> Any:
    # Imported here: the import takes seconds, and the library is an optional extra.
    try:
        import datasets  # noqa: PLC0415
    except ImportError:
        raise NotFound("Hugging Face datasets need an optional extra: pip install 'verax[datasets]'") from None
    return datasets


def _attempt(name: str, load: Callable[[], Any]) -> Any:
    """Call the library and turn its exceptions into one-line errors."""
    datasets = _library()
    try:
        return load()
    except (ConnectionError, datasets.exceptions.DatasetNotFoundError) as error:
        raise NotFound(f"it is not available from the Hugging Face hub: {_one_line(error)}") from None
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        raise UserError(f"{name}: {_one_line(error)}") from None


def _one_line(error: Exception) -> str:
    line = " ".join(str(error).split())
    return line if len(line) <= 300 else f"{line[:297]}..."


def loaded_source(
    name: str, loaded: Any, split: str | None, provenance: Mapping[str, str], pick: Pick | None = None
) -> Source:
    """Open what the library loaded: a dataset, or several by split."""
    splits = loaded if isinstance(loaded, dict) else {str(loaded.split or "all"): loaded}
    chosen = split or (next(iter(splits)) if len(splits) == 1 else "test")
    if chosen not in splits:
        raise UserError(f"{name}: {unknown('split', chosen, splits)}")
    table = splits[chosen]
    class_names = {
        column: tuple(feature.names) for column, feature in (table.features or {}).items() if hasattr(feature, "names")
    }
    about = {"license": table.info.license, "citation": table.info.citation}
    extra = {field: value for field, value in about.items() if value}
    numbered: Iterable[tuple[int, dict[str, Any]]] = enumerate(table)
    if pick is not None:
        wanted = pick(len(table))
        picked = zip(wanted.items(), table.select(list(wanted)), strict=True)
        numbered = ((number, {**cells, ID: name}) for (number, name), cells in picked)
    return Source(name, _rows(name, numbered, class_names), {**provenance, "split": chosen, **extra}, class_names)


def _rows(
    name: str, numbered: Iterable[tuple[int, dict[str, Any]]], class_names: Mapping[str, tuple[str, ...]]
) -> Generator[Record, None, None]:
    """Rows numbered from 1, with class indices replaced by their names."""
    for number, cells in numbered:
        named = {column: _class_name(cells[column], names) for column, names in class_names.items()}
        yield Record(f"{name}: row {number + 1}", f"row {number + 1}", {**cells, **named})


def _class_name(number: int | None, names: tuple[str, ...]) -> str | None:
    return None if number is None or number < 0 else names[number]
