"""Token methods against Captum, exact formulas and finite cases; tolerances are stated beside each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from captum.attr import FeatureAblation, LayerActivation
from captum.attr import GuidedBackprop as CaptumGuidedBackprop
from captum.attr import InputXGradient as CaptumInputXGradient
from captum.attr import IntegratedGradients as CaptumIntegratedGradients
from captum.attr import Occlusion as CaptumOcclusion
from captum.attr import Saliency as CaptumSaliency
from hypothesis import given
from hypothesis import strategies as st

from support import tiny
from verax.api import _outcome, explain
from verax.data.text import split_words
from verax.engine.engine import Engine
from verax.methods.baselines import RandomScores
from verax.methods.gradients import Activation, GradientVocabulary, GuidedBackprop, InputXGradient, Saliency
from verax.methods.integrated_gradients import IntegratedGradients
from verax.methods.occlusion import LeaveOneOut, Occlusion
from verax.models.classifier import Classifier
from verax.models.encoding import PerturbedInput
from verax.models.load import load_model
from verax.models.removal import CODES
from verax.models.subject import Subject
from verax.models.untouched import embedded, word_embeddings
from verax.stats.aggregation import over_dimensions
from verax.types import Instance, Target, Undefined, UserError

PAIR = ("The small red boat sails across the quiet lake.", "nobody is watching the boat")
GOLD = 2


@pytest.fixture(scope="module", params=["float32", "float64"])
def captum_subject(request: pytest.FixtureRequest) -> tuple[Classifier, dict[str, Any], float]:
    """A BERT as verax asks it; the same as a function of word embeddings, for Captum; and the tolerance."""
    model, tokenizer = tiny.build("bert")
    model = model.to(getattr(torch, request.param))
    encoded = tokenizer(*PAIR, return_tensors="pt")
    table = model.get_input_embeddings()
    embeds = table(encoded["input_ids"]).detach()
    special = torch.tensor([part is None for part in encoded.sequence_ids(0)])
    baseline = torch.where(special[None, :, None], embeds, table(torch.tensor(tokenizer.pad_token_id))).detach()

    def logits(embeds: torch.Tensor) -> torch.Tensor:
        types = encoded["token_type_ids"].expand(len(embeds), -1)
        return model(inputs_embeds=embeds, token_type_ids=types).logits

    captum = {"logits": logits, "embeds": embeds.requires_grad_(), "baseline": baseline}
    return load_model(model, tokenizer=tokenizer), captum, 1e-6 if request.param == "float32" else 1e-10


def words_of(classifier: Classifier, tokens: np.ndarray) -> np.ndarray:
    encoding = classifier.encode(Instance("x", tuple(map(split_words, PAIR))))
    totals = np.zeros(len(encoding.units))
    for unit, score in zip(encoding.token_unit, tokens, strict=True):
        if unit >= 0:
            totals[unit] += score
    return totals


def ours(classifier: Classifier, method: Any) -> np.ndarray:
    return np.array(explain(classifier, *PAIR, method=method, label="no").highlight.scores)


@pytest.mark.parametrize("how", ["sum", "mean", "l1", "l2"])
def test_saliency_is_captums(captum_subject: tuple[Classifier, dict[str, Any], float], how: Any) -> None:
    classifier, captum, tolerance = captum_subject
    theirs = (
        CaptumSaliency(captum["logits"]).attribute(captum["embeds"], target=GOLD, abs=True)[0].detach().double().numpy()
    )
    mine = ours(classifier, Saliency(Target("gold"), aggregate=how))
    assert np.abs(mine - words_of(classifier, over_dimensions(theirs, how))).max() <= tolerance * len(theirs[0])


def test_input_x_gradient_is_captums(captum_subject: tuple[Classifier, dict[str, Any], float]) -> None:
    classifier, captum, tolerance = captum_subject
    theirs = (
        CaptumInputXGradient(captum["logits"]).attribute(captum["embeds"], target=GOLD)[0].detach().double().numpy()
    )
    assert (
        np.abs(ours(classifier, InputXGradient(Target("no"))) - words_of(classifier, theirs.sum(1))).max() <= tolerance
    )
    absolute = ours(classifier, InputXGradient(Target("no"), absolute=True))
    assert np.abs(absolute - words_of(classifier, np.abs(theirs.sum(1)))).max() <= tolerance


@pytest.mark.parametrize("how", ["sum", "mean"])
def test_signed_saliency_into_a_layer_norm_is_noise(
    captum_subject: tuple[Classifier, dict[str, Any], float], how: Any
) -> None:
    """What is left of Captum's gradient when it is summed over dimensions is rounding, and is not ranked."""
    classifier, captum, tolerance = captum_subject
    theirs = CaptumSaliency(captum["logits"]).attribute(captum["embeds"], target=GOLD, abs=False)[0]
    assert np.abs(over_dimensions(theirs.detach().double().numpy(), how)).max() <= tolerance
    with pytest.raises(Undefined, match="no_signal"):
        ours(classifier, Saliency(Target("gold"), how, signed=True))


