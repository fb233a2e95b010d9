"""Text generators of Hugging Face transformers: encoder-decoders (T5, BART) and decoders (GPT-2, Llama)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import GenerationConfig

from verax.models.chat import as_chat, chat_facts
from verax.models.checkpoint import max_length
from verax.models.devices import rounding_of
from verax.models.generator import CandidatesPass, GeneratePass, LikelihoodPass, Prompt, TextRequest
from verax.models.hf_encoder import as_array
from verax.models.panics import panics_as_errors
from verax.models.text_rows import likelihoods, padded
from verax.models.untouched import untouched
from verax.store.keys import canonical_json
from verax.types import FloatArray, Generated, Undefined, UserError

_MARKS = ("decoder_start_token_id", "bos_token_id", "eos_token_id", "forced_bos_token_id")
"""Settings taken from the generation config of a checkpoint; penalties, beams and others are ignored."""
_UNFORCED = {"forced_eos_token_id": None}
"""No end mark is forced: in place of the last token it would hide that a text was cut off."""
_NO_WORD = "the model ended without a word"


class HFGenerator:
    """A transformers model that generates text, and its tokenizer, neither of which is modified.

    Each call is one batch: the caller makes sure that its texts are of similar length. Texts are generated with the
    key-value cache of transformers.

    Args:
        fingerprint: hashes of weights and tokenizer; the tokens that begin and end a text and the arguments of the
            chat template are added to it.

    Attributes:
        longest: largest number of tokens it can read.
        pad: id of the padding token.
    """

    gives_likelihoods = True

    def __init__(self, model: Any, tokenizer: Any, *, name: str, fingerprint: Mapping[str, str]) -> None:
        if not getattr(model, "can_generate", lambda: False)():
            raise UserError(
                f"model: {name!r} ({type(model).__name__}) has no language modelling head, so it generates no text"
            )
        self._model, self._tokenizer, self.name = model, tokenizer, name
        self._is_encoder_decoder = bool(model.config.is_encoder_decoder)
        self._device = next(model.parameters()).device
        self.longest = max_length(model.config, tokenizer)
        # any token will do for padding: it is never attended to
        self.pad = next(i for i in (tokenizer.pad_token_id, tokenizer.eos_token_id, 0) if i is not None)
        config = model.generation_config
        marks = {name: getattr(config, name, None) for name in _MARKS}
        self._marks = {**marks, **_UNFORCED, "pad_token_id": self.pad}
        settings = {**rounding_of(model.dtype, self._device), "marks": canonical_json(self._marks).decode()}
        self.fingerprint = {**fingerprint, **settings, **chat_facts(tokenizer)}
        self.about = {
            "architecture": type(model).__name__,
            "device": str(self._device),
            "parameters": str(sum(p.numel() for p in model.parameters())),
            "max_length": str(self.longest),
        }

    def rendered(self, prompt: Prompt) -> str:
        """A prompt as the model reads it: in its chat template, if it has one and the prompt is not plain."""
        if self._is_chat(prompt):
            return as_chat(self._tokenizer, prompt)
        return prompt.user if prompt.system is None else f"{prompt.system}\n\n{prompt.user}"

    def tokens(self, prompt: Prompt) -> list[int]:
        """Ids of a prompt, with special tokens unless a chat template adds its own."""
        return self._ids(self.rendered(prompt), special=not self._is_chat(prompt))

    def continuation(self, prompt: Prompt, text: str) -> list[int]:
        """Ids of the continuation of a prompt, the same in training and inference; empty if the text has no token.

        An encoder-decoder adds its first token and its end mark. A decoder continues after a space and adds the end
        mark after a plain prompt, as in training; in a chat only the text counts.
        """
        spaced = not self._is_encoder_decoder and not self._is_chat(prompt)
        ids = self._ids(" " + text if spaced else text, special=False)
        if not text.strip() or not ids:
            return []
        first = self._marks["forced_bos_token_id"] if self._is_encoder_decoder else None
        closed = self._is_encoder_decoder or prompt.plain
        return [*([] if first is None else [first]), *ids, *([self._end] if closed and self._end is not None else [])]

    def context_length(self, prompt: Sequence[int], text: Sequence[int]) -> int:
        """Number of tokens that the model reads at once: both for a decoder, the longer for an encoder-decoder."""
        return max(len(prompt), len(text)) if self._is_encoder_decoder else len(prompt) + len(text)

    def length(self, request: TextRequest) -> int:
        """Number of tokens that a pass takes up in a batch: its prompt and all continuations."""
        prompt = len(self.tokens(request.prompt))
        if isinstance(request, LikelihoodPass):
            return prompt + sum(len(self.continuation(request.prompt, text)) for text in request.continuations)
        rows = request.wanted if isinstance(request, CandidatesPass) else 1
        return rows * (prompt + request.max_new_tokens)

    def _ids(self, text: str, *, special: bool) -> list[int]:
        """Token ids of a text; half a surrogate pair, which tokenizers reject, is read as a question mark."""
        whole = text.encode("utf-8", "replace").decode()
        with panics_as_errors():
            ids: list[int] = self._tokenizer(whole, add_special_tokens=special)["input_ids"]
        return ids

    def _is_chat(self, prompt: Prompt) -> bool:
        return not prompt.plain and bool(getattr(self._tokenizer, "chat_template", None))

    def generate(self, passes: Sequence[GeneratePass]) -> list[Generated | Undefined]:
        """A text for each pass, by greedy decoding, in one batch; all passes have the same settings."""
        for request in passes:  # samples would depend on what else is in the batch
            if request.temperature > 0:
                raise UserError(f"temperature: got {request.temperature}; {self.name!r} does not sample, it must be 0")
        first = passes[0]
        options: dict[str, Any] = {"do_sample": False, "num_beams": 1}
        if first.stop:
            options["stop_strings"] = list(first.stop)
        decoded = self._decoded(passes, options)
        return [rows if isinstance(rows, Undefined) else self._text(rows[0], first) for rows in decoded]

    def candidates(self, passes: Sequence[CandidatesPass]) -> list[list[Generated] | Undefined]:
        """Texts for each pass by beam search, in one batch, the likeliest first; fewer if some are equal."""
        _, wanted, new_tokens = passes[0]
        options = {"num_beams": wanted, "num_return_sequences": wanted, "do_sample": False}
        answers: list[list[Generated] | Undefined] = []
        for request, rows in zip(passes, self._decoded(passes, options), strict=True):
            if isinstance(rows, Undefined):
                answers.append(rows)
                continue
            different: dict[str, Generated] = {}
            for text in (self._text(row, GeneratePass(request.prompt, new_tokens)) for row in rows):
                if isinstance(text, Generated):
                    different.setdefault(text.text, text)
            answers.append(list(different.values()) or Undefined("empty_answer", _NO_WORD))
        return answers

    def _decoded(
        self, passes: Sequence[GeneratePass | CandidatesPass], options: Mapping[str, Any]
    ) -> list[list[list[int]] | Undefined]:
        """Generated ids for each prompt, in one batch; the reason for a prompt that cannot be read."""
        if any(request[1:3] != passes[0][1:3] for request in passes):
            raise ValueError("the passes of one batch differ in their settings")
        rows, new_tokens = [self.tokens(request.prompt) for request in passes], passes[0].max_new_tokens
        needed = 0 if self._is_encoder_decoder else new_tokens
        fit = [n for n, ids in enumerate(rows) if 0 < len(ids) <= self.longest - needed]
        answers: list[list[list[int]] | Undefined] = [
            Undefined("too_long", f"{len(ids)} tokens and {needed} to come, the model reads {self.longest}")
            if ids
            else Undefined("empty", "the prompt has no token")
            for ids in rows
        ]
        if not fit:
            return answers
        ids, attended = padded([rows[n] for n in fit], self.pad, self._device, left=not self._is_encoder_decoder)
        own = GenerationConfig(**self._marks, max_new_tokens=new_tokens, use_cache=True, **options)
        with torch.inference_mode(), untouched(self._model), _only_marks(self._model, self._marks):
            made: Tensor = self._model.generate(
                input_ids=ids,
                attention_mask=attended,
                generation_config=own,
                **({"tokenizer": self._tokenizer} if "stop_strings" in options else {}),
            )
        new = (made[:, 1:] if self._is_encoder_decoder else made[:, ids.shape[1] :]).tolist()
        each = len(new) // len(fit)
        for number, place in enumerate(fit):
            answers[place] = new[number * each : (number + 1) * each]
        return answers

    def _text(self, row: list[int], request: GeneratePass) -> Generated | Undefined:
        """The generated text, up to its end mark or the first stop string."""
        ends = self._ends
        stop = next((n for n, token in enumerate(row) if token in ends), None)
        kept = row if stop is None else row[:stop]
        text: str = self._tokenizer.decode(kept, skip_special_tokens=True)
        cuts = [text.index(mark) for mark in request.stop if mark in text]
        text = text[: min(cuts)] if cuts else text
        if not text.strip():
            return Undefined("empty_answer", _NO_WORD)
        finished = stop is not None or bool(cuts) or len(row) < request.max_new_tokens
        return Generated(text.strip(), "stop" if finished else "length", len(kept))

    @property
    def _ends(self) -> frozenset[int]:
        marks = self._marks["eos_token_id"]
        marks = self._tokenizer.eos_token_id if marks is None else marks
        return frozenset() if marks is None else frozenset(np.atleast_1d(marks).tolist())

    @property
    def _end(self) -> int | None:
        """The end mark of a text: the tokenizer's, unless the model ends at others."""
        mark: int | None = self._tokenizer.eos_token_id
        return mark if mark in self._ends else min(self._ends, default=None)

    def likelihoods(self, passes: Sequence[LikelihoodPass]) -> list[FloatArray | Undefined]:
        """Log-likelihood of each continuation, summed over its tokens, in one batch."""
        prompts = [self.tokens(request.prompt) for request in passes]
        texts = [[self.continuation(request.prompt, text) for text in request.continuations] for request in passes]
        answers: list[FloatArray | Undefined] = [
            self._unreadable(*given) or np.empty(0) for given in zip(passes, prompts, texts, strict=True)
        ]
        asked = [n for n, answer in enumerate(answers) if not isinstance(answer, Undefined) and texts[n]]
        if asked:
            rows = [(place, text) for place, n in enumerate(asked) for text in texts[n]]
            with torch.inference_mode(), untouched(self._model):
                values = as_array(likelihoods(self._model, [prompts[n] for n in asked], rows, self.pad))
            ends = np.cumsum([len(texts[n]) for n in asked])
            for n, found in zip(asked, np.split(values, ends[:-1]), strict=True):
                answers[n] = found
        return answers

    def _unreadable(self, request: LikelihoodPass, prompt: list[int], texts: list[list[int]]) -> Undefined | None:
        """The reason why a pass has no likelihoods, if there is one."""
        if not prompt:
            return Undefined("empty", "the prompt has no token")
        if not all(texts):
            return Undefined("empty", f"a continuation of {request.continuations} has no token")
        if self.context_length(prompt, max(texts, key=len, default=())) > self.longest:
            return Undefined("too_long", f"the prompt and a continuation exceed {self.longest} tokens")
        return None


@contextmanager
def _only_marks(model: Any, marks: Mapping[str, Any]) -> Iterator[None]:
    """Hide the generation config of the checkpoint, from which transformers takes settings that a call leaves open."""
    original = model.generation_config
    model.generation_config = GenerationConfig(**marks)
    try:
        yield
    finally:
        model.generation_config = original
