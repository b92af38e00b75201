"""myxtts-train: train, judge, and speak."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import click

from shared.config import load_config
from shared.errors import UserError
from shared.locks import read_lock
from shared.stderr import ignore_stderr_errors
from trainer.config.speech_bounds import MAX_SPEECH_S, MAX_TOKENS, MIN_SPEECH_S
from trainer.config.train_config import TrainConfig
from trainer.distributed.tf_config import parse_tf_config
from trainer.platform.tf_setup import start_tensorflow
from trainer.training.signals import Interrupted

# TensorFlow takes seconds to import: each command brings in its own when it runs, after the usage was checked.


def _local(context: click.Context, parameter: click.Parameter, value: str) -> Path:
    """Raises UserError for an address of a store."""
    if "://" in value:
        raise UserError(f"{value}: the trainer reads local datasets; copy it here first (see docs/runners.md)")
    return Path(value)


def _log(line: str) -> None:
    click.echo(line, err=True)


_data = click.option("--data", metavar="PATH", callback=_local, required=True, help="Folder of the dataset.")
_run = click.option("--run", type=click.Path(path_type=Path), required=True, help="Folder of the run.")
_seconds = click.option(
    "--seconds",
    "max_duration_s",
    type=click.FloatRange(min=MIN_SPEECH_S, max=MAX_SPEECH_S),
    default=20.0,
    show_default=True,
    help="The longest speech that there may be.",
)
_checkpoint = click.option("--checkpoint", help="best, last, or a step; otherwise the best where there is one.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Shards to an XLA-compiled XTTS, and speech from it."""


@cli.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("overrides", nargs=-1)
@_data
@_run
@click.option("--plain-malloc", is_flag=True, help="Leave glibc's allocator as it comes: less memory, slower input.")
@click.option("--break-lock", is_flag=True, help="Train though RUN is locked: the process that held it is gone.")
def train(
    config: Path, overrides: tuple[str, ...], data: Path, run: Path, plain_malloc: bool, break_lock: bool
) -> None:
    """Train as CONFIG says, from the run's last checkpoint on; OVERRIDES such as optimizer.learning_rate=1e-4."""
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
    """Check that all is there that a training needs; exit 0 if so, else 1."""
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
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="A picture (.png, .svg, .pdf) to write.")
def inspect(config: Path, overrides: tuple[str, ...], data: Path, out: Path | None) -> None:
    """What training as CONFIG says would be fed: shapes of batches, padding, shares; nothing is read but manifests."""
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
        click.echo(f"\npicture: {out}")


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
    help="Of each shape; up to 20 of them are recorded.",
)
def profile(config: Path, overrides: tuple[str, ...], data: Path, out: Path, steps: int) -> None:
    """What training as CONFIG says would cost on this host: each shape's step, the input; steps are recorded."""
    if parse_tf_config(os.environ.get("TF_CONFIG")) is not None:
        raise UserError("TF_CONFIG is set: a profile is of one host; run it with `env -u TF_CONFIG`")
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
            click.echo("nothing is recorded: a batch does not fit into memory")
            return
        profiler.record(steps=steps, log=_log)
        click.echo(f"recorded: {out}/plugins/profile; to look at it: pip install xprof; xprof --logdir {out}")


@cli.command()
@_run
@click.option("--text", required=True, help="What to say.")
@click.option("--language", required=True, help="Of the text: a FLORES-200 code, or en, deu and the like.")
@click.option(
    "--reference",
    type=click.Path(path_type=Path),
    help="A clip of the voice, of which the loudest seconds are heard; without one it is the model's.",
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The wav to write.")
@_checkpoint
@click.option("--tokenizer", help="Where the tokenizer is now, if it has moved since the shards were built.")
@_seconds
@click.option(
    "--seed",
    type=click.IntRange(min=0, max=2**31 - 1),
    default=1,
    show_default=True,
    help="Of the noise: another one says it otherwise.",
)
@click.option("--mel", type=click.Path(dir_okay=False, path_type=Path), help="The .npy to write for a vocoder.")
@click.option("--tokens", type=click.Path(dir_okay=False, path_type=Path), help="The .npy to write for an export.")
@click.option("--crop", type=click.Path(dir_okay=False, path_type=Path), help="The .npy of the voice, for the same.")
def synthesize(
    run: Path,
    text: str,
    language: str,
    reference: Path | None,
    out: Path,
    checkpoint: str | None,
    tokenizer: str | None,
    max_duration_s: float,
    seed: int,
    mel: Path | None,
    tokens: Path | None,
    crop: Path | None,
) -> None:
    """Speak a text, in the voice of a reference clip."""
    from trainer.speech.request import SynthesisRequest, prepare_request

    request = prepare_request(SynthesisRequest(text=text, language=language, reference=reference), run=run)
    start_tensorflow(gpus="as needed")  # a training may be running on it
    from trainer.platform.tf_errors import translate_errors
    from trainer.speech.synthesizer import synthesize_file

    with translate_errors():
        speech, saved = synthesize_file(
            request,
            run=run,
            out=out,
            tokenizer=tokenizer,
            max_duration_s=max_duration_s,
            seed=seed,
            checkpoint=checkpoint,
            mel=mel,
            tokens=tokens,
            crop=crop,
            log=_log,
        )
    click.echo(f"{out}: {speech.duration_s:.2f} s at {speech.rate_hz} Hz, {speech.ending}; by {saved}")


@cli.command()
@_run
@_data
@_checkpoint
@click.option("--clips", type=click.IntRange(min=0, max=16), help="To be spoken too; otherwise as many as in training.")
def evaluate(run: Path, data: Path, checkpoint: str | None, clips: int | None) -> None:
    """Losses of a checkpoint on DATA's validation split, and how well it speaks; RUN/evaluation.json has them too."""
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
    help="The longest text that it takes.",
)
def export(run: Path, out: Path, checkpoint: str | None, max_duration_s: float, max_tokens: int) -> None:
    """The model for elsewhere: SavedModel for so many seconds and tokens at most, weights, config, vocabulary."""
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
    """The console command; a user's mistake is one line and exit code 2, a signal one line and 128 and its number."""
    ignore_stderr_errors()
    try:
        cli(standalone_mode=False)
    except Interrupted as interrupted:
        click.echo(str(interrupted), err=True)
        sys.exit(interrupted.exit_code)
    except UserError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except OSError as error:  # of a disk: they name the file
        if error.filename is None:
            raise
        what_to_do = "see that it can be read and written to, then give the same command again"
        click.echo(f"error: {error.filename}: {error.strerror}; {what_to_do}", err=True)
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(128 + signal.SIGINT)
