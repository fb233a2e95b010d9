"""Sentences to fill templates with, and what a template then has to give back, by a grammar of its own."""

from __future__ import annotations

from typing import NamedTuple

from verax.metrics.free_text.templates import Filled, Phrasing, Template


class Doing(NamedTuple):
    """What somebody does: for `X is ...`, `X can ...`, one person and several."""

    ing: str
    base: str
    third: str


SUBJECTS = {"the old gardener": False, "a tall nurse": False, "the two brothers": True, "some children": True}
"""And whether there are several of them."""
DOINGS = (
    Doing("painting a fence", "paint a fence", "paints a fence"),
    Doing("carrying a ladder", "carry a ladder", "carries a ladder"),
    Doing("watching a film", "watch a film", "watches a film"),
    Doing("eating soup at home", "eat soup at home", "eats soup at home"),
    Doing("washing the car", "wash the car", "washes the car"),
)


def finite(subject: str, doing: Doing) -> str:
    """A statement without any form of `be`."""
    return f"{subject} {doing.base if SUBJECTS[subject] else doing.third}"


WITH_BE = frozenset({"X can not be Y while Z"})
"""Templates that take a statement only where it can't be taken for what is said of X: by its form of `be`."""


def being(subject: str, doing: Doing) -> str:
    """A statement with a form of `be`."""
    return f"{subject} {'are' if SUBJECTS[subject] else 'is'} {doing.ing}"


def gap_forms(template: Template) -> dict[str, str]:
    """For each gap of a template what kind of words fill it: a statement, a subject, or a form of a verb."""
    forms = {}
    for half in (template.premise.split(), template.hypothesis.split()):
        if len(half) == 1:
            forms[half[0]] = "statement"
        else:
            forms[half[0]] = "subject"
            verb = half[1] if len(half) == 3 else "finite"
            forms[half[-1]] = {"be": "ing", "do": "base", "finite": "finite"}[verb]
    return forms


class Chosen(NamedTuple):
    """Who does what, for one gap."""

    subject: str
    doing: Doing


def filled(template: Template, chosen: dict[str, Chosen]) -> dict[str, str]:
    """The words for each gap; what is said of X is in the number of X."""
    forms = gap_forms(template)
    subject_gap = next((gap for gap, form in forms.items() if form == "subject"), None)
    words = {}
    for gap, form in forms.items():
        subject, doing = chosen[gap]
        if form == "statement":
            words[gap] = stated(template, chosen[gap])
        elif form == "subject":
            words[gap] = subject
        elif form == "finite":
            assert subject_gap is not None
            words[gap] = doing.base if SUBJECTS[chosen[subject_gap].subject] else doing.third
        else:
            words[gap] = doing.ing if form == "ing" else doing.base
    return words


def stated(template: Template, one: Chosen) -> str:
    """A whole statement."""
    return being(*one) if template.phrase in WITH_BE else finite(*one)


def expected(template: Template, half: str, chosen: dict[str, Chosen]) -> str:
    """The premise or hypothesis that a template has to give back."""
    signs = half.split()
    if len(signs) == 1:
        return stated(template, chosen[signs[0]])
    subject, doing = chosen[signs[0]].subject, chosen[signs[-1]].doing
    return being(subject, doing) if signs[1] == "be" else finite(subject, doing)


def written(phrasing: Phrasing, fillers: Filled) -> str:
    """The explanation by a phrasing with these fillers."""
    text = phrasing.literals[0]
    for gap, literal in zip(phrasing.gaps, phrasing.literals[1:], strict=True):
        text += fillers[gap] + literal
    return text.strip().replace(" ,", ",")
