"""What is said of free-text explanations under test, on the page, in a terminal and in papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from verax.results.render.numbers import MISSING, count, number, percent, plural
from verax.stats.nle import ConsistencyRow, NleTables
from verax.stats.nle_noise import Reading
from verax.stats.nle_rows import Verdict
from verax.types import Estimate, LabelSource, Trial

CONSISTENCY_SAID = (
    "This is a consistency test: what it finds speaks against an explanation; that it finds nothing does not prove the "
    "explanation faithful."
)
INTERVALS_SAID = "In brackets 95 % intervals over instances: BCa bootstrap, at 0 and 100 % Wilson's."

SETUPS = {
    "mt_re": "MT-Re",
    "mt_ra": "MT-Ra",
    "st_re": "ST-Re",
    "st_ra": "ST-Ra",
    "explain_then_answer": "explain, then answer",
    "answer_then_explain": "answer, then explain",
}
FOUND: dict[LabelSource, str] = {"first_token": "by the first token", "parsed": "read from the answer"}
"""How a class was found, where that is not by the likelihood of its whole name."""
VERDICTS: dict[Verdict, str] = {
    "inconsistent": "inconsistent",
    "consistent": "consistent",
    "no_counterfactual": "no counterfactual",
    "no_reconstruction": "no reconstruction",
    "not_tested": "not tested",
}
READINGS: dict[Reading, str] = {
    "copies": "copies the input?",
    "never": "mentions nothing",
    "too_few": "too few to tell",
    "above_chance": "above chance",
    "like_chance": "not above chance",
}
_RULES = {"word": "same word", "lemma": "same lemma", "substring": "letters inside a word"}


def setup_name(label: str) -> str:
    """A set-up as papers write it; another label as it is."""
    return SETUPS.get(label, label)


def row_name(found: NleTables, model: str, setup: str, *rest: str) -> str:
    """Whose row it is: the set-up, after the model where there are several runs."""
    return ", ".join([f"{model}: {setup_name(setup)}" if found.runs > 1 else setup_name(setup), *rest])


def in_percent(value: Estimate | None) -> str:
    """A share with its interval: `34.6 [30.1, 39.2]`."""
    if value is None:
        return MISSING
    ends = "" if value.low is None or value.high is None else f" [{percent(value.low)}, {percent(value.high)}]"
    return f"{percent(value.value)}{ends}"


def points(value: Estimate | None) -> str:
    """A difference of shares in points of percent, with its sign."""
    if value is None:
        return MISSING
    shown = in_percent(value)
    return shown if shown.startswith("-") or value.value == 0 else f"+{shown}"


def summed_up(found: NleTables) -> list[str]:
    """What the tests of each set-up found, a sentence each: under the union of editors where there is one."""
    told: dict[str, dict[str, str]] = {}
    for kind, rows in (("counterfactual", found.counterfactual), ("reconstruction", found.reconstruction)):
        for row in rows:  # unions come last
            told.setdefault(row_name(found, row.model, row.setup), {})[kind] = _found_by(kind, row)
    return [f"{name}: {'; '.join(tests.values())}." for name, tests in told.items()]


def _found_by(kind: str, row: ConsistencyRow) -> str:
    by = f"{kind} test" if row.test == kind else f"{kind} test ({row.test})"
    if row.total is None:
        return f"no explanation could be put to the {by}"
    if row.found is not None and not row.found.value:
        nothing = "no edit changes a prediction" if kind == "counterfactual" else "nothing could be reconstructed"
        return f"{nothing}, so the {by} says nothing of {plural(row.n, 'explanation')}"
    hits = round(row.total.value * row.n)
    share = f"{count(hits)} of {plural(row.n, 'explanation')} ({percent(row.total.value)}\N{NO-BREAK SPACE}%)"
    return f"{share} {'is' if hits == 1 else 'are'} inconsistent under the {by}"


def doubts(found: NleTables) -> list[str]:
    """What the noise floor warns of."""
    said = []
    for row in found.noise:
        name = row_name(found, row.model, row.setup, row.editor)
        if row.reading == "copies" and row.chance is not None:
            said.append(
                f"{name}: explanations mention {percent(row.chance.value)} % of random words that were put in. "
                "They may copy the input, and then a mention says nothing."
            )
        elif row.reading == "like_chance":
            said.append(
                f"{name}: words that change the prediction are not mentioned more often than random ones are by chance."
            )
    return said


def mention(trial: Trial) -> str:
    """Whether the explanation mentions what was put in, and what decided: `mentioned as “blue” (same word)`."""
    if trial.mentioned is None:
        return "not asked for an explanation" if trial.explanation is None else "not judged"
    if not trial.mentioned:
        return "not mentioned"
    by = f" as “{trial.by}”" if trial.by else ""
    return f"mentioned{by} ({_RULES.get(trial.rule, trial.rule or 'rule not recorded')})"


def meaning(trial: Trial, threshold: float | None) -> str | None:
    """How similar the explanation is to what was put in; None if that was not measured."""
    if trial.similarity is None:
        return None
    if threshold is None:
        return f"similarity {number(trial.similarity)}"
    said = "below" if trial.similarity < threshold else "at least"
    return f"similarity {number(trial.similarity)}, {said} the {number(threshold)} that counts as a mention by meaning"


def reasons_said(rows: Sequence[ConsistencyRow]) -> str:
    """Why instances were not tested, over all rows; empty if all were."""
    listed = _most([row.untested for row in rows])
    return f"Not tested, and in no share: {listed}." if listed else ""


def unanswered_said(rows: Sequence[ConsistencyRow]) -> str:
    """Why edits got no answer, over all rows; empty if all did."""
    listed = _most([row.unanswered for row in rows])
    return f"Without an answer, random edits too, and so not searched: {listed}." if listed else ""


def _most(counts: Sequence[Mapping[str, int]]) -> str:
    reasons: dict[str, int] = {}
    for one in counts:
        for reason, n in one.items():
            reasons[reason] = max(n, reasons.get(reason, 0))
    return ", ".join(f"{reason} (at most {n})" for reason, n in reasons.items())
