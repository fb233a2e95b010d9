"""The command line. What a command needs is imported when it is called, so that listing and help are instant."""

from verax.cli import (
    aligning,
    crosslingual,
    explaining,
    highlights,
    nle,
    roaring,
    running,
    similarity,
    training,
    training_text,
)
from verax.cli.app import app
from verax.cli.main import main

__all__ = [
    "aligning",
    "app",
    "crosslingual",
    "explaining",
    "highlights",
    "main",
    "nle",
    "roaring",
    "running",
    "similarity",
    "training",
    "training_text",
]
