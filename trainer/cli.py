"""The command `myxtts-train`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from shared.config import load_config, read_yaml
from shared.errors import UserError
from shared.locks import read_lock
from trainer.command_line import log, run_command
from trainer.config.speech_bounds import MAX_SPEECH_S, MAX_TOKENS, MIN_SPEECH_S
from trainer.config.train_config import TrainConfig
from trainer.data.dataset_cache import local_dataset
from trainer.distributed.tf_config import parse_tf_config
from trainer.platform.tf_setup import start_tensorflow
from trainer.vocoder_cli import vocoder as vocoder_commands

# TensorFlow takes seconds to import, so each command imports its own modules after options and settings were checked.


_data = click.option(
    "--data", metavar="PATH|URL", required=True, help="Folder of the dataset, or its address; that one is copied here."
)
_run = click.option("--run", type=click.Path(path_type=Path), required=True, help="Folder of the run.")
_seconds = click.option(
    "--seconds",
    "max_duration_s",
    type=click.FloatRange(min=MIN_SPEECH_S, max=MAX_SPEECH_S),
    default=20.0,
    show_default=True,
    help="Maximum duration of the speech.",
)
_checkpoint = click.option(
    "--checkpoint", help="best, last, or a step; by default the best if there is one, else the last."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Train an XTTS on shards, evaluate it, and export it; `myxtts-speak` makes it speak."""


@cli.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("overrides", nargs=-1)
@_data
@_run
@click.option("--plain-malloc", is_flag=True, help="Do not tune glibc's allocator: less memory, slower input.")
@click.option(
    "--break-lock", is_flag=True, help="Train even if RUN is locked, because the process that held the lock is gone."
)
def train(config: Path, overrides: tuple[str, ...], data: str, run: Path, plain_malloc: bool, break_lock: bool) -> None:
    """Train with CONFIG from the run's last checkpoint on; OVERRIDES are like optimizer.learning_rate=1e-4."""
    cluster = parse_tf_config(os.environ.get("TF_CONFIG"))
    settings = load_config(config, of=TrainConfig, overrides=overrides)
    folder = local_dataset(data, log=log)
    if settings.auto:
        settings = _tuned(config, overrides, data=folder, run=run)
    allocator = start_tensorflow(plain_malloc=plain_malloc, init_devices=cluster is None, keep_programs=True)
    from trainer.distributed.collectives import Hosts
    from trainer.platform.tf_errors import translate_errors
    from trainer.training.train import train as train_to_the_end

    if cluster is not None:
        click.echo(f"{cluster}: waiting for all of {', '.join(cluster.addresses)}", err=True)
    with translate_errors():
        ended = train_to_the_end(
            settings, data=folder, run=run, allocator=allocator, break_lock=break_lock, hosts=Hosts(cluster)
        )
    click.echo(f"{run}: step {ended.steps}, {ended.outcome}")


def _tuned(config: Path, overrides: tuple[str, ...], *, data: Path, run: Path) -> TrainConfig:
    """The settings of a run that chooses some of them by trials, each in a process of its own."""
    if parse_tf_config(os.environ.get("TF_CONFIG")) is not None:
        raise UserError(
            "TF_CONFIG is set, and auto: true measures one host only; tune on one host (`make tune`), and train on all "
            "of them with the config that it writes"
        )
    from trainer.tools.auto_tune import auto_tuned

    document = TrainConfig.overridden(read_yaml(config), words=overrides)
    given = TrainConfig.overridden({}, words=overrides)
    return TrainConfig.model_validate(auto_tuned(document, given=given, data=data, run=run, log=log))


