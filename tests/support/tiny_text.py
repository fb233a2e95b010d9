"""Tiny randomly initialised text generators of every architecture, made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

from support import tiny
from verax.models.checkpoint import quiet

ARCHITECTURES = ("gpt2", "llama", "t5", "bart")


def generator_model(architecture: str, tokenizer: Any, positions: int = 96) -> Any:
    """An untrained model for the tokens of a tokenizer; always the same."""
    words, ends = len(tokenizer), {"eos_token_id": tokenizer.eos_token_id, "bos_token_id": tokenizer.bos_token_id}
    size: dict[str, Any] = {"vocab_size": words, "pad_token_id": tokenizer.pad_token_id, **ends}
    torch.manual_seed(3)
    if architecture == "gpt2":
        return GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=2, n_positions=positions, **size))
    if architecture == "llama":
        llama = LlamaConfig(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=48,
            max_position_embeddings=positions,
            **size,
        )
        return LlamaForCausalLM(llama)
    if architecture == "t5":
        start = {"decoder_start_token_id": tokenizer.pad_token_id}
        return T5ForConditionalGeneration(
            T5Config(d_model=32, d_kv=16, d_ff=48, num_layers=2, num_heads=2, **size, **start)
        )
    shape = {
        f"{side}_{what}": n for side in ("encoder", "decoder") for what, n in (("layers", 2), ("attention_heads", 2))
    }
    start = {"decoder_start_token_id": tokenizer.eos_token_id, "forced_eos_token_id": None}
    bart = BartConfig(
        d_model=32, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=positions, **shape, **size, **start
    )
    return BartForConditionalGeneration(bart)


def save_generator(architecture: str, folder: Path) -> Path:
    """A checkpoint on disk, with a tokenizer of byte-level pieces."""
    tokenizer = tiny.tokenizer_of("bytes")
    tokenizer.model_max_length = 256
    with quiet():
        generator_model(architecture, tokenizer, 256).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder
