"""What is settled before anything is asked: the parts that are edited, inputs made alike, and what keys hold."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from support.rigged import Rigged
from verax.data.load import load_dataset
from verax.data.text import split_words
from verax.metrics.free_text.random_editor import RandomEditor
from verax.models.self_explainer import SelfExplainer
from verax.models.wording import shipped_wording
from verax.results.manifest import Manifest
from verax.run.editor_option import fitted_to_data, with_editor
from verax.run.parameters import from_config
from verax.run.plan import Plan
from verax.run.prepare import Prepared, prepare
from verax.run.providers import Providers
from verax.run.spec import parse_spec
from verax.studies.free_text.outcomes import consistency_tests, unions
from verax.studies.free_text.presets import NLE
from verax.types import Dataset, Instance, UserError

PLAIN: dict[str, Any] = {"counterfactual_test": {"noise": 2}}
BY_MEANING: dict[str, Any] = {"counterfactual_test": {"noise": 2, "semantic": {"encoder": "world/nli"}}}

INFILLED: dict[str, Any] = {"counterfactual_test": {"editor": {"infill": {"path": "world/nli-editor"}}}}
SILENT: dict[str, Any] = {"counterfactual_test": {"noise": 0, **INFILLED["counterfactual_test"]}}


def prepared(data: Dataset, *metrics: Any) -> Prepared:
    parts = len(data.instances[0].parts)
    wording = shipped_wording("instructed", data.labels, parts)
    by = SelfExplainer("rigged", Rigged(), Rigged(), data.labels, wording)
    spec = parse_spec({"model": "rigged", "data": data.name, "metrics": list(metrics)})
    return prepare(spec, by, data)


@pytest.mark.parametrize(("name", "edited"), [("world/nli", None), ("world/questions", (0,))])
def test_both_sides_of_a_pair_are_edited_and_of_a_question_not_its_choices(name: str, edited: Any) -> None:
    data = replace(load_dataset(name, limit=2), maskable=(0,))
    (metric,) = prepared(data, PLAIN).run.metrics
    assert metric.component.parts == edited  # type: ignore[attr-defined]


def test_inputs_of_another_number_of_parts_are_refused_by_name() -> None:
    data = load_dataset("world/nli", limit=2)
    odd = Instance("odd", tuple(map(split_words, ("one", "two", "three"))))
    with pytest.raises(UserError, match=r"'odd' has 3 parts and .* has 2"):
        prepared(replace(data, instances=(*data.instances, odd)), PLAIN)


def test_a_key_holds_the_encoder_only_where_it_decides_and_the_words_only_where_they_are_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = load_dataset("world/nli", limit=1)
    other = replace(
        data, instances=(replace(data.instances[0], id="other"), *load_dataset("world/nli", limit=5).instances)
    )

    def keys(wide: Dataset, fingerprint: str) -> list[str]:
        encoder = SimpleNamespace(fingerprint={"weights": fingerprint})
        monkeypatch.setattr("verax.run.providers.encoder.load_encoder", lambda _name, *, device: encoder)
        run = replace(prepared(data, PLAIN, BY_MEANING, INFILLED, SILENT).run, wide_data=wide)
        (planned,) = Plan(run, Providers(run))
        return [score.key for score in planned.explanations[0].scores]

    plain, meant, words = keys(data, "a"), keys(data, "b"), keys(other, "a")
    assert [one == changed for one, changed in zip(plain, meant, strict=True)] == [True, False, True, True]
    assert [one == changed for one, changed in zip(plain, words, strict=True)] == [True, True, False, True]


def test_the_most_requests_are_two_for_each_input_that_may_be_asked_about() -> None:
    found = prepared(load_dataset("world/nli", limit=3), PLAIN, "reconstruction_test", "bleu")
    edits, repeats = 4 * 4 + 2, 4
    assert found.plan.remaining(()).requests == 2 * (1 + edits + repeats + 2) * 2 * 3


def infilled(path: str, **settings: Any) -> dict[str, Any]:
    return {"counterfactual_test": {"editor": {"infill": {"path": path}}, **settings}}


OTHERS = {"noise": 8, "parts": [0], "match": "substring", "seed": 3}


@pytest.mark.parametrize(
    ("metrics", "edited"),
    [
        (["counterfactual_test"], ["counterfactual_test", infilled("b")]),
        ([{"counterfactual_test": None}], [{"counterfactual_test": None}, infilled("b")]),
        (
            ["bleu", {"counterfactual_test": {"editor": {"random": {"positions": 2}}, **OTHERS}}],
            [
                "bleu",
                {"counterfactual_test": {"editor": {"random": {"positions": 2}}, **OTHERS}},
                infilled("b", **OTHERS),
            ],
        ),
        (
            [{"counterfactual_test": {"noise": 1}}, {"counterfactual_test": {"noise": 2}}],
            [{"counterfactual_test": {"noise": 1}}, {"counterfactual_test": {"noise": 2}}, infilled("b")],
        ),
        (
            [{"counterfactual_test": {"editor": {"infill": {"path": "a", "positions": 2}}, **OTHERS}}, "bleu"],
            [{"counterfactual_test": {"editor": {"infill": {"path": "b", "positions": 2}}, **OTHERS}}, "bleu"],
        ),
        ([{"counterfactual_test": {"editor": "infill"}}], [infilled("b")]),
        (
            [infilled("a"), infilled("c"), infilled("a", noise=2), "counterfactual_test"],
            [infilled("b"), infilled("b", noise=2), "counterfactual_test"],
        ),
    ],
)
def test_an_editor_by_flag_leaves_the_other_settings(metrics: list[Any], edited: list[Any]) -> None:
    given = {"model": "m", "metrics": metrics}
    before = repr(given)
    assert with_editor(given, "b") == {"model": "m", "metrics": edited}
    assert repr(given) == before
    assert with_editor(given, None) == given


@pytest.mark.parametrize(
    ("data", "words", "trained"), [("world/nli", "world", 1), ("world/facts", "world", 0), ("pairs.jsonl", None, 0)]
)
def test_the_editors_of_the_preset_are_those_that_fit_the_data(data: str, words: str | None, trained: int) -> None:
    """The shipped editor reads pairs of the corpus; words of the corpus are for inputs of the corpus."""
    fitted = fitted_to_data({**NLE.content, "data": {"name": data}})["metrics"]
    editors = [from_config("metrics", one, 0).component.editor for one in fitted if "counterfactual_test" in one]
    (random,) = [one for one in editors if isinstance(one, RandomEditor)]
    assert (random.wordnet, len(editors) - 1, len(fitted)) == (words, trained, 3 + trained)


def test_an_editor_by_flag_has_a_union_with_the_random_one() -> None:
    drawn = {"counterfactual_test": {"editor": "random", **OTHERS}}
    tests = [from_config("metrics", one, 0) for one in with_editor({"metrics": [drawn]}, "world/nli-editor")["metrics"]]
    card = {"metrics": [{"label": one.label, "name": one.name, "parameters": one.parameters} for one in tests]}
    assert [test.name for test in unions(consistency_tests(Manifest.read(card)[0]))] == ["random + infill"]
