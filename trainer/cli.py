"""The command `myxtts-train`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TextIO

import click

from shared.config import load_config
from shared.errors import UserError
from shared.locks import read_lock
from shared.stderr import ignore_stderr_errors
from trainer.config.speech_bounds import MAX_CHARACTERS, MAX_SPEECH_S, MAX_TOKENS, MIN_SPEECH_S
from trainer.config.train_config import TrainConfig
from trainer.distributed.tf_config import parse_tf_config
from trainer.platform.tf_setup import start_tensorflow
from trainer.training.signals import Interrupted

# TensorFlow takes seconds to import, so each command imports its own modules after options and settings were checked.


def _local(context: click.Context, parameter: click.Parameter, value: str) -> Path:
    """The path of a local dataset; raises UserError for the address of an object store."""
    if "://" in value:
        raise UserError(f"{value}: the trainer reads local datasets; copy it here first (see docs/runners.md)")
    return Path(value)


def _log(line: str) -> None:
    click.echo(line, err=True)


def _read_text(file: TextIO) -> str:
    """At most one character more than a text may have; raises UserError if it is not UTF-8."""
    try:
        return file.read(MAX_CHARACTERS + 1)
    except UnicodeDecodeError as error:
        raise UserError(f"{file.name}: not UTF-8 (byte {error.start}: {error.reason})") from error


_data = click.option("--data", metavar="PATH", callback=_local, required=True, help="Folder of the dataset.")
_run = click.option("--run", type=click.Path(path_type=Path), required=True, help="Folder of the run.")
_seconds = click.option(
    "--seconds",
    "max_duration_s",
    type=click.FloatRange(min=MIN_SPEECH_S, max=MAX_SPEECH_S),
    default=20.0,
    show_default=True,
    help="Maximum duration of the speech; of each sentence, where there are several.",
)
_checkpoint = click.option(
    "--checkpoint", help="best, last, or a step; by default the best if there is one, else the last."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Train an XTTS on shards, evaluate it, and synthesize speech."""


@cli.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("overrides", nargs=-1)
@_data
@_run
@click.option("--plain-malloc", is_flag=True, help="Do not tune glibc's allocator: less memory, slower input.")
@click.option(
    "--break-lock", is_flag=True, help="Train even if RUN is locked, because the process that held the lock is gone."
)
def train(
    config: Path, overrides: tuple[str, ...], data: Path, run: Path, plain_malloc: bool, break_lock: bool
) -> None:
    """Train with CONFIG from the run's last checkpoint on; OVERRIDES are like optimizer.learning_rate=1e-4."""
    cluster = parse_tf_config(os.environ.get("TF_CONFIG"))
    settings = load_config(config, of=TrainConfig, overrides=overrides)
    allocator = start_tensorflow(plain_malloc=plain_malloc, init_devices=cluster is None)
    from trainer.distributed.collectives import Hosts
    from trainer.platform.tf_errors import translate_errors
    from trainer.training.train import train as train_to_the_end

    if cluster is not None:
        click.echo(f"{cluster}: waiting for all of {', '.join(cluster.addresses)}", err=True)
    with translate_errors():
        ended = train_to_the_end(
            settings, data=data, run=run, allocator=allocator, break_lock=break_lock, hosts=Hosts(cluster)
        )
    click.echo(f"{run}: step {ended.steps}, {ended.outcome}")


@cli.command()
@_run
def doctor(run: Path) -> None:
    """Check the machine for what training needs; exit 0 if nothing is missing, else 1."""
    # a training may be running on it; devices, and whether they are compiled for, are looked at later
    start_tensorflow(gpus="as needed", init_devices=False, check_compiler=False)
    from trainer.tools.doctor import check_environment

    checks = []
    for one in check_environment(run):
        click.echo(one)
        checks.append(one)
    sys.exit(any(one.trouble for one in checks))


