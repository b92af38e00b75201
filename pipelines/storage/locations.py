"""Resolves the location of a dataset: a folder of this machine, or a URL of an object store or HDFS (`gs://`, …)."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import click

from pipelines.storage.object_store import RemotePath, file_system
from shared.errors import UserError
from shared.storage_path import StoragePath

_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][-A-Za-z0-9+.]*)://(?P<rest>.*)", re.DOTALL)
# The module that each of Beam's file systems imports, and the extra that installs it.
_NEEDS = {
    "gs": ("google.cloud.storage", "gcp"),
    "s3": ("boto3", "aws"),
    "azfs": ("azure.storage.blob", "azure"),
    "hdfs": ("hdfs", "hadoop"),
}


def dataset_path(text: str) -> StoragePath:
    """The folder that the user names: a path of this machine, or `scheme://…`.

    Raises:
        UserError: the file system is unknown, or the package that Beam needs for it is not installed.
    """
    match = _SCHEME.fullmatch(text)
    if match is None:
        return Path(text)
    scheme = match["scheme"]
    if not match["rest"].strip("/") or re.search(r"[\[*?]", text):  # Beam interprets these as patterns
        raise UserError(f"{text}: expected a folder there, such as {scheme}://bucket/data, without any of * ? [")
    module, extra = _NEEDS.get(scheme, ("", ""))
    if module and not _is_installed(module):
        raise UserError(f"{text}: the package for {scheme}:// is not installed; pip install 'apache-beam[{extra}]'")
    _set_options()
    try:
        file_system(text)
    except (ValueError, OSError) as error:
        known = ", ".join(f"{one}://" for one in _NEEDS)
        raise UserError(f"{text}: no such file system; expected a folder of this machine, or one of {known}") from error
    return RemotePath(text)


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # its parent package is missing
        return False


def _set_options() -> None:
    """Set options of Beam's file systems, which they need outside of a pipeline."""
    from apache_beam.io.filesystems import FileSystems
    from apache_beam.options.pipeline_options import PipelineOptions

    if FileSystems._pipeline_options is None:
        FileSystems.set_options(PipelineOptions([]))


data_option = click.option(
    "--data", type=dataset_path, metavar="PATH", required=True, help="Folder of the dataset, or gs://, s3://, hdfs://…"
)
