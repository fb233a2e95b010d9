"""Files that inseq 0.7.1 itself wrote, and files of the same shape with a mistake in them.

inseq is not a dependency of the tests. `inseq/gpt.json.gz` (integrated gradients of a tiny decoder) and
`inseq/bart.json.gz` (saliency of a tiny encoder-decoder) are what its
`FeatureAttributionOutput.save(compress=True)` wrote of the texts below; `inseq/expected.json` holds its tensors in
memory, summed over generated tokens and over dimensions.
"""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from verax import import_explanations
from verax.data.explanations import load_explanations
from verax.data.text import split_words
from verax.types import Dataset, Instance, UserError

HERE = Path(__file__).parent / "inseq"
TEXTS = ("the small red boat sails across the lake", "nobody is watching the boat")
DATASET = Dataset("d", tuple(Instance(f"t{i}", (split_words(text),)) for i, text in enumerate(TEXTS)), ("yes", "no"))
EXPECTED = json.loads((HERE / "expected.json").read_text())


def by_hand(tokens: list[str], scores: list[float]) -> list[float]:
    """A marker of a space begins a word; special tokens belong to none."""
    totals: list[float] = []
    for token, score in zip(tokens, scores, strict=True):
        if token in {"<s>", "</s>"}:
            continue
        if token[0] in "Ġ▁" or not totals:
            totals.append(0.0)
        totals[-1] += score
    return totals


@pytest.mark.parametrize("model", ["gpt", "bart"])
@pytest.mark.parametrize("how", ["sum", "l2"])
def test_scores_of_the_input_summed_by_word(tmp_path: Path, model: str, how: Any) -> None:
    out = tmp_path / "inseq.jsonl"
    found = import_explanations("inseq", HERE / f"{model}.json.gz", DATASET, aggregate=how, out=out)
    assert [highlight.instance_id for highlight in found["inseq"]] == ["t0", "t1"]
    for highlight, expected in zip(found["inseq"], EXPECTED[model], strict=True):
        # scores of float32 are summed in another order
        np.testing.assert_allclose(highlight.scores, by_hand(expected["tokens"], expected[how]), rtol=0, atol=1e-9)
    assert load_explanations(out, DATASET) == found


def test_a_plain_file_without_classes_is_the_same(tmp_path: Path) -> None:
    content = json.loads(gzip.decompress((HERE / "gpt.json.gz").read_bytes()))

    def primitive(value: Any) -> Any:  # as inseq writes it with use_primitives=True
        if isinstance(value, dict):
            return (
                primitive(value["attributes"]) if "attributes" in value else {k: primitive(v) for k, v in value.items()}
            )
        return [primitive(item) for item in value] if isinstance(value, list) else value

    (tmp_path / "plain.json").write_text(json.dumps(primitive(content)))
    compressed = import_explanations("inseq", HERE / "gpt.json.gz", DATASET)
    assert import_explanations("inseq", tmp_path / "plain.json", DATASET) == compressed


def saved(path: Path, tokens: list[str], scores: Any, text: str, **changed: Any) -> Path:
    """A file as inseq writes it with use_primitives=True, for one input of an encoder-decoder."""
    from safetensors.numpy import save

    packed = base64.b64encode(save({"attribution": np.asarray(scores, np.float32)})).decode()
    source = [{"id": number, "token": token} for number, token in enumerate(tokens)]
    sequence = {"source": source, "target": [], "source_attributions": packed, "target_attributions": None, **changed}
    path.write_text(json.dumps({"info": {"input_texts": [text]}, "sequence_attributions": [sequence]}))
    return path


def test_parts_in_a_prompt(tmp_path: Path) -> None:
    pairs = Dataset("pairs", (Instance("p", (split_words("A boat."), split_words("It sails"))),), ("yes", "no"))
    tokens = ["<s>", "▁Is", ":", "▁A", "▁bo", "at", ".", "▁then", "▁It", "▁sails", "?", "</s>"]
    file = saved(tmp_path / "p.json", tokens, 2.0 ** np.arange(12)[:, None], "Is: A boat. then It sails?")
    (highlight,) = import_explanations("inseq", file, pairs, ids=["p"])["inseq"]
    assert highlight.scores == (8, 16 + 32, 64, 256, 512)
    with pytest.raises(UserError, match="no input of the data has the text 'Is: A boat"):
        import_explanations("inseq", file, pairs)


def test_a_tokenizer_must_make_the_same_tokens(tmp_path: Path) -> None:
    from support import tiny

    tokenizer = tiny.tokenizer_of("wordpiece")
    ids = tokenizer(TEXTS[1])["input_ids"]
    source = [{"id": number, "token": "[UNK]"} for number in ids]  # their writing does not matter then
    scores = np.arange(len(ids), dtype=float)[:, None]
    file = saved(tmp_path / "t.json", [], scores, TEXTS[1], source=source)
    (highlight,) = import_explanations("inseq", file, DATASET, tokenizer=tokenizer)["inseq"]
    words = tokenizer(TEXTS[1]).word_ids()
    assert highlight.scores == tuple(sum(i for i, of in enumerate(words) if of == word) for word in range(5))
    with pytest.raises(UserError, match=r"the tokenizer splits this text into .* other tokens"):
        import_explanations("inseq", file, DATASET, tokenizer=tiny.tokenizer_of("bytes"))
    with pytest.raises(UserError, match="give the tokenizer to locate the tokens exactly"):
        import_explanations("inseq", file, DATASET)


WORDS = TEXTS[1].split()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"source_attributions": "AAAA"}, "field 'source_attributions': unreadable tensor"),
        ({"source_attributions": "é"}, "field 'source_attributions': unreadable tensor"),
        ({"source_attributions": {"__ndarray__": []}}, "expected a base64 tensor"),
        ({"source_attributions": None}, "field 'target_attributions': expected a base64 tensor"),
        ({"source": 3}, "field 'source': expected a list of tokens"),
        ({"source": ["the"]}, "expected a token with text and id, got the text 'the'"),
        ({"source": [{"id": 1, "token": "nobody"}]}, "source_attributions of shape [5, 2] for 1 tokens of the input"),
        ({"source": [{"id": 1, "token": "somebody"}] * 5}, "word 0 ('somebody') does not match 'nobody is watching t'"),
    ],
)
def test_a_mistake_is_one_clear_line(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    file = saved(tmp_path / "bad.json", WORDS, np.ones((5, 2)), TEXTS[1], **changed)
    with pytest.raises(UserError) as caught:
        import_explanations("inseq", file, DATASET)
    assert str(caught.value).startswith(f"{file}: explanation of 't1': field ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_file_of_inseq(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    with pytest.raises(UserError, match="no such file"):
        import_explanations("inseq", file, DATASET)
    for content, message in {
        b"[1]": "not an inseq file",
        b"{": "not JSON",
        b"\x1f\x8b\x08": "cannot be read",
        b"\xff": "not UTF-8",
        b'{"sequence_attributions": [1]}': "expected one text in info.input_texts",
    }.items():
        file.write_bytes(content)
        with pytest.raises(UserError, match=message):
            import_explanations("inseq", file, DATASET)
    saved(file, WORDS, np.full((5, 2), np.nan), TEXTS[1])
    with pytest.raises(UserError, match=r"not a finite number at \[0, 0\]: nan"):
        import_explanations("inseq", file, DATASET)
    with pytest.raises(UserError, match="unknown id 't7'; did you mean"):
        import_explanations("inseq", file, DATASET, ids=["t7"])
    with pytest.raises(UserError, match="source: inseq needs a file, got a dict"):
        import_explanations("inseq", {}, DATASET)
