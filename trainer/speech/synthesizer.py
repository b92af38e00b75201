"""The synthesizer: texts of any length to speech, by a trained run.

    from trainer.speech.synthesizer import Synthesizer

    synthesizer = Synthesizer.load("runs/ljspeech")
    voice = synthesizer.read_voice("someone.wav")
    speech = synthesizer.say("Printing, then, is an art. It has a history.", language="en", voice=voice)
    speech.write("speech.wav")

The first sentence is spoken by itself, so that it comes early. Where many follow, they are spoken in batches. The
programs are compiled at the first sentence and at the first batch, and serve further ones of these sizes.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from trainer.platform import lean_tensorflow  # noqa: F401

# isort: split
from preprocess.text_normalizer import normalizer_of
from preprocess.tokens import Tokenizer
from shared.dataset import Contract
from shared.errors import UserError
from shared.vocabulary import Vocabulary
from trainer.checkpoint.checkpoint import find_checkpoint
from trainer.checkpoint.checkpoint_files import CheckpointFile
from trainer.checkpoint.run_dir import RunInfo, load_trained_model, read_run_info
from trainer.config.speech_bounds import MAX_TOKENS
from trainer.model.reference_crop import reference_pieces
from trainer.model.xtts import XTTS
from trainer.speech.attempts import PlausibleSpeaker
from trainer.speech.generation import BATCH_ROWS, CACHE_STEPS, Generator, Sampling
from trainer.speech.griffin_lim import griffin_lim
from trainer.speech.options import SpeechOptions
from trainer.speech.prompts import PromptMaker, open_tokenizer
from trainer.speech.reference import Reference, read_reference
from trainer.speech.request import SynthesisRequest, TextFrontEnd
from trainer.speech.sentences import TextPiece
from trainer.speech.speech import Speech, SpokenPiece, SpokenPieces, with_problems_logged
from trainer.speech.time_stretch import stretch_mel
from trainer.speech.voice import Voice, make_voice, read_voice
from trainer.speech.voice_store import SUFFIX, VoiceStore
from trainer.vocoder.vocoder import Vocoder

MIN_BATCH = BATCH_ROWS // 2  # sentences; fewer take no longer one by one, which needs no other program


class Synthesizer:
    """Speaks texts with the model of a run."""

    def __init__(
        self,
        model: XTTS,
        *,
        info: RunInfo,
        run: Path,
        tokenizer: Tokenizer,
        checkpoint: CheckpointFile,
        vocoder: Vocoder | None = None,
    ):
        """Use `Synthesizer.load`."""
        self._info, self.run, self.checkpoint = info, run, checkpoint
        self._vocabulary = Vocabulary.load(run / "vocab.json")
        normalizer = normalizer_of(info.contract.text_normalizer)
        self.front_end = TextFrontEnd(run, languages=self.languages, normalizer=normalizer)
        self._spec = info.contract.features
        self._generator = Generator(model, xla=info.config.xla, frames_per_second=self._spec.frames_per_second)
        self._speaker = PlausibleSpeaker(self._generator, frames_per_second=self._spec.frames_per_second)
        self._prompts = PromptMaker(self._generator, info=info, vocabulary=self._vocabulary, tokenizer=tokenizer)
        self.voices = VoiceStore(run / "voices")
        self._vocoder = vocoder

    @classmethod
    def load(
        cls,
        run: Path | str,
        *,
        checkpoint: str | None = None,
        tokenizer: str | None = None,
        vocoder: Path | str | None = None,
    ) -> Synthesizer:
        """Load the model of a run or of an export.

        Args:
            run: the folder that training or `myxtts-train export` wrote.
            checkpoint: "best", "last" or a step; None is the best if there is one, and else the last.
            tokenizer: its path, if it has moved since the shards were built.
            vocoder: a vocoder file, which `myxtts-train vocoder convert` writes; None: Griffin-Lim.

        Raises:
            UserError: there is no trained run or no such checkpoint, the tokenizer or the text normalizer is another
                one, or the vocoder is none, or one for other mels.
        """
        run = Path(run)
        info = read_run_info(run)
        loaded = Vocoder.load(Path(vocoder), spec=info.contract.features) if vocoder else None
        opened = open_tokenizer(tokenizer, info=info, run=run)
        saved = find_checkpoint(run, checkpoint)
        model, progress = load_trained_model(run, saved, info=info)  # the best may be another by now
        saved = saved._replace(step=progress.step)
        return cls(model, info=info, run=run, tokenizer=opened, checkpoint=saved, vocoder=loaded)

    @property
    def weight_files(self) -> list[Path]:
        """The files whose weights speak: the checkpoint, and the vocoder where there is one."""
        return [self.checkpoint.path, *([] if self._vocoder is None else [self._vocoder.path])]

    @property
    def languages(self) -> list[str]:
        """The FLORES-200 codes of the languages that the model was trained on."""
        return self._vocabulary.languages

    @property
    def contract(self) -> Contract:
        """The contract of the dataset that the model was trained on."""
        return self._info.contract

    @property
    def rate_hz(self) -> int:
        """The sampling rate of the speech."""
        return self._spec.sample_rate_hz

    @property
    def speaks_without_voice(self) -> bool:
        """True if the model was trained with clips without a reference, so that it can choose a voice."""
        return self._info.config.model.reference_dropout > 0

    def read_voice(self, *clips: Path | str, name: str = "reference") -> Voice:
        """The voice of one or several clips of a speaker, in any format that datasets are built from.

        Raises:
            UserError: a clip cannot be read, has no usable sound, or all are too short or too long.
        """
        return self.make_voice([read_reference(Path(clip)) for clip in clips], name=name)

    def make_voice(self, references: Sequence[Reference], *, name: str = "reference") -> Voice:
        """The voice of decoded clips of a speaker.

        Raises:
            UserError: a clip has no usable sound, or all are too long.
        """
        return make_voice(references, contract=self._info.contract, name=name)

    def speaker_embedding(self, mel: np.ndarray) -> np.ndarray:
        """The speaker embedding [S] of a mel [F, M] in ln magnitude, of length 1: alike for clips of one voice."""
        crops = reference_pieces(mel, frames=self._info.config.model.crop_frames).numpy()
        (speaker,) = self._generator.encode_voice(list(crops)).speaker.numpy()
        return speaker / np.linalg.norm(speaker)

    def saved_voice(self, name: str) -> Voice:
        """A voice that `myxtts-speak voice save` saved: its name in the run, or the path of a .safetensors file.

        Raises:
            UserError: there is no such voice, or it was made for other mels than those that the run was trained on.
        """
        voice = read_voice(Path(name)) if name.endswith(SUFFIX) else self.voices.find(name).voice
        voice.check(self._info.contract, run=self.run)
        return voice

    def vocode(self, mel: np.ndarray, *, seed: int = 1) -> np.ndarray:
        """The samples [S] float32 of a mel [F, M] in ln magnitude: by the vocoder, or by Griffin-Lim.

        Args:
            seed: of Griffin-Lim's first phases.
        """
        return griffin_lim(mel, spec=self._spec, seed=seed) if self._vocoder is None else self._vocoder(mel)

    def compile(self) -> None:
        """Compile the programs of single sentences as long as in training, so that the first ones come early."""
        self.vocode(np.full([1, self._spec.n_mels], self._spec.log_silence, np.float32))
        for tokens in {1, min(self._info.lengths.tokens, MAX_TOKENS)}:
            prompt = self._prompts.endless(tokens, steps=CACHE_STEPS + 1)
            self._generator.speak([prompt], sampling=Sampling(stop_threshold=1.0))

    def say(
        self,
        text: str,
        *,
        language: str | None = None,
        voice: Voice | None = None,
        options: SpeechOptions = SpeechOptions(),  # noqa: B008 (immutable)
        log: Callable[[str], object] = warnings.warn,
    ) -> Speech:
        """Speak a text of any length.

        Args:
            text: an empty line separates paragraphs.
            language: a FLORES-200 code, or a name such as "en" or "deu"; None: the only one that was trained.
            voice: None: the model chooses a voice.
            log: receives what a user should know: characters that the tokenizer does not know, sentences that may not
                be what the text says. By default these are Python's warnings.

        Raises:
            UserError: the text has nothing to speak, the language was not trained, the voice does not fit the model,
                or an option is out of range.
        """
        pieces = self.stream(text, language=language, voice=voice, options=options, log=log)
        return Speech(tuple(pieces), self.rate_hz)

    def stream(
        self,
        text: str,
        *,
        language: str | None = None,
        voice: Voice | None = None,
        options: SpeechOptions = SpeechOptions(),  # noqa: B008 (immutable)
        log: Callable[[str], object] = warnings.warn,
    ) -> Iterator[SpokenPiece]:
        """Speak a text as `say` does, sentence after sentence; the first comes before the second is begun."""
        request = self.front_end.prepare(text, language=language)
        spoken = self.speak(request, voice=voice, options=options, log=log)
        return with_problems_logged(spoken.pieces, log=log)

    def say_batch(
        self,
        texts: Sequence[str],
        *,
        language: str | None = None,
        voice: Voice | None = None,
        options: SpeechOptions = SpeechOptions(),  # noqa: B008 (immutable)
        log: Callable[[str], object] = warnings.warn,
    ) -> Iterator[Speech]:
        """Speak texts of a language as `say` does, sixteen sentences at a time; yields their speech in order."""
        requests = [self.front_end.prepare(text, language=language) for text in texts]
        speeches = self.speak_batch(requests, voice=voice, options=options, log=log)
        return (Speech(tuple(with_problems_logged(one.pieces, log=log)), one.rate_hz) for one in speeches)

    def speak(
        self,
        request: SynthesisRequest,
        *,
        voice: Voice | None = None,
        options: SpeechOptions = SpeechOptions(),  # noqa: B008 (immutable)
        in_batches: bool = True,
        log: Callable[[str], object] = lambda _: None,
    ) -> SpokenPieces:
        """Speak a prepared request, sentence by sentence.

        Args:
            in_batches: speak many sentences at once where many follow the first one; False: one by one, so that each
                step of the iterator is short.
            log: receives what a user should know.

        Raises:
            UserError: an option is out of range, the voice does not fit the model, or the model needs a voice.
        """
        options.check()
        self._check_voice(voice, options=options)
        pieces = self._prompts.fit(request.pieces, language=request.language, log=log)
        groups = _groups(pieces) if in_batches else _slices(pieces, size=1)
        spoken = self._spoken(groups, language=request.language, voice=voice, options=options)
        return SpokenPieces(len(pieces), spoken)

    def speak_batch(
        self,
        requests: Sequence[SynthesisRequest],
        *,
        voice: Voice | None = None,
        options: SpeechOptions = SpeechOptions(),  # noqa: B008 (immutable)
        log: Callable[[str], object] = lambda _: None,
    ) -> Iterator[Speech]:
        """Speak prepared requests of one language, sixteen sentences at a time; yields their speech in order.

        Raises:
            UserError: an option is out of range, the voice does not fit the model, or the model needs a voice.
        """
        options.check()
        self._check_voice(voice, options=options)
        (language,) = {request.language for request in requests}
        fitted = [self._prompts.fit(request.pieces, language=language, log=log) for request in requests]
        groups = _slices([piece for pieces in fitted for piece in pieces], size=BATCH_ROWS)
        spoken = self._spoken(groups, language=language, voice=voice, options=options)
        return (Speech(tuple(itertools.islice(spoken, len(pieces))), self.rate_hz) for pieces in fitted)

    def _spoken(
        self, groups: Iterable[list[TextPiece]], *, language: str, voice: Voice | None, options: SpeechOptions
    ) -> Iterator[SpokenPiece]:
        sampling = Sampling(
            seed=options.seed,
            temperature=options.temperature,
            stop_threshold=options.stop_threshold,
            is_guided=options.is_guided,
            guidance=options.guidance,
        )
        for group in groups:
            prompts = [
                self._prompts.prompt(piece.text, language=language, voice=voice, options=options) for piece in group
            ]
            attempts = self._speaker.speak(prompts, sampling=sampling, pace=self._prompts.pace(language))
            for piece, prompt, (spoken, problems) in zip(group, prompts, attempts, strict=True):
                mel = stretch_mel(spoken.mel, speed=options.speed)
                yield SpokenPiece(
                    text=piece.text,
                    tokens=prompt.tokens,
                    mel=mel,
                    alignment=spoken.alignment,
                    samples=self.vocode(mel, seed=options.seed),
                    pause_s=piece.pause_s / options.speed,
                    problems=problems,
                )

    def _check_voice(self, voice: Voice | None, *, options: SpeechOptions) -> None:
        if voice is not None:
            voice.check(self._info.contract, run=self.run)
        elif not self.speaks_without_voice:
            raise UserError(
                f"{self.run.name} was trained with model.reference_dropout=0, so it speaks in the voice of a reference "
                "only; expected a reference or a saved voice"
            )
        if options.guidance != 1.0 and (voice is None or not self.speaks_without_voice):
            raise UserError(
                f"guidance {options.guidance:g}: expected a voice, and a model that was trained with "
                "model.reference_dropout above 0"
            )


def _groups(pieces: list[TextPiece]) -> Iterator[list[TextPiece]]:
    """The pieces that are spoken at once: the first one alone, then batches where many follow."""
    rest = pieces[1:]
    yield pieces[:1]
    yield from _slices(rest, size=BATCH_ROWS if len(rest) >= MIN_BATCH else 1)


def _slices(pieces: list[TextPiece], *, size: int) -> Iterator[list[TextPiece]]:
    return (pieces[start : start + size] for start in range(0, len(pieces), size))
