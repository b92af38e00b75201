"""Speech over HTTP: OpenAI's own client, sentences as JSON lines, and texts that are no texts."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import openai
import pytest
import soundfile

from tests.trainer.server.serving import RunningServer, await_true
from trainer.server.settings import ServerSettings

TEXT = "The kettle sings. Is it five?"
SENTENCE_S, PAUSE_S = 0.1, 0.3
SPEECH = "/v1/audio/speech"


def client_of(server: RunningServer, *, key: str = "none") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key=key, max_retries=0)


@pytest.mark.parametrize("name", ["wav", "flac", "opus", "mp3"])
def test_the_official_client_gets_speech_in_the_format_that_it_asks_for(server: RunningServer, name: str) -> None:
    answer = client_of(server).audio.speech.create(
        model="anything", voice="default", input=TEXT, response_format=name, extra_body={"language": "en"}
    )
    containers = {"wav": "WAV", "flac": "FLAC", "opus": "OGG", "mp3": "MP3"}
    with soundfile.SoundFile(io.BytesIO(answer.content)) as file:
        assert file.format == containers[name]
        samples = file.read(1_000, dtype="float32")
    assert np.isfinite(samples).all()


def test_a_format_by_default_and_raw_samples(server: RunningServer) -> None:
    answer = server.request("POST", SPEECH, {"input": TEXT, "language": "en"})
    assert (answer.status, answer.headers["content-type"]) == (200, "audio/mpeg")
    answer = server.request("POST", SPEECH, {"input": TEXT, "language": "en", "response_format": "pcm"})
    assert len(answer.body) / 2 / 24_000 == pytest.approx(2 * SENTENCE_S + PAUSE_S, abs=1e-3)


def test_the_first_sentence_arrives_before_the_second_is_spoken(server: RunningServer) -> None:
    more = threading.Semaphore(1)
    server.synthesizer.before_piece = more.acquire
    asked = client_of(server).audio.speech.with_streaming_response.create(
        model="m", voice="default", input=TEXT, response_format="pcm", extra_body={"language": "en"}
    )
    with asked as answer:
        chunks = answer.iter_bytes(1_000)
        assert len(next(chunks)) == 1_000
        more.release()
        rest = sum(map(len, chunks))
    assert (1_000 + rest) / 2 / 24_000 == pytest.approx(2 * SENTENCE_S + PAUSE_S, abs=1e-3)


def test_sentences_come_as_lines_with_audio_and_pictures(server: RunningServer) -> None:
    answer = server.request("POST", "/v1/audio/sentences", {"input": TEXT, "language": "en"})
    assert answer.headers["content-type"] == "application/x-ndjson"
    first, second = map(json.loads, answer.body.splitlines())
    assert (first["total"], first["text"], second["text"]) == (2, "The kettle sings.", "Is it five?")
    samples, _ = soundfile.read(io.BytesIO(base64.b64decode(first["audio"])))
    assert len(samples) == round((SENTENCE_S + PAUSE_S) * 22_050)
    mel = np.frombuffer(base64.b64decode(first["mel"]["values"]), np.uint8).reshape(80, 8)
    assert (mel.min(), mel.max(), mel[0, 0], mel[79, 7]) == (0, 255, 0, 255)
    alignment = first["alignment"]
    assert (alignment["columns"], alignment["rows"]) == (2, 5)


VALID = {"input": TEXT, "language": "en"}
BODIES = {
    "nothing": b"",
    "no JSON": b"hello",
    "binary": bytes(range(256)),
    "half of JSON": b'{"input": "a',
    "a list": b"[]",
    "a number": b"1e999",
    "deep": b"[" * 50_000,
    "not UTF-8": b'{"input": "\xff\xfe"}',
    "NaN": b'{"input": "a", "speed": NaN}',
    **{
        name: {**VALID, **change}
        for name, change in {
            "no text": {"input": None},
            "an empty text": {"input": ""},
            "blanks": {"input": " \n\t "},
            "a number as text": {"input": 5},
            "a list as text": {"input": ["a"]},
            "symbols": {"input": "☃ * *"},
            "emoji": {"input": "😀"},
            "control characters": {"input": "\x00\x01\x02"},
            "half of a surrogate pair": {"input": "\ud800"},
            "a long text": {"input": "a " * 3_000},
            "an unknown language": {"language": "klingon"},
            "a language as number": {"language": 7},
            "a path as language": {"language": "../../etc/passwd"},
            "an unknown voice": {"voice": "nobody"},
            "a path as voice": {"voice": "/etc/passwd"},
            "a path upwards as voice": {"voice": "../run.json"},
            "a file as voice": {"voice": "x.safetensors"},
            "a list as voice": {"voice": []},
            "an object as voice": {"voice": {"id": "a", "b": 1}},
            "an unknown format": {"response_format": "aac"},
            "a path as format": {"response_format": "../wav"},
            "no speed": {"speed": 0},
            "a great speed": {"speed": 1e9},
            "a negative speed": {"speed": -1},
            "a word as speed": {"speed": "fast"},
            "a great seed": {"seed": 2**70},
            "a negative seed": {"seed": -1},
            "a hot temperature": {"temperature": 99},
            "an unknown option": {"volume": 11},
            "instructions": {"instructions": "whisper"},
            "events": {"stream_format": "sse"},
        }.items()
    },
}


def test_a_body_that_cannot_be_spoken_is_refused_with_a_reason(server: RunningServer, tmp_path: Path) -> None:
    assert len(BODIES) >= 40
    before = sorted(tmp_path.rglob("*"))
    for name, body in BODIES.items():
        answer = server.request("POST", SPEECH, body)
        assert answer.status == 400, (name, answer)
        assert answer.error, name
        assert "Traceback" not in answer.error
    assert sorted(tmp_path.rglob("*")) == before
    assert server.request("POST", SPEECH, VALID).status == 200


def test_hostile_texts_that_have_words_are_spoken(server: RunningServer) -> None:
    texts = [
        "'; DROP TABLE voices; --",
        "<script>alert(1)</script>",
        "{{7*7}} ${HOME} $(id)",
        "a\u202eb\u0000c",
        "a" * 4_000,
    ]
    for text in texts:
        assert server.request("POST", SPEECH, {**VALID, "input": text}).status == 200, text


@pytest.mark.parametrize("server", [ServerSettings(max_requests=4)], indirect=True)
def test_requests_beyond_the_bound_are_refused_and_the_others_spoken(server: RunningServer) -> None:
    spoken = threading.Event()
    server.synthesizer.before_piece = lambda: spoken.wait(60)
    with ThreadPoolExecutor(50) as pool:
        asked = [pool.submit(server.request, "POST", SPEECH, VALID) for _ in range(50)]
        await_true(lambda: sum(one.done() for one in asked) == 46)
        spoken.set()
        answers = [one.result() for one in asked]
    assert sorted(answer.status for answer in answers) == [200] * 4 + [429] * 46
    refused = next(answer for answer in answers if answer.status == 429)
    assert refused.headers["retry-after"] == "1"
    assert "try again later" in refused.error
    assert server.request("POST", SPEECH, VALID).status == 200


def test_speech_that_nobody_hears_any_more_is_given_up(server: RunningServer) -> None:
    more = threading.Semaphore(1)
    server.synthesizer.before_piece = lambda: more.acquire(timeout=60)
    asked = client_of(server).audio.speech.with_streaming_response.create(
        model="m", voice="default", input="Sing. " * 500, response_format="pcm", extra_body={"language": "en"}
    )
    with asked as answer:
        next(answer.iter_bytes(100))
    for _ in range(3):  # sentences that were begun before the server noticed
        more.release()
    await_true(lambda: server.synthesizer.closed == 1)
    assert json.loads(server.request("GET", "/health").body)["requests"] == 0
    assert more.acquire(blocking=False), "sentences were spoken for a client that had left"


def raw_request(server: RunningServer, head: str, body: bytes = b"") -> socket.socket:
    """A connection over which a request was sent, and whose answer nobody has read."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    connection.sendall(head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body)
    return connection


