"""How long after a loss a cluster begins a job again: longer than a Python worker without work is kept.

A job that restarts sooner finds the dead worker of before, and fails again until its attempts are used up.
"""

from __future__ import annotations

import re

from pipelines.execution.flink.responses import settings
from shared.errors import UserError

DELAY_S = 6  # of the cluster of `make flink-up`
# A worker lives from one stage to the next if that begins within this time, which saves seconds of imports: so long it
# may wait for another that has one shard more.
WORKER_KEPT_S = DELAY_S - 1

# Of Flink's strategies, which of their settings says when; each is 1 s where it is not set.
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
    """The cluster's strategy, in its own words.

    Raises:
        UserError: a lost worker would end a job, or a job would begin again too soon.
    """
    found = settings(master)
    strategy = next((found[key] for key in ("restart-strategy.type", "restart-strategy") if key in found), "none")
    if strategy not in _DELAYS:
        raise UserError(f"{strategy}: a job ends with the first worker that is lost; {_advice()}")
    delay = found.get(f"restart-strategy.{strategy}.{_DELAYS[strategy]}", _DEFAULT_DELAY)
    if seconds(delay) <= WORKER_KEPT_S:
        raise UserError(
            f"{strategy} after {delay}, expected over {WORKER_KEPT_S} s, for so long is a worker kept; {_advice()}"
        )
    return f"{strategy}, after {delay}"


def seconds(duration: str) -> float:
    """Of a duration as Flink writes it.

    Raises:
        UserError: it is none.
    """
    match = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", duration.lower())
    if match is None or match[2] not in _UNITS_S:
        raise UserError(
            f"a delay of {duration!r}, which this program does not understand; expected such as `{DELAY_S} s`"
        )
    return int(match[1]) * _UNITS_S[match[2]]


def _advice() -> str:
    expected = f"{{type: fixed-delay, fixed-delay: {{attempts: 5, delay: {DELAY_S} s}}}}"
    return f"its configuration wants restart-strategy: {expected}"
