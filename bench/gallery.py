"""Pictures of reports, the viewer and notebook output for the documentation, made of runs of the shipped models.

    python -m bench.gallery                      # runs in runs/gallery, pictures in docs/gallery and docs
    python -m bench.gallery --only phone report

Needs Chromium and the extras `view` and `test`; the pictures are drawn with the fonts of this machine.
"""

from __future__ import annotations

import argparse
import base64
import io
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

import verax
from verax.report.page import write_report
from verax.view.serve import Service

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from support.browser import started  # noqa: E402 - the browser of the tests

LARGEST = 150_000
"""Bytes of a picture."""
COLOURS = (256, 128, 64, 32)
"""Numbers of colours that are tried until a picture is small enough."""
METHODS = "leave_one_out,lime,saliency,input_x_gradient,integrated_gradients"
RUNS: Mapping[str, tuple[str, ...]] = {
    "methods": (
        *("--model", "world/nli", "--data", "world/nli", "--limit", "60", "--methods", METHODS),
        *("--metrics", "comprehensiveness,sufficiency,agreement,complexity"),
    ),
    "masking": ("--preset", "faithfulness-measurable", "--limit", "16"),
    "kinds": (
        *("--preset", "unified", "--limit", "16"),
        *("--metrics", "comprehensiveness_flips,sufficiency_flips,agreement,complexity"),
    ),
    "languages": ("--preset", "crosslingual", "--limit", "6"),
    "texts": ("--preset", "nle", "--limit", "10"),
}
"""What each run is given; each takes a minute or two."""


@dataclass(frozen=True)
class Picture:
    """One picture.

    Args:
        page: `NAME` is the report of a run, `view:` is followed by an address of the viewer, `notebook` is output of
            `explain_all`.
        selector: the element that is shown, cut at `height`; the top of the page if there is none.
        script: run in the page before.
        out: where it is put, if not into the gallery.
    """

    page: str
    selector: str = ""
    width: int = 1200
    height: int = 900
    dark: bool = False
    script: str = ""
    out: str = ""


REMOVE = "document.querySelectorAll('{}').forEach(e => e.remove())"
CHOOSE = """(choice => {
  choice.value = [...choice.options].find(one => one.text.startsWith('shapley_sampling')).value;
  choice.dispatchEvent(new Event('input'));
})(document.getElementById('parallel-method'))"""
INSTANCE = "#instances-list > .instance:nth-child(2)"
PICTURES: Mapping[str, Picture] = {
    "report": Picture(
        "methods",
        height=1900,
        script=REMOVE.format(
            "#leaderboard .sheet:nth-child(n + 3), #leaderboard .how, .instance + .instance, #card, "
            ".judgement .judged, .judgement > .note, .warnings, #filter, #instances-pages, #leaderboard > .legend, "
            ".human"
        ),
        out="docs/report.png",
    ),
    "interactions": Picture("kinds", INSTANCE, height=1700, out="docs/interactions.png"),
    "verdict": Picture("methods", height=1210),
    "masking": Picture("masking", "#masking", height=680),
    "kinds": Picture("kinds", "#unified", height=500),
    "languages": Picture("languages", "#parallel", height=745, script=CHOOSE),
    "texts": Picture("texts", "#nle-list > .explained:nth-child(2)", height=1000),
    "phone": Picture("methods", INSTANCE, width=400, height=900, dark=True),
    "runs": Picture("view:/", height=800),
    "instance": Picture("view:masking/instances/1", script="document.getElementById('print-scores').click()"),
    "what-if": Picture("view:/what-if?text=The+small+red+boat+is+on+the+lake.&text=A+boat+is+not+green.", height=860),
    "notebook": Picture("notebook", "body", width=1150, height=760),
}
READY = "[...document.querySelectorAll('[data-load]')].every(e => e.getAttribute('aria-busy') === 'false')"
PLACE = """(selector => {
  if (!selector) return [0, 0, innerWidth, innerHeight];
  const box = document.querySelector(selector).getBoundingClientRect();
  return [box.left - 12 + scrollX, box.top - 12 + scrollY, box.width + 24, box.height + 24];
})"""


