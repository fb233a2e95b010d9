"""The pieces of real tokenizers, found by their spelling alone, against the offsets that the tokenizers give."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from verax.data.pieces import locate
from verax.data.text import split_words, words_over

SENTENCES = [
    "The old dog isn't sleeping near the river, is it?",
    "Der Bär frißt naïve Käfer für 3,50 € – täglich!",
    "हिन्दी में एक छोटा वाक्य है।",
    "من فضلك لا تُغلق الباب",
    "我们 喜欢 读书。 データ 👩🏽‍💻 🇩🇪 ok",
    "re-reading   the\tsame\nwell-known U.S. story",
]


def word_piece() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(SENTENCES, trainers.WordPieceTrainer(vocab_size=300, show_progress=False))
    return tokenizer


def sentence_piece() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.train_from_iterator(SENTENCES, trainers.BpeTrainer(vocab_size=200, show_progress=False))
    return tokenizer


def byte_level() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(SENTENCES, trainers.BpeTrainer(vocab_size=120, show_progress=False))
    return tokenizer


@pytest.mark.parametrize("make", [word_piece, sentence_piece, byte_level])
def test_pieces_lie_on_the_words_that_the_tokenizer_says(make: Callable[[], Tokenizer]) -> None:
    tokenizer = make()
    for sentence in SENTENCES:
        text = split_words(sentence)
        encoding = tokenizer.encode(sentence)
        assert len(encoding.tokens) > len(text.words) / 2
        compared = 0
        for span, (start, end) in zip(locate(encoding.tokens, text), encoding.offsets, strict=True):
            if said := words_over(text, start, end):
                assert words_over(text, *span) == said
                compared += 1
        assert compared >= len(text.words) / 2
