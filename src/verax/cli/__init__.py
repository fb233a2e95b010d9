"""The command line. What a command needs is imported when it is called, so that listing and help are instant."""

from verax.cli import explaining, roaring, running, training
from verax.cli.app import app
from verax.cli.main import main

__all__ = ["app", "explaining", "main", "roaring", "running", "training"]
