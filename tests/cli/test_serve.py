"""`onepull serve --check` and `onepull key`."""

from __future__ import annotations

import re
import sqlite3
import sys
from contextlib import closing

import pytest
from click.testing import CliRunner
from serving import ENDPOINTS, write_problem

from onepull import Router, SQLiteStore
from onepull.cli import main
from onepull.store import Paused


@pytest.fixture
def onepull(tmp_path, monkeypatch):
    """Return a function that runs the command in this process, in a temporary folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments, env=None):
        return CliRunner().invoke(main, [*map(str, arguments)], prog_name="onepull", env=env)

    return call


def refused(done, said):
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert done.stderr.startswith("onepull: ")
    assert said in done.stderr


def test_a_file_is_checked_and_nothing_is_written(onepull, tmp_path):
    file = write_problem(tmp_path)
    done = onepull("serve", "--check", file)
    assert done.exit_code == 0, done.stderr
    assert "llm: 2 arms, AdaptiveKL, log in " in done.stdout
    assert "listens on 127.0.0.1:8000 with 1 worker(s)" in done.stdout
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_and_the_demonstration_are_checked(onepull, tmp_path):
    write_problem(tmp_path, name="a.toml")
    write_problem(tmp_path, name="b.toml")
    (tmp_path / "service.toml").write_text("workers = 3\nport = 9000\n")
    done = onepull("serve", "--check", tmp_path, env={"ONEPULL_PORT": "9001"})
    assert [line.partition(":")[0] for line in done.stdout.splitlines()][:4] == [*"aabb"]
    assert "127.0.0.1:9001 with 3 worker(s)" in done.stdout
    assert onepull("serve", "--check").stdout.startswith("demo: ")


def contents(folder):
    """Return all files but SQLite's index of its write-ahead log, which is memory it shares."""
    return {f.name: f.read_bytes() for f in folder.iterdir() if not f.name.endswith("-shm")}


@pytest.fixture
def logged(tmp_path):
    """Return a file and the log of its problem, with three outcomes and another problem."""
    file = write_problem(tmp_path)
    with SQLiteStore(tmp_path / "router.db") as store:
        with Router.open(file, store=store) as router:
            for seconds in (1, 2, 3):
                router.observe(router.choose(tokens=10), seconds=seconds)
        Router(router.problem, store=store, name="other").close()
    return file


def check_log(onepull, file, *options):
    """Return what a check says of the log; it must change nothing."""
    before = contents(file.parent)
    done = onepull("serve", "--check", file, *options)
    assert contents(file.parent) == before
    return done


@pytest.mark.parametrize("state", ["closed", "open", "left behind"])
def test_a_check_reads_the_log_and_changes_nothing(onepull, logged, state):
    store = SQLiteStore(logged.parent / "router.db") if state != "closed" else None
    if store is not None:  # so that there is something in the write-ahead log
        store.append([Paused(problem="llm", arm="alpha")])
    if store is not None and state == "left behind":  # by a process that was killed
        kept = contents(logged.parent)
        store.close()
        for name, text in kept.items():
            (logged.parent / name).write_bytes(text)
    done = check_log(onepull, logged)
    assert re.search(r"^llm: the log fits, up to event \d+$", done.stdout, re.MULTILINE)
    assert "also served from the log: other\n" in done.stdout
    logged.write_text(ENDPOINTS.replace("/ 1000", "/ 500").replace("expires", "#"))
    done = check_log(onepull, logged)
    said = "llm: the log will be redefined at the start; changed: the reward; all 3 outcomes"
    assert said in done.stdout
    logged.write_text(ENDPOINTS.replace("alpha", "gamma").replace("beta", "delta"))
    refused(check_log(onepull, logged), "none of its 3 outcomes could be kept")
    assert "removed: alpha, beta" in check_log(onepull, logged, "--redefine").stdout
    if store is not None:
        store.close()


