"""A model that answers and explains itself: one or two text generators, and their prompts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from verax.models.classifier import Capability
from verax.models.generator import ConcurrentGenerator, TextGenerator
from verax.models.load import DeviceMap, DType, checkpoint_folder, fingerprint, load_generator
from verax.models.wording import Wording, shipped_wording
from verax.registry import unknown
from verax.store.artifact import check_artifact
from verax.store.keys import hash_files
from verax.types import UserError, require_at_least

TrainedMethodName = Literal["mt_re", "mt_ra", "st_re", "st_ra"]
"""One model for both tasks (mt) or one for each (st); an explanation of the input (re) or of its class (ra)."""
FACTS = "nle.json"
MAX_NEW_TOKENS = 64
"""Length of the longest explanation by default: those written by people are half as long."""
PROMPTS = "prompts.txt"


@dataclass(frozen=True, eq=False)
class SelfExplainer:
    """A model that answers and explains itself in free text.

    Args:
        explainer, predictor: the generators that explain and answer; the same one if it does both.
        setup: what it was trained as; None for a model that follows instructions.
        max_new_tokens: length of the longest explanation, in tokens; a longer one is cut off, and tests nothing.
    """

    name: str
    explainer: TextGenerator
    predictor: TextGenerator
    labels: tuple[str, ...]
    wording: Wording
    setup: TrainedMethodName | None = None
    max_new_tokens: int = MAX_NEW_TOKENS

    def __repr__(self) -> str:
        return f"<SelfExplainer {self.name}: classes {', '.join(self.labels)}>"

    @property
    def plain(self) -> bool:
        """Whether prompts are continued as they are: those that the model was trained on."""
        return self.setup is not None

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Free text, and likelihoods if the generator that answers gives them."""
        return frozenset({"text", "likelihood"} if self.predictor.gives_likelihoods else {"text"})

    @property
    def deterministic(self) -> bool:
        """Whether the same question always gets the same answer: local models decode greedily, endpoints may not."""
        return not any(isinstance(one, ConcurrentGenerator) for one in (self.explainer, self.predictor))

    @property
    def about(self) -> dict[str, str]:
        """Facts about the generator that answers."""
        return self.predictor.about

    @property
    def fingerprint(self) -> dict[str, str]:
        """Everything that determines its answers."""
        parts = {"explainer": self.explainer.fingerprint, "predictor": self.predictor.fingerprint}
        return _identity(parts, self.wording, self.labels, self.setup, self.max_new_tokens)


def load_self_explainer(
    name: str | Path,
    *,
    labels: Sequence[str] = (),
    parts: int | None = None,
    prompts: Path | None = None,
    endpoint: TextGenerator | None = None,
    dtype: DType = "float32",
    device: str = "auto",
    tf32: bool = False,
    device_map: DeviceMap | None = None,
    revision: str | None = None,
    max_new_tokens: int | None = None,
) -> SelfExplainer:
    """Load a model that explains itself.

    Args:
        name: a folder made by `verax train nle`, a shipped model, or any text generator that follows instructions.
        labels: the classes of the data, in order; a trained model has its own.
        parts: number of parts of its inputs, for the shipped prompts of a model that follows instructions.
        prompts: a file of prompts that replaces the shipped ones; a trained model has its own.
        endpoint: asked in place of a local model.
        dtype, device, tf32, device_map, revision: as for `load_model`.
        max_new_tokens: length of the longest explanation; by default that of the training, else 64.
    """
    require_at_least("model", 1, max_new_tokens=MAX_NEW_TOKENS if max_new_tokens is None else max_new_tokens)
    longest = max_new_tokens or MAX_NEW_TOKENS
    if endpoint is not None:
        return _prompted(str(name), endpoint, labels, parts, prompts, longest)
    home = checkpoint_folder(str(name), revision)
    options: dict[str, Any] = {"dtype": dtype, "device": device, "tf32": tf32, "device_map": device_map}
    if not (home / FACTS).is_file():
        return _prompted(str(name), load_generator(home, **options), labels, parts, prompts, longest)
    if prompts is not None:
        raise UserError(f"prompts: {str(name)!r} has the prompts that it was trained on; leave them out")
    check_artifact(home)
    facts = read_facts(home)
    known = tuple(facts["labels"])
    if not set(labels) <= set(known):
        raise UserError(
            f"model: {str(name)!r} knows {', '.join(known)}; the data has {', '.join(labels) or 'no labels'}"
        )
    explainer = load_generator(home / facts["explainer"], **options)
    shared = facts["explainer"] == facts["predictor"]
    predictor = explainer if shared else load_generator(home / facts["predictor"], **options)
    wording, longest = Wording.read(home / PROMPTS), max_new_tokens or facts.get("max_new_tokens", MAX_NEW_TOKENS)
    return SelfExplainer(str(name), explainer, predictor, known, wording, facts["setup"], longest)


