"""Runs with free-text explanations, written by hand: each test of each instance is one letter.

f: a counterfactual that is not mentioned (inconsistent); m: one that is mentioned (consistent); o: none was found
(or nothing could be rebuilt); x: not tested.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.runs import make_run
from verax.data.text import split_words
from verax.results.run import Run
from verax.types import Human, Instance, Nle, Score, Span, Target, Trial, TrialLog

LABELS = ("yes", "no")
RANDOM, INFILL, REBUILT, BLEU = "cf_random", "cf_infill", "rebuilt", "bleu"
# By hand: random finds 3 of 7, infill 6 of 7; of the six that both were tested on either finds 5, 4 are inconsistent.
LETTERS = {RANDOM: "fmooofxo", INFILL: "mffomffx", REBUILT: "fmoomfxo"}


def card(**changes: Any) -> dict[str, Any]:
    """The run card of a model with one set-up under both tests."""
    test = {"match": "any", "positions": 4}
    return {
        "methods": [{"label": "mt_ra", "name": "mt_ra", "kind": "text"}],
        "metrics": [
            {"label": RANDOM, "name": "counterfactual_test", "parameters": test | {"editor": {"random": {}}}},
            {
                "label": INFILL,
                "name": "counterfactual_test",
                "parameters": test | {"editor": {"infill": {"path": "editors/a"}}},
            },
            {"label": REBUILT, "name": "reconstruction_test", "parameters": {"by": "nli"}},
            {"label": BLEU, "name": "bleu", "parameters": {}},
        ],
        "model": {"name": "tiny"},
        "data": {"name": "pairs"},
    } | changes


def instances(n: int = 8) -> list[Instance]:
    """Premise and hypothesis, the gold class of all is yes."""
    parts = (split_words("A dog runs."), split_words("An animal moves."))
    human = Human(explanations=("A dog is an animal.",))
    return [Instance(f"i{number}", parts, "yes", human=human) for number in range(n)]


def texts(n: int = 8, method: str = "mt_ra", **changes: Any) -> list[Nle]:
    """The first explanation comes with a wrong class."""
    return [
        Nle(
            f"i{number}",
            method,
            **{
                "target": Target(),
                "text": "A dog is an animal that moves.",
                "label": "yes" if number else "no",
                "labels": LABELS,
                "label_source": "parsed" if number == 1 else "likelihood",
                "notes": {"cut_off": True} if number in (2, 3) else {},
            }
            | changes,
        )
        for number in range(n)
    ]


def edit(*, mentioned: bool, similarity: float | None = None, **changes: Any) -> Trial:
    """`blue` put in before the dog changes the prediction."""
    said = {
        "kind": "edit",
        "parts": ("A blue dog runs.", "An animal moves."),
        "predicted": "no",
        "flipped": True,
        "label_source": "likelihood",
        "inserted": Span(0, 1, 2),
        "words": "blue",
        "wanted": "no",
        "explanation": "A blue dog is no animal." if mentioned else "A dog is no animal.",
        "mentioned": mentioned,
        "mentions": {"any": mentioned, "content": mentioned},
        "rule": "word" if mentioned else "none",
        "by": "blue" if mentioned else "",
        "similarity": similarity,
    }
    return Trial(**(said | changes))


def noise(*, flipped: bool = False, mentioned: bool = False, **changes: Any) -> Trial:
    """A random word before the dog."""
    said = {"kind": "noise", "flipped": flipped, "predicted": "no" if flipped else "yes", "wanted": ""}
    return edit(
        mentioned=mentioned, **(said | {"words": "idle", "parts": ("A idle dog runs.", "An animal moves.")} | changes)
    )


def rebuilt(*, flipped: bool) -> Trial:
    """The input that the explanation's reasons make."""
    return Trial(
        "reconstruction",
        ("A dog.", "An animal that moves."),
        "no" if flipped else "yes",
        flipped,
        "likelihood",
        notes={"template": "X is Y", "speaks_for": "yes"},
    )


def score(number: int, metric: str, letter: str, method: str = "mt_ra", **changes: Any) -> Score:
    """One test of one instance; `changes` are of its card."""
    verdicts = {"f": (0.0, None), "m": (1.0, None), "x": (None, "unparsed_answer")}
    verdicts["o"] = (None, "no_reconstruction" if metric == REBUILT else "no_counterfactual")
    value, reason = verdicts[letter]
    found = [] if value is None else [edit(mentioned=letter == "m")]
    if metric == REBUILT and found:
        found = [rebuilt(flipped=letter == "f")]
    fields = {"tried": 16, "trials": tuple(found), "decisive": 0 if found else None} | changes
    return Score(f"i{number}", method, metric, value, reason, trial_log=None if letter == "x" else TrialLog(**fields))


def scores(letters: dict[str, str] | None = None, method: str = "mt_ra") -> list[Score]:
    """All tests of all instances."""
    return [
        score(number, metric, letter, method)
        for metric, several in (letters or LETTERS).items()
        for number, letter in enumerate(several)
    ]


def rows(**changes: Any) -> dict[str, Any]:
    """All parts of the run; `changes` replace some."""
    return {"card": card(), "instances": instances(), "scores": scores(), "texts": texts()} | changes


def text_run(folder: Path, **changes: Any) -> Run:
    """The run in a folder; `changes` replace some of its parts."""
    return make_run(folder, **rows(**changes))
