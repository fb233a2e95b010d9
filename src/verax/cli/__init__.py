"""The command line. What a command needs is imported when it is called, so that listing and help are instant."""

from verax.cli import aligning, crosslingual, explaining, highlights, roaring, running, similarity, training
from verax.cli.app import app
from verax.cli.main import main

__all__ = [
    "aligning",
    "app",
    "crosslingual",
    "explaining",
    "highlights",
    "main",
    "roaring",
    "running",
    "similarity",
    "training",
]
