from __future__ import annotations

import contextlib
import itertools
import json
import string
from pathlib import Path

import langcodes
import pytest

from shared.errors import UserError
from shared.languages import CODES, FIRST_ID, LAST_ID, iso_639_1, language_code, language_id, resolve_language, script
from shared.vocabulary import NUM_NLLB_IDS


def test_there_are_the_202_languages_of_nllb() -> None:
    assert len(CODES) == len(set(CODES)) == 202
    assert (FIRST_ID, LAST_ID) == (256001, 256202)
    assert (language_id("ace_Arab"), language_id("eng_Latn"), language_id("zul_Latn")) == (256001, 256047, 256202)


def test_ids_equal_those_of_nllbs_own_tokenizer(reference: Path) -> None:
    document = json.loads((reference / "nllb/tokenizer.json").read_text("utf-8"))
    theirs = {token["content"]: token["id"] for token in document["added_tokens"]}
    assert {code: language_id(code) for code in CODES}.items() <= theirs.items()
    assert max(theirs.values()) + 1 == NUM_NLLB_IDS


def test_a_code_and_its_id_name_each_other() -> None:
    assert [language_code(language_id(code)) for code in CODES] == list(CODES)


@pytest.mark.parametrize("token_id", [256000, 256203, 0, -1])
def test_an_id_of_no_language_is_refused(token_id: int) -> None:
    with pytest.raises(ValueError, match=f"token {token_id} is not a language; expected 256001 to 256202"):
        language_code(token_id)


@pytest.mark.parametrize(
    ("code", "meant"),
    [("eng", "eng_Latn"), ("en", "eng_Latn"), ("deu-Latn", "deu_Latn"), ("ENG_LATN", "eng_Latn"), ("", "eng_Latn")],
)
def test_an_unknown_language_is_refused_with_a_code_that_exists(code: str, meant: str) -> None:
    with pytest.raises(UserError, match=f"unknown language '{code}'") as caught:
        language_id(code)
    assert "\n" not in str(caught.value)
    suggested = str(caught.value).rpartition("such as ")[2].split(", ")
    assert set(suggested) <= set(CODES)
    if code in ("eng", "deu-Latn", ""):
        assert meant in suggested


def test_a_script_is_the_end_of_the_code() -> None:
    assert (script("zho_Hans"), script("eng_Latn"), script("pes_Arab")) == ("Hans", "Latn", "Arab")


@pytest.mark.parametrize("code", CODES)
def test_a_code_means_itself_and_so_does_its_tag(code: str) -> None:
    assert resolve_language(code) == code
    assert resolve_language(code.replace("_", "-")) == code


# The locales of Common Voice that NLLB knows.
LOCALES = """
    af:afr_Latn am:amh_Ethi ar:arb_Arab as:asm_Beng ast:ast_Latn az:azj_Latn ba:bak_Cyrl be:bel_Cyrl bg:bul_Cyrl
    bn:ben_Beng ca:cat_Latn ckb:ckb_Arab cs:ces_Latn cy:cym_Latn da:dan_Latn de:deu_Latn dyu:dyu_Latn el:ell_Grek
    en:eng_Latn eo:epo_Latn es:spa_Latn et:est_Latn eu:eus_Latn fa:pes_Arab fi:fin_Latn fr:fra_Latn ga-IE:gle_Latn
    gl:glg_Latn gn:grn_Latn ha:hau_Latn he:heb_Hebr hi:hin_Deva ht:hat_Latn hu:hun_Latn hy-AM:hye_Armn id:ind_Latn
    ig:ibo_Latn is:isl_Latn it:ita_Latn ja:jpn_Jpan ka:kat_Geor kab:kab_Latn kk:kaz_Cyrl kmr:kmr_Latn ko:kor_Hang
    ky:kir_Cyrl lg:lug_Latn lij:lij_Latn lo:lao_Laoo lt:lit_Latn ltg:ltg_Latn lv:lvs_Latn mk:mkd_Cyrl ml:mal_Mlym
    mn:khk_Cyrl mr:mar_Deva mt:mlt_Latn nb-NO:nob_Latn ne-NP:npi_Deva nl:nld_Latn nn-NO:nno_Latn nso:nso_Latn
    oc:oci_Latn or:ory_Orya pa-IN:pan_Guru pl:pol_Latn ps:pbt_Arab pt:por_Latn quy:quy_Latn ro:ron_Latn ru:rus_Cyrl
    rw:kin_Latn sat:sat_Beng sc:srd_Latn sk:slk_Latn sl:slv_Latn sq:als_Latn sr:srp_Cyrl st:sot_Latn sv-SE:swe_Latn
    sw:swh_Latn ta:tam_Taml te:tel_Telu th:tha_Thai ti:tir_Ethi tk:tuk_Latn tn:tsn_Latn tr:tur_Latn ts:tso_Latn
    tt:tat_Cyrl tw:twi_Latn ug:uig_Arab uk:ukr_Cyrl ur:urd_Arab uz:uzn_Latn vi:vie_Latn xh:xho_Latn yi:ydd_Hebr
    yo:yor_Latn yue:yue_Hant zh-CN:zho_Hans zh-TW:zho_Hant zu:zul_Latn
""".split()


