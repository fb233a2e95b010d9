"""Explanations in a terminal: one input explained by one method, or by many side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.style import Style
from rich.table import Table
from rich.text import Text

from verax.report.pairs import SHOWN, TOP, heads, top_pairs
from verax.report.words import LEVELS, gold_words, level, word_scores
from verax.results.render.markup import visible
from verax.results.render.numbers import count, number, plural, signed
from verax.results.render.terminal import plain
from verax.types import Highlight, Instance, Prediction, Skip

_SCORE_WIDTH = 9
_GAP = 2
_FOR = ("#fdd0a2", "#fdae6b", "#f28e2b")
_AGAINST = ("#c6dbef", "#9ecae1", "#6baed6")


def explanation(highlight: Highlight, instance: Instance, prediction: Prediction | None = None) -> RenderableType:
    """The method and its target, the text with coloured words, and a table of words, or of pairs, and scores."""
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

    A score is coloured by its share of the strongest one of its own method: methods have different units.
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
    """One input explained by many methods, and why some give no explanation."""
    chance = dict(zip(prediction.labels, prediction.probabilities, strict=True)).get(prediction.label)
    head = Text.assemble("predicted ", plain(prediction.label, "bold"), f" ({number(chance)})")
    reasons = [plain(f"{skip.method}: {skip.reason}: {skip.detail}", "dim") for skip in skips]
    legend = Text("Orange, underlined: supports. Blue, slanted: opposes. Each column has its own scale.", "dim")
    if not highlights:
        return Group(head, Text("No method gives an explanation:"), *reasons)
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
    """Orange and underlined for support, blue and italic for opposition; None when too weak to see."""
    steps = level(score, strongest)
    if steps == 0:
        return None
    shades = _FOR if score > 0 else _AGAINST
    background = shades[(steps - 1) * len(shades) // LEVELS]
    return Style(color="black", bgcolor=background, underline=score > 0, italic=score < 0)


def _scores(instance: Instance, scores: dict[tuple[int, int], float]) -> Table:
    """Words in reading order with score and a bar; # supports, - opposes, * marks annotated words."""
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
