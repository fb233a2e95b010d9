"""What a fine-tuning starts from: the encoder of a checkpoint, and a head that is new unless it knows the classes.

The code under test is `verax.models.checkpoint`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.utils import logging

from support import tiny
from verax.models.checkpoint import load_base
from verax.types import UserError

MASKED_LM = {
    "bert": "BertForMaskedLM",
    "roberta": "RobertaForMaskedLM",
    "distilbert": "DistilBertForMaskedLM",
    "xlm-roberta": "XLMRobertaForMaskedLM",
    "deberta-v2": "DebertaV2ForMaskedLM",
}
HEADS = {
    "bert": {"classifier.weight"},
    "roberta": {"classifier.dense.weight", "classifier.out_proj.weight"},
    "distilbert": {"pre_classifier.weight", "classifier.weight"},
    "xlm-roberta": {"classifier.dense.weight", "classifier.out_proj.weight"},
    "deberta-v2": {"classifier.weight"},
}
"""Matrices of a head; its biases begin at zero."""
POOLERS = {"bert": {"bert.pooler.dense.weight"}, "deberta-v2": {"pooler.dense.weight"}}
"""What a masked language model has none of either."""
State = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def language_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny masked language model by architecture."""
    root = tmp_path_factory.mktemp("language models")
    logging.disable_progress_bar()

    def folder(architecture: str) -> Path:
        path = root / architecture
        if not path.exists():
            classifier, tokenizer = tiny.build(architecture)
            torch.manual_seed(5)
            getattr(transformers, MASKED_LM[architecture])(classifier.config).save_pretrained(path)
            tokenizer.save_pretrained(path)
        return path

    return folder


def _state(folder: Path, labels: tuple[str, ...], seed: int = 0) -> State:
    model, _ = load_base(folder, "mine", labels, seed=seed)
    return dict(model.state_dict())


def _differ(a: State, b: State) -> set[str]:
    """Names of weights that are not the same in both, down to the bit."""
    return {n for n in a.keys() | b.keys() if n not in a or n not in b or not torch.equal(a[n], b[n])}


@pytest.mark.parametrize("architecture", MASKED_LM)
def test_a_language_model_gets_a_head_by_the_seed(architecture: str, language_model: Callable[[str], Path]) -> None:
    folder = language_model(architecture)
    first, again, other = (_state(folder, ("a", "b"), seed) for seed in (0, 0, 1))
    assert not _differ(first, again)
    new = HEADS[architecture] | POOLERS.get(architecture, set())
    assert _differ(first, other) == new
    saved = load_file(folder / "model.safetensors")
    encoder = first.keys() - new - {name.replace("weight", "bias") for name in new}
    assert len(encoder) > 20
    assert all(torch.equal(first[name], saved[name]) for name in encoder)
    assert first[sorted(HEADS[architecture])[0].replace("dense", "out_proj")].shape[0] == 2


@pytest.mark.parametrize("architecture", MASKED_LM)
def test_a_classifier_keeps_its_head_for_the_classes_it_knows_alone(
    architecture: str, checkpoint: Callable[[str], Path]
) -> None:
    folder = checkpoint(architecture)
    saved = load_file(folder / "model.safetensors")
    same, _ = load_base(folder, "mine", ("no", "yes", "maybe"), seed=3)
    assert not _differ(dict(same.state_dict()), saved)
    assert same.config.id2label == {0: "yes", 1: "maybe", 2: "no"}, "in its own order, which its head goes by"

    renamed, again, other = (_state(folder, ("red", "green", "blue"), seed) for seed in (3, 3, 4))
    assert _differ(renamed, saved) == HEADS[architecture]
    assert not _differ(renamed, again)
    assert _differ(renamed, other) == HEADS[architecture]


