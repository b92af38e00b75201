"""The one thread that runs the model, and the bound on the requests that wait for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from trainer.server.api_errors import ApiError

P = ParamSpec("P")
R = TypeVar("R")


class ModelThread:
    """Runs functions one after another in a thread of its own.

    A request is admitted first. The sentences of several admitted requests take turns.
    """

    def __init__(self, *, max_requests: int):
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        self._max_requests = max_requests
        self.requests = 0  # admitted and not finished

    @contextlib.contextmanager
    def admitted(self) -> Iterator[None]:
        """Admit a request for the duration of the block.

        Raises:
            ApiError: as many requests as allowed are admitted.
        """
        if self.requests >= self._max_requests:
            raise ApiError(f"{self.requests} requests are being spoken or wait; try again later", status=429)
        self.requests += 1
        try:
            yield
        finally:
            self.requests -= 1

    async def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function in the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: function(*args, **kwargs))

    async def iterate(self, make: Callable[[], Generator[R, None, None]]) -> AsyncIterator[R]:
        """Admit a request, make a generator in the thread, and yield what it yields.

        The generator is closed when the caller stops early, after the step that is running.
        """
        with self.admitted():
            generator = await self.run(make)
            try:
                while True:
                    found = await self.run(_next_of, generator)
                    if not found:
                        return
                    yield found[0]
            finally:
                with contextlib.suppress(RuntimeError):  # the server ends, and its thread with it
                    self._thread.submit(generator.close)

    def close(self) -> None:
        """End the thread after the function that is running."""
        self._thread.shutdown(wait=True, cancel_futures=True)


def _next_of(generator: Generator[R, None, None]) -> list[R]:
    """The next value in a list; an empty list at the end."""
    for value in generator:
        return [value]
    return []
