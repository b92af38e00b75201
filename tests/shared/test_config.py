from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import pydantic
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pipelines.config import BuildConfig
from shared.config import Config, load_config
from shared.errors import UserError


class Room(Config):
    width_m: float = pydantic.Field(2.0, gt=0)
    colour: Literal["white", "blue"] = "white"


class House(Config):
    name: str
    floors: int = 1
    kitchen: Room = Room()
    cellar: Room | None = None
    rooms: dict[str, Room] = pydantic.Field(default_factory=dict)


HOUSE = "name: villa\nrooms:\n  hall: {width_m: 3.5}\n"
BUILD = "sources:\n  lj: {reader: ljspeech, root: /data, language: eng_Latn}\ntokenizer: t.json\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "house.yaml"


def load(path: Path, content: str | bytes, *overrides: str) -> House:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load_config(path, of=House, overrides=overrides)


def refusal(path: Path, content: str | bytes, *overrides: str) -> str:
    with pytest.raises(UserError) as caught:
        load(path, content, *overrides)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 600
    return message


def build_refusal(path: Path, *overrides: str) -> str:
    path.write_text(BUILD)
    with pytest.raises(UserError) as caught:
        load_config(path, of=BuildConfig, overrides=overrides)
    return str(caught.value)


def test_a_file_becomes_a_typed_frozen_value(path: Path) -> None:
    house = load(path, HOUSE)
    assert house == House(name="villa", rooms={"hall": Room(width_m=3.5)})
    with pytest.raises(pydantic.ValidationError, match="frozen"):
        house.name = "hut"  # type: ignore[misc]


def test_every_config_that_ships_is_valid() -> None:
    files = sorted((Path(__file__).parents[2] / "configs").glob("preprocess_*.yaml"))
    assert len(files) >= 2
    assert all(load_config(file, of=BuildConfig).sources for file in files)


