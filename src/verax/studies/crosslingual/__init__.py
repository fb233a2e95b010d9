"""Evaluation across languages: faithfulness by translation, compared with accuracy, erasure and plausibility."""

from verax.results.study import Study
from verax.studies.crosslingual.analysis import CrossLingual, analyse
from verax.studies.crosslingual.figures import figures
from verax.studies.crosslingual.presets import CROSSLINGUAL
from verax.studies.crosslingual.tables import findings, reading, tables

STUDY: Study[CrossLingual] = Study(
    name="crosslingual",
    title="Across languages",
    summary="Faithfulness by translation: methods by output and language, compared with accuracy and other measures.",
    analyse=analyse,
    tables=tables,
    figures=figures,
    findings=findings,
    reading=reading,
    presets=(CROSSLINGUAL,),
    reference="Zaman and Belinkov 2022",
    order=40,
)
