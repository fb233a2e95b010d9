"""A run in several languages, made by hand: twelve inputs in English, German and Spanish, six methods.

Columns of four values are repeated three times: means stay easy to check by hand, and there are enough inputs for
differences to be significant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from verax.results.run import Run
from verax.store.store import Store
from verax.store.tables import Row
from verax.types import Instance, Prediction, Score, Text

FAITHFULNESS = "crosslingual_faithfulness"
SHUFFLED = "crosslingual_faithfulness(aligner=random)"
EMBEDDING = {"encoder": None, "layer": None, "extract": "itermax", "threshold": 0.001}
"""Parameters of the default aligner."""
ROUNDS = 3
GROUPS = 4 * ROUNDS


def text_of(raw: str, lang: str) -> Text:
    """A text split at single spaces."""
    offsets, start = [], 0
    for word in raw.split(" "):
        offsets.append((start, start + len(word)))
        start += len(word) + 1
    return Text(raw, tuple(raw.split(" ")), tuple(offsets), lang)


def method(name: str, target: str | None = None, **parameters: Any) -> dict[str, Any]:
    """A method as run cards list it."""
    given = dict(parameters) if target is None else {"target": {"of": target, "space": "logit"}, **parameters}
    said = ", ".join(f"{key}={target if key == 'target' else value}" for key, value in given.items())
    return {
        "label": f"{name}({said})" if said else name,
        "name": name,
        "kind": "token",
        "parameters": given,
        "target": target or "none",
    }


def metric(name: str, label: str | None = None, higher: bool = True, **parameters: Any) -> dict[str, Any]:
    """A metric as run cards list it."""
    return {"label": label or name, "name": name, "higher_is_better": higher, "parameters": parameters}


METHODS = (
    method("saliency", "prediction", aggregate="mean"),
    method("saliency", "prediction", aggregate="l2"),
    method("saliency", "loss", aggregate="mean"),
    method("saliency", "loss", aggregate="l2"),
    method("lime", "prediction"),
    method("random", seed=0),
)
LABELS = tuple(entry["label"] for entry in METHODS)
METRICS = (
    metric(FAITHFULNESS, reference_lang="en", aligner={"embedding": EMBEDDING}),
    metric(FAITHFULNESS, SHUFFLED, reference_lang="en", aligner={"random": {"seed": 0}}),
    metric("comprehensiveness"),
    metric("sufficiency", higher=False),
    metric("plausibility"),
)
TEXTS = {
    "en": "the small dog sleeps",
    "de": "der kleine Hund schläft",
    "es": "el perro pequeño duerme",
}


def card(**changes: Any) -> dict[str, Any]:
    """The card of the run."""
    return {
        "methods": list(METHODS),
        "metrics": list(METRICS),
        "model": {"name": "tiny", "architecture": "BertForSequenceClassification", "parameters": "10", "hash": "a"},
        "data": {"name": "pairs", "hash": "d"},
    } | changes


def instances(languages: Sequence[str] = ("en", "de", "es"), groups: int = GROUPS) -> list[Instance]:
    """Inputs of one part; `p0-de` is the German of the first."""
    return [
        Instance(f"p{group}-{lang}", (text_of(TEXTS.get(lang, TEXTS["en"]), lang),), "yes", lang, f"p{group}")
        for group in range(groups)
        for lang in languages
    ]


def scores(label: str, name: str, columns: Mapping[str, Sequence[float | None]]) -> list[Score]:
    """Scores of one method under one metric: for each language its values, repeated group by group."""
    return [
        Score(f"p{group}-{lang}", label, name, value, None if value is not None else "constant")
        for lang, column in columns.items()
        for group, value in enumerate([*column] * ROUNDS)
    ]


def predictions(right: Mapping[str, Sequence[bool]]) -> list[Prediction]:
    """Whether the model is right, by language and group, repeated like scores."""
    return [
        Prediction(f"p{group}-{lang}", "YES" if well else "no", ("no", "YES"), (0.3, 0.7))
        for lang, column in right.items()
        for group, well in enumerate([*column] * ROUNDS)
    ]


RIGHT = {"en": [True] * 4, "de": [True, True, True, False], "es": [True, False, True, False]}
ACROSS: dict[str, dict[str, list[float | None]]] = {
    LABELS[0]: {"de": [0.1, 0.2, 0.3, 0.2], "es": [0.1, 0.2, 0.1, 0.0]},
    LABELS[1]: {"de": [1.0, 0.5, 0.6, 0.3], "es": [0.2, 0.4, None, 0.0]},
    LABELS[2]: {"de": [0.2, 0.2, 0.4, 0.4], "es": [0.2, 0.2, 0.2, 0.2]},
    LABELS[3]: {"de": [0.9, 0.6, 0.5, 0.4], "es": [0.3, 0.4, 0.2, 0.3]},
    LABELS[4]: {"de": [0.3, 0.1, 0.1, 0.1], "es": [None, None, None, None]},
    LABELS[5]: {"de": [0.1, -0.1, 0.2, -0.2], "es": [0.0, 0.1, -0.1, 0.0]},
}
ERASURE = {
    "comprehensiveness": [0.1, 0.4, 0.2, 0.3, 0.5, 0.0],
    "sufficiency": [0.5, 0.2, 0.4, 0.3, 0.1, 0.6],
    "plausibility": [0.5, 0.5, 0.5, 0.5, 0.5, 0.4],
}


def all_scores() -> list[Score]:
    """Of every measure; the erasure ones are the same for each input, and there for every language."""
    rows = []
    for place, label in enumerate(LABELS):
        rows += scores(label, FAITHFULNESS, ACROSS[label])
        rows += scores(label, SHUFFLED, {lang: [0.02, -0.02, 0.01, -0.01] for lang in ("de", "es")})
        for name, column in ERASURE.items():
            rows += scores(label, name, {"en": [column[place]] * 4, "de": [9.0] * 4})
    return rows


def write(
    folder: Path,
    *,
    instances: Iterable[Instance] = tuple(instances()),
    predictions: Iterable[Prediction] = tuple(predictions(RIGHT)),
    scores: Iterable[Score] = tuple(all_scores()),
    others: Iterable[Row] = (),
    **changes: Any,
) -> Run:
    """Store the run, with other rows where they are given; `changes` are of its card."""
    with Store.open(folder) as store:
        for place, row in enumerate([*instances, *predictions, *scores, *others]):
            store.append(str(place), row)
        store.write_card(card(**changes))
    return Run(folder)