@pytest.mark.parametrize(
    ("content", "where", "known"),
    [
        (HOUSE + "garden: red\n", "garden", "known here: cellar, floors, kitchen, name, rooms"),
        (HOUSE + "flors: 2\n", "flors", "did you mean floors? known here: floors, cellar, kitchen, name, rooms"),
        (
            HOUSE + "kitchen: {widht_m: 1}\n",
            "kitchen.widht_m",
            "did you mean kitchen.width_m? known here: width_m, colour",
        ),
        (HOUSE + "cellar: {depth: 1}\n", "cellar.depth", "known here: colour, width_m"),
        ("name: x\nrooms: {hall: {colour: blue, length: 1}}\n", "rooms.hall.length", "known here: colour, width_m"),
        ('name: x\nkitchen: {"a\\nb": 1}\n', "kitchen.'a\\nb'", "known here: colour, width_m"),
        # the key of another section
        (
            HOUSE + "width_m: 2\n",
            "width_m",
            "did you mean kitchen.width_m? known here: cellar, floors, kitchen, name, rooms",
        ),
        # the misspelt key is why `name` is missing
        ("nmae: villa\n", "nmae", "did you mean name? known here: name, cellar, floors, kitchen, rooms"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_and_the_known_ones(
    path: Path, content: str, where: str, known: str
) -> None:
    assert refusal(path, content) == f"{path}: {where}: unknown key; {known}"


@pytest.mark.parametrize(
    ("override", "where"),
    [
        (
            "sources.lj.speakr=x",
            "sources.lj.speakr: unknown key; did you mean sources.lj.speaker? known here: speaker, audio, exclude, ",
        ),
        ("checks.min=1", "checks.min: unknown key; known here: characters_per_second_deviations, "),
        (
            "checks.min_snr=1",
            "checks.min_snr: unknown key; did you mean checks.min_snr_db? known here: min_snr_db, characters",
        ),
        ("sources.lj.language=inglish", "sources.lj.language: unknown language 'inglish'; expected a FLORES-200 code"),
        (
            "sources.LJ.root=/x",
            "sources.LJ: 'LJ' cannot be a name here; expected one that matches ^[a-z0-9][a-z0-9_]*$",
        ),
        ("sources={}", "sources: found a dict of 0; expected a section with at least 1 named entry"),
        ("sources=5", "sources: found 5; expected a section with at least 1 named entry"),
        ("sources.lj.root=5", "sources.lj.root: found 5; expected a path"),
        ("sources.lj.reader=vctc", "sources.lj.reader: unknown 'vctc'; did you mean vctk? known: aishell3, cml_tts, "),
        ("features=mel", "features: found 'mel'; expected one of hifigan-22k, bigvgan-24k-100, vocos-24k"),
        ("checks.max_duration_s=.inf", "checks.max_duration_s: found inf; expected a finite number above 0, or null"),
        ("checks.max_duration_s=.nan", "checks.max_duration_s: found nan; expected a finite number above 0, or null"),
        ("checks.max_duration_s=1e300", "the config: checks.max_duration_s 1e+300 is larger than decode_limit_s 60.0"),
        ("validation_fraction=1", "validation_fraction: found 1; expected a number of 0 or more and below 1"),
        ("workers=0", "workers: found 0; expected a whole number of 1 or more, or null"),
        ("workers=2.5", "workers: found 2.5; expected a whole number of 1 or more, or null"),
        ("workers=many", "workers: found 'many'; expected a whole number of 1 or more, or null"),
        (
            "checks.min_duplicate_bits=0",
            "checks.min_duplicate_bits: found 0; expected a whole number from 1 to 128, or ",
        ),
        ("checks.reject_text_leaks=perhaps", "checks.reject_text_leaks: found 'perhaps'; expected true or false"),
        ("mel.n_mels=4", "mel.n_mels: found 4; expected a whole number from 8 to 256, or null"),
        ("mel.hop_sample=256", "mel.hop_sample: unknown key; did you mean mel.hop_samples? known here: hop_samples, "),
        ("mel.hop_samples=600", "the config: mel.hop_samples 600 is more than half of mel.n_fft 1024"),
        ("mel_dtype=float64", "mel_dtype: found 'float64'; expected one of float16, float32, none"),
        ("processing=[]", "processing: found a list of 0; expected a section with keys of trim_db, trim_margin_s, "),
    ],
)
def test_a_build_config_says_where_it_is_wrong(path: Path, override: str, where: str) -> None:
    """What an override says is blamed on the command line; what does not fit the file, on the file."""
    given = override.partition("=")[0]
    origin = "command line" if where.partition(": ")[0] == given else path
    assert build_refusal(path, override).startswith(f"{origin}: {where}")


def test_a_mistake_in_the_file_is_blamed_on_the_file_whatever_is_overridden(path: Path) -> None:
    content = HOUSE + "floors: many\n"
    assert refusal(path, content, "name=x").startswith(f"{path}: floors: found 'many'")
    assert refusal(path, content, "floors=more").startswith("command line: floors: found 'more'")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "sources.lj_.root=/x",
            "sources.lj_: not in the file; did you mean sources.lj? the file has: lj; "
            "a new one needs sources.lj_.reader=…",
        ),
        (
            "sources.new.root=/x",
            "sources.new: not in the file; the file has: lj; a new one needs sources.new.reader=…",
        ),
    ],
)
def test_a_section_created_by_a_misspelt_override_is_reported_as_such(path: Path, override: str, message: str) -> None:
    assert build_refusal(path, override) == f"{path}: {message}"


def test_a_section_of_the_file_without_its_reader_is_incomplete(path: Path) -> None:
    path.write_text("sources: {lj: {root: /data}}\ntokenizer: t.json\n")
    with pytest.raises(
        UserError, match=r"sources\.lj\.reader: missing; give it in the file or as sources\.lj\.reader=…"
    ):
        load_config(path, of=BuildConfig)


def test_a_training_config_given_to_a_build_is_named_as_one(path: Path) -> None:
    path.write_text("model: {size: nano}\nsteps: 20\n")
    with pytest.raises(UserError) as caught:
        load_config(path, of=BuildConfig)
    assert str(caught.value) == (
        f"{path}: this is a training config (it has `model`), for `myxtts-train train` (`make train`); "
        "expected a data config, such as configs/preprocess_sample.yaml"
    )


class Street(Config):
    RENAMED: ClassVar = {"length": "length_m", "lamps.every": "lamp_distance_m"}
    length_m: float = 1.0
    lamp_distance_m: float = 1.0


class Bus(Config):
    RENAMED: ClassVar = {"seats": "num_seats"}
    kind: Literal["bus"]
    num_seats: int = 1


class Tram(Config):
    RENAMED: ClassVar = {"rails": "num_rails"}
    kind: Literal["tram"]
    replaces: Literal["bus", "car"] = "car"
    num_rails: int = 2


class Town(Config):
    RENAMED: ClassVar = {"mayor": "head", "park": "street"}
    head: str = ""
    street: Street = Street()
    side_street: Street | None = None
    streets: dict[str, Street] = pydantic.Field(default_factory=dict)
    line: Annotated[Bus | Tram, pydantic.Field(discriminator="kind")] | None = None
    lines: dict[str, Annotated[Bus | Tram, pydantic.Field(discriminator="kind")]] = pydantic.Field(default_factory=dict)


