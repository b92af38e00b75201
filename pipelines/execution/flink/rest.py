"""Flink's REST service: a question, an answer."""

from __future__ import annotations

import http
import http.client
import json
import urllib.error
import urllib.request
from typing import Any

from shared.errors import UserError

TIMEOUT_S = 10.0


class Unreachable(UserError):
    """Nothing that answers as Flink does, or its job server: nobody can say how a job fares."""


class NotFound(UserError):
    """It answers, and knows nothing of what was asked for."""


class Conflict(UserError):
    """What was asked for does not go with the state that the thing is in."""


def rest_request(master: str, path: str, *, method: str = "GET") -> Any:
    """The answer of the cluster at `master` (host:port) to a path such as /overview.

    Raises:
        NotFound: it has no such thing.
        Conflict: it has, but in another state.
        Unreachable: it does not answer, or not as Flink would.
    """
    request = urllib.request.Request(f"http://{master}{path}", method=method)
    try:
        with _DIRECT.open(request, timeout=TIMEOUT_S) as answer:
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.NOT_FOUND:
            raise NotFound(f"Flink at {master} knows nothing of {path}") from error
        if error.code == http.HTTPStatus.CONFLICT:
            raise Conflict(f"Flink at {master} refuses {method} {path}: {error.reason}") from error
        raise Unreachable(f"Flink at {master} answers {path} with {error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise Unreachable(
            f"no Flink cluster answers at {master} ({reason}); `make flink-up` starts one on this machine, "
            "FLINK_MASTER=host:port names another"
        ) from error


# A cluster is asked directly, whatever proxy the environment names for the world outside.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
