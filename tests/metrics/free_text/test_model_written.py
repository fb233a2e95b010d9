"""The prompts of model-written reconstruction: shipped or a user's own, and what decides a result."""

from __future__ import annotations

from pathlib import Path

import pytest

from rigged import Rigged, instance, posed, result
from verax.metrics.free_text.model_written import ModelWritten
from verax.metrics.free_text.rewrite_prompt import RewritePrompt, shipped_prompts
from verax.models.self_explainer import Posed
from verax.types import Generated, Undefined, UserError


def text(writes: str) -> Posed:
    return posed(instance("The soup was warm."), Rigged(writes=lambda _: writes), labels=("a", "b"), trained_as=None)


def test_a_users_prompt_takes_the_place_of_the_shipped_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("[rewrite]\nSay {explanation} in {count} line for {labels}.\n")
    x = text("Soup!")
    made = result(ModelWritten(str(file)).reconstruct(x, "it is {labels}", "a"))
    assert x.by.explainer.calls == [("generate", ["Say it is {labels} in 1 line for a, b."])]  # type: ignore[attr-defined]
    assert [part.raw for part in made.instance.parts] == ["Soup!"]
    assert made.notes == {"written_by": "rigged"}


def test_prompts_decide_and_are_told(tmp_path: Path) -> None:
    told = {ModelWritten().told["prompts"]}
    for number in range(2):
        file = tmp_path / f"{number}.txt"
        file.write_text(f"[rewrite]\n{number} {{explanation}}")
        told.add(ModelWritten(str(file)).told["prompts"])
    assert len(told) == 3


def test_a_prompt_that_is_changed_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("[rewrite]\nSay {explanation}")
    by, x = ModelWritten(str(file)), text("Soup!")
    told = by.told
    result(by.reconstruct(x, "so", "a"))
    file.write_text("[rewrite]\nSing {explanation}")
    result(by.reconstruct(x, "so", "a"))
    assert [prompt for _, prompts in x.by.explainer.calls for prompt in prompts] == ["Say so", "Sing so"]  # type: ignore[attr-defined]
    assert by.told != told


def test_shipped_prompts_show_the_explanation() -> None:
    for one in shipped_prompts():
        labels = ("A", "B")
        assert "so it is" in one.prompt(instance("q", "x", "y"), labels, "so it is").user


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Say it.", r"it must begin with a heading such as \[rewrite\], got 'Say it.'"),
        ("[system]\nBe brief.", r"the section \[rewrite\] is missing"),
        ("[rewrite]\n{explanation}\n[answer]\n", "unknown heading 'answer'"),
        ("[rewrite]\n{explanation}\n[rewrite]\n", r"the heading \[rewrite\] is there twice"),
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
    x.by.explainer.generate = lambda passes, each=None: [Generated("Soup", "length", 64) for _ in passes]  # type: ignore[method-assign]
    with pytest.raises(Undefined, match="no_reconstruction: the answer was cut off"):
        result(ModelWritten().reconstruct(x, "so", "a"))