@cli.command(name="inspect-input")
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("overrides", nargs=-1)
@_data
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="A plot to write (.png, .svg, .pdf).")
def inspect(config: Path, overrides: tuple[str, ...], data: Path, out: Path | None) -> None:
    """Show the batches that training with CONFIG gets: shapes, padding, sampling; only manifests are read."""
    settings = load_config(config, of=TrainConfig, overrides=overrides)
    start_tensorflow(gpus="hidden")  # planning needs none, and a training may be running on it
    from rich.console import Console

    from trainer.data.dataset_checks import open_dataset
    from trainer.data.inspection import inspect_input
    from trainer.monitoring.input_tables import inspection_tables
    from trainer.tools.inspection_plot import check_plot_path, write_plot

    if out is not None:
        check_plot_path(out)
    with read_lock(data):
        inspection = inspect_input(settings, dataset=open_dataset(data))
    Console(highlight=False).print(inspection_tables(inspection, config=settings))
    if out is not None:
        write_plot(inspection, path=out, title=str(data))
        click.echo(f"\nplot: {out}")


@cli.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("overrides", nargs=-1)
@_data
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder of the profile.")
@click.option(
    "--steps",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    help="Steps for each shape; at most 20 are recorded.",
)
def profile(config: Path, overrides: tuple[str, ...], data: Path, out: Path, steps: int) -> None:
    """Measure training with CONFIG on this host: each batch shape, the input; record steps for TensorBoard."""
    if parse_tf_config(os.environ.get("TF_CONFIG")) is not None:
        raise UserError("TF_CONFIG is set: a profile measures one host only; run it with `env -u TF_CONFIG`")
    settings = load_config(config, of=TrainConfig, overrides=overrides)
    start_tensorflow()
    from rich.console import Console

    from trainer.data.dataset_checks import open_dataset
    from trainer.platform.tf_errors import translate_errors
    from trainer.tools.profile import Profiler
    from trainer.tools.profile_table import make_output_folder, profile_lines, profile_table, write_profile

    with read_lock(data), translate_errors():
        dataset = open_dataset(data)
        make_output_folder(out, data=data)
        profiler = Profiler(settings, dataset=dataset, out=out)
        found = profiler.measure(steps=steps, log=_log)
        Console(highlight=False).print(profile_table(found))
        for line in profile_lines(found):
            click.echo(line)
        write_profile(found, config=settings, data=data, out=out)
        if found.input_over_steps is None:
            click.echo("no steps were recorded: a batch does not fit into memory")
            return
        profiler.record(steps=steps, log=_log)
        click.echo(f"recorded: {out}/plugins/profile; to look at it: pip install xprof; xprof --logdir {out}")


@cli.command()
@_run
@click.option("--text", help="The text to speak, of any length; an empty line separates paragraphs.")
@click.option("--file", type=click.File(encoding="utf-8"), help="A file with the text; - is standard input.")
@click.option("--language", required=True, help="Language of the text: a FLORES-200 code, or a name such as en or deu.")
@click.option(
    "--reference",
    type=click.Path(path_type=Path),
    help="A clip of the voice; its loudest seconds are used. Without a clip the model chooses a voice.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="The file to write: .wav, .flac, .ogg or .mp3.",
)
@_checkpoint
@click.option("--tokenizer", help="Path of the tokenizer, if it has moved since the shards were built.")
@_seconds
@click.option(
    "--seed",
    type=click.IntRange(min=0, max=2**31 - 1),
    default=1,
    show_default=True,
    help="Seed of the noise; another seed gives another reading.",
)
@click.option(
    "--temperature",
    type=click.FloatRange(0.0, 2.0),
    default=1.0,
    show_default=True,
    help="Scale of the noise; less is more even, 0 is none.",
)
@click.option("--mel", type=click.Path(dir_okay=False, path_type=Path), help="A .npy file for the mel, for a vocoder.")
@click.option(
    "--tokens", type=click.Path(dir_okay=False, path_type=Path), help="A .npy file for the token ids, for an export."
)
@click.option(
    "--crop",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A .npy file for the used part of the reference, for an export.",
)
def synthesize(
    run: Path,
    text: str | None,
    file: TextIO | None,
    language: str,
    reference: Path | None,
    out: Path,
    checkpoint: str | None,
    tokenizer: str | None,
    max_duration_s: float,
    seed: int,
    temperature: float,
    mel: Path | None,
    tokens: Path | None,
    crop: Path | None,
) -> None:
    """Synthesize a text in the voice of a reference clip."""
    if (text is None) == (file is None):
        raise UserError("expected either --text or --file")
    from trainer.speech.audio_file import check_suffix
    from trainer.speech.request import SynthesisRequest, prepare_request

    check_suffix(out)
    words = text or "" if file is None else _read_text(file)
    request = prepare_request(SynthesisRequest(text=words, language=language, reference=reference), run=run)
    start_tensorflow(gpus="as needed")  # a training may be running on it
    from trainer.platform.tf_errors import translate_errors
    from trainer.speech.generation import Sampling
    from trainer.tools.synthesize import Arrays, result_lines, synthesize_file

    with translate_errors():
        result = synthesize_file(
            request,
            run=run,
            out=out,
            tokenizer=tokenizer,
            sampling=Sampling(seed, temperature),
            max_sentence_s=max_duration_s,
            checkpoint=checkpoint,
            arrays=Arrays(mel, tokens, crop),
            log=_log,
        )
    for line in result_lines(result, out=out, max_sentence_s=max_duration_s):
        click.echo(line)