@cli.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(min=0.5),
    default=2.0,
    show_default=True,
    help="Seconds between two looks.",
)
@click.option("--once", is_flag=True, help="Look once, print what there is, and end.")
def monitor(run: Path, every_s: float, once: bool) -> None:
    """Watch the training of RUN from outside: progress, losses, its process, the GPUs; ends with Ctrl-C."""
    from trainer.tools.monitor import Monitor, watch

    watch(Monitor(run), every_s=every_s, once=once)


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
def inspect(config: Path, overrides: tuple[str, ...], data: str, out: Path | None) -> None:
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
    folder = local_dataset(data, log=log)
    with read_lock(folder):
        inspection = inspect_input(settings, dataset=open_dataset(folder))
    Console(highlight=False).print(inspection_tables(inspection, config=settings))
    if out is not None:
        write_plot(inspection, path=out, title=data)
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
def profile(config: Path, overrides: tuple[str, ...], data: str, out: Path, steps: int) -> None:
    """Measure training with CONFIG on this host: each batch shape, the input; record steps for TensorBoard."""
    if parse_tf_config(os.environ.get("TF_CONFIG")) is not None:
        raise UserError("TF_CONFIG is set: a profile measures one host only; run it with `env -u TF_CONFIG`")
    settings = load_config(config, of=TrainConfig, overrides=overrides)
    folder = local_dataset(data, log=log)
    start_tensorflow()
    from rich.console import Console

    from trainer.data.dataset_checks import open_dataset
    from trainer.platform.tf_errors import translate_errors
    from trainer.tools.profile import Profiler
    from trainer.tools.profile_table import make_output_folder, profile_lines, profile_table, write_profile

    with read_lock(folder), translate_errors():
        dataset = open_dataset(folder)
        make_output_folder(out, data=folder)
        profiler = Profiler(settings, dataset=dataset, out=out)
        found = profiler.measure(steps=steps, log=log)
        Console(highlight=False).print(profile_table(found))
        for line in profile_lines(found):
            click.echo(line)
        write_profile(found, config=settings, data=data, out=out)
        if found.input_over_steps is None:
            click.echo("no steps were recorded: a batch does not fit into memory")
            return
        profiler.record(steps=steps, log=log)
        click.echo(f"recorded: {out}/plugins/profile; to look at it: pip install xprof; xprof --logdir {out}")


@cli.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("overrides", nargs=-1)
@_data
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The config to write.")
@click.option(
    "--steps", type=click.IntRange(1, 1000), default=10, show_default=True, help="Steps in a row that are timed."
)
@click.option("--raise-batch", is_flag=True, help="Allow a larger batch than CONFIG's, where it is faster.")
def tune(config: Path, overrides: tuple[str, ...], data: str, out: Path, steps: int, raise_batch: bool) -> None:
    """Choose by trials how training with CONFIG uses this host best, and write a config with these choices.

    Chosen are precision, rematerialisation, microbatches, batch shapes, chunks and parallel reads. OVERRIDES, such as
    model.precision=float32, keep their values. Each trial compiles the training step in a process of its own.
    """
    if parse_tf_config(os.environ.get("TF_CONFIG")) is not None:
        raise UserError("TF_CONFIG is set: tuning measures one host only; run it with `env -u TF_CONFIG`")
    load_config(config, of=TrainConfig, overrides=overrides)
    document = TrainConfig.overridden(read_yaml(config), words=overrides)
    from rich.console import Console

    from trainer.tools.tune import Tuner
    from trainer.tools.tuned_config import check_config_path, trials_table, write_tuned_config

    folder = local_dataset(data, log=log)
    check_config_path(out, data=folder)
    given = TrainConfig.overridden({}, words=overrides)
    tuned = Tuner(document=document, given=given, data=folder, steps=steps, raise_batch=raise_batch, log=log).tune()
    Console(highlight=False).print(trials_table(tuned))
    for line in (*map(str, tuned.choices), *tuned.lines):
        click.echo(line)
    write_tuned_config(tuned, path=out, source=config, data=data)
    click.echo(f"{out}: a config with these choices")


@cli.command()
@_run
@_data
@_checkpoint
@click.option(
    "--split", type=click.Choice(["validation", "test"]), default="validation", show_default=True, help="The split."
)
@click.option(
    "--clips", type=click.IntRange(min=0, max=16), help="Clips to synthesize; by default as many as in training."
)
def evaluate(run: Path, data: str, checkpoint: str | None, split: str, clips: int | None) -> None:
    """Evaluate a checkpoint on DATA's validation or test split: losses and synthesis; also in RUN/evaluation.json."""
    folder = local_dataset(data, log=log)
    start_tensorflow(gpus="as needed", keep_programs=True)  # a training may be running on it
    from rich.console import Console

    from trainer.platform.tf_errors import translate_errors
    from trainer.tools.evaluate import eval_table, evaluate_run, write_eval_result

    with translate_errors():
        result = evaluate_run(run, data=folder, split=split, checkpoint=checkpoint, spoken=clips)
    click.echo(f"{run}: {result.checkpoint}, on {result.clips:,} clips of {data}, {split}")
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
    """Export the model: all that `myxtts-speak` needs, and a SavedModel for texts and speech of limited length."""
    start_tensorflow(gpus="hidden")  # a training may be running on it
    from trainer.platform.tf_errors import translate_errors
    from trainer.tools.export import export_run

    with translate_errors():
        exported = export_run(
            run, out=out, max_duration_s=max_duration_s, max_tokens=max_tokens, checkpoint=checkpoint, log=log
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


cli.add_command(vocoder_commands)


def main() -> None:
    """Run the command `myxtts-train`."""
    run_command(cli)
