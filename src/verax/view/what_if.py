"""What if the text were different: edit it, switch words off, and compare predictions and explanations."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

from starlette.datastructures import QueryParams

from verax.api import Explanation, SideBySide, explain_all
from verax.registry import entries
from verax.report.arcs import picture
from verax.report.instances import colour_keys, labels_html, scores_choice
from verax.report.page import section_html
from verax.results.render.markup import Html, join, tag, visible
from verax.run.checking import check_fit, removing
from verax.run.parameters import from_config
from verax.store.keys import key_of
from verax.types import Instance, Undefined, UserError
from verax.view.library import OpenRun
from verax.view.pages import VIEW, WHAT_IF_PATH, document, link

DEFAULTS = ("leave_one_out", "integrated_gradients")
KINDS = ("token", "token_interaction", "span_interaction")
OFF, ALL = "with words off", "with all words"
PARTS = 2
"""Number of fields for texts, unless an instance has more parts."""

Word = tuple[int, int]
"""Part and position of a word."""


class WhatIf:
    """Answers of one model, one at a time."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._lock = threading.Lock()
        fitting = [entry for entry in entries("methods").values() if self._fits(entry)]
        self.methods = {entry.name: entry.display if "{" not in entry.display else entry.name for entry in fitting}

    def _fits(self, entry: Any) -> bool:
        if entry.kind not in KINDS or entry.reference == "control":
            return False
        try:
            check_fit(from_config("methods", removing(entry.name, self.model, 0), 0), self.model)
        except UserError:
            return False
        return True

    def page(self, given: QueryParams, entry: OpenRun | None) -> str:
        """The form, and the answer to what it holds.

        Args:
            given: texts, methods and words that are off, as the form sends them; or a run and the number of one of its
                instances.
            entry: that run.
        """
        texts, methods = given.getlist("text"), given.getlist("method")
        if entry is not None and given.get("instance", "").isdecimal():
            place = int(given["instance"])
            if place < len(entry.index):
                texts = [part.raw for part in entry.run.inputs([entry.index.ids[place]])[0].parts]
        unknown = [name for name in methods if name not in self.methods]
        if unknown:
            raise UserError(f"method: {visible(unknown[0])} is not one that this model can be explained by")
        methods = methods or [name for name in DEFAULTS if name in self.methods] or list(self.methods)[:1]
        texts = [*texts, *[""] * (PARTS - len(texts))]
        written = [text for text in texts if text.strip()]
        off = _off(given.getlist("off")) if given.get("words_of") == _identity(written) else []
        content = join(_form(texts, methods, self.methods), self._answer(written, methods, off))
        links = [link("All runs", "/"), link("What if", WHAT_IF_PATH, current=True)]
        title = tag("div", tag("p", VIEW, class_="brand"), tag("h1", tag("span", self.model.name, dir="auto")))
        return document("What if", title, links, section_html("what-if", "What if the text were different?", content))

    def _answer(self, texts: Sequence[str], methods: Sequence[str], off: Sequence[Word]) -> Html:
        if not texts:
            return tag("p", "Write a text to see what is predicted, and why.", id="found", role="status")
        with self._lock:
            try:
                before = explain_all(self.model, *texts, methods=methods)
                after = explain_all(self.model, *texts, methods=methods, without=off) if off else before
            except (Undefined, UserError) as error:
                return tag("p", str(error), class_="alarm", id="found", role="status", dir="auto")
        return join(
            _outcome(before, after),
            _switches(before.instance, off, _identity(texts)),
            tag("ul", colour_keys({made.entry.two_sided for made in before.explanations}), class_="legend keys"),
            tag("dl", self._explained(before, after), class_="methods answer"),
        )

    def _explained(self, before: SideBySide, after: SideBySide) -> Iterator[Html]:
        """The explanation by each method; below it that of the whole text where words are off."""
        sides = {ALL: before} if after is before else {OFF: after, ALL: before}
        rows = {(made.row.method, note): made for note, side in sides.items() for made in side.explanations}
        skips = {(skip.method, note): skip for note, side in sides.items() for skip in side.skipped}
        for method in dict.fromkeys(method for method, _ in (*rows, *skips)):
            shown = []
            for note in sides:
                made, skip = rows.get((method, note)), skips.get((method, note))
                drawn = None if made is None else _drawn(made)
                why = tag("p", f"{skip.reason}: {skip.detail}", class_="skip", dir="auto") if skip else None
                shown.append(tag("div", tag("small", note) if len(sides) > 1 else None, drawn, why))
            yield tag("div", tag("dt", self.methods.get(method, method), dir="auto"), tag("dd", shown))


def _drawn(made: Explanation) -> Html:
    return picture(made.highlight, made.instance, inline=False, signed=made.entry.two_sided)


def _off(given: Sequence[str]) -> list[Word]:
    """Words that are off, each given as `part-position`."""
    pairs = [word.split("-") for word in given]
    if not all(len(pair) == 2 and all(part.isdecimal() and len(part) < 7 for part in pair) for pair in pairs):
        raise UserError("off: expected part and position of a word, such as 0-3")
    return [(int(part), int(position)) for part, position in pairs]


def _identity(texts: Sequence[str]) -> str:
    """A name for texts, by which positions of words are known to belong to them."""
    return key_of(texts=list(texts))


def _form(texts: Sequence[str], chosen: Sequence[str], methods: dict[str, str]) -> Html:
    fields = [
        tag("label", f"Part {n}", tag("textarea", text, name="text", rows=2, dir="auto"))
        for n, text in enumerate(texts, 1)
    ]
    boxes = [
        tag(
            "label",
            tag("input", type="checkbox", name="method", value=name, checked=name in chosen),
            f" {display}",
            class_="check",
        )
        for name, display in methods.items()
    ]
    group = tag("details", tag("summary", "Methods"), tag("fieldset", tag("legend", "Explained by"), boxes))
    controls = (tag("button", "Explain"), scores_choice())
    return tag("form", fields, group, controls, id="search", action=WHAT_IF_PATH, class_="editor")


def _outcome(before: SideBySide, after: SideBySide) -> Html:
    """The prediction; where words are off, next to that of the whole text."""
    if after is before:
        return tag("div", labels_html(before.instance, before.prediction), id="found", role="status")
    flips = after.prediction.label != before.prediction.label
    flag = tag("span", "flipped", class_="flag wrong") if flips else None
    return tag(
        "div",
        tag("p", OFF, flag, class_="note"),
        labels_html(before.instance, after.prediction),
        tag("p", ALL, class_="note"),
        labels_html(before.instance, before.prediction),
        id="found",
        role="status",
    )


def _switches(instance: Instance, off: Sequence[Word], identity: str) -> Html:
    """A box for each word; those that are ticked are removed from the input."""
    parts = [
        tag(
            "p",
            [
                tag(
                    "label",
                    tag("input", type="checkbox", name="off", value=f"{p}-{w}", form="search", checked=(p, w) in off),
                    tag("span", word, dir="auto"),
                    class_="switch",
                )
                for w, word in enumerate(part.words)
            ],
            class_="switches",
            dir="auto",
        )
        for p, part in enumerate(instance.parts)
    ]
    owner = tag("input", type="hidden", name="words_of", value=identity, form="search")
    return tag("fieldset", tag("legend", "Words that are switched off"), parts, owner, class_="off")
