"""Files of public data sets, recognised by what they hold when somebody gives the path of one."""

from __future__ import annotations

from pathlib import Path

from verax.data.comve import COMVE, COMVE_TABLE
from verax.data.cose import COSE_3, COSE_5
from verax.data.esnli import ESNLI
from verax.data.fever import FEVER
from verax.data.formats import Format, first_cells
from verax.data.snli import SNLI
from verax.data.spanex import SPANEX_FEVER, SPANEX_SNLI
from verax.data.xnli import XNLI

# XNLI before SNLI: its rows have all the columns of SNLI, and a language.
FORMATS = (XNLI, SNLI, ESNLI, FEVER, SPANEX_SNLI, SPANEX_FEVER, COSE_3, COSE_5, COMVE, COMVE_TABLE)


def recognised(path: Path) -> Format | None:
    """The public format that a file is in; None for any other file, for a folder, and where there is nothing."""
    if not path.is_file():
        return None
    for known in FORMATS:
        reader = known.readers.get(path.suffix.lower())
        if reader is not None and known.fits(first_cells(reader, path)):
            return known
    return None
