"""Every architecture against the model itself, called by hand; and the model is left as it was."""

from __future__ import annotations

import copy
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

from support import tiny
from verax.data.text import split_words
from verax.models.classifier import Classifier, PathPoint
from verax.models.encoding import PerturbedInput
from verax.models.load import load_model
from verax.models.removal import CODES
from verax.models.subject import Subject
from verax.models.targets import Readout
from verax.types import Instance, Undefined, UserError

TOLERANCE = 1e-12
PAIR = ("The small red boat sails across the quiet lake.", "nobody is watching the boat")


@pytest.fixture(params=tiny.ARCHITECTURES)
def subject(request: pytest.FixtureRequest) -> tuple[Any, Any, Classifier]:
    """A model in float64, its tokenizer, and the two as verax asks them."""
    model, tokenizer = tiny.build(request.param)
    model = model.double()
    return model, tokenizer, load_model(model, tokenizer=tokenizer)


def pair(lang: str = "en") -> Instance:
    return Instance("pair", (split_words(PAIR[0]), split_words(PAIR[1])), "no")


def by_hand(model: Any, **inputs: Any) -> np.ndarray:
    with torch.no_grad():
        return model(**inputs).logits[0].numpy()


def row_without(classifier: Classifier, units: list[int], rule: str) -> tuple[PerturbedInput, np.ndarray]:
    """A row that lacks some units, and which tokens that concerns."""
    encoding = classifier.encode(pair())
    state = np.zeros(len(encoding.units), np.int8)
    state[units] = CODES[rule]  # type: ignore[index]
    return PerturbedInput(encoding, state), np.isin(encoding.token_unit, units)


def inputs_of(row: PerturbedInput, tokenizer: Any, keep: np.ndarray | None = None) -> dict[str, torch.Tensor]:
    ids, types = row.encoding.token_ids, row.encoding.type_ids
    keep = np.ones(len(ids), bool) if keep is None else keep
    inputs = {"input_ids": torch.tensor(ids[keep][None])}
    if "token_type_ids" in tokenizer.model_input_names:
        inputs["token_type_ids"] = torch.tensor(types[keep][None])
    return inputs


def test_the_full_input_is_what_the_tokenizer_makes_of_it(subject: tuple[Any, Any, Classifier]) -> None:
    model, tokenizer, classifier = subject
    row, _ = row_without(classifier, [], "delete")
    expected = by_hand(model, **tokenizer(*PAIR, return_tensors="pt"))
    assert np.abs(classifier.logits([row])[0] - expected).max() <= TOLERANCE


def test_deleted_words_are_not_there(subject: tuple[Any, Any, Classifier]) -> None:
    model, tokenizer, classifier = subject
    row, gone = row_without(classifier, [1, 4, 11], "delete")
    expected = by_hand(model, **inputs_of(row, tokenizer, ~gone))
    assert gone.sum() >= 3
    assert np.abs(classifier.logits([row])[0] - expected).max() <= TOLERANCE


def test_masked_words_are_mask_tokens(subject: tuple[Any, Any, Classifier]) -> None:
    model, tokenizer, classifier = subject
    if tokenizer.mask_token_id is None:
        assert "mask" not in classifier.removals
        return
    row, gone = row_without(classifier, [1, 4, 11], "mask")
    inputs = inputs_of(row, tokenizer)
    inputs["input_ids"][0, torch.tensor(gone)] = tokenizer.mask_token_id
    assert np.abs(classifier.logits([row])[0] - by_hand(model, **inputs)).max() <= TOLERANCE


def test_unattended_words_are_attended_by_nobody(subject: tuple[Any, Any, Classifier]) -> None:
    model, tokenizer, classifier = subject
    row, gone = row_without(classifier, [1, 4], "attention")
    inputs = inputs_of(row, tokenizer)
    inputs["attention_mask"] = torch.tensor(~gone[None]).long()
    if model.config.is_encoder_decoder:
        shifted = np.concatenate([[True], ~gone[:-1]])
        inputs["decoder_attention_mask"] = torch.tensor(shifted[None]).long()
    assert np.abs(classifier.logits([row])[0] - by_hand(model, **inputs)).max() <= TOLERANCE