def is_trained(name: str | Path, revision: str | None = None) -> bool:
    """Whether a model was made by `verax train nle`, with prompts and classes of its own."""
    return (checkpoint_folder(str(name), revision) / FACTS).is_file()


def trained_fingerprint(name: str | Path) -> dict[str, str]:
    """Fingerprint of a model made by `verax train nle`, from its files, without loading it."""
    home = checkpoint_folder(str(name), None)
    facts = read_facts(home)
    generators = {}
    for part in ("explainer", "predictor"):
        folder = home / facts[part]
        generators[part] = {**fingerprint(folder), "generation": hash_files(folder.glob("generation_config.json"))}
    longest = facts.get("max_new_tokens", MAX_NEW_TOKENS)
    return _identity(generators, Wording.read(home / PROMPTS), facts["labels"], facts["setup"], longest)


def _identity(
    generators: Mapping[str, Mapping[str, str]],
    wording: Wording,
    labels: Sequence[str],
    setup: TrainedMethodName | None,
    max_new_tokens: int,
) -> dict[str, str]:
    hashes = {f"{part} {name}": value for part, hashed in generators.items() for name, value in hashed.items()}
    # explanations of the default length keep the key that they had before the length could be set
    length = {} if max_new_tokens == MAX_NEW_TOKENS else {"max_new_tokens": str(max_new_tokens)}
    return {**hashes, "wording": wording.hash, "labels": "\n".join(labels), "setup": setup or "", **length}


def read_facts(home: Path) -> dict[str, Any]:
    """The file that `verax train nle` wrote next to a model."""
    try:
        facts: dict[str, Any] = json.loads((home / FACTS).read_text("utf-8"))
        missing = [name for name in ("setup", "labels", "explainer", "predictor") if name not in facts]
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise UserError(f"model: {home / FACTS} cannot be read: {error}") from None
    if missing:
        raise UserError(f"model: {home / FACTS} has no {missing[0]!r}")
    if facts["setup"] not in (setups := get_args(TrainedMethodName)):
        raise UserError(f"model: {home / FACTS}: {unknown('setup', str(facts['setup']), setups)}")
    if not isinstance(facts["labels"], list) or not all(isinstance(label, str) for label in facts["labels"]):
        raise UserError(f"model: {home / FACTS}: labels: expected a list of names, got {facts['labels']!r:.80}")
    return facts


def _prompted(
    name: str, generator: TextGenerator, labels: Sequence[str], parts: int | None, prompts: Path | None, longest: int
) -> SelfExplainer:
    if len(labels) < 2:
        raise UserError("data.labels: a model that follows instructions needs the names of at least two classes")
    if parts is None and prompts is None:
        raise UserError("parts: give the number of parts of the inputs, which determines the prompts, or give prompts")
    wording = Wording.read(prompts) if prompts is not None else shipped_wording("instructed", labels, parts or 0)
    return SelfExplainer(name, generator, generator, tuple(labels), wording, max_new_tokens=longest)
