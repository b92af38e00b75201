"""Benchmark of quality estimators, each alone and all together, and of optional fields, relative to decoding and mel.

python -m tests.bench.quality
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from preprocess import quality
from preprocess.audio import Signal, decode_audio, resample
from preprocess.audio_file import read_audio_file
from preprocess.dnsmos import DNSMOS, RATE_HZ
from preprocess.mel import frame_energy, log_mel
from preprocess.pitch import frame_pitch
from preprocess.speaker_encoder import SpeakerEncoder
from preprocess.speech_activity import measure_activity, speech_share
from preprocess.text_language import text_language
from shared.features import preset
from tests.bench.corpus import make_corpus
from tests.bench.summary import add_row

CLIPS, ROUNDS = 100, 5
FEW_CLIPS = 10
LIMIT = 0.35


def main() -> None:
    """Print the table."""
    spec = preset("hifigan-22k")
    with tempfile.TemporaryDirectory() as folder:
        root = make_corpus(Path(folder) / "corpus", clips=CLIPS)
        files = [read_audio_file(str(path)) for path in sorted((root / "wavs").iterdir())]
    signals = [decode_audio(data, max_duration_s=60) for data in files]
    mels = [log_mel(signal.samples, spec=spec) for signal in signals]
    powers = [quality.frame_powers(signal.samples, hop_samples=256) for signal in signals]
    clips = range(CLIPS)

    def whole(clip: int) -> quality.Quality:
        signal: Signal = signals[clip]
        return quality.measure_quality(signal, resampled=signal, mel=mels[clip], hop_samples=256)

    work: dict[str, Callable[[int], object]] = {
        "decode": lambda clip: decode_audio(files[clip], max_duration_s=60),
        "mel": lambda clip: log_mel(signals[clip].samples, spec=spec),
        "all measures": whole,
        "frame powers": lambda clip: quality.frame_powers(signals[clip].samples, hop_samples=256),
        "silence": lambda clip: quality.silence_fraction(powers[clip]),
        "SNR": lambda clip: quality.snr_db(powers[clip]),
        "clipping": lambda clip: quality.clipped_fraction(signals[clip].samples, highest=1.0, lowest=-1.0),
        "bandwidth": lambda clip: quality.bandwidth_hz(signals[clip], powers=powers[clip], hop_samples=256),
        "hash": lambda clip: quality.audio_hash(mels[clip]),
        "energy": lambda clip: frame_energy(signals[clip].samples, spec=spec),
        "pitch, dio": lambda clip: frame_pitch(signals[clip].samples, spec=spec, method="dio"),
    }
    rounds = [{name: _time(one, clips) for name, one in work.items()} for _ in range(ROUNDS + 1)][1:]
    shares = {name: [one[name] / (one["decode"] + one["mel"]) for one in rounds] for name in work}
    print(f"measures of {CLIPS} clips of 1 to 10 s ({ROUNDS} rounds, medians)")
    for name in work:
        milliseconds = 1000 * statistics.median(one[name] for one in rounds) / CLIPS
        print(f"  {name:14} {milliseconds:7.3f} ms a clip, {statistics.median(shares[name]):6.1%} of decode + mel")
    print(f"  all measures: expected at most {LIMIT:.0%}")
    few, decode_and_mel_s = signals[:FEW_CLIPS], statistics.median(one["decode"] + one["mel"] for one in rounds)
    networks = {
        "DNSMOS": DNSMOS(),
        "speaker": SpeakerEncoder(),
        "speech": lambda samples: speech_share(measure_activity([samples])),
    }
    for name, network in networks.items():
        _print_network(name, network, signals=few, decode_and_mel_s=decode_and_mel_s)
    few_s = _time(lambda clip: frame_pitch(few[clip].samples, spec=spec, method="harvest"), range(FEW_CLIPS))
    print(f"  {'pitch, harvest':14} {1000 * few_s / FEW_CLIPS:7.0f} ms a clip, by the build")
    texts = Path("tests/corpora/sentences/eng_Latn.txt").read_text(encoding="utf-8").splitlines()
    text_language(texts[0], language="eng_Latn")
    text_s = _time(lambda one: text_language(texts[one], language="eng_Latn"), range(len(texts))) / len(texts)
    print(f"  {'text language':14} {1000 * text_s:7.3f} ms a text, by a command of its own")
    share = statistics.median(shares["all measures"])
    add_row(
        "quality",
        "measuring quality",
        measured=f"{share:.1%}",
        floor="decode and mel",
        bound=f"≤ {LIMIT:.0%}",
        met=share <= LIMIT,
    )


def _print_network(
    name: str, network: Callable[[np.ndarray], object], *, signals: list[Signal], decode_and_mel_s: float
) -> None:
    """Print what `myxtts-data score` computes for a clip; `decode_and_mel_s` is that of CLIPS clips."""
    heard = [resample(signal, rate_hz=RATE_HZ).samples for signal in signals]
    network(heard[0])
    clip_s = _time(lambda clip: network(heard[clip]), range(len(heard))) / len(heard)
    times = clip_s / (decode_and_mel_s / CLIPS)
    print(f"  {name:14} {1000 * clip_s:7.0f} ms a clip, {times:6.0f} x decode + mel, by a command of its own")


def _time(work: Callable[[int], object], clips: range) -> float:
    """Seconds of CPU."""
    started_s = time.process_time()
    for clip in clips:
        work(clip)
    return time.process_time() - started_s


if __name__ == "__main__":
    main()
