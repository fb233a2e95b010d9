"""Several files by one name: a list, comma-separated names, or a pattern such as `test.*.jsonl`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path

from verax.registry import entries
from verax.types import UserError

_WILD = re.compile(r"[*?[]")
_LANGUAGE = re.compile(r"[a-z]{2,3}([-_][A-Za-z]{2,4})?")


def named_files(name: str | Path | Sequence[str | Path]) -> list[Path]:
    """The files that a name refers to, in order; empty if it does not refer to files."""
    if not isinstance(name, (str, Path)):
        return [path for item in name for path in _expanded(str(item), among_several=True)]
    text = str(name)
    if text in entries("datasets"):
        return []
    return _expanded(text, among_several=False)


def languages_of(paths: Sequence[Path]) -> dict[Path, str]:
    """Languages of files whose names differ only in a language code (`test.en.jsonl`, `test.de.jsonl`), else empty."""
    stems = [path.name.removesuffix(path.suffix).split(".") for path in paths]
    if len(paths) < 2 or len({len(stem) for stem in stems}) > 1:
        return {}
    differing = [values for values in zip(*stems, strict=True) if len(set(values)) > 1]
    if len(differing) != 1 or not all(_LANGUAGE.fullmatch(value) for value in differing[0]):
        return {}
    return dict(zip(paths, differing[0], strict=True))


def _expanded(text: str, *, among_several: bool) -> list[Path]:
    path = Path(text).expanduser()
    if path.is_file():
        return [path]
    if path.exists():
        if not path.is_dir():
            raise UserError(f"data: {text} is a pipe or device, not a file")
        if among_several:
            raise UserError(f"data: {text} is a folder; a list of several names may only contain files")
        return []
    if "," in text:
        return [
            path for item in text.split(",") if item.strip() for path in _expanded(item.strip(), among_several=True)
        ]
    if not _WILD.search(text):
        if among_several:
            raise UserError(f"no such file: {text}")
        return []
    folder = Path(*itertools.takewhile(lambda part: not _WILD.search(part), path.parts))
    matching = sorted(path for path in folder.glob(str(path.relative_to(folder))) if path.is_file())
    if not matching:
        raise UserError(f"no file matches {text!r}")
    return matching