def test_signed_saliency_is_the_gradient(classifier: Callable[..., Classifier]) -> None:
    """Llama's first norm does not centre: summed over dimensions, against autograd at the embeddings (1e-10)."""
    model, tokenizer = tiny.build("llama")
    model = model.double()
    wrapped = load_model(model, tokenizer=tokenizer)
    embeds = model.get_input_embeddings()(tokenizer(*PAIR, return_tensors="pt")["input_ids"]).detach().requires_grad_()
    # the head looks for the last token in ids, and hands over to the first when there is none: so read by hand
    hidden = model.model(inputs_embeds=embeds).last_hidden_state[:, -1]
    (gradient,) = torch.autograd.grad(model.score(hidden)[0, GOLD], embeds)
    signed = ours(wrapped, Saliency(Target("gold"), "sum", signed=True))
    assert np.abs(signed - words_of(wrapped, gradient[0].sum(1).numpy())).max() <= 1e-10
    absolute = ours(wrapped, Saliency(Target("gold"), "sum", signed=True, absolute=True))
    assert np.abs(absolute - words_of(wrapped, gradient[0].sum(1).abs().numpy())).max() <= 1e-10


@pytest.mark.parametrize("how", ["sum", "mean", "l1", "l2"])
def test_guided_backprop_is_captums_on_relu(how: Any) -> None:
    """On a model with ReLU and in float64 (Captum hands back hooks that only fit modules called once): 1e-10."""
    model, tokenizer = tiny.build("bert", hidden_act="relu")
    model = model.double()
    encoded = tokenizer(*PAIR, return_tensors="pt")
    embeds = model.get_input_embeddings()(encoded["input_ids"]).detach().requires_grad_()

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, embeds: torch.Tensor) -> torch.Tensor:
            return self.model(inputs_embeds=embeds, token_type_ids=encoded["token_type_ids"]).logits

    with pytest.warns(UserWarning, match="Setting backward hooks on ReLU"):
        theirs = CaptumGuidedBackprop(Logits()).attribute(embeds, target=GOLD)[0].detach().numpy()
    classifier = load_model(model, tokenizer=tokenizer)
    plain = ours(classifier, Saliency(Target("gold"), "l1"))
    if how in {"sum", "mean"}:
        with pytest.raises(Undefined, match="no_signal"):
            ours(classifier, GuidedBackprop(Target("gold"), how))
        assert np.abs(theirs.sum(1)).max() <= 1e-10
        return
    mine = ours(classifier, GuidedBackprop(Target("gold"), how))
    assert np.abs(mine - words_of(classifier, over_dimensions(theirs, how))).max() <= 1e-10
    assert np.abs(ours(classifier, GuidedBackprop(Target("gold"), "l1")) - plain).max() > 1e-3, "something was gated"


def test_guided_backprop_is_the_gradient_on_gelu(classifier: Callable[..., Classifier]) -> None:
    """There is nothing to gate: the very same numbers."""
    model = classifier("bert")
    assert (ours(model, GuidedBackprop()) == ours(model, Saliency())).all()
    signed = ours(classifier("llama"), GuidedBackprop(aggregate="sum"))  # its first norm does not centre
    assert np.ptp(signed) > 1e-3
    assert (ours(classifier("llama"), GuidedBackprop(aggregate="sum", absolute=True)) >= np.abs(signed)).all()


