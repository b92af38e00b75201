"""Sends requests to Flink's REST service."""

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
    """Flink or its job server does not answer, so the state of a job is unknown."""


class NotFound(UserError):
    """Flink does not know the requested resource."""


class Conflict(UserError):
    """The resource is in a state that does not allow the request."""


def rest_request(master: str, path: str, *, method: str = "GET") -> Any:
    """The JSON answer of the cluster at `master` (host:port) to a path such as /overview.

    Raises:
        NotFound: the resource does not exist.
        Conflict: its state does not allow the request.
        Unreachable: the cluster does not answer, or answers with something else.
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


# Without the proxies that the environment may name.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
