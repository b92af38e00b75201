"""`myxtts-speak voice`: the saved voices of a run."""

from __future__ import annotations

import functools
from pathlib import Path

import click

from trainer.checkpoint.checkpoint_files import run_info_path
from trainer.platform.tf_setup import start_tensorflow

_run = click.argument("run", type=click.Path(path_type=Path))


@click.group()
def voice() -> None:
    """Save, list and delete the voices of a run."""


@voice.command(name="save")
@_run
@click.argument("name")
@click.argument("clips", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--replace", is_flag=True, help="Replace a voice of the same name.")
def save_voice(run: Path, name: str, clips: tuple[Path, ...], replace: bool) -> None:
    """Save the voice of one or several CLIPS of a speaker as NAME.

    The file serves every run that was trained on mels like RUN's, and may be copied to other machines.
    """
    from trainer.speech.reference import read_reference
    from trainer.speech.voice_store import VoiceStore, check_name

    check_name(name)
    references = [read_reference(path) for path in clips]
    start_tensorflow(gpus="hidden")
    from trainer.checkpoint.run_dir import read_run_info
    from trainer.speech.voice import make_voice

    made = make_voice(references, contract=read_run_info(run).contract, name=name)
    path = VoiceStore(run / "voices").save(made, replace=replace)
    count = "1 clip" if len(clips) == 1 else f"{len(clips)} clips"
    click.echo(f"{path}: voice {name}, {made.duration_s:.1f} s of {count}")


@voice.command(name="list")
@_run
def list_voices(run: Path) -> None:
    """List the saved voices of RUN: name, seconds of clips, file."""
    from trainer.speech.voice_store import VoiceStore

    run_info_path(run)
    for one in VoiceStore(run / "voices").list_voices(log=functools.partial(click.echo, err=True)):
        click.echo(f"{one.voice.name}\t{one.voice.duration_s:.1f} s\t{one.path}")


@voice.command(name="delete")
@_run
@click.argument("name")
def delete_voice(run: Path, name: str) -> None:
    """Delete the saved voice NAME of RUN."""
    from trainer.speech.voice_store import VoiceStore

    run_info_path(run)
    VoiceStore(run / "voices").delete(name)
