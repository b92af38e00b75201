"""`myxtts-train synthesize`: one line for each mistake of a user, and speech without one."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile

from preprocess.mel import log_mel
from preprocess.tokens import Tokenizer
from shared.dataset import Dataset
from shared.vocabulary import Vocabulary
from tests.trainer import runs
from trainer.checkpoint.run_dir import prepare_run_info, read_run_info, write_run_files
from trainer.config.model_config import ModelConfig
from trainer.config.train_config import TrainConfig
from trainer.speech.generation import Sampling
from trainer.speech.griffin_lim import griffin_lim
from trainer.speech.sentences import PARAGRAPH_PAUSE_S, PART_PAUSE_S, SENTENCE_PAUSE_S, TextPiece
from trainer.speech.synthesizer import Synthesizer

REFERENCE = Path("tests/corpora/english/wavs/EN001-0001.wav")
TOKENIZER = Path("tests/corpora/tokenizer.json")


@pytest.fixture(scope="module")
def untrained(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has no checkpoint yet."""
    run = tmp_path_factory.mktemp("untrained") / "run"
    info = prepare_run_info(run, config=TrainConfig(model=ModelConfig(size="pico")), dataset=dataset)
    write_run_files(run, info, dataset=dataset)
    return run


@pytest.fixture
def mistake(command: Callable, untrained: Path, tmp_path: Path) -> Callable[..., str]:
    """The one line that a user sees of a command with one mistake."""

    def run(**mistaken: object) -> str:
        words = {
            "run": untrained,
            "text": "The kettle is singing.",
            "language": "eng_Latn",
            "reference": REFERENCE,
            "out": tmp_path / "out.wav",
        }
        if "file" in mistaken and "text" not in mistaken:
            mistaken["text"] = None
        given = {name: word for name, word in (words | mistaken).items() if word is not None}
        outcome = command("synthesize", *(part for name, word in given.items() for part in (f"--{name}", word)))
        assert outcome.code == 2
        assert outcome.out == ""
        assert "Traceback" not in outcome.err
        assert not (tmp_path / "out.wav").exists()
        lines = [line for line in outcome.err.splitlines() if line.lower().startswith("error")]
        assert len(lines) == 1, outcome.err
        return lines[0]

    return run


def test_a_run_without_checkpoint(mistake: Callable[..., str], untrained: Path) -> None:
    assert f"{untrained}: no checkpoint yet" in mistake()


def test_no_run(mistake: Callable[..., str], tmp_path: Path) -> None:
    assert "no run here" in mistake(run=tmp_path / "nowhere")


@pytest.mark.parametrize("language", ["inglish", "", "eng_Arab", "</s>"])
def test_an_unknown_language(mistake: Callable[..., str], language: str) -> None:
    assert f"unknown language {language!r}" in mistake(language=language)


def test_a_language_that_was_not_trained(mistake: Callable[..., str]) -> None:
    assert re.search("not trained on fra_Latn; it speaks .*eng_Latn", mistake(language="fra_Latn"))


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\x00\x01", "\udcff"])
def test_nothing_to_say(mistake: Callable[..., str], text: str) -> None:
    assert "the text: nothing is left of it" in mistake(text=text)


@pytest.mark.parametrize(
    ("text", "names"), [("😀 ☃", "GRINNING FACE, SNOWMAN"), ("***", "ASTERISK"), ("\u200b", "ZERO WIDTH SPACE")]
)
def test_symbols_alone_are_named(mistake: Callable[..., str], text: str, names: str) -> None:
    assert f"the text: no letter or digit in it, only {names};" in mistake(text=text)


def test_a_text_without_end(mistake: Callable[..., str], tmp_path: Path) -> None:
    assert "characters, expected at most 1,000,000; divide it" in mistake(file="/dev/zero")


def test_a_text_and_a_file_or_neither(mistake: Callable[..., str], tmp_path: Path) -> None:
    assert "either --text or --file" in mistake(text="Hello.", file="/dev/null")
    assert "either --text or --file" in mistake(text=None)
    (tmp_path / "text.txt").write_bytes(b"caf\xe9")
    assert "text.txt: not UTF-8 (" in mistake(file=tmp_path / "text.txt")


@pytest.mark.parametrize("name", ["out.mp4", "out", "out.opus"])
def test_a_format_that_is_not_written(mistake: Callable[..., str], tmp_path: Path, name: str) -> None:
    assert "speech is not written in this format; expected a file of .wav, .flac" in mistake(out=tmp_path / name)


