"""The models that come with the package, by the folder they lie in. Nothing here imports torch."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def world_nli() -> Path:
    """The classifier for `world/nli`."""
    return _HERE / "world-nli"


def world_xnli() -> Path:
    """The classifier for `world/xnli`, in six languages."""
    return _HERE / "world-xnli"


def world_facts() -> Path:
    """The classifier for `world/facts`."""
    return _HERE / "world-facts"


def world_opinion() -> Path:
    """The classifier for `world/opinion`."""
    return _HERE / "world-opinion"


def world_opinion_masked() -> Path:
    """The classifier for `world/opinion`, fine-tuned with masking."""
    return _HERE / "world-opinion-masked"


def world_nli_mt_ra() -> Path:
    """The self-explaining model for `world/nli` that answers, and then explains its answer."""
    return _HERE / "world-nli-mt-ra"


def world_nli_st_re() -> Path:
    """The self-explaining models for `world/nli`: one explains, the other answers by the explanation."""
    return _HERE / "world-nli-st-re"


def world_nli_editor() -> Path:
    """The editor for `world/nli`: fills in words that fit a class."""
    return _HERE / "world-nli-editor"
