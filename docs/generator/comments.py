"""The comment that explains each field of a class, read from the class' source."""

from __future__ import annotations

import ast
import functools
import inspect
import io
import textwrap
import tokenize


@functools.cache
def field_comments(kind: type) -> dict[str, str]:
    """Comment by field name: at the end of the field's lines, else the block of comment lines directly above it."""
    source = textwrap.dedent(inspect.getsource(kind))
    trailing, alone = _comments(source)
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for statement in definition.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
            behind = [trailing[line] for line in lines if line in trailing]
            found[statement.target.id] = " ".join(behind) or _block_above(statement.lineno, alone)
    return {name: comment for name, comment in found.items() if comment}


def _comments(source: str) -> tuple[dict[int, str], dict[int, str]]:
    """Comments by line: those behind code, and those on a line of their own."""
    trailing, alone = {}, {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            text = token.string.lstrip("#").strip()
            is_alone = not token.line[: token.start[1]].strip()
            (alone if is_alone else trailing)[token.start[0]] = text
    return trailing, alone


def _block_above(line: int, alone: dict[int, str]) -> str:
    first = line
    while first - 1 in alone:
        first -= 1
    return " ".join(alone[number] for number in range(first, line))