def test_characters_that_the_tokenizer_does_not_know_are_named() -> None:
    lines: list[str] = []
    synthesizer = SimpleNamespace(_tokenizer=Tokenizer(str(TOKENIZER)))
    Synthesizer._log_unknown(synthesizer, [TextPiece("Hello ☃.", 0.0), TextPiece("Hello.", 0.0)], log=lines.append)
    Synthesizer._log_unknown(synthesizer, [TextPiece("Hello.", 0.0)], log=lines.append)
    assert lines == ["the text: the tokenizer does not know ☃; each becomes <unk>"]


def wav(samples: np.ndarray, *, rate_hz: int = 22050) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate_hz, format="WAV", subtype="FLOAT")
    return buffer.getvalue()


BAD_CLIPS = {
    "empty file": b"",
    "garbage": b"RIFF" + bytes(range(256)) * 8,
    "no samples": wav(np.zeros(0)),
    "too short": wav(np.zeros(100)),
    "not finite": wav(np.full(30_000, np.nan)),
}


@pytest.mark.parametrize("kind", BAD_CLIPS)
def test_an_unusable_reference(mistake: Callable[..., str], tmp_path: Path, kind: str) -> None:
    path = tmp_path / "clip.wav"
    path.write_bytes(BAD_CLIPS[kind])
    message = mistake(reference=path)
    assert f"reference {path}: " in message
    assert "expected a clip of a voice" in message


def test_a_reference_that_is_absent_or_a_folder(mistake: Callable[..., str], tmp_path: Path) -> None:
    assert "No such file" in mistake(reference=tmp_path / "nowhere.wav")
    assert "directory" in mistake(reference=tmp_path)


def test_another_tokenizer_than_that_of_the_shards(mistake: Callable[..., str], tmp_path: Path) -> None:
    other = tmp_path / "tokenizer.json"
    other.write_bytes(TOKENIZER.read_bytes() + b"\n")
    assert "not the one that the shards" in mistake(tokenizer=other)
    other.write_bytes(b"{}")
    assert "not a tokenizer.json" in mistake(tokenizer=other)
    assert "cannot be read" in mistake(tokenizer=tmp_path / "nowhere.json")


def test_a_tokenizer_that_has_moved_is_asked_for(mistake: Callable[..., str], untrained: Path, tmp_path: Path) -> None:
    run = shutil.copytree(untrained, tmp_path / "run")
    document = json.loads((run / "run.json").read_text())
    document["contract"]["tokenizer"]["location"] = "moved/away/tokenizer.json"
    (run / "run.json").write_text(json.dumps(document))
    assert "cannot be read" in mistake(run=run)
    assert "no checkpoint yet" in mistake(run=run, tokenizer=TOKENIZER)


@pytest.mark.parametrize("seconds", ["0", "-1", "inf", "nan", "1e9", "long"])
def test_an_invalid_duration(mistake: Callable[..., str], seconds: str) -> None:
    assert "seconds" in mistake(seconds=seconds)


@pytest.mark.parametrize("seed", ["-1", "1.5", str(2**70)])
def test_an_invalid_seed(mistake: Callable[..., str], seed: str) -> None:
    assert "seed" in mistake(seed=seed)


@pytest.mark.parametrize("out", [".", "/", "tests"])
def test_a_folder_in_the_place_of_the_wav(mistake: Callable[..., str], out: str) -> None:
    assert "directory" in mistake(out=out)


@pytest.mark.slow
def test_a_trained_run_speaks(trained: runs.Trained, command: Callable, tmp_path: Path) -> None:
    out = tmp_path / "new" / "hello.wav"
    words = ["synthesize", "--run", trained.undisturbed.run, "--text", "The kettle is singing.", "--language"]
    words += ["eng_Latn", "--reference", REFERENCE, "--seconds", "0.5", "--out"]
    names = "mel", "tokens", "crop"
    kept = [tmp_path / "kept" / f"{name}.npy" for name in names]
    outcome = command(
        *words, out, *(part for name, path in zip(names, kept, strict=True) for part in (f"--{name}", path))
    )
    assert outcome.code == 0, outcome.err
    assert "compiling, then speaking a sentence" in outcome.err
    samples, rate_hz = soundfile.read(out, dtype="float32", always_2d=True)
    assert rate_hz == 22050
    assert samples.shape[1] == 1
    assert np.isfinite(samples).all()
    assert np.abs(samples).max() > 0
    steps, rest = divmod(len(samples), 4 * 256)
    assert rest == 0
    assert 1 <= steps <= 10
    assert f"{len(samples) / 22050:.2f} s at 22050 Hz" in outcome.out
    endings = [words in outcome.out for words in ("ended by itself", "cut off at 0.5 s, no end")]
    assert endings in ([True, False], [False, True])
    assert steps == 10 or endings[0]
    assert [path.name for path in out.parent.iterdir()] == ["hello.wav"]
    info, vocabulary = read_run_info(trained.undisturbed.run), Vocabulary.load(trained.undisturbed.run / "vocab.json")
    mel, tokens, crop = map(np.load, kept)
    assert (mel.dtype, mel.shape) == (np.float32, (steps * 4, 80))
    heard = griffin_lim(mel, spec=info.contract.features, seed=1)
    np.testing.assert_allclose(samples[:, 0], heard / max(1.0, np.abs(heard).max()), atol=1e-4)
    pieces = Tokenizer(str(TOKENIZER)).encode_pieces("The kettle is singing.", language="eng_Latn")
    assert tokens.tolist() == [vocabulary.encode(pieces)]  # as an export takes them
    whole = log_mel(soundfile.read(REFERENCE, dtype="float32")[0], spec=info.contract.features)
    most = int(info.lengths.reference_frames(len(pieces), crop_frames=info.config.model.crop_frames))
    start = np.argmax([whole[start : start + most].mean() for start in range(len(whole) - most + 1)])
    np.testing.assert_allclose(crop, whole[None, start : start + most], atol=1e-4)
    assert (
        f"reference {REFERENCE}: the loudest {most * 256 / 22050:.1f} s of {len(whole) * 256 / 22050:.1f} s are used"
        in outcome.err
    )
    assert "in training" not in outcome.err


