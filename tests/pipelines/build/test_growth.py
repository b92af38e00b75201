"""A build pays only for what is new, and the dataset is that of a build from nothing."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.build import listing
from pipelines.build.job import BuildJob
from preprocess import record
from preprocess.record import Preparation
from preprocess.utterance import MissingReader, Utterance
from shared.errors import UserError
from shared.tables import read_table
from shared.tfrecord import HEADER_BYTES
from tests.pipelines import builds

CLIPS = 24
SETTINGS = ("utterances_per_shard=6", "validation_fraction=0.2", "max_rejected_fraction=1")


class Corpus:
    """A corpus in LJSpeech's layout whose rows and files a test changes; its dataset; and a count of preparations."""

    def __init__(self, folder: Path, *, clips: int):
        self.folder, self.data = folder / "corpus", folder / "data"
        (self.folder / "wavs").mkdir(parents=True)
        self.wavs = sorted((builds.ENGLISH / "wavs").iterdir())
        self.texts: dict[str, str] = {}
        self.removed: set[str] = set()
        self.add(clips)

    def add(self, clips: int) -> None:
        for number in range(len(self.texts), len(self.texts) + clips):
            name = f"N{number}"
            shutil.copy(self.wavs[number % len(self.wavs)], self.wav(name))
            self.texts[name] = f"This is sentence number {'one two three four five six'.split()[number % 6]} of {name}."

    def wav(self, name: str) -> Path:
        return self.folder / "wavs" / f"{name}.wav"

    def build(self, *more: str, data: Path | None = None) -> set[str]:
        """Build; return the ids of the utterances that were prepared."""
        lines = [f"{name}|{text}" for name, text in self.texts.items() if name not in self.removed]
        (self.folder / "metadata.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        prepare, prepared = Preparation.__call__, set()

        def counted(self: Preparation, utterance: Utterance) -> object:
            prepared.add(utterance.id.removeprefix("ljspeech/"))
            return prepare(self, utterance)

        words = builds.overrides_for(self.folder, *SETTINGS, *more)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Preparation, "__call__", counted)
            builds.build(data or self.data, config=builds.LJSPEECH_CONFIG, overrides=words)
        return prepared

    def check_is_that_of_a_build_from_nothing(self, *more: str) -> None:
        fresh = self.data.with_name("fresh")
        self.build(*more, data=fresh)
        assert builds.content(self.data) == builds.content(fresh)
        shutil.rmtree(fresh)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    corpus = Corpus(tmp_path, clips=CLIPS)
    assert corpus.build() == corpus.texts.keys()
    return corpus


def shards(data: Path) -> list[str]:
    return sorted(path.name for path in (data / "shards").iterdir())


def refuse(*args: object, **options: object) -> None:
    raise AssertionError("a job was started")


@pytest.mark.slow
def test_of_a_corpus_that_grows_only_the_new_clips_are_prepared(corpus: Corpus) -> None:
    before = shards(corpus.data)
    corpus.add(3)
    assert corpus.build() == {"N24", "N25", "N26"}
    assert shards(corpus.data) == before
    corpus.check_is_that_of_a_build_from_nothing()


