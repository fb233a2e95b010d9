"""Prompts and their continuations as batches for a text generator, and the logits that predict the continuations."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from verax.models.devices import widened

TokenPair = tuple[Sequence[int], Sequence[int]]
"""Token ids of a prompt and of its continuation."""


def padded(rows: Sequence[Sequence[int]], pad: int, device: torch.device, *, left: bool) -> tuple[Tensor, Tensor]:
    """Ids and attention mask, both [rows, longest]; padded on the left if the text is to be continued."""
    side = "left" if left else "right"
    tensors = [torch.tensor(row, dtype=torch.long) for row in rows]
    ids = pad_sequence(tensors, batch_first=True, padding_value=pad, padding_side=side)
    attended = pad_sequence([torch.ones_like(row) for row in tensors], batch_first=True, padding_side=side)
    return ids.to(device), attended.to(device)


def continuation_logits(model: Any, rows: Sequence[TokenPair], pad: int) -> tuple[Tensor, Tensor]:
    """Logits, shape [rows, longest continuation, vocabulary], and the tokens that they predict, -1 for padding.

    One differentiable pass. Logits are computed for the continuations only.
    """
    texts, present = padded([text for _, text in rows], pad, model.device, left=False)
    targets = texts.masked_fill(present == 0, -1)
    is_encoder_decoder = bool(model.config.is_encoder_decoder)
    ids, attended = padded([prompt for prompt, _ in rows], pad, model.device, left=not is_encoder_decoder)
    if is_encoder_decoder:
        shifted = model.prepare_decoder_input_ids_from_labels(texts)
        answer = model(input_ids=ids, attention_mask=attended, decoder_input_ids=shifted, use_cache=False)
        return answer.logits, targets
    whole = torch.cat([attended, present], 1)
    answer = model(
        input_ids=torch.cat([ids, texts], 1),
        attention_mask=whole,
        use_cache=False,
        **_arguments(model, positions=_positions(whole), kept=texts.shape[1] + 1),
    )
    return answer.logits[:, -texts.shape[1] - 1 : -1], targets


def likelihoods(
    model: Any, prompts: Sequence[Sequence[int]], rows: Sequence[tuple[int, Sequence[int]]], pad: int
) -> Tensor:
    """Log-likelihood of each continuation, summed over its tokens, shape [rows]; every prompt is read once.

    Args:
        rows: for each continuation, the number of its prompt, and its ids.
    """
    texts, present = padded([text for _, text in rows], pad, model.device, left=False)
    prompt_of = torch.tensor([number for number, _ in rows], device=model.device)
    is_encoder_decoder = bool(model.config.is_encoder_decoder)
    ids, attended = padded(prompts, pad, model.device, left=not is_encoder_decoder)
    if is_encoder_decoder:
        logits = _encoder_decoder_logits(model, ids, attended, prompt_of, texts)
    else:
        logits = _decoder_logits(model, ids, attended, prompt_of, texts, present)
    logits = widened(logits)
    chosen = logits.gather(-1, texts[..., None])[..., 0] - logits.logsumexp(-1)
    return torch.where(present > 0, chosen, torch.zeros_like(chosen)).sum(-1)


def _encoder_decoder_logits(model: Any, ids: Tensor, attended: Tensor, prompt_of: Tensor, texts: Tensor) -> Tensor:
    """Logits of an encoder-decoder, shape [rows, tokens, vocabulary]: encoded once, decoded for each continuation."""
    read = model.get_encoder()(input_ids=ids, attention_mask=attended)
    read.last_hidden_state = read.last_hidden_state[prompt_of]
    logits: Tensor = model(
        encoder_outputs=read,
        attention_mask=attended[prompt_of],
        decoder_input_ids=model.prepare_decoder_input_ids_from_labels(texts),
        use_cache=False,
    ).logits
    return logits


def _decoder_logits(
    model: Any, ids: Tensor, attended: Tensor, prompt_of: Tensor, texts: Tensor, present: Tensor
) -> Tensor:
    """Logits of a decoder, with the same shape: keys and values of the prompts are shared by their continuations."""
    positions = _positions(attended)
    read = model(
        input_ids=ids, attention_mask=attended, use_cache=True, **_arguments(model, positions=positions, kept=1)
    )
    first: Tensor = read.logits[prompt_of, -1:]
    if texts.shape[1] == 1:
        return first
    cache = read.past_key_values
    cache.batch_select_indices(prompt_of)
    whole = torch.cat([attended[prompt_of], present[:, :-1]], 1)
    rest = model(
        input_ids=texts[:, :-1],
        attention_mask=whole,
        past_key_values=cache,
        use_cache=True,
        **_arguments(model, positions=_positions(whole)[:, ids.shape[1] :]),
    ).logits
    return torch.cat([first, rest], 1)


def _positions(attended: Tensor) -> Tensor:
    """Position of each token in its text, without padding."""
    return (attended.cumsum(-1) - 1).clamp(min=0)


def _arguments(model: Any, *, positions: Tensor, kept: int | None = None) -> dict[str, Any]:
    """Further arguments of a decoder, if it takes them: positions, and the number of logits."""
    known = inspect.signature(model.forward).parameters
    arguments = {"position_ids": positions, "logits_to_keep": kept}
    return {name: value for name, value in arguments.items() if value is not None and name in known}
