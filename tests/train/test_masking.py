"""Masks of masked fine-tuning: which rows, at which rate, never special tokens, the same again from the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import f1_score

from support import tiny
from verax.data.text import split_words
from verax.train import fine_tuning
from verax.train.fine_tuning import fit
from verax.train.loop import FineTuning
from verax.train.rows import (
    Masking,
    Rows,
    Selection,
    encode,
    fully_masked,
    mask_at_random,
    mask_token,
    masked_batch,
    masked_copy,
)
from verax.types import Dataset, Instance, UserError

MASK = 99
READERS = ("bert", "roberta", "distilbert", "xlm-roberta", "deberta-v2")
PAIRS = (
    ("the small red boat sails across the quiet lake", "nobody is watching"),
    ("a tall woman sells warm bread", "children never run through the library"),
    ("das kleine Haus", "यह छोटा घर है"),
)


def _rows(n: int, tokens: int) -> Rows:
    """Rows of ones, whose first and last token may not be masked."""
    maskable = np.array([False, *[True] * (tokens - 2), False])
    columns = tuple({"input_ids": [1] * tokens, "attention_mask": [1] * tokens} for _ in range(n))
    return Rows(columns, (maskable,) * n, torch.zeros(n, dtype=torch.long))


def _shares(batch: list[dict[str, list[int]]]) -> np.ndarray:
    """The share of masked tokens among those that may be, for each row."""
    return np.array([(np.array(row["input_ids"])[1:-1] == MASK).mean() for row in batch])


@given(masking=st.sampled_from(["none", "masking", "half"]), chosen=st.permutations(range(9)), size=st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_half_is_every_other_row_of_the_batch(masking: Masking, chosen: list[int], size: int) -> None:
    """400 tokens a row, and random numbers that mask some of them in each of nine rows."""
    rows = _rows(9, 402)
    batch = masked_batch(rows, chosen[:size], masking, MASK, np.random.default_rng(1))
    changed = [place for place, row in enumerate(batch) if row["input_ids"] != [1] * 402]
    assert changed == {"none": [], "masking": list(range(size)), "half": list(range(1, size, 2))}[masking]
    assert all(row["input_ids"] == [1] * 402 for row in rows.features), "the rows themselves are left alone"


def test_rates_are_uniform_and_tokens_fall_by_chance() -> None:
    """4000 rows of 200 tokens: shares are uniform on [0, 1] (Kolmogorov-Smirnov), with mean 1/2 and variance 1/12 of
    the rate and 1/6/200 of the tokens; five standard errors each."""
    n, tokens = 4000, 200
    shares = _shares(list(masked_copy(_rows(n, tokens + 2), MASK, np.random.default_rng(0)).features))
    variance = 1 / 12 + 1 / 6 / tokens
    assert shares.mean() == pytest.approx(0.5, abs=5 * np.sqrt(variance / n))
    assert shares.var() == pytest.approx(variance, abs=5 * np.sqrt(1 / 180 / n))
    assert stats.kstest(shares, "uniform").pvalue > 1e-4


def test_tokens_of_a_row_are_independent_given_its_rate() -> None:
    """In two tokens both are masked with probability E[r^2] = 1/3 and one alone with 2 E[r(1-r)] = 1/3."""
    n = 6000
    counts = np.bincount(
        (_shares(list(masked_copy(_rows(n, 4), MASK, np.random.default_rng(1)).features)) * 2).astype(int)
    )
    assert counts / n == pytest.approx(np.full(3, 1 / 3), abs=5 * np.sqrt(2 / 9 / n))


def test_one_row_has_one_rate() -> None:
    """The two halves of a long row are masked about equally: their shares differ by five standard errors at most."""
    rng = np.random.default_rng(2)
    row = _rows(1, 2002)
    for _ in range(50):
        masked = np.array(mask_at_random(row.features[0], row.maskable[0], MASK, rng)["input_ids"])[1:-1] == MASK
        assert abs(masked[:1000].mean() - masked[1000:].mean()) < 5 * np.sqrt(0.25 * 2 / 1000)


@pytest.fixture(scope="module", params=READERS)
def reader(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    return tiny.build(request.param)


def _data(pairs: tuple[tuple[str, ...], ...] = PAIRS) -> Dataset:
    labels = ("yes", "maybe", "no")
    made = [Instance(str(i), tuple(map(split_words, parts)), labels[i % 3]) for i, parts in enumerate(pairs)]
    return Dataset("pairs", tuple(made), labels)


def test_special_tokens_are_never_masked(reader: tuple[Any, Any]) -> None:
    """What the encoding adds, told by the tokenizer's own mask of special tokens; everything else is masked in time."""
    model, tokenizer = reader
    rows = encode(model, tokenizer, _data())
    mask_id = mask_token(tokenizer, "tiny")
    special = [
        np.array(tokenizer(*pair, return_special_tokens_mask=True)["special_tokens_mask"], dtype=bool) for pair in PAIRS
    ]
    rng = np.random.default_rng(0)
    ever = [np.zeros(len(one), dtype=bool) for one in special]
    for _ in range(60):
        copy = masked_copy(rows, mask_id, rng)
        for before, after, seen in zip(rows.features, copy.features, ever, strict=True):
            changed = np.array(before["input_ids"]) != np.array(after["input_ids"])
            assert (np.array(after["input_ids"])[changed] == mask_id).all()
            assert {name: row for name, row in after.items() if name != "input_ids"} == {
                name: row for name, row in before.items() if name != "input_ids"
            }
            np.logical_or(seen, changed, out=seen)
    for seen, one in zip(ever, special, strict=True):
        assert (seen == ~one).all()


