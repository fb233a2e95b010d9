"""Canaries: a key and a secret header that must appear nowhere, whatever goes wrong and whatever is sent back."""

from __future__ import annotations

import base64
import copy
import gc
import json
import logging
import pickle
import traceback
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fault_server import Asked, Fault, FaultServer, Handler, drips, resets, resets_mid_body, says, sends
from verax.models.endpoint import Endpoint, Permissions
from verax.models.endpoint.key import Credentials
from verax.models.endpoint.response import Response
from verax.models.generator import ChoicePass, Generated, GeneratePass, Prompt
from verax.types import Undefined, UserError

CANARY = 'sk-canary-"7f\\3a-tweet'
SPELLINGS = (CANARY, json.dumps(CANARY)[1:-1], "canary", "tweet")
HEADERS = {"x-team": "blue", "X-Signature": "v1 ${MY_SIGNATURE}"}


def returns_to_sender(make: Any) -> Fault:
    """A fault made of the headers in which the secrets came."""

    def fault(handler: Handler, asked: Asked) -> None:
        make(f"{asked.headers['Authorization']} {asked.headers['X-Signature']}")(handler, asked)

    return fault


def error(status: int) -> Fault:
    return returns_to_sender(
        lambda key: sends(
            json.dumps({"error": {"message": f"bad {key}", "headers": {key: [key]}}}).encode(), status=status
        )
    )


FAULTS: dict[str, Fault] = {
    "none": says("fine"),
    **{f"HTTP {status}": error(status) for status in (400, 401, 403, 404, 418, 422, 429, 500, 503)},
    "redirect": returns_to_sender(lambda key: sends(b"", ("Location", f"http://127.0.0.1:1/?{key}"), status=307)),
    "in the text": returns_to_sender(lambda key: says(f"The key is {key}.")),
    "in a refusal": returns_to_sender(lambda key: says(None, refusal=f"Not with {key}.")),
    "in the finish": returns_to_sender(lambda key: says("yes", finish=key)),
    "in the finish of nothing": returns_to_sender(lambda key: says("", finish=[key])),
    "in an error of status 200": returns_to_sender(lambda key: sends(json.dumps({"error": [key]}).encode())),
    "in an encoding": returns_to_sender(lambda key: sends(b"", ("Content-Encoding", key))),
    "in Retry-After": returns_to_sender(lambda key: sends(b"", ("Retry-After", key), status=429)),
    "in garbage": returns_to_sender(lambda key: sends(key.encode())),
    "in a status line": returns_to_sender(
        lambda key: lambda handler, asked: (handler.wfile.write(f"{key}\r\n\r\n".encode()), handler.reset())
    ),
    "reset": resets(),
    "reset in the middle": resets_mid_body(),
    "time-out": drips(),
}


