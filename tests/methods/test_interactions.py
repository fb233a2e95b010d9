"""Interactions between words: against brute force over all coalitions, and against literal code on open models."""

from __future__ import annotations

import sys
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import FNetConfig, FNetForSequenceClassification
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from support import tiny
from support.games import game_model, random_game, words
from verax.api import explain, explain_all
from verax.data.text import split_words
from verax.engine.engine import Engine, Task
from verax.engine.questions import AttentionPathGradient
from verax.methods.attention import AttentionAttribution, AttentionInteraction
from verax.models.classifier import Classifier
from verax.models.load import load_model
from verax.models.subject import Subject
from verax.models.targets import Readout
from verax.types import Instance, Target, Undefined, UserError

PAIR = ("The small red boat sails across the quiet lake.", "nobody is watching the boat")
EXACT = 1e-10


def brute_force(values: np.ndarray, i: int, j: int, *, present: bool) -> float:
    """Equation 22, literally: over the coalitions without i that hold j (or, with `present` off, that do not)."""
    n = len(values).bit_length() - 1
    others = [word for word in range(n) if word != i]
    total = 0.0
    for size in range(n):
        for members in combinations(others, size):
            if (j in members) == present:
                number = sum(1 << word for word in members)
                weight = factorial(size) * factorial(n - size - 1) / factorial(n)
                total += weight * (values[number | 1 << i] - values[number])
    return total


def directed(values: np.ndarray, **parameters: object) -> np.ndarray:
    """The importance of i given j by the method, shape [n, n], NaN on the diagonal."""
    n = len(values).bit_length() - 1
    fixed = {"target": Target("win"), "removal": "delete", "parts": "within", "directed": True}
    made = explain(game_model(values), words(n), method={"bivariate_shapley": {**fixed, **parameters}}).highlight
    found = np.full((n, n), np.nan)
    for (a, b), score in zip(made.units, made.scores, strict=True):
        found[a.start, b.start] = score
    return found


