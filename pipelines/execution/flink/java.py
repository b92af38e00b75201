"""Finds Java and Maven on this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from pipelines.execution.flink.versions import versions
from shared.errors import UserError

# Flink's start scripts open these packages on Java 17; Beam's job server needs the same.
OPENED_PACKAGES = (
    *(
        "java.lang",
        "java.lang.invoke",
        "java.lang.reflect",
        "java.net",
        "java.io",
        "java.nio",
        "java.text",
        "java.time",
    ),
    *("java.util", "java.util.concurrent", "java.util.concurrent.atomic", "sun.nio.ch"),
)
ADD_OPENS = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED_PACKAGES]

# The Java processes share the cores with the Python workers, which do the work: no threads for the optimising compiler
# or for parallel garbage collection.
JVM_FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def java_home() -> Path:
    """The home of a Java of the required version: JAVA_HOME, that of `java` on the path, or one below /usr/lib/jvm.

    Raises:
        UserError: there is none.
    """
    found = {}
    for home in _candidate_homes():
        found[home] = java_version(home)
        if found[home] == versions().java:
            return home
    found_versions = ", ".join(f"{version} in {home}" for home, version in found.items()) or "none"
    raise UserError(
        f"Java {versions().java} is required, found: {found_versions}; install it (Debian, Ubuntu: apt-get install "
        f"openjdk-{versions().java}-jre-headless) or set JAVA_HOME to it"
    )


def java_version(home: Path) -> str:
    """The feature version, such as 17; empty if Java does not run."""
    try:
        answer = subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    return found[1] if found else ""


def maven() -> str:
    """The path of Maven's command.

    Raises:
        UserError: there is none.
    """
    command = shutil.which("mvn")
    if command is None:
        raise UserError(
            "Maven is required to fetch Beam's job server, and there is no `mvn`; install it (Debian, Ubuntu: "
            "apt-get install maven), or set FLINK_JOB_SERVER_JAR to Beam's one-file job server"
        )
    return command


def _candidate_homes() -> Iterator[Path]:
    if "JAVA_HOME" in os.environ:
        yield Path(os.environ["JAVA_HOME"])
    command = shutil.which("java")
    if command:
        yield Path(command).resolve().parents[1]
    yield from sorted(Path("/usr/lib/jvm").glob(f"*{versions().java}*"))
