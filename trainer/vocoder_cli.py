"""`myxtts-train vocoder`: vocoders, which turn mels into samples."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import click

from shared.config import load_config
from shared.errors import UserError, writing
from trainer.command_line import log
from trainer.config.vocoder_train_config import VocoderTrainConfig
from trainer.data.dataset_cache import local_dataset
from trainer.platform.tf_setup import start_tensorflow

_file = click.Path(dir_okay=False, path_type=Path)


@click.group()
def vocoder() -> None:
    """Train vocoders, convert those of others, and compare them; `--vocoder` of myxtts-speak uses them."""


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


@vocoder.command()
@click.argument("clips", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--features", help="The preset of the mels, such as hifigan-22k; by default, the mels of the vocoder.")
@click.option("--vocoder", "paths", type=_file, multiple=True, help="A vocoder file; several are compared.")
@click.option("--out", type=_file, help="A .jsonl file for the figures of each clip.")
@click.option(
    "--listener",
    "listener_name",
    default="none",
    show_default=True,
    help="What writes down the words of the sounds and of the recordings: as in `myxtts-speak evaluate`.",
)
@click.option("--language", default="en", show_default=True, help="Language that the listener hears.")
def evaluate(
    clips: tuple[Path, ...],
    features: str | None,
    paths: tuple[Path, ...],
    out: Path | None,
    listener_name: str,
    language: str,
) -> None:
    """Send CLIPS through vocoders and Griffin-Lim, and compare the sounds with the recordings (copy-synthesis).

    CLIPS are recordings that the vocoders were not trained on, or folders of them.
    """
    from trainer.evaluation.packages import check_packages

    check_packages("librosa", "soxr", "jiwer")
    from shared.features import preset
    from trainer.evaluation.listeners import transcriber
    from trainer.speech.recording import find_recordings, read_recordings

    asked, found = None if features is None else preset(features), find_recordings(clips)
    if asked is None and not paths:
        raise UserError("neither --features nor --vocoder: expected one of them, which says what kind of mels to make")
    # With --features, the command reports a wrong name of a listener before TensorFlow starts.
    hear = functools.partial(transcriber, listener_name, language=language)
    transcribe = None if asked is None else hear(rate_hz=asked.sample_rate_hz)
    start_tensorflow(gpus="as needed")
    from rich.console import Console
    from rich.progress import track

    from shared.files import write_bytes
    from trainer.platform.tf_errors import translate_errors
    from trainer.tools.evaluate_vocoder import figures_table, mean_figures, measure_vocoders, open_vocoders

    with translate_errors():
        vocoders, spec = open_vocoders(paths, spec=asked)
        if asked is None:
            transcribe = hear(rate_hz=spec.sample_rate_hz)
        recordings = read_recordings(found, spec=spec)
        measured = measure_vocoders(recordings, vocoders=vocoders, spec=spec, transcribe=transcribe)
        shown = track(measured, "clips", total=len(found) * len(vocoders), console=Console(stderr=True), transient=True)
        rows = [one.row() for one in shown]
    title = f"copy-synthesis of {len(found):,} recordings, mels of {spec.name}"
    Console(highlight=False).print(figures_table(mean_figures(rows), title=title))
    if out is not None:
        with writing(out):
            write_bytes(out, "".join(f"{json.dumps(row)}\n" for row in rows).encode())


@vocoder.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--data", metavar="PATH|URL", required=True, help="A dataset of the recordings that RUN knows.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder for the mels.")
@click.option("--checkpoint", help="best, last or a step; by default the best one, or else the last.")
def mels(run: Path, data: str, out: Path, checkpoint: str | None) -> None:
    """Predict the mel of each clip of DATA by the model of RUN, for the setting `mels` of a vocoder's training."""
    folder = local_dataset(data, log=log)
    start_tensorflow(gpus="as needed", keep_programs=True)
    from trainer.platform.tf_errors import translate_errors
    from trainer.tools.predict_mels import predict_mels

    with translate_errors():
        predicted = predict_mels(run, data=folder, out=out, checkpoint=checkpoint, log=log)
    click.echo(f"{out}: the mels of {predicted.clips:,} clips, predicted by {run}, {predicted.checkpoint}")


@vocoder.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("overrides", nargs=-1)
@click.option(
    "--data",
    metavar="PATH|URL",
    required=True,
    help="A dataset built with waveform_dtype=int16, or with mel_dtype=none.",
)
@click.option("--run", type=click.Path(path_type=Path), required=True, help="Folder of the run.")
@click.option("--break-lock", is_flag=True, help="Train even if RUN is locked, because its process is gone.")
def train(config: Path, overrides: tuple[str, ...], data: str, run: Path, break_lock: bool) -> None:
    """Train a vocoder with CONFIG from the run's last checkpoint on; RUN/vocoder.safetensors is the best so far."""
    settings = load_config(config, of=VocoderTrainConfig, overrides=overrides)
    folder = local_dataset(data, log=log)
    start_tensorflow(keep_programs=True)
    from trainer.platform.tf_errors import translate_errors
    from trainer.vocoder_training.train import train_vocoder

    with translate_errors():
        fitted = train_vocoder(settings, data=folder, run=run, break_lock=break_lock)
    distance = "" if fitted.mel_distance_db is None else f", mel distance {fitted.mel_distance_db:.2f} dB"
    click.echo(f"{fitted.vocoder}: step {fitted.step}{distance}; curves and sounds: {run / 'summary.html'}")
