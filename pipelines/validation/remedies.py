"""Maps each finding to the command that fixes it."""

from __future__ import annotations

import shlex

from pipelines.validation.findings import Finding
from pipelines.validation.recordings import CHECK as RECORDING
from shared.storage_path import StoragePath

# Checks whose findings are caused by the corpus: the files are as published.
CORPUS_CHECKS = frozenset({"duplicate", "leak", RECORDING})


def fix_for(finding: Finding, *, data: StoragePath) -> str:
    """The command that fixes a finding, after what the user has to do first."""
    folder = shlex.quote(str(data))
    build = f"make preprocess CONFIG={shlex.quote(str(data / 'config.yaml'))} DATA={folder}"
    if finding.check == RECORDING:
        return f"put the recordings back, or build without them: {build}"
    if finding.check in CORPUS_CHECKS:
        return f"take one of the two out of the corpus or hold both out for one split (held_out), then {build}"
    return f"make repair DATA={folder}"


def with_fix(finding: Finding, *, data: StoragePath) -> Finding:
    """The finding with its fix."""
    return finding.model_copy(update={"fix": fix_for(finding, data=data)})
