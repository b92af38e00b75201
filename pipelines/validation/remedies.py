"""What mends each finding: a command, wherever one does."""

from __future__ import annotations

import shlex

from pipelines.validation.findings import Finding
from pipelines.validation.recordings import CHECK as RECORDING
from shared.storage_path import StoragePath

# What is so in the corpus: the bytes are those that were published.
CORPUS_CHECKS = frozenset({"duplicate", "leak", RECORDING})


def fix_for(finding: Finding, *, data: StoragePath) -> str:
    """The command, after what is to be done before it."""
    folder = shlex.quote(str(data))
    build = f"make preprocess CONFIG={shlex.quote(str(data / 'config.yaml'))} DATA={folder}"
    if finding.check == RECORDING:
        return f"put the recordings back, or build without them: {build}"
    if finding.check in CORPUS_CHECKS:
        return f"take one of the two out of the corpus or hold both out (held_out), then {build}"
    return f"make repair DATA={folder}"


def with_fix(finding: Finding, *, data: StoragePath) -> Finding:
    """The finding, complete."""
    return finding.model_copy(update={"fix": fix_for(finding, data=data)})
