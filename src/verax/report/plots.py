"""Plots of explanations: bars, a waterfall, the text in colour, and the scores of words over a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from verax.registry import unknown
from verax.report.arcs import span_texts
from verax.report.lines import MARGIN, lay_out
from verax.report.words import Look, largest, level, look, strongest_scores
from verax.results.figure import AnyMark, Bar, Figure, Panel, Rule, Scale, Series, Shape, Swarm
from verax.results.manifest import Manifest, MethodEntry
from verax.results.plot import choose, in_inches, named_figures, require_matplotlib
from verax.results.render.numbers import count, number, plural
from verax.results.render.plain import latex_text
from verax.results.run import Run
from verax.results.study import Findings, studies
from verax.types import Highlight, Instance, Prediction, Target, UserError

if TYPE_CHECKING:
    from verax.results.render.paper.canvas import Page
    from verax.results.render.paper.sentence import Tint

PlotKind = Literal["bar", "waterfall", "text"]
PLOT_KINDS: tuple[PlotKind, ...] = ("bar", "waterfall", "text")
MOST_WORDS = 10
"""Words or pairs in bars."""
BEESWARM = "beeswarm"
_SIGNS = "orange: supports; blue, hatched: opposes"
_NOISE = 1e-4
"""A remainder below this share of the values is rounding."""
_SWARM_WORDS = 12
_SWARM_INSTANCES = 2000
_SWARM_METHODS = 6
_MOST_CLASSES = 4
_SHAPES: tuple[Shape, ...] = ("circle", "triangle", "square", "diamond")
_INKS = {1: (230, 120, 0), -1: (0, 114, 178), 0: (140, 80, 200)}
"""Colours of what supports, of what opposes, and of scores without a sign; at most `_DEEPEST` of them on white."""
_DEEPEST = 0.6
_SIDES: dict[Look, int] = {"for": 1, "against": -1, "size": 0}


_BRACKETS = str.maketrans("()[]{}<>«»", ")(][}{><»«")


class Ends(NamedTuple):
    """The explained value of an input without its words, and with them."""

    without: float
    full: float


@dataclass(frozen=True)
class PlottedExplanation:
    """An explanation by scores with what its plots say about it."""

    highlight: Highlight
    instance: Instance
    prediction: Prediction
    entry: MethodEntry

    @property
    def title(self) -> str:
        """What is explained by what."""
        display = Manifest(methods=(self.entry,)).display(self.entry.label)
        if self.entry.target == "none":
            return f"{display}; predicted: {self.prediction.label}"
        return f"{self.quantity[0].upper()}{self.quantity[1:]}, explained by {display}"

    @property
    def quantity(self) -> str:
        """The explained output of the model."""
        return quantity(self.highlight.target, self.prediction.label, self.instance.label)

    def _units(self) -> list[tuple[str, float]]:
        """Words, or pairs, with their scores, the strongest first; equal names are numbered."""
        named = [
            (" – ".join(span_texts(unit, self.instance)), score)
            for unit, score in zip(self.highlight.units, self.highlight.scores, strict=True)
        ]
        times: dict[str, int] = defaultdict(int)
        repeated = {name for number, (name, _) in enumerate(named) if name in {other for other, _ in named[:number]}}
        found = []
        for name, score in named:
            times[name] += 1
            # a space first: no word is taken for a heading
            found.append((f" {name} ({times[name]})" if name in repeated else f" {name}", score))
        return sorted(found, key=lambda item: -abs(item[1]))

    def bars(self, top: int = MOST_WORDS) -> Figure:
        """The strongest words or pairs."""
        units, signed = self._units(), self.entry.two_sided
        marks: list[AnyMark] = [
            Bar(name, 0.0, score, _sign(score) if signed else "unsigned", _short(score, signed))
            for name, score in units[:top]
        ]
        left = len(units) - len(marks)
        kind = "word" if self.highlight.kind == "token" else "pair"
        legend = [_SIGNS if signed else "scores have no sign: more or less important"]
        legend += [f"{plural(left, f'weaker {kind}')} left out"] if left > 0 else []
        rows = tuple(name for name, _ in units[:top])
        panel = Panel("", Scale("score"), Scale(), (*marks, Rule("x", 0.0)), rows)
        return Figure("bar", self.title, (), (panel,), legend=tuple(legend))

    def require_additive(self) -> None:
        """Check that scores of words can be added up."""
        if self.highlight.kind != "token":
            raise UserError(f"waterfall: {self.entry.label} scores pairs; it is drawn for scores of words: plot 'bar'")
        if not self.entry.two_sided:
            raise UserError(f"waterfall: scores of {self.entry.label} have no sign, they do not add up: plot 'bar'")

    def waterfall(self, top: int, ends: Ends, removal: str) -> Figure:
        """From the value without words to that of the input, a step for each score; what is missing is a step too.

        Args:
            top: words with steps of their own.
            removal: how words were removed for the value without them.
        """
        units = self._units()
        steps = units[:top]
        if rest := units[top:]:
            steps.append((f"  {plural(len(rest), 'other word')}", sum(score for _, score in rest)))
        missing = ends.full - ends.without - sum(score for _, score in units)
        if abs(missing) > _NOISE * max(1.0, *map(abs, ends)):
            steps.append(("  remainder", missing))
        marks: list[AnyMark] = []
        at = ends.without
        for name, score in steps:
            plain = name.strip() == "remainder"
            sign = "unsigned" if plain else _sign(score)
            marks.append(Bar(name, at, at + score, sign, _short(score, signed=True)))
            at += score
        rules = (
            Rule("x", ends.without, f"without words ({removal}): {number(ends.without)}"),
            Rule("x", ends.full, f"this input: {number(ends.full)}"),
        )
        legend = ["downwards: from the value without words to that of this input", _SIGNS]
        if any(name.strip() == "remainder" for name, _ in steps):
            legend.append("remainder: the part of the difference that the scores do not sum to")
        panel = Panel("", Scale(self.quantity), Scale(), (*rules, *marks), tuple(name for name, _ in steps))
        return Figure("waterfall", self.title, (), (panel,), legend=tuple(legend))

    def tints(self) -> dict[tuple[int, int], Tint]:
        """The colour of each word with a score (part, index), and the side that it takes, which ink alone must tell."""
        scores = strongest_scores(self.highlight)
        strongest = largest(scores)
        tints: dict[tuple[int, int], Tint] = {}
        for place, score in scores.items():
            side = _SIDES.get(look(score, signed=self.entry.two_sided))
            if side is not None and level(score, strongest):
                share = _DEEPEST * abs(score) / strongest
                red, green, blue = (round(255 + share * (part - 255)) for part in _INKS[side])
                tints[place] = ((red, green, blue), side)
        return tints

    def sides(self, opposes: str) -> str:
        """What the colours mean, and what else shows that a word opposes."""
        if not self.entry.two_sided:
            return "violet: more important"
        return f"orange, underlined: supports; blue, {opposes}: opposes"

    def latex(self) -> str:
        r"""The text as LaTeX: words in `\colorbox`, underlined if they support and slanted if they oppose."""
        tints = self.tints()
        lines = [
            rf"% {latex_text(self.title)}; {self.sides('slanted')}. Needs \usepackage{{xcolor}}.",
            r"{\fboxsep=1pt",
        ]
        foreign = sorted({part.lang for part in self.instance.parts if not part.raw.isascii()})
        if foreign:
            lines.append("% Letters beyond ASCII: compile with XeLaTeX or LuaLaTeX and a font of the script;")
            lines.append("% from right to left: load polyglossia or babel with the language.")
        for number_, part in enumerate(self.instance.parts):
            pieces, end = [], 0
            for word, (start, stop) in enumerate(part.offsets):
                pieces += [_spaced(part.raw[end:start]), _boxed(part.raw[start:stop], tints.get((number_, word)))]
                end = stop
            lines.append(rf"\noindent {''.join([*pieces, _spaced(part.raw[end:])])}\par")
        return "\n".join([*lines, "}", ""])


def draw_words(plotted: PlottedExplanation, width: str | float, *, title: bool = True) -> Page:
    """The text of an explanation by scores of words, or of pairs, with its words in colour."""
    inches = in_inches(width)
    require_matplotlib()
    from verax.results.render.paper.layout import EDGE  # noqa: PLC0415 - matplotlib is optional
    from verax.results.render.paper.sentence import UNIT, Word, draw_lines, in_units  # noqa: PLC0415

    tints = plotted.tints()
    shift = EDGE - MARGIN * UNIT
    lines, _ = lay_out(plotted.instance.parts, (inches - 2 * shift) / UNIT, in_units)
    words = [
        [
            Word(
                _mirrored(box.shown) if line.rtl else box.shown,
                shift + box.left * UNIT,
                shift + box.right * UNIT,
                None if box.word is None else tints.get((line.part, box.word)),
            )
            for box in line.boxes
        ]
        for line in lines
    ]
    starts = [number == 0 or line.part != lines[number - 1].part for number, line in enumerate(lines)]
    heading = plotted.title if title else ""
    return draw_lines(words, starts, inches, title=plotted.title, heading=heading, key=plotted.sides("dotted"))


def _mirrored(shown: str) -> str:
    """Brackets between words that are written from right to left open to the left."""
    return shown if any(one.isalnum() for one in shown) else shown.translate(_BRACKETS)


def quantity(target: Target, predicted: str, gold: str | None) -> str:
    """The explained output of the model in words."""
    if target.of == "loss":
        return "minus the loss"
    named = {"prediction": predicted, "gold": gold or "the gold class"}.get(target.of, target.of)
    return f"{target.space} of {named}"


def _sign(score: float) -> Literal["positive", "negative"]:
    return "positive" if score >= 0 else "negative"


def _short(score: float, signed: bool) -> str:
    shown = f"{score:+.3g}" if signed and score else f"{score:.3g}"
    return shown.replace("-", "\N{MINUS SIGN}")


def _spaced(between: str) -> str:
    """Text between words; spaces that LaTeX would drop or keep are as they read."""
    text = latex_text(between)
    left = " " if between[:1].isspace() else ""
    return f"{left}{text}{' ' if text and between[-1:].isspace() else ''}"


def _boxed(word: str, tint: Tint | None) -> str:
    text = latex_text(word)
    if tint is None:
        return text
    (red, green, blue), side = tint
    inner = rf"\underline{{{text}}}" if side > 0 else rf"\textsl{{{text}}}" if side < 0 else text
    return rf"\colorbox[RGB]{{{red},{green},{blue}}}{{\strut {inner}}}"


# -- over a run ---------------------------------------------------------------------------------------------------


def figures_of(runs: Sequence[Run]) -> list[Findings]:
    """Findings of all studies that apply to some runs together."""
    found = []
    for study in studies(runs):
        findings = study.apply(runs)
        found += [findings] if findings is not None else []
    return found


def figure_of(runs: Sequence[Run], name: str, methods: Sequence[str] | None = None) -> Figure:
    """The figure with a name of some runs."""
    if name == BEESWARM:
        if len(runs) != 1:
            raise UserError(f"{BEESWARM}: it is drawn for one run, got {len(runs)}")
        return beeswarm(runs[0], methods)
    if methods is not None:
        raise UserError(f"method: only {BEESWARM} is drawn for some methods, not {name!r}")
    return choose(named_figures(figures_of(runs)), name)


def word_methods(run: Run) -> list[str]:
    """The methods of a run that score words."""
    return [label for label in run.methods if run.manifest.method(label).kind == "token"]


def beeswarm(run: Run, methods: Sequence[str] | None = None) -> Figure:
    """The scores of the words with the largest influence over a run, a dot for each occurrence, by predicted class.

    Args:
        methods: their labels; the first few that score words by default, without random ones.
    """
    known = word_methods(run)
    for method in methods or ():
        if method not in known:
            raise UserError(f"{BEESWARM}: {unknown('method', method, known)}")
    ids = run.instances.ids
    step = max(1, -(-len(ids) // _SWARM_INSTANCES))
    chosen = ids[::step]
    predicted = {one.instance_id: one.label for one in run.predictions(chosen)}
    classes = sorted(set(predicted.values()))
    split = 1 < len(classes) <= _MOST_CLASSES
    shown = methods or [label for label in known if not run.manifest.method(label).random][:_SWARM_METHODS]
    panels = list(_swarms(run, shown, chosen, predicted, classes if split else []))
    if not panels:
        raise UserError(f"{run.folder} has no scores of words")
    names = [f"predicted {name}" for name in classes] if split else ["all predictions"]
    looked = f"{count(len(chosen))} of {plural(len(ids), 'instance')}" if step > 1 else plural(len(ids), "instance")
    return Figure(
        BEESWARM,
        "Scores of words",
        tuple(Series(name, _SHAPES[number % len(_SHAPES)]) for number, name in enumerate(names)),
        tuple(panels),
        legend=(
            f"a dot: a word in an instance; {looked}",
            "words in the order of the sum of |score|; each method has its own scale",
        ),
    )


def _swarms(
    run: Run, methods: Sequence[str], chosen: Sequence[str], predicted: dict[str, str], classes: Sequence[str]
) -> Iterator[Panel]:
    """A panel for each method."""
    texts = {instance.id: instance for instance in run.inputs(chosen)}
    scores: dict[str, dict[str, dict[int, list[float]]]] = {method: {} for method in methods}
    targets: dict[str, Target] = {}
    for made in run.highlights(chosen):
        if made.method not in scores:
            continue
        targets[made.method] = made.target
        label = predicted.get(made.instance_id)
        series = classes.index(label) if label in classes else 0
        for unit, score in zip(made.units, made.scores, strict=True):
            (word,) = span_texts(unit, texts[made.instance_id])
            by_class = scores[made.method].setdefault(f" {word.casefold()}", {})
            by_class.setdefault(series, []).append(score)
    for method, words in scores.items():
        if not words:
            continue
        total = {word: sum(abs(one) for several in found.values() for one in several) for word, found in words.items()}
        rows = sorted(total, key=lambda word: (-total[word], word))[:_SWARM_WORDS]
        marks: list[AnyMark] = [Rule("x", 0.0)]
        marks += [Swarm(word, series, tuple(values)) for word in rows for series, values in sorted(words[word].items())]
        explained = quantity(targets[method], "the prediction", "the gold class")
        yield Panel(run.manifest.display(method), Scale(f"score, {explained}"), Scale(), tuple(marks), tuple(rows))
