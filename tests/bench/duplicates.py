"""The search for copies: what it finds among 20,000 clips of three sources, what it takes wrongly, and what it costs.

    python -m tests.bench.duplicates [clips] [folder]

The clips are sentences of random syllables by espeak-ng, in a hundred variants of its voice. Copies of some are planted
in all sources. The first source begins with clips of one word each, no word twice. A folder that is given is kept,
with the clips for the next time. The cost at ten times as many clips is that of their hashes: mels of two clips joined.
"""

from __future__ import annotations

import collections
import concurrent.futures
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile
import soxr

from pipelines.build.copy_proof import are_copies
from pipelines.build.near_duplicates import Recordings, find_copies, hash_words
from preprocess.check_config import DUPLICATE_BITS
from preprocess.quality import audio_hash
from shared.dataset import Dataset
from shared.features import FeatureSpec
from shared.records import MEL_DTYPES, encoded_features, feature_values
from shared.tables import read_table
from shared.tfrecord import unframe
from tests.bench.summary import add_row
from tests.preprocess.copies import as_mp3, through

CLIPS, PLANTED, WORDS = 20_000, 500, 5_000
SOURCES = ("first", "second", "third")
RATE_HZ = 22_050  # of espeak-ng
JOINED = 10  # times as many clips, made of the mels of pairs


class Planted(NamedTuple):
    """A copy of a clip: both as source/name."""

    original: str
    copy: str
    how: str


def _noisy(samples: np.ndarray, *, snr_db: float) -> np.ndarray:
    noise = np.random.default_rng(len(samples)).standard_normal(len(samples))
    return samples + noise * np.sqrt(np.mean(samples**2)) * 10 ** (-snr_db / 20)


COPIES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "gain": lambda samples: samples * 0.3,
    "mp3": as_mp3,
    "resampled": lambda samples: through(samples, rate_hz=16_000),
    "3 % faster": lambda samples: soxr.resample(samples, RATE_HZ * 103, RATE_HZ * 100),
    "3 % slower": lambda samples: soxr.resample(samples, RATE_HZ * 97, RATE_HZ * 100),
    "50 ms off": lambda samples: samples[RATE_HZ // 20 :],
    "noise 20 dB": lambda samples: _noisy(samples, snr_db=20),
}


def main(clips: int = CLIPS, folder: Path | None = None) -> None:
    """Make the corpora, build them, and print recall, false positives and cost."""
    with tempfile.TemporaryDirectory() as temporary:
        root = folder or Path(temporary)
        planted = make_sources(root, clips=clips)
        started_s = time.perf_counter()
        build(root)
        print(f"build of {clips + len(planted):,} clips: {time.perf_counter() - started_s:.0f} s", flush=True)
        dataset = Dataset.open(root / "data")
        print_findings(dataset, planted=planted, clips=clips)
        print_costs(dataset)


def make_sources(root: Path, *, clips: int) -> list[Planted]:
    """Three corpora in LJSpeech's layout, with the planted copies in all of them."""
    chance = random.Random(11)
    texts = _texts(clips, chance=chance)
    paths = [_path(root, source=SOURCES[number % 3], name=f"E{number:06d}") for number in range(clips)]
    for source in SOURCES:
        (root / source / "wavs").mkdir(parents=True, exist_ok=True)
    _speak([(path, text) for path, text in zip(paths, texts, strict=True) if not path.exists()])
    sentences = [number for number in range(clips) if " " in texts[number]]
    planted, rows = [], [(path.parts[-3], path.stem, text) for path, text in zip(paths, texts, strict=True)]
    for number, of in enumerate(chance.sample(sentences, min(PLANTED, len(sentences)))):
        how, source = list(COPIES)[number % len(COPIES)], chance.choice(SOURCES)
        copy = _path(root, source=source, name=f"Z{number:06d}")
        samples, _ = soundfile.read(paths[of], dtype="float32")
        soundfile.write(copy, np.clip(COPIES[how](samples), -1, 1), RATE_HZ)
        planted.append(Planted(f"{paths[of].parts[-3]}/{paths[of].stem}", f"{source}/{copy.stem}", how))
        rows.append((source, copy.stem, texts[of]))
    for source in SOURCES:
        lines = [f"{name}|{text}|{text}\n" for of, name, text in rows if of == source]
        (root / source / "metadata.csv").write_text("".join(lines), encoding="utf-8")
    return planted


