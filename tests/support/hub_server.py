"""A real HTTP server on loopback with the endpoints of the Hugging Face hub that an upload calls."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, cast

import yaml

TOKEN = "hf_of_a_test_and_of_nobody"  # noqa: S105
USER = "tester"


@dataclass
class Hub:
    """Repositories in memory.

    Args:
        refusal: status of every answer to a creation, instead of 200.
        full: whether large files are refused.
        files: committed files by repository and path.
        private: repositories that were created as private ones.
        requests: method and path of everything that was asked.
    """

    refusal: int | None = None
    full: bool = False
    url: str = ""
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    private: dict[str, bool] = field(default_factory=dict)
    commits: list[str] = field(default_factory=list)
    large: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    def download(self, repository: str, folder: Path) -> None:
        """Write the files of a repository to a folder."""
        for name, data in self.files[repository].items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def hub(self) -> Hub:
        return cast("_Listener", self.server).hub

    def log_message(self, *_: Any) -> None:
        pass

    def do_PUT(self) -> None:
        data = self._body("PUT")
        oid = self.path.rsplit("/", 1)[-1]
        if self.hub.full or hashlib.sha256(data).hexdigest() != oid:
            self._answer(403 if self.hub.full else 400, {"error": "refused"})
            return
        self.hub.large[oid] = data
        self._answer(200, {})

    def do_POST(self) -> None:
        data, path = self._body("POST"), self.path.split("?")[0]
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._answer(401, {"error": "Invalid credentials"})
        elif path == "/api/repos/create":
            self._create(json.loads(data))
        elif path == "/api/validate-yaml":
            self._validate(json.loads(data)["content"])
        elif path.endswith("/preupload/main"):
            files = [
                {"path": one["path"], "uploadMode": _mode(one["path"]), "shouldIgnore": False}
                for one in json.loads(data)["files"]
            ]
            self._answer(200, {"files": files})
        elif path.endswith(".git/info/lfs/objects/batch"):
            wanted = json.loads(data)["objects"]
            self._answer(200, {"transfer": "basic", "objects": [self._uploadable(one) for one in wanted]})
        elif path.endswith("/commit/main"):
            self._commit(path.removeprefix("/api/datasets/").removesuffix("/commit/main"), data)
        else:
            self._answer(404, {"error": f"no {path}"})

    def _body(self, method: str) -> bytes:
        self.hub.requests.append(f"{method} {self.path}")
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _answer(self, status: int, content: Any) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _create(self, wanted: dict[str, Any]) -> None:
        name = f"{wanted['organization'] or USER}/{wanted['name']}"
        if self.hub.refusal is not None:
            self._answer(self.hub.refusal, {"error": "refused"})
        elif wanted["type"] != "dataset":
            self._answer(400, {"error": "not a dataset"})
        else:
            known = name in self.hub.files
            self.hub.files.setdefault(name, {})
            self.hub.private.setdefault(name, wanted.get("visibility") == "private")
            self._answer(409 if known else 200, {"url": f"{self.hub.url}/datasets/{name}"})

    def _validate(self, card: str) -> None:
        head = card.split("---\n")[1]
        wrong = [] if isinstance(yaml.safe_load(head), dict) else [{"message": "no metadata"}]
        self._answer(400 if wrong else 200, {"errors": wrong, "warnings": []})

    def _uploadable(self, one: dict[str, Any]) -> dict[str, Any]:
        upload = {"href": f"{self.hub.url}/upload/{one['oid']}"}
        return {**one, "actions": {"upload": upload}}

    def _commit(self, repository: str, data: bytes) -> None:
        header, *changes = (json.loads(line) for line in data.splitlines())
        for change in changes:
            value = change["value"]
            stored = base64.b64decode(value["content"]) if change["key"] == "file" else self.hub.large[value["oid"]]
            self.hub.files[repository][value["path"]] = stored
        self.hub.commits.append(header["value"]["summary"])
        oid = f"{len(self.hub.commits):040x}"
        self._answer(200, {"commitUrl": f"{self.hub.url}/datasets/{repository}/commit/{oid}", "commitOid": oid})


def _mode(path: str) -> str:
    return "lfs" if path.endswith(".parquet") else "regular"


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    hub: Hub


@contextmanager
def hub_server(**settings: Any) -> Iterator[Hub]:
    """Serve a hub on a free port of 127.0.0.1."""
    hub = Hub(**settings)
    with _Listener(("127.0.0.1", 0), _Handler) as listener:
        listener.hub = hub
        hub.url = f"http://127.0.0.1:{listener.server_address[1]}"
        thread = Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield hub
        finally:
            listener.shutdown()
            thread.join()
