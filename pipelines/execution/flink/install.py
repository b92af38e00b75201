"""Flink and Beam's job server in the cache folder: fetched once, by pip and by Maven, each file checked by its sum.

    bin/ conf/ plugins/       of Flink
    gradle/wrapper/*.jar      class path of cluster and job server: Flink's jars and Beam's
    runner/*.jar              Beam's alone (the same files), which must travel to a cluster of somebody else

Beam's job server sends every jar of its class path to the cluster with each job, 222 MB, but those under a folder
`gradle/wrapper` (PipelineResources.isStageable). Ours has them already; hence the name.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import tarfile
import uuid
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pipelines.execution.flink.environment import cache_folder
from pipelines.execution.flink.java import java_home, maven
from pipelines.execution.flink.versions import POM, installation_name, sums, versions
from shared.errors import UserError
from shared.files import file_sha256

Say = Callable[[str], None]

# The wheel is taken for its scripts, on any machine and with any Python.
_WHEEL = ("--only-binary", ":all:", "--platform", "manylinux2014_x86_64", "--python-version", "3.11", "--abi", "cp311")


class Installation:
    """The files of one set of versions."""

    def __init__(self, root: Path):
        self.root = root
        self.jars = root / "gradle" / "wrapper"
        self.runner_jars = root / "runner"
        self.script_jar = root / "bin" / "bash-java-utils.jar"
        self.log_config = root / "conf" / "log4j-console.properties"

    @property
    def exists(self) -> bool:
        """It got its name when it was whole."""
        return self.root.is_dir()

    def damaged(self) -> list[str]:
        """Names of jars that are absent, or are not what they should be by their sums."""
        files = {path.name: path for path in (self.script_jar, *self.jars.glob("*.jar"))}
        expected = {name: digest for name, digest in sums().items() if name.endswith(".jar")}
        return sorted(
            name
            for name in expected.keys() | files.keys()
            if name not in files or name not in expected or file_sha256(files[name]) != expected[name]
        )


def installation() -> Installation:
    """Where the expected versions lie, once they are installed."""
    return Installation(cache_folder() / installation_name())


def install(say: Say) -> Installation:
    """Fetch what is not there; a second one at the same time waits for the first.

    Raises:
        UserError: no Java, no Maven, nothing to be fetched, no room, or a file that is not the expected one.
    """
    expected = installation()
    if expected.exists:
        return expected
    java_home()
    maven()
    try:
        with _alone(cache_folder()):
            if not expected.exists:
                _install(expected, say=say)
    except OSError as error:
        raise UserError(f"{error.filename or expected.root}: {error.strerror}; Flink was not installed") from error
    return expected


def _install(expected: Installation, *, say: Say) -> None:
    """Everything under a temporary name; what a killed one left goes first."""
    for left in cache_folder().glob(".install-*"):
        shutil.rmtree(left, ignore_errors=True)  # what it started may still write there
    work = cache_folder() / f".install-{uuid.uuid4().hex}"
    try:
        ready = Installation(work / "ready")
        for folder in (ready.jars, ready.runner_jars, work / "fetched"):
            folder.mkdir(parents=True)
        say(f"fetching Flink {versions().flink} (233 MB, from the Python package index)")
        _fetch_flink(work / "fetched", ready=ready)
        say(f"fetching Beam's job server {versions().beam} (73 MB, by Maven)")
        _fetch_runner(ready, work=work)
        damaged = ready.damaged()
        if damaged:
            raise UserError(f"{', '.join(damaged)}: not what {POM.parent.name}/sha256sums says; nothing was installed")
        ready.root.rename(expected.root)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _fetch_flink(folder: Path, *, ready: Installation) -> None:
    """Scripts from the wheel, jars from the source archive of `apache-flink-libraries`; neither is installed."""
    wheel = _pip_download("apache-flink", folder=folder, options=_WHEEL)
    archive = _pip_download("apache-flink-libraries", folder=folder, options=("--no-binary", ":all:"))
    with zipfile.ZipFile(wheel) as members:
        for name in members.namelist():
            if name.startswith(("pyflink/bin/", "pyflink/conf/")):
                members.extract(name, folder)
    for name in ("bin", "conf"):
        (folder / "pyflink" / name).rename(ready.root / name)
    for script in (ready.root / "bin").iterdir():
        script.chmod(0o755)
    with tarfile.open(archive) as members:
        members.extractall(folder, filter="data")
    (unpacked,) = folder.glob("*/deps")
    (unpacked / "bin" / ready.script_jar.name).rename(ready.script_jar)
    (unpacked / "plugins").rename(ready.root / "plugins")
    for jar in (*(unpacked / "lib").glob("flink-dist-*.jar"), *(unpacked / "lib").glob("log4j-*.jar")):
        jar.rename(ready.jars / jar.name)


def _pip_download(package: str, *, folder: Path, options: Sequence[str]) -> Path:
    """One archive, which pip checks by its sum before it looks into it."""
    stem = f"{package}-{versions().flink}"
    digests = [digest for name, digest in sums().items() if name.replace("_", "-").startswith((f"{stem}-", f"{stem}."))]
    expected = folder / f"{package}.txt"
    expected.write_text(f"{package}=={versions().flink} " + " ".join(f"--hash=sha256:{one}" for one in digests) + "\n")
    target = folder / package
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    _run([*words, *options, "--dest", str(target), "--requirement", str(expected)], what=f"pip download {package}")
    (archive,) = target.iterdir()
    return archive


def _fetch_runner(ready: Installation, *, work: Path) -> None:
    """Beam's jars, into both class paths."""
    pom = work / "pom.xml"
    shutil.copy(POM, pom)
    words = [maven(), "-B", "-q", "-f", str(pom), "dependency:copy-dependencies", "-DincludeScope=runtime"]
    _run([*words, f"-DoutputDirectory={ready.runner_jars}"], what="mvn dependency:copy-dependencies")
    for jar in ready.runner_jars.glob("*.jar"):
        os.link(jar, ready.jars / jar.name)


def _run(words: Sequence[str], *, what: str) -> None:
    answer = subprocess.run(words, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        said = [line for line in (answer.stdout + answer.stderr).splitlines() if line.strip()]
        errors = [line for line in said if "ERROR" in line.upper()] or said or [f"exit code {answer.returncode}"]
        raise UserError(f"{what} failed: {errors[0].strip()}; nothing was installed; mend it and run it again")


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One at a time; the system gives the lock back however the process ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
