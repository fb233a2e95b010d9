"""The command line. Commands import what they need when they are called, so that listing and help are instant."""

from verax.cli import (
    aligning,
    annotating,
    auditing,
    checking,
    explaining,
    exporting,
    highlights,
    roaring,
    running,
    show,
    similarity,
    training,
    verifying,
    viewing,
)
from verax.cli.app import app, main

__all__ = [
    "aligning",
    "annotating",
    "app",
    "auditing",
    "checking",
    "explaining",
    "exporting",
    "highlights",
    "main",
    "roaring",
    "running",
    "show",
    "similarity",
    "training",
    "verifying",
    "viewing",
]
