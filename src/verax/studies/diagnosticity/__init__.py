"""Metrics on trial: how often does a metric rank the truer of two explanations of known truth higher?"""

from verax.results.study import Study
from verax.studies.diagnosticity.analysis import Diagnosticity, analyse, claims
from verax.studies.diagnosticity.presets import DIAGNOSTICITY
from verax.studies.diagnosticity.tables import figures, findings, reading, tables

STUDY: Study[Diagnosticity] = Study(
    name="diagnosticity",
    title="Metrics on trial",
    summary="How often each metric ranks the truer of two explanations of known truth higher, and at what cost.",
    analyse=analyse,
    tables=tables,
    figures=figures,
    findings=findings,
    reading=reading,
    presets=(DIAGNOSTICITY,),
    order=5,
    claims=claims,
)
