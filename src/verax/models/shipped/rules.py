"""Transformers whose weights are set by hand so that they compute a known rule; see `verax.data.rules`.

Each is a BERT with one layer. A head for each feature lets every position attend to the words of the feature if they
occur, else to [CLS], which carries no signal; so the head reads 1 or 0. A unit of the feed-forward network with ReLU is
the clause of a rule, and raises its label. Every dimension has a mirrored one, so that means are 0, and a large
constant in the position embeddings keeps variances equal: layer norms then change nothing but the last few percent.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from verax.data.rules import CLAUSES, LABELS, RULES, RuleName, features, vocabulary
from verax.store.keys import hash_bytes
from verax.types import FloatArray

_VERSION = 1
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_LONGEST = 128
_CONSTANT = 16.0
"""Size of the constant in each position embedding: signals are of size 1."""
_SHARP = 24.0
"""Attention score of a word of the feature; [CLS] has half of it, and other words none."""
_HEIGHT, _NEUTRAL = 8.0, 3.0
"""Logit of a label whose clause fires, before tanh, and of the neutral label."""
_WIDTH = 4
"""Dimensions of a head: its first one is used."""


@dataclass(frozen=True, slots=True)
class RuleModel:
    """A model that computes some rules; calling it gives its folder, built at first use."""

    name: str
    summary: str
    rules: tuple[RuleName, ...]

    def __call__(self) -> Path:
        """The folder of the model in the user's cache; its name changes with the content."""
        files, weights = self._files(), rule_weights(self.rules)
        arrays = [array.tobytes() for array in weights.values()]
        content = hash_bytes(*(text.encode() for text in files.values()), *arrays)
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "verax" / "models"
        folder = cache / f"{self.name.replace('/', '-')}-{content[:16]}"
        if not folder.is_dir():
            cache.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=cache) as place:
                made = Path(place) / "model"
                made.mkdir()
                for name, text in files.items():
                    (made / name).write_text(text, "utf-8")
                save_file(weights, made / "model.safetensors", {"format": "pt"})
                try:
                    made.rename(folder)
                except OSError:  # another process was faster
                    if not folder.is_dir():
                        raise
        return folder

    def _files(self) -> dict[str, str]:
        """Configuration and tokenizer, written out so that they depend on no version of another package."""
        shapes = _Shapes(self.rules)
        labels = dict(enumerate(LABELS))
        config = {
            "architectures": ["BertForSequenceClassification"],
            "attention_probs_dropout_prob": 0.0,
            "dtype": "float32",
            "hidden_act": "relu",
            "hidden_dropout_prob": 0.0,
            "hidden_size": shapes.hidden,
            "id2label": labels,
            "initializer_range": 0.1,
            "intermediate_size": shapes.clauses,
            "label2id": {label: number for number, label in labels.items()},
            "layer_norm_eps": 1e-12,
            "max_position_embeddings": _LONGEST,
            "model_type": "bert",
            "num_attention_heads": shapes.heads,
            "num_hidden_layers": 1,
            "pad_token_id": 0,
            "type_vocab_size": 2,
            "verax": {"rules": ", ".join(self.rules), "rules_version": str(_VERSION)},
            "vocab_size": len(_tokens()),
        }
        reading = {
            "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
            "model_max_length": _LONGEST,
            "tokenizer_class": "PreTrainedTokenizerFast",
            **{f"{token.strip('[]').lower()}_token": token for token in _SPECIAL},
        }
        return {
            "config.json": json.dumps(config, indent=1),
            "tokenizer.json": json.dumps(_tokenizer(), indent=1),
            "tokenizer_config.json": json.dumps(reading, indent=1),
        }


def _tokens() -> tuple[str, ...]:
    return (*_SPECIAL, *vocabulary())


def _tokenizer() -> dict[str, Any]:
    """A tokenizer that knows whole words only; others are unknown, and play no role."""
    numbers = {token: number for number, token in enumerate(_tokens())}

    def marker(token: str, part: int) -> dict[str, Any]:
        return {"SpecialToken": {"id": token, "type_id": part}}

    def text(part: int) -> dict[str, Any]:
        return {"Sequence": {"id": "AB"[part], "type_id": part}}

    single = [marker("[CLS]", 0), text(0), marker("[SEP]", 0)]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": numbers[token], "content": token, **flags} for token in _SPECIAL],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single,
            "pair": [*single, text(1), marker("[SEP]", 1)],
            "special_tokens": {
                token: {"id": token, "ids": [numbers[token]], "tokens": [token]} for token in ("[CLS]", "[SEP]")
            },
        },
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": numbers, "unk_token": "[UNK]"},
    }


