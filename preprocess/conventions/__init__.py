"""The conventions of each language: how it writes and reads numbers, money and abbreviations."""

from __future__ import annotations

from collections.abc import Mapping

from preprocess.conventions.convention import Convention, Substitutions
from preprocess.conventions.germanic import DUTCH, ENGLISH, GERMAN, SWEDISH
from preprocess.conventions.other_languages import ARABIC, HINDI, HUNGARIAN, KOREAN, PERSIAN, TURKISH
from preprocess.conventions.romance import FRENCH, ITALIAN, PORTUGUESE, SPANISH
from preprocess.conventions.slavic import CZECH, POLISH, RUSSIAN, UKRAINIAN


def _cardinals_only(
    words: str, *, limit: int = 10**12, substitutions: Substitutions = (), agrees: str = ""
) -> Convention:
    return Convention(
        words=words, limit=limit, substitutions=substitutions, agrees=agrees, dot="unsure", unsure=r"[-:][^\W\d]"
    )


# Languages of num2words, and languages with unambiguous abbreviations. Left out although num2words has them: Japanese
# and Thai, because their texts are not changed, and Serbian, because num2words writes it in Latin letters.
CONVENTIONS: Mapping[str, Convention] = {
    "eng_Latn": ENGLISH,
    "deu_Latn": GERMAN,
    "fra_Latn": FRENCH,
    "spa_Latn": SPANISH,
    "ita_Latn": ITALIAN,
    "por_Latn": PORTUGUESE,
    "pol_Latn": POLISH,
    "tur_Latn": TURKISH,
    "rus_Cyrl": RUSSIAN,
    "ukr_Cyrl": UKRAINIAN,
    "nld_Latn": DUTCH,
    "ces_Latn": CZECH,
    "arb_Arab": ARABIC,
    "hun_Latn": HUNGARIAN,
    "kor_Hang": KOREAN,
    "pes_Arab": PERSIAN,
    "swe_Latn": SWEDISH,
    "hin_Deva": HINDI,
    "amh_Ethi": _cardinals_only("am", limit=1000),  # beyond: TypeError, Latin letters, and no end
    "azj_Latn": _cardinals_only("az", limit=11_000),  # beyond: 21,000 is read as 20,000
    "bel_Cyrl": _cardinals_only("be", agrees=r"\b(?:адзін|два)$"),
    "ben_Beng": _cardinals_only("bn"),
    "cat_Latn": _cardinals_only("ca", agrees=r"\b(?:un|dos)$|-cents\b"),
    "cym_Latn": _cardinals_only("cy"),
    "dan_Latn": _cardinals_only("da", limit=10**6),  # beyond: en millioner
    "epo_Latn": _cardinals_only("eo"),
    "fin_Latn": _cardinals_only("fi"),
    "heb_Hebr": _cardinals_only("he"),
    "ind_Latn": _cardinals_only("id"),
    "isl_Latn": _cardinals_only("is"),
    "kan_Knda": _cardinals_only("kn", limit=100_000),  # beyond: ten one lakh
    "kaz_Cyrl": _cardinals_only("kz"),
    "lit_Latn": _cardinals_only("lt"),
    "lvs_Latn": _cardinals_only("lv"),
    "nob_Latn": _cardinals_only("no", substitutions=((r"\ben (hundre|tusen)", r"ett \1"),)),
    "ron_Latn": _cardinals_only("ro", limit=10**9, agrees=r"\b(?:unu|doi|doisprezece)$"),
    "slk_Latn": _cardinals_only("sk", agrees=r"(?:jeden|dva)$"),
    "slv_Latn": _cardinals_only("sl"),
    "tel_Telu": _cardinals_only("te", limit=100),  # beyond: 100 and 1,000 are read without their one
    "tgk_Cyrl": _cardinals_only("tg"),
    "vie_Latn": _cardinals_only("vi"),
}


def has_number_words(language: str) -> bool:
    """True if there is a rule that writes the numbers of a language (FLORES-200 code) in words."""
    return language in CONVENTIONS and bool(CONVENTIONS[language].words)
