"""LIME against the regression written out, and where a linear model is the whole truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from captum._utils.models.linear_model import SkLearnLasso
from captum.attr._core.lime import LimeBase, default_perturb_func, get_exp_kernel_similarity_function
from hypothesis import given, settings
from hypothesis import strategies as st

from support.games import play, random_game
from verax.data.text import from_words
from verax.engine.ask import ask_all
from verax.methods.coalitions import all_coalitions
from verax.methods.lime import Lime, LimeCaptum
from verax.models.classifier import Classifier
from verax.models.encoding import PerturbedInput
from verax.models.subject import Subject
from verax.types import Attribution, Instance, UserError


def ridge_by_hand(values: np.ndarray, width: float, strength: float) -> np.ndarray:
    """The normal equations of weighted ridge regression with a free intercept, over all coalitions."""
    rows = all_coalitions(len(values).bit_length() - 1).astype(float)
    cosine = rows.sum(1) / np.sqrt(np.maximum(rows.sum(1), 1) * rows.shape[1])
    weights = np.exp(-((1 - cosine) ** 2) / (2 * width**2))
    rows = np.column_stack([rows, np.ones(len(rows))])
    penalty = np.diag([strength] * (rows.shape[1] - 1) + [0.0])
    return np.linalg.solve(rows.T @ (weights[:, None] * rows) + penalty, rows.T @ (weights * values))[:-1]


@pytest.mark.parametrize(("width", "strength"), [(0.25, 1.0), (0.5, 0.1), (10.0, 1e-6)])
def test_few_words_are_answered_by_all_coalitions(width: float, strength: float) -> None:
    """2^6 <= 64 samples: no sampling is left in it (1e-9)."""
    values = random_game(6, 0)
    mine = play(values, "lime", samples=64, width=width, strength=strength)
    assert np.abs(mine - ridge_by_hand(values, width, strength)).max() <= 1e-9
    assert (mine == play(values, "lime", samples=64, width=width, strength=strength, seed=5)).all()


@pytest.mark.parametrize("regression", ["ridge", "lasso"])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=10)
def test_a_linear_game_gives_back_its_coefficients(regression: str, seed: int) -> None:
    """With next to no penalty, from samples alone: 1e-4."""
    weights = np.random.default_rng(seed).uniform(-0.1, 0.1, 9)
    values = -1 + all_coalitions(9) @ weights
    scores = play(values, "lime", samples=60, regression=regression, strength=1e-8, seed=seed)
    assert np.abs(scores - weights).max() <= 1e-4


def test_lasso_leaves_out_what_does_not_matter() -> None:
    weights = np.array([0.4, 0, 0, -0.3, 0, 0, 0, 0])
    values = -1 + all_coalitions(8) @ weights
    scores = play(values, "lime", samples=100, regression="lasso")
    assert (scores[weights == 0] == 0).all()
    assert scores[0] > 0 > scores[3]


def test_samples_are_paired_and_their_number_is_kept() -> None:
    """An odd number of samples too; the same seed gives the same bits, another seed others."""
    values = random_game(9, 1)
    once, again = (play(values, "lime", samples=31, seed=2) for _ in range(2))
    assert (once == again).all()
    assert (once != play(values, "lime", samples=31, seed=3)).any()
    assert Lime(samples=31).passes(9).forward == 32


def test_more_samples_come_nearer_to_the_limit() -> None:
    """Mean squared distance to the regression over all coalitions, 12 seeds: eight times the samples, below a third."""
    values = random_game(9, 4)
    limit = ridge_by_hand(values, 0.25, 1e-6)

    def error(samples: int) -> float:
        drawn = [play(values, "lime", samples=samples, strength=1e-6, seed=seed) for seed in range(12)]
        return float(((np.array(drawn) - limit) ** 2).mean())

    assert error(320) <= error(40) / 3


@pytest.mark.parametrize(("field", "value"), [("samples", 0), ("width", 0.0), ("strength", -1.0)])
def test_bad_parameters(field: str, value: float) -> None:
    with pytest.raises(UserError, match="strength: got 0, for lasso"):
        Lime(regression="lasso", strength=0)
    with pytest.raises(UserError, match=f"lime: {field}: got {value}"):
        Lime(**{field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("removal", ["pad", "mask", "zero"])
@pytest.mark.parametrize("strength", [0.01, 1e-4])
@pytest.mark.parametrize("whole", [True, False])
def test_the_settings_of_captum_give_what_captum_gives(
    removal: Any, strength: float, whole: bool, classifier: Callable[..., Classifier], instances: list[Instance]
) -> None:
    """Captum's own regression, kernel and distance on the same coalitions; it computes in float32: 2e-4.

    Of a whole input, or of what is left without every third word.
    """
    x = Subject(instances[0], classifier("bert"))
    if not whole:
        x = x.without(np.arange(x.n_units) % 3 == 0, removal)
    method = LimeCaptum(samples=40, removal=removal, strength=strength, seed=3)
    found: dict[str, Attribution] = {}
    ask_all([("it", method(x))], found.__setitem__)
    keep = x.rng(3, "lime_captum").random((40, x.n_units)) < 0.5
    path = x.model.path(PerturbedInput(x.encoding, x.state), "zero_words" if removal == "zero" else removal)
    own, baseline = torch.tensor(path.inputs)[None], torch.tensor(path.baseline)[None]
    values: dict[tuple[bool, ...], float] = {}
    predicted = int(x.model.logits([PerturbedInput(x.encoding, x.state)])[0].argmax())
    for row in keep:
        states = x.states(row[None], removal)[0]
        values[tuple(row)] = float(x.model.logits([PerturbedInput(x.encoding, states)])[0][predicted])

    rows = iter(keep)

    def perturbed(*_: Any, **__: Any) -> torch.Tensor:
        return torch.tensor(next(rows))[None]

    def embedded(coalition: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        kept = torch.tensor(~np.isin(path.token_unit, x.alive[~coalition[0].numpy()]))
        return torch.where(kept[None, :, None], own, baseline)

    asked = iter(keep)
    lime = LimeBase(
        lambda _: torch.tensor([values[tuple(next(asked))]]),
        SkLearnLasso(alpha=strength),
        get_exp_kernel_similarity_function(),
        perturbed,
        perturb_interpretable_space=True,
        from_interp_rep_transform=embedded,
        to_interp_rep_transform=None,
    )
    expected = lime.attribute(own, n_samples=40)[0].numpy()
    np.testing.assert_allclose(found["it"].scores, expected, atol=2e-4)
    assert strength > 1e-3 or np.abs(expected).max() > 1e-3


def test_captum_draws_each_sample_on_its_own(classifier: Callable[..., Classifier]) -> None:
    """Both keep half of the words on average, and complements are no more frequent than by chance."""
    theirs = torch.cat([default_perturb_func(torch.zeros(1), num_interp_features=8) for _ in range(400)]).bool().numpy()
    eight = Subject(Instance("1", (from_words(list("abcdefgh")),)), classifier("bert"))
    ours = eight.rng(0, "lime_captum").random((400, 8)) < 0.5
    for drawn in (theirs, ours):
        assert abs(drawn.mean() - 0.5) < 0.05
        assert (drawn[::2] == ~drawn[1::2]).all(axis=1).mean() < 0.05
    assert LimeCaptum(samples=7).passes(2).forward == 8, "even where there are fewer coalitions"