def make_run(name: str, folder: Path) -> None:
    """Execute a run, unless it is finished, and write its report."""
    if not (folder / "run.json").exists() or verax.open_run(folder).status == "unfinished":
        command = [sys.executable, "-m", "verax", "run", *RUNS[name], "--out", str(folder)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    write_report(folder, instances=20)


def write_notebook(path: Path) -> None:
    """What a notebook shows of one input explained by several methods."""
    model = verax.load_model("world/nli")
    instance = verax.load_dataset("world/nli", limit=2).instances[1]
    methods = ["leave_one_out", "lime", "attention", "bivariate_shapley"]
    shown = verax.explain_all(model, instance, methods=methods)._repr_html_()
    path.write_text(f"<!doctype html><html lang=en><meta charset=utf-8><body>{shown}", "utf-8")


@contextmanager
def serving(folder: Path) -> Iterator[Service]:
    """The viewer on a folder of runs."""
    service = Service.open([folder], model=verax.load_model("world/nli"))
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        yield service
    finally:
        service.server.should_exit = True
        thread.join()


def address(page: str, folder: Path, service: Service, browser: Any) -> Path | str:
    """Where a page is: a file, or an address of the viewer, which knows runs by names of its own."""
    base = service.access.url.partition("/?")[0]
    if not page.startswith("view:"):
        return folder / "notebook.html" if page == "notebook" else folder / page / "report.html"
    name, _, rest = page.removeprefix("view:").partition("/")
    if not name:
        return f"{base}/{rest}"
    browser.open(f"{base}/")
    links = "Object.fromEntries([...document.querySelectorAll('.run h2 a')].map(e => [e.textContent, e.href]))"
    found = browser.ask(links)
    return f"{found[f'{folder.name}/{name}']}/{rest}"


def shoot(browser: Any, picture: Picture, where: Path | str) -> bytes:
    """The picture as PNG."""
    browser.open(where, width=picture.width, dark=picture.dark)
    size = {"width": picture.width, "height": picture.height, "deviceScaleFactor": 1, "mobile": False}
    browser.call("Emulation.setDeviceMetricsOverride", **size)
    browser.call("Emulation.setScrollbarsHidden", hidden=True)
    while not browser.ask(READY):
        time.sleep(0.1)
    if picture.script:
        browser.ask(picture.script)
    left, top, width, height = browser.ask(f"{PLACE}({picture.selector!r})")
    clip = {"x": max(left, 0), "y": top, "width": width, "height": min(height, picture.height), "scale": 1}
    answer = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
    return base64.b64decode(answer["data"])


def small(png: bytes) -> bytes:
    """A PNG with as many colours as fit the largest size."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    for colours in COLOURS:
        out = io.BytesIO()
        picture.quantize(colours, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
        if out.tell() <= LARGEST:
            return out.getvalue()
    raise SystemExit(f"a picture has {out.tell():,} bytes even in {colours} colours: cut it at a lower height")


def main() -> None:
    """Make the runs, and pictures of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "gallery", help="folder of the runs")
    parser.add_argument("--out", type=Path, default=ROOT, help="folder that the pictures are written below")
    parser.add_argument("--only", nargs="*", choices=list(PICTURES), default=list(PICTURES), help="names of pictures")
    given = parser.parse_args()
    given.runs.mkdir(parents=True, exist_ok=True)
    for name in RUNS:
        make_run(name, given.runs / name)
    write_notebook(given.runs / "notebook.html")
    with serving(given.runs) as service, started(os.environ) as browser:
        browser.open(service.access.url)
        for name in given.only:
            picture = PICTURES[name]
            out = given.out / (picture.out or f"docs/gallery/{name}.png")
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_bytes(small(shoot(browser, picture, address(picture.page, given.runs, service, browser))))
            print(f"{out}: {out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
