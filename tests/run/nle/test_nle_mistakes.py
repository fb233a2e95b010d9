"""What does not go together in a run over free-text explanations: one line that says so, and nothing is asked."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from support import text_runs
from support.rigged import NLI, Rigged
from verax.metrics.free_text import linguistics, wordnet

PROMPTED = {"model": "instructed"}


def mistaken(verax: Callable[..., Any], place: Path, changes: Mapping[str, Any], *flags: str) -> str:
    """The line that a run ends with."""
    text_runs.write_model(place / "instructed", None)
    (place / "spec.yaml").write_text(yaml.safe_dump(text_runs.content(place, **changes)))
    said = verax("run", "spec.yaml", "--out", "run", *flags)
    assert said.code == 2, said
    assert not (place / "run").exists(), "nothing is begun"
    (line,) = said.err.strip().splitlines()
    assert "Traceback" not in said.err
    return str(line)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {**PROMPTED, "methods": ["mt_ra"]},
            "methods: mt_ra: the model 'instructed' was not trained to explain itself",
        ),
        ({"methods": ["mt_re"]}, "was trained as mt_ra; `verax train nle --setup mt_re` trains one"),
        ({"methods": ["explain_then_answer"]}, "was trained as mt_ra; leave methods out"),
        ({"methods": ["mt_rx"]}, "unknown method 'mt_rx'; did you mean 'mt_r"),
        ({**PROMPTED, "methods": ["answer_then_explain"] * 2}, "methods: 'answer_then_explain' is listed twice"),
        ({"metrics": ["bleu", "bleu"]}, "metrics: 'bleu' is listed twice"),
        (
            {"metrics": ["counterfactual_test", "comprehensiveness"]},
            "model' provides only free text, likelihoods of text",
        ),
        ({"methods": ["saliency"], "metrics": ["bleu"]}, "saliency needs class outputs and gradients; the model"),
        (
            {"metrics": [{"counterfactual_test": {"editor": "randon"}}]},
            "unknown editor 'randon'; did you mean 'random'",
        ),
        ({"metrics": [{"counterfactual_test": {"edit": "random"}}]}, "unknown parameter 'edit'; did you mean 'editor'"),
        ({"metrics": [{"counterfactual_test": {"editor": {"infill": {"path": "nowhere/at/all"}}}}]}, "nowhere/at/all"),
        (
            {"metrics": [{"counterfactual_test": {"editor": {"infill": {"path": "model"}}}}]},
            "editor: model holds no editor.json; make one with: verax train editor",
        ),
        (
            {"metrics": [{"counterfactual_test": {"editor": {"infill": {"path": "alone"}}}}]},
            "editor: 'alone' was trained on inputs of 1 part(s), and these have 2",
        ),
        (
            {"metrics": [{"counterfactual_test": {"editor": {"infill": {"path": "others"}}}}]},
            "editor: 'others' knows yes, no; it can't lead to 'entailment'",
        ),
        ({"metrics": [{"reconstruction_test": {"by": "templatez"}}]}, "unknown reconstruction 'templatez'"),
        ({"metrics": [{"counterfactual_test": {"noise": -1}}]}, "noise: got -1, it must be at least 0"),
        (
            {"explanations": ["made.jsonl"]},
            "explanations: scores of words are about class outputs, and",
        ),
        ({"model": {"name": "model", "prompts": "mine.txt"}}, "has the prompts that it was trained on"),
        ({"model": {"name": "instructed", "labels": ["a", "b"]}}, "none are shipped for 2 parts and the classes a, b"),
        ({"model": {"name": "instructed", "prompts": "minf.txt"}}, "unknown file of prompts 'minf.txt'"),
        (
            {"model": {"name": "instructed", "prompts": "mine.txt"}, "methods": ["explain_then_answer"]},
            "prompts: mine.txt: the section [explain] is missing",
        ),
        ({"model": {"name": "instructed", "prompt": "mine.txt"}}, "unknown field 'model.prompt'; did you mean"),
        ({"model": {"name": "m", "endpoint": {"url": "ftp://host/v1"}}}, "url: got 'ftp://host/v1'"),
        ({"model": {"name": "m", "endpoint": {"url": "http://me:secret@host/v1"}}}, "keys come from the environment"),
        ({"model": {"name": "m", "endpoint": {"url": "http://h/v1", "max_requests": 0}}}, "max_requests"),
        ({"model": {"name": "m", "endpoint": {"url": "http://h/v1", "key_env": "sk-abc"}}}, "and not the key"),
        ({"model": {"name": "m", "endpoint": {"url": "http://h/v1", "key": "x"}}}, "'model.endpoint.key'"),
        ({"model": {"name": "m", "endpoint": {"url": "http://h/v1", "key_env": "HOME"}}}, "--allow-key-env HOME"),
        (
            {"model": {"name": "m", "endpoint": {"url": "http://h/v1", "headers": {"X-Team": "$PATH"}}}},
            "headers: X-Team: the spec would send the environment variable PATH",
        ),
        (
            {"model": {"name": "m", "endpoint": {"url": "http://h/v1", "headers": {"X-Api-Key": "sk-abc"}}}},
            "headers: X-Api-Key: name an environment variable that holds it",
        ),
        (
            {"model": {"name": "m", "endpoint": {"url": "http://h/v1", "headers": {"X-Team": ["sk-abc"]}}}},
            "headers: X-Team: the value must be a text",
        ),
    ],
)
def test_a_mistake_is_one_line(
    changes: dict[str, Any], said: str, model: Rigged, verax: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("[answer]\n{1} {2}\n[explain_label]\n{1} {2} {label}")
    for folder, prompt, labels in (("alone", "{1}", NLI), ("others", "{1} {2}", ("yes", "no"))):
        (tmp_path / folder).mkdir()
        facts = {"prompt": prompt, "mark": "_", "labels": labels}
        for file in ("config.json", "model.safetensors", "tokenizer.json", "editor.json"):
            (tmp_path / folder / file).write_text(json.dumps(facts))
    line = mistaken(verax, tmp_path, changes)
    assert said in line
    assert "secret" not in line
    assert "sk-abc" not in line
    assert model.calls == []


def test_labels_that_the_model_does_not_know(model: Rigged, verax: Callable[..., Any], tmp_path: Path) -> None:
    data = text_runs.write_data(tmp_path / "other.jsonl", [("A boat.", "A lake.", "unrelated")])
    line = mistaken(verax, tmp_path, {"data": str(data)})
    assert "'" in line
    assert "knows entailment, neutral, contradiction; the data has unrelated" in line


def test_an_editor_without_a_test(model: Rigged, verax: Callable[..., Any], tmp_path: Path) -> None:
    line = mistaken(verax, tmp_path, {"metrics": ["bleu"]}, "--editor", "somewhere")
    assert "--editor: the run has no counterfactual_test; use --preset nle" in line


@pytest.mark.parametrize("field", ["endpoint", "prompts"])
def test_fields_of_self_explaining_models_in_another_run(field: str, verax: Callable[..., Any], tmp_path: Path) -> None:
    value = {"endpoint": {"url": "http://127.0.0.1:9/v1"}, "prompts": "mine.txt"}[field]
    changes = {
        "model": {"name": "world/nli", field: value},
        "methods": ["saliency"],
        "metrics": ["comprehensiveness"],
    }
    assert f"model.{field}: it is for models that explain themselves" in mistaken(verax, tmp_path, changes)


def test_without_word_lists_it_is_said_how_to_get_them(
    model: Rigged, verax: Callable[..., Any], tmp_path: Path
) -> None:
    nowhere = {"counterfactual_test": {"editor": {"random": {"wordnet": str(tmp_path / "none")}}}}
    line = mistaken(verax, tmp_path, {"metrics": [nowhere]})
    assert "does not exist; install" in line
    assert wordnet.INSTALL_HINT in line


@pytest.mark.parametrize(("package", "metric"), [("spacy", "counterfactual_test"), ("sacrebleu", "bleu")])
def test_without_the_extra_it_is_said_how_to_install_it(
    package: str, metric: str, model: Rigged, verax: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **named: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ImportError(name)
        return real(name, *args, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    _forget()
    try:
        given = text_runs.counterfactual(tmp_path) if metric == "counterfactual_test" else metric
        line = mistaken(verax, tmp_path, {"metrics": [given]})
    finally:
        _forget()
    assert package in line.lower()
    assert linguistics.EXTRA in line


def _forget() -> None:
    """What was loaded before is loaded anew."""
    from verax.metrics.free_text import bleu

    linguistics.linguistics.cache_clear()
    bleu._bleu.cache_clear()
