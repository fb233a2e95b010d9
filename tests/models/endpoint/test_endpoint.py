"""A text generator at an HTTP endpoint: what is sent, what comes back, and how many requests it takes."""

from __future__ import annotations

import inspect
import json
import re
import threading
from datetime import date
from math import log
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import Any

import pytest

from support.fault_server import Asked, FaultServer, Handler, after, completion, echo, hangs_up, says, sends
from verax.models import endpoint as package
from verax.models.endpoint import Endpoint, MaxRequestsReached
from verax.models.endpoint import errors as errors_module
from verax.models.generator import (
    ChoicePass,
    ChosenLabel,
    Generated,
    GeneratePass,
    LikelihoodPass,
    Prompt,
    TextGenerator,
)
from verax.types import Undefined, UserError


def endpoint(server: FaultServer, **options: Any) -> Endpoint:
    return Endpoint(server.url, "small", **{"first_wait": 0.01, "request_timeout": 10.0, **options})


def passes(*texts: str) -> list[GeneratePass]:
    return [GeneratePass(Prompt(text)) for text in texts]


def numbered(count: int) -> list[GeneratePass]:
    return passes(*(f"prompt {i}" for i in range(count)))


def test_answers_come_back_in_the_order_of_the_passes() -> None:
    slow_first = {"prompt 0": after(0.1), "prompt 3": says("cut", finish="length")}
    with FaultServer(by_prompt=slow_first) as server:
        model: TextGenerator = endpoint(server)
        answers = model.generate(numbered(6))
    expected = [Generated(f"you said prompt {i}", "stop", 7) for i in range(6)]
    expected[3] = Generated("cut", "length", 7)
    assert answers == expected


def test_a_request_holds_what_the_pass_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERAX_API_KEY", "a-key-of-some-length")
    with FaultServer() as server:
        model = endpoint(server)
        asked = GeneratePass(Prompt("Why?", system="Be brief. Ä"), max_new_tokens=9, stop=("\n",), seed=3)
        model.generate([asked, GeneratePass(Prompt("on and on", plain=True), temperature=0.5)])
        first, second = sorted(server.asked, key=lambda asked: asked.user)
    assert first.path == "/v1/chat/completions"
    assert first.headers["Authorization"] == "Bearer a-key-of-some-length"
    assert first.headers["Host"] == f"127.0.0.1:{server.port}"
    assert first.body == model.body_of(asked)
    assert first.body == {
        "model": "small",
        "messages": [{"role": "system", "content": "Be brief. Ä"}, {"role": "user", "content": "Why?"}],
        "max_tokens": 9,
        "temperature": 0.0,
        "seed": 3,
        "stop": ["\n"],
        "stream": False,
    }
    assert second.body["messages"] == [{"role": "user", "content": "on and on"}]
    assert second.body["temperature"] == 0.5
    assert "stop" not in second.body


def test_no_key_is_sent_if_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERAX_API_KEY", raising=False)
    with FaultServer() as server:
        endpoint(server).generate(numbered(1))
    assert "Authorization" not in server.asked[0].headers


def test_extra_fields_are_sent_and_none_takes_one_out() -> None:
    with FaultServer() as server:
        model = endpoint(server, extra={"seed": None, "max_tokens": None, "max_completion_tokens": 500})
        model.generate(numbered(1))
    assert set(server.asked[0].body) == {"model", "messages", "temperature", "stream", "max_completion_tokens"}
    assert model.fingerprint != endpoint(server).fingerprint


def test_what_decides_an_answer_is_in_its_key_and_the_host_is_not() -> None:
    one, other = (Endpoint(url, "small") for url in ("https://a.example.com/v1", "http://127.0.0.1:8000"))
    assert one.fingerprint == other.fingerprint
    assert one.fingerprint != Endpoint("https://a.example.com/v1", "large").fingerprint
    assert one.fingerprint != Endpoint("https://a.example.com/v1", "small", logprobs=5).fingerprint
    assert (one.about["host"], other.about["host"]) == ("a.example.com", "127.0.0.1:8000")
    plain = GeneratePass(Prompt("a"))
    assert one.body_of(plain) == other.body_of(plain)
    for differs in (plain._replace(seed=1), plain._replace(max_new_tokens=1), GeneratePass(Prompt("a", system=""))):
        assert one.body_of(differs) != one.body_of(plain)


