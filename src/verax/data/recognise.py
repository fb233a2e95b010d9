"""Detection of the public format of a file by its content."""

from __future__ import annotations

from pathlib import Path

from verax.data.comve import COMVE, COMVE_TABLE
from verax.data.cose import COSE_3, COSE_5
from verax.data.esnli import ESNLI
from verax.data.fever import FEVER
from verax.data.formats import Format, first_cells
from verax.data.snli import SNLI, XNLI
from verax.data.spanex import SPANEX_FEVER, SPANEX_SNLI

# XNLI before SNLI, whose columns it also has.
FORMATS = (XNLI, SNLI, ESNLI, FEVER, SPANEX_SNLI, SPANEX_FEVER, COSE_3, COSE_5, COMVE, COMVE_TABLE)


def detect_format(path: Path) -> Format | None:
    """The public format of a file; None for other files, folders and missing paths."""
    if not path.is_file():
        return None
    for candidate in FORMATS:
        reader = candidate.readers.get(path.suffix.lower())
        if reader is not None and candidate.fits(first_cells(reader, path)):
            return candidate
    return None