def _path(root: Path, *, source: str, name: str) -> Path:
    return root / source / "wavs" / f"{name}.wav"


def _texts(clips: int, *, chance: random.Random) -> list[str]:
    """Different words first, then sentences of three to twelve words."""
    words: set[str] = set()
    while len(words) < max(WORDS, 1):
        words.add(
            "".join(chance.choice("bdfgklmnprstvz") + chance.choice("aeiou") for _ in range(chance.randint(2, 4)))
        )
    different = sorted(words)
    chance.shuffle(different)
    alone = different[: min(WORDS, clips // 4)]
    return alone + [" ".join(chance.choices(different, k=chance.randint(3, 12))) for _ in range(clips - len(alone))]


def _speak(clips: list[tuple[Path, str]]) -> None:
    """Let espeak-ng say each text, in a random variant, pace and pitch."""
    if clips and shutil.which("espeak-ng") is None:
        sys.exit("espeak-ng is not installed: apt-get install espeak-ng")
    listed = subprocess.run(["espeak-ng", "--voices=variant"], capture_output=True, text=True, check=True).stdout
    variants = [line.split()[-1].removeprefix("!v/") for line in listed.splitlines()[1:]]

    def speak(clip: tuple[Path, str]) -> None:
        path, text = clip
        chance = random.Random(path.stem)
        voice = ["-v", f"en+{chance.choice(variants)}", "-s", str(chance.randint(130, 210))]
        words = ["espeak-ng", *voice, "-p", str(chance.randint(20, 80)), "-w", str(path), text]
        subprocess.run(words, check=True, stderr=subprocess.DEVNULL)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(speak, clips))


def build(root: Path) -> None:
    """Build the three sources into root/data, with no other check than that for copies."""
    config = root / "bench.yaml"
    sources = "".join(
        f"  {source}: {{reader: ljspeech, root: {root / source}, language: eng_Latn}}\n" for source in SOURCES
    )
    off = "min_duration_s min_snr_db max_silence_fraction min_bandwidth_hz characters_per_second_deviations min_rms_db"
    checks = ", ".join(f"{name}: null" for name in off.split())
    config.write_text(
        f"sources:\n{sources}tokenizer: tests/corpora/tokenizer.json\n"
        f"checks: {{{checks}}}\nmax_rejected_fraction: 1.0\n"
    )
    command = [Path(sys.executable).with_name("myxtts-data"), "build", config, "--data", root / "data"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def print_findings(dataset: Dataset, *, planted: list[Planted], clips: int) -> None:
    """Which of the planted copies were found, and what else was taken for a copy."""
    rejected = {
        row["utterance_id"]: row
        for shard in dataset.info.shards
        for row in read_table(dataset.layout.rejected(shard.name)).to_pylist()
    }
    copies = {name: row["message"] for name, row in rejected.items() if row["reason"] == "duplicate_audio"}
    others = collections.Counter(row["reason"] for row in rejected.values()) - collections.Counter(copies.values())
    print(f"rejected for other reasons: {dict(others)}")
    # of the two, that of the first source stays, or, within a source, that with the first hash
    found = [one for one in planted if one.copy in copies or one.original in copies]
    for how in COPIES:
        of_kind = [one for one in planted if one.how == how]
        print(f"  {how:12} {sum(one in found for one in of_kind)} of {len(of_kind)} found")
    recall, wrong = len(found) / len(planted), set(copies) - {name for one in planted for name in one[:2]}
    words = sum(int(name.rpartition("E")[2]) < min(WORDS, clips // 4) for name in wrong)
    print(
        f"recall {recall:.1%} of {len(planted)}; wrongly taken for copies: {len(wrong)}, of them {words} single words"
    )
    name = f"copies among {clips:,} clips of three sources"
    add_row("duplicates", f"{name}, recall", measured=f"{recall:.1%}", bound="≥ 95 %", met=recall >= 0.95)
    add_row("duplicates", f"{name}, false ones", measured=str(len(wrong)), bound="0", met=not wrong)


class PublishedMels:
    """The mels of a dataset's kept records, by shard and row."""

    def __init__(self, dataset: Dataset):
        self._dataset = dataset
        self.spec: FeatureSpec = dataset.info.contract.features
        self._manifests = {
            shard.name: read_table(dataset.layout.manifest(shard.name), columns=["offset_bytes", "length_bytes"])
            for shard in dataset.info.shards
        }

    def mel(self, shard_name: str, row: int) -> np.ndarray:
        place = self._manifests[shard_name].slice(row, 1).to_pylist()[0]
        with self._dataset.layout.shard(shard_name).open("rb") as file:
            file.seek(place["offset_bytes"])
            (data,) = feature_values(encoded_features(unframe(file.read(place["length_bytes"])))["mel"])
        assert isinstance(data, bytes)
        return np.frombuffer(data, MEL_DTYPES[self._dataset.info.contract.mel_dtype]).reshape(-1, self.spec.n_mels)


def print_costs(dataset: Dataset) -> None:
    """CPU time of the search at this number of clips, and at JOINED times as many."""
    mels = PublishedMels(dataset)
    places, hashes, durations_s = [], [], []
    for shard in dataset.info.shards:
        for row, values in enumerate(read_table(dataset.layout.manifest(shard.name)).to_pylist()):
            places.append((shard.name, row))
            hashes.append(values["audio_hash"])
            durations_s.append(values["duration_s"])
    recordings = Recordings(hash_words(hashes), np.array(durations_s))
    proofs: list[tuple[int, int]] = []
    alone_s = _cpu_of(lambda: _search(recordings, proofs=proofs))

    def are_proven_copies(one: int, other: int) -> bool:
        return are_copies(mels.mel(*places[one]), mels.mel(*places[other]), spec=mels.spec)

    whole_s = _cpu_of(lambda: find_copies(recordings, are_copies=are_proven_copies, below_bits=DUPLICATE_BITS))
    proof_s = (whole_s - alone_s) / max(len(proofs), 1)
    clips = len(places)
    _print_cost(clips, search_s=alone_s, proofs=len(proofs), proof_s=proof_s)
    joined = _joined(mels, places=places, count=JOINED * clips)
    proofs.clear()
    joined_s = _cpu_of(lambda: _search(joined, proofs=proofs))
    cost = _print_cost(JOINED * clips, search_s=joined_s, proofs=len(proofs), proof_s=proof_s)
    add_row("duplicates", f"search for copies among {JOINED * clips:,} clips", measured=f"{cost * 1e3:.2f} ms a clip")


def _print_cost(clips: int, *, search_s: float, proofs: int, proof_s: float) -> float:
    each_s = (search_s + proofs * proof_s) / clips
    print(
        f"{clips:>9,} clips: hashes {search_s / clips * 1e3:.3f} ms a clip, {proofs / clips:.2f} proofs a clip of "
        f"{proof_s * 1e3:.2f} ms, together {each_s * 1e3:.3f} ms a clip",
        flush=True,
    )
    return each_s


def _search(recordings: Recordings, *, proofs: list[tuple[int, int]]) -> None:
    """Search with no candidate proven, as the most that a search can ask for."""

    def refuse(one: int, other: int) -> bool:
        proofs.append((one, other))
        return False

    find_copies(recordings, are_copies=refuse, below_bits=DUPLICATE_BITS)


def _cpu_of(work: Callable[[], object]) -> float:
    started_s = time.process_time()
    work()
    return time.process_time() - started_s


def _joined(mels: PublishedMels, *, places: list[tuple[str, int]], count: int) -> Recordings:
    """The hashes of the first part of one clip followed by the second part of another, at random."""
    chance = np.random.default_rng(5)
    kept = chance.choice(len(places), min(2_000, len(places)), replace=False)
    pictures = [mels.mel(*places[at]).astype(np.float32) for at in kept]
    hashes, frames = [], []
    for _ in range(count):
        one, other = (pictures[at] for at in chance.integers(len(pictures), size=2))
        cuts = chance.integers(1, [len(one) + 1, len(other)])
        mel = np.concatenate([one[: cuts[0]], other[min(cuts[1], len(other) - 1) :]])
        hashes.append(audio_hash(mel))
        frames.append(len(mel))
    return Recordings(hash_words(hashes), np.array(frames) / mels.spec.frames_per_second)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *map(Path, sys.argv[2:3]))