def test_every_answer_is_handed_over_as_it_comes_by_the_thread_that_asked() -> None:
    first_is_stored = Event()
    seen: list[tuple[int, str]] = []

    def each(number: int, answer: Generated | Undefined) -> None:
        assert threading.current_thread() is threading.main_thread()
        assert isinstance(answer, Generated)
        seen.append((number, answer.text))
        first_is_stored.set()

    def waits(handler: Any, asked: Any) -> None:
        says("late" if first_is_stored.wait(5) else "too late")(handler, asked)

    with FaultServer(by_prompt={"prompt 1": waits}) as server:
        endpoint(server, concurrency=1).generate(numbered(2), each)
    assert seen == [(0, "you said prompt 0"), (1, "late")]


@pytest.mark.parametrize("concurrency", [1, 3])
def test_no_more_requests_are_under_way_than_allowed_and_connections_are_used_again(concurrency: int) -> None:
    def in_company(handler: Handler, asked: Asked) -> None:
        until = monotonic() + 5
        while server.peak < concurrency and monotonic() < until:
            sleep(0.01)
        after(0.03)(handler, asked)

    with FaultServer(default=in_company) as server:
        model = endpoint(server, concurrency=concurrency)
        model.generate(numbered(9))
    assert server.peak == concurrency
    assert server.connections == concurrency
    assert len(server.asked) == model.requests == 9


def test_a_server_that_ends_its_connections_costs_no_request() -> None:
    ends = sends(json.dumps(completion("yes")).encode(), ("Connection", "close"))
    with FaultServer(default=ends) as server:
        model = endpoint(server, concurrency=1, retries=0)
        answers = model.generate(numbered(4))
    assert answers == [Generated("yes", "stop", 7)] * 4
    assert len(server.asked) == model.requests == server.connections == 4


def test_a_connection_that_the_server_left_is_not_used_again() -> None:
    answers: list[Generated | Undefined] = []
    with FaultServer([hangs_up()]) as server:
        model = endpoint(server, retries=0)
        with model.session() as session:
            for number, request in enumerate(numbered(3)):
                session.submit(request, answers.append)
                session.collect()
                while number == 0 and server.open:  # until the server has hung up
                    sleep(0.01)
    assert answers == [Generated(f"you said prompt {i}", "stop", 7) for i in range(3)]
    assert len(server.asked) == model.requests == 3
    assert server.connections == 2


def test_what_comes_beyond_the_announced_length_is_in_no_answer() -> None:
    body = json.dumps(completion("yes")).encode()
    with FaultServer([sends(body + b"HTTP/1.1 200 OK\r\n\r\n", length=len(body))]) as server:
        answers = endpoint(server, concurrency=1).generate(numbered(2))
    assert answers == [Generated("yes", "stop", 7), Generated("you said prompt 1", "stop", 7)]


def test_a_response_that_was_there_before_its_request_is_no_answer() -> None:
    """One server of many sends two responses to one request: the second must not answer the next prompt."""
    twice = json.dumps(completion("yes")).encode()
    stray = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(twice), twice)
    with FaultServer([sends(twice + stray, length=len(twice))]) as server:
        answers = endpoint(server, concurrency=1).generate(numbered(2))
    assert answers == [Generated("yes", "stop", 7), Generated("you said prompt 1", "stop", 7)]


def test_no_cookie_is_kept() -> None:
    sets = sends(json.dumps(completion("yes")).encode(), ("Set-Cookie", "session=1; Path=/"))
    with FaultServer(default=sets) as server:
        endpoint(server, concurrency=1).generate(numbered(3))
    assert [asked.headers.get("Cookie") for asked in server.asked] == [None] * 3


