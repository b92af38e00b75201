"""Convert an official checkpoint of HiFi-GAN, BigVGAN or Vocos to a vocoder file."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from shared.files import file_sha256
from trainer.vocoder.official_config import find_config, read_config
from trainer.vocoder.official_weights import generator_weights
from trainer.vocoder.torch_file import read_torch_weights
from trainer.vocoder.vocoder_file import VocoderInfo, make_generator, set_weights, write_vocoder

UNKNOWN_LICENCE = "not stated; ask where the checkpoint comes from"


class Converted(NamedTuple):
    """The description of a vocoder file that was written, and the number of its weights."""

    info: VocoderInfo
    parameters: int


def convert_vocoder(checkpoint: Path, *, config: Path | None, out: Path, licence: str | None) -> Converted:
    """Read a checkpoint's PyTorch weights and its config file, and write both as one vocoder file.

    Args:
        config: the config file; None for the one beside the checkpoint.
        licence: of the weights, noted in the file.

    Raises:
        UserError: a file cannot be read or written, the weights are not those of the generator that the config
            describes, or PyTorch is not installed.
    """
    described = read_config(config or find_config(checkpoint))
    weights = generator_weights(read_torch_weights(checkpoint), source=str(checkpoint))
    generator = make_generator(described.generator, n_mels=described.features.n_mels)
    set_weights(generator, weights, source=str(checkpoint))
    info = VocoderInfo.make(
        described.generator,
        features=described.features,
        source=checkpoint.name,
        source_sha256=file_sha256(checkpoint),
        licence=licence or UNKNOWN_LICENCE,
    )
    write_vocoder(out, generator, info=info)
    return Converted(info, generator.count_params())
