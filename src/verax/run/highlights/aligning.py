"""Links between the words of an input and of its translation, part by part, as the run of the build holds them."""

from __future__ import annotations

from itertools import accumulate, pairwise

from verax.results.run import Run
from verax.run.highlights.parallel import Parallel
from verax.types import Instance, Links, Undefined, UserError

Aligned = tuple[Links, ...] | Undefined
"""The links of each part, or why there are none."""


def aligned_parts(run: Run, parallel: Parallel) -> dict[str, Aligned]:
    """The links of each translation, by its id; refuse an aligner that links nothing at all."""
    instances = {instance.id: instance for instance in parallel.instances}
    found: dict[str, Aligned] = {}
    for row in run.stored.alignments:
        if row.reason is not None:
            found[row.instance_id] = Undefined(row.reason, row.detail)
        else:
            reference = parallel.references[row.instance_id]
            found[row.instance_id] = by_part(row.links, reference, instances[row.instance_id])
    if not any(row.links for row in run.stored.alignments):
        why = next((f" ({row.reason}: {row.detail})" for row in run.stored.alignments if row.reason), "")
        who = run.stored.alignments[0].aligner if run.stored.alignments else "nobody"
        raise UserError(f"aligner: {who} links no word of any of the {len(parallel.references)} translations{why}")
    return found


def by_part(links: Links, reference: Instance, translation: Instance) -> tuple[Links, ...]:
    """Links that count words over all parts, as links of each part that count them within it.

    No link leaves its part, since parts are aligned apart.
    """
    firsts, seconds = _starts(reference), _starts(translation)
    return tuple(
        tuple((here - firsts[part], there - seconds[part]) for here, there in links if start <= here < end)
        for part, (start, end) in enumerate(pairwise(firsts))
    )


def _starts(instance: Instance) -> list[int]:
    """The number of the first word of each part, and of all words."""
    return list(accumulate((len(part.words) for part in instance.parts), initial=0))
