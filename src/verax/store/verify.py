"""Verification of a folder that verax wrote: every file is compared with its hash, and nothing is changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from verax.store.artifact import RECORD, read_json, read_record
from verax.store.files import read_regular
from verax.store.folder import AGENTS, find_index, is_data
from verax.store.journal import read_journal
from verax.store.keys import hash_bytes, hash_file
from verax.store.shards import CARD, INDEX, PLAN, SHARDS, Damaged, ShardIndex, check_file, read_shard
from verax.types import UserError

REPORT = "report.html"
_PAGE_HASH = re.compile(rb"<!-- sha256 ([0-9a-f]{64}) -->\n\Z")


class CheckedFile(NamedTuple):
    """A file, and what is wrong with it; None if its hash matches.

    Args:
        covered: whether there is a hash that it was compared with.
    """

    name: str
    problem: str | None = None
    covered: bool = True


def verify_folder(folder: Path) -> list[CheckedFile]:
    """Every file of a run or of an artifact (a trained model, ROAR, highlights)."""
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder")
    if (folder / RECORD).exists():
        return list(_artifact_files(folder))
    index, problem = find_index(folder)
    if index is None:
        raise UserError(f"{folder} is neither a run nor an artifact: it has no {INDEX} and no {RECORD}")
    return [CheckedFile(INDEX, problem), *_run_files(folder, index)]


def signed_page(page: str) -> bytes:
    """A page of HTML that ends with the hash of everything before, as a comment."""
    data = page.encode()
    return data + f"<!-- sha256 {hash_bytes(data)} -->\n".encode()


def _run_files(folder: Path, index: ShardIndex) -> Iterator[CheckedFile]:
    yield _journal(folder, index)
    for shard in index.shards:
        try:
            read_shard(folder, shard, ["key"])
            yield CheckedFile(f"{SHARDS}/{shard.name}")
        except Damaged as error:
            yield CheckedFile(f"{SHARDS}/{shard.name}", str(error))
    for name in (CARD, PLAN):
        if name in index.files:
            try:
                check_file(folder, name, index.files[name])
                yield CheckedFile(name)
            except Damaged as error:
                yield CheckedFile(name, str(error))
        elif (folder / name).exists():
            yield CheckedFile(name, covered=False)
    if (folder / REPORT).exists():
        yield _report(folder / REPORT)
    known = {index.journal, *(shard.name for shard in index.shards)}
    for path in sorted([*folder.iterdir(), *((folder / SHARDS).iterdir() if (folder / SHARDS).is_dir() else ())]):
        if path.name not in known and is_data(path.name):
            yield CheckedFile(str(path.relative_to(folder)), f"{path.relative_to(folder)} is not in {INDEX}")
        elif path.is_symlink():
            yield CheckedFile(str(path.relative_to(folder)), f"{path.relative_to(folder)} is a symbolic link")
    for path in sorted((folder / AGENTS).glob("*.json")):
        yield _signed_json(path, f"{AGENTS}/{path.name}")


def _artifact_files(folder: Path) -> Iterator[CheckedFile]:
    try:
        record = read_record(folder)
    except UserError as error:
        yield CheckedFile(RECORD, str(error))
        return
    yield CheckedFile(RECORD)
    for name, content in () if record is None else record.files.items():
        path = folder / name
        if not path.is_file():
            yield CheckedFile(name, f"{name} is missing")
        elif path.stat().st_size != content.size or hash_file(path) != content.sha256:
            yield CheckedFile(name, f"{name} is damaged: its SHA-256 differs from the one in {RECORD}")
        else:
            yield CheckedFile(name)


def _signed_json(path: Path, name: str) -> CheckedFile:
    try:
        read_json(path)
    except UserError as error:
        return CheckedFile(name, str(error))
    return CheckedFile(name)


def _journal(folder: Path, index: ShardIndex) -> CheckedFile:
    try:
        contents = read_journal(folder / index.journal)
    except Damaged as error:
        return CheckedFile(index.journal, str(error))
    if contents.rescued:
        return CheckedFile(index.journal, f"{index.journal} is damaged at byte {contents.end}")
    if contents.torn:
        return CheckedFile(index.journal, f"{index.journal} ends with an incomplete record at byte {contents.end}")
    return CheckedFile(index.journal)


def _report(path: Path) -> CheckedFile:
    try:
        data = read_regular(path)
    except OSError as error:
        return CheckedFile(path.name, f"{path.name} cannot be read: {error.strerror}")
    match = _PAGE_HASH.search(data)
    if match is None:
        return CheckedFile(path.name, f"{path.name} does not end with its hash: it was not written by this version")
    if match[1].decode() != hash_bytes(data[: match.start()]):
        return CheckedFile(path.name, f"{path.name} is damaged: its SHA-256 differs from the one at its end")
    return CheckedFile(path.name)
