"""`myxtts-speak say`: one line for each mistake of a user, and speech without one."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import soundfile
import tokenizers

from preprocess.mel import log_mel
from preprocess.tokens import Tokenizer
from shared.dataset import Dataset
from shared.errors import UserError
from shared.languages import language_code
from shared.vocabulary import Vocabulary
from tests.commands import Outcome
from tests.trainer import runs
from tests.trainer.conftest import built
from tests.trainer.processes import program
from tests.trainer.vocoders import write_small_vocoder
from trainer.checkpoint.run_dir import prepare_run_info, read_run_info, write_run_files
from trainer.config.model_config import ModelConfig
from trainer.config.train_config import TrainConfig
from trainer.speech.griffin_lim import griffin_lim
from trainer.speech.options import SpeechOptions
from trainer.speech.prompts import PromptMaker, _log_digits, open_tokenizer
from trainer.speech.request import prepare_pieces
from trainer.speech.sentences import PARAGRAPH_PAUSE_S, PART_PAUSE_S, SENTENCE_PAUSE_S, TextPiece
from trainer.speech.synthesizer import Synthesizer
from trainer.vocoder.vocoder import Vocoder

REFERENCE = Path("tests/corpora/english/wavs/EN001-0001.wav")
OTHER_REFERENCE = Path("tests/corpora/english/wavs/EN001-0002.wav")
TOKENIZER = Path("tests/corpora/tokenizer.json")


@pytest.fixture(scope="module")
def untrained(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has no checkpoint yet."""
    run = tmp_path_factory.mktemp("untrained") / "run"
    info = prepare_run_info(run, config=TrainConfig(model=ModelConfig(size="pico")), dataset=dataset)
    write_run_files(run, info, dataset=dataset)
    return run


@pytest.fixture
def mistake(speak_command: Callable, untrained: Path, tmp_path: Path) -> Callable[..., str]:
    """The one line that a user sees of a command with one mistake."""

    def run(*, run: Path = untrained, text: str | None = "The kettle is singing.", **mistaken: object) -> str:
        options = {"language": "eng_Latn", "reference": REFERENCE, "out": tmp_path / "out.wav", **mistaken}
        given = [part for name, word in options.items() if word is not None for part in (f"--{name}", word)]
        outcome = speak_command("say", *given, "--", run, *([] if text is None else [text]))
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


def test_no_run(mistake: Callable[..., str], speak_command: Callable[..., Outcome], tmp_path: Path) -> None:
    assert "no run here" in mistake(run=tmp_path / "nowhere")
    for words in (("list",), ("delete", "Anna")):
        outcome = speak_command("voice", words[0], tmp_path / "nowhere", *words[1:])
        assert (outcome.code, outcome.out) == (2, "")
        assert "no run here" in outcome.err


@pytest.mark.parametrize("language", ["inglish", "", "eng_Arab", "</s>"])
def test_an_unknown_language(mistake: Callable[..., str], language: str) -> None:
    assert f"unknown language {language!r}" in mistake(language=language)


def test_a_language_that_was_not_trained(mistake: Callable[..., str]) -> None:
    assert re.search("not trained on fra_Latn; it speaks .*eng_Latn", mistake(language="fra_Latn"))


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\x00\x01"])
def test_nothing_to_say(mistake: Callable[..., str], text: str) -> None:
    assert "the text: nothing is left of it" in mistake(text=text)


@pytest.mark.parametrize("text", ["\udcff", "Die Gr\udcf6\udcdfe.", "half: \ud83d"])
def test_a_text_that_is_no_unicode(mistake: Callable[..., str], text: str) -> None:
    """Python has such signs for bytes of the command line and of standard input that are no UTF-8."""
    assert "the text: bytes that are no UTF-8, or half of a surrogate pair" in mistake(text=text)


@pytest.mark.parametrize(
    ("text", "names"), [("😀 ☃", "GRINNING FACE, SNOWMAN"), ("***", "ASTERISK"), ("\u200b", "ZERO WIDTH SPACE")]
)
def test_symbols_alone_are_named(mistake: Callable[..., str], text: str, names: str) -> None:
    assert f"the text: no letter or digit in it, only {names};" in mistake(text=text)


def test_a_text_without_end(mistake: Callable[..., str], tmp_path: Path) -> None:
    assert "characters, expected at most 1,000,000; divide it" in mistake(text=None, file="/dev/zero")


def test_a_text_and_a_file_or_neither(mistake: Callable[..., str], tmp_path: Path) -> None:
    assert "either TEXT or --file" in mistake(text="Hello.", file="/dev/null")
    (tmp_path / "text.txt").write_bytes(b"caf\xe9")
    assert "text.txt: not UTF-8 (" in mistake(text=None, file=tmp_path / "text.txt")


