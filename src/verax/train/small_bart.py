"""Small text generators from scratch: how big, and with which starting weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from transformers import BartConfig, BartForConditionalGeneration

from verax.train.start import start_generator_with_likeness
from verax.train.word_pieces import LONGEST


@dataclass(frozen=True, slots=True)
class Shape:
    """How big a generator is."""

    hidden: int
    encoder_layers: int
    decoder_layers: int
    heads: int
    feed_forward: int


def build_generator(tokenizer: Any, shape: Shape, seed: int) -> BartForConditionalGeneration:
    """An untrained BART; the same seed gives the same weights."""
    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=shape.hidden,
        encoder_layers=shape.encoder_layers,
        decoder_layers=shape.decoder_layers,
        encoder_attention_heads=shape.heads,
        decoder_attention_heads=shape.heads,
        encoder_ffn_dim=shape.feed_forward,
        decoder_ffn_dim=shape.feed_forward,
        max_position_embeddings=LONGEST,
        init_std=shape.hidden**-0.5,
        dropout=0.0,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.bos_token_id,
        forced_eos_token_id=None,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = BartForConditionalGeneration(config)
    start_generator_with_likeness(model)
    return model
