"""Who may do what: every route with every role, and without a key."""

from __future__ import annotations

import http.client
import time

import httpx
import pytest
from serving import add_keys, served, wait_for, write_problem

from onepull.errors import ParameterError, SaveFileError
from onepull.service import Keys, Role, ServiceSettings
from onepull.service.http.routes import ROUTES
from onepull.service.keys import add_key, read_keys, revoke_key

BODIES = {
    "/v1/problems/{problem}/decisions": {"context": {"tokens": 5}},
    "/v1/problems/{problem}/observations": {
        "id": "r", "arm": "beta", "context": {"tokens": 5}, "state": {"seconds": 1},
    },
}  # fmt: skip
STREAMS = ("/events",)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guarded")
    path, keys = add_keys(folder)
    with served(write_problem(folder), keys=str(path)) as client:
        yield client, keys


def ask(client, route, key):
    path = route.path.replace("{problem}", "llm").replace("{arm}", "beta")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    if route.takes is not None:
        headers["content-type"] = "application/json"
    body = BODIES.get(route.path)
    request = client.build_request(
        route.method, path, headers=headers, json=body,
        content=None if body is not None or route.takes is None else b"{}",
    )  # fmt: skip
    answer = client.send(request, stream=True)
    if path not in STREAMS or answer.status_code != 200:
        answer.read()
    answer.close()
    return answer


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_a_route_takes_its_role_and_none_below(guarded, route):
    client, keys = guarded
    if route.role is None:
        assert ask(client, route, None).status_code == 200
        return
    for wrong in (None, "onepull_wrong", keys[Role.ADMIN][:-1], keys[Role.ADMIN] + "x"):
        answer = ask(client, route, wrong)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        told = "a key is needed" if wrong is None else "this key is not known"
        assert route.method == "HEAD" or told in answer.json()["detail"]
    for role in Role:
        status = ask(client, route, keys[role]).status_code
        if role < route.role:
            assert status == 403
        else:
            assert status not in (401, 403)
            assert status < 500


@pytest.mark.parametrize("value", ["", "Bearer", "Basic YTpi", "bearer\tx", "Bearer a b", "é" * 5])
def test_odd_authorizations_are_no_keys(guarded, value):
    client, _ = guarded
    answer = client.get("/v1/problems", headers={"authorization": value.encode()})
    assert answer.status_code in (400, 401)


def test_the_dashboard_and_health_tell_nothing(guarded):
    client, _ = guarded
    assert client.get("/health/ready").json() == {"status": "ready"}
    assert client.get("/health/live").json() == {"status": "live"}
    assert client.get("/metrics").status_code == 401


def test_the_file_has_no_keys_and_is_private(tmp_path):
    path, keys = add_keys(tmp_path)
    text = path.read_text()
    assert all(key not in text for key in keys.values())
    assert path.stat().st_mode & 0o077 == 0
    assert [key.role for key in read_keys(path)] == ["reader", "writer", "admin"]
    assert len(set(keys.values())) == 3


def test_a_running_service_notices_new_and_revoked_keys(tmp_path, monkeypatch):
    monkeypatch.setattr("onepull.service.keys._CHECK", 0.2)  # seconds between two looks
    path, keys = add_keys(tmp_path)
    with served(write_problem(tmp_path), keys=str(path)) as client:

        def status(key):
            headers = {"authorization": f"Bearer {key}"}
            return client.get("/v1/problems", headers=headers).status_code

        assert status(keys[Role.READER]) == 200
        new = add_key(path, "new", Role.READER)
        wait_for(lambda: status(new) == 200)
        revoke_key(path, "reader")
        wait_for(lambda: status(keys[Role.READER]) == 401)
        path.write_text("{damaged")
        wait_for(lambda: status(new) == 401)
        path.unlink()
        time.sleep(0.3)
        assert status(new) == 401  # nobody is let in, and not everybody


def test_names_and_damaged_files_are_refused(tmp_path):
    path = tmp_path / "keys.json"
    add_key(path, "one", Role.READER)
    for name in ("", "x" * 61, "a\nb", "one"):
        with pytest.raises(ParameterError):
            add_key(path, name, Role.READER)
    with pytest.raises(ParameterError, match="no key 'two'; the keys are: one"):
        revoke_key(path, "two")
    for text in ("{}", "[]", '{"keys": [], "version": 2}', '{"keys": [{"name": "x"}]}', "\xff"):
        path.write_text(text, encoding="latin-1")
        with pytest.raises(SaveFileError):
            Keys(path)


def test_without_keys_only_loopback(tmp_path):
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.com", ""):  # noqa: S104 - must be refused
        with pytest.raises(ParameterError, match="needs keys"):
            ServiceSettings(host=host)
    path, _ = add_keys(tmp_path)
    assert ServiceSettings(host="0.0.0.0", keys=str(path)).host == "0.0.0.0"  # noqa: S104 - has keys


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:8000", 200),
        ("127.0.0.1:1", 200),
        ("[::1]:80", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("", 421),
        ("router.lan", 200),
    ],
)
def test_without_keys_a_page_elsewhere_cannot_rename_this_machine(plain, host, status):
    url = httpx.URL(str(plain.base_url))
    for path in ("/v1/problems", "/metrics"):
        connection = http.client.HTTPConnection(url.host, url.port, timeout=10)
        connection.putrequest("GET", path, skip_host=True)
        connection.putheader("Host", host)
        connection.endheaders()
        assert connection.getresponse().status == status
        connection.close()


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    file = write_problem(folder)
    file.write_text(file.read_text() + '[service]\nhosts = ["router.lan"]\n')
    with served(file) as client:
        yield client


def test_no_other_origin_is_allowed(plain):
    headers = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    answer = plain.options("/v1/problems/llm/decisions", headers=headers)
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]
