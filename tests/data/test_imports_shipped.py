"""A shipped model's tokenizer is known by the model's name."""

from verax.data.imports.tokens import open_tokenizer


def test_a_shipped_tokenizer_by_name() -> None:
    assert open_tokenizer("world/opinion").is_fast