@pytest.mark.parametrize(
    ("content", "old", "new"),
    [
        ("mayor: x\n", "mayor", "head"),
        ("park: {length_m: 2}\n", "park", "street"),
        ("street: {length: 2}\n", "street.length", "street.length_m"),
        ("street: {lamps: {every: 2}}\n", "street.lamps.every", "street.lamp_distance_m"),
        ("side_street: {length: 2}\n", "side_street.length", "side_street.length_m"),
        ("streets: {main: {length: 2}}\n", "streets.main.length", "streets.main.length_m"),
        ("line: {kind: bus, seats: 2}\n", "line.seats", "line.num_seats"),
        ("lines: {a: {replaces: bus, kind: tram, rails: 2}}\n", "lines.a.rails", "lines.a.num_rails"),
    ],
)
def test_a_renamed_key_is_refused_with_the_new_one(path: Path, content: str, old: str, new: str) -> None:
    path.write_text(content)
    with pytest.raises(UserError) as caught:
        load_config(path, of=Town)
    assert str(caught.value) == f"{path}: {old}: unknown key; it was renamed: use {new}"


def test_a_renamed_key_in_an_override_is_refused_with_the_new_one(path: Path) -> None:
    path.write_text("head: x\n")
    with pytest.raises(UserError, match=r"street\.length: unknown key; it was renamed: use street\.length_m"):
        load_config(path, of=Town, overrides=["street.length=2"])


def test_a_conflict_between_settings_shows_no_single_value(path: Path) -> None:
    refusal = build_refusal(path, "checks.max_duration_s=70")
    assert refusal == f"{path}: the config: checks.max_duration_s 70.0 is larger than decode_limit_s 60.0"


def test_a_missing_key_says_how_to_give_it(path: Path) -> None:
    assert refusal(path, "floors: 2\n") == f"{path}: name: missing; give it in the file or as name=…"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name: x\nfloors: many\n", "floors: found 'many'; expected a whole number"),
        ("name: 5\n", "name: found 5; expected text"),
        ("name:\n", "name: found null; expected text"),
        ("name: [1]\n", "name: found a list of 1; expected text"),
        ("name: x\nkitchen: 5\n", "kitchen: found 5; expected a section with keys of width_m, colour"),
        ("name: x\ncellar: 5\n", "cellar: found 5; expected a section with keys of width_m, colour, or null"),
        ("name: x\nkitchen: {width_m: -1}\n", "kitchen.width_m: found -1; expected a number above 0"),
        ("name: x\nkitchen: {width_m: .inf}\n", "kitchen.width_m: found inf; expected a finite number above 0"),
        ("name: x\nkitchen: {colour: red}\n", "kitchen.colour: found 'red'; expected one of white, blue"),
        ("name: x\n1: 2\n", "1: the key 1 is not text; expected text; put it in quotes"),
    ],
)
def test_a_value_of_the_wrong_type_is_reported_with_the_expected_one(path: Path, content: str, message: str) -> None:
    assert refusal(path, content).startswith(f"{path}: {message}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        "a: [1",
        "a: *nowhere",
        "? [a]\n: 1",
        "{{}: 1}",
        "a: 2024-13-45",
        "a: 0b_",
        "a: !!int x",
        "a: \x07",
        "\tname: x",
        b"\xff\xfe\x00",
        "name: x\n---\nname: y\n",
        "a: " + "[" * 5000,
    ],
)
def test_content_that_is_not_yaml_is_refused_in_one_line(path: Path, content: str | bytes) -> None:
    assert refusal(path, content).startswith(f"{path}: not YAML: ")


@pytest.mark.parametrize("content", ["", "# only a comment\n", "- name\n", "villa", "&a [*a]"])
def test_yaml_that_is_not_a_mapping_is_refused(path: Path, content: str) -> None:
    assert refusal(path, content) == f"{path}: not a config; expected `key: value` lines; see configs/ for examples"


@pytest.mark.parametrize("content", ["name: x\nname: y\n", "name: x\nrooms: {hall: {}, hall: {width_m: 9}}\n"])
def test_a_repeated_key_is_refused(path: Path, content: str) -> None:
    assert "occurs twice" in refusal(path, content)


def test_anchors_and_merge_keys_may_share_values(path: Path) -> None:
    house = load(path, "name: x\nrooms:\n  a: &a {width_m: 3, colour: blue}\n  b: {<<: *a, width_m: 4}\n")
    assert house.rooms == {"a": Room(width_m=3, colour="blue"), "b": Room(width_m=4, colour="blue")}


