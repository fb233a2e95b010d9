"""The commands that align words with those of their translations, and convert the checkpoints of aligners."""
# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from verax.cli.app import Device, Json, app, notes, print_json, print_raw, print_table
from verax.cli.explaining import open_inputs
from verax.data.pharaoh import format_links
from verax.registry import unknown
from verax.results.render.numbers import plural
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
    extract: Annotated[str | None, typer.Option(help="embedding: itermax (default), argmax or softmax.")] = None,
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
        list[str] | None,
        typer.Option(help="The file of --gold or --links that counts words from 1; can be repeated.", metavar="FILE"),
    ] = None,
    device: Device = None,
    as_json: Json = False,
) -> None:
    """Link the words of texts with those of their translations; evaluate links against human ones.

    Links are printed, or written by --out, in Pharaoh's format: `0-0 1-2` on the line of each pair of texts, words
    counted from 0, the word of the text first. With --gold, precision, recall and alignment error rate (AER) are
    printed.

    Examples: `verax align --source a.en --target a.de --encoder my-xlm-r --out links.txt`

    `verax align pairs.txt --encoder my-xlm-r --extract itermax --gold gold.txt --one-based gold.txt`

    `verax align pairs.txt --aligner given --links other.txt --gold gold.txt`

    `verax align --data parallel.yaml --reference en --lang de --encoder my-xlm-r --gold data`
    """
    from verax.align.files import read_links, write_links
    from verax.run.parameters import from_config

    if to is not None and (to.is_dir() or not to.parent.is_dir()):  # before the work, not after it
        problem = "is a folder; name a file" if to.is_dir() else "is in a folder that does not exist"
        raise UserError(f"--out: {str(to)!r} {problem}")
    given = {"encoder": encoder, "layer": layer, "extract": extract, "threshold": threshold, "symmetrise": symmetrise}
    parameters = {name: value for name, value in {**given, "possible": possible or None}.items() if value is not None}
    made: Aligner = from_config("aligners", {aligner: parameters}, seed).component
    if links is not None and aligner != "given":
        raise UserError(f"--links: {aligner} makes links of its own; --aligner given reads them")
    if aligner == "given" and data is None and links is None:
        raise UserError("given: these files bring no links; name a Pharaoh file by --links, or --data that has some")
    from_one = set(one_based or ())
    for name in from_one - {gold, str(links)}:
        raise UserError(f"--one-based: {name!r} is neither the file of --gold nor that of --links")
    texts = _texts(pairs, source, target, data, words, (reference, lang))
    if links is not None:
        read = read_links(links, texts, first=int(str(links) in from_one))
        texts = [pair._replace(sure=sure, possible=maybe) for pair, (sure, maybe) in zip(texts, read, strict=True)]
    right = None if gold is None else _gold(texts, gold, first=int(gold in from_one))
    aligned, skipped = _align(made, texts, device or "auto")
    if to is not None:
        write_links(to, aligned)
        written = f"Wrote {to}: {plural(sum(map(len, aligned)), 'link')} of {plural(len(aligned), 'pair')}"
        notes.print(Text(written), soft_wrap=True)
    if right is not None:
        _print_scores(aligner, aligned, right, sum(map(len, skipped.values())), as_json)
    elif to is None and as_json:
        print_json([[list(link) for link in links] for links in aligned])
    elif to is None:
        print_raw("".join(f"{format_links(links)}\n" for links in aligned))
    for reason, numbers in skipped.items():
        line = f"not aligned: {plural(len(numbers), 'pair')} ({reason}); the first is pair {numbers[0]}"
        notes.print(Text(line, "yellow"), soft_wrap=True)


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
        raise UserError("--lang: name the language of --data that is aligned with the reference")
    inputs = open_inputs(data)
    return [pair for both in parallel_instances(inputs, reference, lang) for pair in text_pairs(both, inputs.aligned)]


def _of_files(
    pairs: Path | None, source: Path | None, target: Path | None, words: str, langs: tuple[str, str | None]
) -> list[TextPair]:
    from verax.align import files
    from verax.data.segmenters import Splitter
    from verax.data.text import split_at_spaces

    reference, lang = langs
    splits: dict[str, files.SplitWords] = {"spaces": split_at_spaces, "split": Splitter()}
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


def _gold(texts: Sequence[TextPair], gold: str, *, first: int) -> list[tuple[Links, Links]]:
    """Sure and possible links of each pair."""
    from verax.align.files import read_links

    if gold != FROM_DATA:
        return read_links(Path(gold), texts, first=first)
    without = sum(pair.sure is None for pair in texts)
    if without:
        raise UserError(f"--gold data: {without} of {plural(len(texts), 'pair')} came without links")
    return [(pair.sure or (), pair.possible) for pair in texts]


def _align(aligner: Aligner, texts: Sequence[TextPair], device: str) -> tuple[list[Links], dict[str, list[int]]]:
    """Links of each pair, empty if it cannot be aligned; and the numbers of those pairs by reason, from 1."""
    from verax.align.embedding import Embedding
    from verax.run.progress import progress_counter

    aligned: list[Links] = []
    skipped: dict[str, list[int]] = {}
    # an encoder is loaded, or rejected, before the bar is shown
    answers = aligner.align(texts, device) if isinstance(aligner, Embedding) else aligner.align(texts)
    with progress_counter("aligning", len(texts), notes) as advance:
        for links in answers:
            if isinstance(links, Undefined):
                skipped.setdefault(links.reason, []).append(len(aligned) + 1)
                aligned.append(())
            else:
                aligned.append(tuple((int(one), int(other)) for one, other in links))
            advance()
    return aligned, skipped


def _print_scores(
    aligner: str, aligned: Sequence[Links], right: Sequence[tuple[Links, Links]], skipped: int, as_json: bool
) -> None:
    from verax.align.scores import score_alignments
    from verax.results.table import Column, Table, table_row

    scores = score_alignments(aligned, right)
    shares = {"precision": scores.precision, "recall": scores.recall, "f1": scores.f1, "aer": scores.aer}
    counts = {"links": scores.links, "pairs": scores.pairs, "skipped": skipped}
    if as_json:
        print_json({"aligner": aligner, **shares, **counts})
        return
    titles = {"f1": "F1", "aer": "AER"}
    columns = (
        Column("aligner", "aligner", "text"),
        *(Column(name, titles.get(name, name)) for name in shares),
        *(Column(name, name, "count") for name in counts),
    )
    row = table_row(aligner, *shares.values(), *counts.values())
    print_table(Table("alignment", "Links compared with the gold links", columns, (row,)))


@app.command("convert-checkpoint")
def convert_checkpoint(
    folder: Annotated[Path, typer.Argument(help="The folder with pytorch_model.bin.", metavar="DIR")],
    out: Annotated[Path, typer.Option(help="A new folder for the checkpoint.")],
) -> None:
    """Convert a checkpoint with pickled weights, such as one of awesome-align, to safetensors.

    verax loads safetensors only, because a pickle can run code. Here it is read by torch's restricted reader, which
    runs none. Config and tokenizer are copied.

    Example: `verax convert-checkpoint awesome-align-with-co --out my-aligner`
    """
    from verax.jobs.convert import convert_checkpoint as convert

    weights = convert(folder, out)
    notes.print(Text(f"Wrote {out}: {plural(len(weights), 'weight')}. Use it by --encoder {out}"), soft_wrap=True)
