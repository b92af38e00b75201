"""A package with text normalizers, as a user's own would be installed."""

from __future__ import annotations

import hashlib
from pathlib import Path

DISTRIBUTION, MODULE = "shouting-normalizer", "shouting_normalizer"
FUNCTIONS = '''
def shout(text, *, language):
    """Says how loud it is: a word and a number, which the preparation reads."""
    return text.replace("loud", "of 90 %" if language == "eng_Latn" else "laut")

def fails(text, *, language):
    raise ValueError("no such word")

def doubles(text, *, language):
    """Not what it returns for what it returned."""
    return text.replace("ough", "ooough").replace("☺", "smile")

def fails_in_lines(text, *, language):
    raise ValueError("one line\\nand another")

def returns_bytes(text, *, language):
    return text.encode()

number = 5
'''
SHA256 = hashlib.sha256(FUNCTIONS.encode()).hexdigest()
IDENTITY = {"name": "shout", "distribution": DISTRIBUTION, "version": "1.0", "sha256": SHA256}
_ENTRIES = """[myxtts.text_normalizers]
shout = shouting_normalizer:shout
fails = shouting_normalizer:fails
doubles = shouting_normalizer:doubles
fails_in_lines = shouting_normalizer:fails_in_lines
returns_bytes = shouting_normalizer:returns_bytes
number = shouting_normalizer:number
absent = no_such_module:shout
"""


def install(folder: Path, *, version: str = "1.0", distribution: str = DISTRIBUTION) -> Path:
    """Write the package into a folder that is to be in the path of modules; return the folder."""
    described = folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    (described / "entry_points.txt").write_text(_ENTRIES)
    (folder / f"{MODULE}.py").write_text(FUNCTIONS)
    return folder
