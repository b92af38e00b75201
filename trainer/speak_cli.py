"""The command `myxtts-speak`: one text, many texts, evaluation, and the server; saved voices are in `voice_cli`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from shared.errors import UserError
from trainer.command_line import log, run_command
from trainer.config.speech_bounds import MAX_CHARACTERS
from trainer.data.dataset_cache import local_dataset
from trainer.platform.tf_setup import start_tensorflow
from trainer.speak_options import seconds, speech_options, synthesizer_options
from trainer.voice_cli import voice as voice_commands

if TYPE_CHECKING:
    from trainer.speech.options import SpeechOptions
    from trainer.speech.reference import Reference
    from trainer.speech.synthesizer import Synthesizer
    from trainer.speech.voice import Voice

# TensorFlow takes seconds to import, so each command imports its own modules after options and texts were checked.

_CLIP_PATH = click.Path(path_type=Path)
_language = click.option(
    "--language", help="Language of the text: a FLORES-200 code, or a name such as en; by default the run's only one."
)
_voice_name = click.option("--voice", help="A saved voice: its name, or the path of a .safetensors file.")
_references = click.option(
    "--reference",
    "references",
    type=_CLIP_PATH,
    multiple=True,
    help="A clip of the voice; several are heard together. Without a voice the model chooses one.",
)


def _read_text(file: TextIO) -> str:
    """At most one character more than a text may have; raises UserError if it is not UTF-8."""
    try:
        return file.read(MAX_CHARACTERS + 1)
    except UnicodeDecodeError as error:
        raise UserError(f"{file.name}: not UTF-8 (byte {error.start}: {error.reason})") from error


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Make a trained run speak: texts to audio files, saved voices, and a server."""


@cli.command()
@synthesizer_options
@click.argument("text", required=False)
@click.option("--file", type=click.File(encoding="utf-8"), help="A UTF-8 file with the text; - is standard input.")
@_language
@_voice_name
@_references
@click.option("--out", required=True, help="The file to write: .wav, .flac, .ogg, .opus or .mp3; - is standard output.")
@click.option(
    "--format", "stream_format", help="Format of standard output: wav (default), flac, ogg, opus, mp3 or pcm."
)
@speech_options
@click.option("--mel", type=click.Path(dir_okay=False, path_type=Path), help="A .npy file for the mel, for a vocoder.")
@click.option(
    "--tokens", type=click.Path(dir_okay=False, path_type=Path), help="A .npy file for the token ids, for an export."
)
@click.option(
    "--crop", type=click.Path(dir_okay=False, path_type=Path), help="A .npy file for the voice's mel, for an export."
)
def say(
    run: Path,
    load: Callable[[], Synthesizer],
    text: str | None,
    file: TextIO | None,
    language: str | None,
    voice: str | None,
    references: tuple[Path, ...],
    out: str,
    stream_format: str | None,
    options: SpeechOptions,
    mel: Path | None,
    tokens: Path | None,
    crop: Path | None,
) -> None:
    """Speak TEXT, or the text of --file or of standard input, with the model of RUN.

    An empty line separates paragraphs. The text may have any length; it is spoken sentence by sentence. Exit code 1: a
    sentence may not be what the text says, because its length, attention or pauses are implausible.
    """
    from trainer.speech.audio_file import output_of
    from trainer.speech.request import TextFrontEnd

    output = output_of(out, stream_format=stream_format)
    words = _text_from_arguments(text, file)
    clips = _decode_references(references, voice=voice)
    request = TextFrontEnd.of_run(run).prepare(words, language=language)
    start_tensorflow(gpus="as needed", keep_programs=True)  # a training may be running on it
    from trainer.platform.tf_errors import translate_errors
    from trainer.tools.synthesize import Arrays, result_lines, synthesize

    with translate_errors():
        synthesizer = load()
        result = synthesize(
            request,
            synthesizer=synthesizer,
            voice=_load_voice(synthesizer, voice=voice, clips=clips),
            options=options,
            output=output,
            arrays=Arrays(mel, tokens, crop),
            log=log,
        )
    for line in result_lines(result, output=output):
        click.echo(line, err=output.path is None)
    sys.exit(1 if result.implausible else 0)


@cli.command()
@synthesizer_options
@click.argument("texts", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="The folder to write.")
@click.option("--format", "file_format", default="wav", show_default=True, help="wav, flac, ogg, opus or mp3.")
@_language
@_voice_name
@_references
@speech_options
def lines(
    run: Path,
    load: Callable[[], Synthesizer],
    texts: Path,
    out: Path,
    file_format: str,
    language: str | None,
    voice: str | None,
    references: tuple[Path, ...],
    options: SpeechOptions,
) -> None:
    """Speak each text of a file with the model of RUN: TEXTS has a text on each line, or is a .csv or .tsv.

    A table has a header with the column text, and any of id, language and voice. The folder gets an audio file for each
    text, and manifest.jsonl. What the folder holds already is not spoken again.
    """
    from trainer.speech.audio_file import check_format
    from trainer.speech.lines import read_lines

    check_format(file_format)
    read = read_lines(texts, log=log)
    clips = _decode_references(references, voice=voice)
    start_tensorflow(gpus="as needed", keep_programs=True)
    from trainer.platform.tf_errors import translate_errors
    from trainer.tools.speak_lines import LinesSpeaker, result_lines

    with translate_errors():
        synthesizer = load()
        voices: dict[str | None, Voice | None] = {None: _load_voice(synthesizer, voice=voice, clips=clips)}
        voices |= {name: synthesizer.saved_voice(name) for name in {line.voice for line in read} if name is not None}
        speaker = LinesSpeaker(synthesizer, voices=voices, options=options, out=out)
        result = speaker.speak(read, language=language, suffix=f".{file_format}", log=log)
    for line in result_lines(result, out=out):
        click.echo(line)
    sys.exit(1 if result.implausible else 0)