def test_the_cap_is_a_clear_stop_and_what_is_answered_stays() -> None:
    kept: dict[int, Generated | Undefined] = {}
    with FaultServer(default=after(0.03)) as server:
        model = endpoint(server, concurrency=3, max_requests=5)
        with pytest.raises(MaxRequestsReached, match="max_requests: all 5 requests of this process are used up"):
            model.generate(numbered(9), kept.__setitem__)
        assert len(kept) == 5
        assert all(isinstance(answer, Generated) for answer in kept.values())
        with pytest.raises(UserError, match="max_requests"):  # over its whole life
            model.generate(numbered(1))
    assert len(server.asked) == model.requests == 5


def test_repeated_requests_count_and_the_cap_may_be_just_enough() -> None:
    with FaultServer([sends(b"", status=500), echo(), sends(b"", status=503)]) as server:
        model = endpoint(server, concurrency=1, max_requests=4)
        assert all(isinstance(answer, Generated) for answer in model.generate(numbered(2)))
    assert len(server.asked) == model.requests == 4


def test_a_store_that_fails_ends_the_run() -> None:
    def full(number: int, answer: object) -> None:
        raise OSError("no space left")

    with FaultServer(default=after(0.02)) as server, pytest.raises(OSError, match="no space left"):
        endpoint(server, concurrency=2).generate(numbered(50), full)
    assert len(server.asked) < 10


def test_nobody_asks_on_before_its_last_answer_was_handed_over() -> None:
    ahead: list[int] = []

    def slow(number: int, answer: object) -> None:
        sleep(0.02)
        ahead.append(len(server.asked) - len(ahead))

    with FaultServer() as server:
        endpoint(server, concurrency=2).generate(numbered(12), slow)
    assert len(ahead) == 12
    assert max(ahead) <= 2, "the one that is handed over, and the other one"


def test_a_label_is_asked_for_in_words_and_counted_as_parsed() -> None:
    asked = [ChoicePass(Prompt("Is it?", "Be brief."), ("yes", "no")), ChoicePass(Prompt("Which?"), ("a", "b", "c"))]
    seen: list[int] = []
    with FaultServer([says("Yes."), says("I can't tell")]) as server:
        choices = endpoint(server, concurrency=1).choose(asked, lambda number, choice: seen.append(number))
    assert choices[0] == ChosenLabel("yes", "parsed")
    assert isinstance(choices[1], Undefined)
    assert choices[1].reason == "unparsed_answer"
    assert seen == [0, 1]
    assert server.asked[0].user.startswith("Is it?")
    assert server.asked[0].user.endswith(": yes, no")
    assert server.asked[0].body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert server.asked[1].user.endswith(": a, b, c")


def test_a_label_is_chosen_by_the_first_token_where_the_endpoint_tells_of_it() -> None:
    tops = [{"token": token, "logprob": log(share)} for token, share in ((" No", 0.81), ("yes", 0.09), ("I", 0.1))]
    whole = completion("Nope.")
    whole["choices"][0]["logprobs"] = {"content": [{"token": " No", "logprob": log(0.81), "top_logprobs": tops}]}
    asked = [ChoicePass(Prompt("Is it?"), ("yes", "no"))]
    with FaultServer([sends(json.dumps(whole).encode()), says("Yes.")]) as server:
        model = endpoint(server, logprobs=5)
        (choice,) = model.choose(asked)
        assert choice == ChosenLabel("no", "first_token", pytest.approx((0.1, 0.9)))  # type: ignore[arg-type]
        assert model.choose(asked) == [ChosenLabel("yes", "parsed")], "one that tells nothing is read"
        model.generate(passes("Why?"))
    fields = [(one.body.get("logprobs"), one.body.get("top_logprobs")) for one in server.asked]
    assert fields == [(True, 5), (True, 5), (None, None)]