@cli.command()
@_run
@_data
@_checkpoint
@click.option(
    "--clips", type=click.IntRange(min=0, max=16), help="Clips to synthesize; by default as many as in training."
)
def evaluate(run: Path, data: Path, checkpoint: str | None, clips: int | None) -> None:
    """Evaluate a checkpoint on DATA's validation split: losses and synthesis; also in RUN/evaluation.json."""
    start_tensorflow(gpus="as needed")  # a training may be running on it
    from rich.console import Console

    from trainer.platform.tf_errors import translate_errors
    from trainer.tools.evaluate import eval_table, evaluate_run, write_eval_result

    with translate_errors():
        result = evaluate_run(run, data=data, checkpoint=checkpoint, spoken=clips)
    click.echo(f"{run}: {result.checkpoint}, on {result.clips:,} clips of {data}")
    Console(highlight=False).print(eval_table(result))
    write_eval_result(result, run=run, data=data)


@cli.command()
@_run
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder of the export.")
@_checkpoint
@_seconds
@click.option(
    "--tokens",
    "max_tokens",
    type=click.IntRange(min=1, max=MAX_TOKENS),
    default=400,
    show_default=True,
    help="Maximum length of the text.",
)
def export(run: Path, out: Path, checkpoint: str | None, max_duration_s: float, max_tokens: int) -> None:
    """Export the model: a SavedModel for texts and speech of limited length, weights, config, vocabulary."""
    start_tensorflow(gpus="hidden")  # a training may be running on it
    from trainer.platform.tf_errors import translate_errors
    from trainer.tools.export import export_run

    with translate_errors():
        exported = export_run(
            run, out=out, max_duration_s=max_duration_s, max_tokens=max_tokens, checkpoint=checkpoint, log=_log
        )
    click.echo(f"{out}: {exported.checkpoint}, {exported.parameters:,} parameters")


@cli.command(name="compare-runs")
@click.argument("first", metavar="RUN", type=click.Path(path_type=Path))
@click.argument("second", metavar="OTHER", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The HTML page to write.")
def compare(first: Path, second: Path, out: Path) -> None:
    """Draw two runs on one page, with the settings that differ, and print a short table."""
    from rich.console import Console

    from trainer.tools.compare_runs import compare_runs, comparison_table, write_comparison

    comparison = compare_runs(first, second)
    write_comparison(comparison, path=out)
    Console(highlight=False).print(comparison_table(comparison))
    if comparison.differences:
        click.echo(f"settings that differ: {', '.join(one.key for one in comparison.differences)}")
    click.echo(f"{out}: curves of both runs")


def main() -> None:
    """Run the command: a user's mistake is one line and exit code 2, a signal one line and 128 plus its number."""
    ignore_stderr_errors()
    try:
        cli(standalone_mode=False)
    except Interrupted as interrupted:
        click.echo(str(interrupted), err=True)
        sys.exit(interrupted.exit_code)
    except UserError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except OSError as error:  # errors of the disk name the file
        if error.filename is None:
            raise
        advice = "check that it can be read and written, then run the same command again"
        click.echo(f"error: {error.filename}: {error.strerror}; {advice}", err=True)
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(128 + signal.SIGINT)