def waiting(server: RunningServer) -> int:
    return json.loads(server.request("GET", "/health").body)["requests"]


def speech_request(server: RunningServer, *, text: str) -> socket.socket:
    body = json.dumps({**VALID, "input": text, "response_format": "wav"}).encode()
    return raw_request(server, f"POST {SPEECH} HTTP/1.1\nHost: localhost\nContent-Length: {len(body)}", body)


def test_a_client_that_leaves_before_its_first_sentence_gives_its_place_to_others(server: RunningServer) -> None:
    spoken = threading.Event()
    server.synthesizer.before_piece = lambda: spoken.wait(60)
    asked = [speech_request(server, text="Sing.") for _ in range(3)]
    await_true(lambda: waiting(server) == 3)
    for connection in asked:
        connection.close()
    await_true(lambda: waiting(server) == 0)
    spoken.set()
    assert server.request("POST", SPEECH, VALID).status == 200


@pytest.mark.parametrize("server", [ServerSettings(max_client_wait_s=0.5, max_requests=1)], indirect=True)
def test_a_client_that_does_not_read_its_speech_gives_its_place_to_others(server: RunningServer) -> None:
    loud = np.zeros(40 * 22_050, np.float32)  # a second of speech would fit into the buffers of the network
    server.synthesizer.samples = loud
    with contextlib.closing(speech_request(server, text="Sing. Sing. Sing. Sing.\n\n" * 10)):
        await_true(lambda: waiting(server) == 1)
        await_true(lambda: waiting(server) == 0)
        assert server.request("GET", "/health").status == 200
    await_true(lambda: server.synthesizer.closed == 1)
    assert server.synthesizer.said == ["a client read nothing any more; the rest of its text is not spoken"]


