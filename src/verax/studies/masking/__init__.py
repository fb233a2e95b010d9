"""Faithfulness measurable models: recursive masking, ACU and RACU, and whether masked inputs are in-distribution."""

from verax.results.study import Study
from verax.studies.masking.analysis import analyse
from verax.studies.masking.curves import MaskingResult
from verax.studies.masking.figures import figures
from verax.studies.masking.presets import FAITHFULNESS_MEASURABLE
from verax.studies.masking.tables import findings, reading, tables

STUDY: Study[MaskingResult] = Study(
    name="masking",
    title="Recursive masking",
    summary="ACU and RACU of recursive masking, with the in-distribution test that makes them valid.",
    analyse=analyse,
    tables=tables,
    figures=figures,
    findings=findings,
    reading=reading,
    presets=(FAITHFULNESS_MEASURABLE,),
    reference="Madsen, Reddy and Chandar 2024",
    order=20,
)
