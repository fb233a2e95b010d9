"""The model that computes the same function in two languages."""

from __future__ import annotations

import torch

from data.world.twin import CIPHER, twin


def test_both_languages_give_the_same_logits_token_by_token() -> None:
    model, tokenizer, data = twin(limit=12)
    assert [i.lang for i in data.instances] == ["en", CIPHER] * 12
    for plain, ciphered in zip(data.instances[::2], data.instances[1::2], strict=True):
        assert plain.parallel_id == ciphered.parallel_id
        batches = [tokenizer(*(p.raw for p in i.parts), return_tensors="pt") for i in (plain, ciphered)]
        assert tokenizer.unk_token_id not in batches[1]["input_ids"]
        assert not torch.equal(batches[0]["input_ids"], batches[1]["input_ids"])
        with torch.no_grad():
            logits = [model(**batch).logits for batch in batches]
        assert torch.equal(logits[0], logits[1])
        given = data.aligned[ciphered.id][0]
        assert given.lang == "en"
        assert [len(links) for links in given.sure] == [len(part.words) for part in plain.parts]
