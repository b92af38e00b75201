"""Who may use the server: a key, pages of other sites, names by which it is called, loopback."""

from __future__ import annotations

import contextlib
import json

import pytest

from shared.errors import UserError
from tests.trainer.server.serving import RunningServer
from trainer.server.address import bind_socket, is_loopback
from trainer.server.serve import LOCAL_NAMES
from trainer.server.settings import ServerSettings

SPEECH = "/v1/audio/speech"
BODY = {"input": "Hello there.", "language": "en"}


@pytest.mark.parametrize("server", [ServerSettings(api_key="schlüssel")], indirect=True)
def test_a_key_may_have_any_characters(server: RunningServer) -> None:
    headers = {"Authorization": "Bearer schlüssel".encode().decode("latin-1")}
    assert server.request("POST", SPEECH, BODY, headers).status == 200


@pytest.mark.parametrize("server", [ServerSettings(api_key="s3cret")], indirect=True)
def test_a_key_is_asked_for(server: RunningServer) -> None:
    for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": "s3cret"}, {"Authorization": "Bearer "}):
        answer = server.request("POST", SPEECH, BODY, headers)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert server.request("GET", "/v1/audio/voices", headers=headers).status == 401
    assert server.request("POST", SPEECH, BODY, {"Authorization": "Bearer s3cret"}).status == 200
    assert server.request("GET", "/health").status == server.request("GET", "/").status == 200


def test_pages_of_other_sites_are_refused(server: RunningServer) -> None:
    own = f"http://127.0.0.1:{server.port}"
    assert server.request("POST", SPEECH, BODY, {"Origin": own}).status == 200
    for origin in ("https://evil.example", "null", "http://[", f"https://127.0.0.1:{server.port + 1}"):
        assert server.request("POST", SPEECH, BODY, {"Origin": origin}).status == 403


@pytest.mark.parametrize("server", [ServerSettings(allowed_hosts=LOCAL_NAMES)], indirect=True)
def test_a_name_that_another_site_points_here_is_refused(server: RunningServer) -> None:
    assert server.request("GET", "/health", headers={"Host": f"localhost:{server.port}"}).status == 200
    assert server.request("GET", "/health", headers={"Host": "evil.example"}).status == 400


def test_the_page_may_load_nothing_from_elsewhere(server: RunningServer) -> None:
    for path, kind in (("/", "text/html"), ("/page.js", "text/javascript"), ("/page.css", "text/css")):
        answer = server.request("GET", path)
        assert answer.status == 200
        assert answer.headers["content-type"].startswith(kind)
        assert answer.headers["content-security-policy"].startswith("default-src 'self'")
        assert b"http://" not in answer.body
        assert b"https://" not in answer.body


def test_unknown_paths_and_methods(server: RunningServer) -> None:
    for method, path, status in (
        ("GET", "/v1/nothing", 404),
        ("GET", "/../../etc/passwd", 404),
        ("GET", "/page.js/../../settings.py", 404),
        ("GET", SPEECH, 405),
        ("PUT", "/health", 405),
    ):
        answer = server.request(method, path)
        assert (answer.status, bool(answer.error)) == (status, True)


def test_health_says_what_the_model_speaks(server: RunningServer) -> None:
    found = json.loads(server.request("GET", "/health").body)
    assert (found["status"], found["model"], found["step"]) == ("ok", "run", 7)
    assert found["languages"] == ["eng_Latn", "deu_Latn"]
    models = json.loads(server.request("GET", "/v1/models").body)
    assert [one["id"] for one in models["data"]] == ["run"]


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("10.0.0.5", False),
        ("::", False),
    ],
)
def test_only_loopback_is_this_machine_alone(host: str, is_local: bool) -> None:
    assert is_loopback(host) is is_local


def test_an_address_in_use_and_one_of_another_machine() -> None:
    with contextlib.closing(bind_socket("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"127.0.0.1:{port}: Address already in use; expected a free port"):
            bind_socket("127.0.0.1", port)
    with pytest.raises(UserError, match="expected a free port of this machine"):
        bind_socket("203.0.113.1", 0)
