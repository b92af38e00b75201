"""The site builds, and a page that leads nowhere or a setting that nothing explains ends the build or the test."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.generator import tables
from docs.generator.comments import field_comments
from docs.generator.diagrams import DIAGRAMS, draw
from docs.generator.hooks import MARKER, filled, generators
from docs.generator.settings import missing_meanings, sections
from pipelines.config import BuildConfig
from preprocess.corpora import READERS
from preprocess.utterance import Reason
from shared.config import Config
from shared.records import FIELDS
from tests.docs.pages import PAGES, ROOT
from tests.test_rooms import FLOORS
from trainer.config.train_config import TrainConfig
from trainer.config.vocoder_train_config import VocoderTrainConfig


def built(root: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(root / "site")]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(words, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The site's sources, with links to the code that the generated parts come from."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    for name in ("Makefile", "README.md", "pipelines", "preprocess", "shared", "trainer"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_its_tables_are_filled(copy: Path) -> None:
    ended = built(copy)
    assert ended.returncode == 0, ended.stdout
    pages = {page.name: page.read_text(encoding="utf-8") for page in (copy / "site").glob("*.html")}
    assert "<!-- generated" not in "".join(pages.values())
    assert all(field.name in pages["dataset-format.html"] for field in FIELDS)
    assert "generator" not in {path.name for path in (copy / "site").iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["[nowhere](nowhere.md)", "[no such heading](install.md#no-such-heading)"])
def test_a_dead_link_ends_the_build(copy: Path, broken: str) -> None:
    with (copy / "docs" / "index.md").open("a", encoding="utf-8") as page:
        page.write(f"\n{broken}\n")
    ended = built(copy)
    assert ended.returncode != 0
    assert broken.partition("(")[2].rstrip(")").rpartition("#")[2] in ended.stdout


@pytest.mark.parametrize("model", [BuildConfig, TrainConfig, VocoderTrainConfig])
def test_every_setting_has_a_meaning(model: type[Config]) -> None:
    assert missing_meanings(model) == []


def test_the_reference_has_every_key_once() -> None:
    for model in (BuildConfig, TrainConfig, VocoderTrainConfig):
        keys = [(section.title, one.key) for section in sections(model) for one in section.settings]
        assert len(keys) == len(set(keys))
    keys = {one.key for section in sections(TrainConfig) for one in section.settings}
    assert {"steps", "model.size", "input.costs.compile_s", "optimizer.schedule.kind", "plateau.patience"} <= keys


class Documented(Config):
    behind: int = 1  # a comment behind
    # a comment above,
    # in two lines
    above: int = 2
    neither: int = 3


def test_a_comment_explains_the_field_that_it_stands_beside() -> None:
    assert field_comments(Documented) == {"behind": "a comment behind", "above": "a comment above, in two lines"}


def test_every_reason_is_explained_once() -> None:
    explained = [*tables.MEASURES, *tables.FAILURES]
    assert sorted(explained) == sorted(Reason)


def test_every_reader_is_on_the_page_of_the_corpora() -> None:
    assert all(f"## `{name}`\n" in tables.corpora() for name in READERS)


def test_every_generated_part_is_on_one_page() -> None:
    named = [name for page in PAGES for name in MARKER.findall(page.read_text(encoding="utf-8"))]
    assert sorted(named) == sorted(generators())


def test_a_marker_that_names_nothing_is_an_error() -> None:
    with pytest.raises(KeyError):
        filled("<!-- generated: nothing -->")


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_the_floors_are_those_that_the_rooms_are_held_to(page: str) -> None:
    (block,) = re.findall(r"```text\n(trainer .*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    trainer, pipelines = block.split("pipelines", 1)
    for text, room in ((trainer, "trainer"), (pipelines, "pipelines")):
        named = [name.strip().split(",")[0] for name in text.removeprefix("trainer").replace("\n", " ").split(">")]
        assert named[1:] == list(FLOORS[room][1:]), room


NAMED = re.compile(
    r"(?<![\w./*])((?:shared|preprocess|pipelines|trainer|tests|configs|docker|docs)/[\w/.-]*\w)(?![\w*…-])"
)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.stem)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    paths = {Path(name) for name in NAMED.findall(text) if "gpu.md" not in name}
    modules = {Path(f"{name.replace('.', '/')}.py") for name in re.findall(r"(?:-m |`)(tests\.[a-z_.]+[a-z_])", text)}
    assert [path for path in paths | modules if not (ROOT / path).exists()] == []


def test_every_module_of_a_diagram_exists() -> None:
    for name, boxes in DIAGRAMS.items():
        for module in (part for box in boxes if "/" in box.module for part in box.module.split(", ")):
            folder = next(box.module for box in boxes if module in box.module).rpartition("/")[0]
            assert (ROOT / (module if "/" in module else f"{folder.split(',')[0]}/{module}")).exists(), (name, module)


def test_the_diagrams_are_those_of_the_code() -> None:
    for name, boxes in DIAGRAMS.items():
        committed = (ROOT / "docs" / "images" / f"{name}.svg").read_text(encoding="utf-8")
        assert committed == draw(boxes), f"{name}: draw it again with `make diagrams`"
