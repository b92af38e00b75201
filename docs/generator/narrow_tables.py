"""Tables for narrow screens: each cell knows its column's heading, and long keys may break at `_` and `.`."""

from __future__ import annotations

import re

TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
ROW = re.compile(r"<tr>(.*?)</tr>", re.DOTALL)
CELL = re.compile(r"<td([^>]*)>(.*?)</td>", re.DOTALL)
HEADING = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)
CODE = re.compile(r"<code>(.*?)</code>", re.DOTALL)
BREAK = re.compile(r"([_./])(?![^<]*>)")  # not within a tag
TAG = re.compile(r"<[^>]+>")


def label_tables(html: str) -> str:
    """The page's HTML with `data-label` on every cell; the style sheet shows it where the rows are stacked."""
    return TABLE.sub(lambda table: _labelled(table[0]), html)


def _labelled(table: str) -> str:
    headings = [TAG.sub("", heading).strip() for heading in HEADING.findall(table)]

    def row(match: re.Match[str]) -> str:
        names = iter(headings)
        return CELL.sub(
            lambda cell: f'<td{cell[1]} data-label="{next(names, "")}">{_breakable(cell[2])}</td>', match[0]
        )

    return ROW.sub(row, table)


def _breakable(cell: str) -> str:
    return CODE.sub(lambda code: BREAK.sub(r"\1<wbr>", code[0]), cell)
