"""The command that aligns words with those of their translations."""
# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from verax.cli.app import Json, app, notes, out, print_json, print_raw
from verax.cli.explaining import open_inputs
from verax.registry import unknown
from verax.results.render.numbers import count, number, plural
from verax.types import Links, Undefined, UserError

if TYPE_CHECKING:
    from verax.align.protocol import Aligner, TextPair

FROM_DATA = "data"
"""The value of `--gold` for the links that came with the data."""


@app.command()
def align(
    pairs: Annotated[
        Path | None, typer.Argument(help="A file with `text ||| translation` on each line.", metavar="[PAIRS]")
    ] = None,
    source: Annotated[Path | None, typer.Option(help="Or two files: the texts, one per line ...")] = None,
    target: Annotated[Path | None, typer.Option(help="... and their translations.")] = None,
    data: Annotated[
        str | None, typer.Option(help="Or inputs in several languages: a dataset, a file, a spec (YAML).")
    ] = None,
    reference: Annotated[str, typer.Option(help="The language of the texts.")] = "en",
    lang: Annotated[
        str | None, typer.Option(help="The language of the translations, for --data and --words split.")
    ] = None,
    words: Annotated[
        str | None,
        typer.Option(help="How files are split into words: spaces (default) or split (as data is split)."),
    ] = None,
    aligner: Annotated[str, typer.Option(help="A name from `verax list aligners`.")] = "embedding",
    encoder: Annotated[str | None, typer.Option(help="embedding: a folder, a hub id or a shipped model.")] = None,
    layer: Annotated[
        int | None,
        typer.Option(help="embedding: layer, 0 for the embeddings; default: two thirds of the way up.", min=0),
    ] = None,
    extract: Annotated[str | None, typer.Option(help="embedding: softmax (default), argmax or itermax.")] = None,
    threshold: Annotated[float | None, typer.Option(help="embedding: threshold of softmax; default: 0.001.")] = None,
    links: Annotated[Path | None, typer.Option(help="given: a Pharaoh file with the links of these files.")] = None,
    possible: Annotated[bool, typer.Option("--possible", help="given: count possible links too.")] = False,
    symmetrise: Annotated[
        str | None, typer.Option(help="eflomal: intersection (default) or grow_diag_final_and.")
    ] = None,
    seed: Annotated[int, typer.Option(help="random: seed.", min=0)] = 0,
    to: Annotated[Path | None, typer.Option("--out", help="Write links here, as a Pharaoh file.")] = None,
    gold: Annotated[
        str | None,
        typer.Option(help="Evaluate against this Pharaoh file; `data` means the links that came with --data."),
    ] = None,
    one_based: Annotated[
        bool, typer.Option("--one-based", "--one-indexed", help="--gold and --links count words from 1.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Link the words of texts with those of their translations; evaluate links against human ones.

    Links are printed, or written by --out, in Pharaoh's format: `0-0 1-2` on the line of each pair of texts, words
    counted from 0, the word of the text first. With --gold, precision, recall and alignment error rate (AER) are
    printed.

    Examples: `verax align --source a.en --target a.de --encoder my-xlm-r --out links.txt`

    `verax align pairs.txt --encoder my-xlm-r --extract itermax --gold gold.txt --one-based`

    `verax align pairs.txt --aligner given --links other.txt --gold gold.txt`

    `verax align --data parallel.yaml --reference en --lang de --encoder my-xlm-r --gold data`
    """
    if to is not None:
        _check_out(to)
    asked = {"encoder": encoder, "layer": layer, "extract": extract, "threshold": threshold, "symmetrise": symmetrise}
    made = _aligner(aligner, {**asked, "possible": possible or None}, seed)
    _check_links(aligner, links, data)
    texts = _texts(pairs, source, target, data, words, (reference, lang))
    texts = texts if links is None else _with_links(texts, links, one_based)
    right = None if gold is None else _gold(texts, gold, one_based)
    found, skipped = _align(made, texts)
    if to is not None:
        _write(to, found)
    if right is not None:
        _show_scores(aligner, found, right, sum(map(len, skipped.values())), as_json)
    elif to is None:
        _show_links(found, as_json)
    _warn(skipped)


def _check_out(to: Path) -> None:
    """Refuse a path that can't be written, before the work and not after it."""
    if to.is_dir():
        raise UserError(f"--out: {str(to)!r} is a folder; name a file")
    if not to.parent.is_dir():
        raise UserError(f"--out: there is no folder {str(to.parent)!r}")


def _check_links(aligner: str, links: Path | None, data: str | None) -> None:
    if links is not None and aligner != "given":
        raise UserError(f"--links: {aligner} makes links of its own; --aligner given reads them")
    if aligner == "given" and data is None and links is None:
        raise UserError("given: these files bring no links; name a Pharaoh file by --links, or --data that has some")


def _aligner(name: str, asked: dict[str, Any], seed: int) -> Aligner:
    from verax.run.parameters import from_config

    made: Aligner = from_config(
        "aligners", {name: {key: value for key, value in asked.items() if value is not None}}, seed
    ).component
    return made


def _texts(
    pairs: Path | None,
    source: Path | None,
    target: Path | None,
    data: str | None,
    words: str | None,
    langs: tuple[str, str | None],
) -> list[TextPair]:
    """The pairs of texts, named in one of three ways."""
    if sum((pairs is not None, source is not None or target is not None, data is not None)) != 1:
        raise UserError("name the texts in one way: a file with text ||| translation, --source and --target, or --data")
    if data is not None and words is not None:
        raise UserError(f"--words: --data has words of its own, got {words!r}")
    named = _of_files(pairs, source, target, words or "spaces", langs) if data is None else _of_data(data, langs)
    if not named:
        raise UserError("there is no text to align: the input is empty")
    return named


def _of_data(data: str, langs: tuple[str, str | None]) -> list[TextPair]:
    from verax.align.parallel import parallel_instances, text_pairs

    reference, lang = langs
    if lang is None:
        raise UserError("--lang: say which language of --data is aligned with the reference")
    inputs = open_inputs(data)
    both = parallel_instances(inputs, reference, lang)
    return [pair for one in both for pair in text_pairs(one, inputs.aligned)]


def _of_files(
    pairs: Path | None, source: Path | None, target: Path | None, words: str, langs: tuple[str, str | None]
) -> list[TextPair]:
    from verax.align import files
    from verax.data.segmenters import Splitter
    from verax.data.text import split_at_spaces

    reference, lang = langs
    splits: dict[str, files.Split] = {"spaces": split_at_spaces, "split": Splitter()}
    if words not in splits:
        raise UserError(f"--words: {unknown('way', words, splits)}")
    if words == "split" and lang is None:
        raise UserError("--lang: --words split needs the language of the translations")
    split, known = splits[words], (reference, lang or "und")
    if pairs is not None:
        return files.read_one_file(pairs, split, known)
    if source is None or target is None:
        raise UserError(f"--{'source' if source is None else 'target'} is missing: give both --source and --target")
    return files.read_two_files(source, target, split, known)


def _with_links(texts: Sequence[TextPair], links: Path, one_based: bool) -> list[TextPair]:
    from verax.align.files import read_links

    read = read_links(links, texts, first=int(one_based))
    return [pair._replace(sure=sure, possible=maybe) for pair, (sure, maybe) in zip(texts, read, strict=True)]


def _gold(texts: Sequence[TextPair], gold: str, one_based: bool) -> list[tuple[Links, Links]]:
    """Sure and possible links of each pair."""
    from verax.align.files import read_links

    if gold != FROM_DATA:
        return read_links(Path(gold), texts, first=int(one_based))
    without = sum(pair.sure is None for pair in texts)
    if without:
        raise UserError(f"--gold data: {without} of {plural(len(texts), 'pair')} came without links")
    return [(pair.sure or (), pair.possible) for pair in texts]


def _align(aligner: Aligner, texts: Sequence[TextPair]) -> tuple[list[Links], dict[str, list[int]]]:
    """Links of each pair, none where it can't be aligned; and the numbers of those pairs by reason, from 1."""
    from verax.run.progress import progress_counter

    found: list[Links] = []
    skipped: dict[str, list[int]] = {}
    answers = aligner.align(texts)  # an encoder is loaded, or refused, before the bar is there
    with progress_counter("aligning", len(texts), notes) as advance:
        for links in answers:
            if isinstance(links, Undefined):
                skipped.setdefault(links.reason, []).append(len(found) + 1)
                found.append(())
            else:
                found.append(tuple((int(one), int(other)) for one, other in links))
            advance()
    return found, skipped


def _write(to: Path, found: Sequence[Links]) -> None:
    from verax.align.files import write_links

    write_links(to, found)
    told = f"Wrote {to}: {plural(sum(map(len, found)), 'link')} of {plural(len(found), 'pair')}"
    notes.print(Text(told), soft_wrap=True)


def _warn(skipped: dict[str, list[int]]) -> None:
    for reason, numbers in skipped.items():
        first = f"the first is pair {numbers[0]}"
        notes.print(Text(f"not aligned: {plural(len(numbers), 'pair')} ({reason}); {first}", "yellow"), soft_wrap=True)


def _show_links(found: Sequence[Links], as_json: bool) -> None:
    from verax.data.pharaoh import format_links

    if as_json:
        print_json([[list(link) for link in links] for links in found])
    else:
        print_raw("".join(f"{format_links(links)}\n" for links in found))


def _show_scores(
    aligner: str, found: Sequence[Links], right: Sequence[tuple[Links, Links]], skipped: int, as_json: bool
) -> None:
    from verax.align.scores import score_alignments

    scores = score_alignments(found, right)
    shares = {"precision": scores.precision, "recall": scores.recall, "f1": scores.f1, "aer": scores.aer}
    counts = {"links": scores.links, "pairs": scores.pairs, "skipped": skipped}
    if as_json:
        print_json({"aligner": aligner, **shares, **counts})
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("aligner", no_wrap=True)
    for head in ("precision", "recall", "F1", "AER", "links", "pairs", "skipped"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_row(aligner, *map(number, shares.values()), *map(count, counts.values()))
    out.print(table)
