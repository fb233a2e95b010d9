"""The folder of a run: what lies in it, and whether a folder is one."""

from __future__ import annotations

from pathlib import Path

from verax.store.files import TEMPORARY, sync_folder
from verax.store.journal import read_journal
from verax.store.manifest import NAME as MANIFEST
from verax.store.manifest import Damaged, Manifest, journal_number, read_manifest, shard_table
from verax.store.shards import FOLDER as SHARDS
from verax.types import UserError

LOCK = "lock"
CARD = "run.json"
PLAN = "plan.txt"
QUARANTINE = "quarantine"


def prepare_folder(folder: Path) -> None:
    """Make the folder if there is none; refuse one that holds other things, before anything is written to it."""
    try:
        _make_durably(folder)
        names = {path.name for path in folder.iterdir()}
    except (FileExistsError, NotADirectoryError) as error:
        raise UserError(f"{folder} can't be a run: a file is in the way; name a folder") from error
    except OSError as error:
        raise UserError(f"cannot use {folder} for a run: {error.strerror}") from error
    if not (_has_begun(names) or _was_beginning(names)):
        stranger = sorted(names)[0]
        raise UserError(f"{folder} is not a run but holds other things ({stranger!r}); name a new or empty folder")


def find_manifest(folder: Path) -> tuple[Manifest | None, str | None]:
    """The manifest of a run (None if the run has not begun), and what was wrong with it, if anything was.

    A manifest that is missing or damaged is made again from the first record of the newest journal, which lists the
    same shards: a journal is begun only after they are safe on the disk.
    """
    try:
        return read_manifest(folder), None
    except Damaged as error:
        complaint = str(error)
    journals = sorted((number, path) for path in folder.iterdir() if (number := journal_number(path.name)) is not None)
    for _, path in reversed(journals):
        try:
            return read_journal(path).manifest, f"{complaint}; it was made again from {path.name}"
        except Damaged:
            continue
    if not journals and not (folder / MANIFEST).exists():
        return None, None
    raise UserError(f"the run {folder} can't be opened: {complaint}, and no journal tells what it held")


def strangers(folder: Path, manifest: Manifest) -> list[Path]:
    """Files of verax's that the manifest does not know: left over by a process that was killed."""
    known = {manifest.journal} | {shard.name for shard in manifest.shards}
    return [
        path
        for place in (folder, folder / SHARDS)
        if place.is_dir()
        for path in place.iterdir()
        if path.name not in known and (_is_temporary(path.name) or _is_data(path.name))
    ]


def _make_durably(folder: Path) -> None:
    """Make a folder that a power cut does not take away, with all the rows in it."""
    if folder.is_dir():
        return
    _make_durably(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def _has_begun(names: set[str]) -> bool:
    return MANIFEST in names or any(journal_number(name) is not None for name in names)


def _was_beginning(names: set[str]) -> bool:
    """Whether the folder holds only what a run leaves that was killed before its first journal was there."""
    return all(name == LOCK or _is_temporary(name) for name in names)


def _is_data(name: str) -> bool:
    return journal_number(name) is not None or shard_table(name) is not None


def _is_temporary(name: str) -> bool:
    whole = name.removesuffix(TEMPORARY)
    return whole != name and (whole in {MANIFEST, CARD, PLAN} or _is_data(whole))