@pytest.fixture
def canary(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("VERAX_API_KEY", CANARY)
    monkeypatch.setenv("MY_SIGNATURE", f"{CANARY[::-1]}-{CANARY}")
    return CANARY


def silent(*outputs: object) -> None:
    for output in outputs:
        assert not [spelling for spelling in SPELLINGS if spelling in str(output)], output


def everything_of_ours() -> list[str]:
    """How every object of verax that is alive shows itself, and what is in it."""
    ours = [thing for thing in gc.get_objects() if str(type(thing).__module__).startswith("verax.models.endpoint")]
    assert {"Endpoint", "Client", "EndpointSession", "Credentials"} <= {type(thing).__name__ for thing in ours}
    return [show(thing) for thing in ours for show in (repr, str)]


@pytest.mark.parametrize("choose", [False, True], ids=["generate", "choose"])
@pytest.mark.parametrize("name", FAULTS)
def test_the_key_is_sent_and_seen_nowhere(
    name: str, choose: bool, canary: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    outputs: list[object] = []

    def each(number: int, answer: object) -> None:
        outputs.extend([answer, repr(answer), *(everything_of_ours() if number == 0 else ())])
        if isinstance(answer, Undefined):
            outputs.extend([answer.reason, answer.detail, "".join(traceback.format_exception(answer))])

    with FaultServer(default=FAULTS[name]) as server:
        model = Endpoint(server.url, "small", headers=HEADERS, retries=1, first_wait=0.01, request_timeout=0.5)
        try:
            if choose:
                model.choose([ChoicePass(Prompt("Is it?"), ("yes", "no"))] * 2, each)
            else:
                model.generate([GeneratePass(Prompt("Why?"))] * 2, each)
        except UserError as raised:
            outputs.extend([raised, repr(raised), "".join(traceback.format_exception(raised))])
    assert server.asked[0].headers["Authorization"] == f"Bearer {canary}"
    assert server.asked[0].headers["X-Signature"] == f"v1 {canary[::-1]}-{canary}"
    assert outputs
    said = capsys.readouterr()
    silent(*outputs, said.out, said.err, caplog.text, model, repr(model), vars(model), model.fingerprint, model.about)
    silent(model.body_of(GeneratePass(Prompt("Why?"))))


def test_a_reply_does_not_show_what_it_holds() -> None:
    silent(repr(Response(200, {}, CANARY.encode())))


def test_a_missing_answer_keeps_nothing_alive_of_what_was_sent(canary: str) -> None:
    with FaultServer(default=FAULTS["HTTP 400"]) as server:
        (lost,) = Endpoint(server.url, "small", headers=HEADERS).generate([GeneratePass(Prompt("Why?"))])
    assert isinstance(lost, Undefined)
    assert (lost.__traceback__, lost.__context__, lost.__cause__) == (None, None, None)


def test_an_answer_that_repeats_the_key_is_kept_without_it(canary: str) -> None:
    with FaultServer(default=FAULTS["in the text"]) as server:
        answers = Endpoint(server.url, "small", headers=HEADERS).generate([GeneratePass(Prompt("Why?"))])
    (answer,) = answers
    assert isinstance(answer, Generated)
    silent(answer.text)
    assert answer.text.startswith("The key is Bearer [key] v1 ")


def test_a_stand_in_for_a_key_is_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERAX_API_KEY", "none")
    assert Credentials("VERAX_API_KEY", {}).hide("There is none.") == "There is none."


@pytest.mark.parametrize("write", [pickle.dumps, copy.copy, copy.deepcopy])
def test_it_is_not_copied_and_not_written_down(write: Any, canary: str) -> None:
    for thing in (Credentials("VERAX_API_KEY", {}), Endpoint("http://127.0.0.1:1", "small")):
        if write is copy.copy and isinstance(thing, Endpoint):
            continue  # shares the one key
        with pytest.raises(TypeError) as raised:
            write(thing)
        silent(raised.value, traceback.format_exc())


@pytest.mark.parametrize("wrong", [f"{CANARY}\nX-Other: header", f"{CANARY} twice", f"{CANARY}é", f"{CANARY}\x00"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "\x00" in wrong:
        monkeypatch.setattr("os.environ", {"MY_KEY": wrong})  # no real environment holds it
    else:
        monkeypatch.setenv("MY_KEY", wrong)
    with pytest.raises(UserError, match=r"^key_env: the value of MY_KEY (contains|is not a key)") as raised:
        Endpoint("http://127.0.0.1:1", "small", key_env="MY_KEY")
    silent(*traceback.format_exception(raised.value))


def test_blanks_around_a_key_are_none_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", f" {CANARY}\n")
    with FaultServer() as server:
        Endpoint(server.url, "small", key_env="MY_KEY").generate([GeneratePass(Prompt("Why?"))])
    assert server.asked[0].headers["Authorization"] == f"Bearer {CANARY}"


@pytest.mark.parametrize("pasted", [CANARY, "sk-abc", "", "lower_case_secret", "A" * 80])
def test_a_key_in_place_of_a_name_is_refused_and_not_shown(pasted: str) -> None:
    with pytest.raises(UserError, match=r"^key_env: give the name") as raised:
        Endpoint("http://127.0.0.1:1", "small", key_env=pasted)
    silent(raised.value)
    assert not pasted or pasted not in str(raised.value)


def test_a_key_in_a_field_that_is_stored_is_refused(canary: str) -> None:
    with pytest.raises(UserError, match="extra: it contains the key of VERAX_API_KEY") as raised:
        Endpoint("http://127.0.0.1:1", "small", extra={"user": {"token": canary}})
    silent(raised.value)


def test_a_variable_that_was_asked_for_must_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(UserError, match="the environment variable MY_KEY is not set"):
        Endpoint("http://127.0.0.1:1", "small", key_env="MY_KEY")


def test_headers_are_sent_with_their_variables_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERAX_API_KEY", "a-key-of-some-length")
    monkeypatch.setenv("MY_TOKEN", " Basic abcdefgh ")
    headers = {"x-team": "blue $$5", "User-Agent": "mine", "authorization": "$MY_TOKEN", "Api-Key": "${VERAX_API_KEY}!"}
    with FaultServer(default=says("abcdefgh and blue")) as server:
        model = Endpoint(server.url, "small", headers=headers)
        (answer,) = model.generate([GeneratePass(Prompt("Why?"))])
    sent = {name.lower(): value for name, value in server.asked[0].headers.items()}
    assert (sent["x-team"], sent["user-agent"]) == ("blue $5", "mine")
    assert sent["authorization"] == "Basic abcdefgh", "one of your own takes the place of the key"
    assert sent["api-key"] == "a-key-of-some-length!"
    assert isinstance(answer, Generated)
    assert answer.text == "[key] and blue"
    assert model.fingerprint == Endpoint(server.url, "small").fingerprint, "headers are no part of the key of an answer"


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({"X-Api-Key": CANARY}, "X-Api-Key: name an environment variable that holds it"),
        ({"Authorization": f"Bearer {CANARY}"}, "Authorization: name an environment variable that holds it"),
        ({"Cookie": CANARY}, "Cookie: name an environment variable that holds it"),
        ({"X-Team": f"{CANARY} blue"}, "X-Team contains a key"),
        ({"X-Team": f"$ {CANARY}"}, r"X-Team: a \$ must be followed by the name"),
        ({"X-Team": f"{CANARY}\r\nX-Other: y"}, "X-Team: the value must be a text of printable ASCII"),
        ({"X-Team": [CANARY]}, "X-Team: the value must be a text of printable ASCII"),
        ({"X-Team": "$NOT_SET"}, "X-Team: the environment variable NOT_SET is not set"),
        ({"X-Team": "$TWO_LINES"}, "X-Team: the value of TWO_LINES contains characters that are not printable"),
        ({"X Team": "blue"}, "'X Team' is not the name of a header"),
        ({"Host": "example.com"}, "'Host' is set by verax"),
        ({"content-length": "1"}, "'content-length' is set by verax"),
    ],
)
def test_a_header_that_must_not_be_sent_or_stored_is_refused_and_not_shown(
    headers: dict[str, Any], message: str, canary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOT_SET", raising=False)
    monkeypatch.setenv("TWO_LINES", f"{CANARY}\n{CANARY}")
    with pytest.raises(UserError, match=f"^headers: {message}") as raised:
        Endpoint("http://127.0.0.1:1", "small", headers=headers)
    silent(*traceback.format_exception(raised.value))


def test_a_secret_header_in_a_field_that_is_stored_is_refused(canary: str) -> None:
    with pytest.raises(UserError, match="extra: it contains the key of VERAX_API_KEY or a secret of headers") as raised:
        Endpoint("http://127.0.0.1:1", "small", headers=HEADERS, extra={"user": f"{canary[::-1]}-{canary}"})
    silent(raised.value)


@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40),
    st.binary(max_size=5),
    st.binary(max_size=5),
)
def test_a_key_is_hidden_however_it_is_written(key: str, before: bytes, behind: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERAX_API_KEY", key)
        hide = Credentials("VERAX_API_KEY", {}).hide
    data = key.encode()
    forms = [key, key.upper(), key.lower(), key.swapcase(), json.dumps(key), data.hex(), data.hex().upper()]
    forms += [
        quote(key),
        quote(key, safe=""),
        quote(quote(quote(key, safe=""))),
        "".join(f"%{byte:02X}" for byte in data),
    ]
    whole = before + data + behind
    forms += [base64.b64encode(whole).decode(), base64.urlsafe_b64encode(whole).decode(), whole.hex()]
    for form in forms:
        assert "[key]" in hide(f"you sent <{form}>"), form


@pytest.mark.parametrize("host", ["api.example.com", "10.0.0.7", "[2001:db8::1]", "localhost.example.com"])
def test_a_key_is_not_sent_over_plain_http_to_another_machine(host: str, canary: str) -> None:
    with pytest.raises(UserError, match=r"^url: a key would be sent to .* over plain HTTP.*--allow-insecure") as raised:
        Endpoint(f"http://{host}/v1", "small")
    silent(raised.value)
    assert Endpoint(f"http://{host}/v1", "small", allow_insecure=True).requests == 0
    assert Endpoint(f"https://{host}/v1", "small").requests == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "[::1]", "localhost"])
