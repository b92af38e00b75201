"""Installs Spark and Beam's job server for it in the cache folder, by Maven, with the sha256 of each jar checked."""

from __future__ import annotations

import hashlib
import shutil
import uuid
from pathlib import Path

from pipelines.execution.flink.environment import cache_folder
from pipelines.execution.flink.install import Log, exclusive, run_command
from pipelines.execution.flink.java import java_home, maven
from shared.errors import UserError
from shared.files import file_sha256

POM = Path(__file__).with_name("pom.xml")
SUMS = Path(__file__).with_name("sha256sums")


def jars_folder() -> Path:
    """The folder of the jars, which may not exist yet; its name changes with any version or sum."""
    digest = hashlib.sha256(POM.read_bytes() + SUMS.read_bytes()).hexdigest()
    return cache_folder() / f"spark-{digest[:16]}"


def install(log: Log) -> Path:
    """Install the jars if they are missing; return their folder. A second call at the same time waits for the first.

    Raises:
        UserError: Java or Maven is missing, a download fails, the disk is full, or a jar has another sha256.
    """
    ready = jars_folder()
    if ready.is_dir():
        return ready
    java_home()
    maven()
    try:
        with exclusive(cache_folder()):
            if not ready.is_dir():
                _install(ready, log=log)
    except OSError as error:
        raise UserError(f"{error.filename or ready}: {error.strerror}; Spark was not installed") from error
    return ready


def _install(ready: Path, *, log: Log) -> None:
    """Install under a temporary name."""
    work = cache_folder() / f".install-{uuid.uuid4().hex}"
    try:
        work.mkdir()
        pom = shutil.copy(POM, work / "pom.xml")
        log("downloading Spark and Beam's job server for it (210 MB, by Maven)")
        words = [maven(), "-B", "-q", "-f", str(pom), "dependency:copy-dependencies", "-DincludeScope=runtime"]
        run_command([*words, f"-DoutputDirectory={work / 'jars'}"], what="mvn dependency:copy-dependencies")
        if damaged := damaged_jars(work / "jars"):
            raise UserError(f"{', '.join(damaged)}: the sha256 differs from spark/sha256sums; nothing was installed")
        (work / "jars").rename(ready)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def damaged_jars(folder: Path) -> list[str]:
    """Names of jars that are missing, unknown, or have another sha256."""
    rows = (line.split() for line in SUMS.read_text(encoding="utf-8").splitlines())
    expected = {name: digest for digest, name in rows}
    found = {path.name: path for path in folder.iterdir()}
    return sorted(
        name
        for name in expected.keys() | found.keys()
        if name not in found or name not in expected or file_sha256(found[name]) != expected[name]
    )
