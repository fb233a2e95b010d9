"""The same in a terminal: leaderboard, comparison, recursive masking, one explanation, as things that rich prints.

Every name and text goes in as plain text: neither rich's markup nor a terminal's control codes mean anything in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from verax.report.masking_words import (
    PERFORMANCE,
    areas,
    distribution_said,
    intervals_said,
    invalid,
    ordered,
    performance_said,
    ratios,
)
from verax.report.pairs import SHOWN, TOP, heads, top_pairs
from verax.report.ranking import best_group, by_metric
from verax.report.tables import difference
from verax.report.words import LEVELS, gold_words, level, word_scores
from verax.results.render.markup import visible
from verax.results.render.numbers import count, interval, number, p_value, plural, signed
from verax.stats.leaderboard import ALPHA
from verax.types import Comparison, Highlight, Instance, MaskingCurves, Prediction, Skip, Summary

_NARROW = 76
_LEAST_NAME = 14
_SCORE_WIDTH = 9
_GAP = 2
_FOR = ("#fdd0a2", "#fdae6b", "#f28e2b")
_AGAINST = ("#c6dbef", "#9ecae1", "#6baed6")


def plain(raw: str, style: str | Style = "") -> Text:
    """A text from data as it reads, on one line."""
    return Text(visible(" ".join(raw.splitlines())).replace("\t", " "), style=style)


@dataclass(frozen=True)
class Board:
    """A table that becomes a list of entries where the terminal is too narrow for its columns.

    Args:
        title: what the table is about.
        heads: of the columns; the first is the name of the row.
        rows: shape [rows, heads].
        strong: which rows are set in bold.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    strong: frozenset[int] = frozenset()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table, or the list below 76 columns and where the names of the rows would be squeezed."""
        yield plain(self.title, "bold")
        left = options.max_width - sum(map(self._width, range(1, len(self.heads))))
        squeezed = left < min(_LEAST_NAME, self._width(0))
        yield from self._listed() if options.max_width < _NARROW or squeezed else [self._table()]
        yield Text()

    def _width(self, column: int) -> int:
        """What a column needs, with the space behind it and that between columns."""
        return 2 + max(cell_len(row[column]) for row in (self.heads, *self.rows))

    def _table(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
        for index, head in enumerate(self.heads):
            table.add_column(plain(head), justify="right" if index else "left", no_wrap=index > 0, overflow="fold")
        for index, row in enumerate(self.rows):
            table.add_row(*(plain(cell) for cell in row), style="bold" if index in self.strong else "")
        return table

    def _listed(self) -> Iterable[RenderableType]:
        for index, row in enumerate(self.rows):
            yield plain(row[0], "bold" if index in self.strong else "")
            facts = ", ".join(f"{head} {cell}" for head, cell in zip(self.heads[1:], row[1:], strict=True))
            yield Padding(plain(facts), (0, 0, 0, 4))


def _breakable(label: str) -> str:
    """A method's label, which may go on in the next line where its parameters begin."""
    return label.replace("(", " (", 1)


def leaderboard(summaries: Sequence[Summary]) -> RenderableType:
    """A table for each metric, best first; the best and those that can't be told apart from it are marked."""
    if not summaries:
        return Text("No scores yet.")
    boards: list[RenderableType] = []
    for metric, rows in by_metric(summaries).items():
        best = set(best_group(rows))
        cells = tuple(
            (
                f"{'◆' if row.method in best else ' '}\N{NO-BREAK SPACE}{_breakable(row.method)}",
                number(row.mean),
                interval(row.low, row.high),
                p_value(row.p_holm),
                count(row.n),
                count(row.skipped),
                row.group,
            )
            for row in rows
        )
        heads = ("method", "mean", "95 % interval", "p", "n", "skipped", "group")
        direction = "higher" if rows[0].higher_is_better else "lower"
        strong = frozenset(index for index, row in enumerate(rows) if row.method in best)
        boards.append(Board(f"{metric} ({direction} is better)", heads, cells, strong))
        tested = [row.p_holm for row in rows if row.p_holm is not None]
        if tested and min(tested) >= ALPHA:
            boards.append(Text("No method can be told apart from random here.\n", "yellow"))
    boards.append(
        Text("◆ best, or can't be told apart from the best. Methods that share a letter can't be told apart.", "dim")
    )
    against = "p: paired test against the random explanation (of the same kind, where the run has one), Holm-corrected."
    boards.append(Text(against, "dim"))
    return Group(*boards)


