"""The command line. What a command needs is imported when it is called, so that listing and help are instant."""

from verax.cli import (
    aligning,
    explaining,
    highlights,
    roaring,
    running,
    show,
    similarity,
    training,
    training_text,
)
from verax.cli.app import app
from verax.cli.main import main

__all__ = [
    "aligning",
    "app",
    "explaining",
    "highlights",
    "main",
    "roaring",
    "running",
    "show",
    "similarity",
    "training",
    "training_text",
]
