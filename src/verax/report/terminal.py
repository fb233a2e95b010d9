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
from verax.report.words import LEVELS, annotated_words, largest, level, look, strongest_scores, written
from verax.results.manifest import MethodEntry
from verax.results.render.markup import visible
from verax.results.render.numbers import count, number, plural
from verax.results.render.terminal import grid, plain
from verax.types import Highlight, Instance, Nle, Prediction, Skip

_SCORE_WIDTH = 9
_GAP = 2
_FOR = ("#fdd0a2", "#fdae6b", "#f28e2b")
_AGAINST = ("#c6dbef", "#9ecae1", "#6baed6")
_SIZE = ("#e3d3f2", "#c9a9e8", "#ab7fdd")


def explanation(
    row: Highlight | Nle, instance: Instance, prediction: Prediction | None = None, *, signed: bool = True
) -> RenderableType:
    """The method and its target, the text with coloured words, and a table of words, or of pairs, with scores.

    An explanation in free text follows the text that it explains.

    Args:
        signed: whether scores say what supports and what opposes.
    """
    head = Text.assemble(plain(row.method, "bold"), " explains ", plain(str(row.target)))
    if prediction is not None:
        head.append("; ").append_text(_predicted(prediction))
    if isinstance(row, Nle):
        return Group(head, Text(), *_lines(instance, {}), Text(), plain(row.text))
    if row.kind != "token":
        return Group(head, Text(), *_lines(instance, {}), Text(), *_pairs(row, instance, SHOWN, signed=signed))
    scores = strongest_scores(row)
    return Group(head, Text(), *_lines(instance, scores, signed=signed), Text(), _bars(instance, scores, signed=signed))


def side_by_side(
    made: Sequence[tuple[Highlight | Nle, MethodEntry]],
    instance: Instance,
    prediction: Prediction,
    skips: Sequence[Skip],
) -> RenderableType:
    """One input explained by many methods, and why some give no explanation."""
    reasons = [plain(f"{skip.method}: {skip.reason}: {skip.detail}", "dim") for skip in skips]
    if not made:
        return Group(_predicted(prediction), Text("No method gives an explanation:"), *reasons)
    of_words = tuple((row, entry) for row, entry in made if isinstance(row, Highlight) and row.kind == "token")
    shown: list[RenderableType] = [SideBySideTable(of_words, instance), _legend(of_words)] if of_words else []
    for row, entry in made:
        if isinstance(row, Nle):
            shown += [plain(f"{row.method}, answer {row.label}", "bold"), plain(row.text), Text()]
        elif row.kind != "token":
            shown += [Text(), plain(row.method, "bold"), *_pairs(row, instance, TOP, signed=entry.two_sided)]
    head = [] if any(isinstance(row, Nle) for row, _ in made) else [_predicted(prediction), Text()]
    return Group(*head, *shown, *reasons)


def _legend(made: Sequence[tuple[Highlight, MethodEntry]]) -> Text:
    """What the looks of the scores mean, of those that are shown."""
    scales = {entry.two_sided for _, entry in made}
    keys = "Orange, underlined: supports. Blue, slanted: opposes. " if True in scales else ""
    keys += "Violet, underlined: more, of scores without a sign. " if False in scales else ""
    return Text(f"{keys}Each column has its own scale.", "dim")


def _predicted(prediction: Prediction) -> Text:
    """The predicted class with its probability, if it is known."""
    known = "" if prediction.probability is None else f" ({number(prediction.probability)})"
    return Text.assemble("predicted ", plain(prediction.label, "bold"), known)


def _pairs(highlight: Highlight, instance: Instance, top: int, *, signed: bool) -> Iterable[RenderableType]:
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
        score = Text(written(pair.score, signed=signed), _style(pair.score, strongest, signed=signed) or "")
        table.add_row(str(pair.rank), *map(plain, pair.words), score)
    yield table
    yield Text(f"The highest {count(len(pairs))} of {plural(len(highlight.units), 'pair')}.", "dim")


@dataclass(frozen=True)
class SideBySideTable:
    """Words in rows, methods in columns, in as many tables as the width of the terminal takes.

    A score is coloured by its share of the strongest one of its own method: methods have different units.
    """

    made: tuple[tuple[Highlight, MethodEntry], ...]
    instance: Instance

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Tables that fit the width."""
        words = [word for part in self.instance.parts for word in part.words]
        left = options.max_width - max([len("word"), *(cell_len(word) + 1 for word in words)])
        widths = [max(_SCORE_WIDTH, cell_len(highlight.method)) + _GAP for highlight, _ in self.made]
        start = 0
        while start < len(self.made):
            end, room = start + 1, left - widths[start]
            while end < len(self.made) and room >= widths[end]:
                room -= widths[end]
                end += 1
            yield self._table(self.made[start:end])
            yield Text()
            start = end

    def _table(self, made: Sequence[tuple[Highlight, MethodEntry]]) -> Table:
        table = grid()
        table.add_column("word", overflow="fold")
        for highlight, _ in made:
            table.add_column(plain(highlight.method), justify="right", no_wrap=True, overflow="fold")
        columns = [(strongest_scores(highlight), entry.two_sided) for highlight, entry in made]
        for place, word in _words(self.instance, table):
            table.add_row(
                word, *(_score(scores.get(place), largest(scores), signed=signed) for scores, signed in columns)
            )
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


def _score(score: float | None, strongest: float, *, signed: bool) -> Text:
    if score is None:
        return Text("-")
    return Text(f"{score:+.3g}" if signed else f"{score:.3g}", _style(score, strongest, signed=signed) or "")


def _lines(instance: Instance, scores: dict[tuple[int, int], float], *, signed: bool = True) -> Iterable[Text]:
    """Each part on a line of its own."""
    strongest = largest(scores)
    for index, part in enumerate(instance.parts):
        line = Text()
        end = 0
        for word, (start, stop) in enumerate(part.offsets):
            line.append(visible(part.raw[end:start]))
            line.append(visible(part.raw[start:stop]), _style(scores.get((index, word), 0.0), strongest, signed=signed))
            end = stop
        yield line.append(visible(part.raw[end:]))


def _style(score: float, strongest: float, *, signed: bool) -> Style | None:
    """Orange and underlined for support, blue and italic for opposition, violet for sizes; None if too weak to see."""
    steps, side = level(score, strongest), look(score, signed=signed)
    if steps == 0 or side == "neither":
        return None
    shades = {"for": _FOR, "against": _AGAINST, "size": _SIZE}[side]
    background = shades[(steps - 1) * len(shades) // LEVELS]
    return Style(color="black", bgcolor=background, underline=side != "against", italic=side == "against")


def _bars(instance: Instance, scores: dict[tuple[int, int], float], *, signed: bool) -> Table:
    """Words in reading order with score and a bar: # supports, - opposes."""
    strongest = largest(scores)
    table = grid()
    table.add_column("word", overflow="fold")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("")
    for place, word in _words(instance, table):
        score = scores.get(place)
        bar = "" if score is None else ("#" if score > 0 else "-") * level(score, strongest)
        table.add_row(word, "not scored" if score is None else written(score, signed=signed), bar)
    return table
