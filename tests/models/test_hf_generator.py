"""Generators of transformers: batches give what one text alone gives, likelihoods are those of a literal loop."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from support import tiny
from support.tiny_text import ARCHITECTURES, generator_model
from verax.models.generator import CandidatesPass, GeneratePass, LikelihoodPass, Prompt
from verax.models.hf_generator import HFGenerator
from verax.models.load import load_generator, load_model
from verax.types import Generated, Undefined, UserError

PROMPTS = (
    "the small red boat",
    "nobody on the shore is watching the boat, and",
    "bread",
    "a tall woman in a green coat",
)
CONTINUATIONS = ("yes", "maybe not", "the quiet lake")


@pytest.fixture(params=ARCHITECTURES)
def made(request: pytest.FixtureRequest) -> tuple[Any, Any, HFGenerator]:
    tokenizer = tiny.tokenizer_of("bytes")
    model = generator_model(request.param, tokenizer).double().eval()
    _never_ends(model, tokenizer)
    return model, tokenizer, HFGenerator(model, tokenizer, name=request.param, fingerprint={"weights": "1"})


def _never_ends(model: Any, tokenizer: Any) -> None:
    """An untrained model would end at any place, or write nothing but blanks."""
    blank = [n for n in range(len(tokenizer)) if not tokenizer.decode([n], skip_special_tokens=True).strip()]
    without = torch.zeros(len(tokenizer)).double()
    without[blank] = -50
    model.get_output_embeddings().register_forward_hook(lambda _, __, logits: logits + without)


def test_a_batch_gives_what_transformers_gives_for_each_alone(made: tuple[Any, Any, HFGenerator]) -> None:
    model, tokenizer, asked = made
    found = asked.generate([GeneratePass(Prompt(text, plain=True), 8) for text in PROMPTS])
    for text, answer in zip(PROMPTS, found, strict=True):
        batch = tokenizer(text, return_tensors="pt")
        batch.pop("token_type_ids", None)
        with torch.no_grad():
            alone = model.generate(**batch, max_new_tokens=8, do_sample=False, pad_token_id=tokenizer.pad_token_id)
        new = alone[0, 1:] if model.config.is_encoder_decoder else alone[0, batch["input_ids"].shape[1] :]
        expected = tokenizer.decode(new, skip_special_tokens=True).strip()
        assert (answer.text if isinstance(answer, Generated) else "") == expected


def test_likelihoods_are_those_of_a_literal_loop(made: tuple[Any, Any, HFGenerator]) -> None:
    """One continuation at a time, token by token; 1e-10 in float64."""
    model, tokenizer, asked = made
    found = asked.likelihoods([LikelihoodPass(Prompt(text, plain=True), CONTINUATIONS) for text in PROMPTS])
    for text, answer in zip(PROMPTS, found, strict=True):
        assert isinstance(answer, np.ndarray)
        for continuation, value in zip(CONTINUATIONS, answer, strict=True):
            assert value == pytest.approx(_literal(model, tokenizer, text, continuation), abs=1e-10)


def _literal(model: Any, tokenizer: Any, text: str, continuation: str) -> float:
    prompt = tokenizer(text)["input_ids"]
    crossing = model.config.is_encoder_decoder
    joined = continuation if crossing else f" {continuation}"
    ids = [*tokenizer(joined, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    before = [model.config.decoder_start_token_id] if crossing else list(prompt)
    total = 0.0
    for token in ids:
        with torch.no_grad():
            if crossing:
                logits = model(input_ids=torch.tensor([prompt]), decoder_input_ids=torch.tensor([before])).logits
            else:
                logits = model(input_ids=torch.tensor([before])).logits
        total += float(logits[0, -1].log_softmax(-1)[token])
        before.append(token)
    return total


def test_texts_come_in_the_order_of_their_passes_and_passes_with_other_settings_are_rejected(
    made: tuple[Any, Any, HFGenerator],
) -> None:
    _, _, asked = made
    passes = [GeneratePass(Prompt(text, plain=True), 4) for text in PROMPTS]
    assert asked.generate(passes) == [asked.generate([one])[0] for one in passes]
    with pytest.raises(ValueError, match="differ in their settings"):
        asked.generate([passes[0], passes[1]._replace(max_new_tokens=5)])


def test_a_text_that_is_cut_off_says_so_and_keeps_all_its_tokens(made: tuple[Any, Any, HFGenerator]) -> None:
    """Whatever end a checkpoint would force upon it; the key of its answers is that of one that forces none."""
    model, tokenizer, asked = made
    passes = [GeneratePass(Prompt(text, plain=True), 8) for text in PROMPTS]
    expected = asked.generate(passes)
    assert [(one.finish, one.tokens) for one in expected if isinstance(one, Generated)] == [("length", 8)] * 4
    model.config.forced_eos_token_id = model.generation_config.forced_eos_token_id = tokenizer.eos_token_id
    forced = HFGenerator(model, tokenizer, name="", fingerprint={"weights": "1"})
    assert forced.generate(passes) == expected
    assert forced.fingerprint == asked.fingerprint
    assert '"forced_eos_token_id":null' in forced.fingerprint["marks"]


def test_what_does_not_fit_is_refused_alone(made: tuple[Any, Any, HFGenerator]) -> None:
    _, _, asked = made
    passes = [GeneratePass(Prompt(text, plain=True), 4) for text in ("boat", "boat " * 200)]
    short, long = asked.generate(passes)
    assert not isinstance(short, Undefined) or short.reason == "empty_answer"
    assert isinstance(long, Undefined)
    assert long.reason == "too_long"
    values = asked.likelihoods([LikelihoodPass(one.prompt, ("yes",)) for one in passes])
    assert isinstance(values[0], np.ndarray)
    assert isinstance(values[1], Undefined)


@pytest.mark.parametrize("made", ["gpt2", "t5"], indirect=True)
def test_a_stop_string_ends_the_text_and_is_not_part_of_it(made: tuple[Any, Any, HFGenerator]) -> None:
    _, _, asked = made
    whole = asked.generate([GeneratePass(Prompt(PROMPTS[0], plain=True), 12)])[0]
    assert isinstance(whole, Generated)
    mark = whole.text[len(whole.text) // 2 :][:2]
    cut = asked.generate([GeneratePass(Prompt(PROMPTS[0], plain=True), 12, (mark,))])[0]
    expected = whole.text.split(mark)[0].strip()
    assert (cut.text if isinstance(cut, Generated) else "") == expected


@pytest.mark.parametrize("made", ["gpt2"], indirect=True)
def test_nothing_is_drawn(made: tuple[Any, Any, HFGenerator]) -> None:
    _, _, asked = made
    before = torch.get_rng_state()
    greedy = GeneratePass(Prompt("the boat", plain=True), 12)
    assert asked.generate([greedy, greedy._replace(seed=1)]) == asked.generate([greedy]) * 2
    assert torch.equal(torch.get_rng_state(), before)
    with pytest.raises(UserError, match=r"temperature: got 0\.5; 'gpt2' does not sample, it must be 0"):
        asked.generate([greedy, greedy._replace(temperature=0.5)])


def test_a_chat_is_written_in_its_template() -> None:
    tokenizer = tiny.tokenizer_of("bytes")
    said = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    tokenizer.chat_template = said + "{% if add_generation_prompt %}[says]{% endif %}"
    asked = HFGenerator(generator_model("gpt2", tokenizer).eval(), tokenizer, name="gpt2", fingerprint={})
    assert asked.rendered(Prompt("why?", "be brief")) == "[system]be brief[user]why?[says]"
    assert asked.rendered(Prompt("why?", plain=True)) == "why?"
    assert asked.tokens(Prompt("why?")) == tokenizer("[user]why?[says]", add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize("architecture", ["gpt2", "t5"])
def test_a_folder_is_loaded_as_what_it_is(architecture: str, tmp_path: Path) -> None:
    tokenizer = tiny.tokenizer_of("bytes")
    model = generator_model(architecture, tokenizer).eval()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    passes = [LikelihoodPass(Prompt("the boat", plain=True), (" yes", " no"))]
    found = load_generator(tmp_path).likelihoods(passes)[0]
    expected = HFGenerator(model, tokenizer, name="", fingerprint={}).likelihoods(passes)[0]
    np.testing.assert_allclose(found, expected, atol=1e-6)  # type: ignore[arg-type]


def test_a_folder_with_a_classifier_is_refused(checkpoint: Callable[[str], Path]) -> None:
    with pytest.raises(UserError, match="it is no trained text generator"):
        load_generator(checkpoint("bert"))


def test_a_classifier_generates_nothing() -> None:
    model, tokenizer = tiny.build("bert")
    with pytest.raises(UserError, match="generates no text"):
        HFGenerator(model, tokenizer, name="bert", fingerprint={})
    assert load_model(model, tokenizer=tokenizer).labels


def test_how_a_checkpoint_wants_to_be_decoded_plays_no_role(made: tuple[Any, Any, HFGenerator]) -> None:
    model, tokenizer, _ = made
    passes = [GeneratePass(Prompt(text, plain=True), 8) for text in PROMPTS]
    beams = [CandidatesPass(Prompt(text, plain=True), 3, 6) for text in PROMPTS]

    def answers() -> list[str]:
        asked = HFGenerator(model, tokenizer, name="", fingerprint={})
        return [repr(one) for one in (*asked.generate(passes), *asked.candidates(beams))]

    expected = answers()
    theirs = model.generation_config
    theirs.repetition_penalty, theirs.no_repeat_ngram_size, theirs.length_penalty = 50.0, 1, -9.0
    theirs.early_stopping, theirs.min_new_tokens, theirs.num_beams = True, 6, 4
    theirs.bad_words_ids = [[token] for token in tokenizer("the boat", add_special_tokens=False)["input_ids"]]
    theirs.suppress_tokens = list(range(len(tokenizer) // 2))
    before = theirs.to_dict()
    assert answers() == expected
    assert model.generation_config is theirs
    assert theirs.to_dict() == before


@pytest.mark.parametrize("name", ["eos_token_id", "bos_token_id", "forced_bos_token_id"])
def test_the_tokens_that_a_text_begins_and_ends_with_are_in_the_fingerprint(name: str) -> None:
    tokenizer = tiny.tokenizer_of("bytes")
    model = generator_model("bart", tokenizer)
    before = HFGenerator(model, tokenizer, name="", fingerprint={}).fingerprint
    model.generation_config.repetition_penalty = 2.0
    assert HFGenerator(model, tokenizer, name="", fingerprint={}).fingerprint == before
    setattr(model.generation_config, name, 7)
    assert HFGenerator(model, tokenizer, name="", fingerprint={}).fingerprint != before


def test_a_chat_is_the_same_on_every_day_and_does_not_think() -> None:
    tokenizer = tiny.tokenizer_of("bytes")
    model = generator_model("gpt2", tokenizer)
    plain = HFGenerator(model, tokenizer, name="", fingerprint={}).fingerprint
    thinks = "{% if enable_thinking is not defined or enable_thinking %}[think]{% endif %}"
    given = "{% if date_string is not defined %}{% set date_string = strftime_now('%d %b %Y') %}{% endif %}"
    clock = "{{ strftime_now('%A, %-d %B %Y, %Y-%m-%d %H:%M:%S') }}"
    inner = "{% macro today() %}{{ strftime_now('%y') }}{% endmacro %}{{ today() }}"
    tokenizer.chat_template = f"{given}{{{{ date_string }}}}; {clock}; {inner}[{{{{ messages[0].content }}}}]{thinks}"
    asked = HFGenerator(model, tokenizer, name="", fingerprint={})
    assert asked.rendered(Prompt("why?")) == "01 Jan 2025; Wednesday, 1 January 2025, 2025-01-01 00:00:00; 25[why?]"
    assert plain.keys() < asked.fingerprint.keys()
    assert "2025-01-01" in asked.fingerprint["chat"]
    assert '"enable_thinking":false' in asked.fingerprint["chat"]


def test_a_system_text_that_a_template_refuses_is_said_by_the_user() -> None:
    tokenizer = tiny.tokenizer_of("bytes")
    refuses = "{% if m.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    tokenizer.chat_template = f"{{% for m in messages %}}{refuses}[{{{{ m.role }}}}]{{{{ m.content }}}}{{% endfor %}}"
    asked = HFGenerator(generator_model("gpt2", tokenizer), tokenizer, name="", fingerprint={})
    assert asked.rendered(Prompt("why?", "be brief")) == "[user]be brief\n\nwhy?"


def test_half_a_surrogate_pair_is_read_as_a_question_mark(made: tuple[Any, Any, HFGenerator]) -> None:
    _, _, asked = made
    odd, readable = (Prompt(f"the {sign} boat", plain=True) for sign in ("\ud83d", "?"))
    assert asked.length(GeneratePass(odd, 4)) == asked.length(GeneratePass(readable, 4))
    assert asked.tokens(odd) == asked.tokens(readable)
    values = asked.likelihoods([LikelihoodPass(odd, ("yes \udc00",)), LikelihoodPass(readable, ("yes ?",))])
    np.testing.assert_allclose(values[0], values[1], atol=1e-12)  # type: ignore[arg-type]


def test_what_comes_after_a_prompt_is_joined_as_training_joins_it() -> None:
    tokenizer = tiny.tokenizer_of("bytes")
    tokenizer.chat_template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    end, plain, chat = tokenizer.eos_token_id, Prompt("the boat", plain=True), Prompt("the boat")

    def ids(text: str) -> list[int]:
        found: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
        return found

    decoder = HFGenerator(generator_model("llama", tokenizer), tokenizer, name="llama", fingerprint={})
    assert decoder.continuation(plain, "sails") == [*ids(" sails"), end]
    assert decoder.continuation(chat, "sails") == ids("sails")
    assert decoder.continuation(plain, " ") == []
    crossing = HFGenerator(generator_model("t5", tokenizer), tokenizer, name="t5", fingerprint={})
    assert crossing.continuation(plain, "sails") == [*ids("sails"), end]
    bart = generator_model("bart", tokenizer)
    bart.generation_config.forced_bos_token_id = tokenizer.bos_token_id
    begun = HFGenerator(bart, tokenizer, name="bart", fingerprint={})
    assert begun.continuation(plain, "sails") == [tokenizer.bos_token_id, *ids("sails"), end]


def test_a_text_ends_where_the_model_is_told_to_end() -> None:
    tokenizer = tiny.tokenizer_of("bytes")
    model = generator_model("gpt2", tokenizer)
    model.generation_config.eos_token_id = [tokenizer.pad_token_id]
    asked = HFGenerator(model, tokenizer, name="gpt2", fingerprint={})
    assert asked.continuation(Prompt("the boat", plain=True), "sails")[-1] == tokenizer.pad_token_id


def test_every_prompt_is_read_once_for_all_its_continuations(
    made: tuple[Any, Any, HFGenerator], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _, asked = made
    read: list[int] = []
    reader = model.get_encoder() if model.config.is_encoder_decoder else model
    forward = reader.forward

    def counted(*arguments: Any, **named: Any) -> Any:
        read.append(named["input_ids"].numel())
        return forward(*arguments, **named)

    monkeypatch.setattr(reader, "forward", counted)
    counted.__signature__ = inspect.signature(forward)  # type: ignore[attr-defined]
    passes = [LikelihoodPass(Prompt(text, plain=True), CONTINUATIONS[: 1 + n % 3]) for n, text in enumerate(PROMPTS)]
    found = asked.likelihoods(passes)
    assert [len(one) for one in found if isinstance(one, np.ndarray)] == [1, 2, 3, 1]
    longest = max(len(asked.tokens(one.prompt)) for one in passes)
    assert read[0] == len(PROMPTS) * longest
    assert len(read) == (1 if model.config.is_encoder_decoder else 2)


def test_candidates_are_those_of_beam_search(made: tuple[Any, Any, HFGenerator]) -> None:
    model, tokenizer, asked = made
    passes = [CandidatesPass(Prompt(text, plain=True), 3, 4) for text in PROMPTS]
    found = asked.candidates(passes)
    assert asked.candidates(passes) == found
    for text, texts in zip(PROMPTS, found, strict=True):
        batch = tokenizer(text, return_tensors="pt")
        batch.pop("token_type_ids", None)
        with torch.no_grad():
            alone = model.generate(**batch, max_new_tokens=4, num_beams=3, num_return_sequences=3, do_sample=False)
        new = alone[:, 1:] if model.config.is_encoder_decoder else alone[:, batch["input_ids"].shape[1] :]
        expected = [one.strip() for one in tokenizer.batch_decode(new, skip_special_tokens=True)]
        assert isinstance(texts, list)
        assert [one.text for one in texts] == list(dict.fromkeys(one for one in expected if one))


def test_candidates_of_what_does_not_fit_are_refused_alone(made: tuple[Any, Any, HFGenerator]) -> None:
    short, long = made[2].candidates(
        [CandidatesPass(Prompt(text, plain=True), 2, 3) for text in ("boat", "boat " * 200)]
    )
    assert isinstance(short, list)
    assert isinstance(long, Undefined)


def test_the_length_of_a_pass_counts_what_comes_after(made: tuple[Any, Any, HFGenerator]) -> None:
    _, tokenizer, asked = made
    prompt = Prompt(PROMPTS[0], plain=True)
    read = len(tokenizer(PROMPTS[0])["input_ids"])
    assert asked.length(GeneratePass(prompt, 9)) == read + 9
    assert asked.length(CandidatesPass(prompt, 4, 5)) == 4 * (read + 5)
    after = sum(len(asked.continuation(prompt, text)) for text in CONTINUATIONS)
    assert asked.length(LikelihoodPass(prompt, CONTINUATIONS)) == read + after
