"""What is read in the body of an answer: text as it is, or a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fault_server import completion
from verax.models.endpoint.response import error_message, parse_completion, quote
from verax.models.generator import Generated
from verax.types import Undefined

REASONS = {"bad_answer", "empty_answer", "refused"}
VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def as_it_is(text: str) -> str:
    return text


def read(body: bytes) -> Generated | str:
    try:
        return parse_completion(body, as_it_is)
    except Undefined as undefined:
        return undefined.reason


@pytest.mark.parametrize(
    "text",
    [
        "$(touch owned); `id` && rm -rf /",
        "{{ 7 * 7 }} {% include 'x' %} ${7*7} %s %(x)s {0}",
        "<script>alert(1)</script> &lt; <img src=x onerror=y>",
        "line\r\nline\u2028 \x1b[31m\x00 \u202e אב",
        "  blanks around  ",
        "😀 e\u0301",
    ],
)
def test_text_is_handed_over_letter_by_letter(text: str) -> None:
    for ascii_only in (True, False):
        body = json.dumps(completion(text), ensure_ascii=ascii_only).encode()
        assert read(body) == Generated(text, "stop", 7)


@given(st.binary(max_size=60))
def test_no_bytes_break_it(body: bytes) -> None:
    assert read(body) == "bad_answer"
    assert error_message(body, as_it_is).isprintable()


@given(VALUES, VALUES, VALUES, VALUES)
def test_no_values_in_the_right_places_break_it(content: Any, finish: Any, refusal: Any, usage: Any) -> None:
    body = completion(content, finish=finish, refusal=refusal) | {"usage": usage}
    answer = read(json.dumps(body).encode())
    if isinstance(answer, Generated):
        assert content.strip()
        assert not refusal
        assert finish in {"stop", "length", None}
    else:
        assert answer in REASONS


@given(VALUES, st.sampled_from(["choices", "error", "message", "detail", "usage"]))
def test_no_shape_breaks_it(value: Any, name: str) -> None:
    for whole in (value, {name: value}, {"choices": [value]}, {"choices": [{"message": value}]}):
        assert read(json.dumps(whole).encode()) in REASONS
        assert error_message(json.dumps(whole).encode(), as_it_is).isprintable()


def test_numbers_and_brackets_without_end() -> None:
    assert read(b'{"choices": ' + b"9" * 5000 + b"}") == "bad_answer"
    assert read(b'{"choices": ' * 100_000) == "bad_answer"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "too long", "code": 7}}, "too long"),
        ({"error": "too long"}, "too long"),
        ({"detail": "too long"}, "too long"),
        ({"message": "too long"}, "too long"),
        ({"detail": [{"loc": ["body"]}]}, '[{"loc": ["body"]}]'),
        ("too long", "too long"),
    ],
)
def test_what_was_wrong_is_found_where_servers_put_it(body: Any, said: str) -> None:
    assert error_message(json.dumps(body).encode(), as_it_is) == said


def test_a_key_is_hidden_before_a_quote_is_cut() -> None:
    def hide(text: str) -> str:
        return text.replace("secret", "[key]")

    assert "sec" not in quote("x" * 197 + "secret", hide)


def test_the_likeliest_first_tokens_are_kept_and_whatever_is_none_is_not() -> None:
    tops: list[Any] = [
        {"token": "neut", "logprob": -0.5, "bytes": None},
        {"token": " key-1234", "logprob": -1},
        {"token": "\ud83d", "logprob": 1e-9},
        *({"token": "x", "logprob": odd} for odd in (None, "0", True, float("nan"), float("-inf"), 3.0, -(10**400))),
        {"token": 7, "logprob": -1.0},
        {"logprob": -1.0},
        "x",
    ]
    whole = completion("neutral")
    whole["choices"][0]["logprobs"] = {"content": [{"token": "neut", "logprob": -0.5, "top_logprobs": tops}, {}]}
    body = json.dumps(whole).encode()
    found = parse_completion(body, lambda text: text.replace("key-1234", "[key]"))
    assert found == Generated("neutral", "stop", 7, (("neut", -0.5), (" [key]", -1.0), ("\ufffd", 0.0)))


@given(VALUES)
def test_odd_log_probabilities_cost_no_answer(told: Any) -> None:
    whole = completion("neutral")
    for odd in (told, {"content": told}, {"content": [told]}, {"content": [{"top_logprobs": told}]}):
        whole["choices"][0]["logprobs"] = odd
        found = read(json.dumps(whole).encode())
        assert isinstance(found, Generated)
        assert found.text == "neutral"


@pytest.mark.parametrize(
    ("content", "finish", "found"),
    [
        ("<think>It may be <b>so</b>.\n\nOr not.</think>\n\nneutral", "stop", "\n\nneutral"),
        (" <think></think>neutral", "stop", "neutral"),
        ("neutral <think>or</think>", "stop", "neutral <think>or</think>"),
        ("It may be\nso.\n</think>\nneutral", "stop", "\nneutral"),
        ("<think>It may be neutral", "length", "empty_answer"),
        ("<think>It may be</think> ", "stop", "empty_answer"),
    ],
)
def test_thoughts_before_an_answer_are_no_part_of_it(content: str, finish: str, found: str) -> None:
    answer = read(json.dumps(completion(content, finish=finish)).encode())
    assert (answer.text if isinstance(answer, Generated) else answer) == found


def test_the_first_tokens_of_thoughts_are_none_of_the_answer() -> None:
    whole = completion("<think>so</think>neutral")
    whole["choices"][0]["logprobs"] = {"content": [{"top_logprobs": [{"token": "neut", "logprob": -0.5}]}]}
    assert read(json.dumps(whole).encode()) == Generated("neutral", "stop", 7)
