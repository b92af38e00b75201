"""`myxtts-train vocoder`: vocoders, which turn mels into samples."""

from __future__ import annotations

from pathlib import Path

import click

from shared.errors import UserError
from trainer.platform.tf_setup import start_tensorflow

_file = click.Path(dir_okay=False, path_type=Path)


@click.group()
def vocoder() -> None:
    """Convert vocoders of others, for `--vocoder` of myxtts-speak."""


@vocoder.command()
@click.argument("file", type=_file)
@click.option("--config", type=_file, help="The checkpoint's config; by default config.json or config.yaml beside it.")
@click.option("--out", type=_file, required=True, help="The .safetensors file to write.")
@click.option("--licence", help="The licence of the weights, which is noted in the file.")
def convert(file: Path, config: Path | None, out: Path, licence: str | None) -> None:
    """Convert FILE, the PyTorch checkpoint of a HiFi-GAN, BigVGAN or Vocos, to a vocoder file.

    PyTorch must be installed for this command alone. Code that FILE may hold is not run.
    """
    if out.suffix != ".safetensors":
        raise UserError(f"{out}: expected the name of a .safetensors file")
    start_tensorflow(gpus="hidden", check_compiler=False)
    from trainer.tools.convert_vocoder import convert_vocoder

    info, parameters = convert_vocoder(file, config=config, out=out, licence=licence)
    click.echo(
        f"{out}: {info.generator.kind}, {parameters:,} parameters, for mels of {info.features.name}; "
        f"licence: {info.licence}"
    )
