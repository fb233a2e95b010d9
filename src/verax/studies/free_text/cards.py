"""Cards of the consistency tests as a table: the input, what the test made of it, and why that is inconsistent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from verax.data.text import split_words
from verax.results.table import Column, Table, TableRow, table_row
from verax.studies.free_text.analysis import FreeText
from verax.studies.free_text.outcomes import ConsistencyTest, TextRun, consistency_tests, verdict
from verax.studies.free_text.tables import row_name
from verax.types import Nle, Score, Trial

_COLUMNS = (
    Column("name", "Setting, test", "text"),
    Column("instance", "Input", "text"),
    Column("verdict", "Verdict", "text"),
    Column("input", "Original input", "text"),
    Column("prediction", "Prediction", "text"),
    Column("explanation", "Explanation", "text"),
    Column("new_input", "Input after the test", "text"),
    Column("new_prediction", "New prediction", "text"),
    Column("new_explanation", "New explanation", "text"),
    Column("cause", "Cause", "text"),
    *map(Column, ("model", "method", "test", "gold", "inserted", "rule", "matched_word", "template")),
)


class Judged(NamedTuple):
    """The trial that decided about one explanation, and where it comes from."""

    run: TextRun
    nle: Nle
    test: ConsistencyTest
    score: Score
    trial: Trial


def cards(result: FreeText) -> Table:
    """The trial that decided each verdict (Tables 1 and 4 to 6), inconsistent explanations first."""
    rows = [_row(result, judged) for run in result.sources for judged in decisive(run)]
    rows.sort(key=lambda row: row.cells[2].value != "inconsistent")
    caption = (
        "The trial that decided about each explanation. Inserted words are in square brackets. Inconsistent "
        "explanations come first."
    )
    return Table("cards", "Cards of the consistency tests", _COLUMNS, tuple(rows), caption)


def decisive(run: TextRun) -> Iterator[Judged]:
    """The deciding trial of every test of every explanation that has one, in the order of the run."""
    for method in run.methods:
        for test in consistency_tests(run.manifest):
            scores = run.scores.get((method, test.metrics[0]), {})
            for nle in run.texts[method]:
                score = scores.get(nle.instance_id)
                log = None if score is None else score.trial_log
                if score is not None and log is not None and log.decisive is not None:
                    yield Judged(run, nle, test, score, log.trials[log.decisive])


def _row(result: FreeText, judged: Judged) -> TableRow:
    run, nle, test, score, trial = judged
    return table_row(
        row_name(result, run.name, nle.method, test.name),
        nle.instance_id, verdict(score).replace("_", " "),
        "\n".join(run.inputs[nle.instance_id]), nle.label, nle.text,
        marked(trial), trial.predicted, trial.explanation, _cause(trial),
        run.name, nle.method, test.name, run.gold[nle.instance_id], trial.words, trial.rule, trial.by,
        trial.notes.get("template", ""),
    )  # fmt: skip


def _cause(trial: Trial) -> str:
    """Why the explanation is or is not consistent, as the paper's tables say it."""
    if trial.kind == "reconstruction":
        return f"the reasons of the explanation lead to {'another' if trial.flipped else 'the same'} prediction"
    mentioned = f"and is mentioned as '{trial.by}'" if trial.mentioned else "and is not mentioned"
    return f"'{trial.words}' changed the prediction {mentioned}"


def marked(trial: Trial) -> str:
    """The parts of a changed input, one a line, with the inserted words in square brackets."""
    return "\n".join(
        raw if (pieces := around_insertion(trial, number)) is None else f"{pieces[0]}[{pieces[1]}]{pieces[2]}"
        for number, raw in enumerate(trial.parts)
    )


def around_insertion(trial: Trial, part: int, lang: str = "en") -> tuple[str, str, str] | None:
    """The text of a part before, in and after the inserted words; None if they are not found there."""
    span, raw = trial.inserted, trial.parts[part]
    if span is None or span.part != part:
        return None
    text = split_words(raw, lang)
    inside = text.words[span.start : span.end]
    if not inside or " ".join(inside) != " ".join(trial.words.split()):
        return None
    start, end = text.offsets[span.start][0], text.offsets[min(span.end, len(text.words)) - 1][1]
    return raw[:start], raw[start:end], raw[end:]
