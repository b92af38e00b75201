"""A dataset at an address, in an object store or on a web server: its `_SUCCESS`, and the files that training reads.

fsspec opens the address: `gs://` with the package gcsfs, `s3://` with s3fs, `az://` with adlfs, `hf://datasets/…` with
huggingface-hub, `https://…`, and others.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shared.errors import UserError
from shared.files import CHUNK_BYTES, bytes_sha256
from shared.layout import Layout, is_dataset_file
from shared.publication import parse_checksums

if TYPE_CHECKING:
    import fsspec

SUCCESS, JOURNAL = (path.name for path in (Layout(Path()).success, Layout(Path()).journal))
MAX_SUCCESS_BYTES = 1 << 28  # 450,000 shards
MAX_REASON_CHARACTERS = 300
SILENCE_S = 60.0  # of a web server, at most; the whole of a file may take any time
_NOT_FOR_TRAINING = ("rejected/", "withheld/")
_WEB_ADDRESS = re.compile(r"https?://")
_PASSWORD = re.compile(r"//[^/@]*:[^/@]*@")


class RemoteDataset(NamedTuple):
    """A dataset at an address."""

    url: str
    files: fsspec.AbstractFileSystem
    root: str  # in the file system
    success: bytes = b""  # the content of `_SUCCESS`

    @classmethod
    def open(cls, url: str) -> RemoteDataset:
        """Read `_SUCCESS` at an address.

        Raises:
            UserError: the address is not one of a published dataset, or cannot be read.
        """
        url = url.rstrip("/")
        _check(url)
        from fsspec.core import url_to_fs

        with translate_store_errors(url):
            found = cls(url, *url_to_fs(url, **_options(url)))
            found = found._replace(success=found.read_success())
        if not {"dataset.json", "vocab.json"} <= found.checksums.keys():
            raise UserError(
                f"{url}/{SUCCESS}: not that of a dataset: expected the sha256 of dataset.json and vocab.json"
            )
        return found

    @property
    def version(self) -> str:
        """Names the version of the dataset: 32 hexadecimal digits."""
        return bytes_sha256(self.success)[:32]

    @property
    def checksums(self) -> Mapping[str, str]:
        """File name -> sha256, of the files that training reads."""
        return {
            name: sha256
            for name, sha256 in parse_checksums(self.success.decode(errors="replace")).items()
            if is_dataset_file(name) and name != SUCCESS and not name.startswith(_NOT_FOR_TRAINING)
        }

    def size(self, name: str) -> int:
        """The bytes of a file.

        Raises:
            UserError: the server does not state them.
        """
        size = self.files.size(f"{self.root}/{name}")
        if size is None:
            raise UserError(f"{self.url}/{name}: the server does not state its size; expected a header Content-Length")
        return int(size)

    def chunks(self, name: str) -> Iterator[bytes]:
        """The content of a file, as one stream from a web server: not every one sends parts of files."""
        block_size = 0 if _WEB_ADDRESS.match(self.url) else CHUNK_BYTES
        with self.files.open(f"{self.root}/{name}", "rb", block_size=block_size) as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk

    def read_success(self) -> bytes:
        """The content of `_SUCCESS`.

        Raises:
            UserError: there is none, or it is too large.
        """
        content = bytearray()
        try:
            for chunk in self.chunks(SUCCESS):
                content += chunk
                if len(content) > MAX_SUCCESS_BYTES:
                    raise UserError(f"{self.url}/{SUCCESS}: over {MAX_SUCCESS_BYTES} bytes, not that of a dataset")
        except FileNotFoundError as error:
            if self.files.exists(f"{self.root}/{JOURNAL}"):
                raise UserError(
                    f"{self.url}: a build publishes it now, or was ended while it did; wait, or run that build again"
                ) from error
            raise UserError(f"{self.url}: no published dataset, {SUCCESS} cannot be read: {_reason(error)}") from error
        return bytes(content)


@contextlib.contextmanager
def translate_store_errors(url: str) -> Iterator[None]:
    """Raise what fsspec and the libraries of stores raise as a UserError; each has exceptions of its own."""
    try:
        yield
    except UserError:
        raise
    except ImportError as error:
        raise UserError(f"{url}: {_reason(error)}; install that package into this environment") from error
    except Exception as error:
        raise UserError(f"{url}: {_reason(error)}") from error


def _check(url: str) -> None:
    """Raise UserError for an address with a password, which would be shown, or with what cannot stand in a name."""
    if _PASSWORD.search(url):
        raise UserError(
            f"{_PASSWORD.sub('//…@', url)}: a password in an address is shown everywhere; put it into ~/.netrc"
        )
    if _WEB_ADDRESS.match(url) and re.search("[?#]", url):
        raise UserError(f"{url}: expected the address of a folder, without ? and #")


def _options(url: str) -> dict[str, Any]:
    """Of a web server: without a limit on the time of a whole file; with the proxy and ~/.netrc, as other programs."""
    if not _WEB_ADDRESS.match(url):
        return {}
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=None, sock_connect=SILENCE_S, sock_read=SILENCE_S)
    return {"client_kwargs": {"timeout": timeout, "trust_env": True}}


def _reason(error: BaseException) -> str:
    """Why, in a line; fsspec hides the answer of a web server behind a FileNotFoundError."""
    if isinstance(error, FileNotFoundError) and error.__cause__ is not None:
        error = error.__cause__
    words = " ".join(str(error).split()) or type(error).__name__
    return words if len(words) <= MAX_REASON_CHARACTERS else f"{words[:MAX_REASON_CHARACTERS]}…"
