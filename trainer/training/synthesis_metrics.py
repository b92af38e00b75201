"""Metrics of synthesized clips beside their recordings; each has the prefix `free_`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from shared.features import FeatureSpec
from shared.records import PCM_FULL_SCALE
from trainer.config.synthesis_eval_config import SynthesisEvalConfig
from trainer.evaluation.cepstra import align_mels
from trainer.evaluation.dtw import dtw_distance_db
from trainer.evaluation.packages import check_packages
from trainer.monitoring.samples import Sample

if TYPE_CHECKING:
    from trainer.evaluation.listeners import Listener
    from trainer.evaluation.text_errors import TextErrors

MAX_MOVE = 2  # tokens by which attention may advance in one decoder step

# listeners and pitch need packages of the extra `evaluation`, so they are imported where they are asked for


def synthesis_metrics(samples: list[Sample]) -> dict[str, float]:
    """Return length error, distances, monotonic share and ended share, each as the mean over clips."""
    each = [_metrics(sample) for sample in samples]
    return {f"free_{name}": float(np.mean([metrics[name] for metrics in each])) for name in each[0]}


def _metrics(sample: Sample) -> dict[str, float]:
    return {
        "length_error": abs(len(sample.spoken) / len(sample.target) - 1.0),
        "mel_distance_db": dtw_distance_db(sample.spoken, sample.target),
        "mel_cepstral_distance_db": align_mels(sample.spoken, sample.target).distance_db,
        "moves": monotonic_share(sample.alignment),
        "ended": float(sample.has_ended),
    }


def monotonic_share(alignment: np.ndarray) -> float:
    """Return the share of decoder steps whose most attended token advances by 0 to 2; alignment is [N, T]."""
    moves = np.diff(alignment.argmax(1))
    return float(((moves >= 0) & (moves <= MAX_MOVE)).mean()) if len(moves) else 1.0


class SynthesisMeasures:
    """The metrics that settings ask for: of words by a listener, and of pitch."""

    def __init__(self, config: SynthesisEvalConfig, *, spec: FeatureSpec):
        """Raises UserError if there is no such listener, or its package is not installed."""
        self._spec, self._with_pitch = spec, config.pitch
        self._listener: Listener | None = None
        if config.clips and config.pitch:
            check_packages("librosa")
        if config.clips and config.listener is not None:
            check_packages("jiwer", "soxr")
            from trainer.evaluation.listeners import open_listener

            self._listener = open_listener(config.listener)

    def measure(self, samples: list[Sample], *, languages: Mapping[str, str]) -> dict[str, float]:
        """The metrics of clips; `languages` has the FLORES-200 code of each utterance."""
        metrics = self._text_metrics(samples, languages=languages)
        return metrics | _pitch_metrics(samples, spec=self._spec) if self._with_pitch else metrics

    def _text_metrics(self, samples: list[Sample], *, languages: Mapping[str, str]) -> dict[str, float]:
        """Errors over all words and characters, and those of the recordings; none where no language is known."""
        listener, rate_hz = self._listener, self._spec.sample_rate_hz
        if listener is None:
            return {}
        from trainer.evaluation.text_errors import text_errors

        def errors(name: str, sound: np.ndarray, *, said: str) -> TextErrors:
            heard = listener.transcribe(sound / PCM_FULL_SCALE, rate_hz=rate_hz, language=languages[name])
            return text_errors(heard, said=said)

        known = [one for one in samples if listener.hears(languages[one.utterance_id])]
        spoken = [errors(one.utterance_id, one.spoken_sound, said=one.text) for one in known]
        recorded = [errors(one.utterance_id, one.target_sound, said=one.text) for one in known]
        return _error_rates(spoken, prefix="free_") | _error_rates(recorded, prefix="free_recording_")


def _error_rates(errors: list[TextErrors], *, prefix: str) -> dict[str, float]:
    if not errors:
        return {}
    word_errors, words, character_errors, characters = (sum(values) for values in zip(*errors, strict=True))
    return {f"{prefix}word_errors": word_errors / words, f"{prefix}character_errors": character_errors / characters}


def _pitch_metrics(samples: list[Sample], *, spec: FeatureSpec) -> dict[str, float]:
    """RMS difference in cents over the clips in which some aligned frames are voiced in both, and voicing errors."""
    from trainer.evaluation.pitch import pitch_contour, pitch_difference

    found = []
    for one in samples:
        if not np.isfinite(one.spoken).all():
            continue
        contours = (
            pitch_contour(
                sound / PCM_FULL_SCALE, rate_hz=spec.sample_rate_hz, hop_samples=spec.hop_samples, frames=len(mel)
            )
            for sound, mel in ((one.spoken_sound, one.spoken), (one.target_sound, one.target))
        )
        found.append(pitch_difference(*contours, path=align_mels(one.spoken, one.target).path))
    if not found:
        return {}
    cents = [one.rms_cents for one in found if np.isfinite(one.rms_cents)]
    metrics = {"free_voicing_error": float(np.mean([one.voicing_error for one in found]))}
    return metrics | ({"free_f0_rms_cents": float(np.mean(cents))} if cents else {})
