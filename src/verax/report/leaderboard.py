"""The leaderboard: an overview of methods by metrics, then one table with intervals for each metric."""

from __future__ import annotations

from verax.report.content import Content
from verax.report.metric_table import metric_table
from verax.report.overview import overview
from verax.report.ranking import by_metric
from verax.results.render.markup import Html, join, tag
from verax.results.render.numbers import plural
from verax.stats.leaderboard import ALPHA


def section(content: Content) -> Html:
    """Overview and tables, with what is compared with what in words; nothing where all explanations are in free text.

    Nothing there is random to rank them against, and a test that found nothing gives no value that could be averaged.
    """
    if content.only_texts:
        return join()
    ranked = by_metric(content.summaries)
    if not ranked:
        holds = "no scores that rank methods" if content.scores else "no scores"
        return tag("p", f"This run holds {holds}, so there is nothing to rank.", class_="note")
    tables = {metric: ranked[metric] for metric in content.metrics if metric in ranked}
    return join(
        overview(content, tables),
        [metric_table(content, metric, rows, f"metric-{place}") for place, (metric, rows) in enumerate(tables.items())],
        _explained(content),
    )


def _explained(content: Content) -> Html:
    """What is compared with what."""
    everything, chance = plural(len(content.instances), "instance"), content.chance
    shared = {instance.parallel_id for instance in content.instances if instance.parallel_id is not None}
    apart = len(shared) < len(content.instances) and bool(shared)
    together = "; translations of one input count once, by their mean, and n counts inputs" if apart else ""
    lines = (
        f"Each value is the mean over those of the {everything} that have one{together}; n says how many, "
        "and every instance without one is counted as skipped.",
        "The interval covers the mean with 95 % confidence (BCa bootstrap over instances). "
        f"The dot is the mean, the bar its interval; the grey line is {chance}, the grey ribbon its interval.",
        f"p tests each method against {chance} on the same instances (paired), corrected over the methods of the "
        f"metric by Holm's rule; below {ALPHA} the two are told apart.",
        "Two methods that share a letter can't be told apart under that metric: their difference may be chance. "
        "A method with several letters stands between groups that do differ.",
    )
    listed = tag("ul", [tag("li", line) for line in lines])
    return tag("details", tag("summary", "How to read these tables"), listed, open=True, class_="how")
