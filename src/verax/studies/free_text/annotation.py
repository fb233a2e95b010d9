"""The manual check of mentions: a sheet for annotators, and how well they agree with the rules and with each other.

An author of the paper read 100 inputs of each model, 800 in all, and found no paraphrase (Atanasova et al. 2023,
Section 3).
"""

from __future__ import annotations

import csv
import hashlib
import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.metrics import cohen_kappa_score

from verax.results.table import Cell, Column, Table, from_records, table_row
from verax.stats.intervals import share
from verax.store.files import read_regular
from verax.studies.free_text.cards import Judged, decisive, marked
from verax.studies.free_text.outcomes import MATCHES, TextRun
from verax.studies.free_text.tables import RULES, method_name
from verax.types import UserError

ANSWERS = {"word": True, "paraphrase": True, "no": False}
"""What an annotator may write, and whether it means that the explanation mentions the inserted words."""
_ID, _ANSWER = "id", "mentioned"


class Sheet(NamedTuple):
    """The answers of one annotator, by the id of the row."""

    name: str
    answers: Mapping[str, str]


def sheet(runs: Sequence[TextRun], *, inputs: int = 100, seed: int = 0) -> Table:
    """Rows to annotate: of each setting and editor the first inputs that have a counterfactual, in random order.

    The sheet tells neither the setting nor what the rules say, so that they do not influence the annotator.
    """
    rows = [(name, judged.trial) for name, judged in _chosen(runs, inputs)]
    if not rows:
        raise UserError("there is no counterfactual to annotate; run a counterfactual_test first")
    order = np.random.default_rng(seed).permutation(len(rows))
    return from_records(
        "annotation",
        "Does the explanation mention the inserted words? Write word, paraphrase or no.",
        [
            {
                _ID: rows[i][0],
                "input": marked(rows[i][1]),
                "inserted_words": rows[i][1].words,
                "explanation": rows[i][1].explanation,
                _ANSWER: "",
                "comment": "",
            }
            for i in order.tolist()
        ],
    )


def _chosen(runs: Sequence[TextRun], inputs: int | None = None) -> Iterator[tuple[str, Judged]]:
    """The deciding counterfactual of each input, at most so many of each setting and editor, with its id."""
    for run in runs:
        tested = [judged for judged in decisive(run) if judged.test.kind == "counterfactual"]
        for owner in dict.fromkeys(map(_owner, tested)):
            for judged in islice((one for one in tested if _owner(one) == owner), inputs):
                trial = judged.trial
                parts = (*owner, judged.nle.instance_id, *trial.parts, trial.explanation or "")
                content = "\0".join(parts).encode("utf-8", "surrogatepass")
                yield hashlib.sha256(content).hexdigest()[:12], judged


def _owner(judged: Judged) -> tuple[str, str, str]:
    return judged.run.name, judged.nle.method, judged.test.name


def read_sheet(path: Path) -> Sheet:
    """The answers in a sheet that was filled in; rows without an answer are left out."""
    try:
        text = read_regular(path).decode("utf-8-sig")
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"--read: {path} can't be read: {error}") from None
    if not rows or not {_ID, _ANSWER} <= set(rows[0]):
        raise UserError(f"--read: {path} is no sheet of `verax annotate`: it needs the columns {_ID} and {_ANSWER}")
    answers = {}
    for number, row in enumerate(rows, 2):
        answer = (row[_ANSWER] or "").strip().casefold()
        if answer and answer not in ANSWERS:
            raise UserError(f"--read: {path}, row {number}: mentioned: got {answer!r}, expected {', '.join(ANSWERS)}")
        if answer:
            answers[row[_ID]] = answer
    return Sheet(path.stem, answers)


def agreement(runs: Sequence[TextRun], sheets: Sequence[Sheet]) -> list[Table]:
    """How each annotator agrees with the rules of mention, by setting, and annotators with each other."""
    judged = dict(_chosen(runs))
    for one in sheets:
        if not one.answers:
            raise UserError(f"--read: {one.name}: no row has an answer in the column {_ANSWER}")
        if missing := [name for name in one.answers if name not in judged]:
            raise UserError(
                f"--read: {one.name}: {len(missing)} of {len(one.answers)} rows are of other runs, such as {missing[0]}"
            )
    tables = [_with_rules(judged, sheets)]
    return tables + ([_with_each_other(sheets)] if len(sheets) > 1 else [])


def _with_rules(judged: Mapping[str, Judged], sheets: Sequence[Sheet]) -> Table:
    rows = []
    for one in sheets:
        owners = list(dict.fromkeys(_owner(judged[name]) for name in one.answers))
        for owner in (None, *owners):
            names = [name for name in one.answers if owner is None or _owner(judged[name]) == owner]
            title = "all" if owner is None else f"{owner[0]}: {method_name(owner[1])}, {owner[2]}"
            for rule in MATCHES:
                mentions = [judged[name].trial.mentions.get(rule) for name in names]
                pairs = [(ANSWERS[one.answers[n]], m) for n, m in zip(names, mentions, strict=True) if m is not None]
                paraphrased = sum(one.answers[n] == "paraphrase" for n in names)
                missed = sum(human and not found for human, found in pairs)
                false = sum(found and not human for human, found in pairs)
                counts = (len(pairs), paraphrased, missed, false)
                name = f"{one.name}, {title}, {RULES[rule]}"
                rows.append(
                    table_row(name, _same(pairs), _kappa(pairs), *counts, one.name, *(owner or ("", "", "")), rule)
                )
    columns = (
        Column("name", "Annotator, setting, rule", "text"),
        Column("agreement", "% agreement", "percent"),
        Column("kappa", "Cohen's kappa"),
        Column("n", "n", "count"),
        Column("paraphrases", "Paraphrases", "count"),
        Column("missed", "Missed by the rule", "count"),
        Column("false", "Only by the rule", "count"),
        *map(Column, ("annotator", "model", "method", "test", "rule")),
    )
    caption = (
        "Whether annotator and rule agree that the explanation mentions the inserted words. Missed: the annotator sees "
        "a mention, a paraphrase included, and the rule does not. Only by the rule: the other way round."
    )
    return Table("annotation", "Manual check of mentions", columns, tuple(rows), caption)


def _with_each_other(sheets: Sequence[Sheet]) -> Table:
    rows = []
    for first, second in combinations(sheets, 2):
        shared = [name for name in first.answers if name in second.answers]
        pairs = [(ANSWERS[first.answers[name]], ANSWERS[second.answers[name]]) for name in shared]
        rows.append(table_row(f"{first.name}, {second.name}", _same(pairs), _kappa(pairs), len(pairs)))
    columns = (
        Column("name", "Annotators", "text"),
        Column("agreement", "% agreement", "percent"),
        Column("kappa", "Cohen's kappa"),
        Column("n", "n", "count"),
    )
    return Table("annotators", "Annotators compared", columns, tuple(rows), "Over the rows that both annotated.")


def _same(pairs: Sequence[tuple[bool, bool]]) -> Cell:
    return Cell(share(sum(a == b for a, b in pairs), len(pairs)), reason="" if pairs else "no row has both")


def _kappa(pairs: Sequence[tuple[bool, bool]]) -> Cell:
    """Cohen's kappa; undefined if all answers of both sides are the same one."""
    if len({answer for pair in pairs for answer in pair}) < 2:
        return Cell(None, reason="all answers are the same")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Cell(float(cohen_kappa_score(*zip(*pairs, strict=True))))
