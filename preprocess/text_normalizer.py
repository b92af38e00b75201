"""A text normalizer of the user's own: a function of an installed package, which is called before the preparation.

The package names the function as an entry point, in its `pyproject.toml`:

    [project.entry-points."myxtts.text_normalizers"]
    NAME = "package.module:function"

    function(text: str, *, language: str) -> str          # language: a FLORES-200 code such as deu_Latn

The setting `text_normalizer: NAME` of a build calls the function with each text of the corpora. What the function
leaves, such as numbers, the preparation reads as ever. A model is spoken with through the same function: its name, its
package's name and version, and the sha256 of the file that defines it are part of the contract.
"""

from __future__ import annotations

import functools
import importlib.metadata
import sys
from collections.abc import Callable
from pathlib import Path

from shared.dataset import NormalizerIdentity
from shared.errors import UserError
from shared.files import file_sha256

ENTRY_POINTS = "myxtts.text_normalizers"
MAX_SHOWN, MAX_MESSAGE = 60, 300  # characters of a text and of an exception in a message


class TextNormalizer:
    """A text normalizer by its name; pickled as its name, and loaded again where it is unpickled."""

    def __init__(self, name: str) -> None:
        """Load the function.

        Raises:
            UserError: no installed package has it, several have, or it cannot be imported.
        """
        entry = _find(name)
        self._name = name
        self._normalize: Callable[..., object] = _load(entry)
        assert entry.dist is not None  # of every entry point that importlib.metadata finds
        self.identity = NormalizerIdentity(
            name=name, distribution=entry.dist.name, version=entry.dist.version, sha256=_sha256(entry)
        )

    def __reduce__(self) -> tuple[Callable[[str], TextNormalizer], tuple[str]]:
        return load_normalizer, (self._name,)

    def __call__(self, text: str, *, language: str) -> str:
        """The text as the function returns it.

        Args:
            language: a FLORES-200 code.

        Raises:
            UserError: the function raises an exception, or returns something other than a str.
        """
        try:
            normalized = self._normalize(text, language=language)
        except Exception as error:  # it may raise anything
            raise UserError(self._failure(text, f"raised {type(error).__name__}: {_one_line(error)}")) from error
        if not isinstance(normalized, str):
            raise UserError(self._failure(text, f"returned a {type(normalized).__name__}, expected a str"))
        return normalized

    def _failure(self, text: str, what: str) -> str:
        shown = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
        package = f"{self.identity.distribution} {self.identity.version}"
        return f"text_normalizer {self._name} of {package}, for the text {shown!r}: {what}"


@functools.lru_cache(maxsize=8)
def load_normalizer(name: str) -> TextNormalizer:
    """Load a normalizer once a process; raises UserError as TextNormalizer does."""
    return TextNormalizer(name)


def normalizer_of(identity: NormalizerIdentity | None) -> TextNormalizer | None:
    """The normalizer that a contract names; None if it names none.

    Raises:
        UserError: it is not installed, or in another version than that of the contract.
    """
    if identity is None:
        return None
    package = f"{identity.distribution} {identity.version}, sha256 of its file {identity.sha256[:8]}…"
    expected = f"expected {package}, with which the dataset was made"
    try:
        normalizer = load_normalizer(identity.name)
    except UserError as error:
        raise UserError(f"{error}; {expected}") from error
    here = normalizer.identity
    if here != identity:
        where = f"{here.distribution} {here.version}, {here.sha256[:8]}"
        raise UserError(f"text_normalizer {here.name}: installed is {where}; {expected}")
    return normalizer


def _find(name: str) -> importlib.metadata.EntryPoint:
    installed = importlib.metadata.entry_points(group=ENTRY_POINTS)
    found = list(installed.select(name=name))
    if len(found) == 1:
        return found[0]
    if found:
        packages = ", ".join(sorted(entry.dist.name for entry in found if entry.dist))
        raise UserError(f"text_normalizer {name}: several packages have it: {packages}; expected one of them installed")
    names = sorted(installed.names)
    others = f"expected one of {', '.join(names)}" if names else "no installed package has any"
    raise UserError(f"text_normalizer {name}: no entry point of {ENTRY_POINTS} has this name; {others}")


def _load(entry: importlib.metadata.EntryPoint) -> Callable[..., object]:
    try:
        loaded = entry.load()
    except Exception as error:  # the import runs code of the package
        reason = f"{type(error).__name__}: {_one_line(error)}"
        raise UserError(f"text_normalizer {entry.name}: {entry.value} cannot be imported ({reason})") from error
    if not callable(loaded):
        raise UserError(f"text_normalizer {entry.name}: {entry.value} is no function")
    return loaded


def _sha256(entry: importlib.metadata.EntryPoint) -> str:
    """That of the file of the module that the entry point names: an edited function is another one.

    Raises:
        UserError: the module has no file that can be read.
    """
    path = getattr(sys.modules[entry.module], "__file__", None)  # imported with the function
    try:
        return file_sha256(Path(str(path)))
    except OSError as error:
        raise UserError(f"text_normalizer {entry.name}: {entry.module} has no file that can be read") from error


def _one_line(error: Exception) -> str:
    words = " ".join(str(error).split())
    return words if len(words) <= MAX_MESSAGE else f"{words[:MAX_MESSAGE]}…"