@pytest.mark.parametrize("how", ["sum", "mean", "l1", "l2"])
def test_activation_is_captums(how: Any) -> None:
    """The output of the word embedding layer itself: 1e-12 in float64."""
    model, tokenizer = tiny.build("bert")
    model = model.double()
    ids = tokenizer(*PAIR, return_tensors="pt")["input_ids"]
    theirs = LayerActivation(lambda ids: model(ids).logits, model.get_input_embeddings()).attribute(ids)[0]
    classifier = load_model(model, tokenizer=tokenizer)
    tokens = over_dimensions(theirs.detach().numpy(), how)
    assert np.abs(ours(classifier, Activation(aggregate=how)) - words_of(classifier, tokens)).max() <= 1e-12
    absolute = ours(classifier, Activation(Target("loss"), how, absolute=True))
    assert np.abs(absolute - words_of(classifier, np.abs(tokens))).max() <= 1e-12


def test_occlusion_is_captums(captum_subject: tuple[Classifier, dict[str, Any], float]) -> None:
    """Words as features of an ablation, and windows of one token over the embeddings; Captum adds 2e-7 of its own."""
    classifier, captum, tolerance = captum_subject
    encoding = classifier.encode(Instance("x", tuple(map(split_words, PAIR))))
    units = torch.tensor(np.where(encoding.token_unit >= 0, encoding.token_unit + 1, 0))
    mask = units[None, :, None].expand_as(captum["embeds"])
    ablated = FeatureAblation(captum["logits"]).attribute(
        captum["embeds"], captum["baseline"], target=GOLD, feature_mask=mask
    )
    theirs = np.array(
        [float(ablated[0, int(np.flatnonzero(units == u + 1)[0]), 0]) for u in range(len(encoding.units))]
    )
    mine = ours(classifier, Occlusion(Target("gold")))
    assert np.abs(mine - theirs).max() <= max(tolerance, 4e-7)
    assert np.abs(ours(classifier, Occlusion(Target("gold"), absolute=True)) - np.abs(theirs)).max() <= 4e-7
    windows = CaptumOcclusion(captum["logits"]).attribute(
        captum["embeds"], (1, captum["embeds"].shape[-1]), baselines=captum["baseline"], target=GOLD
    )[0, :, 0]
    alone = [u for u in range(len(encoding.units)) if (encoding.token_unit == u).sum() == 1]
    slid = np.array([float(windows[int(np.flatnonzero(encoding.token_unit == u)[0])]) for u in alone])
    assert np.abs(mine[alone] - slid).max() <= max(tolerance, 4e-7)


def test_occlusion_with_wider_windows_by_hand(classifier: Callable[..., Classifier]) -> None:
    """Windows of two words inside each part: a word's score is the mean over the windows that hold it (1e-12)."""
    model = classifier("bert")
    encoding = model.encode(Instance("x", (split_words("the red boat"), split_words("a lake"))))
    windows = [(0, 1), (1, 2), (3, 4)]

    def value(removed: tuple[int, ...]) -> float:
        state = np.zeros(5, np.int8)
        state[list(removed)] = CODES["mask"]
        return float(model.logits([PerturbedInput(encoding, state)])[0, GOLD])

    drops = [value(()) - value(window) for window in windows]
    expected = [drops[0], (drops[0] + drops[1]) / 2, drops[1], drops[2], drops[2]]
    method = Occlusion(Target("no"), window=2, removal="mask")
    assert explain(model, "the red boat", "a lake", method=method).highlight.scores == pytest.approx(
        expected, abs=1e-12
    )
    whole = explain(model, "the red boat", "a lake", method=Occlusion(Target("no"), 9, "mask")).highlight.scores
    assert whole[:3] == pytest.approx([value(()) - value((0, 1, 2))] * 3, abs=1e-12)
    one = explain(model, "the red boat", "a lake", method=Occlusion(Target("no"), removal="mask")).highlight.scores
    assert one == explain(model, "the red boat", "a lake", method=LeaveOneOut(Target("no"))).highlight.scores


