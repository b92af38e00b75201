"""Installation of Flink and Beam's job server: complete or absent, checked by sha256, done once."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.execution.flink import install as installing
from pipelines.execution.flink import java, versions
from pipelines.execution.flink.install import Installation, install, installation
from shared.errors import UserError

FILES = {"flink-dist.jar": b"flink", "beam-runner.jar": b"beam", "bash-java-utils.jar": b"scripts"}
SECOND_PART = "beam-runner.jar"


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three small files instead of the real ones, in a cache of the test's own; `fetches` has a line per download."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(installing, "java_home", lambda: Path("/java"))
    monkeypatch.setattr(installing, "maven", lambda: "mvn")
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in FILES.items()}
    monkeypatch.setattr(installing, "sums", lambda: sums)

    def fetch_flink(folder: Path, *, ready: Installation) -> None:
        (ready.root / "bin").mkdir()
        for path in (ready.jars / "flink-dist.jar", ready.script_jar):
            path.write_bytes(FILES[path.name])
        log(folder)

    def fetch_runner(ready: Installation, *, work: Path) -> None:
        time.sleep(0.2)
        for folder in (ready.jars, ready.runner_jars):
            (folder / SECOND_PART).write_bytes(FILES[SECOND_PART])
        log(work)

    def log(folder: Path) -> None:
        with (tmp_path / "fetches").open("a") as file:
            file.write(f"{folder.name}\n")

    monkeypatch.setattr(installing, "_fetch_flink", fetch_flink)
    monkeypatch.setattr(installing, "_fetch_runner", fetch_runner)
    return tmp_path


def fetches(folder: Path) -> int:
    return len((folder / "fetches").read_text().splitlines())


def content(found: Installation) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in found.root.rglob("*") if path.is_file()}


def forked(work: Callable[[], object]) -> int:
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join()
    return int(process.exitcode or 0)


def test_an_installation_is_complete_and_is_not_repeated(small: Path) -> None:
    for _ in range(2):
        assert content(install(print)) == FILES
    assert fetches(small) == 2
    assert [path.name for path in (small / "myxtts").glob("[!.]*")] == [installation().root.name]


@pytest.mark.parametrize("part", ["_fetch_flink", "_fetch_runner"])
def test_a_killed_installation_leaves_no_partial_one(part: str, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        fetch = getattr(installing, part)

        def die(*args: object, **options: object) -> None:
            fetch(*args, **options)
            os._exit(9)

        patch.setattr(installing, part, die)
        assert forked(lambda: install(print)) == 9
    assert not installation().exists
    assert list((small / "myxtts").glob(".install-*")) != []
    assert content(install(print)) == FILES
    assert list((small / "myxtts").glob(".install-*")) == []


def test_two_installations_at_once_download_once(small: Path) -> None:
    context = multiprocessing.get_context("fork")
    both = [context.Process(target=install, args=(print,)) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert [one.exitcode for one in both] == [0, 0]
    assert fetches(small) == 2
    assert content(installation()) == FILES


def test_a_file_with_another_sha256_is_refused_by_name(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FILES, SECOND_PART, b"something else")
    with pytest.raises(
        UserError, match=r"beam-runner\.jar: the sha256 differs from flink/sha256sums; nothing was installed"
    ):
        install(print)
    assert not installation().exists


def test_jars_that_are_damaged_added_or_missing_are_named(small: Path) -> None:
    found = install(print)
    assert found.damaged() == []
    (found.jars / "flink-dist.jar").write_bytes(b"flonk")
    (found.jars / SECOND_PART).unlink()
    (found.jars / "other.jar").write_bytes(b"")
    assert found.damaged() == [SECOND_PART, "flink-dist.jar", "other.jar"]


def test_a_failed_download_is_reported_with_its_error_line() -> None:
    words = ["sh", "-c", "echo '[INFO] fine'; echo '[ERROR] no such host'; exit 1"]
    with pytest.raises(UserError, match=r"^mvn failed: \[ERROR\] no such host; nothing was installed; fix it"):
        installing.run_command(words, what="mvn")


@pytest.mark.parametrize(("output", "expected"), [('version "17.0.15"', "17"), ('version "1.8.0_1"', "8"), ("", "")])
def test_the_version_of_java_is_parsed_from_its_output(output: str, expected: str, tmp_path: Path) -> None:
    script = tmp_path / "bin" / "java"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\necho '{output}' >&2\n")
    script.chmod(0o755)
    assert java.java_version(tmp_path) == expected
    assert java.java_version(tmp_path / "none") == ""


def test_missing_java_and_maven_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(java, "_candidate_homes", lambda: iter([tmp_path]))
    with pytest.raises(UserError, match=r"^Java 17 is required, found:  in .*; install it .* or set JAVA_HOME to it$"):
        java.java_home()
    with pytest.raises(UserError, match=r"^Maven is required .* install it .* or set FLINK_JOB_SERVER_JAR"):
        java.maven()


def test_versions_occur_in_the_pom_alone() -> None:
    found = versions.versions()
    folder = Path(versions.__file__).parent
    code = "".join(path.read_text() for path in folder.glob("*.py"))
    assert re.findall(rf"{re.escape(found.flink)}|{re.escape(found.beam)}", code) == []
    names = versions.sums()
    assert f"flink-dist-{found.flink}.jar" in names
    assert f"beam-runners-flink-{found.flink_line}-{found.beam}.jar" in names
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in names.values())