@pytest.mark.parametrize("rule", ["zero", "pad"])
def test_embeddings_are_put_in_place(subject: tuple[Any, Any, Classifier], rule: str) -> None:
    """Against a copy of the model in which a token that is not in the text has just that embedding."""
    model, tokenizer, classifier = subject
    if rule not in classifier.removals:
        assert tokenizer.pad_token_id is None
        return
    row, gone = row_without(classifier, [1, 4], rule)
    inputs = inputs_of(row, tokenizer)
    stand_in = max(set(range(len(tokenizer))) - set(row.encoding.token_ids.tolist()))
    inputs["input_ids"][0, torch.tensor(gone)] = stand_in
    changed = copy.deepcopy(model)
    table = changed.get_input_embeddings().weight.data
    table[stand_in] = 0 if rule == "zero" else table[tokenizer.pad_token_id]
    assert np.abs(classifier.logits([row])[0] - by_hand(changed, **inputs)).max() <= TOLERANCE


@pytest.mark.parametrize("of", ["logit", "probability", "loss"])
def test_gradients_are_finite_differences(subject: tuple[Any, Any, Classifier], of: Any) -> None:
    """The value at each end of a small step along the path, for every architecture, BART's two readers included."""
    model, _, classifier = subject
    row, _ = row_without(classifier, [], "delete")
    # Llama's norms compute in float32 whatever the model's dtype, so its differences need a wider step
    step, rel, atol = (1e-2, 1e-3, 1e-3) if model.config.model_type == "llama" else (1e-4, 1e-5, 1e-7)
    readout, alpha = Readout(of, 1), 0.7
    path = classifier.path(row, "zero_words")
    way = path.inputs - path.baseline
    special = path.token_unit < 0
    assert np.abs(way[special]).max(initial=0) == 0
    points = [PathPoint(row, "zero_words", a, readout) for a in (alpha, alpha + step, alpha - step)]
    here, after, before = classifier.gradients(points)
    slope = (after.value - before.value) / (2 * step)
    assert here.gradient.shape == path.inputs.shape
    assert float((here.gradient * way).sum()) == pytest.approx(slope, abs=atol, rel=rel)


def test_a_batch_is_its_rows(subject: tuple[Any, Any, Classifier]) -> None:
    """Padding, and rows under different rules side by side, change nothing."""
    _, _, classifier = subject
    rules = ["delete", "zero", "attention", *(["mask"] if "mask" in classifier.removals else [])]
    rows = [row_without(classifier, units, rule)[0] for rule in rules for units in ([1], [4, 5], [11])]
    groups: dict[Any, list[PerturbedInput]] = {}
    for row in rows:
        length = int(classifier.lengths(row.encoding, row.state[None])[0])
        groups.setdefault(classifier.bucket(row, length), []).append(row)
    for group in groups.values():
        together = classifier.logits(group)
        for row, logits in zip(group, together, strict=True):
            assert np.abs(classifier.logits([row])[0] - logits).max() <= TOLERANCE


def fingerprint(model: Any) -> tuple[Any, ...]:
    return (
        {name: tensor.clone() for name, tensor in model.state_dict().items()},
        copy.deepcopy(model.config.to_dict()),
        [module.training for module in model.modules()],
        [len(module._forward_hooks) for module in model.modules()],
        [parameter.requires_grad for parameter in model.parameters()],
        [parameter.grad is None for parameter in model.parameters()],
        model.config._attn_implementation,
    )


def test_the_model_is_left_as_it_was(subject: tuple[Any, Any, Classifier]) -> None:
    """Even one that is being trained: dropout is off while it is asked, and on again after."""
    model, tokenizer, classifier = subject
    model.train()
    list(model.modules())[2].eval()
    vocabulary, before = len(tokenizer), fingerprint(model)
    row, _ = row_without(classifier, [1], "zero")
    first = classifier.logits([row])
    classifier.gradients([PathPoint(row, "zero", 0.5, Readout("logit", 0))])
    assert np.array_equal(first, classifier.logits([row])), "dropout was off"
    after = fingerprint(model)
    assert all(torch.equal(before[0][name], after[0][name]) for name in before[0])
    assert before[1:] == after[1:]
    assert len(tokenizer) == vocabulary


def test_an_error_in_the_model_leaves_no_hook_behind(subject: tuple[Any, Any, Classifier]) -> None:
    model, _, classifier = subject
    row, _ = row_without(classifier, [1], "zero")
    bad = PerturbedInput(
        row.encoding.__class__(
            **{name: getattr(row.encoding, name) for name in ("instance", "type_ids", "token_unit", "labels", "gold")},
            token_ids=row.encoding.token_ids + 10**6,
        ),
        row.state,
    )
    with pytest.raises(IndexError):
        classifier.logits([bad])
    assert not any(module._forward_hooks for module in model.modules())


