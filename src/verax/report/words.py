"""An explanation as words coloured by score.

Orange over a solid line supports, blue over a dotted one opposes. Scores without a sign have a scale of their own,
violet over a solid line: deeper is more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from verax.results.render.markup import Html, join, tag, text
from verax.results.render.numbers import signed as with_sign
from verax.types import Highlight, Instance, Text

LEVELS = 10
# See-through colours serve a light and a dark page alike; orange and blue stay apart for every kind of colour vision.
_FOR = ("230,120,0", "202,105,0", "solid")
_AGAINST = ("0,114,178", "0,114,178", "dotted")
_SIZE = ("140,80,200", "145,90,200", "solid")
_DEEPEST = 0.6
# <ruby> for readers of the markup; laid out as a column, so that a line below a word never covers its score
_RUBY_STYLE = "display:inline-flex;flex-direction:column;align-items:center;vertical-align:top;line-height:1.3"
_SCORE_STYLE = (
    "display:block;font-size:.68em;line-height:1.3;font-style:normal;padding:.15em .2em .5em;opacity:.85;"
    "font-variant-numeric:tabular-nums"
)

STYLES: dict[str, str] = {
    "part": "margin:.1em 0;line-height:1.9;overflow-wrap:anywhere",
    "word": "background:none;color:inherit;border-radius:2px;padding:.1em .12em",
    "gold": "outline:1.5px solid currentColor;outline-offset:-1px;padding:.1em .22em;margin:0 .08em",
    "unscored": "opacity:.7;font-style:italic",
}
"""CSS of each class, for the style sheet of a page or the style of an element."""


def _ink(step: int, fill: str, line: str, style: str) -> str:
    share = step / LEVELS
    return f"background:rgba({fill},{_DEEPEST * share:.2f});border-bottom:{2 + 2 * share:.1f}px {style} rgb({line})"


for _step in range(1, LEVELS + 1):
    STYLES[f"for{_step}"] = _ink(_step, *_FOR)
    STYLES[f"against{_step}"] = _ink(_step, *_AGAINST)
    STYLES[f"size{_step}"] = _ink(_step, *_SIZE)

Look = Literal["for", "against", "size", "neither"]
"""What the colour of a score says: that it supports, that it opposes, how large it is, or nothing."""


def style_sheet() -> str:
    """CSS rules of the classes."""
    return "\n".join(f".{name}{{{rules}}}" for name, rules in STYLES.items())


def dress(*names: str, inline: bool) -> dict[str, str]:
    """The attribute for some classes: `style` for places without a style sheet, else `class`."""
    return {"style": ";".join(STYLES[name] for name in names)} if inline else {"class_": " ".join(names)}


def level(score: float, strongest: float) -> int:
    """Share of a score in the strongest one of its explanation, in ten steps."""
    return round(LEVELS * (abs(score) / strongest)) if strongest else 0


def largest(scores: Mapping[Any, float]) -> float:
    """The largest absolute score, 0 without scores."""
    return max(map(abs, scores.values()), default=0.0)


def look(score: float, *, signed: bool) -> Look:
    """The scale and side of a score.

    Args:
        signed: whether the scores of its method say what supports and what opposes (`MethodEntry.two_sided`). What has
            no sign is more or less, and nothing if it is below 0.
    """
    if not signed:
        return "size" if score > 0 else "neither"
    return "for" if score > 0 else "against" if score < 0 else "neither"


def shade(score: float, strongest: float, *, signed: bool = True) -> str | None:
    """CSS class of a score; None if it is too weak to be visible."""
    steps, side = level(score, strongest), look(score, signed=signed)
    return f"{side}{steps}" if steps and side != "neither" else None


def written(score: float, *, signed: bool) -> str:
    """A score to six significant digits, with its sign if it has one."""
    return with_sign(score) if signed else f"{score:.6g}"


def strongest_scores(highlight: Highlight) -> dict[tuple[int, int], float]:
    """The score of each word (part, index); the strongest one of a word in several units."""
    scores: dict[tuple[int, int], float] = {}
    for unit, score in zip(highlight.units, highlight.scores, strict=True):
        for span in unit:
            for word in range(span.start, span.end):
                if abs(score) >= abs(scores.get((span.part, word), 0.0)):
                    scores[span.part, word] = score
    return scores


def annotated_words(instance: Instance) -> frozenset[tuple[int, int]]:
    """The annotated words (part, index)."""
    if instance.human is None or instance.human.words is None:
        return frozenset()
    return frozenset((part, word) for part, words in enumerate(instance.human.words) for word in words)


def words_html(highlight: Highlight | None, instance: Instance, *, inline: bool, signed: bool = True) -> Html:
    """The parts of an instance, one below the other, each word coloured by its score.

    Args:
        highlight: None to mark the gold words only.
        inline: write styles into each element, for places without the style sheet of the page, and scores below words.
        signed: as for `look`.
    """
    scores = {} if highlight is None else strongest_scores(highlight)
    strongest = largest(scores)
    gold = annotated_words(instance)
    parts = []
    for index, part in enumerate(instance.parts):
        words = []
        for word in range(len(part.words)):
            place = (index, word)
            names = ["gold"] if place in gold else []
            title = None
            if place in scores:
                title = written(scores[place], signed=signed)
                if shown := shade(scores[place], strongest, signed=signed):
                    names.append(shown)
            elif highlight is not None:
                title = "not scored"
                names.append("unscored")
            if title and place in gold:
                title += ", annotated"
            words.append((names, title, _below(scores.get(place), signed=signed) if inline else None))
        parts.append(
            tag("div", _line(part, words, inline=inline), dir="auto", lang=part.lang, **dress("part", inline=inline))
        )
    return Html("".join(parts))


def _below(score: float | None, *, signed: bool) -> Html | None:
    """A score to be printed below its word, to two digits."""
    if score is None:
        return None
    shown = f"{score:+.2g}" if signed and score else f"{score:.2g}"
    # <rp> is shown only where <ruby> is unknown
    return join(tag("rp", "("), tag("rt", shown, dir="ltr", style=_SCORE_STYLE), tag("rp", ")"))


def _line(part: Text, words: list[tuple[list[str], str | None, Html | None]], *, inline: bool) -> Html:
    """One part: its words as marks, and the text between them as it is."""
    pieces: list[str] = []
    end = 0
    for word, (start, stop), (names, title, below) in zip(part.words, part.offsets, words, strict=True):
        pieces.append(text(part.raw[end:start]))
        looks: Mapping[str, str] = dress("word", *names, inline=inline) if names else {}
        shown = tag("mark" if names else "span", word, title=title, **looks) if names or title else text(word)
        pieces.append(shown if below is None else tag("ruby", shown, below, style=_RUBY_STYLE))
        end = stop
    pieces.append(text(part.raw[end:]))
    return Html("".join(pieces)) if part.raw.strip() else tag("em", "(blank)")
