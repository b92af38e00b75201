"""Java and Maven as this machine has them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from pipelines.execution.flink.versions import versions
from shared.errors import UserError

# Flink's own start scripts open these for it on Java 17; Beam's job server reflects on the same.
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

# These processes share the machine with the Python workers, which do the work: threads that compile hot Java code or
# collect garbage side by side would take the cores from them.
JVM_FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def java_home() -> Path:
    """The home of a Java of the required version: JAVA_HOME's, that of the path, or one where Linux keeps them.

    Raises:
        UserError: there is none.
    """
    found = {}
    for home in _homes():
        found[home] = java_version(home)
        if found[home] == versions().java:
            return home
    seen = ", ".join(f"{version} in {home}" for home, version in found.items()) or "none"
    raise UserError(
        f"Java {versions().java} is required, found: {seen}; install it (Debian, Ubuntu: apt-get install "
        f"openjdk-{versions().java}-jre-headless) or set JAVA_HOME to it"
    )


def java_version(home: Path) -> str:
    """The feature version, such as 17; empty where it does not run."""
    try:
        answer = subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    return found[1] if found else ""


def maven() -> str:
    """Maven's command.

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


def _homes() -> Iterator[Path]:
    if "JAVA_HOME" in os.environ:
        yield Path(os.environ["JAVA_HOME"])
    command = shutil.which("java")
    if command:
        yield Path(command).resolve().parents[1]
    yield from sorted(Path("/usr/lib/jvm").glob(f"*{versions().java}*"))
