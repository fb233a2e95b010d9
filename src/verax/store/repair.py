"""Opening a run that may have been killed or damaged: what is whole is kept, what is not is set aside and told."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from verax.store.codec import Plain, unescape
from verax.store.files import replace_file, sync_folder
from verax.store.journal import Journal, begin_journal, read_journal, unpack
from verax.store.layout import QUARANTINE, find_manifest, strangers
from verax.store.manifest import NAME as MANIFEST
from verax.store.manifest import Damaged, Manifest, Shard
from verax.store.shards import FOLDER as SHARDS
from verax.store.shards import read_shard


@dataclass
class Sound:
    """A run that is whole again.

    Args:
        manifest: lists sound shards alone.
        journal: open behind its last whole record.
        keys: of all rows.
        position: of the next row.
        repaired: what was done, a line each.
    """

    manifest: Manifest
    journal: Journal
    keys: set[str] = field(default_factory=set)
    position: int = 0
    repaired: tuple[str, ...] = ()

    def admit(self, row: Plain) -> bool:
        """Count a row; False if its key is there already."""
        key = unescape(row["key"])
        if key in self.keys:
            return False
        self.keys.add(key)
        self.position = max(self.position, row["position"] + 1)
        return True


def open_sound(folder: Path) -> Sound:
    """Open a run and repair it. Doing it again after a failure half-way does no harm."""
    found, complaint = find_manifest(folder)
    told = [complaint] if complaint else []
    manifest = found or Manifest()
    heads: list[Plain] = []
    sound: list[Shard] = []
    for shard in manifest.shards:
        try:
            heads += read_shard(folder, shard, ["key", "position"])
            sound.append(shard)
        except Damaged as error:
            told.append(_set_aside(folder, shard, str(error)))
    whole = replace(manifest, shards=tuple(sound))
    told += _mend_journal(folder, whole, new=found is None)
    if complaint or whole != found:
        replace_file(folder / MANIFEST, whole.to_bytes())
    for path in strangers(folder, whole):
        path.unlink()
    opened = Sound(whole, Journal(folder / whole.journal), repaired=tuple(told))
    for row in heads:
        opened.admit(row)
    opened.journal.keep(lambda payload: opened.admit(unpack(payload)[1]))
    return opened


def _set_aside(folder: Path, shard: Shard, complaint: str) -> str:
    kept = _quarantine(folder, folder / SHARDS / shard.name)
    return f"{complaint}; its {shard.rows} rows will be computed again{kept}"


def _quarantine(folder: Path, path: Path) -> str:
    if not path.exists():
        return ""
    (folder / QUARANTINE).mkdir(exist_ok=True)
    path.replace(folder / QUARANTINE / path.name)
    sync_folder(folder / QUARANTINE)
    return f"; the file is kept in {QUARANTINE}/"


def _mend_journal(folder: Path, manifest: Manifest, *, new: bool) -> list[str]:
    """See that the journal has a whole beginning, and tell what of it will be cut."""
    try:
        contents = read_journal(folder / manifest.journal)
    except Damaged as error:
        kept = _quarantine(folder, folder / manifest.journal)
        begin_journal(folder, manifest)
        return [] if new else [f"{error}; rows that were not sealed yet will be computed again{kept}"]
    if not contents.torn:
        return []
    what = "a damaged record and all that follow it" if contents.rotten else "a record that was not written to its end"
    kept = f"the {len(contents.payloads)} rows before byte {contents.end} are kept"
    return [f"{manifest.journal}: {what} ({contents.torn} bytes) was cut; {kept}"]