def test_reading_position_is_the_last_token_when_pad_is_missing(classifier: Callable[..., Classifier]) -> None:
    """GPT-2 without a padding token: a batch gives what each row gives alone."""
    model = classifier("gpt2")
    rows = []
    for text in ("the boat sails", "the wind is strong"):
        encoding = model.encode(Instance(text, (split_words(text),)))
        rows.append(PerturbedInput(encoding, np.zeros(len(encoding.units), np.int8)))
    same = [rows[0], PerturbedInput(rows[0].encoding, rows[0].state.copy())]
    assert np.abs(model.logits(same) - model.logits(same[:1])).max() <= TOLERANCE
    assert np.abs(model.logits([rows[0]])[0] - model.logits([rows[1]])[0]).max() > 1e-6


# --- inputs that can't be explained -------------------------------------------------------------------------------


def reason(classifier: Classifier, *texts: str) -> str | None:
    try:
        classifier.encode(Instance("x", tuple(split_words(text) for text in texts)))
    except Undefined as undefined:
        return undefined.reason
    return None


@pytest.mark.parametrize("architecture", ["bert", "roberta", "xlm-roberta", "gpt2"])
def test_odd_texts_have_a_reason_or_are_read(architecture: str, classifier: Callable[..., Classifier]) -> None:
    model = classifier(architecture)
    assert reason(model, "") == "empty"
    assert reason(model, "  \n\t ") == "empty"
    assert reason(model, "a boat", " ") == "empty"
    assert reason(model, "\x00") == "empty"
    assert reason(model, "a boat \ud800 sails") == "bad_unicode"
    assert reason(model, "a", "boat", "sails") == "too_many_parts"
    assert reason(model, "word " * 500) == "too_long"
    for text in ("a\x00boat", "👩‍👩‍👧 boat 🇩🇪", "e\u0301te\u0301 ñ", "هذا البيت صغير", "\u202eboat\u202c", "一艘小船"):
        x = Subject(Instance("x", (split_words(text),)), model)
        encoding = x.encoding
        keep = np.zeros(x.n_units, bool)
        logits = model.logits(
            [PerturbedInput(encoding, x.state), PerturbedInput(encoding, x.states(keep[None], "zero")[0])]
        )
        assert np.isfinite(logits).all()
        assert set(encoding.token_unit.tolist()) <= {-1, *range(x.n_units)}


def test_a_text_of_special_tokens_only(classifier: Callable[..., Classifier]) -> None:
    assert reason(classifier("bert"), "[SEP] [CLS]") == "only_special_tokens"
    assert reason(classifier("bert"), "[SEP] boat") is None
    assert reason(classifier("bert"), "☃") is None, "an unknown word is a word"


def test_truncation_is_recorded(checkpoint: Callable[[str], Path]) -> None:
    model = load_model(checkpoint("bert"), on_long="truncate")
    text = split_words("boat " * 200)
    encoding = model.encode(Instance("long", (text,)))
    limit = int(model.about["max_length"])
    assert len(encoding.token_ids) == limit
    assert encoding.notes["words_cut_off"] == 200 - (limit - 2)
    assert encoding.notes["truncated_tokens"] == 202 - limit
    assert Subject(encoding.instance, model).n_units == limit - 2, "words that the model never saw are not explained"
    assert model.fingerprint != load_model(checkpoint("bert")).fingerprint, "a key knows what was done to long inputs"
    renamed = load_model(checkpoint("bert"), labels=["no", "maybe", "yes"])
    assert renamed.fingerprint != load_model(checkpoint("bert")).fingerprint


def test_lengths_up_to_the_limit_run(classifier: Callable[..., Classifier]) -> None:
    """RoBERTa's positions start behind its padding token's: the longest input that is let in must fit."""
    for architecture in tiny.ARCHITECTURES:
        model = classifier(architecture)
        n = 1
        while reason(model, "boat " * n) is None:
            n += 1
        encoding = model.encode(Instance("x", (split_words("boat " * (n - 1)),)))
        assert np.isfinite(model.logits([PerturbedInput(encoding, np.zeros(n - 1, np.int8))])).all()


# --- models that can't be had -------------------------------------------------------------------------------------


def test_a_model_with_one_class(tmp_path: Path) -> None:
    model, tokenizer = tiny.build("bert")
    model.config.id2label = {0: "only"}
    with pytest.raises(UserError, match="one class"):
        load_model(model, tokenizer=tokenizer)