@pytest.mark.slow
def test_a_text_of_several_sentences_is_spoken_one_after_another(
    trained: runs.Trained, command: Callable, tmp_path: Path
) -> None:
    run, out = trained.undisturbed.run, tmp_path / "out.flac"
    words = ["synthesize", "--run", run, "--language", "eng_Latn", "--seconds", "0.2", "--out", out]
    text = tmp_path / "text.txt"
    longest = read_run_info(run).lengths.tokens
    text.write_text(f"Dr. Kettle sings. It is five!\n\n{'one ' * longest}", encoding="utf-8")
    outcome = command(*words, "--file", text, "--mel", tmp_path / "mel.npy")
    assert outcome.code == 0, outcome.err
    assert f"sentences of more than {longest} tokens" in outcome.err
    assert "3 sentences, " in outcome.err
    mel, info = np.load(tmp_path / "mel.npy"), soundfile.info(out)
    parts = int(re.search(r"3 sentences, (\d+) parts", outcome.err)[1])
    pauses = SENTENCE_PAUSE_S + PARAGRAPH_PAUSE_S + (parts - 3) * PART_PAUSE_S
    assert info.format == "FLAC"
    assert info.frames == pytest.approx(len(mel) * 256 + pauses * 22050, abs=parts)


@pytest.mark.slow
def test_the_speech_of_the_python_interface_is_that_of_the_command(
    trained: runs.Trained, command: Callable, tmp_path: Path
) -> None:
    run, out, text = trained.undisturbed.run, tmp_path / "out.wav", "The kettle sings. Really?"
    words = ["synthesize", "--run", run, "--language", "eng_Latn", "--seconds", "0.2", "--out", out, "--text", text]
    outcome = command(*words, "--reference", REFERENCE, "--temperature", "0.5", "--seed", "3")
    assert outcome.code == 0, outcome.err
    synthesizer = Synthesizer.load(run)
    sampling = Sampling(seed=3, temperature=0.5)
    speech = synthesizer.say(text, language="en", reference=REFERENCE, sampling=sampling, max_sentence_s=0.2)
    speech.write(tmp_path / "same.wav")
    assert (tmp_path / "same.wav").read_bytes() == out.read_bytes()
    assert [one.text for one in speech.pieces] == ["The kettle sings.", "Really?"]
    assert speech.duration_s == pytest.approx(soundfile.info(out).duration)
    louder = synthesizer.say(text, language="en", reference=REFERENCE, sampling=Sampling(seed=3), max_sentence_s=0.2)
    assert not np.array_equal(louder.pieces[0].mel, speech.pieces[0].mel)
    assert synthesizer._generator.programs == 1


@pytest.mark.slow
def test_it_speaks_without_a_reference_and_with_the_requested_checkpoint(
    trained: runs.Trained, command: Callable, tmp_path: Path
) -> None:
    run, out = trained.undisturbed.run, tmp_path / "out.wav"
    words = ["synthesize", "--run", run, "--text", "Hello.", "--language", "eng_Latn", "--seconds", "0.2", "--out", out]
    outcome = command(*words, "--checkpoint", "30")
    assert outcome.code == 0, outcome.err
    assert "the checkpoint, of step 30" in outcome.out
    assert soundfile.info(out).frames > 0
    outcome = command(*words, "--checkpoint", "77")
    assert outcome.code == 2
    assert f"{run}: no checkpoint 77; expected one of " in outcome.err.splitlines()[-1]