def comparison(comparisons: Sequence[Comparison], name_a: str = "A", name_b: str = "B") -> RenderableType:
    """Two runs side by side; a row whose difference is more than chance says which way it went."""
    if not comparisons:
        return Text("The two runs share no method under the same metric.")
    boards: list[RenderableType] = []
    for metric in dict.fromkeys(row.metric for row in comparisons):
        rows = [row for row in comparisons if row.metric == metric]
        direction = "higher" if rows[0].higher_is_better else "lower"
        cells = tuple(
            (
                _breakable(row.method),
                number(row.mean_a),
                number(row.mean_b),
                number(difference(row)),
                p_value(row.p_holm),
                count(row.n),
                _change(row),
            )
            for row in rows
        )
        heads = ("method", "A", "B", "B - A", "p", "n", "B is")
        boards.append(Board(f"{metric} ({direction} is better)", heads, cells))
    boards.append(plain(f"A: {name_a}"))
    boards.append(plain(f"B: {name_b}"))
    boards.append(Text("p: paired test over the instances of both runs, Holm-corrected over all rows.", "dim"))
    return Group(*boards)


def _change(row: Comparison) -> str:
    gain = difference(row)
    if gain is None or row.p_holm is None:
        return "unknown"
    if row.p_holm >= ALPHA:
        return "not told apart"
    return "better" if (gain > 0) == row.higher_is_better else "worse"


def masking(curves: MaskingCurves) -> RenderableType:
    """The areas of recursive masking, best first, and what must be known to read them."""
    rows = ordered(curves)
    wrong: dict[str, list[str]] = {}
    cells: list[tuple[str, ...]] = []
    for row in rows:
        places = invalid(curves, row)
        if places:
            wrong.setdefault(ratios(places, len(row.curve)), []).append(row.method)
        no_bound = row.signed and row.method != curves.baseline
        signs = f"{'✗' if places else ''}{'±' if no_bound else ''}" or "–"
        cells.append((_breakable(row.method), *areas(curves, row), count(row.n), count(row.skipped), signs))
    lines = [plain(performance_said(curves)), plain(distribution_said(curves), "yellow" if wrong else "")]
    for where, methods in wrong.items():
        who = "all measures" if len(methods) == len(rows) else ", ".join(methods)
        lines.append(plain(f"✗ not valid at {where}, where it or {curves.baseline} is not in-distribution: {who}"))
    if any("±" in row[-1] for row in cells):
        lines.append(Text("± signed: it can turn the prediction round, so its RACU may exceed 100.", "dim"))
    if any(row.racu is None for row in rows):
        lines.append(Text("A missing RACU: masking at random costs nothing, so there is no area to share.", "dim"))
    lines.append(plain(f"{intervals_said(curves)} The areas of {curves.baseline} are 0 by definition.", "dim"))
    heads: tuple[str, ...] = ("measure", "ACU", "RACU", "n", "skipped", "mark")
    if not any(row.skipped for row in rows):  # room for long names
        heads, cells = (*heads[:4], heads[5]), [(*row[:4], row[5]) for row in cells]
    title = f"recursive masking: areas between curves of {PERFORMANCE[rows[0].metric]} in percent (higher is better)"
    return Group(Board(title, heads, tuple(cells)), *lines)


def explanation(highlight: Highlight, instance: Instance, prediction: Prediction | None = None) -> RenderableType:
    """Who explains what, the text with coloured words, and a table of words, or of pairs, and scores."""
    head = Text.assemble(plain(highlight.method, "bold"), " explains ", plain(str(highlight.target)))
    if prediction is not None:
        chance = dict(zip(prediction.labels, prediction.probabilities, strict=True)).get(prediction.label)
        head.append_text(Text.assemble("; predicted ", plain(prediction.label, "bold"), f" ({number(chance)})"))
    if highlight.kind != "token":
        return Group(head, Text(), *_lines(instance, {}), Text(), *_pairs(highlight, instance, SHOWN))
    scores = word_scores(highlight)
    return Group(head, Text(), *_lines(instance, scores), Text(), _scores(instance, scores))


def _pairs(highlight: Highlight, instance: Instance, top: int) -> Iterable[RenderableType]:
    """The pairs with the highest scores in a table, and of how many they are the first."""
    pairs = top_pairs(highlight, instance, top)
    if not pairs:
        yield Text("no pair of words or spans")
        return
    strongest = max(abs(score) for score in highlight.scores)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("rank", justify="right", no_wrap=True)
    for head in heads(pairs):
        table.add_column(head, overflow="fold")
    table.add_column("score", justify="right", no_wrap=True)
    for pair in pairs:
        score = Text(signed(pair.score), _style(pair.score, strongest) or "")
        table.add_row(str(pair.rank), *map(plain, pair.words), score)
    yield table
    yield Text(f"The highest {count(len(pairs))} of {plural(len(highlight.units), 'pair')}.", "dim")


