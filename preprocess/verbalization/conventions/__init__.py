"""The conventions of each language: how it writes and reads numbers, money and abbreviations."""

from __future__ import annotations

from collections.abc import Mapping

from preprocess.verbalization.conventions.arabic import ARABIC
from preprocess.verbalization.conventions.bengali import BENGALI
from preprocess.verbalization.conventions.chinese import CHINESE
from preprocess.verbalization.conventions.convention import Convention, Substitutions
from preprocess.verbalization.conventions.czech import CZECH
from preprocess.verbalization.conventions.danish import DANISH
from preprocess.verbalization.conventions.dutch import DUTCH
from preprocess.verbalization.conventions.english import ENGLISH
from preprocess.verbalization.conventions.french import FRENCH
from preprocess.verbalization.conventions.german import GERMAN
from preprocess.verbalization.conventions.hindi import HINDI
from preprocess.verbalization.conventions.hungarian import HUNGARIAN
from preprocess.verbalization.conventions.indonesian import INDONESIAN
from preprocess.verbalization.conventions.italian import ITALIAN
from preprocess.verbalization.conventions.japanese import JAPANESE
from preprocess.verbalization.conventions.korean import KOREAN
from preprocess.verbalization.conventions.persian import PERSIAN
from preprocess.verbalization.conventions.polish import POLISH
from preprocess.verbalization.conventions.portuguese import PORTUGUESE
from preprocess.verbalization.conventions.russian import RUSSIAN
from preprocess.verbalization.conventions.spanish import SPANISH
from preprocess.verbalization.conventions.swedish import SWEDISH
from preprocess.verbalization.conventions.turkish import TURKISH
from preprocess.verbalization.conventions.ukrainian import UKRAINIAN
from preprocess.verbalization.conventions.vietnamese import VIETNAMESE


def _cardinals_only(
    words: str, *, limit: int = 10**12, substitutions: Substitutions = (), agrees: str = ""
) -> Convention:
    return Convention(
        words=words, limit=limit, substitutions=substitutions, agrees=agrees, dot="unsure", unsure=r"[-:][^\W\d]"
    )


# Left out although num2words has them: Thai, which has no spaces between words, and Serbian, which num2words writes in
# Latin letters.
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
    "dan_Latn": DANISH,
    "vie_Latn": VIETNAMESE,
    "ind_Latn": INDONESIAN,
    "ben_Beng": BENGALI,
    "zho_Hans": CHINESE,
    "jpn_Jpan": JAPANESE,
    "amh_Ethi": _cardinals_only("am", limit=1000),  # beyond: TypeError, Latin letters, and no end
    "azj_Latn": _cardinals_only("az", limit=11_000),  # beyond: 21,000 is read as 20,000
    "bel_Cyrl": _cardinals_only("be", agrees=r"\b(?:адзін|два)$"),
    "cat_Latn": _cardinals_only("ca", agrees=r"\b(?:un|dos)$|-cents\b"),
    "cym_Latn": _cardinals_only("cy"),
    "epo_Latn": _cardinals_only("eo"),
    "fin_Latn": _cardinals_only("fi"),
    "heb_Hebr": _cardinals_only("he"),
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
}


def has_number_words(language: str) -> bool:
    """True if there is a rule that writes the numbers of a language (FLORES-200 code) in words."""
    return language in CONVENTIONS and bool(CONVENTIONS[language].words or CONVENTIONS[language].icu)
