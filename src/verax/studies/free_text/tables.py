"""Tables of the consistency tests of free-text explanations, and what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from verax.results.render.numbers import count, number, percent, plural
from verax.results.table import Cell, Column, Table, table_row
from verax.studies.free_text.analysis import ConsistencyRow, FreeText
from verax.studies.free_text.noise import Reading
from verax.types import Estimate

CONSISTENCY = (
    "These are consistency tests: a failed test is evidence against an explanation; a passed test does not prove that "
    "it is faithful."
)
INTERVALS = "In brackets: 95 % intervals over instances (BCa bootstrap; Wilson's at 0 and 100 %)."
METHOD_NAMES = {
    "mt_re": "MT-Re",
    "mt_ra": "MT-Ra",
    "st_re": "ST-Re",
    "st_ra": "ST-Ra",
    "explain_then_answer": "explain, then answer",
    "answer_then_explain": "answer, then explain",
}
RULES = {"any": "any word", "content": "content words"}
_RULE_MEANS = {
    "any": "inconsistent, of all inputs, if any inserted word counts as a mention (Equation 1)",
    "content": "inconsistent, of all inputs, if only content words, numbers, negations and quantifiers do",
}
READINGS: dict[Reading, str] = {
    "copies": "copies the input?",
    "never": "mentions nothing",
    "too_few": "too few to tell",
    "above_chance": "above random",
    "like_chance": "not above random",
}


def method_name(label: str) -> str:
    """A method as papers write it; another label as it is."""
    return METHOD_NAMES.get(label, label)


def row_name(result: FreeText, model: str, method: str, *rest: str) -> str:
    """The name of a row: the method, after the model where there are several runs."""
    return ", ".join([f"{model}: {method_name(method)}" if result.runs > 1 else method_name(method), *rest])


def tables(result: FreeText) -> list[Table]:
    """Counterfactuals, edits, noise floor, reconstruction, comparison, performance: those that were measured."""
    made = [_counterfactual(result), _edits(result)] if result.counterfactual else []
    made += [_noise(result)] if result.noise else []
    made += [_reconstruction(result)] if result.reconstruction else []
    made += [_comparison(result)] if result.comparisons else []
    return [*made, _performance(result)]


def _percent(name: str, title: str) -> Column:
    return Column(name, title, "percent")


def _hidden(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name) for name in names)


def _counterfactual(result: FreeText) -> Table:
    rows = result.counterfactual
    thresholds = sorted({row.threshold for row in rows if row.threshold is not None})
    others = _other_rules(result)
    columns = (
        Column("name", "Setting, editor", "text"),
        _percent("found", "% found"),
        _percent("among_found", "% inconsistent of found"),
        _percent("total", "% inconsistent of all"),
        *(_percent(f"total_{rule}", f"% of all, {words}" if words else "") for rule, words in others.items()),
        _percent("by_meaning", "% by meaning" if thresholds else ""),
        _percent("mentioned", "% mentioned"),
        Column("n", "n", "count"),
        Column("not_tested", "Not tested", "count"),
        *_hidden("model", "method", "test", "match", "counterfactuals", "threshold"),
    )
    lines = [
        table_row(
            row_name(result, row.model, row.method, row.test),
            row.found, row.among_found, row.total, *(row.by_rule.get(rule) for rule in RULES), row.by_meaning,
            row.mentioned, row.n, _with_reasons(row.not_tested, row.untested),
            row.model, row.method, row.test, row.match, row.counterfactuals, row.threshold,
        )
        for row in rows
    ]  # fmt: skip
    caption = [
        "Found: inputs for which inserted words change the prediction. Inconsistent: the explanation of the changed "
        "input does not mention them; of those found, and of all inputs. Mentioned: of all such edits, several per "
        "input. A union counts what any of its editors found."
    ]
    caption += [f"{words[0].upper()}{words[1:]}: {_RULE_MEANS[rule]}." for rule, words in others.items() if words]
    if thresholds:
        least = ", ".join(map(number, thresholds))
        caption.append(f"By meaning: inconsistent, of all inputs, if a word of similarity {least} or more counts too.")
    caption += [_reasons("Not tested, and in no share", [row.untested for row in rows])]
    title = "Counterfactual consistency test"
    return Table("counterfactual", title, columns, tuple(lines), " ".join(filter(None, caption)), (INTERVALS,))


def _other_rules(result: FreeText) -> dict[str, str]:
    """Each rule of mention with its name, which is empty where the rule decides or was not recorded."""
    rows = result.counterfactual
    return {
        rule: words if any(row.match != rule and row.by_rule for row in rows) else "" for rule, words in RULES.items()
    }


def _edits(result: FreeText) -> Table:
    rows = result.counterfactual
    floor = any(row.self_flips is not None for row in rows)
    columns = (
        Column("name", "Setting, editor", "text"),
        Column("tried", "Edits per input"),
        _percent("flips", "% that flip"),
        _percent("self_flips", "% self-flips" if floor else ""),
        Column("untested_edits", "Not tested", "count"),
        Column("unanswered", "Without an answer", "count"),
        *_hidden("model", "method", "test", "repeats"),
    )
    lines = [
        table_row(
            row_name(result, row.model, row.method, row.test),
            row.tried, row.flips, _self_flips(row),
            _with_reasons(sum(row.untested_edits.values()), row.untested_edits),
            _with_reasons(sum(row.unanswered.values()), row.unanswered),
            row.model, row.method, row.test, row.repeats,
        )
        for row in rows
    ]  # fmt: skip
    caption = ["The edits that were tried, and how many of them change the prediction."]
    if floor:
        caption.append(
            "Self-flips: answers to the unedited input, asked again, that are another class; a deterministic model has "
            "none. That share of the edits would flip without any effect of the inserted words."
        )
    words = "Not tested, since the explanation of a changed prediction is cut off, refused or empty"
    caption += [_reasons(words, [row.untested_edits for row in rows])]
    caption += [_reasons("Without an answer, random edits included", [row.unanswered for row in rows])]
    title = "Edits, and how often predictions change by themselves"
    return Table("edits", title, columns, tuple(lines), " ".join(filter(None, caption)), (INTERVALS,))


def _self_flips(row: ConsistencyRow) -> Cell:
    asked = f"{plural(row.repeats, 'answer')} to unedited inputs" if row.repeats else "a deterministic model"
    return Cell(row.self_flips, details=() if row.self_flips is None else (asked,))


def _with_reasons(number_of: int, reasons: Mapping[str, int]) -> Cell:
    return Cell(number_of, details=tuple(f"{reason}: {n}" for reason, n in reasons.items()))


def _reasons(words: str, counts: Sequence[Mapping[str, int]]) -> str:
    """Reasons over all rows, each with its largest number; empty without any."""
    reasons: dict[str, int] = {}
    for one in counts:
        for reason, n in one.items():
            reasons[reason] = max(n, reasons.get(reason, 0))
    listed = ", ".join(f"{reason} (at most {n})" for reason, n in reasons.items())
    return f"{words}: {listed}." if listed else ""


def _noise(result: FreeText) -> Table:
    similar = any(row.similar is not None for row in result.noise)
    by_rule = [
        _percent(f"{side}_{rule}", f"{title}, {words}" if words else "")
        for rule, words in _other_rules(result).items()
        for side, title in (("chance", "% mentioned"), ("mentioned", "% counterfactuals mentioned"))
    ]
    columns = (
        Column("name", "Setting, editor", "text"),
        Column("edits", "Random edits", "count"),
        _percent("flips", "% that flip"),
        _percent("chance", "% mentioned"),
        _percent("similar", "% similar" if similar else ""),
        _percent("mentioned", "% counterfactuals mentioned"),
        _percent("difference", "Difference"),
        *by_rule,
        Column("reading", "Reading", "text"),
        *_hidden("model", "method", "test", "pairs", "p"),
    )
    lines = [
        table_row(
            row_name(result, row.model, row.method, row.editor),
            row.edits, row.flips, row.chance, row.similar, row.mentioned, row.difference,
            *(share for rule in RULES for share in row.by_rule.get(rule, (None, None))),
            None if row.reading is None else READINGS[row.reading],
            row.model, row.method, row.editor, row.pairs, row.p,
        )
        for row in result.noise
    ]  # fmt: skip
    caption = (
        "Random words like those that the editor inserts, as many at a time; with the random editor, as it draws its "
        "own. Counterfactuals mentioned: those of the editor. Difference: between the two within inputs, in points. "
        "Where random words are mentioned as often, a mention says little; from 50 % on, explanations may copy the "
        "input."
    )
    notes = (INTERVALS, "Above random: paired test within inputs, p < 0.05.")
    return Table("noise_floor", "Noise floor of the consistency test", columns, tuple(lines), caption, notes)


def _reconstruction(result: FreeText) -> Table:
    rows = result.reconstruction
    several = len({row.test for row in rows}) > 1
    columns = (
        Column("name", "Setting", "text"),
        _percent("found", "% reconstructed"),
        _percent("among_found", "% inconsistent of reconstructed"),
        _percent("total", "% inconsistent of all"),
        Column("n", "n", "count"),
        Column("not_tested", "Not tested", "count"),
        *_hidden("model", "method", "test"),
    )
    lines = [
        table_row(
            row_name(result, row.model, row.method, *([row.test] if several else [])),
            row.found, row.among_found, row.total, row.n, _with_reasons(row.not_tested, row.untested),
            row.model, row.method, row.test,
        )
        for row in rows
    ]  # fmt: skip
    caption = (
        "Reconstructed: inputs for which the reasons of the explanation could be turned into a new input. "
        "Inconsistent: the model predicts another class for it; of those reconstructed, as in the paper's Table 3, and "
        "of all inputs, those without a reconstruction included. "
        + _reasons("Not tested, and in no share", [row.untested for row in rows])
    )
    title = "Input reconstruction consistency test"
    return Table("reconstruction", title, columns, tuple(lines), caption.rstrip(), (INTERVALS,))


def _comparison(result: FreeText) -> Table:
    columns = (
        Column("name", "Test: first, second", "text"),
        _percent("total_first", "% first"),
        _percent("total_second", "% second"),
        _percent("difference", "Difference"),
        Column("p", "p", "p_value"),
        Column("n", "n", "count"),
        *_hidden("test", "first_model", "first_method", "second_model", "second_method"),
    )
    lines = [
        table_row(
            f"{row.test}: {row_name(result, *row.first)}, {row_name(result, *row.second)}",
            row.total_first, row.total_second, row.difference, row.p, row.n,
            row.test, *row.first, *row.second,
        )
        for row in result.comparisons
    ]  # fmt: skip
    sequential = any(run.manifest.sequential for run in result.sources)
    caption = (
        "Inconsistent explanations under each test, over the inputs that both were tested on; the difference, second "
        f"minus first, in points. p: {'sequential' if sequential else 'joint sign-flip'} test, adjusted for the pairs "
        "of methods of one test. A model that ignores its input is seldom inconsistent: consider how much was found, "
        "and accuracy, first."
    )
    title = "Settings compared under the consistency tests"
    return Table("comparison", title, columns, tuple(lines), caption, (INTERVALS,))


def _performance(result: FreeText) -> Table:
    tokens = any(row.by_first_token for row in result.performance)
    columns = (
        Column("name", "Setting", "text"),
        _percent("accuracy", "Accuracy [%]"),
        Column("judged", "judged", "count"),
        Column("bleu", "BLEU"),
        Column("compared", "compared", "count"),
        Column("parsed", "parsed", "count"),
        Column("by_first_token", "by first token" if tokens else "", "count"),
        Column("cut_off", "cut off", "count"),
        Column("n", "Explanations", "count"),
        *_hidden("model", "method"),
    )
    lines = [
        table_row(
            row_name(result, row.model, row.method), row.accuracy, row.judged, row.bleu, row.compared, row.parsed,
            row.by_first_token, row.cut_off, row.n, row.model, row.method,
        )
        for row in result.performance
    ]  # fmt: skip
    caption = (
        "Accuracy of the predictions, and similarity of explanations to human ones (corpus BLEU, 0 to 100); neither "
        "says whether an explanation is faithful. Parsed: classes read from the text of the answer, where the model "
        "gives no likelihoods. Cut off: explanations that reach the maximum length."
    )
    caption += " By first token: classes given by the first token of an answer." if tokens else ""
    return Table("performance", "Accuracy and BLEU", columns, tuple(lines), caption, (INTERVALS,))


def findings(result: FreeText) -> list[str]:
    """What the tests of each method found, and what the noise floor warns about."""
    words: dict[str, dict[str, str]] = {}
    for kind, rows in (("counterfactual", result.counterfactual), ("reconstruction", result.reconstruction)):
        for row in rows:  # unions come last
            words.setdefault(row_name(result, row.model, row.method), {})[kind] = _found(kind, row)
    summary = [f"{name}: {'; '.join(tests.values())}." for name, tests in words.items()]
    return [*summary, CONSISTENCY, *_warnings(result)]


def _found(kind: str, row: ConsistencyRow) -> str:
    test = f"{kind} test" if row.test == kind else f"{kind} test ({row.test})"
    if row.total is None:
        return f"no explanation could be tested by the {test}"
    if row.found is not None and not row.found.value:
        nothing = "no edit changes a prediction" if kind == "counterfactual" else "nothing could be reconstructed"
        return f"{nothing}, so the {test} says nothing about {plural(row.n, 'explanation')}"
    hits = round(row.total.value * row.n)
    share = f"{count(hits)} of {plural(row.n, 'explanation')} ({percent(row.total.value)}\N{NO-BREAK SPACE}%)"
    return f"{share} {'is' if hits == 1 else 'are'} inconsistent under the {test}"


def _warnings(result: FreeText) -> list[str]:
    found = [
        f"{row_name(result, row.model, row.method, row.test)}: {percent(row.self_flips.value)} % of the answers to "
        f"unedited inputs change when they are asked again, and {percent(row.flips.value)} % of the edits flip the "
        "prediction. Part of the counterfactuals are no effect of the inserted words."
        for row in result.counterfactual
        if row.self_flips is not None and row.self_flips.value > 0 and row.flips is not None
    ]
    for row in result.noise:
        name = row_name(result, row.model, row.method, row.editor)
        if row.reading == "copies" and isinstance(row.chance, Estimate):
            found.append(
                f"{name}: explanations mention {percent(row.chance.value)} % of random inserted words. They may copy "
                "the input, and then a mention says nothing."
            )
        elif row.reading == "like_chance":
            found.append(f"{name}: words that change the prediction are not mentioned more often than random words.")
    return found


def reading(_: FreeText) -> list[str]:
    """What the tests do, and what they do not show."""
    return [
        "Counterfactual test: a few words are inserted into the input. If they change the prediction, they are a "
        "reason for it, and an explanation of the changed input that does not mention them hides that reason.",
        "Reconstruction test: the reasons that an explanation gives are turned into an input of their own. If the "
        "model predicts another class for it, the reasons given are not sufficient for the prediction.",
        "Passing both is no proof. An explanation that repeats the whole input mentions whatever is inserted: the "
        "noise floor shows how often words without any effect are mentioned.",
        "An explanation can give a reason in other words, which the match of words does not see; where similarity was "
        "measured, it is in a column of its own.",
        "How many inputs have a counterfactual depends on the editor, so compare settings under the same editor.",
    ]
