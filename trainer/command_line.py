"""Runs a console command of this room: how errors end it."""

from __future__ import annotations

import os
import signal
import sys

import click

from shared.errors import UserError
from shared.interrupt import exit_interrupted
from shared.stderr import ignore_stderr_errors
from trainer.training.signals import Interrupted


def run_command(cli: click.Group) -> None:
    """Run a command: a user's mistake is one line and exit code 2, a signal one line and 128 plus its number."""
    ignore_stderr_errors()
    try:
        cli(standalone_mode=False)
    except Interrupted as interrupted:
        click.echo(str(interrupted), err=True)
        sys.exit(interrupted.exit_code)
    except UserError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:  # whoever read standard output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
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
        exit_interrupted("interrupted")


def log(line: str) -> None:
    """Print a line about the work itself, on stderr; stdout is for results."""
    click.echo(line, err=True)
