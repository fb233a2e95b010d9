"""A model that is hard to imitate and easy to explain: one word decides, and which one is hidden in an order of places.

Every text holds `hot` and `cold` once, and the one at the higher place in that order gives the class. From texts and
answers an agent would have to find out the order; who is shown the decisive word knows the answer. The weights are
written by hand, nothing is trained.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from verax.data.text import split_words
from verax.models.subject import Subject
from verax.types import Attribution, Dataset, Instance, Kind, Passes, Unit

LENGTH = 16
ORDER = np.random.default_rng(0).permutation(LENGTH)
"""The rank of each place of the first part: of the two words the one with the higher rank decides."""
FILLERS = ("the", "small", "boat", "on", "a", "lake", "sails", "far", "away", "today", "and", "still")
LABELS = ("hot", "cold")
_HIDDEN, _SPECIAL = 16, ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def save_model(folder: Path) -> Path:
    """The checkpoint: the first token attends most to the decisive word, and the class is read off what it finds."""
    tokenizer = _tokenizer()
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=_HIDDEN,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=_HIDDEN,
        max_position_embeddings=48,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.2,  # of the agents, which are drawn by this config
        pad_token_id=0,
        id2label=dict(enumerate(LABELS)),
        label2id={label: number for number, label in enumerate(LABELS)},
    )
    model = BertForSequenceClassification(config)
    with torch.no_grad():
        _write(model, tokenizer)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _write(model: BertForSequenceClassification, tokenizer: PreTrainedTokenizerFast) -> None:
    for name, weight in model.named_parameters():
        weight.fill_(1.0 if "LayerNorm.weight" in name else 0.0)
    embeddings, attention = model.bert.embeddings, model.bert.encoder.layer[0].attention
    for sign, word in zip((1.0, -1.0), LABELS, strict=True):
        # both signs, so that the layer norm treats the two words alike and only their places differ
        written = torch.tensor([sign, -sign, 4.0])
        embeddings.word_embeddings.weight[tokenizer.convert_tokens_to_ids(word), [0, 3, 2]] = written
    places = torch.from_numpy(ORDER / LENGTH).float()
    embeddings.position_embeddings.weight[1 : LENGTH + 1, 1] = places  # after the first token
    attention.self.query.bias[0] = 100.0
    attention.self.key.weight[0, [1, 2]] = torch.tensor([2.0, 4.0])
    attention.self.value.weight.copy_(torch.eye(_HIDDEN))
    attention.output.dense.weight.copy_(torch.eye(_HIDDEN))
    model.bert.pooler.dense.weight.copy_(torch.eye(_HIDDEN))
    model.classifier.weight[0, 0], model.classifier.weight[1, 0] = 4.0, -4.0


def _tokenizer() -> PreTrainedTokenizerFast:
    vocabulary = {word: number for number, word in enumerate((*_SPECIAL, *LABELS, *FILLERS, ",", ";"))}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    frame = [(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")]
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=frame
    )
    named = {f"{token.strip('[]').lower()}_token": token for token in _SPECIAL}
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        model_max_length=48,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **named,
    )


def texts(n: int, *, labels: tuple[str, ...] = LABELS, seed: int = 0) -> Dataset:
    """Texts and short second parts; their gold labels, taken from `labels` in turn, have nothing to do with them."""
    rng = np.random.default_rng(seed)
    instances = []
    for number in range(n):
        words = [str(word) for word in rng.choice(FILLERS, LENGTH)]
        words[(places := rng.permutation(LENGTH))[0]], words[places[1]] = LABELS
        parts = (split_words(" ".join(words)), split_words(" ".join(rng.choice(FILLERS, 2))))
        instances.append(Instance(f"text {number}", parts, labels[number % len(labels)]))
    return Dataset("hidden place", tuple(instances), LABELS)


def decisive(instance: Instance) -> int:
    """The place of the word that decides."""
    words = instance.parts[0].words
    return max((words.index(label) for label in LABELS), key=lambda place: ORDER[place])


@dataclass(frozen=True)
class DecisivePair:
    """The decisive word with the first one of the second part: a span pair, so that every method shows two words."""

    kind: ClassVar[Kind] = "span_interaction"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "made for a test"

    def passes(self, n: int) -> Passes:
        return Passes(0, 0)

    def __call__(self, x: Subject) -> Attribution:
        pair: Unit = (x.units[decisive(x.instance)][0], x.units[LENGTH][0])
        return Attribution((pair,), np.ones(1))
