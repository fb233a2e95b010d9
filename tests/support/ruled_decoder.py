"""A decoder whose weights are set by hand: it answers `yes` where a word stands in its prompt, and `no` elsewhere."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel

WORD = "zzz"
TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"


@torch.no_grad()
def ruled_decoder(tokenizer: Any, positions: int = 1024) -> GPT2LMHeadModel:
    """A GPT-2 of one layer, for byte-level pieces and prompts that end as `TEMPLATE` does.

    Embeddings are one-hot, one dimension more is a flag. The only head looks at all tokens alike and raises the flag by
    those of the word. What comes next hangs on the last token alone, but for the first letter, which the flag turns.
    """
    words, end = len(tokenizer), int(tokenizer.eos_token_id)
    flag = words
    config = GPT2Config(
        vocab_size=words,
        n_embd=words + 1,
        n_layer=1,
        n_head=1,
        n_positions=positions,
        tie_word_embeddings=False,
        bos_token_id=end,
        eos_token_id=end,
    )
    model = GPT2LMHeadModel(config)
    for weight in model.parameters():
        weight.zero_()
    layer, head = model.transformer.h[0], model.lm_head.weight  # [tokens, dimensions]
    model.transformer.wte.weight[:, :words] = torch.eye(words)
    for norm in (layer.ln_1, layer.ln_2, model.transformer.ln_f):
        norm.weight.fill_(1)
    layer.ln_1.bias.fill_(-layer.ln_1(torch.eye(words + 1)[0])[1].item())  # what is not there is 0 behind the norm
    layer.attn.c_attn.weight[tokenizer(f" {WORD}")["input_ids"][-1], 2 * (words + 1) + flag] = 20.0
    layer.attn.c_proj.weight[flag, flag] = 1.0
    begin = tokenizer("assistant:")["input_ids"][-1]
    for answer in ("yes", "no"):
        chain = [begin, *tokenizer(answer)["input_ids"], end]
        for before, after in pairwise(chain):
            head[after, before] = 10.0
    head[tokenizer("no")["input_ids"][0], begin] += 0.001  # without the flag; with it, less than what that weighs
    head[tokenizer("yes")["input_ids"][0], flag] = 0.05
    return model.eval()
