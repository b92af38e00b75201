"""The moment at which a new dataset takes the place of an older one, whatever is killed meanwhile.

All files lie ready under other names. Then `DATA/.publication.json` is written, which lists every renaming and
removal: with it the new dataset is published. The renamings follow at once; whoever opens the dataset after a
kill carries them on first. Each can be done twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Annotated

import pydantic

from shared.errors import UserError
from shared.files import sync, write_json
from shared.layout import Layout
from shared.place import Place


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def _inside(name: str) -> str:
    if not _is_inside(name):
        raise ValueError("wanted a path below the dataset")
    return name


Inside = Annotated[str, pydantic.AfterValidator(_inside)]


class Publication(pydantic.BaseModel):
    """The content of `.publication.json`; every path is relative to the dataset, and `_SUCCESS` comes last."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    removals: tuple[Inside, ...]
    moves: tuple[tuple[Inside, Inside], ...]  # (from, to)


def publish_files(layout: Layout, *, moves: Iterable[tuple[Place, Place]], removals: Iterable[Place]) -> None:
    """Publish; the caller holds the dataset's lock. The last move brings `_SUCCESS`."""
    publication = Publication(
        removals=tuple(_relative(path, layout=layout) for path in removals),
        moves=tuple((_relative(one, layout=layout), _relative(other, layout=layout)) for one, other in moves),
    )
    for folder in sorted({(layout.root / name).parent for name, _ in publication.moves}):
        sync(folder)
    write_json(layout.journal, publication)
    sync(layout.root)
    complete_publication(layout)


def _relative(path: Place, *, layout: Layout) -> str:
    return path.relative_to(layout.root).as_posix()


def complete_publication(layout: Layout) -> None:
    """Carry out what the journal says, from its start; the caller holds the dataset's lock.

    A journal whose files are gone is dropped: there is no `_SUCCESS` then, and a build makes what is missing.
    """
    publication = _read(layout)
    if publication is None:
        return
    *moves, last = publication.moves
    if (layout.root / last[0]).is_file():  # else the kill came after the last move
        _carry_out(publication.removals, moves, last, root=layout.root, success=layout.success)
    layout.journal.unlink()
    sync(layout.root)


def _carry_out(
    removals: Iterable[str], moves: Sequence[tuple[str, str]], last: tuple[str, str], *, root: Place, success: Place
) -> None:
    success.unlink(missing_ok=True)
    for name in removals:
        (root / name).unlink(missing_ok=True)
    if all([_move(root / one, root / other) for one, other in moves]):
        for folder in sorted({(root / other).parent for _, other in moves}):
            sync(folder)
        _move(root / last[0], root / last[1])


def _move(source: Place, target: Place) -> bool:
    """Whether the file has its name now."""
    try:
        source.replace(target)
    except FileNotFoundError:
        return target.is_file()  # moved before the kill
    return True


def _read(layout: Layout) -> Publication | None:
    try:
        return Publication.model_validate_json(layout.journal.read_bytes())
    except FileNotFoundError:
        return None
    except pydantic.ValidationError as error:
        raise UserError(f"{layout.journal}: not a journal of a build: remove it, and run `make preprocess`") from error


def sums_document(sums: Mapping[str, str]) -> bytes:
    """`sha256sum`'s own format, so that `sha256sum --check _SUCCESS` does."""
    return "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)).encode()


def read_sums(path: Place) -> dict[str, str]:
    """sha256 by the name of a file of the dataset; only of lines that are sound, none where the file is not there."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    parts = [line.partition("  ") for line in lines]
    return {name: digest for digest, _, name in parts if len(digest) == 64 and _is_inside(name)}
