"""Installs Flink and Beam's job server in the cache folder, by pip and Maven, with the sha256 of each file checked.

    bin/ conf/ plugins/       of Flink
    gradle/wrapper/*.jar      class path of cluster and job server: jars of Flink and Beam
    runner/*.jar              jars of Beam alone (the same files), which are submitted to clusters that lack them

Beam's job server submits every jar of its class path with each job (222 MB), except those below a folder
`gradle/wrapper` (PipelineResources.isStageable). The local cluster has them already; hence the name of the folder.
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

Log = Callable[[str], None]

# Only the scripts of the wheel are used, so its platform and Python version do not matter.
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
        """True if the installation is complete: its folder gets its name last."""
        return self.root.is_dir()

    def damaged(self) -> list[str]:
        """Names of jars that are missing, unknown, or have another sha256."""
        files = {path.name: path for path in (self.script_jar, *self.jars.glob("*.jar"))}
        expected = {name: digest for name, digest in sums().items() if name.endswith(".jar")}
        return sorted(
            name
            for name in expected.keys() | files.keys()
            if name not in files or name not in expected or file_sha256(files[name]) != expected[name]
        )


def installation() -> Installation:
    """The installation of the required versions, which may not exist yet."""
    return Installation(cache_folder() / installation_name())


def install(log: Log) -> Installation:
    """Install what is missing; a second call at the same time waits for the first.

    Raises:
        UserError: Java or Maven is missing, a download fails, the disk is full, or a file has another sha256.
    """
    expected = installation()
    if expected.exists:
        return expected
    java_home()
    maven()
    try:
        with exclusive(cache_folder()):
            if not expected.exists:
                _install(expected, log=log)
    except OSError as error:
        raise UserError(f"{error.filename or expected.root}: {error.strerror}; Flink was not installed") from error
    return expected


def _install(expected: Installation, *, log: Log) -> None:
    """Install under a temporary name; first remove what a killed installation left."""
    for left in cache_folder().glob(".install-*"):
        shutil.rmtree(left, ignore_errors=True)  # a process that it started may still write there
    work = cache_folder() / f".install-{uuid.uuid4().hex}"
    try:
        ready = Installation(work / "ready")
        for folder in (ready.jars, ready.runner_jars, work / "fetched"):
            folder.mkdir(parents=True)
        log(f"downloading Flink {versions().flink} (233 MB, from the Python package index)")
        _fetch_flink(work / "fetched", ready=ready)
        log(f"downloading Beam's job server {versions().beam} (73 MB, by Maven)")
        _fetch_runner(ready, work=work)
        damaged = ready.damaged()
        if damaged:
            raise UserError(
                f"{', '.join(damaged)}: the sha256 differs from {POM.parent.name}/sha256sums; nothing was installed"
            )
        ready.root.rename(expected.root)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _fetch_flink(folder: Path, *, ready: Installation) -> None:
    """Take scripts from the wheel and jars from the sdist of `apache-flink-libraries`; pip installs neither."""
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
    """Download one archive; pip checks its sha256."""
    stem = f"{package}-{versions().flink}"
    digests = [digest for name, digest in sums().items() if name.replace("_", "-").startswith((f"{stem}-", f"{stem}."))]
    expected = folder / f"{package}.txt"
    expected.write_text(f"{package}=={versions().flink} " + " ".join(f"--hash=sha256:{one}" for one in digests) + "\n")
    target = folder / package
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    run_command(
        [*words, *options, "--dest", str(target), "--requirement", str(expected)], what=f"pip download {package}"
    )
    (archive,) = target.iterdir()
    return archive


def _fetch_runner(ready: Installation, *, work: Path) -> None:
    """Download Beam's jars, for both class paths."""
    pom = work / "pom.xml"
    shutil.copy(POM, pom)
    words = [maven(), "-B", "-q", "-f", str(pom), "dependency:copy-dependencies", "-DincludeScope=runtime"]
    run_command([*words, f"-DoutputDirectory={ready.runner_jars}"], what="mvn dependency:copy-dependencies")
    for jar in ready.runner_jars.glob("*.jar"):
        os.link(jar, ready.jars / jar.name)


def run_command(words: Sequence[str], *, what: str) -> None:
    """Run a command that installs something.

    Raises:
        UserError: it failed.
    """
    answer = subprocess.run(words, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        lines = [line for line in (answer.stdout + answer.stderr).splitlines() if line.strip()]
        errors = [line for line in lines if "ERROR" in line.upper()] or lines or [f"exit code {answer.returncode}"]
        raise UserError(f"{what} failed: {errors[0].strip()}; nothing was installed; fix it and run it again")


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold a lock, which the system releases when the process ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
