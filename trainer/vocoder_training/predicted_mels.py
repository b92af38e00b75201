"""Mels that an acoustic model predicted with teacher forcing, as files beside a dataset.

A vocoder that is trained on them learns to turn the mels that the model will give into sound, with their faults.

FOLDER/mels.json                what the mels were predicted by
FOLDER/<source>/<id>.npy        [F, M] in ln magnitude, float16; as many frames as the recording's mel has

Characters of an id that are not safe in names of files are percent-encoded; long ids are replaced by their hash.
"""

from __future__ import annotations

import hashlib
import json
import re
import urllib.parse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pydantic
import tensorflow as tf

from shared.dataset import Contract
from shared.errors import UserError
from shared.features import FeatureSpec
from shared.processing import Processing
from trainer.data.wav_decoder import check_files
from trainer.vocoder.vocoder_file import refuse_other_mels

STATE = "mels.json"
DTYPE = np.dtype("<f2")

# of an npy file, as numpy.lib.format defines it: magic and version, length of the header, header, values
VERSION, PREAMBLE_BYTES, MAX_HEADER_BYTES = b"\x93NUMPY\x01\x00", 10, 256
HEADER = r"(?s)\{'descr': '<f2', 'fortran_order': False, 'shape': \((\d+, \d+)\), \}\s*"
MAX_NAME = 200  # bytes of a file's name

_MEL_ERROR = re.compile(r"(?:assertion failed: \[|data: b')(.*: the mel of .*?)['\]]")  # in a graph, and outside


class PredictedMelsInfo(pydantic.BaseModel):
    """The content of `mels.json`."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    features: FeatureSpec
    run: str  # of the acoustic model
    checkpoint: str
    checkpoint_sha256: str
    dataset_sha256: str  # of dataset.json, whose clips they belong to
    processing: Processing = Processing()  # of these clips
    is_finished: bool = False


def mel_path(folder: Path, *, utterance_id: str) -> Path:
    """The file of an utterance, whose id is `source/id`; it is within the folder, whatever the id."""
    source, _, name = utterance_id.partition("/")
    return folder / _file_name(source) / f"{_file_name(name)}.npy"


def _file_name(part: str) -> str:
    quoted = urllib.parse.quote(part, safe="")
    is_usual = len(quoted) <= MAX_NAME and quoted.strip(".")  # neither empty, nor `.` or `..`
    return quoted if is_usual else hashlib.blake2b(part.encode(), digest_size=16).hexdigest()


def read_mels_info(folder: Path) -> PredictedMelsInfo:
    """Read `mels.json`.

    Raises:
        UserError: there is none, or it is not that of such a folder.
    """
    path = folder / STATE
    try:
        return PredictedMelsInfo.model_validate(json.loads(path.read_bytes()))
    except OSError as error:
        advice = "`make vocoder-mels` writes a folder of predicted mels"
        raise UserError(f"{path}: cannot be read ({error.strerror}); {advice}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not that of predicted mels, which `make vocoder-mels` writes") from error


class PredictedMels:
    """The mels of a folder, for the utterances of a dataset."""

    def __init__(self, folder: Path, *, contract: Contract):
        """
        Args:
            contract: of the dataset whose clips get these mels.

        Raises:
            UserError: the folder is not finished, or holds mels of another kind, or of clips processed otherwise.
        """
        spec = contract.features
        self.info, self.folder, self._n_mels = read_mels_info(folder), folder.absolute(), spec.n_mels
        if not self.info.is_finished:
            raise UserError(f"{folder}: its mels are not finished; run the same `make vocoder-mels` again")
        refuse_other_mels(self.info.features, expected=spec, source=f"{folder}: mels")
        if self.info.processing != contract.processing:
            raise UserError(
                f"{folder}: the mels of clips with {self.info.processing.description}, and the dataset's clips have "
                f"{contract.processing.description}; predict the mels of this dataset with `make vocoder-mels`"
            )

    def paths(self, utterance_ids: Sequence[str]) -> list[str]:
        """The file of each utterance; an empty string: it has no mel."""
        paths = (mel_path(self.folder, utterance_id=one) for one in utterance_ids)
        return [str(path) if path.is_file() else "" for path in paths]

    def read(self, paths: tf.Tensor, *, names: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
        """Read files: the values [n] string, each those of a mel [F, M], which `decode` decodes.

        Args:
            paths: [n] string.
            names: [n] string, the utterances, for error messages.
            frames: [n] int32, the expected lengths.

        Raises when run:
            tf.errors.InvalidArgumentError: a file is no such mel, or has another length; `error_message` has the line.
            tf.errors.OpError: a file cannot be read.
        """
        files, named = tf.map_fn(tf.io.read_file, paths), tf.strings.join([paths, ": the mel of ", names])
        file_bytes, eight = tf.strings.length(files), tf.fill(tf.shape(files), 8)
        begins = (file_bytes > PREAMBLE_BYTES) & (tf.strings.substr(files, tf.zeros_like(eight), eight) == VERSION)
        with tf.control_dependencies([check_files(named, [(begins, "is no .npy file of version 1")])]):
            size = tf.strings.substr(files, eight, tf.fill(tf.shape(files), 2))
        header_bytes = tf.cast(tf.io.decode_raw(size, tf.uint16)[:, 0], tf.int32)
        values_bytes = file_bytes - PREAMBLE_BYTES - header_bytes
        expected = frames * self._n_mels * DTYPE.itemsize
        header = tf.strings.substr(files, eight + 2, tf.minimum(header_bytes, tf.minimum(file_bytes, MAX_HEADER_BYTES)))
        shape = tf.strings.regex_replace(header, HEADER, r"\1")
        wanted = tf.strings.join([tf.strings.as_string(frames), f", {self._n_mels}"])
        conditions = [
            (tf.strings.regex_full_match(header, HEADER), "is not a matrix of float16"),
            (shape == wanted, "has another shape than frames by bands of the recording"),
            (values_bytes == expected, "is cut off"),
        ]
        with tf.control_dependencies([check_files(named, conditions)]):
            return tf.strings.substr(files, PREAMBLE_BYTES + header_bytes, expected)

    def decode(self, values: tf.Tensor) -> tf.Tensor:
        """The mel [F, M] float32 of one file's values."""
        return tf.reshape(tf.cast(tf.io.decode_raw(values, tf.float16), tf.float32), [-1, self._n_mels])

    def load(self, path: str, *, name: str, frames: int) -> np.ndarray:
        """The mel [F, M] float32 of an utterance.

        Raises:
            UserError: the file is no such mel.
        """
        try:
            values = self.read(tf.constant([path]), names=tf.constant([name]), frames=tf.constant([frames]))
        except tf.errors.OpError as error:
            raise UserError(self.error_message(error) or str(error)) from error
        return self.decode(values[0]).numpy()

    def error_message(self, error: Exception) -> str | None:
        """The line for an error of `read`; None for other errors."""
        advice = "run `make vocoder-mels` again"
        if found := _MEL_ERROR.search(str(error)):
            return f"{found[1]}; {advice}"
        line = str(error).splitlines()[0].partition(" [Op:")[0]
        found = re.search(rf"({re.escape(str(self.folder))}/[^;]+\.npy); (.*)", line)
        return f"{found[1]}: {found[2]}; {advice}" if found else None
