"""Corpora of read sentences: VCTK, JSUT, AISHELL-3, VIVOS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from preprocess.utterance import Reason, Rejection, Utterance
from shared.errors import UserError


def test_vctk_itself_is_read_in_the_layout_of_0_80(reference: Path, utterances: Any) -> None:
    root = reference / "corpora/vctk/VCTK-Corpus"
    found = utterances(root, reader="vctk", name="vctk")
    texts = {file.stem: file.read_text("utf-8").strip() for file in (root / "txt").rglob("*.txt")}
    files = {file.stem: str(file) for file in (root / "wav48").rglob("*.wav")}
    assert len(found) == 10
    assert {one.id.removeprefix("vctk/"): one.text for one in found} == texts
    assert {one.id.removeprefix("vctk/"): one.audio_path for one in found} == files
    assert {(one.language, one.speaker) for one in found} == {("eng_Latn", "vctk/p225"), ("eng_Latn", "vctk/p226")}


def vctk_092(write: Any) -> Path:
    """p225 is whole, p280 has one microphone, p315 has no text."""
    audio = "wav48_silence_trimmed"
    root: Path = write(
        {
            "txt/p225/p225_001.txt": "Please call Stella.\n",
            f"{audio}/p225/p225_001_mic1.flac": "",
            f"{audio}/p225/p225_001_mic2.flac": "",
            "txt/p280/p280_001.txt": "Ask her.\n",
            f"{audio}/p280/p280_001_mic1.flac": "",
            f"{audio}/p315/p315_001_mic1.flac": "",
            f"{audio}/log.txt": "",
            "speaker-info.txt": "",
        }
    )
    return root


@pytest.mark.parametrize(
    ("mic", "reasons"),
    [
        ("mic1", [None, None, Reason.EMPTY_TEXT]),
        ("mic2", [None, Reason.MISSING_AUDIO]),
    ],
)
def test_vctk_0_92_is_read_by_one_microphone_and_what_it_lacks_is_counted(
    mic: str, reasons: list[Reason | None], write: Any, read: Any
) -> None:
    root = vctk_092(write)
    found = read(root, reader="vctk", mic=mic)
    assert [one.reason if isinstance(one, Rejection) else None for one in found] == reasons
    assert found[0] == Utterance(
        id="x/p225_001",
        audio_path=f"{root}/wav48_silence_trimmed/p225/p225_001_{mic}.flac",
        text="Please call Stella.",
        language="eng_Latn",
        speaker="x/p225",
    )


def test_the_second_microphone_of_vctk_0_80_is_refused(reference: Path, read: Any) -> None:
    with pytest.raises(UserError, match=r"sources\.x\.mic: VCTK 0\.80 has mic1 only"):
        read(reference / "corpora/vctk/VCTK-Corpus", reader="vctk", mic="mic2")


def test_jsut_is_read_whole_or_by_subset(write: Any, utterances: Any) -> None:
    root = write(
        {
            "basic5000/transcript_utf8.txt": "BASIC5000_0001:水をマレーシアから:買わなくては\n",
            "travel1000/transcript_utf8.txt": "TRAVEL1000_0001:あなたの荷物は\n",
        }
    )
    basic, travel = utterances(root, reader="jsut")
    assert basic == Utterance(
        id="x/BASIC5000_0001",
        audio_path=f"{root}/basic5000/wav/BASIC5000_0001.wav",
        text="水をマレーシアから:買わなくては",
        language="jpn_Jpan",
        speaker="x/jsut",
    )
    assert utterances(root / "travel1000", reader="jsut") == [travel]


def test_aishell3_keeps_the_characters_without_their_pinyin(write: Any, utterances: Any) -> None:
    root = write(
        {
            "train/content.txt": "SSB00050001.wav\t广 guang3 州 zhou1 女 nv3\nSSB00050002.wav\t你 ni3 好 hao3\n",
            "test/content.txt": "SSB00090001.wav\t再 zai4 见 jian4\n",
        }
    )
    found = utterances(root, reader="aishell3")
    assert [one.text for one in found] == ["广州女", "你好", "再见"]
    assert found[0] == Utterance(
        id="x/SSB00050001",
        audio_path=f"{root}/train/wav/SSB0005/SSB00050001.wav",
        text="广州女",
        language="zho_Hans",
        speaker="x/SSB0005",
    )
    assert [one.text for one in utterances(root, reader="aishell3", splits=["test"])] == ["再见"]


@pytest.mark.parametrize("content", ["广 guang3 州", "广 州", "guang3 广"])
def test_aishell3_without_a_pinyin_for_each_character_is_rejected(content: str, write: Any, read: Any) -> None:
    (bad,) = read(write({"train/content.txt": f"SSB00050001.wav\t{content}\n"}), reader="aishell3")
    assert bad.reason == Reason.BAD_METADATA_ROW
    assert "wanted a character, then its pinyin, and so on; the row: 'SSB00050001" in bad.message


def test_vivos_is_read(write: Any, read: Any) -> None:
    root = write(
        {
            "train/prompts.txt": "VIVOSSPK01_R001 KHÁCH SẠN\nVIVOSSPK02_R002\nno id\n../x_1 TEXT\n",
            "test/prompts.txt": "VIVOSDEV01_R003 HAI BA\n",
        }
    )
    first, silent, bad, unsafe, last = read(root, reader="vivos")
    assert first == Utterance(
        id="x/VIVOSSPK01_R001",
        audio_path=f"{root}/train/waves/VIVOSSPK01/VIVOSSPK01_R001.wav",
        text="KHÁCH SẠN",
        language="vie_Latn",
        speaker="x/VIVOSSPK01",
    )
    assert silent.text == ""  # rejected when it is prepared
    assert (bad.reason, unsafe.reason) == (Reason.BAD_METADATA_ROW, Reason.UNSAFE_PATH)
    assert last.audio_path == f"{root}/test/waves/VIVOSDEV01/VIVOSDEV01_R003.wav"
    assert [one.id for one in read(root, reader="vivos", splits=["test"])] == ["x/VIVOSDEV01_R003"]