@pytest.mark.parametrize("name", ["out.mp4", "out", "out.pcm"])
def test_a_format_that_is_not_written(mistake: Callable[..., str], tmp_path: Path, name: str) -> None:
    assert "speech is not written in this format; expected a file of .wav, .flac, .ogg, .opus, .mp3" in mistake(
        out=tmp_path / name
    )


def test_a_vocoder_for_other_mels_or_none_at_all(mistake: Callable[..., str], tmp_path: Path) -> None:
    other = write_small_vocoder(tmp_path / "other.safetensors", features="bigvgan-24k-100")
    words = f"{other}: a vocoder for mels of bigvgan-24k-100, not hifigan-22k: sample_rate_hz is 24000, expected 22050;"
    assert words in mistake(vocoder=other)
    assert "none.safetensors: cannot be read" in mistake(vocoder=tmp_path / "none.safetensors")


def test_characters_that_the_tokenizer_does_not_know_are_named() -> None:
    lines: list[str] = []
    maker = SimpleNamespace(_tokenizer=Tokenizer(str(TOKENIZER)))
    english: dict[str, Any] = {"language": "eng_Latn", "log": lines.append}
    PromptMaker._log_unknown(maker, [TextPiece("Hello ☃.", 0.0), TextPiece("Hello.", 0.0)], **english)
    PromptMaker._log_unknown(maker, [TextPiece("Hello.", 0.0)], **english)
    assert lines == ["the text: the tokenizer does not know ☃; each becomes <unk>"]


@pytest.mark.slow
def test_a_run_on_another_tokenizer_than_nllbs_encodes_texts_as_its_dataset_did(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    own = tokenizers.Tokenizer(tokenizers.models.BPE())
    own.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    texts = Path("tests/corpora/sentences/eng_Latn.txt").read_text("utf-8").splitlines()
    own.train_from_iterator(texts, tokenizers.trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet))
    own.save(str(path))
    dataset = Dataset.open(built(tmp_path / "data", overrides=[f"tokenizer={path}", "tokenizer_kind=other"]))
    run = tmp_path / "run"
    info = prepare_run_info(run, config=TrainConfig(model=ModelConfig(size="pico")), dataset=dataset)
    write_run_files(run, info, dataset=dataset)
    tokenizer, vocabulary = open_tokenizer(None, info=read_run_info(run), run=run), Vocabulary.load(run / "vocab.json")
    dense = vocabulary.table()
    for record in dataset.records("train"):
        pieces = tokenizer.encode_pieces(record.text, language=language_code(record.language))
        assert vocabulary.encode(pieces) == dense[list(record.tokens)].tolist()


@pytest.mark.parametrize(
    ("text", "language", "named"),
    [
        ("It is 20:00 on 04/07/2025, or 20:00.", "eng_Latn", "20:00 04/07/2025, 20:00."),
        ("Call 1-2 3-4 5-6 7-8 9-0 and 2-3.", "eng_Latn", "1-2 3-4 5-6 7-8 9-0 and 1 more"),
        ("I have 3 of them.", "eng_Latn", None),
        ("3 4", "kbp_Latn", None),  # its numbers are never put in words
    ],
)
def test_words_whose_digits_no_rule_reads_are_named(text: str, language: str, named: str | None) -> None:
    lines: list[str] = []
    _log_digits(prepare_pieces(text, language=language), language=language, log=lines.append)
    assert lines == ([f"the text: no rule reads {named}; write such words as they are spoken"] if named else [])


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
def test_a_folder_in_the_place_of_the_file(mistake: Callable[..., str], out: str) -> None:
    assert "directory" in mistake(out=out)


def check_outcome(outcome: Outcome) -> None:
    """A model of a few steps may speak implausibly; the exit code says whether it does."""
    assert outcome.code == int("may not be what the text says" in outcome.out), outcome.err


