"""Free-text explanations: counterfactual-edit test, input-reconstruction test, noise floor, accuracy and BLEU."""

from verax.results.study import Study
from verax.studies.free_text.analysis import FreeText, analyse
from verax.studies.free_text.cards import cards
from verax.studies.free_text.presets import NLE
from verax.studies.free_text.tables import findings, reading, tables

STUDY: Study[FreeText] = Study(
    name="free_text",
    title="Free-text explanations",
    summary="Consistency tests of free-text explanations: counterfactual edits, input reconstruction, noise floor.",
    analyse=analyse,
    tables=tables,
    findings=findings,
    reading=reading,
    presets=(NLE,),
    exports={"cards": cards},
    reference="Atanasova et al. 2023",
    order=50,
)
