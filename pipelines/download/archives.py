"""The archives that can be downloaded, with their size and sha256.

Sizes and digests are those that TensorFlow Datasets (url_checksums: ljspeech, libritts, librispeech) and torchaudio
(VCTK) record for the same addresses.
"""

from __future__ import annotations

from typing import NamedTuple

UNPACKED_RATIO = 1.6  # at most, of an unpacked corpus to its archive: LJSpeech 1.4, LibriTTS 1.2, FLAC files 1.0


class Archive(NamedTuple):
    """An archive, and the corpus in it."""

    url: str
    size_bytes: int
    sha256: str
    folder: str  # of the corpus, below the folder that is downloaded to
    reader: str
    licence: str
    hours: float
    has_folder: bool = True  # False: the archive's files are those of `folder`
    language: str = "en"

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.url.rsplit("/", 1)[1]

    @property
    def max_unpacked_bytes(self) -> int:
        """No more is unpacked."""
        return int(self.size_bytes * UNPACKED_RATIO)


class _Subset(NamedTuple):
    name: str
    size_bytes: int
    hours: float
    sha256: str


_LIBRITTS = (
    _Subset("dev-clean", 1_291_469_655, 9.0, "da0864e1bd26debed35da8a869dd5c04dfc27682921936de7cff9c8a254dbe1a"),
    _Subset("test-clean", 1_230_670_113, 8.6, "234ea5b25859102a87024a4b9b86641f5b5aaaf1197335c95090cde04fe9a4f5"),
    _Subset("train-clean-100", 7_723_686_890, 53.8, "c5608bf1ef74bb621935382b8399c5cdd51cd3ee47cec51f00f885a64c6c7f6b"),
    _Subset(
        "train-clean-360", 27_504_073_644, 191.3, "ce7cff44dcac46009d18379f37ef36551123a1dc4e5c8e4eb73ae57260de4886"
    ),
    _Subset(
        "train-other-500", 44_565_031_479, 310.1, "e35f7e34deeb2e2bdfe4403d88c8fdd5fbf64865cae41f027a185a6965f0a5df"
    ),
)

_LIBRISPEECH = (
    _Subset("dev-clean", 337_926_286, 5.4, "76f87d090650617fca0cac8f88b9416e0ebf80350acb97b343a85fa903728ab3"),
    _Subset(
        "train-clean-100", 6_387_309_499, 100.6, "d4ddd1d5a6ab303066f14971d768ee43278a5f2a0aa43dc716b0e64ecbbbf6e2"
    ),
    _Subset(
        "train-clean-360", 23_049_477_885, 363.6, "146a56496217e96c14334a160df97fffedd6e0a04e66b9c5af0d40be3c792ecf"
    ),
)


def _of_openslr(number: int, subset: _Subset, *, folder: str, reader: str) -> Archive:
    return Archive(
        url=f"https://www.openslr.org/resources/{number}/{subset.name}.tar.gz",
        size_bytes=subset.size_bytes,
        sha256=subset.sha256,
        folder=f"{folder}/{subset.name}",
        reader=reader,
        licence="CC-BY-4.0",
        hours=subset.hours,
    )


ARCHIVES: dict[str, Archive] = {
    "ljspeech": Archive(
        url="https://data.keithito.com/data/speech/LJSpeech-1.1.tar.bz2",
        size_bytes=2_748_572_632,
        sha256="be1a30453f28eb8dd26af4101ae40cbf2c50413b1bb21936cbcdc6fae3de8aa5",
        folder="LJSpeech-1.1",
        reader="ljspeech",
        licence="public domain",
        hours=23.9,
    ),
    "vctk": Archive(
        url="https://datashare.ed.ac.uk/bitstream/handle/10283/3443/VCTK-Corpus-0.92.zip",
        size_bytes=11_747_302_977,
        sha256="f96258be9fdc2cbff6559541aae7ea4f59df3fcaf5cf963aae5ca647357e359c",
        folder="VCTK-Corpus-0.92",
        reader="vctk",
        licence="CC-BY-4.0",
        hours=44.0,
        has_folder=False,
    ),
    **{
        f"libritts-{subset.name}": _of_openslr(60, subset, folder="LibriTTS", reader="libritts") for subset in _LIBRITTS
    },
    **{
        f"librispeech-{subset.name}": _of_openslr(12, subset, folder="LibriSpeech", reader="librispeech")
        for subset in _LIBRISPEECH
    },
}
