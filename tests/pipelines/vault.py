"""Object stores for tests: `vault://` has no folders, links or locks; `attic://` has folders; `shut://` always fails.

Objects lie in the folder that `VAULT` in the environment names, which workers inherit, under names that are no paths:
what takes a URL for a local path finds nothing.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import urllib.parse
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NoReturn

from apache_beam.io.filesystem import BeamIOError, CompressionTypes, FileMetadata, FileSystem

FOLDER = "VAULT"
# The process dies within the renaming of this number, of those that publish a dataset: the build's cache comes before.
RENAMES = "VAULT_RENAMES"


def objects(scheme: str = "vault") -> dict[str, bytes]:
    """Everything that is stored, by URL."""
    return {url: object_of(url).read_bytes() for url in _urls(scheme)}


def _urls(scheme: str) -> list[str]:
    names = [urllib.parse.unquote(path.name.removesuffix("~")) for path in Path(os.environ[FOLDER]).glob("*~")]
    return sorted(url for url in names if url.startswith(f"{scheme}://"))


def object_of(url: str) -> Path:
    """The file that holds an object; a test may damage it."""
    if not re.fullmatch(r"(vault|attic)://[^/]+(/[^/]+)+", url):
        raise ValueError(f"no object's name: {url}")
    return Path(os.environ[FOLDER]) / (urllib.parse.quote(url, safe="") + "~")


class _Upload(io.BytesIO):
    """An object that appears when its file is closed, as in real stores."""

    def __init__(self, target: Path):
        super().__init__()
        self._target = target

    def close(self) -> None:
        if not self.closed:
            aside = self._target.with_name(uuid.uuid4().hex)
            aside.write_bytes(self.getvalue())
            aside.replace(self._target)
        super().close()


class Vault(FileSystem):
    """A store of objects by name; a rename is a copy and a removal."""

    @classmethod
    def scheme(cls) -> str:
        return "vault"

    def join(self, basepath: str, *paths: str) -> str:
        return "/".join([basepath.rstrip("/"), *paths])

    def split(self, path: str) -> tuple[str, str]:
        head, _, tail = path.rpartition("/")
        return head, tail

    def mkdirs(self, path: str) -> None:
        raise AssertionError("there are no folders to make")

    def has_dirs(self) -> bool:
        return False

    def _list(self, dir_or_prefix: str) -> Iterator[FileMetadata]:
        for url in _urls("vault"):
            if url.startswith(dir_or_prefix):
                with contextlib.suppress(BeamIOError):  # gone meanwhile
                    yield self.metadata(url)

    def create(self, path: str, mime_type: str = "", compression_type: str = CompressionTypes.AUTO) -> BinaryIO:
        return _Upload(object_of(path))

    def open(self, path: str, mime_type: str = "", compression_type: str = CompressionTypes.AUTO) -> BinaryIO:
        try:
            return object_of(path).open("rb")
        except OSError as error:
            raise BeamIOError("open failed", {path: error}) from error

    def copy(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        for one, other in zip(source_file_names, destination_file_names, strict=True):
            with self.open(one) as source, self.create(other) as target:
                shutil.copyfileobj(source, target)

    def rename(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        self.copy(source_file_names, destination_file_names)
        publishes = not any("/build_cache/" in name for name in source_file_names)
        if publishes and (left := int(os.environ.get(RENAMES, "0"))) > 0:
            os.environ[RENAMES] = str(left - 1)
            if left == 1:
                os._exit(137)  # as kill -9 would end it, the copy there and the original too
        self.delete(source_file_names)

    def exists(self, path: str) -> bool:
        return object_of(path).exists()

    def size(self, path: str) -> int:
        return self.metadata(path).size_in_bytes

    def last_updated(self, path: str) -> float:
        return self.metadata(path).last_updated_in_seconds

    def metadata(self, path: str) -> FileMetadata:
        try:
            state = object_of(path).stat()
        except OSError as error:
            raise BeamIOError("no such object", {path: error}) from error
        return FileMetadata(path, state.st_size, state.st_mtime)

    def delete(self, paths: list[str]) -> None:
        for path in paths:
            if path.endswith("/"):
                for url in _urls("vault"):
                    if url.startswith(path):
                        object_of(url).unlink()
            else:
                object_of(path).unlink()


class Attic(Vault):
    """A store with folders, which must exist before they are listed; a rename needs an unused name."""

    @classmethod
    def scheme(cls) -> str:
        return "attic"

    def has_dirs(self) -> bool:
        return True

    def mkdirs(self, path: str) -> None:
        if self.exists(path):
            raise BeamIOError(f"{path} is there")
        self._make(path)

    def _make(self, path: str) -> None:
        while "/" in path.partition("://")[2]:
            _folder_of(path).touch()
            path = path.rpartition("/")[0]

    def _is_folder(self, path: str) -> bool:
        return _folder_of(path).exists()

    def _list(self, dir_or_prefix: str) -> Iterator[FileMetadata]:
        if not self._is_folder(dir_or_prefix):
            raise BeamIOError(f"{dir_or_prefix} is no folder")
        for url in [*_urls("attic"), *_folders()]:
            if url.rpartition("/")[0] == dir_or_prefix:
                with contextlib.suppress(BeamIOError):
                    yield self.metadata(url)

    def create(self, path: str, mime_type: str = "", compression_type: str = CompressionTypes.AUTO) -> BinaryIO:
        if not self._is_folder(path.rpartition("/")[0]):
            self._make(path.rpartition("/")[0])
        return super().create(path)

    def copy(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        if any(map(self.exists, destination_file_names)):
            raise BeamIOError("something has that name")
        super().copy(source_file_names, destination_file_names)

    def rename(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        for one, other in zip(source_file_names, destination_file_names, strict=True):
            if self.exists(other) or not self.exists(one):
                raise BeamIOError("gone, or something has that name")
            for url in _tree(one):
                place_of = object_of if object_of(url).exists() else _folder_of
                place_of(url).rename(place_of(other + url.removeprefix(one)))

    def exists(self, path: str) -> bool:
        return object_of(path).exists() or self._is_folder(path)

    def metadata(self, path: str) -> FileMetadata:
        return FileMetadata(path, 0, 0.0) if self._is_folder(path) else super().metadata(path)

    def delete(self, paths: list[str]) -> None:
        for path in paths:
            for url in _tree(path):
                object_of(url).unlink(missing_ok=True)
                _folder_of(url).unlink(missing_ok=True)


class Shut(Vault):
    """A store in which every call fails with `error`."""

    error: Exception = RuntimeError("403 Forbidden")

    @classmethod
    def scheme(cls) -> str:
        return "shut"

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise self.error

    _list = create = open = copy = rename = exists = metadata = delete = _refuse  # type: ignore[assignment]


def _folder_of(url: str) -> Path:
    return Path(os.environ[FOLDER]) / (urllib.parse.quote(url, safe="") + "@")


def _folders() -> list[str]:
    return [urllib.parse.unquote(path.name.removesuffix("@")) for path in Path(os.environ[FOLDER]).glob("*@")]


def _tree(url: str) -> list[str]:
    return [one for one in (*_urls("attic"), *_folders()) if one == url or one.startswith(f"{url}/")]
