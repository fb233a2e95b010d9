"""The models that come with the package, by their folders. Nothing here imports torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Shipped:
    """A model that comes with the package; calling it gives its folder, `name` with `-` for `/`."""

    name: str
    summary: str

    def __call__(self) -> Path:
        """The folder of the model."""
        return Path(__file__).parent / self.name.replace("/", "-")


world_nli = Shipped("world/nli", "Small BERT for world/nli.")
world_xnli = Shipped("world/xnli", "Small BERT for world/xnli, six languages.")
world_facts = Shipped("world/facts", "Small BERT for world/facts.")
world_opinion = Shipped("world/opinion", "Small BERT for world/opinion.")
world_opinion_masked = Shipped(
    "world/opinion-masked",
    "Small BERT for world/opinion, fine-tuned with masking: its explanations can be measured by masking.",
)
world_nli_mt_ra = Shipped("world/nli-mt-ra", "Small BART for world/nli that answers, then explains its answer.")
world_nli_st_re = Shipped(
    "world/nli-st-re", "Two small BARTs for world/nli: one explains, the other answers given the explanation."
)
world_nli_editor = Shipped(
    "world/nli-editor", "Small BART that inserts words into an input of world/nli so that it fits a class."
)