@pytest.mark.parametrize("n", [2, 3, 6, 10])
@pytest.mark.parametrize("coalitions", ["kernel_shap", "shapley_sampling"])
def test_bivariate_shapley_is_that_of_brute_force(n: int, coalitions: str) -> None:
    values = random_game(n, seed=n)
    found = directed(values, coalitions=coalitions, permutations=2**n)
    for i, j in [(0, 1), (1, 0), (n - 1, 0), (n // 2, n - 1)]:
        if i != j:
            assert found[i, j] == pytest.approx(brute_force(values, i, j, present=True), abs=EXACT)


def test_both_directions_make_the_shapley_value() -> None:
    """What i adds with j there, and what it adds without, are together what it adds: its Shapley value."""
    values = random_game(7, seed=1)
    found = directed(values)
    for i, j in combinations(range(7), 2):
        shapley = brute_force(values, i, j, present=True) + brute_force(values, i, j, present=False)
        absent = brute_force(values, i, j, present=False)
        assert found[i, j] == pytest.approx(shapley - absent, abs=EXACT)


def test_players_that_can_be_swapped_have_the_same_scores() -> None:
    """A game that counts w0 and w1 alike: whatever is said of one is said of the other."""
    n = 5
    bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    values = -3 + 0.3 * (bits[:, 0] + bits[:, 1]) + 0.4 * bits[:, 0] * bits[:, 1] + 0.2 * bits[:, 2] * bits[:, 3]
    found = directed(values)
    assert found[0, 1] == pytest.approx(found[1, 0], abs=EXACT)
    for other in range(2, n):
        assert found[0, other] == pytest.approx(found[1, other], abs=EXACT)
        assert found[other, 0] == pytest.approx(found[other, 1], abs=EXACT)


def test_half_of_an_additive_value_whatever_was_drawn() -> None:
    """j comes in before i in half of all orders: where nothing interacts, any sample gives that exactly."""
    n = 12
    bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    pull = np.linspace(-0.1, 0.12, n)
    values = -2 + bits @ pull
    found = directed(values, budget=80)
    off = ~np.eye(n, dtype=bool)
    assert np.abs(found - pull[:, None] / 2)[off].max() <= EXACT


@pytest.mark.parametrize("parameters", [{"budget": 120}, {"coalitions": "shapley_sampling", "permutations": 9}])
def test_samples_are_right_on_average(parameters: dict[str, object]) -> None:
    """Over 60 seeds the mean of the estimates is within 4.5 standard errors of the truth for each pair."""
    n = 9
    values = random_game(n, seed=5)
    drawn = np.array([directed(values, seed=seed, **parameters) for seed in range(60)])
    off = [(i, j) for i in range(n) for j in range(n) if i != j]
    truth = np.array([brute_force(values, i, j, present=True) for i, j in off])
    estimates = np.array([[one[place] for place in off] for one in drawn])
    error = estimates.std(0, ddof=1) / np.sqrt(len(drawn))
    assert (np.abs(estimates.mean(0) - truth) <= 4.5 * error + EXACT).all()
    assert estimates.std(0).max() > 0


@pytest.mark.parametrize("whose", ["kernel_shap", "shapley_sampling"])
def test_no_pass_of_its_own_where_the_shapley_values_ran(whose: str) -> None:
    model = load_model("world/nli")
    removal = {"removal": "mask"}
    made = explain_all(
        model,
        "A tall woman is in the park, while a dog is asleep.",
        "The woman is outdoors.",
        methods=[
            {whose: removal},
            {"bivariate_shapley": {"coalitions": whose, **removal}},
            {"louvain": {"draws": 1}},
            {"louvain": {"draws": 2}},
        ],
    )
    first, second, third, fourth = (highlight.cost for highlight in made.highlights)
    assert first.forward > 100
    assert second.forward == 0
    assert second.forward_asked >= first.forward
    assert third.forward == 0 or whose == "shapley_sampling"
    assert 0 < fourth.forward < third.forward_asked, "the first draw is shared, the second is its own"


def test_a_pair_is_the_mean_of_its_directions() -> None:
    model = load_model("world/nli", dtype="float64")
    both = explain(model, *PAIR, method={"bivariate_shapley": {"directed": True, "budget": 200}}).highlight
    one = explain(model, *PAIR, method={"bivariate_shapley": {"budget": 200}}).highlight
    scores = dict(zip(both.units, both.scores, strict=True))
    assert len(one.units) == len(both.units) // 2 == 10 * 5
    for (a, b), score in zip(one.units, one.scores, strict=True):
        assert (a.part, b.part) == (0, 1)
        assert score == pytest.approx((scores[a, b] + scores[b, a]) / 2, abs=EXACT)


@pytest.mark.parametrize("method", ["bivariate_shapley", "attention_interaction", "random_interaction", "random_span"])
def test_one_part_is_refused_or_paired_within(method: str) -> None:
    model = load_model("world/opinion")
    with pytest.raises(Undefined, match=r"needs_two_parts.*parts: within"):
        explain(model, "the old hotel was lovely", method=method)
    made = explain(model, "the old hotel was lovely", method={method: {"parts": "within"}}).highlight
    assert made.units
    assert all(a.part == b.part == 0 and a.end <= b.start for a, b in made.units)
    with pytest.raises(Undefined, match="no_pairs"):
        explain(model, "lovely", method={method: {"parts": "within"}})


def test_one_word_in_a_part() -> None:
    made = explain(load_model("world/nli"), "rain falls", "weather", method="bivariate_shapley").highlight
    assert len(made.units) == 2


@pytest.fixture(scope="module", params=tiny.ARCHITECTURES)
def subject(request: pytest.FixtureRequest) -> tuple[str, Any, Classifier]:
    model, tokenizer = tiny.build(request.param, seed=2)
    model = model.double()
    return request.param, model, load_model(model, tokenizer=tokenizer)


def inputs_of(architecture: str, encoding: Any) -> dict[str, torch.Tensor]:
    inputs = {"input_ids": torch.tensor(encoding.token_ids[None])}
    if architecture == "bert":
        inputs["token_type_ids"] = torch.tensor(encoding.type_ids[None])
    return inputs


def by_words(tokens: np.ndarray, encoding: Any) -> np.ndarray:
    """Mean over sub-word pairs, one pair of words at a time: [tokens, tokens] -> [units, units]."""
    own = [np.flatnonzero(encoding.token_unit == unit) for unit in range(len(encoding.units))]
    return np.array([[tokens[np.ix_(rows, columns)].mean() for columns in own] for rows in own])


def moved(tokens: np.ndarray, *, rows: bool, columns: bool) -> np.ndarray:
    """Places of a decoder as those of the tokens that it reads there, one place late."""
    shifted = np.zeros_like(tokens)
    below, right = (1 if rows else 0), (1 if columns else 0)
    kept = tokens[below:, right:]
    shifted[: kept.shape[0], : kept.shape[1]] = kept
    return shifted


def test_attention_between_words_is_that_of_the_model(subject: tuple[str, Any, Classifier]) -> None:
    architecture, _, classifier = subject
    opened, _ = tiny.build(architecture, seed=2, attn_implementation="eager")
    encoding = classifier.encode(Instance("x", tuple(map(split_words, PAIR))))
    if architecture == "gpt2":
        opened.config.pad_token_id = 0
    with torch.no_grad():
        answer = opened.double()(**inputs_of(architecture, encoding), output_attentions=True)
    crossing = architecture == "bart"
    maps = (answer.cross_attentions if crossing else answer.attentions)[-1][0].numpy()
    for head in (0, 1, "mean"):
        tokens = maps.mean(0) if head == "mean" else maps[head]  # type: ignore[call-overload]
        expected = by_words(moved(tokens, rows=True, columns=False) if crossing else tokens, encoding)
        made = explain(classifier, *PAIR, method=AttentionInteraction(head=head)).highlight  # type: ignore[arg-type]
        for (a, b), score in zip(made.units, made.scores, strict=True):
            i, j = encoding.units.index((a,)), encoding.units.index((b,))
            assert score == pytest.approx((expected[i, j] + expected[j, i]) / 2, abs=1e-12)


def test_the_head_is_that_of_attention() -> None:
    model = load_model("world/nli")
    made = explain_all(model, *PAIR, methods=["attention", "attention_interaction"])
    assert made.highlights[0].notes["head"] == made.highlights[1].notes["head"]
    with pytest.raises(UserError, match="head: got 99"):
        explain(model, *PAIR, method={"attention_interaction": {"head": 99}})


class _Literal:
    """Attention attribution as one would write it down: scale one map, ask autograd for its gradient, layer by layer.

    The map is the leaf here, and every point of the path is a call of its own.
    """

    def __init__(self, architecture: str, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.model, self.layer, self.alpha, self.calls = model, -1, 1.0, 0
        self.maps: dict[int, torch.Tensor] = {}
        self.modules: dict[int, nn.Module] = {}
        home = sys.modules[type(model).__module__]
        if architecture == "deberta-v2":
            for module in model.modules():
                if type(module).__name__ == "DisentangledSelfAttention":
                    module.dropout.register_forward_hook(lambda m, _, weights: self._scale(m, weights))
        else:
            plain = home.eager_attention_forward  # type: ignore[attr-defined]

            def scaled(module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any) -> Any:
                _, weights = plain(module, query, key, value, mask, **options)
                weights = self._scale(module, weights)
                groups = weights.shape[1] // value.shape[1]
                return (weights @ value.repeat_interleave(groups, 1)).transpose(1, 2).contiguous(), weights

            monkeypatch.setattr(home, "eager_attention_forward", scaled)

    def _scale(self, module: nn.Module, weights: torch.Tensor) -> torch.Tensor:
        number, self.calls = self.calls, self.calls + 1
        self.modules[number] = module
        if number != self.layer:
            return weights
        leaf = (weights.detach() * self.alpha).requires_grad_()
        self.maps[number], self.leaf = weights.detach(), leaf
        return leaf

    def value(self, inputs: dict[str, torch.Tensor], layer: int, alpha: float, label: int) -> torch.Tensor:
        self.layer, self.alpha, self.calls = layer, alpha, 0
        return self.model(**inputs).logits[0, label]

    def attribution(self, inputs: dict[str, torch.Tensor], layer: int, steps: int, label: int) -> np.ndarray:
        total = 0.0
        for k in range(1, steps + 1):
            (gradient,) = torch.autograd.grad(self.value(inputs, layer, k / steps, label), self.leaf)
            total = total + self.maps[layer] * gradient / steps
        return total[0].sum(0).numpy()  # type: ignore[index]


@pytest.mark.parametrize("steps", [4, 100])
def test_attention_attribution_is_that_of_literal_code(
    subject: tuple[str, Any, Classifier], steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To 1e-10 for the sum over layers; and with 100 steps each layer's attribution sums to what its attention adds.

    The latter within 1 % of the size of what is attributed: the sum itself may be near 0.
    """
    architecture, model, classifier = subject
    before = model.config._attn_implementation, {name: w.clone() for name, w in model.state_dict().items()}
    x, label, ended = Subject(Instance("x", tuple(map(split_words, PAIR))), classifier), 1, []
    encoding = x.encoding
    ask = AttentionPathGradient(x, Readout("logit", label), tuple((k + 1) / steps for k in range(steps)))

    def as_generator() -> Any:
        return (yield ask)

    Engine().run([Task(as_generator(), lambda outcome: ended.append(outcome) or ())])
    answer = ended[0].value
    opened, _ = tiny.build(architecture, seed=2, attn_implementation="eager")
    opened = opened.double()
    if architecture == "gpt2":
        opened.config.pad_token_id = 0
    literal, inputs = _Literal(architecture, opened, monkeypatch), inputs_of(architecture, encoding)
    names = {id(module): name for name, module in opened.named_modules()}
    total = np.zeros(answer.total.shape)
    for layer in range(len(answer.layers)):
        found = literal.attribution(inputs, layer, steps, label)
        name = names[id(literal.modules[layer])]
        reading = ".decoder." in name
        total += moved(found, rows=reading, columns=reading and "encoder_attn" not in name)
        assert answer.layers[layer] == pytest.approx(found.sum(), abs=EXACT)
        if steps == 100:
            with torch.no_grad():
                gone = literal.value(inputs, layer, 1.0, label) - literal.value(inputs, layer, 0.0, label)
            assert answer.layers[layer] == pytest.approx(float(gone), abs=0.01 * np.abs(found).sum())
    assert np.abs(answer.total - total).max() <= EXACT
    assert len(answer.layers) == (6 if architecture == "bart" else 2)
    assert "eager" not in ALL_ATTENTION_FUNCTIONS
    assert before[0] == model.config._attn_implementation
    assert all(torch.equal(before[1][name], weight) for name, weight in model.state_dict().items())


def test_attention_attribution_of_words(subject: tuple[str, Any, Classifier]) -> None:
    """Means over sub-words and both directions of what the engine sums up; the same in any company."""
    _, _, classifier = subject
    made = explain(classifier, *PAIR, method=AttentionAttribution(steps=3)).highlight
    both = explain(classifier, *PAIR, method=AttentionAttribution(steps=3, directed=True)).highlight
    scores = dict(zip(both.units, both.scores, strict=True))
    assert any(scores.values())
    for (a, b), score in zip(made.units, made.scores, strict=True):
        assert score == pytest.approx((scores[a, b] + scores[b, a]) / 2, abs=1e-12)
    assert made.cost.backward == 3 * classifier.attention_layers


def test_a_model_without_maps_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = tiny.build("bert")
    classifier = load_model(model, tokenizer=tokenizer)
    monkeypatch.setattr(type(classifier), "attention_layers", 0)
    with pytest.raises(UserError, match="needs gradients of attention maps"):
        explain(classifier, *PAIR, method="attention_attribution")
    callable_model = game_model(random_game(3, 0))
    with pytest.raises(UserError, match="provides only class outputs"):
        explain(callable_model, words(3), method="attention_attribution")


def test_a_class_of_ones_own_made_from_a_known_one() -> None:
    """Its file has no attention of its own: that of the class it is made from is used."""
    model, tokenizer = tiny.build("bert", seed=2)
    plain = explain(load_model(model, tokenizer=tokenizer), *PAIR, method=AttentionAttribution(steps=2)).highlight
    for module in model.modules():
        if type(module).__name__ == "BertSelfAttention":
            module.__class__ = type("Mine", (type(module),), {"__module__": __name__})
    again = explain(load_model(model, tokenizer=tokenizer), *PAIR, method=AttentionAttribution(steps=2)).highlight
    assert again.scores == pytest.approx(plain.scores)


@pytest.mark.parametrize("method", ["attention", "attention_interaction", "attention_attribution"])
def test_a_model_without_attention_is_refused(method: str) -> None:
    _, tokenizer = tiny.build("bert")
    config = FNetConfig(vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, intermediate_size=48)
    classifier = load_model(FNetForSequenceClassification(config).eval(), tokenizer=tokenizer)
    with pytest.raises(UserError, match="attention maps"):
        explain(classifier, *PAIR, method=method)
