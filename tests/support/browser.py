"""A real browser to look at reports with, in fonts of the tests' choice."""

from __future__ import annotations

import itertools
import json
import os
import select
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import pytest

HOSTS = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
"""The only host that the browser finds."""


class Browser:
    """A headless Chromium, spoken to through a pipe (the DevTools protocol)."""

    def __init__(self, binary: str, profile: str, environment: Mapping[str, str]) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        flags = (
            "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
            "--disable-component-update --disable-sync --disable-dev-shm-usage --remote-debugging-pipe"
        )
        quiet = os.open(os.devnull, os.O_WRONLY)
        # Through high numbers, since either pipe may already have the number that the other needs.
        steps = [(to_browser, 100), (from_browser, 101), (100, 3), (101, 4), (quiet, 2)]
        self._process = os.posix_spawn(
            binary,
            [binary, *flags.split(), f"--user-data-dir={profile}", f"--host-resolver-rules={HOSTS}"],
            environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, a, b) for a, b in steps],
        )
        for end in (to_browser, from_browser, quiet):
            os.close(end)
        self._buffer = b""
        self._numbers = itertools.count(1)
        self._session: str | None = None
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "DOM", "CSS"):
            self.call(f"{domain}.enable")

    def _message(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self._in, 1 << 16) if ready else b""
            if not chunk:
                raise TimeoutError("the browser does not answer")
            self._buffer += chunk
        raw, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(raw)
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        return message

    def _wait(self, matches: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        deadline = time.monotonic() + 60
        while not matches(message := self._message(deadline)):
            pass
        return message

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        answer = self._wait(lambda m: m.get("id") == number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, page: Path | str, *, width: int = 1280, dark: bool = False, script: bool = True) -> None:
        """Load a page, a file or an address, and wait until it and all that hangs on it is done."""
        self.requests.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        number = next(self._numbers)
        message = {
            "id": number,
            "method": "Page.navigate",
            "params": {"url": page.as_uri() if isinstance(page, Path) else page},
            "sessionId": self._session,
        }
        os.write(self._out, json.dumps(message).encode() + b"\0")
        self._wait(lambda m: m.get("method") == "Page.loadEventFired")
        # Handlers of elements that failed to load run as tasks after the load.
        time.sleep(0.2)

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def fonts_of(self, selector: str) -> list[str]:
        """The families that the browser draws the first element of a selector with."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        return [font["familyName"] for font in self.call("CSS.getPlatformFontsForNode", nodeId=node)["fonts"]]

    def close(self) -> None:
        self._session = None
        os.write(self._out, json.dumps({"id": 0, "method": "Browser.close"}).encode() + b"\0")
        os.waitpid(self._process, 0)
        os.close(self._out)
        os.close(self._in)


def missing(reason: str) -> NoReturn:
    """Skip a test that needs what this machine does not have; on CI, which must have it, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def started(environment: Mapping[str, str]) -> Iterator[Browser]:
    """A browser with these environment variables."""
    names = ("chromium", "chromium-browser", "google-chrome")
    binary = next((path for name in names if (path := shutil.which(name))), None)
    if binary is None:
        missing(f"no browser to look at the report with: none of {', '.join(names)} is installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        made = Browser(binary, profile, environment)
        yield made
        made.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A browser with the fonts of this machine."""
    with started(os.environ) as made:
        yield made


FAMILIES = {"DejaVu Sans": "fonts-dejavu-core", "Liberation Sans": "fonts-liberation", "Noto Sans": "fonts-noto-core"}
"""Font families that differ in their widths, and the Debian packages that have them."""
FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")


@pytest.fixture(scope="session", params=FAMILIES)
def font_family(request: pytest.FixtureRequest) -> str:
    """Each font family in turn."""
    family: str = request.param
    return family


@pytest.fixture(scope="session")
def font_browser(font_family: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser that has no other font than those of one family."""
    stem = font_family.replace(" ", "")
    files = [file for folder in FONT_FOLDERS for file in Path(folder).expanduser().rglob(f"{stem}*.ttf")]
    if not {f"{stem}.ttf", f"{stem}-Regular.ttf"} & {file.name for file in files}:
        missing(f"{font_family} is not installed (Debian package {FAMILIES[font_family]})")
    home = tmp_path_factory.mktemp("fonts")
    (home / "family").mkdir()
    for file in files:
        with suppress(FileExistsError):
            (home / "family" / file.name).symlink_to(file)
    config = home / "fonts.conf"
    config.write_text(
        f"""<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>{home / "family"}</dir>
  <cachedir>{home / "cache"}</cachedir>
  <alias binding="strong"><family>sans-serif</family><prefer><family>{font_family}</family></prefer></alias>
</fontconfig>
""",
        encoding="utf-8",
    )
    with started({**os.environ, "FONTCONFIG_FILE": str(config)}) as made:
        yield made


TEXTS_IN_PICTURES = """
const seen = e => e.getClientRects().length && e.getComputedTextLength();
[...document.querySelectorAll('svg text')].filter(seen).map(e => {
  let picture = e.ownerSVGElement;
  while (picture.ownerSVGElement) picture = picture.ownerSVGElement;
  const [inner, outer] = [e.getBoundingClientRect(), picture.getBoundingClientRect()];
  return {
    text: e.textContent,
    planned: parseFloat(e.getAttribute('textLength')),
    drawn: e.getComputedTextLength(),
    outside: Math.max(outer.left - inner.left, inner.right - outer.right),
  };
})
"""


@pytest.fixture
def assert_texts_fit(font_browser: Browser, font_family: str, tmp_path: Path) -> Callable[..., None]:
    """Checks that a page draws all texts of its pictures in the font, as wide as planned, and cuts none off."""

    def check(html: str, width: int = 1280) -> None:
        path = tmp_path / "page.html"
        path.write_text(html, encoding="utf-8")
        font_browser.open(path, width=width)
        assert all(name.startswith(font_family) for name in font_browser.fonts_of("svg text"))
        texts = font_browser.ask(TEXTS_IN_PICTURES)
        assert texts
        for text in texts:
            assert text["drawn"] == pytest.approx(text["planned"], abs=0.1), text
            assert text["outside"] < 1.5, text

    return check
