"""Models that explain themselves: trained folders, prompted generators, endpoints, and what does not fit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.rigged import NLI, Rigged, instance
from verax.models.load import load_generator
from verax.models.self_explainer import (
    FACTS,
    PROMPTS,
    SelfExplainer,
    load_self_explainer,
    read_facts,
    trained_fingerprint,
)
from verax.models.subject import Subject
from verax.models.wording import Wording, shipped_wording
from verax.types import UserError

TRAINED = shipped_wording("trained", NLI, 2)


@pytest.fixture(scope="module")
def checkpoint_of_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support import tiny_text

    return tiny_text.save_generator("t5", tmp_path_factory.mktemp("t5"))


@pytest.fixture
def trained(checkpoint_of_text: Path, tmp_path: Path) -> Callable[..., Path]:
    """A folder such as `verax train nle` writes."""

    def make(setup: str = "mt_ra", **changes: Any) -> Path:
        home = tmp_path / setup
        places = ("explainer", "predictor") if setup.startswith("st") else (".", ".")
        for place in places:
            shutil.copytree(checkpoint_of_text, home / place, dirs_exist_ok=True)
        facts = {"setup": setup, "labels": list(NLI), "explainer": places[0], "predictor": places[1], "bleu": 1.0}
        facts = {name: value for name, value in {**facts, **changes}.items() if value is not None}
        (home / FACTS).write_text(json.dumps(facts))
        (home / PROMPTS).write_text(TRAINED.text)
        return home

    return make


def test_a_model_trained_for_both_at_once_is_loaded_once(trained: Callable[..., Path]) -> None:
    home = trained("mt_ra")
    by = load_self_explainer(home, labels=NLI[:1], parts=2)
    assert by.explainer is by.predictor
    assert (by.name, by.setup, by.plain, by.labels) == (str(home), "mt_ra", True, NLI)
    assert by.wording.text == TRAINED.text
    assert by.explainer.fingerprint == load_generator(home).fingerprint


def test_two_models_share_the_work_of_a_single_task_setup(trained: Callable[..., Path]) -> None:
    home = trained("st_re")
    by = load_self_explainer(home, labels=NLI, parts=2)
    assert by.explainer is not by.predictor
    assert by.explainer.name == str(home / "explainer")
    assert by.predictor.name == str(home / "predictor")
    assert by.setup == "st_re"


def test_a_generator_without_facts_follows_instructions(checkpoint_of_text: Path, tmp_path: Path) -> None:
    by = load_self_explainer(checkpoint_of_text, labels=NLI, parts=2)
    assert (by.setup, by.plain, by.labels) == (None, False, NLI)
    assert by.wording == shipped_wording("instructed", NLI, 2)
    (tmp_path / "mine.txt").write_text("[answer]\n{1}?")
    mine = load_self_explainer(checkpoint_of_text, labels=("b", "a"), parts=9, prompts=tmp_path / "mine.txt")
    assert (mine.labels, mine.wording.text) == (("b", "a"), "[answer]\n{1}?")


def test_classes_that_are_named_are_all_there_are(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("[answer]\n{1}?")
    two = ("entailment", "contradiction")
    by = load_self_explainer("m", labels=two, parts=2, endpoint=Rigged(), prompts=tmp_path / "mine.txt")
    assert by.labels == two


@pytest.mark.parametrize("setup", ["mt_ra", "st_re"])
def test_a_trained_model_is_told_from_others_before_it_is_loaded(setup: str, trained: Callable[..., Path]) -> None:
    home = trained(setup)
    facts = json.loads((home / FACTS).read_text())
    told = [trained_fingerprint(home)]
    (home / FACTS).write_text(json.dumps({**facts, "bleu": 2.0}))
    assert trained_fingerprint(home) == told[0], "figures decide no answer"
    for name, text in ((FACTS, json.dumps({**facts, "labels": NLI[::-1]})), (PROMPTS, "[answer]\n{1}")):
        (home / name).write_text(text)
        told.append(trained_fingerprint(home))
    for place in (facts["explainer"], facts["predictor"]):
        for name in ("config.json", "generation_config.json"):
            (home / place / name).write_text(f"{place} {len(told)}")
            told.append(trained_fingerprint(home))
    assert all(one != other for one, other in pairwise(told))


def test_an_endpoint_is_asked_in_place_of_a_local_model() -> None:
    endpoint = Rigged()
    by = load_self_explainer("some/name-there", labels=NLI, parts=2, endpoint=endpoint)
    assert by.explainer is by.predictor is endpoint
    assert (by.name, by.setup) == ("some/name-there", None)


def test_whatever_decides_answers_is_in_the_fingerprint() -> None:
    class Other(Rigged):
        fingerprint = {"weights": "other"}  # noqa: RUF012

    def of(**changes: Any) -> dict[str, str]:
        given: dict[str, Any] = {"explainer": Rigged(), "predictor": Rigged(), "labels": NLI, "wording": TRAINED}
        return SelfExplainer("name", **{**given, "setup": "mt_ra", **changes}).fingerprint

    changed = [
        of(explainer=Other()),
        of(predictor=Other()),
        of(labels=NLI[::-1]),
        of(wording=Wording(TRAINED.text + "\n.", "x")),
        of(setup="mt_re"),
        of(setup=None),
    ]
    assert of() == of()
    assert of() not in changed
    assert len({json.dumps(one) for one in changed}) == len(changed)


def test_edits_of_an_input_share_what_was_answered() -> None:
    by = SelfExplainer("name", Rigged(), Rigged(), NLI, TRAINED)
    x = Subject(instance("a", "b"), by)
    edited = x.edited(instance("a c", "b"))
    assert edited.memo is x.memo
    assert edited.model is by
    assert Subject(instance("a", "b"), by).memo is not x.memo


@pytest.mark.parametrize(
    ("changes", "options", "said"),
    [
        ({}, {"labels": ("yes", "no")}, "knows entailment, neutral, contradiction; the data has yes, no"),
        ({}, {"prompts": Path("mine.txt")}, "has the prompts that it was trained on; leave them out"),
        ({"setup": None}, {}, "has no 'setup'"),
        ({"labels": None}, {}, "has no 'labels'"),
        ({"setup": "mt_rz"}, {}, "unknown setup 'mt_rz'; did you mean 'mt_r"),
        ({"setup": "explain_then_answer"}, {}, "unknown setup 'explain_then_answer'"),
        ({"labels": "neutral"}, {}, "labels: expected a list of names, got 'neutral'"),
        ({"explainer": "nowhere"}, {}, "nowhere"),
        ({"explainer": "../elsewhere"}, {}, "../elsewhere"),
    ],
)
def test_what_does_not_fit_a_trained_model(
    trained: Callable[..., Path], changes: dict[str, Any], options: dict[str, Any], said: str
) -> None:
    home = trained("mt_ra")
    facts = json.loads((home / FACTS).read_text()) | changes
    (home / FACTS).write_text(json.dumps({name: value for name, value in facts.items() if value is not None}))
    with pytest.raises(UserError) as error:
        load_self_explainer(home, **{"labels": NLI, "parts": 2, **options})
    assert said in str(error.value)
    assert "PosixPath" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "[1]", "3", '{"setup": "mt_ra"}'])
def test_facts_that_can_t_be_read(text: str, tmp_path: Path) -> None:
    (tmp_path / FACTS).write_text(text)
    with pytest.raises(UserError, match=r"nle\.json"):
        read_facts(tmp_path)


def test_a_trained_model_without_its_prompts(trained: Callable[..., Path]) -> None:
    home = trained("mt_re")
    (home / PROMPTS).unlink()
    with pytest.raises(UserError, match=r"prompts\.txt"):
        load_self_explainer(home, labels=NLI, parts=2)


@pytest.mark.parametrize("labels", [(), ("only",)])
def test_a_prompted_model_needs_two_classes(labels: tuple[str, ...]) -> None:
    with pytest.raises(UserError, match=r"data\.labels: .* two classes"):
        load_self_explainer("m", labels=labels, parts=1, endpoint=Rigged())