@pytest.mark.parametrize("server", [ServerSettings(max_client_wait_s=0.5)], indirect=True)
@pytest.mark.parametrize("path", [SPEECH, "/v1/audio/voices"])
def test_a_client_that_does_not_send_its_request_is_answered_and_takes_no_place(
    server: RunningServer, path: str
) -> None:
    head = f"POST {path} HTTP/1.1\nHost: localhost\nContent-Length: 1000\nContent-Type: multipart/form-data; boundary=b"
    with contextlib.closing(raw_request(server, head, b"--b\r\n")) as connection:
        assert waiting(server) == 0
        assert b" 408 " in connection.recv(100)


def test_what_an_answer_cannot_tell_is_in_the_log(server: RunningServer) -> None:
    server.synthesizer.problems = ("a part of the text was left out",)
    assert server.request("POST", SPEECH, VALID).status == 200
    problem = "may not be what the text says, by two seeds: a part of the text was left out"
    assert server.synthesizer.said == [f"{problem}: The kettle sings.", f"{problem}: Is it five?"]


def test_the_official_client_finds_the_model(server: RunningServer) -> None:
    client = client_of(server)
    assert [one.id for one in client.models.list()] == ["run"]
    assert client.models.retrieve("run").id == "run"
    with pytest.raises(openai.NotFoundError, match="there is run"):
        client.models.retrieve("gpt")


def test_a_fault_of_the_model_is_a_server_error_and_the_next_request_is_spoken(server: RunningServer) -> None:
    def fail() -> None:
        raise RuntimeError("secret detail")

    server.synthesizer.before_piece = fail
    answer = server.request("POST", SPEECH, VALID)
    assert answer.status == 500
    assert "secret" not in answer.error
    server.synthesizer.before_piece = lambda: None
    assert server.request("POST", SPEECH, VALID).status == 200
