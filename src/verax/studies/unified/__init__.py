"""The unified framework: words, word pairs and span pairs of the same bases under four properties."""

from verax.results.study import Study
from verax.studies.unified.analysis import Unified, analyse
from verax.studies.unified.figures import figures
from verax.studies.unified.presets import UNIFIED
from verax.studies.unified.tables import findings, reading, tables

STUDY: Study[Unified] = Study(
    name="unified",
    title="Kinds and properties",
    summary="Words, word pairs and span pairs of the same bases: faithfulness, agreement, simulatability, complexity.",
    analyse=analyse,
    tables=tables,
    figures=figures,
    findings=findings,
    reading=reading,
    presets=(UNIFIED,),
    reference="Sun, Atanasova and Augenstein 2024",
    order=30,
)
