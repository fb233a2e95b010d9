"""Methods of several runs matched, and runs that do not belong together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.runs import make_run, method_entry, run_card, text_of
from verax.results.manifest import Manifest
from verax.results.matching import (
    by_data,
    data_name,
    match_methods,
    require_different_models,
    require_equal,
    require_same_texts,
)
from verax.results.run import Run
from verax.types import Instance, Score, UserError


@pytest.fixture
def opened(tmp_path: Path) -> Any:
    """Runs of methods, each in a folder named by a letter."""

    def make(*several: Sequence[Mapping[str, Any]], **more: Any) -> list[Run]:
        return [
            make_run(tmp_path / letter, card=run_card(methods, [], **more))
            for letter, methods in zip("abcd", several, strict=False)
        ]

    return make


def gradients(steps: int, **parameters: Any) -> dict[str, Any]:
    label = f"integrated_gradients(steps={steps})"
    return method_entry(label, "integrated_gradients", parameters={"steps": steps, **parameters}, target="prediction")


RANDOM, LIME = method_entry("random"), method_entry("lime")


def test_a_method_with_other_parameters_is_one_row_that_shows_both_values(opened: Any) -> None:
    runs = opened([RANDOM, gradients(75, baseline="mask")], [gradients(100, baseline="mask"), RANDOM])
    random, matched = match_methods(runs)
    assert (random.name, random.labels) == ("random", ("random", "random"))
    assert matched.name == "integrated_gradients (steps: 75 / 100)", "and not what both share"
    assert matched.labels == ("integrated_gradients(steps=75)", "integrated_gradients(steps=100)")
    assert matched.entry.parameters["steps"] == 75


def test_each_parameter_that_differs_is_named(opened: Any) -> None:
    runs = opened([gradients(75, rule="left")], [gradients(100, rule="right", more=1)])
    (matched,) = match_methods(runs)
    assert matched.name == "integrated_gradients (steps: 75 / 100; rule: left / right; more: None / 1)"


def test_a_method_that_a_run_does_not_have_is_missing_there_and_never_dropped(opened: Any) -> None:
    runs = opened([RANDOM, LIME], [RANDOM], [RANDOM, method_entry("beam")])
    assert {one.name: one.labels for one in match_methods(runs)} == {
        "random": ("random", "random", "random"),
        "lime": ("lime", None, None),
        "beam": (None, None, "beam"),
    }


def test_methods_that_cannot_be_matched_keep_rows_of_their_own(opened: Any) -> None:
    runs = opened([gradients(50), gradients(75)], [gradients(100)])
    assert {one.name: one.labels for one in match_methods(runs)} == {
        "integrated_gradients(steps=50)": ("integrated_gradients(steps=50)", None),
        "integrated_gradients(steps=75)": ("integrated_gradients(steps=75)", None),
        "integrated_gradients(steps=100)": (None, "integrated_gradients(steps=100)"),
    }


def test_variants_within_a_run_are_matched_by_the_parameters_that_distinguish_them(opened: Any) -> None:
    def variants(steps: int, *aggregates: str) -> list[dict[str, Any]]:
        return [
            method_entry(
                f"ig({target}, {aggregate}, {steps})",
                "integrated_gradients",
                parameters={"target": target, "aggregate": aggregate, "steps": steps},
                target=target,
            )
            for target in ("prediction", "loss")
            for aggregate in aggregates
        ]

    matched = match_methods(opened(variants(75, "mean", "l2"), variants(100, "l2", "mean")))
    assert [one.name for one in matched] == [
        f"integrated_gradients (target: {target}; aggregate: {aggregate}; steps: 75 / 100)"
        for target in ("prediction", "loss")
        for aggregate in ("mean", "l2")
    ]
    for one in matched:
        first, second = one.labels
        assert first is not None
        assert second == first.replace("75", "100")


def test_of_three_runs_two_may_agree(opened: Any) -> None:
    runs = opened([gradients(75)], [gradients(75)], [gradients(100)])
    (matched,) = match_methods(runs)
    assert matched.name == "integrated_gradients (steps: 75 / 100)"
    assert [label is not None and label.endswith("=100)") for label in matched.labels] == [False, False, True]


def test_what_both_have_is_matched_before_what_is_left(opened: Any) -> None:
    runs = opened([gradients(75), gradients(50)], [gradients(100), gradients(75)])
    assert [one.name for one in match_methods(runs)] == [
        "integrated_gradients(steps=75)",
        "integrated_gradients (steps: 50 / 100)",
    ]


@pytest.mark.parametrize("change", [{"kind": "token_interaction"}, {"base": "shapley"}, {"target": "loss"}])
def test_another_kind_base_or_target_is_another_method(opened: Any, change: dict[str, Any]) -> None:
    runs = opened([gradients(75)], [gradients(100) | change])
    assert [one.labels.count(None) for one in match_methods(runs)] == [1, 1]


def test_labels_that_differ_without_a_parameter_are_both_shown(opened: Any) -> None:
    (matched,) = match_methods(opened([method_entry("mine", "lime")], [method_entry("yours", "lime")]))
    assert matched.name == "mine / yours"


def test_methods_that_only_the_rows_know(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name, scores=[Score("i0", name, "m", 1.0)]) for name in "ab"]
    assert {one.name: one.labels for one in match_methods(runs)} == {"a": ("a", None), "b": (None, "b")}


def test_one_run_has_its_methods_by_their_labels(opened: Any) -> None:
    (run,) = opened([RANDOM, gradients(75), gradients(100)])
    assert [(one.name, one.labels) for one in match_methods([run])] == [(label, (label,)) for label in run.methods]


ENTRIES = st.lists(
    st.tuples(
        st.sampled_from("ab"), st.fixed_dictionaries({"x": st.integers(0, 2), "y": st.integers(0, 1)}), st.booleans()
    ),
    max_size=5,
    unique_by=repr,
)


@given(st.lists(ENTRIES, min_size=1, max_size=3))
@example([[("b", {"x": 0, "y": y}, target) for target in (False, True)] for y in (0, 1)])  # only targets differ
def test_every_method_of_every_run_is_in_exactly_one_row(several: list[list[tuple[str, dict[str, int], bool]]]) -> None:
    runs: list[Any] = []
    for methods in several:
        entries = [
            method_entry(f"{name}{parameters}{target}", name, parameters=parameters, target=str(target))
            for name, parameters, target in methods
        ]
        manifest, _ = Manifest.read({"methods": entries})
        runs.append(SimpleNamespace(manifest=manifest, methods=manifest.method_labels()))
    matched = match_methods(runs)
    for number, run in enumerate(runs):
        labels = [one.labels[number] for one in matched]
        assert sorted(label for label in labels if label is not None) == sorted(run.methods)
    assert len({one.name for one in matched}) == len(matched), "no two rows have the same name"


def test_a_difference_is_named_with_both_runs_and_both_values(opened: Any) -> None:
    runs = opened([RANDOM], [RANDOM, LIME], [RANDOM])
    facts = {"number": lambda run: 3, "methods": lambda run: run.methods}
    with pytest.raises(UserError) as refused:
        require_equal(runs, facts, "averaged")
    for word in (str(runs[0].folder), str(runs[1].folder), "averaged", "methods", "random, lime"):
        assert word in str(refused.value)
    require_equal([runs[0], runs[2]], facts, "averaged")
    require_equal(runs[:1], facts, "averaged")
    with pytest.raises(UserError, match="…"):
        require_equal(runs, {"long": lambda run: "x" * 500 + str(run.folder)}, "averaged")


def test_runs_of_one_model_are_no_seeds_of_each_other(tmp_path: Path) -> None:
    hashes = ("x", "y", None, None, "x")
    runs = [make_run(tmp_path / str(i), card={"model": {"name": "m", "hash": value}}) for i, value in enumerate(hashes)]
    require_different_models(runs[:4])
    with pytest.raises(UserError, match="same model") as refused:
        require_different_models(runs)
    assert str(runs[0].folder) in str(refused.value)
    assert str(runs[4].folder) in str(refused.value)


def inputs(folder: Path, texts: Mapping[str, str], hash_: str | None = None) -> Run:
    card = {"data": {"name": "pairs", "hash": hash_}}
    return make_run(folder, card=card, instances=[Instance(name, (text_of(raw),)) for name, raw in texts.items()])


def test_runs_on_other_texts_are_refused_by_the_id(tmp_path: Path) -> None:
    first = inputs(tmp_path / "a", {"i0": "a boat", "i1": "a lake"})
    require_same_texts(first, inputs(tmp_path / "b", {"i1": "a lake", "i2": "else"}))
    with pytest.raises(UserError, match="'i1' is not the same text"):
        require_same_texts(first, inputs(tmp_path / "c", {"i0": "a boat", "i1": "a ship"}))
    with pytest.raises(UserError, match="share no instance"):
        require_same_texts(first, inputs(tmp_path / "d", {"other": "a boat"}))


def test_runs_are_grouped_by_what_they_explain(tmp_path: Path) -> None:
    facts = (
        ("sst2", "test", "x"),
        ("sst2", "test", "x"),
        ("imdb", None, "y"),
        ("sst2", "test", "z"),
        ("odd", None, None),
    )
    runs = [
        make_run(tmp_path / str(i), card={"data": {"name": name, "split": split, "hash": hash_}})
        for i, (name, split, hash_) in enumerate(facts)
    ]
    assert [data_name(run) for run in runs[1:3]] == ["sst2 (test)", "imdb"]
    groups = by_data(runs)
    assert list(groups) == ["sst2 (test), inputs x", "imdb", "sst2 (test), inputs z", "odd"]
    assert groups["sst2 (test), inputs x"] == runs[:2]