class _Shapes:
    """Sizes of a model, and the dimension of each signal; the mirrored one follows it."""

    def __init__(self, rules: tuple[RuleName, ...]) -> None:
        self.features = features(rules)
        self.heads = len(self.features)
        self.clauses = sum(len(CLAUSES[rule]) for rule in rules)
        # the word is of a feature; the head has found it; labels; second part; [CLS]; constant
        signals = 2 * self.heads + len(LABELS) + 3
        self.word, self.found = 0, 2 * self.heads
        self.label = self.found + 2 * self.heads
        self.part, self.first, self.constant = (2 * (signals - left) for left in (3, 2, 1))
        self.hidden = math.ceil(max(2 * signals, _WIDTH * self.heads) / self.heads) * self.heads


def rule_weights(rules: tuple[RuleName, ...]) -> dict[str, FloatArray]:
    """The weights of a model that computes some rules, by their names in transformers."""
    at = _Shapes(rules)
    tokens = _tokens()
    width = at.hidden // at.heads
    weights: dict[str, FloatArray] = {}

    def new(name: str, *shape: int) -> FloatArray:
        weights[name] = np.zeros(shape, np.float32)
        return weights[name]

    def linear(name: str, outputs: int, inputs: int) -> tuple[FloatArray, FloatArray]:
        return new(f"{name}.weight", outputs, inputs), new(f"{name}.bias", outputs)

    def norm(name: str) -> None:
        scale, _ = new(f"{name}.weight", at.hidden), new(f"{name}.bias", at.hidden)
        scale[:] = _CONSTANT * math.sqrt(2 / at.hidden)  # what a layer norm divides by

    words = new("bert.embeddings.word_embeddings.weight", len(tokens), at.hidden)
    _mirrored(words[tokens.index("[CLS]")], at.first, 1.0)
    _mirrored(new("bert.embeddings.token_type_embeddings.weight", 2, at.hidden)[1], at.part, 1.0)
    _mirrored(new("bert.embeddings.position_embeddings.weight", _LONGEST, at.hidden).T, at.constant, _CONSTANT)
    norm("bert.embeddings.LayerNorm")

    layer = "bert.encoder.layer.0"
    _, query = linear(f"{layer}.attention.self.query", at.hidden, at.hidden)
    key, _ = linear(f"{layer}.attention.self.key", at.hidden, at.hidden)
    value, _ = linear(f"{layer}.attention.self.value", at.hidden, at.hidden)
    output, _ = linear(f"{layer}.attention.output.dense", at.hidden, at.hidden)
    norm(f"{layer}.attention.output.LayerNorm")
    for number, feature in enumerate(at.features):
        for word in feature.words:
            _mirrored(words[tokens.index(word)], at.word + 2 * number, 1.0)
        head = number * width
        query[head] = _SHARP * math.sqrt(width)
        key[head, at.word + 2 * number] = 1.0
        # a word in the wrong part stays one below a word in the right one; [CLS] is between the two
        key[head, at.part] = {None: 0.0, 0: -1.0, 1: 1.0}[feature.part]
        key[head, at.first] = 1.5 if feature.part == 1 else 0.5
        value[head, at.word + 2 * number] = 1.0
        _mirrored(output.T[head], at.found + 2 * number, 1.0)

    inner, threshold = linear(f"{layer}.intermediate.dense", at.clauses, at.hidden)
    outer, _ = linear(f"{layer}.output.dense", at.hidden, at.clauses)
    norm(f"{layer}.output.LayerNorm")
    for number, clause in enumerate(clause for rule in rules for clause in CLAUSES[rule]):
        for sign, several in ((2.0, clause.present), (-2.0, clause.absent)):
            for feature in several:
                inner[number, at.found + 2 * at.features.index(feature)] = sign
        threshold[number] = 1.0 - 2.0 * len(clause.present)  # 1 if all are there, below 0 if one is missing
        _mirrored(outer.T[number], at.label + 2 * LABELS.index(clause.label), 1.0)

    pooler, _ = linear("bert.pooler.dense", at.hidden, at.hidden)
    classifier, bias = linear("classifier", len(LABELS), at.hidden)
    for number, label in enumerate(LABELS):
        pooler[number, at.label + 2 * number] = 1.0
        classifier[number, number] = _HEIGHT
        bias[number] = _NEUTRAL if label == "neutral" else 0.0
    return weights


def _mirrored(target: FloatArray, place: int, value: float) -> None:
    """Set a dimension and the one that mirrors it."""
    target[place], target[place + 1] = value, -value


rules_word = RuleModel("rules/word", "BERT with weights set by hand: one word decides.", ("word",))
rules_conjunction = RuleModel(
    "rules/conjunction", "BERT with weights set by hand: two words decide, together.", ("conjunction",)
)
rules_negation = RuleModel(
    "rules/negation", "BERT with weights set by hand: a word decides, and a negation flips it.", ("negation",)
)
rules_span_pair = RuleModel(
    "rules/span_pair", "BERT with weights set by hand: a span in each part decides, together.", ("span_pair",)
)
rules_mixed = RuleModel("rules/mixed", "BERT with weights set by hand: all four rules.", RULES)