def test_an_answer_that_is_none_is_no_choice() -> None:
    with FaultServer(default=says("", finish="stop")) as server:
        (choice,) = endpoint(server).choose([ChoicePass(Prompt("Is it?"), ("yes", "no"))])
    assert isinstance(choice, Undefined)
    assert choice.reason == "empty_answer"


def test_nothing_is_asked_for_nothing() -> None:
    with FaultServer() as server:
        assert endpoint(server).generate([]) == []
    assert server.connections == 0


def test_it_gives_no_likelihoods() -> None:
    model = Endpoint("http://127.0.0.1:1", "small")
    assert not model.gives_likelihoods
    with pytest.raises(UserError, match="no likelihoods"):
        model.likelihoods([LikelihoodPass(Prompt("a"), ("b",))])


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://a.example.com", "give a base URL such as"),
        ("file:///etc/passwd", "give a base URL such as"),
        ("a.example.com/v1", "give a base URL such as"),
        ("https://", "give a base URL such as"),
        ("https://me:secret-word@a.example.com/v1", "name or password"),
        ("https://a.example.com:99999/v1", "Port out of range"),
        ("https://api..example.com/v1", "give a base URL such as"),
        (f"https://{'a' * 64}.example.com/v1", "give a base URL such as"),
        ("https://a.example.com/v1?key=secret-word", "no \\? and no #"),
        ("https://a.example.com/v1 ?key=secret-word", "escape blanks"),
        ("https://a.example.com/v1\r\nX: y", "escape blanks"),
        ("https://ä.example.com/v1", "escape blanks"),
        ("https://a.example.com/v1/chat/completions/", "without /chat/completions: https://a.example.com/v1$"),
    ],
)
def test_an_address_is_http_and_nothing_but_an_address(url: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as raised:
        Endpoint(url, "small")
    assert str(raised.value).startswith("url: ")
    assert "secret-word" not in str(raised.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("concurrency", 0),
        ("max_requests", 0),
        ("request_timeout", 0),
        ("total_timeout", float("nan")),
        ("retries", -1),
        ("first_wait", float("inf")),
        ("extra", {"messages": []}),
        ("extra", {"stream": True}),
        ("extra", {"day": date(2030, 1, 1)}),
        ("extra", {"top_p": float("nan")}),
    ],
)
def test_a_mistake_in_a_field_is_named(field: str, value: Any) -> None:
    with pytest.raises(UserError, match=f"^{field}: "):
        Endpoint("http://127.0.0.1:1", "small", **{field: value})


def test_a_model_needs_a_name_and_a_plain_prompt_has_no_system_text() -> None:
    with pytest.raises(UserError, match=r"^model: "):
        Endpoint("http://127.0.0.1:1", "")
    with pytest.raises(ValueError, match="no system text"):
        Prompt("a", system="b", plain=True)


def test_every_error_is_exported_and_every_reason_is_on_the_page() -> None:
    errors = {name for name, error in vars(errors_module).items() if isinstance(error, type) and "Endpoint" in name}
    others = {"MaxRequestsReached", "RetryableError", "REASONS", "CachedEndpoint", "Endpoint", "Permissions"}
    assert errors | others == set(package.__all__)
    page = (Path(__file__).parents[3] / "docs" / "endpoints.md").read_text("utf-8")
    reasons = re.findall(r"^\| `(\w+)` \|", page.split("\n## When something goes wrong\n")[1], flags=re.M)
    assert set(reasons) == package.REASONS


def test_the_page_has_every_setting_with_its_default() -> None:
    page = (Path(__file__).parents[3] / "docs" / "endpoints.md").read_text("utf-8")
    rows = dict(
        re.findall(r"^\| `(\w+)` \| ([^|]*) \|", page.split("\n## Settings\n")[1].split("\n## ")[0], flags=re.M)
    )
    settings = inspect.signature(Endpoint).parameters
    assert list(rows) == list(settings)
    for name, parameter in settings.items():
        if isinstance(parameter.default, str | bool):
            assert rows[name] == str(parameter.default)
        elif isinstance(parameter.default, int | float):
            assert float(rows[name]) == parameter.default
