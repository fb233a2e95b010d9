"""The benchmark's encoder from static embeddings: SentencePiece itself is the oracle for its tokenizer."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch

from bench.static_encoder import build_model, build_tokenizer, main, pieces_in, read_pieces, read_rows, texts_of
from verax.align.embedding import Embedding
from verax.align.protocol import TextPair
from verax.data.text import from_words, split_words
from verax.models.load import load_encoder
from verax.types import FloatArray, Instance, UserError

CHUNKS, DIMENSIONS = 3, 24
TEXTS = (
    "the small boat sails far away from the small harbour",
    "el barco pequeño navega lejos del puerto pequeño",
    "a boat, two boats; the harbours of the north",
    "un barco, dos barcos; los puertos del norte",
)
NEVER_SEEN = "zebras quietly drank juice"


@pytest.fixture(scope="module")
def resources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the package has it: a vocabulary learnt from a few texts, and a table of random small numbers."""
    folder, model = tmp_path_factory.mktemp("resources"), io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*TEXTS, NEVER_SEEN] * 20),
        model_writer=model,
        vocab_size=90,
        user_defined_symbols=["extra"],
        hard_vocab_limit=False,
        minloglevel=2,
    )
    (folder / "sp.model").write_bytes(model.getvalue())
    size = len(read_pieces(folder / "sp.model").names)
    rng = np.random.default_rng(0)
    table = {
        f"q{n + 1}": rng.integers(256, size=(-(-size // CHUNKS), DIMENSIONS), dtype=np.uint8) for n in range(CHUNKS)
    }
    np.savez(folder / "weights.npz", scale=np.float32([0.5, 0.25, 2]), lo=np.float32([-64, -32, -256]), **table)
    return folder


@pytest.fixture(scope="module")
def oracle(resources: Path) -> Any:
    return sentencepiece.SentencePieceProcessor(model_file=str(resources / "sp.model"))


def test_pieces_are_read_as_sentencepiece_reads_them(resources: Path, oracle: Any) -> None:
    pieces = read_pieces(resources / "sp.model")
    assert pieces.names == [oracle.id_to_piece(number) for number in range(oracle.get_piece_size())]
    signs = {"<unk>", "<s>", "</s>", "extra"}
    for number, (name, score) in enumerate(zip(pieces.names, pieces.scores, strict=True)):
        assert score == (None if name in signs else oracle.get_score(number))


@pytest.mark.parametrize("text", [*TEXTS, "  the  boat\tsails ", "ﬁrst ½ boat", "ﾎ el barco"])
def test_texts_are_cut_as_sentencepiece_cuts_them(resources: Path, oracle: Any, text: str) -> None:
    pieces = read_pieces(resources / "sp.model")
    tokenizer = build_tokenizer(pieces, [n for n, score in enumerate(pieces.scores) if score is not None])
    found = tokenizer(text, add_special_tokens=False).input_ids
    wanted = [piece if oracle.piece_to_id(piece) else "[UNK]" for piece in oracle.encode(text, out_type=str)]
    assert tokenizer.convert_ids_to_tokens(found) == wanted


def test_offsets_say_where_a_piece_stands(resources: Path) -> None:
    pieces, text = read_pieces(resources / "sp.model"), "el  barco, pequeño"
    encoded = build_tokenizer(pieces, pieces_in(pieces, [text]))(
        text, add_special_tokens=False, return_offsets_mapping=True
    )
    for piece, (start, end) in zip(encoded.tokens(), encoded["offset_mapping"], strict=True):
        assert piece == "▁" or text[start:end].strip() == piece.removeprefix("▁")


def test_only_pieces_of_the_texts_are_kept_and_they_are_cut_alike(resources: Path, oracle: Any) -> None:
    pieces = read_pieces(resources / "sp.model")
    kept = pieces_in(pieces, TEXTS)
    assert kept == sorted({number for text in TEXTS for number in oracle.encode(text)})
    assert len(kept) < len({*kept, *oracle.encode(NEVER_SEEN)})
    tokenizer = build_tokenizer(pieces, kept)
    for text in TEXTS:
        assert tokenizer.convert_ids_to_tokens(tokenizer(text).input_ids)[1:-1] == oracle.encode(text, out_type=str)


def test_rows_come_from_their_chunk(resources: Path) -> None:
    stored = np.load(resources / "weights.npz")
    rows = read_rows(resources / "weights.npz", [7, 0, 5])
    assert rows[0].tolist() == (stored["q2"][2] * 0.25 - 32).tolist()
    assert rows[1].tolist() == (stored["q1"][0] * 0.5 - 64).tolist()
    assert rows[2].tolist() == (stored["q3"][1] * 2.0 - 256).tolist()


def test_likeness_of_embeddings_is_kept() -> None:
    rows = _directions(6)
    rows[5] = 9 * rows[4]
    words = build_model(rows, hidden=32, layers=1, heads=4).bert.embeddings.word_embeddings.weight[5:].detach().double()
    words = words / words.norm(dim=1, keepdim=True)
    unit = torch.from_numpy(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    torch.testing.assert_close(words @ words.T, unit @ unit.T, atol=1e-6, rtol=0)


def test_attention_begins_at_the_like_word_of_the_other_part() -> None:
    model = build_model(_directions(9), hidden=32, layers=2, heads=4).eval()
    model.set_attn_implementation("eager")
    ids = torch.tensor([[2, 6, 7, 8, 3, 10, 8, 11, 3]])
    types = torch.tensor([[0, 0, 0, 0, 0, 1, 1, 1, 1]])
    with torch.no_grad():
        first = model(input_ids=ids, token_type_ids=types, output_attentions=True).attentions[0][0]
    assert first[:2, 6].mean(0).argmax() == 3
    assert first[:2, 3].mean(0).argmax() == 6


def test_more_dimensions_than_there_are_is_refused() -> None:
    with pytest.raises(UserError, match="hidden: at most 32 for embeddings of 24, got 64"):
        build_model(_directions(3), hidden=64, layers=1, heads=4)


def test_texts_of_files(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"premise": "one", "n": 3, "more": ["two", {"x": "three"}]}\n')
    (tmp_path / "a.txt").write_text("four\nfive ||| six\n")
    assert list(texts_of(tmp_path / "a.jsonl")) == ["one", "two", "three"]
    assert [text.strip() for text in texts_of(tmp_path / "a.txt")] == ["four", "five ||| six"]


def test_the_command_writes_a_checkpoint_that_aligns(
    resources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    options = {"--weights": resources, "--texts": tmp_path / "texts.txt", "--out": tmp_path / "encoder", "--hidden": 32}
    monkeypatch.setattr(sys, "argv", ["static_encoder", *(str(one) for pair in options.items() for one in pair)])
    main()
    kept = pieces_in(read_pieces(resources / "sp.model"), TEXTS)
    assert capsys.readouterr().out.startswith(f"{len(kept)} pieces of ")
    encoder = load_encoder(str(tmp_path / "encoder"))
    text = split_words("el barco pequeño navega lejos", "es")
    assert set(encoder.encode(Instance("1", (text,), lang="es")).token_unit) == {-1, 0, 1, 2, 3, 4}
    turned = from_words(["lejos", "navega", "el"], "es")
    (links,) = Embedding(layer=0, extract="argmax").align_with(encoder, [TextPair(text, turned)])
    assert isinstance(links, np.ndarray)
    assert {(0, 2), (3, 1), (4, 0)} <= {(int(a), int(b)) for a, b in links}


def _directions(n: int) -> FloatArray:
    return np.random.default_rng(1).standard_normal((n, DIMENSIONS))