@pytest.mark.slow
def test_clips_that_a_list_leaves_out_cost_no_others_and_come_back_alone(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("ljspeech/N3\tclicks\nN7\n")
    words = f"sources.ljspeech.exclude={tmp_path}/bad.txt"
    assert corpus.build(words) == set()
    corpus.check_is_that_of_a_build_from_nothing(words)
    assert corpus.build() == {"N3", "N7"}
    corpus.check_is_that_of_a_build_from_nothing()


@pytest.mark.slow
@pytest.mark.parametrize("per_shard", [1, 3, 24])
def test_another_number_of_shards_takes_all_records_over(corpus: Corpus, per_shard: int) -> None:
    before, words = shards(corpus.data), f"utterances_per_shard={per_shard}"
    assert corpus.build(words) == set()
    assert shards(corpus.data) != before
    corpus.check_is_that_of_a_build_from_nothing(words)


@pytest.mark.slow
def test_utterances_that_change_their_split_are_taken_over(corpus: Corpus) -> None:
    assert corpus.build("validation_fraction=0.5") == set()
    corpus.check_is_that_of_a_build_from_nothing("validation_fraction=0.5")


@pytest.mark.slow
def test_a_threshold_that_changes_prepares_nothing(corpus: Corpus) -> None:
    for threshold in ("checks.max_duration_s=2.3", "checks.max_duration_s=20"):
        assert corpus.build(threshold) == set()
        corpus.check_is_that_of_a_build_from_nothing(threshold)


@pytest.mark.slow
def test_removed_clips_are_gone(corpus: Corpus) -> None:
    corpus.removed |= {"N3", "N17"}
    assert corpus.build() == set()
    corpus.check_is_that_of_a_build_from_nothing()


@pytest.mark.slow
def test_files_that_were_touched_or_copied_are_compared_by_content(corpus: Corpus) -> None:
    os.utime(corpus.wav("N5"), ns=(1, 1))
    moved = corpus.folder.with_name("elsewhere")
    assert corpus.build() == set()
    corpus.folder = Path(shutil.copytree(corpus.folder, moved))  # new times
    assert corpus.build() == set()
    corpus.check_is_that_of_a_build_from_nothing()


@pytest.mark.slow
def test_a_changed_text_and_a_changed_recording_are_prepared_again(corpus: Corpus) -> None:
    corpus.texts["N1"] = "This is another sentence."
    shutil.copy(corpus.wav("N3"), corpus.wav("N2"))
    assert corpus.build() == {"N1", "N2"}
    corpus.check_is_that_of_a_build_from_nothing()


@pytest.mark.slow
def test_a_rejected_clip_is_tried_again_only_once_its_file_has_changed(corpus: Corpus) -> None:
    good = corpus.wav("N7").read_bytes()
    corpus.wav("N7").write_bytes(good[:1000])
    corpus.wav("N8").unlink()
    assert corpus.build() == {"N7", "N8"}
    corpus.add(1)
    assert corpus.build() == {"N24"}
    corpus.check_is_that_of_a_build_from_nothing()
    corpus.wav("N7").write_bytes(good)
    assert corpus.build() == {"N7"}
    corpus.check_is_that_of_a_build_from_nothing()


def unreadable(names: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the disk fail at these recordings."""
    read = record.read_audio_file

    def fail(path: str) -> bytes:
        if Path(path).stem in names:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return read(path)

    monkeypatch.setattr(record, "read_audio_file", fail)


def without_reader(names: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the package away that reads these recordings."""
    read = record.read_audio_file

    def fail(path: str) -> bytes:
        if Path(path).stem in names:
            raise MissingReader("m4a: pip install it")
        return read(path)

    monkeypatch.setattr(record, "read_audio_file", fail)


@pytest.mark.slow
@pytest.mark.parametrize("new", [0, 1])
@pytest.mark.parametrize(("fault", "stage"), [(unreadable, "reading"), (without_reader, "reader")])
def test_recordings_that_could_not_be_read_here_are_tried_again_by_the_next_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Callable, stage: str, new: int
) -> None:
    corpus = Corpus(tmp_path, clips=CLIPS)
    with monkeypatch.context() as patch:
        fault({"N4", "N9"}, patch)
        corpus.build()
    rejected = [read_table(path).to_pylist() for path in (corpus.data / "rejected").iterdir()]
    found = {(row["utterance_id"], row["stage"], row["reason"]) for rows in rejected for row in rows}
    assert found == {(f"ljspeech/{name}", stage, "unreadable_audio") for name in ("N4", "N9")}
    corpus.add(new)
    assert corpus.build() == {"N4", "N9", *["N24"][:new]}
    corpus.check_is_that_of_a_build_from_nothing()
    assert corpus.build() == set()


@pytest.mark.slow
def test_after_a_build_that_lacked_a_reader_and_published_nothing_its_recordings_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, few = Corpus(tmp_path, clips=CLIPS), "max_rejected_fraction=0.01"
    with monkeypatch.context() as patch:
        without_reader({"N4", "N9"}, patch)
        with pytest.raises(UserError, match="rejected"):
            corpus.build(few)
    assert corpus.build(few) == {"N4", "N9"}
    corpus.check_is_that_of_a_build_from_nothing(few)


@pytest.mark.slow
def test_a_disk_that_fails_at_every_recording_ends_the_build_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = Corpus(tmp_path, clips=40)
    unreadable(set(corpus.texts), monkeypatch)
    with pytest.raises(UserError, match="10 recordings in a row could not be read; nothing was published"):
        corpus.build("utterances_per_shard=40")
    assert not (corpus.data / "_SUCCESS").exists()


@pytest.mark.slow
def test_an_id_that_stands_twice_is_taken_over_from_the_right_row(corpus: Corpus) -> None:
    lines = [f"{name}|{text}" for name, text in corpus.texts.items()]
    doubled = corpus.folder / "doubled.csv"
    words = ("sources.ljspeech.metadata=doubled.csv",)
    doubled.write_text("\n".join([*lines, "N2|A second text for it."]) + "\n")
    corpus.build(*words)
    corpus.check_is_that_of_a_build_from_nothing(*words)
    doubled.write_text("\n".join([line for line in lines if not line.startswith("N2|")] + ["N2|A second text for it."]))
    assert corpus.build(*words) <= {"N2"}
    corpus.check_is_that_of_a_build_from_nothing(*words)


@pytest.mark.slow
def test_a_build_with_nothing_to_do_starts_no_job(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    before = builds.content(corpus.data)
    monkeypatch.setattr(BuildJob, "run", refuse)
    assert corpus.build() == set()
    assert builds.content(corpus.data) == before


FILES = ["shards/*", "manifest/*", "withheld/*", "rejected/*", "_SUCCESS", "vocab.json", "config.yaml", "dataset.json"]


@pytest.mark.slow
@pytest.mark.parametrize("pattern", FILES)
def test_a_file_that_someone_changed_is_noticed_by_a_build_with_nothing_else_to_do(
    corpus: Corpus, pattern: str
) -> None:
    before = builds.content(corpus.data)
    path = sorted(corpus.data.glob(pattern))[0]
    path.write_bytes(path.read_bytes() + b"x")
    corpus.build()
    assert builds.content(corpus.data) == before


@pytest.mark.slow
def test_bytes_that_changed_unseen_are_found_when_they_are_copied(corpus: Corpus) -> None:
    """A bad sector or a bit of memory: size and time stay. The record's checksum tells."""
    before = builds.content(corpus.data)
    path = max((corpus.data / "shards").iterdir(), key=lambda path: path.stat().st_size)
    state, content = path.stat(), bytearray(path.read_bytes())
    content[HEADER_BYTES + 3000] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    with pytest.raises(
        UserError, match=f"{path.name}: the record at byte 0: .* nothing was published; run `make repair"
    ):
        corpus.build("utterances_per_shard=24")
    path.write_bytes(before[f"shards/{path.name}"])
    corpus.build("utterances_per_shard=24")
    corpus.check_is_that_of_a_build_from_nothing("utterances_per_shard=24")


def remove(cache: Path) -> None:
    shutil.rmtree(cache)


def empty(cache: Path) -> None:
    for path in cache.iterdir():
        path.write_bytes(b"")


def spoil(cache: Path) -> None:
    for path in cache.iterdir():
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 255
        path.write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [remove, empty, spoil])
def test_a_cache_that_is_lost_or_damaged_costs_time_alone(corpus: Corpus, damage: Callable[[Path], None]) -> None:
    damage(corpus.data / "build_cache")
    corpus.add(1)
    assert "N24" in corpus.build()
    corpus.check_is_that_of_a_build_from_nothing()
    assert corpus.build() == set()


@pytest.mark.slow
def test_a_cache_that_is_a_link_is_refused_and_files_of_others_stay(corpus: Corpus, tmp_path: Path) -> None:
    cache, elsewhere = corpus.data / "build_cache", tmp_path / "elsewhere"
    (cache / "mine.parquet").write_text("of the user")
    corpus.add(1)
    corpus.build()
    assert (cache / "mine.parquet").exists()
    shutil.move(cache, elsewhere)
    cache.symlink_to(elsewhere)
    before = {path.name for path in elsewhere.iterdir()}
    corpus.add(1)
    with pytest.raises(UserError, match="build_cache: is a link; expected a folder"):
        corpus.build()
    assert {path.name for path in elsewhere.iterdir()} == before


@pytest.mark.slow
def test_records_of_another_preparation_are_not_taken_over(corpus: Corpus) -> None:
    assert corpus.build("decode_limit_s=50") == corpus.texts.keys()
    assert corpus.build("mel_dtype=float32", "decode_limit_s=50") == corpus.texts.keys()
    corpus.check_is_that_of_a_build_from_nothing("mel_dtype=float32", "decode_limit_s=50")


SETTING_CHANGES: dict[str, tuple[str, Callable[[int], object]]] = {
    "size": ("utterances_per_shard", lambda number: 1 + number % 12),
    "split": ("validation_fraction", lambda number: number % 5 / 10),
    "limit": ("checks.max_duration_s", lambda number: 2 + number % 4),
    "copies": ("checks.min_duplicate_bits", lambda number: ("null", "16", "60")[number % 3]),
}
KINDS = ("add", "remove", "touch", "text", "audio", "break", *SETTING_CHANGES)
CHANGES = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 99)), min_size=1, max_size=4)