@pytest.mark.parametrize("architecture", ["bert", "bart"])
def test_one_hot_readings(architecture: str) -> None:
    """Gradients with respect to real one-hot vectors: 1e-10 for the norms, the product and the path from zero."""
    model, tokenizer = tiny.build(architecture, **({"scale_embedding": True} if architecture == "bart" else {}))
    model = model.double()
    classifier = load_model(model, tokenizer=tokenizer)
    encoding = classifier.encode(Instance("x", tuple(map(split_words, PAIR)), "no"))
    ids = torch.tensor(encoding.token_ids[None])
    table = word_embeddings(model)
    scale = float(getattr(table, "embed_scale", 1.0))
    inputs = {"input_ids": ids, "use_cache": False} if architecture == "bart" else {"input_ids": ids}
    if architecture == "bert":
        inputs["token_type_ids"] = torch.tensor(encoding.type_ids[None])

    def gradient(alpha: float) -> np.ndarray:
        one_hot = (torch.nn.functional.one_hot(ids, len(table.weight)).double() * alpha).requires_grad_()
        with embedded(model, ids, one_hot @ table.weight * scale):
            (slope,) = torch.autograd.grad(model(**inputs).logits[0, GOLD], one_hot)
        return slope[0].numpy()

    at_input, own = gradient(1.0), ids[0].numpy()
    rows = np.arange(len(own))
    for norm, order in (("l1", 1), ("l2", 2)):
        expected = words_of(classifier, np.linalg.norm(at_input, ord=order, axis=1))
        assert np.abs(ours(classifier, GradientVocabulary(Target("gold"), norm)) - expected).max() <= 1e-10  # type: ignore[arg-type]
    product = at_input[rows, own]
    integrated = sum(gradient((k + 1) / 5)[rows, own] for k in range(5)) / 5
    for absolute in (False, True):
        size = np.abs if absolute else np.asarray
        assert (
            np.abs(
                ours(classifier, InputXGradient(Target("gold"), absolute=absolute))
                - words_of(classifier, size(product))
            ).max()
            <= 1e-10
        )
        path = IntegratedGradients(Target("gold"), 5, "zero", "riemann_right", absolute=absolute)
        assert np.abs(ours(classifier, path) - words_of(classifier, size(integrated))).max() <= 1e-10


def test_the_vocabulary_is_never_whole_in_memory(monkeypatch: pytest.MonkeyPatch, classifier: Any) -> None:
    """Slices of a few numbers give the same norm as one slice (1e-12)."""
    model = classifier("bert")
    whole = ours(model, GradientVocabulary())
    monkeypatch.setattr("verax.models.hf_classifier._AT_ONCE", 100)
    assert np.abs(ours(model, GradientVocabulary()) - whole).max() <= 1e-12


@pytest.mark.parametrize(("rule", "captums"), [("gauss_legendre", "gausslegendre"), ("riemann_right", "riemann_right")])
def test_integrated_gradients_is_captums(
    captum_subject: tuple[Classifier, dict[str, Any], float], rule: Any, captums: str
) -> None:
    """Captum computes its step sizes in float32 whatever the model's dtype: 1e-5 and 1e-7."""
    classifier, captum, tolerance = captum_subject
    attribute = CaptumIntegratedGradients(captum["logits"]).attribute
    theirs = attribute(captum["embeds"], captum["baseline"], target=GOLD, n_steps=30, method=captums)
    mine = ours(classifier, IntegratedGradients(Target("gold"), steps=30, rule=rule))
    difference = np.abs(mine - words_of(classifier, theirs[0].detach().double().sum(1).numpy())).max()
    assert difference <= (1e-5 if tolerance == 1e-6 else 1e-7)


@pytest.mark.parametrize("baseline", ["pad", "mask", "zero", "zero_words"])
@pytest.mark.parametrize("target", [Target(), Target("loss"), Target("yes", "probability")])
def test_integrated_gradients_are_complete(
    classifier: Callable[..., Classifier], baseline: Any, target: Target
) -> None:
    """At many points the error vanishes, and the recorded error is the true one."""
    model = classifier("bert")
    fine = explain(model, *PAIR, method=IntegratedGradients(target, 200, baseline), label="no").highlight
    assert fine.notes["completeness_error"] <= 1e-9
    coarse = explain(
        model, *PAIR, method=IntegratedGradients(target, 2, baseline, "riemann_right"), label="no"
    ).highlight
    assert coarse.notes["completeness_error"] > 1e-4
    if baseline != "zero":  # special tokens take no share of the way
        deleted = IntegratedGradients(target, 200, baseline)
        total = sum(explain(model, *PAIR, method=deleted, label="no").highlight.scores)
        assert np.isfinite(total)