@dataclass(frozen=True)
class SideBySideTable:
    """Words in rows, methods in columns; as many tables one below the other as the terminal is narrow.

    A score is coloured by its share of the strongest one of its own method: methods speak in units of their own.
    """

    highlights: tuple[Highlight, ...]
    instance: Instance

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Tables that fit the width."""
        words = [word for part in self.instance.parts for word in part.words]
        left = options.max_width - max([len("word"), *(cell_len(word) + 1 for word in words)])
        widths = [max(_SCORE_WIDTH, cell_len(highlight.method)) + _GAP for highlight in self.highlights]
        start = 0
        while start < len(self.highlights):
            end, room = start + 1, left - widths[start]
            while end < len(self.highlights) and room >= widths[end]:
                room -= widths[end]
                end += 1
            yield self._table(self.highlights[start:end])
            yield Text()
            start = end

    def _table(self, highlights: Sequence[Highlight]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
        table.add_column("word", overflow="fold")
        for highlight in highlights:
            table.add_column(plain(highlight.method), justify="right", no_wrap=True, overflow="fold")
        scores = [word_scores(highlight) for highlight in highlights]
        strongest = [max((abs(score) for score in one.values()), default=0.0) for one in scores]
        gold = gold_words(self.instance)
        for index, part in enumerate(self.instance.parts):
            for word, shown in enumerate(part.words):
                mark = "*" if (index, word) in gold else ""
                cells = [_score(one.get((index, word)), most) for one, most in zip(scores, strongest, strict=True)]
                table.add_row(plain(shown + mark), *cells)
            if index < len(self.instance.parts) - 1:
                table.add_section()
        return table


def _score(score: float | None, strongest: float) -> Text:
    return Text("-") if score is None else Text(f"{score:+.3g}", _style(score, strongest) or "")


def side_by_side(
    highlights: Sequence[Highlight], instance: Instance, prediction: Prediction, skips: Sequence[Skip]
) -> RenderableType:
    """One input explained by many methods, and why some have nothing to say."""
    chance = dict(zip(prediction.labels, prediction.probabilities, strict=True)).get(prediction.label)
    head = Text.assemble("predicted ", plain(prediction.label, "bold"), f" ({number(chance)})")
    reasons = [plain(f"{skip.method}: {skip.reason}: {skip.detail}", "dim") for skip in skips]
    legend = Text("Orange, underlined: for. Blue, slanted: against. Each column has a scale of its own.", "dim")
    if not highlights:
        return Group(head, Text("No method has anything to say:"), *reasons)
    of_words = tuple(highlight for highlight in highlights if highlight.kind == "token")
    shown: list[RenderableType] = [SideBySideTable(of_words, instance), legend] if of_words else []
    for highlight in highlights:
        if highlight.kind != "token":
            shown += [Text(), plain(highlight.method, "bold"), *_pairs(highlight, instance, TOP)]
    return Group(head, Text(), *shown, *reasons)


def _lines(instance: Instance, scores: dict[tuple[int, int], float]) -> Iterable[Text]:
    """Each part on a line of its own."""
    strongest = max((abs(score) for score in scores.values()), default=0.0)
    for index, part in enumerate(instance.parts):
        line = Text()
        end = 0
        for word, (start, stop) in enumerate(part.offsets):
            line.append(visible(part.raw[end:start]))
            line.append(visible(part.raw[start:stop]), _style(scores.get((index, word), 0.0), strongest))
            end = stop
        yield line.append(visible(part.raw[end:]))


def _style(score: float, strongest: float) -> Style | None:
    """Orange and underlined for, blue and italic against; None when too weak to see."""
    steps = level(score, strongest)
    if steps == 0:
        return None
    shades = _FOR if score > 0 else _AGAINST
    background = shades[(steps - 1) * len(shades) // LEVELS]
    return Style(color="black", bgcolor=background, underline=score > 0, italic=score < 0)


def _scores(instance: Instance, scores: dict[tuple[int, int], float]) -> Table:
    """Words in reading order with score and a bar; # for, - against, * for a word that people marked."""
    strongest = max((abs(score) for score in scores.values()), default=0.0)
    gold = gold_words(instance)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("word", overflow="fold")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("")
    for index, part in enumerate(instance.parts):
        for word, shown in enumerate(part.words):
            score = scores.get((index, word))
            length = 0 if score is None else level(score, strongest)
            bar = ("#" if score and score > 0 else "-") * length
            mark = "*" if (index, word) in gold else ""
            table.add_row(plain(shown + mark), "not scored" if score is None else signed(score), bar)
        if index < len(instance.parts) - 1:
            table.add_section()
    return table