@pytest.mark.slow
def test_a_trained_run_speaks(trained: runs.Trained, speak_command: Callable, tmp_path: Path) -> None:
    out = tmp_path / "new" / "hello.wav"
    words = ["say", "--reference", REFERENCE, "--seconds", "0.5", "--out", out, "--language", "eng_Latn"]
    names = "mel", "tokens", "crop"
    kept = [tmp_path / "kept" / f"{name}.npy" for name in names]
    arrays = [part for name, path in zip(names, kept, strict=True) for part in (f"--{name}", path)]
    outcome = speak_command(*words, *arrays, trained.undisturbed.run, "The kettle is singing.")
    check_outcome(outcome)
    assert "compiling, then speaking a sentence" in outcome.err
    samples, rate_hz = soundfile.read(out, dtype="float32", always_2d=True)
    assert rate_hz == 22050
    assert samples.shape[1] == 1
    assert np.isfinite(samples).all()
    assert np.abs(samples).max() > 0
    frames, rest = divmod(len(samples), 256)
    assert rest == 0
    assert 1 <= frames <= 40
    assert f"{len(samples) / 22050:.2f} s at 22050 Hz" in outcome.out
    assert [path.name for path in out.parent.iterdir()] == ["hello.wav"]
    info, vocabulary = read_run_info(trained.undisturbed.run), Vocabulary.load(trained.undisturbed.run / "vocab.json")
    mel, tokens, crop = map(np.load, kept)
    assert (mel.dtype, mel.shape) == (np.float32, (frames, 80))
    heard = griffin_lim(mel, spec=info.contract.features, seed=1)
    np.testing.assert_allclose(samples[:, 0], heard / max(1.0, np.abs(heard).max()), atol=1e-4)
    pieces = Tokenizer(str(TOKENIZER)).encode_pieces("The kettle is singing.", language="eng_Latn")
    assert tokens.tolist() == [vocabulary.encode(pieces)]  # as an export takes them
    whole = log_mel(soundfile.read(REFERENCE, dtype="float32")[0], spec=info.contract.features)
    np.testing.assert_allclose(crop, whole[None], atol=1e-4)


@pytest.mark.slow
def test_a_trained_run_speaks_through_a_vocoder(trained: runs.Trained, speak_command: Callable, tmp_path: Path) -> None:
    path = write_small_vocoder(tmp_path / "vocoder.safetensors", features="hifigan-22k")
    words = ["Hello.", "--language", "en", "--seconds", "0.3", "--vocoder", path]
    kept = ["--out", tmp_path / "out.wav", "--mel", tmp_path / "mel.npy"]
    check_outcome(speak_command("say", trained.undisturbed.run, *words, *kept))
    wanted = Vocoder.load(path)(np.load(tmp_path / "mel.npy"))
    samples, _ = soundfile.read(tmp_path / "out.wav", dtype="float32")
    np.testing.assert_allclose(samples, wanted / max(1.0, np.abs(wanted).max()), atol=1e-4)


@pytest.mark.slow
def test_a_text_of_several_sentences_is_spoken_one_after_another(
    trained: runs.Trained, speak_command: Callable, tmp_path: Path
) -> None:
    run, out = trained.undisturbed.run, tmp_path / "out.flac"
    text = tmp_path / "text.txt"
    longest = read_run_info(run).lengths.tokens
    text.write_text(f"Dr. Kettle sings. It is five!\n\n{'one ' * longest}", encoding="utf-8")
    words = ["--language", "eng_Latn", "--seconds", "0.2", "--out", out, "--mel", tmp_path / "mel.npy"]
    outcome = speak_command("say", run, "--file", text, *words)
    check_outcome(outcome)
    assert f"sentences of more than {longest} tokens" in outcome.err
    assert "3 sentences, " in outcome.err
    mel, info = np.load(tmp_path / "mel.npy"), soundfile.info(out)
    parts = int(re.search(r"3 sentences, (\d+) parts", outcome.err)[1])
    pauses = SENTENCE_PAUSE_S + PARAGRAPH_PAUSE_S + (parts - 3) * PART_PAUSE_S
    assert info.format == "FLAC"
    assert info.frames == pytest.approx(len(mel) * 256 + pauses * 22050, abs=parts)


@pytest.mark.slow
def test_the_speech_of_the_python_interface_is_that_of_the_command(
    trained: runs.Trained, speak_command: Callable, tmp_path: Path
) -> None:
    run, out, text = trained.undisturbed.run, tmp_path / "out.wav", "The kettle sings. Really?"
    words = ["say", run, text, "--language", "eng_Latn", "--seconds", "0.2", "--out", out]
    outcome = speak_command(*words, "--reference", REFERENCE, "--temperature", "0.5", "--seed", "3")
    check_outcome(outcome)
    synthesizer = Synthesizer.load(run)
    options = SpeechOptions(seed=3, temperature=0.5, max_sentence_s=0.2)
    voice = synthesizer.read_voice(REFERENCE)
    speech = synthesizer.say(text, language="en", voice=voice, options=options)
    speech.write(tmp_path / "same.wav")
    assert (tmp_path / "same.wav").read_bytes() == out.read_bytes()
    assert [one.text for one in speech.pieces] == ["The kettle sings.", "Really?"]
    assert speech.duration_s == pytest.approx(soundfile.info(out).duration)
    louder = synthesizer.say(text, language="en", voice=voice, options=options._replace(temperature=1.0))
    assert not np.array_equal(louder.pieces[0].mel, speech.pieces[0].mel)
    (together,) = synthesizer.say_batch([text], language="en", voice=voice, options=options)
    for one, other in zip(together.pieces, speech.pieces, strict=True):
        np.testing.assert_allclose(one.mel, other.mel, atol=2e-3)
        assert (one.text, one.pause_s, one.problems) == (other.text, other.pause_s, other.problems)
    assert synthesizer._generator.programs == 2
    faster = synthesizer.say(text, language="en", voice=voice, options=options._replace(speed=2.0))
    assert faster.duration_s == pytest.approx(speech.duration_s / 2, abs=0.03)
    assert synthesizer._generator.programs == 2
    for name, error in (
        ("speed", "speed 9: expected 0.25 to 4"),
        ("temperature", "temperature 9: expected 0 to 2"),
        ("guidance", "guidance 9: expected 1 to 5"),
    ):
        with pytest.raises(UserError, match=error):
            synthesizer.say(text, language="en", voice=voice, options=options._replace(**{name: 9.0}))


