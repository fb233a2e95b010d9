"""The run card: its fields, warnings, and the counts and costs of a finished run."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from golden.record import HERE
from support.stored import read_run
from verax.api import evaluate
from verax.data.text import split_words
from verax.models.load import load_model
from verax.results.manifest import DataEntry, Manifest, MethodEntry, ModelEntry
from verax.run.card import INCOMPLETE, closing_manifest
from verax.run.rows import FAILED
from verax.store.read import RunTables
from verax.store.store import Store
from verax.types import Cost, Dataset, Highlight, Instance, Nle, Prediction, Score, Skip, Span, Target

METHODS = ("saliency", "\ud800 odd", "lime")
NOTES = (
    {},
    {"completeness_error": 0.04},
    {"completeness_error": 0.06},
    {"completeness_error": 1},
    {"truncated_tokens": 3, "completeness_error": 0.5},
    {"said": '"completeness_error": 0.9, "truncated_tokens"'},
    {"completeness_error, not": "cut_off"},
)


def row(dice, number):
    cost = Cost(*(dice.randrange(9) for _ in range(4)), dice.random())
    names = (f"x{number}", dice.choice(METHODS))
    match dice.randrange(6):
        case 0:
            return Prediction(names[0], "a", ("a",), (1.0,), cost)
        case 1:
            return Skip(*names, dice.choice(["empty", FAILED]))
        case 2:
            notes = dice.choice([{}, {"cut_off": True}, {"text": "cut_off"}])
            return Nle(*names, Target(), "so", "a", ("a",), cost=cost, notes=notes)
        case 3:
            return Score(*names, "m", None, dice.choice(["empty", FAILED]), cost=cost)
        case 4:
            return Score(*names, "m", 0.5, cost=cost)
    return Highlight(*names, "token", Target(), ((Span(0, 0, 1),),), (1.0,), cost, dice.choice(NOTES))


def by_loop(stored):
    """Counts, cost and warnings."""
    rows = [*stored.predictions, *stored.highlights, *stored.texts, *stored.skips, *stored.scores]
    reasons = Counter(getattr(row, "reason", None) for row in rows)
    done, failed = reasons[None], reasons[FAILED]
    cost = sum((row.cost for row in rows if not isinstance(row, Skip)), Cost())
    made, texts = Counter(row.method for row in stored.highlights), Counter(row.method for row in stored.texts)
    short = Counter(row.method for row in stored.texts if "cut_off" in row.notes)
    errors = [(row.method, row.notes.get("completeness_error")) for row in stored.highlights]
    missed = Counter(method for method, error in errors if isinstance(error, float) and error > INCOMPLETE)
    cut = Counter(row.method for row in stored.highlights if "truncated_tokens" in row.notes)
    return (
        {"rows": len(rows), "done": done, "failed": failed, "skipped": len(rows) - done - failed},
        cost,
        [
            *(f"{method}: {n} of {texts[method]} explanations were cut off" for method, n in short.items()),
            *(f"{method}: {missed[method]} of {made[method]} explanations miss" for method in made if missed[method]),
            *(f"{method}: {cut[method]} of {made[method]} inputs were cut" for method in made if cut[method]),
        ],
    )


@pytest.mark.parametrize("seed", range(4))
def test_it_is_what_a_loop_over_all_rows_finds(tmp_path, seed):
    dice = random.Random(seed)
    with Store.open(tmp_path, seal_every=50) as store:
        for number in range(180 if seed else 0):
            store.append(f"k{number}", row(dice, number))
        keys = sorted(store.keys)
        dice.shuffle(keys)
        store.write_plan(keys[:150])
        store.flush()
        opened = Manifest(seed=seed, warnings=("earlier",))
        final = closing_manifest(opened, RunTables.open(tmp_path)).card()
    counts, cost, warnings = by_loop(read_run(tmp_path))
    assert final["counts"] == counts
    assert final["seed"] == seed
    seconds = final["cost"].pop("seconds")
    assert seconds == pytest.approx(cost.seconds, abs=1e-3)
    assert final["cost"] == {
        name: getattr(cost, name) for name in ("forward_asked", "forward", "backward_asked", "backward")
    }
    assert final["warnings"][0] == "earlier"
    assert len(final["warnings"]) == len(warnings) + 1
    assert all(line.startswith(begin) for line, begin in zip(final["warnings"][1:], warnings, strict=True))
    assert not seed or len(warnings) >= 3


def test_a_language_that_the_tokenizer_does_not_know_is_warned_of(tmp_path: Path) -> None:
    """The English model reads a Thai text as one unknown token."""
    data = Dataset(
        "two",
        (
            Instance("1", (split_words("The dog is red."), split_words("The dog is blue.")), "neutral", "en"),
            Instance("2", (split_words("สุนัขนอน"), split_words("สุนัขวิ่ง")), "neutral", "th"),
        ),
        ("entailment", "neutral", "contradiction"),
    )
    run = evaluate(load_model("world/nli"), data, [], ["comprehensiveness"], out=tmp_path, progress=False)
    told = [line for line in run.tables.card["warnings"] if "does not know" in line]
    assert len(told) == 1
    assert told[0].startswith("th: the model's tokenizer does not know 100% of the words")


def test_a_new_card_has_the_fields_of_an_old_one(tmp_path: Path) -> None:
    """Cards of earlier versions are read by the same names, so none may change."""
    old = json.loads((HERE / "run-v1" / "unified" / "run.json").read_text("utf-8"))
    model, data = "world/nli", {"name": "world/nli", "limit": 2}
    evaluate(model, data, ["leave_one_out"], ["comprehensiveness"], out=tmp_path, progress=False)
    new = json.loads((tmp_path / "run.json").read_text("utf-8"))
    assert new.keys() == old.keys() | {"planned"}
    assert new["planned"] == new["counts"]["rows"]
    for part in ("model", "data", "counts", "cost", "versions"):
        assert new[part].keys() == old[part].keys()
    assert new["methods"][0].keys() == old["methods"][0].keys() | {"ranks"}
    assert new["metrics"][0].keys() == old["metrics"][0].keys()


def test_text_that_is_not_valid_utf_8_is_kept(tmp_path: Path) -> None:
    odd = "\ud800 odd"
    manifest = Manifest(
        command=odd,
        model=ModelEntry(name=odd, labels=(odd,), device=odd),
        data=DataEntry(name=odd, provenance={"source": odd}),
        methods=(MethodEntry(label=odd, name=odd, parameters={"path": odd}),),
        warnings=(odd,),
    )
    with Store.open(tmp_path) as store:
        store.write_card(manifest.card())
    card = json.loads((tmp_path / "run.json").read_bytes())
    assert card == json.loads(json.dumps(manifest.card()))
    assert card["methods"][0]["parameters"] == {"path": odd}