def test_a_key_is_sent_to_this_machine(host: str, canary: str) -> None:
    assert Endpoint(f"http://{host}:9/v1", "small").requests == 0


def test_a_header_with_a_secret_is_not_sent_over_plain_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERAX_API_KEY", raising=False)
    monkeypatch.setenv("MY_TOKEN", "a-token-of-some-length")
    assert Endpoint("http://api.example.com/v1", "small").requests == 0, "without a secret there is nothing to protect"
    with pytest.raises(UserError, match="over plain HTTP"):
        Endpoint("http://api.example.com/v1", "small", headers={"X-Auth": "$MY_TOKEN"})


@pytest.mark.parametrize(
    ("key_env", "headers", "rejected"),
    [
        ("OPENAI_API_KEY", {"X-Auth": "$MY_TOKEN", "X-Price": "$$5"}, None),
        ("AWS_SECRET_ACCESS_KEY", {}, "AWS_SECRET_ACCESS_KEY"),
        ("VERAX_API_KEY", {"X-Auth": "v1 ${DATABASE_URL}"}, "DATABASE_URL"),
    ],
)
def test_a_spec_names_only_variables_for_keys(key_env: str, headers: dict[str, str], rejected: str | None) -> None:
    if rejected is None:
        Permissions().check_variables(key_env, headers)
        return
    with pytest.raises(UserError, match=f"environment variable {rejected};.*--allow-key-env {rejected}"):
        Permissions().check_variables(key_env, headers)
    Permissions(frozenset({rejected})).check_variables(key_env, headers)
