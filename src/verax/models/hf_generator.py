"""Text generators of Hugging Face transformers: encoder-decoders (T5, BART) and decoders (GPT-2, Llama)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from verax.models.generator import Each, Generated, GeneratePass, LikelihoodPass, Prompt
from verax.models.hf_encoder import as_array, max_length
from verax.models.untouched import untouched
from verax.types import FloatArray, Undefined, UserError


class HFGenerator:
    """A transformers model that generates text, and its tokenizer, asked without being changed.

    Each call is one batch: who calls sees to it that its texts are of like length. Texts are generated with the cache
    of keys and values that transformers keeps.

    Args:
        model: a transformers model with a head for language.
        tokenizer: its tokenizer.
        name: as the user gave it.
        fingerprint: hashes of weights and tokenizer.
    """

    gives_likelihoods = True

    def __init__(self, model: Any, tokenizer: Any, *, name: str, fingerprint: Mapping[str, str]) -> None:
        if not getattr(model, "can_generate", lambda: False)():
            raise UserError(f"model: {name!r} ({type(model).__name__}) generates no text: it has no head for language")
        self._model, self._tokenizer, self.name = model, tokenizer, name
        self._crossing = bool(model.config.is_encoder_decoder)
        self._device = next(model.parameters()).device
        self._longest = max_length(model.config, tokenizer)
        # no token is needed for padding: it is never attended
        self._pad = next(i for i in (tokenizer.pad_token_id, tokenizer.eos_token_id, 0) if i is not None)
        dtype = str(model.dtype).removeprefix("torch.")
        self.fingerprint = {**fingerprint, "dtype": dtype}
        self.about = {
            "architecture": type(model).__name__,
            "device": str(self._device),
            "parameters": str(sum(p.numel() for p in model.parameters())),
            "max_length": str(self._longest),
        }

    def written(self, prompt: Prompt) -> str:
        """A prompt as the model reads it: in the template of its chat, if it has one and the prompt is not plain."""
        if not prompt.plain and getattr(self._tokenizer, "chat_template", None):
            said = [] if prompt.system is None else [{"role": "system", "content": prompt.system}]
            said.append({"role": "user", "content": prompt.user})
            text: str = self._tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
            return text
        return prompt.user if prompt.system is None else f"{prompt.system}\n\n{prompt.user}"

    def tokens(self, prompt: Prompt) -> list[int]:
        """The ids of a prompt, with the special tokens that go around a text, unless a chat has put its own."""
        chats = not prompt.plain and bool(getattr(self._tokenizer, "chat_template", None))
        ids: list[int] = self._tokenizer(self.written(prompt), add_special_tokens=not chats)["input_ids"]
        return ids

    def generate(
        self, passes: Sequence[GeneratePass], each: Each[Generated] | None = None
    ) -> list[Generated | Undefined]:
        """A text for each pass, in one batch for all that are decoded alike."""
        answers: list[Generated | Undefined] = [Undefined("empty", "nothing was asked")] * len(passes)
        alike: dict[tuple[Any, ...], list[int]] = {}
        for number, one in enumerate(passes):
            alike.setdefault((one.max_new_tokens, one.stop, one.temperature, one.seed), []).append(number)
        for numbers in alike.values():
            for number, answer in zip(numbers, self._generate([passes[n] for n in numbers]), strict=True):
                answers[number] = answer
                if each is not None:
                    each(number, answer)
        return answers

    def _generate(self, passes: Sequence[GeneratePass]) -> list[Generated | Undefined]:
        first = passes[0]
        prompts = [self.tokens(one.prompt) for one in passes]
        needed = 0 if self._crossing else first.max_new_tokens
        fit = [n for n, ids in enumerate(prompts) if 0 < len(ids) <= self._longest - needed]
        answers: list[Generated | Undefined] = [
            Undefined("too_long", f"{len(ids)} tokens and {needed} to come, the model reads {self._longest}")
            if ids
            else Undefined("empty", "the prompt has no token")
            for ids in prompts
        ]
        if not fit:
            return answers
        ids, attended = self._padded([prompts[n] for n in fit], left=not self._crossing)
        options: dict[str, Any] = {"do_sample": first.temperature > 0, "num_beams": 1, "use_cache": True}
        if first.temperature > 0:
            options |= {"temperature": first.temperature, "top_k": 0, "top_p": 1.0}
        if first.stop:
            options |= {"stop_strings": list(first.stop), "tokenizer": self._tokenizer}
        with torch.inference_mode(), untouched(self._model), torch.random.fork_rng(devices=[]):
            torch.manual_seed(first.seed)
            made: Tensor = self._model.generate(
                input_ids=ids,
                attention_mask=attended,
                max_new_tokens=first.max_new_tokens,
                pad_token_id=self._pad,
                **options,
            )
        new = made[:, 1:] if self._crossing else made[:, ids.shape[1] :]
        for place, row in zip(fit, new.tolist(), strict=True):
            answers[place] = self._read(row, first)
        return answers

    def _read(self, row: list[int], asked: GeneratePass) -> Generated | Undefined:
        """What was generated: up to its end mark or the first stop string."""
        ends = self._ends
        stop = next((n for n, token in enumerate(row) if token in ends), None)
        kept = row if stop is None else row[:stop]
        text: str = self._tokenizer.decode(kept, skip_special_tokens=True)
        cuts = [text.index(mark) for mark in asked.stop if mark in text]
        text = text[: min(cuts)] if cuts else text
        if not text.strip():
            return Undefined("empty_answer", "the model ended without a word")
        finished = stop is not None or bool(cuts) or len(row) < asked.max_new_tokens
        return Generated(text.strip(), "stop" if finished else "length", len(kept))

    @property
    def _ends(self) -> frozenset[int]:
        marks = self._model.generation_config.eos_token_id
        marks = self._tokenizer.eos_token_id if marks is None else marks
        return frozenset() if marks is None else frozenset(np.atleast_1d(marks).tolist())

    def likelihoods(
        self, passes: Sequence[LikelihoodPass], each: Each[FloatArray] | None = None
    ) -> list[FloatArray | Undefined]:
        """Log-likelihood of each continuation, summed over its tokens, all of them in one batch."""
        rows = [
            (number, self.tokens(one.prompt), self._continuation(text))
            for number, one in enumerate(passes)
            for text in one.continuations
        ]
        answers: list[FloatArray | Undefined] = []
        values = self._log_likelihoods([(prompt, text) for _, prompt, text in rows]) if rows else np.empty(0)
        for number, one in enumerate(passes):
            mine = [place for place, row in enumerate(rows) if row[0] == number]
            answer: FloatArray | Undefined = values[mine]
            if any(not rows[place][2] for place in mine):
                answer = Undefined("empty", f"a continuation of {one.continuations} has no token")
            elif np.isnan(values[mine]).any():
                answer = Undefined("too_long", f"the prompt and a continuation exceed {self._longest} tokens")
            answers.append(answer)
            if each is not None:
                each(number, answer)
        return answers

    def _continuation(self, text: str) -> list[int]:
        """The ids of a continuation; an encoder-decoder closes it with its end mark, as it was trained to."""
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        end = self._tokenizer.eos_token_id
        return [*ids, end] if self._crossing and ids and end is not None else ids

    def _log_likelihoods(self, rows: Sequence[tuple[list[int], list[int]]]) -> FloatArray:
        """Of each row's continuation given its prompt, shape [rows]; NaN for what the model can't read."""
        lengths = [max(len(a), len(b)) if self._crossing else len(a) + len(b) for a, b in rows]
        fit = [n for n, length in enumerate(lengths) if length <= self._longest and rows[n][0] and rows[n][1]]
        values = np.full(len(rows), np.nan)
        if not fit:
            return values
        kept = [rows[n] for n in fit]
        with torch.inference_mode(), untouched(self._model):
            logits, targets = self._crossed(kept) if self._crossing else self._continued(kept)
            chosen = logits.log_softmax(-1).gather(-1, targets.clamp(min=0)[..., None])[..., 0]
            values[fit] = as_array(torch.where(targets >= 0, chosen, torch.zeros_like(chosen)).sum(-1))
        return values

    def _crossed(self, rows: Sequence[tuple[list[int], list[int]]]) -> tuple[Tensor, Tensor]:
        """Logits of the decoder and the tokens that they are to foresee, -1 where there is none."""
        ids, attended = self._padded([prompt for prompt, _ in rows], left=False)
        labels, there = self._padded([text for _, text in rows], left=False)
        shifted = self._model.prepare_decoder_input_ids_from_labels(labels)
        answer = self._model(input_ids=ids, attention_mask=attended, decoder_input_ids=shifted, use_cache=False)
        return answer.logits, labels.masked_fill(there == 0, -1)

    def _continued(self, rows: Sequence[tuple[list[int], list[int]]]) -> tuple[Tensor, Tensor]:
        """The same of a decoder: each token is foreseen by the place before it; prompts foresee nothing."""
        ids, attended = self._padded([prompt + text for prompt, text in rows], left=False)
        targets = ids.masked_fill(attended == 0, -1)
        for row, (prompt, _) in enumerate(rows):
            targets[row, : len(prompt)] = -1
        logits = self._model(input_ids=ids, attention_mask=attended, use_cache=False).logits
        return logits[:, :-1], targets[:, 1:]

    def _padded(self, rows: Sequence[list[int]], *, left: bool) -> tuple[Tensor, Tensor]:
        """Ids and what is attended, both [rows, longest]; padded on the left where a text is to go on at its end."""
        longest = max(map(len, rows))
        ids = torch.full((len(rows), longest), self._pad)
        attended = torch.zeros_like(ids)
        for number, row in enumerate(rows):
            place = slice(longest - len(row), None) if left else slice(len(row))
            ids[number, place] = torch.tensor(row)
            attended[number, place] = 1
        return ids.to(self._device), attended.to(self._device)
