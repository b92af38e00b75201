"""Recordings that crash their decoder, exhaust the memory or never end: each is isolated, named and rejected."""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import json
import pickle
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pipelines.build.crash_guard import CrashGuard, noted_in
from pipelines.build.preparation import create_preparation
from pipelines.build.staging import Staging
from pipelines.execution.flink.cluster import Cluster
from preprocess import audio_file, isolated
from preprocess.record import Preparation, PreparedUtterance
from preprocess.utterance import CRASH_STAGE, Rejection, Utterance
from tests.pipelines import builds, clusters, faulty

# how a fault ends a build in the driver's own process
CODES = {"segfault": -signal.SIGSEGV, "worker-only": -signal.SIGKILL, "hang": 70, "memory": 1}


@pytest.fixture(scope="module")
def prepare() -> Preparation:
    return create_preparation(builds.config_of([], config=builds.SAMPLE_CONFIG))


@pytest.fixture
def utterance(tmp_path: Path) -> Utterance:
    audio = shutil.copy(next((builds.ENGLISH / "wavs").iterdir()), tmp_path / "clip.wav")
    return Utterance(id="a/b", audio_path=str(audio), text="Hello.", language="eng_Latn", speaker="a/c")


@pytest.fixture
def with_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that this one starts fail on recordings with a fault."""
    monkeypatch.setenv("PYTHONPATH", str(builds.INJECTED_FAULTS))
    monkeypatch.setattr(isolated, "MAX_PREPARATION_S", 5.0)


def spoil(utterance: Utterance, *, fault: str) -> None:
    with Path(utterance.audio_path).open("ab") as file:
        file.write(f"!{fault}".encode().ljust(64))


@pytest.mark.slow
@pytest.mark.usefixtures("with_faults")
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("segfault", "its decoder was ended by SIGSEGV"),
        ("hang", "not prepared within 5 s"),
        ("memory", "its decoder needs more than 4 GiB of memory"),
        ("worker-only", None),
        ("eio", None),
    ],
)
def test_a_process_of_its_own_says_how_it_failed(
    fault: str,
    expected: str | None,
    prepare: Preparation,
    utterance: Utterance,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if fault != "hang":  # to start that process can take seconds on a busy machine
        monkeypatch.setattr(isolated, "MAX_PREPARATION_S", 120.0)
    spoil(utterance, fault=fault)
    assert isolated.isolated_failure(utterance, prepare=prepare) == expected


@pytest.mark.slow
def test_the_memory_of_that_process_is_limited() -> None:
    program = "import numpy as np; from preprocess import isolated; isolated.limit_memory(); np.empty(5 << 30, np.int8)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "MemoryError" in answer.stderr


@pytest.mark.slow
def test_that_process_ends_although_nobody_waits_for_it() -> None:
    program = "from preprocess import isolated; isolated.MAX_PREPARATION_S = isolated.GRACE_S = 0.2; isolated.main()"
    given = pickle.dumps((time.sleep, 3600))
    ended = subprocess.run([sys.executable, "-c", program], input=given, capture_output=True, timeout=60, check=False)
    assert ended.returncode == -signal.SIGALRM


class Prepare:
    """Stands in for the preparation of an utterance: looks at the note meanwhile, and may fail."""

    def __init__(self, staging: Staging, *, error: BaseException | None = None):
        self._staging, self._error = staging, error
        self.noted: list[collections.Counter[str]] = []

    def __call__(self, utterance: Utterance) -> Rejection:
        self.noted.append(noted_in([self._staging]))
        if self._error is not None:
            raise self._error
        return Rejection(id=utterance.id, audio_path="", language="", stage="audio", reason="empty_audio", message="")


def numbered(*numbers: int) -> list[Utterance]:
    return [
        Utterance(id=f"a/{'x' * number}é\n", audio_path=__file__, text="", language="eng_Latn", speaker="")
        for number in numbers
    ]


@pytest.fixture
def staging(tmp_path: Path) -> Staging:
    made = Staging(tmp_path)
    made.preparing_folder.mkdir()
    return made


def guard(
    prepare: Callable[[Utterance], PreparedUtterance | Rejection], *, staging: Staging, crashed: Mapping[str, int] = {}
) -> CrashGuard:
    crashed = collections.Counter(crashed)
    return CrashGuard(prepare, folder=staging.preparing_folder, shard_name="shard", crashed=crashed)


def test_an_utterance_is_noted_while_it_is_prepared_and_no_longer(staging: Staging) -> None:
    prepare, utterances = Prepare(staging), numbered(3, 900, 0, 40)
    with guard(prepare, staging=staging) as guarded:
        for one in utterances:
            guarded(one)
            assert noted_in([staging]) == {}
    assert prepare.noted == [{one.id: 1} for one in utterances]
    assert not list(staging.preparing_folder.iterdir())


@pytest.mark.parametrize(
    ("error", "is_kept"), [(MemoryError(), True), (KeyboardInterrupt(), False), (OSError(28, "full"), False)]
)
def test_the_note_stays_only_if_the_utterance_is_to_blame(
    error: BaseException, is_kept: bool, staging: Staging
) -> None:
    (one,) = numbered(5)
    with pytest.raises(type(error)), guard(Prepare(staging, error=error), staging=staging) as guarded:
        guarded(one)
    assert noted_in([staging]) == ({one.id: 1} if is_kept else {})


def test_what_ended_a_process_is_isolated_and_after_a_second_process_rejected(
    staging: Staging, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone: list[str] = []
    monkeypatch.setattr(isolated, "isolated_failure", lambda one, prepare: alone.append(one.id))
    first, second = numbered(1, 2)
    memory = Prepare(staging, error=MemoryError())
    for attempt in (1, 2):  # it can be prepared alone, and yet ends the process
        with pytest.raises(MemoryError), guard(memory, staging=staging) as guarded:
            guarded(first)
        assert noted_in([staging]) == {first.id: attempt}
        assert alone == [first.id] * (attempt - 1)
    with guard(Prepare(staging), staging=staging, crashed={first.id: 1}) as guarded:
        refused, prepared = guarded(first), guarded(second)
    assert (refused.stage, refused.message) == (CRASH_STAGE, "2 processes ended while they prepared it")
    assert prepared.stage == "audio"
    assert not list(staging.preparing_folder.iterdir())


def test_a_part_that_ended_a_process_is_not_decoded_in_another_one(
    staging: Staging, utterance: Utterance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decode(*_: object, **__: object) -> None:
        raise AssertionError("decoded in this process")

    part = dataclasses.replace(utterance, audio_path=f"{utterance.audio_path}#t=0,1")
    monkeypatch.setattr(isolated, "isolated_failure", lambda one, prepare: "its decoder was ended by SIGSEGV")
    monkeypatch.setattr(audio_file, "read_part", decode)
    with guard(Prepare(staging), staging=staging, crashed={part.id: 1}) as guarded:
        refused = guarded(part)
        assert guarded.sha256(part) == ""
    assert (refused.stage, refused.message) == (CRASH_STAGE, "its decoder was ended by SIGSEGV")


def test_an_utterance_is_noted_while_the_sum_of_its_recording_is_taken(
    staging: Staging, utterance: Utterance, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = []

    def read(*_: object, **__: object) -> bytes:
        noted.append(noted_in([staging]))
        return b"sound"

    part = dataclasses.replace(utterance, audio_path=f"{utterance.audio_path}#t=0,1")
    monkeypatch.setattr(audio_file, "read_part", read)
    with guard(Prepare(staging), staging=staging) as guarded:
        assert guarded.sha256(part) == hashlib.sha256(b"sound").hexdigest()
        assert noted_in([staging]) == {}
    assert noted == [{part.id: 1}]


def test_builds_that_repeat_a_note_count_it_once(tmp_path: Path) -> None:
    folders = [Staging(tmp_path / name) for name in "abc"]
    for folder, ids in zip(folders, (["x"], ["x", "y"], ["z", "z"]), strict=True):
        folder.preparing_folder.mkdir(parents=True)
        text = "".join(f"{json.dumps(one)}\n" for one in ids)
        (folder.preparing_folder / "shard").write_text(text + '"not written to its e')
    assert noted_in([*folders, Staging(tmp_path / "absent")]) == {"x": 1, "y": 1, "z": 2}


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", ["segfault", "hang", *(pytest.param(one, marks=pytest.mark.soak) for one in ("worker-only", "memory"))]
)
def test_a_build_in_one_process_ends_by_the_fault_and_the_next_one_rejects_it(fault: str, tmp_path: Path) -> None:
    faults = {"C00003": fault}
    corpus = faulty.make_corpus(tmp_path / "corpus", faults)
    *failed, last = faulty.build_to_the_end(corpus, tmp_path / "data", "workers=1")
    assert [one.returncode for one in failed] == [CODES[fault]] * (2 if fault == "worker-only" else 1)
    if fault == "hang":
        expected = f"error: ljspeech/C00003 ({corpus}/wavs/C00003.wav): not prepared within 15 s; nothing was published"
        assert expected in failed[0].stderr
    assert "an earlier build ended while it prepared ljspeech/C00003: each is prepared" in last.stderr
    faulty.check_rejections(tmp_path / "data", faults=faults)
    words = builds.build_words(corpus, "max_rejected_fraction=1.0", "workers=1", data=tmp_path / "data")
    assert builds.run(*words).returncode == 0


@pytest.mark.slow
def test_a_build_by_two_workers_names_what_they_were_preparing_and_the_next_one_isolates_it(tmp_path: Path) -> None:
    faults = {"C00001": "segfault", "C00004": "eio", "C00005": "estale-twice"}
    corpus = faulty.make_corpus(tmp_path / "corpus", faults)
    ended = faulty.build_to_the_end(corpus, tmp_path / "data", "workers=2", "utterances_per_shard=8")
    assert len(ended) == 2, [one.stderr for one in ended]
    first, second = ended
    assert first.returncode == 70
    *bar, last = first.stderr.splitlines()
    assert len(bar) <= 1
    assert last.startswith("error: a worker process died (SIGSEGV) while the workers prepared ljspeech/C00001")
    assert last.endswith("; nothing was published; run again")
    assert second.returncode == 0
    faulty.check_rejections(tmp_path / "data", faults=faults)


@pytest.mark.soak
def test_a_recording_that_was_mended_is_recovered_by_a_replay_which_isolates_the_others(tmp_path: Path) -> None:
    faults = {"C00002": "segfault", "C00006": "segfault"}
    corpus = faulty.make_corpus(tmp_path / "corpus", faults)
    data = tmp_path / "data"
    assert faulty.build_to_the_end(corpus, data, "workers=1")[-1].returncode == 0
    wavs = corpus / "wavs"
    shutil.copy(wavs / "C00003.wav", wavs / "C00006.wav")
    words = [builds.COMMAND, "replay", "--data", data]
    answer = subprocess.run(words, env=faulty.environment(), capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    faulty.check_rejections(data, faults={"C00002": "segfault"})


@pytest.mark.slow
def test_a_cluster_isolates_it_by_itself(flink: Cluster, tmp_path: Path) -> None:
    faults = {"C00003": "segfault", "C00005": "eio"}
    corpus = faulty.make_corpus(tmp_path / "corpus", faults)
    (only,) = faulty.build_to_the_end(corpus, tmp_path / "data", runner="flink")
    assert clusters.failures(flink, clusters.newest_job(flink)) != []
    assert len(only.stderr.splitlines()) == 1
    faulty.check_rejections(tmp_path / "data", faults=faults)


@pytest.fixture
def chosen(request: pytest.FixtureRequest) -> dict[str, str]:
    """Random faults of some of the clips."""
    random_ = random.Random(request.param)
    names = [f"C{number:05d}" for number in range(faulty.CLIPS)]
    return {name: random_.choice(faulty.FAULTS) for name in random_.sample(names, random_.randrange(1, 4))}


@pytest.mark.soak
@pytest.mark.parametrize("chosen", range(40), indirect=True)
@pytest.mark.parametrize("workers", [1, 2])
def test_any_faults_end_in_a_whole_dataset(workers: int, chosen: dict[str, str], tmp_path: Path) -> None:
    corpus = faulty.make_corpus(tmp_path / "corpus", chosen)
    ended = faulty.build_to_the_end(corpus, tmp_path / "data", f"workers={workers}", "utterances_per_shard=4")
    deadly = [fault for fault in chosen.values() if fault in CODES]
    assert 1 <= len(ended) <= 1 + 2 * len(deadly)
    assert workers == 1 or {one.returncode for one in ended} <= {0, 1, 70}
    faulty.check_rejections(tmp_path / "data", faults=chosen)


@pytest.mark.soak
@pytest.mark.parametrize("chosen", range(100, 120), indirect=True)
def test_any_faults_end_in_a_whole_dataset_on_a_cluster_too(
    chosen: dict[str, str], flink: Cluster, tmp_path: Path
) -> None:
    corpus = faulty.make_corpus(tmp_path / "corpus", chosen)
    ended = faulty.build_to_the_end(corpus, tmp_path / "data", "utterances_per_shard=4", runner="flink")
    assert len(ended) <= 2, "five attempts in each job"
    faulty.check_rejections(tmp_path / "data", faults=chosen)
