"""What verax adds to a text generator: explanations through the engine against a bare batched `generate`.

    python -m bench.nle --json
    python -m bench.nle --inputs 128 --repeats 5

A randomly initialised Llama (8 layers, hidden size 384) explains pairs of random words, as MT-Re does. Beside it
the same model generates from the same prompts by transformers alone: sorted by length, in batches of as many rows, with
the cache of keys and values, padded on the left. Both write the same number of tokens, and must write the same tokens.

The second figure is of a whole set of questions: the class of each input and of sixteen edits of it, and the
explanations of the input and of one edit, against the same passes handed to the model in batches sorted by length.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from bench.models import PairMaker, word_tokenizer
from verax.data.text import from_words
from verax.engine.batch_size import token_budget
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.protocols import Answer
from verax.engine.questions import QuestionGenerator, together
from verax.engine.questions.text import GENERATING
from verax.methods.answering import MTRe, prompt_for
from verax.models.generator import GeneratePass, LikelihoodPass
from verax.models.hf_generator import HFGenerator
from verax.models.self_explainer import MAX_NEW_TOKENS, SelfExplainer
from verax.models.subject import Subject
from verax.models.wording import Wording
from verax.types import Instance

LIMIT = 1.15
"""Of the time of explaining over that of the bare `generate`; examining is held to none."""
EDITS = 16
_NOTHING = Answer("w7", (), "likelihood")
_WORDING = "[answer]\nw1 {1} w2 {2} w3\n[explain]\nw4 {1} w2 {2} w5\n"


def random_llama() -> tuple[Any, Any, SelfExplainer]:
    """A randomly initialised Llama, its tokenizer, and the two as verax asks them."""
    torch.manual_seed(0)
    tokenizer = word_tokenizer(ends=())
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=384,
        intermediate_size=1024,
        num_hidden_layers=8,
        num_attention_heads=6,
        max_position_embeddings=512,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        eos_token_id=tokenizer.sep_token_id,
    )
    model = LlamaForCausalLM(config).eval()
    tokenizer.eos_token = tokenizer.sep_token
    by = HFGenerator(model, tokenizer, name="bench", fingerprint={})
    return model, tokenizer, SelfExplainer("bench", by, by, ("w7", "w8", "w9"), Wording(_WORDING, "bench"), "mt_re")


def explained(x: Subject) -> QuestionGenerator[str | None]:
    """One explanation, without an answer."""
    said = yield from MTRe().explain(x, _NOTHING)
    return said.text


def examined(x: Subject) -> QuestionGenerator[int]:
    """The class of an input and of its edits, and two explanations: what a counterfactual test asks."""
    setup = MTRe()
    said = yield from setup.answer(x)
    yield from setup.explain(x, said)
    edits = [x.edited(edited) for edited in _edits(x.instance)]
    yield from together([setup.answer(edit) for edit in edits])
    yield from setup.explain(edits[0], said)
    return len(edits)


def by_engine(by: SelfExplainer, instances: Sequence[Instance], task: Any) -> list[Any]:
    """What the tasks return, in the order of the instances."""
    found: dict[int, Any] = {}

    def tasks() -> Iterator[Task[Any]]:
        for number, instance in enumerate(instances):
            yield Task(task(Subject(instance, by)), lambda outcome, number=number: kept(number, outcome))  # type: ignore[misc]

    def kept(number: int, outcome: TaskResult[Any]) -> tuple[()]:
        if outcome.error is not None:
            raise outcome.error
        found[number] = outcome.value
        return ()

    Engine().run(tasks())
    return [found[number] for number in range(len(instances))]


def by_transformers(model: Any, tokenizer: Any, by: SelfExplainer, instances: Sequence[Instance]) -> list[str]:
    """The same explanations by `generate` alone, in batches of as many rows as fill the same budget."""
    texts = [prompt_for(Subject(instance, by), "explain").user for instance in instances]
    order = sorted(range(len(texts)), key=lambda number: -len(tokenizer(texts[number])["input_ids"]))
    longest = len(tokenizer(texts[order[0]])["input_ids"])
    rows = GENERATING * token_budget(by.explainer) // (longest + MAX_NEW_TOKENS)
    written = [""] * len(texts)
    for start in range(0, len(order), rows):
        batch = order[start : start + rows]
        encoded = tokenizer([texts[n] for n in batch], return_tensors="pt", padding=True, padding_side="left")
        with torch.inference_mode():
            made = model.generate(
                input_ids=encoded["input_ids"],
                attention_mask=encoded["attention_mask"],
                max_new_tokens=MAX_NEW_TOKENS,
                do_sample=False,
                pad_token_id=tokenizer.pad_token_id,
            )
        for number, row in zip(batch, made[:, encoded["input_ids"].shape[1] :], strict=True):
            written[number] = tokenizer.decode(row, skip_special_tokens=True)
    return written


def by_batches(by: SelfExplainer, instances: Sequence[Instance]) -> None:
    """The passes of `examined`, each once, sorted by length and handed to the generator in full batches."""
    generator, budget = by.explainer, GENERATING * token_budget(by.explainer)
    posed = [[Subject(one, by) for one in (instance, *_edits(instance))] for instance in instances]
    answers = [LikelihoodPass(prompt_for(x, "answer"), by.labels) for several in posed for x in several]
    reasons = [GeneratePass(prompt_for(x, "explain"), MAX_NEW_TOKENS) for several in posed for x in several[:2]]
    answers.sort(key=generator.length, reverse=True)
    reasons.sort(key=generator.length, reverse=True)
    for start in range(0, len(answers), rows := budget // generator.length(answers[0])):
        generator.likelihoods(answers[start : start + rows])
    for start in range(0, len(reasons), rows := budget // generator.length(reasons[0])):
        generator.generate(reasons[start : start + rows])


def measure(inputs: int, repeats: int) -> dict[str, Any]:
    """Seconds by either way, interleaved, and their ratio: medians over repetitions."""
    model, tokenizer, by = random_llama()
    instances = PairMaker(0).instances(inputs)
    ours, bare = by_engine(by, instances, explained), by_transformers(model, tokenizer, by, instances)
    if [" ".join(text.split()) for text in bare] != ours:
        raise AssertionError("the two ways write different texts")
    tokens = sum(len(tokenizer(text)["input_ids"]) for text in bare)
    ways: dict[str, Callable[[], object]] = {
        "explaining": lambda: by_engine(by, instances, explained),
        "bare generate": lambda: by_transformers(model, tokenizer, by, instances),
        "examining": lambda: by_engine(by, instances, examined),
        "bare passes": lambda: by_batches(by, instances),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - start)
    ratios = {
        name: statistics.median(a / b for a, b in zip(seconds[name], seconds[other], strict=True))
        for name, other in (("explaining", "bare generate"), ("examining", "bare passes"))
    }
    medians = {name: round(statistics.median(times), 3) for name, times in seconds.items()}
    speed = {name: round(tokens / medians[name]) for name in ("explaining", "bare generate")}
    return {
        "inputs": inputs,
        "tokens": tokens,
        "seconds": medians,
        "tokens_per_second": speed,
        "ratios": ratios,
        "limit": LIMIT,
        "met": ratios["explaining"] <= LIMIT,
    }


def _edits(instance: Instance) -> list[Instance]:
    """The input with another word put in at its beginning."""
    first, *others = instance.parts
    made = [from_words([f"w{100 + number}", *first.words]) for number in range(EDITS)]
    return [Instance(f"{instance.id}+{number}", (part, *others)) for number, part in enumerate(made)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=96)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = measure(options.inputs, options.repeats)
    if options.json:
        json.dump(found, sys.stdout, indent=1)
        print()
        return
    speed, ratios = found["tokens_per_second"], found["ratios"]
    print(f"explaining: {speed['explaining']} tokens a second, bare generate: {speed['bare generate']}")
    print(f"time of explaining: {ratios['explaining']:.2f} of the bare one's (limit {LIMIT}, met: {found['met']})")
    print(f"time of examining with edits: {ratios['examining']:.2f} of the bare passes'")


if __name__ == "__main__":
    main()
