"""Attributions that Captum itself computes, saved as its users save them, against word scores summed by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from verax import import_explanations
from verax.data.explanations import load_explanations
from verax.data.text import split_words
from verax.types import Dataset, Instance, Target, UserError

PAIRS = Dataset(
    "pairs",
    (
        Instance("a", (split_words("The small red boat sails."), split_words("Nobody is watching")), "yes"),
        Instance("b", (split_words("das kleine Haus"), split_words("a tall woman, a coat")), "no"),
    ),
    ("yes", "maybe", "no"),
)
REVIEWS = Dataset(
    "reviews",
    (
        Instance("r1", (split_words("The small red boat sails."),), "yes"),
        Instance("r2", (split_words("Nobody sleeps"),), "no"),
    ),
    ("yes", "maybe", "no"),
)
TOLERANCE = 1e-9


class Explained:
    """Layer integrated gradients of a tiny BERT, [1, tokens, dimensions] for each input, and what its tokens are."""

    def __init__(self, folder: Path, dataset: Dataset) -> None:
        from captum.attr import LayerIntegratedGradients
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        self.folder = folder
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        method = LayerIntegratedGradients(
            lambda ids, types: model(input_ids=ids, token_type_ids=types).logits, model.bert.embeddings
        )
        self.tensors, self.encoded = {}, {}
        for instance in dataset.instances:
            encoded = self.tokenizer(
                *[part.raw for part in instance.parts], return_tensors="pt", return_offsets_mapping=True
            )
            ids, types = encoded["input_ids"], encoded["token_type_ids"]
            self.tensors[instance.id] = method.attribute(
                ids, baselines=ids * 0, additional_forward_args=(types,), target=0, n_steps=5
            )
            self.encoded[instance.id] = encoded

    def by_hand(self, instance: Instance, over: Callable[[Any], Any]) -> list[float]:
        """Each token goes to the word that its first character stands in; no token of these texts spans two words."""
        encoded = self.encoded[instance.id]
        scores = over(self.tensors[instance.id][0].double())
        words = {}
        for part, text in enumerate(instance.parts):
            for number, (start, end) in enumerate(text.offsets):
                words[part, number] = (part, start, end, 0.0)
        for token, part in enumerate(encoded.sequence_ids(0)):
            begin = int(encoded["offset_mapping"][0, token, 0])
            for key, (of, start, end, total) in words.items():
                if of == part and start <= begin < end:
                    words[key] = (of, start, end, total + float(scores[token]))
        return [total for *_, total in words.values()]


@pytest.fixture(scope="module")
def pairs(checkpoint: Callable[[str], Path]) -> Explained:
    return Explained(checkpoint("bert"), PAIRS)


@pytest.fixture(scope="module")
def reviews(checkpoint: Callable[[str], Path]) -> Explained:
    return Explained(checkpoint("bert"), REVIEWS)


OVER: dict[str, Callable[[Any], Any]] = {
    "sum": lambda scores: scores.sum(1),
    "mean": lambda scores: scores.mean(1),
    "l1": lambda scores: scores.abs().sum(1),
    "l2": lambda scores: scores.pow(2).sum(1).sqrt(),
}


def keep(path: Path, tensors: dict[str, Any]) -> Path:
    import torch
    from safetensors.torch import save_file

    if path.suffix == ".pt":
        torch.save(tensors, path)
    elif path.suffix == ".safetensors":
        save_file({key: tensor.contiguous() for key, tensor in tensors.items()}, path)
    else:
        np.savez(path, **{key: np.asarray(tensor) for key, tensor in tensors.items()})
    return path


@pytest.mark.parametrize("suffix", [".pt", ".safetensors", ".npz"])
@pytest.mark.parametrize("how", OVER)
def test_word_scores_are_those_summed_by_hand(tmp_path: Path, pairs: Explained, suffix: str, how: Any) -> None:
    tensors = {key: tensor.detach() for key, tensor in pairs.tensors.items()}
    file = keep(tmp_path / f"ig{suffix}", tensors)
    out = tmp_path / "ig.jsonl"
    found = import_explanations("captum", file, PAIRS, out=out, tokenizer=pairs.folder, aggregate=how, target="yes")
    assert [highlight.instance_id for highlight in found["captum"]] == ["a", "b"]
    for instance, highlight in zip(PAIRS.instances, found["captum"], strict=True):
        expected = pairs.by_hand(instance, OVER[how])
        assert np.ptp(expected) > 1e-4
        np.testing.assert_allclose(highlight.scores, expected, rtol=0, atol=TOLERANCE)
        assert highlight.target == Target("yes")
    assert load_explanations(out, PAIRS) == found


def shaped(tensor: Any, form: str, special: Any) -> Any:
    return {
        "batch of one": tensor,
        "dimensions": tensor[0],
        "tokens": tensor[0].sum(1),
        "tokens in a batch of one": tensor.sum(2),
        "a tuple": (tensor,),
        "without special tokens": tensor[0][~special],
    }[form]


@pytest.mark.parametrize(
    "form",
    ["batch of one", "dimensions", "tokens", "tokens in a batch of one", "a tuple", "without special tokens"],
)
def test_every_shape_gives_the_same_scores(pairs: Explained, form: str) -> None:
    import torch

    special = {
        key: torch.tensor([part is None for part in encoded.sequence_ids(0)]) for key, encoded in pairs.encoded.items()
    }
    live = {key: shaped(tensor, form, special[key]) for key, tensor in pairs.tensors.items()}
    found = import_explanations("captum", live, PAIRS, tokenizer=pairs.tokenizer)
    for instance, highlight in zip(PAIRS.instances, found["captum"], strict=True):
        # the sum over dimensions may have been taken in float32
        np.testing.assert_allclose(highlight.scores, pairs.by_hand(instance, OVER["sum"]), rtol=0, atol=1e-6)


@pytest.mark.parametrize("side", ["right", "left"])
def test_rows_of_a_batch_lose_their_padding(tmp_path: Path, reviews: Explained, side: str) -> None:
    import torch

    longest = max(tensor.shape[1] for tensor in reviews.tensors.values())
    batch = torch.full((2, longest, 32), 7.0)
    for row, tensor in zip(batch, reviews.tensors.values(), strict=True):
        place = slice(0, tensor.shape[1]) if side == "right" else slice(longest - tensor.shape[1], longest)
        row[place] = tensor[0].detach()
    torch.save({"ids": ["r1", "r2"], "attributions": batch}, tmp_path / "batch.pt")
    torch.save(batch, tmp_path / "bare.pt")
    reviews.tokenizer.padding_side = side
    named = import_explanations("captum", tmp_path / "batch.pt", REVIEWS, tokenizer=reviews.tokenizer)
    bare = import_explanations("captum", tmp_path / "bare.pt", REVIEWS, tokenizer=reviews.tokenizer, ids=["r1", "r2"])
    assert named == bare
    for instance, highlight in zip(REVIEWS.instances, named["captum"], strict=True):
        expected = reviews.by_hand(instance, OVER["sum"])
        np.testing.assert_allclose(highlight.scores, expected, rtol=0, atol=TOLERANCE)


def test_offsets_in_the_file_need_no_tokenizer(tmp_path: Path, reviews: Explained, pairs: Explained) -> None:
    content = {key: tensor.detach().numpy() for key, tensor in reviews.tensors.items()}
    content |= {f"{key}:offsets": encoded["offset_mapping"].numpy() for key, encoded in reviews.encoded.items()}
    np.savez(tmp_path / "ig.npz", **content)
    found = import_explanations("captum", tmp_path / "ig.npz", REVIEWS)
    assert found == import_explanations("captum", reviews.tensors, REVIEWS, tokenizer=reviews.folder)
    live: dict[str, Any] = dict(pairs.tensors)
    for key, encoded in pairs.encoded.items():
        parts = [-1 if part is None else part for part in encoded.sequence_ids(0)]
        live[f"{key}:offsets"] = np.column_stack([parts, encoded["offset_mapping"][0]])
    assert import_explanations("captum", live, PAIRS) == import_explanations(
        "captum", pairs.tensors, PAIRS, tokenizer=pairs.folder
    )


def test_words_beyond_the_tokenizers_limit_get_zero(reviews: Explained) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(reviews.folder, model_max_length=5)
    found = import_explanations("captum", {"r1": np.array([9.0, 1, 2, 4, 9])}, REVIEWS, tokenizer=tokenizer)
    kept = tokenizer(REVIEWS.instances[0].parts[0].raw, truncation=True).word_ids()
    assert kept[:2] == [None, 0]
    scores = found["captum"][0].scores
    assert sum(scores) == 7
    assert scores[0] == 1
    assert scores[-1] == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"r3": [1.0]}, "explanation of 'r3': field 'id': unknown id 'r3'; did you mean 'r2'?"),
        (
            {"r2": np.ones(3)},
            "field 'scores': shape [3] for an input of {n} tokens ({bare} without the special ones)",
        ),
        ({"r2": np.array([0.0, np.nan])}, "explanation of 'r2': field 'scores': not a finite number at [1]: nan"),
        ({"r2": "text"}, "explanation of 'r2': field 'scores': expected a tensor, got the text 'text'"),
        ({"r2": np.array(["x"])}, "explanation of 'r2': field 'scores': expected numbers, got an array of <U1"),
        ({"ids": ["r1"], "attributions": np.ones((2, 30))}, "1 ids for 2 explanations"),
        ({"ids": ["r1"], "x": np.ones((2, 30))}, "with ids, expected one tensor 'attributions', got 'x'"),
        ({"ids": ["r1"], "attributions": np.ones(3)}, "'attributions' must have the shape [batch, tokens]"),
        ({"ids": ["r1"], "attributions": np.ones((1, 2))}, "2 tokens in the batch for an input of"),
        ({"r2": np.ones(2), "r2:offsets": [[0, 6]]}, "shape [2] for 1 offsets"),
        ({"r2": np.ones(1), "r2:offsets": [[0, 60]]}, "[0, 60] is outside the 13 characters of the text"),
        ({"r2": np.ones(1), "r2:offsets": [[1, 0, 6]]}, "part 1 is out of range for 1 parts (from 0)"),
        ({"r2": np.ones(1), "r2:offsets": [[0.5, 6]]}, "expected integers of shape [tokens, 2]"),
        ({}, "contains no explanation of the 2 instances"),
    ],
)
def test_a_mistake_is_one_clear_line(reviews: Explained, content: dict[str, Any], message: str) -> None:
    tokens = reviews.encoded["r2"]["input_ids"].shape[1]
    with pytest.raises(UserError) as caught:
        import_explanations("captum", content, REVIEWS, tokenizer=reviews.tokenizer)
    said = str(caught.value)
    assert said.startswith("captum: ")
    assert message.replace("{n}", str(tokens)).replace("{bare}", str(tokens - 2)) in said
    assert "\n" not in said


def test_a_missing_or_useless_tokenizer_is_named(tmp_path: Path) -> None:
    live = {"r1": np.ones(3)}
    with pytest.raises(UserError, match="token positions are unknown; give the tokenizer"):
        import_explanations("captum", live, REVIEWS)
    with pytest.raises(UserError, match=r"tokenizer: .*nowhere' cannot be loaded"):
        import_explanations("captum", live, REVIEWS, tokenizer=tmp_path / "nowhere")
    with pytest.raises(UserError, match="tokenizer: object is not a fast tokenizer"):
        import_explanations("captum", live, REVIEWS, tokenizer=object())


class Harmful:
    """Would leave a trace if it were ever unpickled."""

    trace = "unpickled"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        return (Path.touch, (self.folder / self.trace,))


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    import torch

    torch.save({"r1": Harmful(tmp_path)}, tmp_path / "bad.pt")
    np.savez(tmp_path / "bad.npz", r1=np.array([Harmful(tmp_path)], dtype=object))
    for name in ("bad.pt", "bad.npz"):
        with pytest.raises(UserError, match="never unpickled"):
            import_explanations("captum", tmp_path / name, REVIEWS)
    assert not (tmp_path / Harmful.trace).exists()


@pytest.mark.parametrize("name", ["ig.pt", "ig.safetensors", "ig.npz"])
def test_a_file_that_is_damaged_or_missing(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="no such file"):
        import_explanations("captum", tmp_path / name, REVIEWS)
    (tmp_path / name).write_bytes(b"PK\x03\x04 half a file")
    with pytest.raises(UserError, match=r"unreadable|never unpickled"):
        import_explanations("captum", tmp_path / name, REVIEWS)
    (tmp_path / "ig.csv").touch()
    with pytest.raises(UserError, match=r"unsupported file type '.csv'; valid: .pt"):
        import_explanations("captum", tmp_path / "ig.csv", REVIEWS)
