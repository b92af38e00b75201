"""Checks that a cluster restarts a failed job later than an idle Python worker is kept.

A job that restarts sooner is given the dead worker of before, and fails until its attempts are used up.
"""

from __future__ import annotations

import re

from pipelines.execution.flink.responses import settings
from shared.errors import UserError

DELAY_S = 6  # delay of the cluster of `make flink-up`
# An idle worker is kept for the next stage for this time, which saves seconds of imports. A stage ends when the worker
# with the most shards has finished.
WORKER_KEPT_S = DELAY_S - 1

# The setting with the delay, by strategy; Flink's default is 1 s for each.
_DELAYS = {"fixed-delay": "delay", "failure-rate": "delay", "exponential-delay": "initial-backoff"}
_DEFAULT_DELAY = "1 s"
# org.apache.flink.util.TimeUtils; a number alone is milliseconds
_UNITS_S = {
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("min", "m", "minute", "minutes"), 60.0),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), 1e-3),
}


def check_restart_strategy(master: str) -> str:
    """The restart strategy of the cluster, with its delay.

    Raises:
        UserError: a lost worker would fail the job, or the job would restart too soon.
    """
    found = settings(master)
    strategy = next((found[key] for key in ("restart-strategy.type", "restart-strategy") if key in found), "none")
    if strategy not in _DELAYS:
        raise UserError(f"{strategy}: a job fails with the first worker that is lost; {_advice()}")
    delay = found.get(f"restart-strategy.{strategy}.{_DELAYS[strategy]}", _DEFAULT_DELAY)
    if seconds(delay) <= WORKER_KEPT_S:
        raise UserError(
            f"{strategy} after {delay}, expected more than {WORKER_KEPT_S} s, which an idle worker is kept; {_advice()}"
        )
    return f"{strategy}, after {delay}"


def seconds(duration: str) -> float:
    """Seconds of a duration in Flink's notation.

    Raises:
        UserError: the notation is unknown.
    """
    match = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", duration.lower())
    if match is None or match[2] not in _UNITS_S:
        raise UserError(
            f"a delay of {duration!r}, which this program cannot parse; expected a delay such as `{DELAY_S} s`"
        )
    return int(match[1]) * _UNITS_S[match[2]]


def _advice() -> str:
    expected = f"{{type: fixed-delay, fixed-delay: {{attempts: 5, delay: {DELAY_S} s}}}}"
    return f"set restart-strategy: {expected} in its configuration"