@cli.command()
@synthesizer_options
@click.option("--data", metavar="PATH|URL", required=True, help="A dataset that stores mels like RUN's.")
@click.option("--split", default="validation", show_default=True, help="validation, test or train.")
@click.option("--clips", "count", type=click.IntRange(min=1), help="Clips to speak; by default the whole split.")
@click.option(
    "--listener",
    "listener_name",
    default="pocketsphinx",
    show_default=True,
    help="What writes down the words: pocketsphinx[:GRAMMAR.jsgf], faster-whisper:MODEL, transformers:MODEL, or none.",
)
@click.option(
    "--pitch/--no-pitch", "with_pitch", default=True, show_default=True, help="Compare the pitch, a second a clip."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for clips.jsonl, summary.json and index.html; by default RUN/speech.",
)
@speech_options
def evaluate(
    run: Path,
    load: Callable[[], Synthesizer],
    data: str,
    split: str,
    count: int | None,
    listener_name: str,
    with_pitch: bool,
    out: Path | None,
    options: SpeechOptions,
) -> None:
    """Speak the clips of a split with the model of RUN, and compare the speech with their texts and recordings."""
    from trainer.evaluation.packages import check_packages

    check_packages("jinja2", "jiwer", "librosa", "matplotlib", "PIL", "soxr")
    from trainer.evaluation.listeners import open_listener

    listener = open_listener(listener_name)
    dataset_folder = local_dataset(data, log=log)
    start_tensorflow(gpus="as needed", keep_programs=True)
    from rich.console import Console

    from shared.dataset import Dataset
    from shared.locks import read_lock
    from trainer.evaluation.eval_clips import choose_clips
    from trainer.platform.tf_errors import translate_errors
    from trainer.tools.evaluate_speech import SpeechEvaluator
    from trainer.tools.speech_report import Facts, figures_table, write_clips, write_report

    with translate_errors(), read_lock(dataset_folder):
        dataset, folder = Dataset.open(dataset_folder), out or run / "speech"
        synthesizer = load()
        evaluator = SpeechEvaluator(
            synthesizer, dataset=dataset, listener=listener, options=options, with_pitch=with_pitch
        )
        clips = evaluator.speakable(choose_clips(dataset, split=split, count=count), log=log)
        groups, shown = write_clips(evaluator.evaluate(clips, log=log), total=len(clips), out=folder)
        facts = Facts(str(run), str(synthesizer.checkpoint), data, split, listener_name)
        write_report(groups, shown, facts=facts, rate_hz=synthesizer.rate_hz, out=folder)
    Console(highlight=False).print(figures_table(groups["all"]["all"], title=f"{run}: {len(clips):,} clips"))
    click.echo(f"{folder / 'index.html'}: the worst clips, to look at and to listen to")


def _text_from_arguments(text: str | None, file: TextIO | None) -> str:
    """The text of the argument, of a file, or of standard input."""
    if text is not None and file is not None:
        raise UserError("expected either TEXT or --file")
    if text is None and file is None and sys.stdin.isatty():
        raise UserError("no text; expected TEXT, --file, or a text on standard input")
    return _read_text(file or sys.stdin) if text is None else text


def _decode_references(paths: Sequence[Path], *, voice: str | None) -> list[Reference]:
    """The clips of a voice, decoded; raises UserError if there is a saved voice too."""
    if voice is not None and paths:
        raise UserError("expected either --voice or --reference")
    from trainer.speech.reference import read_reference

    return [read_reference(path) for path in paths]


def _load_voice(synthesizer: Synthesizer, *, voice: str | None, clips: Sequence[Reference]) -> Voice | None:
    if voice is not None:
        return synthesizer.saved_voice(voice)
    return synthesizer.make_voice(clips) if clips else None


@cli.command()
@synthesizer_options
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at; 0.0.0.0 for all.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 is any free one.")
@click.option(
    "--max-characters", type=click.IntRange(1, MAX_CHARACTERS), default=4096, show_default=True, help="Of a text."
)
@click.option(
    "--max-requests",
    type=click.IntRange(1, 1000),
    default=8,
    show_default=True,
    help="Spoken or waiting at a time; further ones are refused.",
)
@seconds
def serve(
    run: Path,
    load: Callable[[], Synthesizer],
    host: str,
    port: int,
    max_characters: int,
    max_requests: int,
    max_sentence_s: float,
) -> None:
    """Serve the model of RUN: OpenAI's speech API, saved voices, and a page; MYXTTS_API_KEY asks for a key."""
    from trainer.server.address import bind_socket

    address = bind_socket(host, port)
    start_tensorflow(gpus="as needed", keep_programs=True)
    from trainer.platform.tf_errors import translate_errors
    from trainer.server.serve import serve as serve_until_signal
    from trainer.server.settings import ServerSettings

    settings = ServerSettings(max_characters=max_characters, max_requests=max_requests, max_sentence_s=max_sentence_s)
    with translate_errors():
        synthesizer = load()
        log("compiling; this takes minutes for a large model on CPUs")
        synthesizer.compile()
        serve_until_signal(synthesizer, address=address, settings=settings, log=log)


cli.add_command(voice_commands)


def main() -> None:
    """Run the command `myxtts-speak`."""
    run_command(cli)
