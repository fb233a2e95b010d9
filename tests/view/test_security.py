"""Requests that must be refused, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.runs import word_run
from support.viewer import Served, serving
from verax.store.shards import INDEX
from verax.types import UserError
from verax.view.library import Library
from verax.view.security import Access


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("given")
    word_run(folder / "one")
    word_run(folder.parent / "outside")
    (folder / "link").symlink_to(folder.parent / "outside")
    (folder / "up").symlink_to(folder.parent)
    with serving(folder) as made:
        yield made


def test_the_token_is_exchanged_for_a_cookie(served: Served) -> None:
    answer = served.request(f"/runs/x?q=a%26b&token={served.access.token}", Cookie="")
    assert (answer.status, answer.headers["location"]) == (303, "/runs/x?q=a%26b")
    assert answer.headers["set-cookie"].split("; ")[0] == served.cookie
    assert {"HttpOnly", "SameSite=strict"} <= set(answer.headers["set-cookie"].split("; "))
    assert served.access.token not in served.cookie
    elsewhere = served.request(f"//example.invalid/?token={served.access.token}", Cookie="")
    assert elsewhere.headers["location"] == "/example.invalid/"


@pytest.mark.parametrize("path", ["/", "/runs/x", "/assets/view.js", "/compare", "/what-if", "/nothing"])
@pytest.mark.parametrize("cookie", ["", "other=1", "{name}=", "{name}=wrong"])
def test_nothing_is_shown_without_token_or_cookie(served: Served, path: str, cookie: str) -> None:
    for query in ("", "?token=", "?token=wrong", f"?token={served.access.session}"):
        answer = served.request(path + query, Cookie=cookie.format(name=served.access.cookie))
        assert answer.status == 403
        assert "<" not in answer.body


@pytest.mark.parametrize(
    "host",
    ["", "127.0.0.1", "127.0.0.1:1", "example.invalid:{port}", "127.0.0.1.example.invalid:{port}", "0.0.0.0:{port}"],
)
def test_another_host_is_refused(served: Served, host: str) -> None:
    assert served.request("/", Host=host.format(port=served.access.port)).status == 421
    assert served.request("/", Host=f"localhost:{served.access.port}").status == 200


@pytest.mark.parametrize("origin", ["null", "http://example.invalid", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
def test_another_origin_is_refused(served: Served, origin: str) -> None:
    for method in ("GET", "POST"):
        assert served.request("/", method, Origin=origin.format(port=served.access.port)).status == 403
    assert served.request("/what-if", "POST").status == 403  # a form of another site may come without an origin
    assert served.request("/", Origin=served.base).status == 200


def test_every_answer_forbids_foreign_content(served: Served) -> None:
    for answer in (served.request("/"), served.request("/", Cookie=""), served.request("/none")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../security.py",
        "/assets/%2e%2e/security.py",
        "/assets/..%2fsecurity.py",
        "/assets//etc/passwd",
        "/runs/../../../../etc/passwd",
        "/runs/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/runs/..%5c..",
        "/runs/%00",
        "/etc/passwd",
        "/../outside",
    ],
)
def test_paths_lead_nowhere(served: Served, path: str) -> None:
    answer = served.request(path)
    assert answer.status == 404
    assert "root:" not in answer.body


def test_links_out_of_the_given_folders_are_not_followed(served: Served) -> None:
    found = [entry.folder.name for entry in Library(served.folders).runs()]
    assert found == ["one"]
    outside = [entry.name for entry in Library([served.folders[0].parent / "outside"]).runs()]
    assert served.request(f"/runs/{outside[0]}").status == 404


def test_which_hosts_are_accepted() -> None:
    everywhere = Access("0.0.0.0", 80)  # noqa: S104
    assert everywhere.is_own("192.0.2.7:80")
    assert everywhere.is_own("[2001:db8::1]:80")
    assert not everywhere.is_own("example.invalid:80")
    named = Access("box.example", 80)
    assert named.is_own("box.example:80")
    assert not named.is_own("localhost:80")
    assert Access("::1", 80).is_own("[::1]:80")


def test_a_folder_that_is_none_is_invalid_input(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a folder"):
        Library([tmp_path / INDEX])