@pytest.mark.parametrize("pair", LOCALES)
def test_a_locale_of_common_voice_means_its_language(pair: str) -> None:
    locale, code = pair.split(":")
    assert resolve_language(locale) == resolve_language(locale.lower()) == code


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("pt-BR", "por_Latn"),
        ("pt-419", "por_Latn"),
        ("de_DE", "deu_Latn"),
        ("sr-Cyrl-RS", "srp_Cyrl"),
        ("ks-Deva", "kas_Deva"),
        ("fa-AF", "prs_Arab"),
        ("fa_IR", "pes_Arab"),
        ("iw", "heb_Hebr"),
        ("in", "ind_Latn"),
        ("ji", "ydd_Hebr"),
        ("jw", "jav_Latn"),
        ("zh-Hans-HK", "zho_Hans"),
        ("ku-Arab", "ckb_Arab"),
        ("az-Arab", "azb_Arab"),
        ("ace-Latn", "ace_Latn"),
        ("en_UK", "eng_Latn"),  # as M-AILABS has it
        ("fil", "tgl_Latn"),
        ("swa", "swh_Latn"),
        ("spanish", "spa_Latn"),
        ("German", "deu_Latn"),
    ],
)
def test_a_name_that_means_exactly_one_language_is_resolved(name: str, code: str) -> None:
    assert resolve_language(name) == code


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("zh", "zho_Hans, zho_Hant"),
        ("chinese", "zho_Hans, zho_Hant"),
        ("zh-HK", "yue_Hant, zho_Hant"),
        ("no", "nob_Latn, nno_Latn"),
        ("ku", "kmr_Latn, ckb_Arab"),
        ("ar-EG", "arb_Arab, arz_Arab"),
        ("ar-MA", "arb_Arab, ary_Arab"),
        ("zh-Hant-HK", "yue_Hant, zho_Hant"),
        ("kr", "knc_Arab, knc_Latn"),
        ("taq", "taq_Latn, taq_Tfng"),
        ("bjn", "bjn_Arab, bjn_Latn"),
        ("ks", "kas_Arab, kas_Deva"),
        ("sh", "bos_Latn, hrv_Latn, srp_Cyrl"),
    ],
)
def test_an_ambiguous_name_is_refused_with_its_languages(name: str, codes: str) -> None:
    with pytest.raises(UserError, match=f"ambiguous language '{name}'; expected one of {codes}$"):
        resolve_language(name)


@pytest.mark.parametrize(
    "name", ["br", "dv", "fy-NL", "tok", "sr-Latn", "eng_Arab", "klingon", "", "en GB", "en-" * 50]
)
def test_a_language_that_nllb_does_not_have_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="unknown language") as caught:
        resolve_language(name)
    assert "\n" not in str(caught.value)


def two_letter_codes() -> list[str]:
    """Those of ISO 639-1, as langcodes knows them."""
    pairs = ("".join(pair) for pair in itertools.product(string.ascii_lowercase, repeat=2))
    return [code for code in pairs if langcodes.Language.get(code, normalize=False).is_valid()]


# Members of macrolanguages by ISO 639-3, which the aliases of Unicode do not fold.
MEMBERS = {"ff": "fuv", "ps": "pbt", "qu": "quy"}


def test_a_two_letter_code_means_what_the_registry_says_or_a_member_of_it() -> None:
    spoken = {}
    for name in two_letter_codes():
        with contextlib.suppress(UserError):
            spoken[name] = resolve_language(name)[:3]
    assert len(spoken) > 125
    meant = {name: langcodes.standardize_tag(name, macro=True) for name in spoken}
    found = {name: langcodes.standardize_tag(spoken[name], macro=True) for name in spoken}
    assert {name: spoken[name] for name in spoken if found[name] != meant[name]} == MEMBERS


def test_a_two_letter_code_is_resolved_or_refused_with_its_languages() -> None:
    for code in CODES:
        name = langcodes.standardize_tag(code[:3])
        if len(name) == 2:
            try:
                answer = resolve_language(name)
            except UserError as error:
                answer = str(error)
            assert code[:3] in answer


@pytest.mark.parametrize(("name", "code"), [("sr-Latn", "srp_Cyrl"), ("pa-PK", "pan_Guru"), ("mn-Mong", "khk_Cyrl")])
def test_a_script_that_nllb_does_not_have_is_refused_with_one_that_it_has(name: str, code: str) -> None:
    with pytest.raises(UserError, match=f"^unknown language '{name}'; expected a FLORES-200 code such as {code}$"):
        resolve_language(name)


def test_no_two_letter_name_of_a_language_is_retired() -> None:
    names = {name for name in map(iso_639_1, CODES) if len(name) == 2}
    renamed = {name: langcodes.standardize_tag(name) for name in names if langcodes.standardize_tag(name) != name}
    assert renamed == {"tl": "fil"}  # Unicode alone prefers Filipino to Tagalog
    assert (iso_639_1("ron_Latn"), iso_639_1("srp_Cyrl"), iso_639_1("nob_Latn")) == ("ro", "sr", "nb")
