"""The software and the processor that made a dataset, as far as they can change its bytes.

The same corpus, config, versions and processor features give the same bytes. Another version of a library can change
samples, texts or tables; another instruction set changes the last bit of some mels (NumPy's logarithm) and measures.
"""

from __future__ import annotations

import functools
import importlib.metadata
import platform
from collections.abc import Iterator, Mapping

import numpy as np
import soundfile

from preprocess.pitch import pyworld_version
from shared.dataset import Contract, contract_differences
from shared.errors import UserError
from shared.records import NO_PITCH, PitchMethod

LIBRARIES = (
    "numpy",
    "scipy",
    "soxr",
    "soundfile",
    "tokenizers",
    "num2words",
    "icu4py",
    "regex",
    "sacremoses",
    "pyarrow",
)
OPTIONAL_LIBRARIES = ("av",)  # which holds FFmpeg
PROCESSOR = "processor"

MadeBy = Mapping[str, tuple[str, ...]]  # name -> each version that had a part in the dataset


def made_here(*, pitch: PitchMethod = NO_PITCH) -> dict[str, tuple[str, ...]]:
    """The versions of this process: of Python, of each library, and the instruction sets that NumPy uses.

    Args:
        pitch: the method that finds the pitch; pyworld has no part in a dataset without it.
    """
    versions = {
        "python": platform.python_version(),
        **_library_versions(),
        "libsndfile": soundfile.__libsndfile_version__,
        PROCESSOR: processor_here(),
    }
    if pitch != NO_PITCH:
        versions["pyworld"] = pyworld_version()
    return {name: (versions[name],) for name in sorted(versions)}


def processor_here() -> str:
    """The processor's kind, and the instruction sets that NumPy uses."""
    features = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])  # absent on a processor with none
    return " ".join([platform.machine(), *features])


@functools.cache  # every build of a process asks, and every worker; to find them takes 25 ms
def _library_versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in LIBRARIES} | {
        name: _version_or_none(name) for name in OPTIONAL_LIBRARIES
    }


def _version_or_none(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "none"


def merged(older: MadeBy, newer: MadeBy) -> dict[str, tuple[str, ...]]:
    """The versions of two parts of one dataset, each version once."""
    names = sorted({*older, *newer})
    return {name: tuple(sorted({*older.get(name, ()), *newer.get(name, ())})) for name in names}


def differences(older: MadeBy, newer: MadeBy) -> Iterator[str]:
    """For each name of both sides: the versions of `older`, if `newer` has another one, in words."""
    for name, versions in older.items():
        if name in newer and not set(newer[name]) <= set(versions):
            yield f"{name} {', '.join(versions)} (here {', '.join(newer[name])})"


def check_worker(*, made_by: MadeBy, contract: Contract, here: Contract) -> None:
    """Check that this worker has the driver's versions and tokenizer; its processor may be another one.

    Args:
        made_by: the driver's versions.
        contract: the driver's contract.
        here: the worker's contract, from the same config.

    Raises:
        UserError: it has not: the shards would depend on who makes them.
    """
    versions = {name: found for name, found in made_here(pitch=contract.pitch).items() if name != PROCESSOR}
    found = list(differences({name: made_by[name] for name in versions if name in made_by}, versions))
    of_contract = contract_differences(contract, here)
    found += [f"{name} {driver} (here {worker})" for name, (driver, worker) in of_contract.items()]
    if found:
        remedy = "install the same versions on all hosts" + (", with the same files" if of_contract else "")
        raise UserError(
            f"the worker on {platform.node()} has not the driver's {'; '.join(found)}; nothing was published; {remedy}"
        )
