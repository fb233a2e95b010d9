"""One new input of a test, as a card shows it: what was put in, what the model then said, and what decided."""

from __future__ import annotations

from collections.abc import Sequence

from verax.data.text import split_words
from verax.report.nle_words import FOUND, meaning, mention
from verax.results.render.markup import Html, join, tag
from verax.results.render.numbers import count, plural
from verax.types import Instance, Nle, Trial, TrialLog

_FOLDED = 5


def decisive(instance: Instance, nle: Nle | None, card: TrialLog, trial: Trial) -> Html:
    """The trial that decided: the new input, both predictions, both explanations, the rule."""
    rebuilt = trial.kind == "reconstruction"
    before = None if nle is None else nle.label
    facts = [("Rebuilt input" if rebuilt else "Edited input", _parts(instance, trial))]
    if trial.wanted:
        facts.append(("Editor aimed at", tag("strong", trial.wanted, dir="auto")))
    facts.append(("Prediction", _turned(before, trial)))
    if nle is not None:
        facts.append(("Explanation of it" if rebuilt else "Before", tag("q", nle.text, dir="auto")))
    if trial.explanation is not None:
        facts.append(("After", tag("q", trial.explanation, dir="auto")))
    facts.append(("Rule", join(_rule(trial, card))))
    facts += [(key.replace("_", " "), tag("span", value, dir="auto")) for key, value in trial.notes.items()]
    return tag("dl", [tag("div", tag("dt", key, dir="auto"), tag("dd", value)) for key, value in facts], class_="trial")


def _rule(trial: Trial, card: TrialLog) -> Html:
    if trial.kind == "reconstruction":
        said = "another class than before" if trial.flipped else "the same class as before"
        return join(
            tag("strong", "inconsistent" if trial.flipped else "consistent"), f": the reasons alone give {said}"
        )
    similar = meaning(trial, card.threshold)
    words = tag("span", "“", tag("b", trial.words, dir="auto"), "” is ") if trial.words else None
    return tag("span", words, tag("strong", mention(trial)), f"; {similar}" if similar else None, dir="auto")


def _turned(before: str | None, trial: Trial) -> Html:
    """The class before and after; how it was found where that is not by likelihood."""
    was = None if before is None else [tag("strong", before, dir="auto"), " → "]
    stays = None if trial.flipped else tag("span", " (stays)", class_="quiet")
    found = tag("span", f" ({FOUND[trial.label_source]})", class_="quiet") if trial.label_source in FOUND else None
    return join(was, tag("strong", trial.predicted, dir="auto"), stays, found)


def _parts(instance: Instance, trial: Trial) -> Html:
    """The new input, a line for each part, the words that were put in marked."""
    lang = instance.parts[0].lang
    return join([tag("p", _marked(trial, number, raw, lang), dir="auto") for number, raw in enumerate(trial.parts)])


def _marked(trial: Trial, number: int, raw: str, lang: str) -> Html:
    span = trial.inserted
    if span is None or span.part != number:
        return join(raw)
    text = split_words(raw, lang)
    inside = text.words[span.start : span.end]
    if not inside or " ".join(inside) != " ".join(trial.words.split()):
        return join(raw)  # words that can't be found again are named by the rule
    start, end = text.offsets[span.start][0], text.offsets[min(span.end, len(text.words)) - 1][1]
    return join(raw[:start], tag("ins", raw[start:end]), raw[end:])


def folded(instance: Instance, card: TrialLog) -> Html:
    """All trials that did not decide, to be opened: other counterfactuals, and random edits."""
    rest = [trial for place, trial in enumerate(card.trials) if place != card.decisive]
    edits = [trial for trial in rest if trial.kind != "noise"]
    noise = [trial for trial in rest if trial.kind == "noise"]
    flips, said = sum(trial.flipped for trial in noise), sum(trial.mentioned is True for trial in noise)
    chance = f"{plural(len(noise), 'random edit')}: {count(flips)} flip, {count(said)} mentioned by chance"
    other = "more counterfactual" if card.decisive is not None else "counterfactual"
    return join(
        _details(instance, card, plural(len(edits), other), edits) if edits else None,
        _details(instance, card, chance, noise) if noise else None,
    )


def _details(instance: Instance, card: TrialLog, title: str, trials: Sequence[Trial]) -> Html:
    more = len(trials) - _FOLDED
    return tag(
        "details",
        tag("summary", title),
        tag("ul", [_item(instance, card, trial) for trial in trials[:_FOLDED]]),
        tag("p", f"and {count(more)} more, which the run keeps", class_="note") if more > 0 else None,
    )


def _item(instance: Instance, card: TrialLog, trial: Trial) -> Html:
    """A trial in short: the part that was changed, the class, the explanation and whether it mentions the words."""
    lang = instance.parts[0].lang
    span = trial.inserted
    shown = range(len(trial.parts)) if span is None or span.part >= len(trial.parts) else [span.part]
    parts = [tag("span", _marked(trial, number, trial.parts[number], lang), dir="auto") for number in shown]
    said = None if trial.explanation is None else [" ", tag("q", trial.explanation, dir="auto")]
    turned = [" → ", tag("strong", trial.predicted, dir="auto"), None if trial.flipped else " (stays)"]
    return tag("li", [[part, " "] for part in parts], turned, said, " ", _rule(trial, card))
