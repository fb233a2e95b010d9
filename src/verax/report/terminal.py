"""Explanations in a terminal: one input explained by one method, or by many side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.style import Style
from rich.table import Table
from rich.text import Text

from verax.report.arcs import SHOWN, TOP, heads, top_pairs
from verax.report.words import LEVELS, annotated_words, largest, level, strongest_scores
from verax.results.render.markup import visible
from verax.results.render.numbers import count, number, plural, signed
from verax.results.render.terminal import grid, plain
from verax.types import Highlight, Instance, Nle, Prediction, Skip

_SCORE_WIDTH = 9
_GAP = 2
_FOR = ("#fdd0a2", "#fdae6b", "#f28e2b")
_AGAINST = ("#c6dbef", "#9ecae1", "#6baed6")


def explanation(row: Highlight | Nle, instance: Instance, prediction: Prediction | None = None) -> RenderableType:
    """The method and its target, the text with coloured words, and a table of words, or of pairs, with scores.

    An explanation in free text follows the text that it explains.
    """
    head = Text.assemble(plain(row.method, "bold"), " explains ", plain(str(row.target)))
    if prediction is not None:
        head.append("; ").append_text(_predicted(prediction))
    if isinstance(row, Nle):
        return Group(head, Text(), *_lines(instance, {}), Text(), plain(row.text))
    if row.kind != "token":
        return Group(head, Text(), *_lines(instance, {}), Text(), *_pairs(row, instance, SHOWN))
    scores = strongest_scores(row)
    return Group(head, Text(), *_lines(instance, scores), Text(), _bars(instance, scores))


def side_by_side(
    rows: Sequence[Highlight | Nle], instance: Instance, prediction: Prediction, skips: Sequence[Skip]
) -> RenderableType:
    """One input explained by many methods, and why some give no explanation."""
    reasons = [plain(f"{skip.method}: {skip.reason}: {skip.detail}", "dim") for skip in skips]
    legend = Text("Orange, underlined: supports. Blue, slanted: opposes. Each column has its own scale.", "dim")
    if not rows:
        return Group(_predicted(prediction), Text("No method gives an explanation:"), *reasons)
    of_words = tuple(row for row in rows if isinstance(row, Highlight) and row.kind == "token")
    shown: list[RenderableType] = [SideBySideTable(of_words, instance), legend] if of_words else []
    for row in rows:
        if isinstance(row, Nle):
            shown += [plain(f"{row.method}, answer {row.label}", "bold"), plain(row.text), Text()]
        elif row.kind != "token":
            shown += [Text(), plain(row.method, "bold"), *_pairs(row, instance, TOP)]
    head = [] if any(isinstance(row, Nle) for row in rows) else [_predicted(prediction), Text()]
    return Group(*head, *shown, *reasons)


def _predicted(prediction: Prediction) -> Text:
    """The predicted class with its probability, if it is known."""
    known = "" if prediction.probability is None else f" ({number(prediction.probability)})"
    return Text.assemble("predicted ", plain(prediction.label, "bold"), known)


def _pairs(highlight: Highlight, instance: Instance, top: int) -> Iterable[RenderableType]:
    """The pairs with the highest scores in a table, and the number of all pairs."""
    pairs = top_pairs(highlight, instance, top)
    if not pairs:
        yield Text("no pair of words or spans")
        return
    strongest = max(abs(score) for score in highlight.scores)
    table = grid()
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
    """Words in rows, methods in columns, in as many tables as the width of the terminal takes.

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
        table = grid()
        table.add_column("word", overflow="fold")
        for highlight in highlights:
            table.add_column(plain(highlight.method), justify="right", no_wrap=True, overflow="fold")
        columns = [(scores, largest(scores)) for scores in map(strongest_scores, highlights)]
        for place, word in _words(self.instance, table):
            table.add_row(word, *(_score(scores.get(place), strongest) for scores, strongest in columns))
        return table


def _words(instance: Instance, table: Table) -> Iterator[tuple[tuple[int, int], Text]]:
    """The words of an instance, annotated ones with an asterisk; a rule separates its parts in the table."""
    gold = annotated_words(instance)
    for index, part in enumerate(instance.parts):
        for position, word in enumerate(part.words):
            place = (index, position)
            yield place, plain(f"{word}*" if place in gold else word)
        if index < len(instance.parts) - 1:
            table.add_section()


def _score(score: float | None, strongest: float) -> Text:
    return Text("-") if score is None else Text(f"{score:+.3g}", _style(score, strongest) or "")


def _lines(instance: Instance, scores: dict[tuple[int, int], float]) -> Iterable[Text]:
    """Each part on a line of its own."""
    strongest = largest(scores)
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


def _bars(instance: Instance, scores: dict[tuple[int, int], float]) -> Table:
    """Words in reading order with score and a bar: # supports, - opposes."""
    strongest = largest(scores)
    table = grid()
    table.add_column("word", overflow="fold")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("")
    for place, word in _words(instance, table):
        score = scores.get(place)
        bar = "" if score is None else ("#" if score > 0 else "-") * level(score, strongest)
        table.add_row(word, "not scored" if score is None else signed(score), bar)
    return table
