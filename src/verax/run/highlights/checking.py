"""The automatic highlights of a build against what people made of its annotation files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from verax.data.table import read_jsonl
from verax.run.highlights.annotations import FOLDER, Checked, check_file
from verax.run.highlights.folder import read_sample
from verax.run.highlights.rows import texts
from verax.run.highlights.writing import JSONL
from verax.types import UserError


def check_highlights(folder: Path) -> list[Checked]:
    """Precision, recall and F1 for each language; one whose file was taken away is left out."""
    sample, parts = read_sample(folder)
    language = {name: lang for lang, ids in sample.items() for name in ids}
    if not (folder / JSONL).is_file():
        raise UserError(f"{folder / JSONL} is missing; the command that built it makes it again")
    written: dict[str, dict[str, Any]] = {lang: {} for lang in sample}
    for row in read_jsonl(folder / JSONL):
        name = str(row.cells.get("id"))
        if name in language:
            written[language[name]][name] = texts(row, parts)
    files = {lang: folder / FOLDER / f"{lang}.tsv" for lang in written}
    there = [lang for lang, path in files.items() if path.exists()]
    if not there:
        raise UserError(f"{folder / FOLDER} has none of the files that were written there for people to edit")
    return [check_file(files[lang], lang, written[lang], parts) for lang in there]
