"""Every shell and Python block of the README and of the site does what the page says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.docs.conftest import run_block
from tests.docs.pages import BLOCK, PAGES, ROOT, blocks

WITH_BLOCKS = [page for page in PAGES if any(block.skipped is None for block in blocks(page))]
ALL = [block for page in PAGES for block in blocks(page)]


@pytest.fixture(scope="module")
def checks(request: pytest.FixtureRequest, make_workplace: Callable[[], Path]) -> Iterator[dict[Path, Future[None]]]:
    """The checks of the chosen pages; two pages are checked at a time, in threads that wait for their commands."""
    test = test_the_blocks_of_a_page_run_one_after_another
    chosen = [item for item in request.session.items if isinstance(item, pytest.Function) and item.function is test]
    with ThreadPoolExecutor(max_workers=2) as executor:
        pages = [item.callspec.params["page"] for item in chosen]
        yield {page: executor.submit(check_blocks, page, folder=make_workplace()) for page in pages}
        executor.shutdown(cancel_futures=True)


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_run_one_after_another(page: Path, checks: dict[Path, Future[None]]) -> None:
    checks[page].result()


def check_blocks(page: Path, *, folder: Path) -> None:
    """Run the blocks of a page in a folder of its own, and compare what they print with what the page shows."""
    printed = ""
    for block in blocks(page):
        if block.is_printed:
            assert [line for line in block.code.splitlines() if masked(line) not in printed] == [], (
                f"{block}\n{printed}"
            )
        elif block.skipped is None:
            ended = run_block(block, folder=folder)
            assert ended.returncode == block.exit_code, f"{block}\n{block.to_run}\n{ended.stdout[-6000:]}"
            printed += masked(ended.stdout)


def masked(text: str) -> str:
    """The text without numbers and digests, with single spaces: figures differ between runs, and so do their widths."""
    return re.sub(r" +", " ", re.sub(r"\b[0-9a-f]{8,}\b|[\d.,]*\d", "#", text))


def test_a_block_that_is_not_run_says_why() -> None:
    """A reason that is not in the list is refused where the pages are read."""
    assert {block.skipped for block in ALL} - {None} <= {
        "download",
        "GPU",
        "cluster",
        "container",
        "other machine",
        "accounts",
    }


def test_every_fence_names_its_language() -> None:
    for page in PAGES:
        languages = {match["language"] for match in BLOCK.finditer(page.read_text(encoding="utf-8"))}
        assert languages <= {"sh", "python", "text", "yaml"}, page


def test_every_make_target_that_a_document_names_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        named = set(
            re.findall(r"(?:`|^|&& |\| )make (?:-n )?([a-z][a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
        )
        assert named <= targets, page


def test_the_quickstart_is_the_four_commands_that_the_pages_run() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "\nquickstart: preprocess validate train synthesize  ##" in makefile