@pytest.mark.parametrize("architecture", MASKED_LM)
def test_another_number_of_classes_gets_a_new_head(architecture: str, checkpoint: Callable[[str], Path]) -> None:
    model, _ = load_base(checkpoint(architecture), "mine", ("yes", "no"), seed=0)
    saved = load_file(checkpoint(architecture) / "model.safetensors")
    changed = _differ(dict(model.state_dict()), saved)
    assert changed >= HEADS[architecture]
    assert all("classifier" in name for name in changed)
    assert (model.config.num_labels, model.config.id2label) == (2, {0: "yes", 1: "no"})
    assert model.config.label2id == {"yes": 0, "no": 1}
    assert all(torch.isfinite(weight).all() for weight in model.parameters())


def test_a_new_head_is_drawn_as_wide_as_the_architecture_says(checkpoint: Callable[[str], Path]) -> None:
    """96 weights of spread 0.15, biases of zero; the bound is five standard errors."""
    head = _state(checkpoint("bert"), ("red", "green", "blue"))
    assert float(head["classifier.weight"].std()) == pytest.approx(0.15, abs=5 * 0.15 / (2 * 96) ** 0.5)
    assert not head["classifier.bias"].any()


def test_the_callers_random_numbers_are_left_alone(checkpoint: Callable[[str], Path]) -> None:
    before = torch.random.get_rng_state()
    load_base(checkpoint("bert"), "mine", ("a", "b"), seed=0)
    assert torch.equal(before, torch.random.get_rng_state())


Spoil = Callable[[Path], Any]


def _weights(change: Callable[[State], State]) -> Spoil:
    def spoil(folder: Path) -> None:
        path = folder / "model.safetensors"
        save_file(change(load_file(path)), path, {"format": "pt"})

    return spoil


def _config(**fields: Any) -> Spoil:
    def spoil(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | fields))

    return spoil


def _as_pickle(folder: Path) -> None:
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def _no_tokenizer(folder: Path) -> None:
    for path in (*folder.glob("tokenizer*"), *folder.glob("vocab*")):
        path.unlink()


def _cut(name: str, size: int) -> Spoil:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:size])


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (
            _weights(lambda w: {name: t for name, t in w.items() if "layer.1.attention.self.query" not in name}),
            "lacks the weights bert.encoder.layer.1.attention.self.query.bias, .*no checkpoint of its own config",
        ),
        (_config(vocab_size=300), "has the weights bert.embeddings.word_embeddings.weight in another shape than"),
        (
            _config(intermediate_size=50),
            "has the weights bert.encoder.layer.0.intermediate.dense.bias, .* another shape",
        ),
        (_no_tokenizer, "model: .* has no tokenizer"),
        (_as_pickle, "model: .* holds no safetensors file"),
        (_cut("model.safetensors", 3000), "can't be loaded: "),
        (_cut("config.json", 10), "can't be loaded: .*config.json"),
        (_cut("tokenizer.json", 100), "can't be loaded: "),
        (_config(model_type="nonsense"), "can't be loaded: .*nonsense"),
    ],
    ids=["missing", "vocabulary", "shape", "no tokenizer", "pickle", "cut", "config", "cut tokenizer", "unknown"],
)
def test_what_will_not_do_is_refused_in_one_line(
    spoil: Spoil, told: str, language_model: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(language_model("bert"), tmp_path / "base"))
    spoil(folder)
    with pytest.raises(UserError, match=told if told.startswith("model: ") else f"^base: 'mine' {told}") as refused:
        load_base(folder, "mine", ("a", "b"), seed=0)
    assert "\n" not in str(refused.value)


def test_a_slow_tokenizer_is_refused(language_model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow:
        is_fast = False

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda *_, **__: Slow())
    with pytest.raises(UserError, match=r"^base: the tokenizer of 'mine' is a slow one; verax needs a fast one$"):
        load_base(language_model("bert"), "mine", ("a", "b"), seed=0)


def test_a_device_that_is_not_there_is_refused(language_model: Callable[[str], Path]) -> None:
    with pytest.raises(UserError, match=r"^device: 'nowhere' can't be used: "):
        load_base(language_model("bert"), "mine", ("a", "b"), seed=0, device="nowhere")
