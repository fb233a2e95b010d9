"""Figures on the command line: which ones, and the files that they are written to."""
# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from verax.cli.app import OutputFormat, out
from verax.registry import unknown
from verax.types import UserError

if TYPE_CHECKING:
    from verax.results.figure import Figure
    from verax.results.run import Run
    from verax.results.study import Findings

LIST, ALL = "list", "all"
DRAWN = (OutputFormat.pdf, OutputFormat.svg, OutputFormat.png)
OTHER_PICTURES = {"gif", "jpg", "jpeg", "webp", "tif", "tiff", "bmp", "eps", "ps", "html"}
"""Endings of files that are taken for a mistake, not for the name of a folder."""


def write_figures(
    found: Sequence[Findings],
    runs: Sequence[Run],
    names: Sequence[str],
    methods: Sequence[str] | None,
    format: OutputFormat,  # noqa: A002
    file: Path | None,
    width: str,
    *,
    title: bool,
) -> None:
    """Write the named figures of some findings, or print the names of all."""
    from verax.results.plot import named_figures

    named = named_figures(found)
    if LIST in names:
        swarms = ["beeswarm"] if len(runs) == 1 and runs[0].labels("explanations", "method").names else []
        out.print(Text("\n".join([*named, *swarms])))
        return
    write_all(_chosen(named, runs, names, methods), format, file, width, title=title)


def _chosen(
    named: Mapping[str, Figure], runs: Sequence[Run], names: Sequence[str], methods: Sequence[str] | None
) -> dict[str, Figure]:
    from verax.report.plots import BEESWARM, beeswarm

    if methods and BEESWARM not in names:
        raise UserError(f"--method: it is for --figure {BEESWARM}")
    chosen: dict[str, Figure] = {}
    for name in names:
        if name == ALL:
            chosen |= named
        elif name == BEESWARM and len(runs) == 1:
            chosen[name] = beeswarm(runs[0], methods)
        elif name in named:
            chosen[name] = named[name]
        else:
            raise UserError(f"--figure: {unknown('figure', name, [*named, BEESWARM])}")
    return chosen


def write_all(
    figures: Mapping[str, Figure],
    format: OutputFormat,  # noqa: A002
    file: Path | None,
    width: str,
    *,
    title: bool,
) -> None:
    """Write one figure to a file, or each to a file of its own in a folder."""
    from verax.results.plot import draw_figure

    if not figures:
        raise UserError("--figure: these results have no figure")
    target, suffix = destination(format, file)
    if target is not None and len(figures) > 1:
        raise UserError(f"--out: {len(figures)} figures don't fit into the file {target}: name a folder")
    for name, figure in figures.items():
        path = target or _in_folder(file, f"{_file_name(name)}.{suffix}")
        draw_figure(figure, width, title=title, out=path)
        out.print(Text(f"Wrote {path}"), soft_wrap=True)


def destination(format: OutputFormat, file: Path | None) -> tuple[Path | None, str]:  # noqa: A002
    """The file to write, None for files in a folder; and the format, PDF by default."""
    if format not in {*DRAWN, OutputFormat.terminal}:
        raise UserError(f"--format {format.value}: figures are written as {', '.join(one.value for one in DRAWN)}")
    if file is None:
        raise UserError("--out: name the file or the folder to write figures to")
    named = file.suffix[1:].lower()
    if named in OTHER_PICTURES:
        raise UserError(f"--out: figures are written as {', '.join(one.value for one in DRAWN)}, got {str(file)!r}")
    if named not in {one.value for one in DRAWN} or file.is_dir():
        return None, "pdf" if format is OutputFormat.terminal else format.value
    if format not in {OutputFormat.terminal, named}:
        raise UserError(f"--out: {file} is not of the --format {format.value}")
    return file, named


def _in_folder(folder: Path | None, name: str) -> Path:
    assert folder is not None  # noqa: S101 - `destination` requires it
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--out: {folder} cannot be made: {error.strerror}") from None
    return folder / name


def _file_name(name: str) -> str:
    """A name of a figure, which may be that of a plug-in's table, without what file systems take for something else."""
    return "".join(one if one.isalnum() or one in "-_." else "_" for one in name).lstrip(".") or "figure"
