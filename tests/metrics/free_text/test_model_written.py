"""Model-written reconstruction: prompts, shipped or a user's own, who is asked, and what decides a result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support import text_runs
from support.rigged import Rigged, instance, posed, result
from support.tiny_text import save_generator
from verax.metrics.free_text import reconstruction, second_model
from verax.metrics.free_text.reconstruction import ModelWritten, RewritePrompt
from verax.models import self_explainer
from verax.models.generator import GeneratePass, Prompt
from verax.models.load import load_generator
from verax.models.self_explainer import FACTS
from verax.models.subject import Subject
from verax.types import Generated, Undefined, UserError


def text(writes: str) -> Subject:
    return posed(instance("The soup was warm."), Rigged(writes=lambda _: writes), labels=("a", "b"), trained_as=None)


def test_a_users_prompt_takes_the_place_of_the_shipped_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("[rewrite]\nSay {explanation} in {count} line for {labels}.\n")
    x = text("Soup!")
    made = result(ModelWritten(str(file)).reconstruct(x, "it is {labels}", "a"))
    assert x.model.explainer.calls == [("generate", ["Say it is {labels} in 1 line for a, b."])]  # type: ignore[attr-defined]
    assert [part.raw for part in made.instance.parts] == ["Soup!"]
    assert made.notes == {"written_by": "rigged"}


def test_prompts_decide_and_are_told(tmp_path: Path) -> None:
    told = {ModelWritten().provenance["prompts"]}
    for number in range(2):
        file = tmp_path / f"{number}.txt"
        file.write_text(f"[rewrite]\n{number} {{explanation}}")
        told.add(ModelWritten(str(file)).provenance["prompts"])
    assert len(told) == 3


def test_a_prompt_that_is_changed_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("[rewrite]\nSay {explanation}")
    by, x = ModelWritten(str(file)), text("Soup!")
    told = by.provenance
    result(by.reconstruct(x, "so", "a"))
    file.write_text("[rewrite]\nSing {explanation}")
    result(by.reconstruct(x, "so", "a"))
    assert [prompt for _, prompts in x.model.explainer.calls for prompt in prompts] == ["Say so", "Sing so"]  # type: ignore[attr-defined]
    assert by.provenance != told


def test_shipped_prompts_show_the_explanation() -> None:
    for file in ("rewrite.txt", "rewrite-questions.txt"):
        one = RewritePrompt.shipped(file)
        labels = ("A", "B")
        assert "so it is" in one.prompt(instance("q", "x", "y"), labels, "so it is").user


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Say it.", r"it must begin with a heading such as \[rewrite\], got 'Say it.'"),
        ("[system]\nBe brief.", r"the section \[rewrite\] is missing"),
        ("[rewrite]\n{explanation}\n[answer]\n", "unknown heading 'answer'"),
        ("[rewrite]\n{explanation}\n[rewrite]\n", r"the heading \[rewrite\] occurs twice"),
        ("[rewrite]\n{1}", r"\[rewrite\]: unknown placeholder '1'"),
        ("[rewrite]\n{explanations}", r"\[rewrite\]: .*'explanations'.*'explanation'"),
    ],
)
def test_a_file_that_is_no_prompt_is_refused(content: str, said: str) -> None:
    with pytest.raises(UserError, match=f"prompts: mine: {said}"):
        RewritePrompt(content, "mine")


def test_a_missing_file_or_missing_choices_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"prompts: unknown file of prompts 'nowhere\.txt'"):
        RewritePrompt.read(tmp_path / "nowhere.txt")
    with pytest.raises(UserError, match=r"\[rewrite\] has \{choices\}, and there is none at this stage"):
        RewritePrompt("[rewrite]\n{choices}", "mine").prompt(instance("a"), ("x", "y"), "so")


def test_an_answer_that_was_cut_off_makes_no_input() -> None:
    x = text("Soup")
    x.model.explainer.generate = lambda passes, each=None: [Generated("Soup", "length", 64) for _ in passes]  # type: ignore[method-assign]
    with pytest.raises(Undefined, match="no_reconstruction: the answer was cut off"):
        result(ModelWritten().reconstruct(x, "so", "a"))


@pytest.fixture
def writer(tmp_path: Path) -> Path:
    """The folder of an untrained generator, whose babble never ends."""
    return save_generator("llama", tmp_path / "writer")


@pytest.fixture
def short(tmp_path: Path) -> str:
    """Prompts that such a generator has room for."""
    file = tmp_path / "short.txt"
    file.write_text("[rewrite]\nSay {explanation}")
    return str(file)


def trained() -> Subject:
    return posed(instance("A cook stirs.", "It rains."), Rigged(writes=lambda _: "never"))


def test_another_model_writes_for_one_that_was_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    other, x = Rigged(writes=lambda _: "A cook.\nRain."), trained()
    with pytest.raises(Undefined, match=r"unfit: .* `model` names another one"):
        result(ModelWritten().reconstruct(x, "so", "neutral"))
    monkeypatch.setattr(reconstruction, "second_generator", lambda _, name: {"other": other}[name])
    made = result(ModelWritten(model="other").reconstruct(x, "cooks are dry", "neutral"))
    assert [part.raw for part in made.instance.parts] == ["A cook.", "Rain."]
    assert made.notes == {"written_by": "other"}
    [(what, [prompt])] = other.calls
    assert (what, "cooks are dry" in prompt) == ("generate", True)
    assert x.model.explainer.calls == []  # type: ignore[attr-defined]


def test_a_model_from_a_folder_is_asked(writer: Path, short: str) -> None:
    [said] = load_generator(writer).generate([GeneratePass(Prompt("Say so"), 2 * 64)])
    assert isinstance(said, Generated)
    with pytest.raises(Undefined) as problem:
        result(ModelWritten(short, str(writer)).reconstruct(trained(), "so", "neutral"))
    assert problem.value.reason == "no_reconstruction"
    assert problem.value.detail == f"the answer was cut off: {said.text[:120]!r}"


def test_the_model_that_is_named_is_told_and_without_one_nothing_more(writer: Path) -> None:
    alone, named = ModelWritten().provenance, ModelWritten(model=str(writer)).provenance
    assert set(alone) == {"reconstruction", "prompts"}
    assert set(named) - set(alone) == {"weights", "tokenizer", "generation"}
    assert {name: named[name] for name in alone} == alone
    (writer / "generation_config.json").write_text('{"eos_token_id": 7}')
    assert ModelWritten(model=str(writer)).provenance["generation"] != named["generation"]


def test_a_model_that_was_trained_can_not_be_named(writer: Path) -> None:
    (writer / FACTS).write_text("{}")
    with pytest.raises(UserError, match=r"model_written: model: '.*' knows only the prompts of its training"):
        ModelWritten(model=str(writer)).provenance  # noqa: B018


def test_a_run_of_a_trained_model_loads_the_other_one_only_to_ask_it(
    writer: Path, short: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[Path] = []

    def load(folder: Path, **options: Any) -> Any:
        loaded.append(folder)
        return load_generator(folder, **options)

    monkeypatch.setattr(self_explainer, "load_generator", lambda *_, **__: text_runs.rule())
    monkeypatch.setattr(second_model, "load_generator", load)
    by = {"model_written": {"prompts": short, "model": str(writer)}}
    spec = text_runs.content(tmp_path, metrics=[{"reconstruction_test": {"by": by}}])
    assert text_runs.prepared(spec).plan.remaining(()).rows == 12
    assert loaded == []
    run = text_runs.execute_run(spec, tmp_path / "run")
    assert loaded == [writer]
    assert {score.reason for score in run.score_rows()} == {"no_reconstruction"}, "tested, where it would be unfit"
    assert {score.detail[:22] for score in run.score_rows()} == {"the answer was cut off"}
