"""The tiny models of the tests are the same in every process."""

from __future__ import annotations

from hashlib import sha256

import pytest

from support import tiny


@pytest.mark.parametrize(
    ("kind", "digest"), [("wordpiece", "35bb7da80bf4"), ("bytes", "bf574b6684d9"), ("unigram", "583c0afe2a32")]
)
def test_vocabularies_do_not_depend_on_the_process(kind: str, digest: str) -> None:
    numbers = sorted(tiny.tokenizer_of(kind).get_vocab().items())
    assert sha256(repr(numbers).encode()).hexdigest()[:12] == digest