def test_a_check_tells_what_was_changed_at_run_time(onepull, logged):
    with Router.open(logged, store=SQLiteStore(logged.parent / "router.db")) as router:
        router.set_reward("-2 * seconds - price * tokens / 1000", failure=-60)
        router.set_attributes("beta", price=2.5)
        router.add_arm("gamma", price=1)
        router.set_mode("shadow")
        router.pause("alpha")
        router.pin("beta")
        router.share("gamma", most=0.1)
        router.store.close()
    told = check_log(onepull, logged).stdout
    reward = "seconds - price * tokens / 1000"
    changes = [
        f"[problem] reward is '-2 * {reward}', not '-{reward}'",
        "[problem] failure is -60, not -30",
        "[problem.arms.beta] price is 2.5, not 3",
        "arm gamma was added",
        "[router] mode is 'shadow', not 'live'",
    ]
    assert f"llm: changed at run time, which the file does not undo: {'; '.join(changes)}\n" in told
    controls = "alpha is paused; beta is pinned; gamma has a share of 0 to 0.1"
    assert f"llm: set at run time: {controls}\n" in told
    # A line that is changed in the file wins again.
    logged.write_text(ENDPOINTS.replace("price = 3", "price = 4"))
    told = check_log(onepull, logged).stdout
    assert "the log will be redefined at the start; changed: the arms" in told
    assert "[problem.arms.beta]" not in told
    assert "arm gamma was added; [router] mode is 'shadow', not 'live'\n" in told


def test_a_check_of_a_log_that_does_not_have_the_problem(onepull, tmp_path):
    file = write_problem(tmp_path)
    assert "llm: the log is new\n" in check_log(onepull, file).stdout
    (tmp_path / "router.db").touch()  # what SQLite leaves if it is killed early
    assert "llm: the log is new\n" in check_log(onepull, file).stdout
    SQLiteStore(tmp_path / "router.db").close()
    said = "llm: the log does not have this problem yet\n"
    assert said in check_log(onepull, file).stdout


def test_a_check_of_what_is_no_log_of_this_version(onepull, logged):
    path = logged.parent / "router.db"
    text = path.read_bytes()

    def after(*statements):
        path.write_bytes(text)
        with closing(sqlite3.connect(path)) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return check_log(onepull, logged)

    done = after("PRAGMA user_version = 99")
    assert done.exit_code == 2
    assert "was written by a newer onepull" in done.stderr
    done = after("PRAGMA application_id = 7")
    assert "is a database, but not a log of onepull" in done.stderr
    path.write_bytes(b"no database, " * 1000)
    done = check_log(onepull, logged)
    assert done.exit_code == 2
    assert "cannot be read: file is not a database" in done.stderr
    logged.write_text(f"{ENDPOINTS}store = 'nowhere/router.db'\n")
    assert "nowhere does not exist" in check_log(onepull, logged).stderr


def test_settings_in_one_file_of_a_folder_are_refused(onepull, tmp_path):
    write_problem(tmp_path, name="a.toml")
    file = write_problem(tmp_path, f"{ENDPOINTS}[service]\nport = 9000\n", "b.toml")
    done = onepull("serve", "--check", tmp_path)
    refused(done, f"{file}: [service] is about the whole folder here")
    assert f"move it to {tmp_path / 'service.toml'}" in done.stderr
    assert ":9000" in onepull("serve", "--check", file).stdout
    write_problem(tmp_path, name="b.toml")
    (tmp_path / "service.toml").write_text("[service]\nport = 9000\n")
    done = onepull("serve", "--check", tmp_path)
    refused(done, "the whole file is the table [service]; leave out the line [service]")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[problem", "llm.toml"),
        (ENDPOINTS.replace("-seconds", "-minutes"), "minutes"),
        (ENDPOINTS + '[service]\ncolour = "red"\n', "unknown setting 'colour'"),
        (ENDPOINTS + '[service]\nport = "high"\n', "[service] port"),
        (ENDPOINTS + '[service]\nhost = "192.0.2.7"\n', "needs keys"),
        (ENDPOINTS + "expires = -1\n", "llm: expires must be"),
        (ENDPOINTS + 'on_expiry = "explode"\n', "on_expiry"),
        (ENDPOINTS.replace('"alpha"', '"gamma"'), "gamma"),
        ("policy = 'Nobody'\n" + ENDPOINTS, "Nobody"),
        (ENDPOINTS + "service = 3\n", "service"),
    ],
)
def test_what_is_wrong_is_told(onepull, tmp_path, text, said):
    refused(onepull("serve", "--check", write_problem(tmp_path, text)), said)


