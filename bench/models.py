"""Models and inputs for benchmarks, made on the spot."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from verax.data.text import from_words
from verax.models.classifier import Classifier
from verax.models.load import load_model
from verax.types import Instance

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
VOCABULARY = 2000


def word_tokenizer(ends: tuple[tuple[str, int], ...] = (("[SEP]", 3), ("[CLS]", 2))) -> Any:
    """A tokenizer whose words are tokens; `ends` are put around every text, nothing if there are none."""
    words = [*SPECIAL, *(f"w{i}" for i in range(VOCABULARY))]
    inner = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))  # noqa: S106
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    if ends:
        inner.post_processor = processors.BertProcessing(*ends)
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        model_max_length=512,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **names,
    )


def random_bert(
    *, layers: int = 6, hidden: int = 384, seed: int = 0, dtype: torch.dtype = torch.float32
) -> tuple[Any, Any, Classifier]:
    """A randomly initialised BERT classifier: the transformers model, its tokenizer, and the two as verax asks them."""
    torch.manual_seed(seed)
    tokenizer = word_tokenizer()
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 32,
        intermediate_size=4 * hidden,
        num_labels=3,
    )
    model = BertForSequenceClassification(config).to(dtype).eval()
    return model, tokenizer, load_model(model, tokenizer=tokenizer)


class PairMaker:
    """Pairs of random words of about 27 tokens, special tokens included."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def instances(self, n: int) -> list[Instance]:
        """Parts of 8 to 20 and of 6 to 14 words."""
        return [Instance(f"pair {i}", (self._part(8, 20), self._part(6, 14))) for i in range(n)]

    def _part(self, fewest: int, most: int) -> Any:
        numbers = self._rng.integers(VOCABULARY, size=self._rng.integers(fewest, most + 1))
        return from_words([f"w{number}" for number in numbers])