@pytest.mark.slow
@pytest.mark.parametrize("examples", [5, pytest.param(60, marks=pytest.mark.soak)])
def test_after_any_changes_the_dataset_is_that_of_a_build_from_nothing(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, examples: int
) -> None:
    monkeypatch.setattr(listing, "RUN_ROWS", 5)  # several runs of the listing

    @settings(max_examples=examples, deadline=None)
    @given(rounds=st.lists(CHANGES, min_size=2, max_size=3))
    def check(rounds: list[list[tuple[str, int]]]) -> None:
        corpus = Corpus(tmp_path_factory.mktemp("growth"), clips=12)
        words = {"utterances_per_shard": "3", "validation_fraction": "0.2", "checks.max_duration_s": "20"}
        for changes in rounds:
            for kind, number in changes:
                change(corpus, kind, number, words=words)
            settings_now = [f"{key}={value}" for key, value in words.items()]
            corpus.build(*settings_now)
            corpus.check_is_that_of_a_build_from_nothing(*settings_now)

    check()


def change(corpus: Corpus, kind: str, number: int, *, words: dict[str, str]) -> None:
    """Change one thing of the corpus or the settings."""
    name = sorted(corpus.texts)[number % len(corpus.texts)]
    if kind == "add":
        corpus.add(number % 5)
    elif kind == "remove" and len(corpus.texts) - len(corpus.removed) > 4:
        corpus.removed.add(name)
    elif kind == "touch" and corpus.wav(name).exists():
        os.utime(corpus.wav(name), ns=(number, number))
    elif kind == "text":
        corpus.texts[name] = f"Words {'and words ' * (number % 7)}of {name}."
    elif kind == "audio":
        shutil.copy(corpus.wavs[number % len(corpus.wavs)], corpus.wav(name))
    elif kind == "break":
        corpus.wav(name).write_bytes(b"RIFF" * (number % 3))
    elif kind in SETTING_CHANGES:
        name, value = SETTING_CHANGES[kind]
        words[name] = str(value(number))
