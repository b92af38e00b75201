"""A user's mistake gives one clear line and exit code 2; the published dataset stays."""

from __future__ import annotations

import errno
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.build.staging import Staging
from shared.locks import write_lock
from tests.pipelines import builds


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return builds.make_corpus(tmp_path / "corpus", clips=4)


OVERRIDES = [
    ("colour=red", "colour: unknown key; known here: checks, "),
    (
        "sources.ljspeech.colour=red",
        "sources.ljspeech.colour: unknown key; known here: audio, exclude, ",
    ),
    ("checks.colour=red", "checks.colour: unknown key; known here: characters_per_second_deviations, "),
    ("sources.ljspeech.root=none/such", "sources.ljspeech.root: no such directory none/such"),
    ("sources.ljspeech.language=inglish", "sources.ljspeech.language: "),
    ("sources.ljspeech.language=eng_Arab", "sources.ljspeech.language: "),
    ("sources.ljspeech.reader=caldi", "sources.ljspeech.reader: unknown 'caldi'; did you mean kaldi? known: "),
    ("sources.LJ.root=x", "sources.LJ"),
    ("sources={}", "sources: "),
    ("features=mp3", "features: found 'mp3'; expected one of hifigan-22k"),
    ("tokenizer=none/such/tokenizer.json", "tokenizer none/such/tokenizer.json: cannot be read"),
    ("tokenizer=README.md", "tokenizer README.md: "),
    ("tokenizer=tests", "tokenizer tests: cannot be read"),
    ("workers=0", "workers: "),
    ("validation_fraction=1", "validation_fraction: "),
    ("utterances_per_shard=no", "utterances_per_shard: "),
    ("max_rejected_fraction=2", "max_rejected_fraction: "),
    ("novalue", "'novalue': not an override; expected key=value"),
    ("tokenizer.x=1", "'tokenizer.x=1': 'tokenizer' is a value, not a section"),
    ("tokenizer=[", "'tokenizer=['"),
]


@pytest.mark.parametrize(("override", "message"), OVERRIDES)
def test_a_wrong_value_is_one_line_and_an_older_dataset_stays(
    override: str, message: str, corpus: Path, small: Path, spoiled: Path, command: Callable
) -> None:
    outcome = command(*builds.build_words(corpus, override, data=spoiled))
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert outcome.out == ""
    assert builds.content(spoiled) == builds.content(small)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read the config (No such file or directory)"),
        ("", "expected `key: value` lines"),
        ("- a\n- b\n", "expected `key: value` lines"),
        ("a: [", "not YAML"),
        ("a: 1", "a: unknown key"),
        ("features: hifigan-22k", "sources: missing"),
        ("a: &a [*a]", ""),
    ],
)
def test_an_invalid_config_is_one_line(content: str | None, message: str, tmp_path: Path, command: Callable) -> None:
    config = tmp_path / "config.yaml"
    if content is not None:
        config.write_text(content)
    outcome = command("build", str(config), "--data", str(tmp_path / "data"))
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "data").exists()


def _no_metadata(corpus: Path) -> None:
    (corpus / "metadata.csv").unlink()


def _empty_metadata(corpus: Path) -> None:
    (corpus / "metadata.csv").write_text("\n\n")


def _folder_as_metadata(corpus: Path) -> None:
    _no_metadata(corpus)
    (corpus / "metadata.csv").mkdir()


def _no_recordings(corpus: Path) -> None:
    for path in (corpus / "wavs").iterdir():
        path.unlink()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_no_metadata, "sources.ljspeech: the ljspeech reader looked for "),
        (_empty_metadata, "lists no utterance"),
        (_folder_as_metadata, "sources.ljspeech: the ljspeech reader looked for "),
        (_no_recordings, "4 of 4 utterances (all) were rejected: 4 missing_audio (such as ljspeech/"),
    ],
)
def test_an_invalid_corpus_is_one_line_and_an_older_dataset_stays(
    spoil: Callable, message: str, corpus: Path, small: Path, spoiled: Path, command: Callable
) -> None:
    spoil(corpus)
    outcome = command(*builds.build_words(corpus, data=spoiled))
    assert outcome.code == 2
    last = outcome.err.splitlines()[-1]
    assert last.startswith("error: ")
    assert message in last
    assert "Traceback" not in outcome.err
    kept = {name: data for name, data in builds.content(spoiled).items() if not name.startswith(".staging")}
    assert kept == builds.content(small)