@pytest.mark.parametrize("baseline", ["pad", "mask", "zero", "zero_words"])
@pytest.mark.parametrize("removal", ["pad", "mask", "zero", "delete", "attention"])
def test_integrated_gradients_are_complete_on_what_is_left(
    classifier: Callable[..., Classifier], baseline: Any, removal: Any
) -> None:
    """Words that are removed already stay as they are all along the path."""
    model = classifier("bert")
    x = Subject(Instance("x", tuple(map(split_words, PAIR)), "no"), model)
    dropped = np.arange(x.n_units) % 3 == 1
    method = IntegratedGradients(Target("gold"), 200, baseline)
    made = _outcome(Engine(), method(x.without(dropped, removal))).value
    assert made is not None
    assert len(made.scores) == (~dropped).sum()
    assert made.notes["completeness_error"] <= 1e-8


def test_leave_one_out_by_hand(classifier: Callable[..., Classifier]) -> None:
    """Each word masked by hand in the text that the tokenizer sees."""
    model, tokenizer = tiny.build("bert")
    model = model.double()
    wrapped = load_model(model, tokenizer=tokenizer)
    encoded = tokenizer(*PAIR, return_tensors="pt")
    encoding = wrapped.encode(Instance("x", tuple(map(split_words, PAIR))))
    with torch.no_grad():
        full = model(**encoded).logits[0]
        label = int(full.argmax())
        expected = []
        for unit in range(len(encoding.units)):
            ids = encoded["input_ids"].clone()
            ids[0, torch.tensor(encoding.token_unit == unit)] = tokenizer.mask_token_id
            masked = model(input_ids=ids, token_type_ids=encoded["token_type_ids"]).logits[0]
            expected.append(float(full[label] - masked[label]))
    mine = explain(wrapped, *PAIR, method="leave_one_out").highlight
    assert np.abs(np.array(mine.scores) - expected).max() <= 1e-12
    absolute = explain(wrapped, *PAIR, method=LeaveOneOut(absolute=True)).highlight
    assert absolute.scores == pytest.approx(np.abs(expected), abs=1e-12)


def test_targets_are_what_they_say(classifier: Callable[..., Classifier]) -> None:
    model = classifier("bert")
    predicted = explain(model, *PAIR, method=LeaveOneOut()).prediction.label

    def scores(target: Target, label: str | None = None) -> tuple[float, ...]:
        return explain(model, *PAIR, method=LeaveOneOut(target), label=label).highlight.scores

    assert scores(Target()) == scores(Target(predicted)) == scores(Target("gold"), predicted)
    assert scores(Target("gold"), "maybe") == scores(Target("maybe")) == scores(Target("MAYBE"))
    probability, loss = (np.array(scores(t, "maybe")) for t in (Target("gold", "probability"), Target("loss")))
    assert (np.sign(probability) == np.sign(loss)).all(), "log is monotone"
    with pytest.raises(Undefined, match="no_label"):
        scores(Target("gold"))
    with pytest.raises(Undefined, match="unknown_label"):
        scores(Target("loss"), "perhaps")
    with pytest.raises(UserError, match="did you mean 'maybe'"):
        scores(Target("maybee"))


@given(st.integers(0, 2**32), st.text(min_size=1).filter(lambda raw: bool(split_words(raw).words)))
def test_random_depends_on_seed_and_text_alone(seed: int, raw: str) -> None:
    model = load_model(lambda texts: [[0.5, 0.5]] * len(texts), labels=["a", "b"])

    def scores(seed: int, text: str) -> tuple[float, ...]:
        return explain(model, text, method=RandomScores(seed)).highlight.scores

    assert scores(seed, raw) == scores(seed, raw)
    assert scores(seed, raw) != scores(seed + 1, raw)
    assert scores(seed, raw) != scores(seed, f"{raw} x")[: len(scores(seed, raw))]


def test_random_is_uniform() -> None:
    """Over 400 texts of five words, the mean is within four standard errors of a half."""
    model = load_model(lambda texts: [[0.5, 0.5]] * len(texts), labels=["a", "b"])
    drawn = np.array([explain(model, f"w{i} a b c d", method="random").highlight.scores for i in range(400)])
    assert abs(drawn.mean() - 0.5) <= 4 * np.sqrt(1 / 12 / drawn.size)
    assert drawn.min() >= 0
    assert drawn.max() < 1


def test_bad_parameters() -> None:
    with pytest.raises(UserError, match="steps: got 0"):
        IntegratedGradients(steps=0)
    with pytest.raises(UserError, match="signed: the norm l2 has no sign"):
        Saliency(signed=True)
    with pytest.raises(UserError, match="window: got 0"):
        Occlusion(window=0)