def test_an_absent_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "absent.yaml", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(UserError, match=rf"cannot read the config \({reason}\); see configs/ for examples"):
            load_config(path, of=House)


def test_a_file_too_large_for_a_config_is_not_read(path: Path) -> None:
    assert "over 1048576 bytes" in refusal(path, b"#" * (1 << 21))


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["floors=3"], {"floors": 3}),
        (["floors=2", "floors=4"], {"floors": 4}),
        (["name=a=b"], {"name": "a=b"}),
        (["name='3'"], {"name": "3"}),
        (["rooms={}"], {"rooms": {}}),
        (["rooms.hall.colour=blue"], {"rooms": {"hall": Room(width_m=3.5, colour="blue")}}),
        (["rooms.attic.width_m=1", "rooms.hall.width_m=2"], {"rooms": {"hall": Room(), "attic": Room(width_m=1)}}),
        (["cellar.width_m=5"], {"cellar": Room(width_m=5)}),
        (["kitchen={width_m: 7}"], {"kitchen": Room(width_m=7)}),
    ],
)
def test_overrides_reach_every_depth(path: Path, overrides: list[str], expected: dict[str, object]) -> None:
    assert load(path, HOUSE, *overrides) == load(path, HOUSE).model_copy(update=expected)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("floors", "'floors': not an override; expected key=value, such as sources.ljspeech.root=/data/LJSpeech-1.1"),
        ("=3", "'=3': not an override; expected key=value, such as sources.ljspeech.root=/data/LJSpeech-1.1"),
        ("name.first=x", "'name.first=x': 'name' is a value, not a section"),
        ("rooms.hall.width_m.x=1", "'rooms.hall.width_m.x=1': 'width_m' is a value, not a section"),
        ("floors=[", "'floors=[': the value is not YAML: "),
        ("floors=2024-13-45", "'floors=2024-13-45': the value is not YAML: month must be in 1..12"),
    ],
)
def test_a_bad_override_is_quoted(path: Path, override: str, message: str) -> None:
    assert refusal(path, HOUSE, override).startswith(message)


@pytest.mark.parametrize("override", ["a..b=1", ".a=1", "a.=1", "rooms.=1", ". =1"])
def test_an_override_with_an_empty_part_is_refused(path: Path, override: str) -> None:
    assert refusal(path, HOUSE, override)


@pytest.mark.slow
def test_an_override_nested_too_deeply_is_refused_in_one_line(path: Path) -> None:
    path.write_text(HOUSE)
    with pytest.raises(UserError, match="the value is not YAML: nested too deeply"):
        load_config(path, of=House, overrides=["name=" + "[" * 5000])


@pytest.mark.parametrize(
    "tag", ["!!python/object/apply:os.system", "!!python/object/new:os.system", "!!python/name:os"]
)
def test_a_python_tag_runs_no_code(path: Path, tag: str) -> None:
    witness = path.with_name("witness")
    assert "could not determine a constructor" in refusal(path, f"name: {tag} ['touch {witness}']\n")
    assert "could not determine a constructor" in refusal(path, HOUSE, f"name={tag} ['touch {witness}']")
    assert not witness.exists()


@pytest.mark.parametrize("where", ["name: *l19\n", "rooms: *l19\n", "unknown: *l19\n", "kitchen: {width_m: *l19}\n"])
def test_an_alias_bomb_stays_cheap(path: Path, where: str) -> None:
    """Ten to the twentieth leaves, if anything ever walks or prints them."""
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 20)]
    started = time.perf_counter()
    refusal(path, "l0: &l0 [x]\n" + "\n".join(levels) + "\n" + where)
    assert time.perf_counter() - started < 5.0


def test_a_section_within_itself_is_refused(path: Path) -> None:
    refusal(path, "name: x\nkitchen: &k {width_m: *k}\n")
    refusal(path, "name: x\nrooms: &r {hall: *r}\n")


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_arbitrary_bytes_are_a_config_or_a_user_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "arbitrary.yaml"
    path.write_bytes(content)
    with pytest.raises(UserError):
        load_config(path, of=BuildConfig)


yaml_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(["name", "floors", "kitchen", "cellar", "rooms", "x"]), yaml_values, min_size=1))
def test_an_arbitrary_document_is_a_config_or_a_user_error(
    tmp_path_factory: pytest.TempPathFactory, document: dict[str, object]
) -> None:
    path = tmp_path_factory.getbasetemp() / "document.yaml"
    path.write_text(yaml.safe_dump(document, allow_unicode=True), "utf-8")
    try:
        load_config(path, of=House)
    except UserError as error:
        message = str(error)
    else:
        return
    assert message.startswith(str(path))
    assert "\n" not in message
