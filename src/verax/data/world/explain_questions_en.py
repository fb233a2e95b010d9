"""Sentences that say why a choice is the right one, in several phrasings."""

from __future__ import annotations

from verax.data.world.questions_en import Question, choice_in_words
from verax.data.world.rewording_en import with_article


def explained(question: Question) -> tuple[str, ...]:
    """Three sentences that say the same: the rule, the rule at work in the question, and what it leaves out."""
    reasons = {
        "kind": _of_kind,
        "member": _of_member,
        "value": _of_value,
        "sure": _of_sure,
        "excluded": _of_excluded,
    }[question.form](question)
    return tuple(f"{reason[0].upper()}{reason[1:]}." for reason in reasons)


def _of_kind(question: Question) -> tuple[str, ...]:
    given, right = question.given.words, question.right.words
    who, past = f"the {question.subject}", question.deed.past
    return (
        f"{with_article(given)} is {with_article(right)}",
        f"if {who} {past} {with_article(given)}, then {who} {past} {with_article(right)}",
        f"every {given} is {with_article(right)}, and no {given} is {_either(question)}",
    )


def _of_member(question: Question) -> tuple[str, ...]:
    given, right = question.given.words, question.right.words
    none = " and ".join(f"no {wrong.words}" for wrong in question.wrong)
    return (
        f"{with_article(right)} is {with_article(given)}",
        f"whoever wants {with_article(given)} can take {with_article(right)}",
        f"every {right} is {with_article(given)}, but {none} is {with_article(given)}",
    )


def _of_value(question: Question) -> tuple[str, ...]:
    is_given = f"the {question.subject} is {question.given.words}"
    rule, applied, *_ = _of_sure(question)
    return rule, applied, f"the {question.subject} cannot be {_either(question)}, because {is_given}"


def _of_sure(question: Question) -> tuple[str, ...]:
    who, given, right = f"the {question.subject}", question.given.words, question.right.words
    return (
        f"what is {given} is {right}",
        f"if {who} is {given}, then {who} is {right}",
        f"{who} must be {right}, because {who} is {given}",
    )


def _of_excluded(question: Question) -> tuple[str, ...]:
    who, given, right = f"the {question.subject}", question.given.words, question.right.words
    return (
        f"what is {given} cannot be {right}",
        f"if {who} is {given}, then {who} is not {right}",
        f"{who} cannot be {given} and {right} at the same time",
    )


def _either(question: Question) -> str:
    return " or ".join(choice_in_words(question, wrong) for wrong in question.wrong)