def test_only_safetensors_are_loaded(tmp_path: Path, checkpoint: Callable[[str], Path]) -> None:
    source = checkpoint("bert")
    (tmp_path / "config.json").write_bytes((source / "config.json").read_bytes())
    torch.save({"weight": torch.zeros(1)}, tmp_path / "pytorch_model.bin")
    with pytest.raises(UserError, match="safetensors"):
        load_model(tmp_path)


def test_a_checkpoint_without_a_head_is_no_classifier(tmp_path: Path) -> None:
    model, tokenizer = tiny.build("bert")
    model.bert.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(UserError, match="no trained sequence classifier"):
        load_model(tmp_path)


def test_clear_errors_for_a_wrong_name(tmp_path: Path, checkpoint: Callable[[str], Path]) -> None:
    with pytest.raises(UserError, match="did you mean 'world/nli'"):
        load_model("world/nil")
    with pytest.raises(UserError, match="no folder"):
        load_model(str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match=r"config\.json"):
        load_model(tmp_path)
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"x")
    with pytest.raises(UserError, match="is a file"):
        load_model(file)
    with pytest.raises(UserError, match="dtype"):
        load_model(checkpoint("bert"), dtype="int8")  # type: ignore[arg-type]
    for device in ("cuda", "toaster"):
        with pytest.raises(UserError, match=f"device: '{device}' can't be used"):
            load_model(checkpoint("bert"), device=device)
    with pytest.raises(UserError, match="needs 3 different names"):
        load_model(checkpoint("bert"), labels=["a", "b"])


def test_damaged_weights_are_one_clear_error(tmp_path: Path, checkpoint: Callable[[str], Path]) -> None:
    for path in checkpoint("bert").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(UserError, match="can't be loaded"):
        load_model(tmp_path)


def test_changed_weights_are_another_model(tmp_path: Path) -> None:
    tiny.save("bert", tmp_path, seed=1)
    first = load_model(tmp_path).fingerprint
    tiny.build("bert", seed=2)[0].save_pretrained(tmp_path)
    second = load_model(tmp_path).fingerprint
    assert first["weights"] != second["weights"]
    assert first["tokenizer"] == second["tokenizer"]
    assert load_model(tmp_path, dtype="float64").fingerprint != second
    model, tokenizer = tiny.build("bert", seed=1)
    in_memory = load_model(model, tokenizer=tokenizer).fingerprint
    with torch.no_grad():
        next(model.parameters())[0, 0] += 1
    assert load_model(model, tokenizer=tokenizer).fingerprint["weights"] != in_memory["weights"]


def test_a_hub_id_is_found_in_the_cache(tmp_path: Path, checkpoint: Callable[[str], Path]) -> None:
    """Offline, as on a cluster's nodes: the hub's own cache layout, read through the hub's own library."""
    revision = "0" * 40
    snapshot = tmp_path / "models--somebody--tiny-bert" / "snapshots" / revision
    shutil.copytree(checkpoint("bert"), snapshot)
    refs = snapshot.parent.parent / "refs"
    refs.mkdir()
    (refs / "main").write_text(revision)
    code = (
        "from verax import load_model, UserError\n"
        "print(load_model('somebody/tiny-bert').labels)\n"
        "try: load_model('somebody/else')\n"
        "except UserError as error: print('refused:', error)\n"
    )
    environment = {**os.environ, "HF_HUB_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    found, refused = done.stdout.strip().split("\n")
    assert found == "('yes', 'maybe', 'no')"
    assert refused.startswith("refused: unknown model 'somebody/else'")


@pytest.mark.parametrize("order", [1, 2])
def test_the_norm_over_the_vocabulary_is_that_of_the_whole_product(order: Literal[1, 2]) -> None:
    """1e-12 relative, in float64; and it follows weights that change."""
    inner, tokenizer = tiny.build("bert")
    model = load_model(inner.double(), tokenizer=tokenizer)
    words = inner.get_input_embeddings().weight
    slope = np.random.default_rng(0).normal(size=(7, words.shape[1]))
    for _ in range(2):
        expected = np.linalg.norm(slope @ words.detach().numpy().T, ord=order, axis=1)
        np.testing.assert_allclose(model.vocabulary_norm(slope, order), expected, rtol=1e-12)
        with torch.no_grad():
            words.mul_(1.5)