@pytest.mark.parametrize("parts", [None, (0,), (1,), (0, 1)])
def test_with_everything_masked_only_special_tokens_and_the_other_part_are_left(
    reader: tuple[Any, Any], parts: tuple[int, ...] | None
) -> None:
    model, tokenizer = reader
    rows = encode(model, tokenizer, _data(), parts=parts)
    full = fully_masked(rows, tokenizer.mask_token_id)
    for pair, row in zip(PAIRS, full.features, strict=True):
        plain = tokenizer(*pair)
        expected = [
            tokenizer.mask_token_id if part is not None and part in (parts or (0, 1)) else i
            for i, part in zip(plain["input_ids"], plain.sequence_ids(), strict=True)
        ]
        assert row["input_ids"] == expected
    assert torch.equal(full.golds, rows.golds)


def test_a_special_token_that_a_text_spells_out_may_be_masked_but_not_the_real_one(reader: tuple[Any, Any]) -> None:
    model, tokenizer = reader
    row = encode(model, tokenizer, _data(((f"the boat {tokenizer.mask_token}", "the lake"),)))
    ends = row.maskable[0][[0, -1]]
    assert not ends.any()
    assert row.maskable[0].sum() == len(row.maskable[0]) - tokenizer.num_special_tokens_to_add(pair=True)


def test_inputs_are_cut_at_the_longest() -> None:
    model, tokenizer = tiny.build("bert")
    rows = encode(model, tokenizer, _data(), longest=8)
    assert max(len(row["input_ids"]) for row in rows.features) == 8
    assert all(len(row["input_ids"]) == len(one) for row, one in zip(rows.features, rows.maskable, strict=True))


def _seen_in_training(monkeypatch: pytest.MonkeyPatch, model: Any, tokenizer: Any, seed: int) -> list[list[list[int]]]:
    """The token ids of each of two epochs of a masked training."""
    seen: list[list[int]] = []
    collate = fine_tuning.collate

    def watched(tokenizer: Any, rows: Any, device: Any) -> Any:
        seen.extend(row["input_ids"] for row in rows)
        return collate(tokenizer, rows, device)

    monkeypatch.setattr(fine_tuning, "collate", watched)
    recipe = FineTuning(epochs=2, batch_size=3, masking="masking", learning_rate=1e-6, seed=seed)
    fit(model, tokenizer, _data(), _data(), recipe)
    monkeypatch.undo()
    return [sorted(seen[i : i + len(PAIRS)]) for i in range(0, len(seen), len(PAIRS))]


def test_the_same_seed_gives_the_same_masks_and_another_epoch_others(monkeypatch: pytest.MonkeyPatch) -> None:
    built = tiny.build("bert")
    first, again, other = (_seen_in_training(monkeypatch, *built, seed) for seed in (3, 3, 4))
    assert first == again
    assert first[0] != first[1]
    assert first[0] != other[0]


def _training(rows: Rows, model: Any, tokenizer: Any, select: Selection, seed: int) -> fine_tuning._ClassifierTraining:
    recipe = FineTuning(seed=seed)
    return fine_tuning._ClassifierTraining(model, tokenizer, recipe, (select,), rows, rows, "macro_f1", None)


def test_the_masked_validation_copy_is_drawn_from_the_seed() -> None:
    model, tokenizer = tiny.build("bert")
    rows = encode(model, tokenizer, _data())
    copies = [_training(rows, model, tokenizer, "both", seed).masked_validation for seed in (0, 0, 1)]
    ids = [[row["input_ids"] for row in copy.features] for copy in copies if copy is not None]
    assert ids[0] == ids[1] != ids[2]
    assert _training(rows, model, tokenizer, "none", 0).masked_validation is None


def test_selections_are_the_plain_set_a_masked_copy_and_both_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both is one data set, so its macro F1 is not the mean of theirs; scikit-learn knows it."""
    model, tokenizer = tiny.build("bert")
    rows = encode(model, tokenizer, _data(PAIRS * 5))
    golds = rows.golds.numpy()
    plain, masked = np.random.default_rng(0).integers(0, 3, (2, 15))
    training = _training(rows, model, tokenizer, "both", 0)

    def guesses(_: Any, __: Any, asked: Rows) -> np.ndarray:
        return plain if asked is rows else masked

    monkeypatch.setattr(fine_tuning, "predict", guesses)
    found = training._validate()
    assert found == {
        "none": pytest.approx(f1_score(golds, plain, average="macro")),
        "masking": pytest.approx(f1_score(golds, masked, average="macro")),
        "both": pytest.approx(f1_score([*golds, *golds], [*plain, *masked], average="macro")),
    }
    assert len({*found.values(), (found["none"] + found["masking"]) / 2}) == 4
    assert list(_training(rows, model, tokenizer, "none", 0)._validate()) == ["none"]


def test_a_tokenizer_without_a_mask_token_is_refused() -> None:
    model, tokenizer = tiny.build("llama")
    tokenizer.mask_token = None
    with pytest.raises(UserError, match=r"^the tokenizer of 'my-llama' has no mask token: .*masked language model"):
        mask_token(tokenizer, "my-llama")
    with pytest.raises(UserError, match="has no mask token"):
        fit(model, tokenizer, _data(), _data(), FineTuning(epochs=1, masking="half"))
    with pytest.raises(UserError, match="has no mask token"):
        fit(model, tokenizer, _data(), _data(), FineTuning(epochs=1), select=("both",))


def test_a_tokenizer_without_a_padding_token_is_refused() -> None:
    model, tokenizer = tiny.build("gpt2")
    with pytest.raises(UserError, match="has no padding token, so it can't make batches"):
        fit(model, tokenizer, _data(), _data(), FineTuning(epochs=1))
