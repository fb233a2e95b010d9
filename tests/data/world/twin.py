"""A model that computes the same function in two languages: English, and a cipher of it with the same word order."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import BertForSequenceClassification, PreTrainedTokenizerFast

from verax.data.world import nli
from verax.models.shipped import world_nli
from verax.types import Dataset, GivenAlignment, Instance, Text

CIPHER = "xx"
_LETTERS = "абвгдежзиклмнопрстуфхцчшщъ"
_RESPELT = str.maketrans(ascii_lowercase + ascii_lowercase.upper(), _LETTERS + _LETTERS.upper())


def twin(folder: Path | None = None, limit: int = 30) -> tuple[Any, Any, Dataset]:
    """A shipped English model that also reads the cipher, its tokenizer, and inputs in both, aligned word by word.

    Each letter has another one in its place, so each token has a twin in the cipher, with the same embedding.

    Args:
        folder: of a model for `world/nli`; the shipped one by default.
        limit: how many English inputs, from the test split.
    """
    folder = folder or world_nli()
    model = BertForSequenceClassification.from_pretrained(folder).eval()
    known = PreTrainedTokenizerFast.from_pretrained(folder)
    numbers = known.get_vocab()
    twins = {_respelt(t): n for t, n in numbers.items() if t not in known.all_special_tokens and _respelt(t) != t}
    vocabulary = numbers | {token: len(numbers) + n for n, token in enumerate(twins)}
    written = json.loads(known.backend_tokenizer.to_str())
    written["model"]["vocab"] = vocabulary
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(written)),
        model_max_length=known.model_max_length,
        model_input_names=known.model_input_names,
        **known.special_tokens_map,
    )
    model.resize_token_embeddings(len(vocabulary), mean_resizing=False)
    with torch.no_grad():
        weight = model.get_input_embeddings().weight
        weight[len(numbers) :] = weight[list(twins.values())]
    return model, tokenizer, _both(nli.load("test", limit))


def _both(english: Dataset) -> Dataset:
    pairs = [(replace(i, id=f"{i.id}/en", parallel_id=i.id), _ciphered(i)) for i in english.instances]
    aligned = {}
    for plain, ciphered in pairs:
        links = tuple(tuple((n, n) for n in range(len(part.words))) for part in plain.parts)
        aligned[plain.id] = (GivenAlignment(CIPHER, links),)
        aligned[ciphered.id] = (GivenAlignment("en", links),)
    return replace(english, instances=tuple(i for pair in pairs for i in pair), aligned=aligned)


def _ciphered(instance: Instance) -> Instance:
    parts = tuple(
        Text(_respelt(part.raw), tuple(_respelt(word) for word in part.words), part.offsets, CIPHER)
        for part in instance.parts
    )
    return replace(instance, id=f"{instance.id}/{CIPHER}", parts=parts, lang=CIPHER, parallel_id=instance.id)


def _respelt(text: str) -> str:
    return text.translate(_RESPELT)
