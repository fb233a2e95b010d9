"""Tiny randomly initialised models of every architecture, with tokenizers of their own kind, made on the spot."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BartConfig,
    BartForSequenceClassification,
    BertConfig,
    BertForSequenceClassification,
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    LlamaConfig,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForSequenceClassification,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
)
from transformers.utils import logging

LABELS = ("yes", "maybe", "no")
CORPUS = [
    "the small red boat sails across the quiet lake while two gulls follow it",
    "nobody on the shore is watching the boat, and the wind is not strong",
    "a tall woman in a green coat sells warm bread and honey at the old market",
    "children never run through the library; they walk and whisper instead",
    "das kleine Haus, ein großer Garten und viele Bäume",
    "маленький дом стоит у реки, и никто не спит",
    "यह छोटा घर है और नदी के पास है",
    "هذا البيت صغير وهو قريب من النهر",
    "这是一个小房子 靠近河边",
]
SIZE = {"hidden": 32, "layers": 2, "heads": 2, "inner": 48, "positions": 96}


def tokenizer_of(kind: str) -> PreTrainedTokenizerFast:
    """WordPiece as BERT's, byte-level BPE as RoBERTa's and GPT-2's, or Unigram as XLM-R's and Llama's."""
    if kind == "wordpiece":
        specials = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
        inner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        inner.normalizer = normalizers.BertNormalizer(lowercase=True)
        inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        inner.model = models.WordPiece(_vocabulary(inner, list(specials.values()), 250, "##"), unk_token="[UNK]")
    elif kind in {"bytes", "bare bytes"}:
        names = ("bos", "pad", "eos", "unk", "mask") if kind == "bytes" else ("eos",)
        specials = {name: {"bos": "<s>", "eos": "</s>"}.get(name, f"<{name}>") for name in names}
        inner = Tokenizer(models.BPE())
        inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        inner.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=list(specials.values()),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        inner.train_from_iterator(CORPUS, trainer)
    else:
        specials = {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>", "mask": "<mask>"}
        inner = Tokenizer(models.Unigram())
        inner.pre_tokenizer = pre_tokenizers.Metaspace()
        pieces = _vocabulary(inner, list(specials.values()), 250)
        # a longer piece is more likely than the pieces it is made of
        scores = [(piece, 0.0 if piece in specials.values() else -10.0 - 1 / len(piece)) for piece in pieces]
        inner.model = models.Unigram(scores, unk_id=pieces["<unk>"])
    _frame(inner, kind)
    named = {f"{name}_token": token for name, token in specials.items()}
    types = ["token_type_ids"] if kind == "wordpiece" else []
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        model_max_length=SIZE["positions"] - 4,
        model_input_names=["input_ids", *types, "attention_mask"],
        clean_up_tokenization_spaces=False,
        **named,
    )


def _vocabulary(inner: Tokenizer, specials: list[str], size: int, inside: str = "") -> dict[str, int]:
    """Characters and the most frequent parts of words of the corpus, `inside` before those that start no word.

    The trainers of WordPiece and Unigram number pieces by the order of a hash table, which differs from process to
    process, and with the numbers so do the models.
    """
    counts: Counter[str] = Counter()
    for text in CORPUS:
        normal = inner.normalizer.normalize_str(text) if inner.normalizer else text
        for word, _ in inner.pre_tokenizer.pre_tokenize_str(normal):
            spans = combinations(range(len(word) + 1), 2)
            counts.update((inside if start else "") + word[start:end] for start, end in spans)
    single = sorted(piece for piece in counts if len(piece.removeprefix(inside)) == 1)
    longer = sorted(counts.keys() - set(single), key=lambda piece: (-counts[piece], -len(piece), piece))
    return {piece: number for number, piece in enumerate([*specials, *single, *longer][:size])}


def _frame(inner: Tokenizer, kind: str) -> None:
    """The special tokens that each kind puts around one text or a pair."""
    single, pair, names = {
        "wordpiece": ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ("[CLS]", "[SEP]")),
        "bytes": ("<s> $A </s>", "<s> $A </s> </s> $B </s>", ("<s>", "</s>")),
        "unigram": ("<s> $A </s>", "<s> $A </s> </s> $B </s>", ("<s>", "</s>")),
        "bos": ("<s> $A", "<s> $A $B", ("<s>",)),
        "bare bytes": ("$A", "$A $B", ()),
    }[kind]
    ids = [(name, inner.token_to_id(name)) for name in names]
    inner.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=ids)


def _config(tokenizer: PreTrainedTokenizerFast) -> dict[str, object]:
    return {
        "vocab_size": len(tokenizer),
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "id2label": dict(enumerate(LABELS)),
        "label2id": {name: i for i, name in enumerate(LABELS)},
    }


def _encoder_sizes() -> dict[str, int]:
    return {
        "hidden_size": SIZE["hidden"],
        "num_hidden_layers": SIZE["layers"],
        "num_attention_heads": SIZE["heads"],
        "intermediate_size": SIZE["inner"],
        "max_position_embeddings": SIZE["positions"],
    }


def build(architecture: str, *, seed: int = 0, **options: object) -> tuple[torch.nn.Module, PreTrainedTokenizerFast]:
    """A model and its tokenizer; weights are wide enough for different inputs to give clearly different logits.

    `options` are fields of the model's config.
    """
    torch.manual_seed(seed)
    kinds = {"bert": "wordpiece", "distilbert": "wordpiece", "roberta": "bytes", "bart": "bytes", "gpt2": "bare bytes"}
    tokenizer = tokenizer_of(kinds.get(architecture, "bos" if architecture == "llama" else "unigram"))
    common = {**_config(tokenizer), "initializer_range": 0.15, **options}
    if architecture == "bert":
        model = BertForSequenceClassification(BertConfig(**common, **_encoder_sizes()))
    elif architecture == "distilbert":
        sizes = {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 48, "max_position_embeddings": 96}
        model = DistilBertForSequenceClassification(DistilBertConfig(**common, **sizes))
    elif architecture == "roberta":
        model = RobertaForSequenceClassification(RobertaConfig(**common, **_encoder_sizes()))
    elif architecture == "xlm-roberta":
        model = XLMRobertaForSequenceClassification(XLMRobertaConfig(**common, **_encoder_sizes()))
    elif architecture == "deberta-v2":
        relative = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 16}
        sizes = {**_encoder_sizes(), **relative, "type_vocab_size": 0}
        model = DebertaV2ForSequenceClassification(DebertaV2Config(**common, **sizes))
    elif architecture == "bart":
        sizes = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "max_position_embeddings": 96}
        inner = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 48}
        start = {"decoder_ffn_dim": 48, "decoder_start_token_id": tokenizer.eos_token_id, "init_std": 0.15}
        model = BartForSequenceClassification(BartConfig(**common, **sizes, **inner, **start))
    elif architecture == "gpt2":
        sizes = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 96}
        model = GPT2ForSequenceClassification(GPT2Config(**common, **sizes))
    elif architecture == "llama":
        sizes = {**_encoder_sizes(), "num_key_value_heads": 2}
        model = LlamaForSequenceClassification(LlamaConfig(**common, **sizes))
    else:
        raise ValueError(architecture)
    return model.eval(), tokenizer


ARCHITECTURES = ("bert", "roberta", "distilbert", "xlm-roberta", "deberta-v2", "bart", "gpt2", "llama")


def save(architecture: str, folder: Path, *, seed: int = 0) -> Path:
    """A checkpoint on disk, as its users have it."""
    logging.disable_progress_bar()
    model, tokenizer = build(architecture, seed=seed)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