@pytest.mark.slow
def test_it_speaks_without_a_reference_and_with_the_requested_checkpoint(
    trained: runs.Trained, speak_command: Callable, tmp_path: Path
) -> None:
    run, out, step = trained.undisturbed.run, tmp_path / "out.wav", runs.STEPS - runs.CHECKPOINT_EVERY
    words = ["say", run, "Hello.", "--language", "eng_Latn", "--seconds", "0.2", "--out", out]
    outcome = speak_command(*words, "--checkpoint", str(step))
    check_outcome(outcome)
    assert f"the checkpoint, of step {step}" in outcome.out
    assert soundfile.info(out).frames > 0
    outcome = speak_command(*words, "--checkpoint", "77")
    assert outcome.code == 2
    assert f"{run}: no checkpoint 77; expected one of " in outcome.err.splitlines()[-1]


@pytest.mark.slow
def test_speech_goes_to_standard_output_as_it_is_spoken(trained: runs.Trained, tmp_path: Path) -> None:
    words = ["--language", "en", "--seconds", "0.2", "--out"]
    command = [program("myxtts-speak"), "say", trained.undisturbed.run, *words]
    text = b"The kettle sings. Really?"
    piped = subprocess.run([*command, "-"], input=text, capture_output=True)
    written = subprocess.run([*command, tmp_path / "out.wav"], input=text, capture_output=True)
    assert piped.returncode == written.returncode in (0, 1)
    assert b"standard output: " in piped.stderr
    assert b"out.wav: " in written.stdout
    samples, rate_hz = soundfile.read(tmp_path / "out.wav", dtype="int16")
    assert piped.stdout[:4] == b"RIFF"
    assert piped.stdout[44:] == samples.tobytes()
    assert rate_hz == 22050


@pytest.mark.slow
def test_a_saved_voice_speaks_as_its_clips_do_on_another_machine_too(
    trained: runs.Trained, speak_command: Callable, tmp_path: Path
) -> None:
    run = shutil.copytree(trained.undisturbed.run, tmp_path / "run")
    elsewhere = tmp_path / "elsewhere.safetensors"
    saved = speak_command("voice", "save", run, "Anna", REFERENCE, OTHER_REFERENCE)
    assert saved.code == 0, saved.err
    (path,) = (run / "voices").iterdir()
    assert saved.out.startswith(f"{path}: voice Anna, ")
    assert saved.out.endswith(" s of 2 clips\n")
    assert speak_command("voice", "save", run, "Anna", REFERENCE).code == 2
    assert "Anna\t" in speak_command("voice", "list", run).out
    shutil.copy(path, elsewhere)
    words = ["say", run, "The kettle sings.", "--language", "en", "--seconds", "0.2", "--out"]
    voices = {
        "saved": ["--voice", "Anna"],
        "copied": ["--voice", elsewhere],
        "clips": ["--reference", REFERENCE, "--reference", OTHER_REFERENCE],
        "one": ["--reference", REFERENCE],
    }
    said = {}
    for name, voice in voices.items():
        outcome = speak_command(*words, tmp_path / f"{name}.wav", *voice)
        check_outcome(outcome)
        said[name] = (tmp_path / f"{name}.wav").read_bytes()
    assert said["saved"] == said["copied"] == said["clips"] != said["one"]
    assert speak_command("voice", "delete", run, "Anna").code == 0
    assert list((run / "voices").iterdir()) == []
    outcome = speak_command(*words, tmp_path / "no.wav", "--voice", "Anna")
    assert outcome.code == 2
    assert "voice Anna: not saved; there are: none" in outcome.err
