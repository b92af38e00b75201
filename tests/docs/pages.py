"""The documents, the shell and Python blocks in them, and what these print.

An HTML comment directly before a block tells the test how to run it, one instruction a line:

    <!-- test
    skip: download                 it is not run: it needs a download, a GPU, a cluster, a container or another machine
    replace: OLD => NEW            this text of the block is replaced, for instance by a smaller config; `make -n` is
                                   for a command that another page runs, or that takes half an hour
    exit: 1                        the exit code that is expected
    printed                        of a text block: a block above it prints these lines, but for their numbers
    -->
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
REASONS = {"download", "GPU", "cluster", "container", "other machine", "accounts"}

BLOCK = re.compile(
    r"(?:^<!-- test\b(?P<instructions>.*?)-->\n+)?^```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """A shell or Python block of a page."""

    page: Path
    line: int
    language: str  # sh, python, or text that a block above prints
    code: str
    skipped: str | None = None
    replacements: tuple[tuple[str, str], ...] = ()
    exit_code: int = 0
    is_printed: bool = False

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def to_run(self) -> str:
        """The code with its replacements."""
        code = self.code
        for old, new in self.replacements:
            assert old in code, f"{self}: {old!r} is not in the block"
            code = code.replace(old, new)
        return code


def blocks(page: Path) -> list[Block]:
    """The blocks of a page in their order.

    Raises:
        ValueError: an instruction is unknown.
    """
    text = page.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("code"))
        block = Block(page, line, match["language"], match["code"])
        found.append(_instructed(block, match["instructions"] or ""))
    return [block for block in found if block.language in ("sh", "python") or block.is_printed]


def _instructed(block: Block, instructions: str) -> Block:
    for line in filter(None, map(str.strip, instructions.splitlines())):
        word, _, value = line.partition(":")
        value = value.strip()
        if word == "skip" and value in REASONS:
            block = block._replace(skipped=value)
        elif word == "replace" and " =>" in value:
            old, _, new = value.replace("\\n", "\n").partition(" =>")
            block = block._replace(replacements=(*block.replacements, (old, new.removeprefix(" "))))
        elif word == "printed":
            block = block._replace(is_printed=True)
        elif word == "exit":
            block = block._replace(exit_code=int(value))
        else:
            raise ValueError(f"{block}: unknown instruction {line!r}")
    return block