def test_a_missing_variable_is_named(onepull):
    refused(onepull("serve", "--check", env={"ONEPULL_WORKERS": "many"}), "ONEPULL_WORKERS")


@pytest.mark.parametrize("options", [["--check"], ["--port", "0"], ["--workers", "2"]])
def test_compiled_decisions_without_the_extra_are_refused_before_anything_starts(
    onepull, tmp_path, monkeypatch, options
):
    monkeypatch.setitem(sys.modules, "numba", None)
    done = onepull("serve", "--compile", *options, write_problem(tmp_path))
    assert done.exit_code == 1, done.output
    assert done.stderr == (
        "onepull: compiled decisions need the 'simulate' extra: pip install '.[simulate]' in a "
        "checkout of onepull\n"
    )


def test_keys_are_made_listed_and_revoked(onepull, tmp_path):
    made = onepull("key", "add", "gateway", "--role", "writer")
    assert re.fullmatch(r"onepull_[\w-]{43}\n", made.stdout)
    assert "added 'gateway' as writer to keys.json" in made.stderr
    assert "a service that runs without keys must be restarted" in made.stderr
    second = onepull("key", "add", "alice", "--role", "admin")
    assert "restarted" not in second.stderr
    listed = onepull("key", "list")
    rows = [line.split("\t") for line in listed.stdout.splitlines()]
    assert [(name, role) for name, role, _ in rows] == [("gateway", "writer"), ("alice", "admin")]
    refused(onepull("key", "add", "alice"), "already")
    assert onepull("key", "revoke", "gateway").exit_code == 0
    assert "gateway" not in onepull("key", "list").stdout
    refused(onepull("key", "revoke", "gateway"), "no key 'gateway'; the keys are: alice")
    checked = onepull("serve", "--check", "--keys", "keys.json")
    assert "keys: 1 in keys.json" in checked.stdout
    elsewhere = {"ONEPULL_KEYS": str(tmp_path / "other.json")}
    onepull("key", "add", "bob", env=elsewhere)
    assert "bob" in onepull("key", "list", env=elsewhere).stdout


def test_keys_are_beside_what_is_served(onepull, tmp_path):
    folder = tmp_path / "routers"
    folder.mkdir()
    file = write_problem(folder)
    assert (
        "keys: none, so only this machine is answered" in onepull("serve", "--check", file).stdout
    )
    onepull("key", "add", "alice", "--role", "admin", "--source", file)
    for source in (file, folder):
        assert f"keys: 1 in {folder / 'keys.json'}" in onepull("serve", "--check", source).stdout
    assert "alice" in onepull("key", "list", "--source", folder).stdout
    open_ = onepull("serve", "--check", file, "--host", "192.0.2.7")
    assert "listens on 192.0.2.7" in open_.stdout
    onepull("key", "revoke", "alice", "--source", file)
    assert "nobody is let in" in onepull("serve", "--check", file).stdout


def test_keys_that_are_named_must_be_there(onepull, tmp_path):
    file = write_problem(tmp_path)
    refused(
        onepull("serve", "--check", file, "--keys", "nobody.json"), "no file of keys nobody.json"
    )
    refused(onepull("serve", file, "--keys", "nobody.json", "--port", "0"), "onepull key add")
    file.write_text(ENDPOINTS + '[service]\nkeys = "nobody.json"\n')
    refused(onepull("serve", "--check", file), str(tmp_path / "nobody.json"))


def test_an_error_of_settings_names_their_file(onepull, tmp_path):
    file = write_problem(tmp_path, ENDPOINTS + "[service]\nport = 70000\n")
    said = f"{file}: [service] port must be a whole number from 0 to 65,535, given 70000"
    refused(onepull("serve", "--check", file), said)
    file.write_text(ENDPOINTS + "[service]\nprot = 7\n")
    refused(onepull("serve", "--check", file), "unknown setting 'prot', did you mean 'port'?")