@pytest.mark.slow
def test_a_build_whose_output_nobody_reads_leaves_its_page_and_descriptions(corpus: Path, tmp_path: Path) -> None:
    """As with `| head`, which ends after some lines."""
    read, write = os.pipe()
    os.close(read)
    data = tmp_path / "data"
    subprocess.run([builds.COMMAND, *builds.build_words(corpus, data=data)], stdout=write, check=False)
    os.close(write)
    assert {"_SUCCESS", "report.html", "README.md", "croissant.json"} <= {path.name for path in data.iterdir()}


def test_a_build_without_records_is_one_line_with_the_reasons(corpus: Path, tmp_path: Path, command: Callable) -> None:
    _no_recordings(corpus)
    outcome = command(*builds.build_words(corpus, "max_rejected_fraction=1", data=tmp_path / "data"))
    assert outcome.code == 2
    reason = r"4 missing_audio \(such as ljspeech/\w+: No such file or directory: .*\.wav\)"
    assert re.search(f"no utterance was written: {reason}; nothing was published", outcome.err)
    assert not (tmp_path / "data/_SUCCESS").exists()


def test_a_corpus_of_another_reader_is_one_line(corpus: Path, tmp_path: Path, command: Callable) -> None:
    words = builds.build_words(corpus, "sources.ljspeech.reader=common_voice", data=tmp_path / "data")
    outcome = command(*words)
    assert outcome.code == 2
    assert "the common_voice reader looked for" in outcome.err
    (corpus / "validated.tsv").write_text("id\ttext\n")
    outcome = command(*words)
    assert outcome.code == 2
    assert "no column client_id, path, sentence in its header" in outcome.err


@pytest.mark.parametrize("below", ["", "below", "below/it"])
def test_a_folder_that_cannot_be_written_is_one_line(
    below: str, corpus: Path, tmp_path: Path, command: Callable
) -> None:
    (tmp_path / "data").write_text("a file in its place")
    outcome = command(*builds.build_words(corpus, data=tmp_path / "data" / below))
    assert outcome.code == 2
    assert "expected a folder that can be written to" in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    "words", [["build"], ["build", "x.yaml"], ["frobnicate"], ["validate", "--data", "x", "--runner", "dask"]]
)
def test_wrong_usage_has_exit_code_2(words: list[str], command: Callable) -> None:
    outcome = command(*words)
    assert outcome.code == 2
    assert "Usage: " in outcome.err


def test_a_build_shows_a_bar_with_the_total(corpus: Path, tmp_path: Path, command: Callable) -> None:
    outcome = command(*builds.build_words(corpus, data=tmp_path / "data"))
    assert outcome.code == 0
    assert "4/4" in outcome.err
    assert "4 utterances" in outcome.err


@pytest.mark.parametrize("name", ["validate", "repair", "replay", "report", "build"])
def test_no_command_runs_on_a_dataset_that_another_process_writes(name: str, spoiled: Path, command: Callable) -> None:
    before = builds.content(spoiled)
    with write_lock(spoiled, command="build"):
        outcome = command(name, *([builds.SAMPLE_CONFIG] if name == "build" else []), "--data", str(spoiled))
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: {spoiled}: build of ")
    assert "is writing here; wait for it" in outcome.err
    assert outcome.err.count("\n") == 1
    assert builds.content(spoiled) == before


def test_a_staging_folder_that_cannot_be_removed_does_not_fail_the_build(
    corpus: Path, tmp_path: Path, command: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stays(staging: Staging) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(staging.root))

    data = tmp_path / "data"
    with monkeypatch.context() as patch:
        patch.setattr(Staging, "remove_all", stays)
        outcome = command(*builds.build_words(corpus, data=data))
    assert outcome.code == 0
    expected = f"{os.strerror(errno.EBUSY)}: could not be removed, the next build does it"
    assert re.search(f"^published; {re.escape(str(data))}/.staging/.*: {expected}$", outcome.err, re.MULTILINE)
    assert (data / "_SUCCESS").is_file()
    assert command(*builds.build_words(corpus, data=data)).code == 0
    assert not (data / ".staging").exists()


def test_a_number_of_workers_that_flink_would_ignore_is_refused(spoiled: Path, command: Callable) -> None:
    outcome = command("validate", "--data", spoiled, "--runner", "flink", "--workers", "3")
    assert outcome.code == 2
    assert outcome.err == "error: --workers 3: a job on Flink uses all slots of the cluster; leave this option out\n"
