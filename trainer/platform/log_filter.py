"""Hides what TensorFlow's C++ code writes to stderr before any log level applies, or although nothing is wrong."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

# TensorFlow tries to read a kept program as text before it reads it as what it is. On a processor with AVX-512 it warns
# that the processor lacks "prefer-no-gather" and "prefer-no-scatter", which are preferences of the compiler. There
# oneDNN is in use: TensorFlow says so, and at the first operation on float16, that oneDNN has none for it.
_NOTES = (
    r"absl::InitializeLog\(\) is called|Could not find cuda drivers|failed call to cuInit"
    r"|oneDNN custom operations are on|oneDNN supports DT_HALF only on"
    r"|Error parsing text-format tensorflow\.XlaSerializedCacheEntry"
    r"|Target machine feature \+prefer-no-(gather|scatter) is not"
)

# A line that begins like those of TensorFlow's log waits for its end; anything else, such as a progress bar, does not.
_FILTER = """
import os, re, sys
notes, out, held = re.compile(sys.argv[1].encode()), sys.stderr.buffer, b""
def write(text):
    if not notes.search(text):
        out.write(text)
        out.flush()
while chunk := os.read(0, 1 << 16):
    *lines, held = (held + chunk).split(b"\\n")
    for line in lines:
        write(line + b"\\n")
    if held[:1] not in (b"I", b"W", b"E", b"F"):
        write(held)
        held = b""
write(held)
"""

FILTER_END_S = 5.0


@contextlib.contextmanager
def hide_notes() -> Iterator[None]:
    """Filter the known notes out of everything written to the file descriptor of stderr.

    The filter is a separate process: if TensorFlow aborts this process, its last message still gets through.
    """
    sys.stderr.flush()
    stderr = os.dup(2)
    command = [sys.executable, "-I", "-S", "-c", _FILTER, _NOTES]
    filtering = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    assert filtering.stdin is not None
    os.dup2(filtering.stdin.fileno(), 2)
    filtering.stdin.close()
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        with contextlib.suppress(subprocess.TimeoutExpired):  # a child process may still hold the pipe open
            filtering.wait(FILTER_END_S)
