"""Free-text explanations under test as plain tables of cells, as the paper has them and what it could not have."""

from __future__ import annotations

from verax.report.nle_words import (
    CONSISTENCY_SAID,
    INTERVALS_SAID,
    READINGS,
    in_percent,
    points,
    reasons_said,
    row_name,
    unanswered_said,
)
from verax.report.sheet import Sheet
from verax.results.render.numbers import MISSING, count, number, p_value, percent
from verax.stats.nle import ConsistencyRow, NleTables, PerformanceRow, SetupComparison
from verax.stats.nle_noise import NoiseRow
from verax.types import Estimate


def sheets(found: NleTables) -> list[Sheet]:
    """Counterfactuals, noise floor, reconstruction, comparison of set-ups, performance: those that were measured."""
    made = [_counterfactual(found)] if found.counterfactual else []
    made += [_noise(found)] if found.noise else []
    made += [_reconstruction(found)] if found.reconstruction else []
    made += [_comparison(found)] if found.comparisons else []
    return [*made, _performance(found)]


def _counterfactual(found: NleTables) -> Sheet:
    rows = found.counterfactual
    thresholds = sorted({row.threshold for row in rows if row.threshold is not None})
    heads: tuple[str, ...] = ("Set-up, editor", "% found", "% inconsistent of found", "% inconsistent", "% mentioned")
    heads += ("% by meaning",) if thresholds else ()
    said = [
        CONSISTENCY_SAID,
        "Found: inputs for which words were put in that change the prediction. Inconsistent: the explanation of the "
        "changed input does not mention them; of those found, and of all inputs. Mentioned: of all such edits, several "
        "an input. A union counts what either editor found.",
    ]
    if thresholds:
        least = ", ".join(map(number, thresholds))
        said.append(
            f"By meaning: inconsistent, of all inputs, if a word of similarity {least} or more is a mention too."
        )
    cells, unanswered = [], unanswered_said(rows)
    for row in rows:
        values = (row.found, row.among_found, row.total, row.mentioned, *([row.by_meaning] if thresholds else []))
        lost = [count(sum(row.unanswered.values()))] if unanswered else []
        name = row_name(found, row.model, row.setup, row.test)
        cells.append((name, *map(in_percent, values), *_counts(row), *lost))
    told = " ".join(filter(None, [*said, reasons_said(rows), unanswered]))
    heads = (*heads, "n", "Not tested", *(("Edits without an answer",) if unanswered else ()))
    return Sheet("Counterfactual consistency test", told, heads, tuple(cells), (INTERVALS_SAID,))


def _counts(row: ConsistencyRow) -> tuple[str, str]:
    return count(row.n), count(row.not_tested)


def _noise(found: NleTables) -> Sheet:
    similar = any(row.similar is not None for row in found.noise)
    heads: tuple[str, ...] = ("Set-up, editor", "Random edits", "% that flip", "% mentioned by chance")
    heads += ("% similar by chance",) if similar else ()
    said = (
        "Random words like those that the editor puts in, as many at a time; beside the random editor as it draws its "
        "own. Counterfactuals mentioned: those of the editor. Difference: between the two within inputs, in points. "
        "Where random words are mentioned as often, a mention says little and the test is passed by chance; from 50 % "
        "on, explanations may copy the input."
    )
    return Sheet(
        "Noise floor of the consistency test",
        said,
        (*heads, "% counterfactuals mentioned", "Difference", "Reading"),
        tuple(_noise_row(found, row, similar=similar) for row in found.noise),
        (INTERVALS_SAID, "Above chance: paired test within inputs, p < 0.05."),
    )


def _noise_row(found: NleTables, row: NoiseRow, *, similar: bool) -> tuple[str, ...]:
    return (
        row_name(found, row.model, row.setup, row.editor),
        count(row.edits),
        in_percent(row.flips),
        in_percent(row.chance),
        *([in_percent(row.similar)] if similar else []),
        in_percent(row.mentioned),
        points(row.difference),
        MISSING if row.reading is None else READINGS[row.reading],
    )


def _reconstruction(found: NleTables) -> Sheet:
    rows = found.reconstruction
    several = len({row.test for row in rows}) > 1
    cells = tuple(
        (
            row_name(found, row.model, row.setup, *([row.test] if several else [])),
            *map(in_percent, (row.found, row.among_found, row.total)),
            *_counts(row),
        )
        for row in rows
    )
    said = (
        f"{CONSISTENCY_SAID} Reconstructed: inputs that the reasons of the explanation could be made into a new input "
        "for. Inconsistent: the model predicts another class for it; of those reconstructed, and of all inputs."
    )
    heads = ("Set-up", "% reconstructed", "% inconsistent of reconstructed", "% inconsistent", "n", "Not tested")
    told = f"{said} {reasons_said(rows)}".rstrip()
    return Sheet("Input reconstruction consistency test", told, heads, cells, (INTERVALS_SAID,))


def _comparison(found: NleTables) -> Sheet:
    said = (
        "Inconsistent explanations under each consistency test, over the inputs that both set-ups were tested on; the "
        "difference, second minus first, in points. p: paired permutation test, corrected over the pairs of one test "
        "by Holm's rule; for few inputs it is the stricter one beside the interval. A model that ignores its input is "
        "seldom inconsistent: look at how much was found, and at accuracy, first."
    )
    heads = ("Test: first, second", "% first", "% second", "Difference", "p (Holm)", "n")
    rows = tuple(_compared(found, row) for row in found.comparisons)
    return Sheet("Set-ups compared under the consistency tests", said, heads, rows, (INTERVALS_SAID,))


def _compared(found: NleTables, row: SetupComparison) -> tuple[str, ...]:
    return (
        f"{row.test}: {row_name(found, *row.first)}, {row_name(found, *row.second)}",
        percent(row.total_first),
        percent(row.total_second),
        points(row.difference),
        p_value(row.p_holm),
        count(row.n),
    )


def _performance(found: NleTables) -> Sheet:
    said = (
        "Beside the consistency tests: how often the prediction is right, and how close explanations are to people's "
        "(corpus BLEU, 0 to 100). Neither says whether an explanation is faithful. Parsed: classes that were read from "
        "what the model wrote, where it gives no likelihoods. Cut off: explanations that reach the longest length."
    )
    tokens = any(row.by_first_token for row in found.performance)
    said += " By first token: classes that the first token of an answer gave." if tokens else ""
    heads: tuple[str, ...] = ("Set-up", "Accuracy [%]", "judged", "BLEU", "compared", "parsed")
    heads += (*(("by first token",) if tokens else ()), "cut off", "Explanations")
    rows = tuple(_performed(found, row, tokens=tokens) for row in found.performance)
    return Sheet("Accuracy and BLEU, beside the consistency tests", said, heads, rows, (INTERVALS_SAID,))


def _performed(found: NleTables, row: PerformanceRow, *, tokens: bool) -> tuple[str, ...]:
    bleu = MISSING if row.bleu is None else _hundredths(row.bleu)
    found_by = [count(row.by_first_token)] if tokens else []
    numbers = (count(row.compared), count(row.parsed), *found_by, count(row.cut_off), count(row.n))
    return (row_name(found, row.model, row.setup), in_percent(row.accuracy), count(row.judged), bleu, *numbers)


def _hundredths(value: Estimate) -> str:
    ends = "" if value.low is None or value.high is None else f" [{value.low:.2f}, {value.high:.2f}]"
    return f"{value.value:.2f}{ends}"
