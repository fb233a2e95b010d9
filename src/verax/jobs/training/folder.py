"""The folder of a trained model: its model card and its facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from verax.store.artifact import Artifact, ArtifactRecord, read_json, write_json
from verax.store.files import replace_file

FACTS = "training.json"
"""The facts of one checkpoint."""


def finish_model(artifact: Artifact, facts_file: str, facts: Mapping[str, Any], card: str, *files: Path) -> None:
    """Write the model card and the facts, then record that the model is finished.

    Args:
        files: the files that must not change afterwards, in addition to the facts.
    """
    folder = artifact.folder
    replace_file(folder / "README.md", card.encode())
    write_json(folder / facts_file, facts, allow_nan=True)  # losses of a training that diverged
    artifact.finish(facts_file, *(str(path.relative_to(folder)) for path in files))


def checkpoint_files(folder: Path) -> list[Path]:
    """The configuration and the weights of a checkpoint."""
    return [folder / "config.json", *folder.glob("*.safetensors")]


def older_record(
    kind: str, facts_file: str, fields: Mapping[str, str], key: str = "key"
) -> Callable[[Path], ArtifactRecord | None]:
    """A reader of models that were finished before there was `artifact.json`.

    Args:
        fields: names in the recipe of the artifact, by the name of the fact.
    """

    def read(folder: Path) -> ArtifactRecord | None:
        facts = read_json(folder / facts_file)
        if facts is None:
            return None
        recipe = {**facts.get("recipe", {}), **{name: facts.get(fact) for fact, name in fields.items()}}
        return ArtifactRecord(kind, str(facts.get(key)), recipe, finished=True)

    return read
