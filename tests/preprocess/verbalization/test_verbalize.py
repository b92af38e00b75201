from __future__ import annotations

import collections
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preprocess.text import prepare_text
from preprocess.verbalization.conventions import CONVENTIONS
from preprocess.verbalization.number_words import number_words
from preprocess.verbalization.verbalize import count_numbers, verbalize
from shared.languages import CODES, script

# By hand, from what the languages say: text, and the same read out.
READ = {
    "eng_Latn": [
        ("I was born in 1984.", "I was born in nineteen eighty-four."),
        (
            "In 1984 tickets cost 1984 dollars",
            "In nineteen eighty-four tickets cost one thousand nine hundred and eighty-four dollars",
        ),
        ("The 1960 census is older", "The nineteen sixty census is older"),
        ("George III. was at the gate, c. 1800", "George the third was at the gate, circa eighteen hundred"),
        ("It began c. 850", "It began circa eight hundred and fifty"),
        ("built c. 1200–1250.", "built circa twelve hundred to twelve fifty."),
        ("It began c. 1066, said a.c. 240", "It began circa ten sixty-six, said a.c. two hundred and forty"),
        ("39 George III. c. 745", "thirty-nine George the third c. seven hundred and forty-five"),
        ("The following 23rd April", "The following twenty-third of April"),
        ("The mass is 3.1415 units", "The mass is three point one four one five units"),
        ("He said that 4 July was late", "He said that the fourth of July was late"),
        ("There were 2000 visitors", "There were two thousand visitors"),
        ("from 1900 to 2005 and 2010", "from nineteen hundred to two thousand and five and twenty ten"),
        ("the 1990s, the 1900s, the '80s", "the nineteen nineties, the nineteen hundreds, the 'eighties"),
        ("the 1st, 2nd, 3rd, 11th and 21st", "the first, second, third, eleventh and twenty-first"),
        ("1,234 people", "one thousand two hundred and thirty-four people"),
        ("12,34,000", "one million two hundred and thirty-four thousand"),
        ("3.14 and 0.05", "three point one four and zero point zero five"),
        ("5% or 2.5 %", "five percent or two point five percent"),
        ("It is -5 outside", "It is minus five outside"),
        ("It is \u22125 outside, \u2212$2", "It is minus five outside, minus two dollars"),
        ("$1, $5.50, £0.01 and 3 €", "one dollar, five dollars and fifty cents, one penny and three euros"),
        ("$1.5 billion", "one point five billion dollars"),
        ("5€ 10 times, 5 $10 bills", "five euros ten times, five ten dollars bills"),
        ("agent 007", "agent zero zero seven"),
        ("MP3 and 3D", "MP three and three D"),
        ("a 24-year-old on May 5", "a twenty-four-year-old on May fifth"),
        ("Mr. and Mrs. Smith", "Mister and Missus Smith"),
        ("Dr. Jones of St. Louis, No. 5, etc.", "Doctor Jones of Saint Louis, number five, et cetera."),
        ("cats, e.g. lions, etc. are", "cats, for example lions, et cetera are"),
        ("E.g. lions. Etc. and more", "For example lions. Et cetera and more"),
        ("10\u00a0000 and 10\u202f000", "ten thousand and ten thousand"),
        ("№ 7", "number seven"),
        ("٣ and ३", "three and three"),
    ],
    "spa_Latn": [
        ("1.500 libros", "mil quinientos libros"),
        ("el 3,5 %", "el tres coma cinco por ciento"),
        ("el 5º día y la 3ª vez", "el quinto día y la tercera vez"),
        ("21 €, 1 €, £2", "veintiún euros, un euro, dos libras"),
        ("£300, 500 € y £200.500", "trescientas libras, quinientos euros y doscientas mil quinientas libras"),
        ("£200.000.000", "doscientos millones de libras"),
        ("el 21 de mayo de 1984", "el veintiuno de mayo de mil novecientos ochenta y cuatro"),
        ("la Sra. García, p. ej.", "la señora García, por ejemplo"),
    ],
    "fra_Latn": [
        ("le 1er mai 1984", "le premier mai mille neuf cent quatre-vingt-quatre"),
        ("la 1re et la 2e fois", "la première et la deuxième fois"),
        ("3,14 et 2,05", "trois virgule quatorze et deux virgule zéro cinq"),
        ("10 000 € et 1,50 €", "dix mille euros et un euro et cinquante centimes"),
        ("50 %", "cinquante pour cent"),
        ("2 000 000 € et 1 000 000 $", "deux millions d'euros et un million de dollars"),
        ("M. Dupont et Mme Curie", "Monsieur Dupont et Madame Curie"),
        ("n° 5", "numéro cinq"),
        ("le 06 12 34", "le zéro six douze trente-quatre"),
    ],
    "deu_Latn": [
        ("am 3. Mai 1984", "am dritten Mai neunzehnhundertvierundachtzig"),
        ("das 2. Mal", "das zweite Mal"),
        ("1.000 Leute", "eintausend Leute"),
        ("3,14", "drei Komma eins vier"),
        ("1 € und 2,50 €", "ein Euro und zwei Euro fünfzig Cent"),
        ("1 % oder 21 %", "ein Prozent oder einundzwanzig Prozent"),
        ("Es sind 5.", "Es sind fünf."),
        ("z. B. Hunde, d.h. Tiere usw.", "zum Beispiel Hunde, das heißt Tiere und so weiter."),
        ("Dr. Müller, Nr. 7", "Doktor Müller, Nummer sieben"),
    ],
    "ita_Latn": [
        ("il 3º giorno, la 5ª volta", "il terzo giorno, la quinta volta"),
        ("1.200 €", "milleduecento euro"),
        ("2,5 %", "due virgola cinque per cento"),
        ("nel 1984", "nel millenovecentottantaquattro"),
        ("il Sig. Rossi", "il signor Rossi"),
    ],
    "por_Latn": [
        ("a 3ª vez", "a terceira vez"),
        ("R$ 16,50", "dezesseis reais e cinquenta centavos"),
        ("£2", "duas libras"),
        ("£200 e R$ 200", "duzentas libras e duzentos reais"),
        ("em 1984", "em mil novecentos e oitenta e quatro"),
        ("a Dra. Silva", "a doutora Silva"),
    ],
    "pol_Latn": [
        ("3 maja, 21 czerwca", "trzeciego maja, dwudziestego pierwszego czerwca"),
        (
            "1 zł, 22 zł, 25 zł, 12 zł",
            "jeden złoty, dwadzieścia dwa złote, dwadzieścia pięć złotych, dwanaście złotych",
        ),
        ("12 345", "dwanaście tysięcy trzysta czterdzieści pięć"),
        ("np. 5%", "na przykład pięć procent"),
    ],
    "tur_Latn": [
        ("1984", "bin dokuz yüz seksen dört"),
        ("%50", "yüzde elli"),
        ("3. sınıf", "üçüncü sınıf"),
        ("16 ₺", "on altı lira"),
        ("121998, 101.000", "yüz yirmi bir bin dokuz yüz doksan sekiz, yüz bir bin"),
        ("2,5", "iki virgül beş"),
        ("Dr. Kaya", "Doktor Kaya"),
    ],
    "rus_Cyrl": [
        ("9 мая", "девятого мая"),
        ("3 июня", "третьего июня"),
        ("5-й дом", "пятый дом"),
        ("1 ₽, 22 ₽, 11 ₽", "один рубль, двадцать два рубля, одиннадцать рублей"),
        ("3,5 %", "три целых пять десятых процента"),
        ("2,1", "две целых одна десятая"),
        ("3 человек", "трех человек"),
        ("10 000 человек и т. д.", "десять тысяч человек и так далее."),
    ],
    "nld_Latn": [
        ("de 1e, 2de en 8ste keer", "de eerste, tweede en achtste keer"),
        ("in 1984", "in negentienhonderdvierentachtig"),
        ("€ 3,50", "drie euro en vijftig cent"),
        ("bijv. 2%", "bijvoorbeeld twee procent"),
        ("1.500", "duizend vijfhonderd"),
    ],
    "ces_Latn": [
        ("1 Kč, 2 Kč, 5 Kč", "jedna koruna, dvě koruny, pět korun"),
        ("3,14", "tři celé čtrnáct"),
        ("např. 5 %", "například pět procent"),
        ("200 lidí, 310, 510", "dvě stě lidí, tři sta deset, pět set deset"),
    ],
    "arb_Arab": [("عام 1984", "عام ألف وتسعمائة وأربعة وثمانين"), ("بنسبة ٥٠٪", "بنسبة خمسين بالمئة")],
    "hun_Latn": [
        ("2 Ft és 5 Ft", "két forint és öt forint"),
        ("3. osztály", "harmadik osztály"),
        ("3,14", "három egész tizennégy század"),
        ("2 %", "két százalék"),
        ("pl. 2001", "például kétezer-egy"),
    ],
    "kor_Hang": [
        ("2024년 5월", "이천이십사 년 오월"),
        ("100%", "백 퍼센트"),
        ("1,500원", "천오백 원"),
        ("3시", "세 시"),
        ("3.14", "삼 점 일 사"),
        ("$5", "오 달러"),
    ],
    "pes_Arab": [
        ("سال ۱۳۵۷", "سال هزار و سیصد و پنجاه و هفت"),
        ("۳٫۱۴", "سه ممیز چهارده"),
        ("۵۰٪ و 5%", "پنجاه درصد و پنج درصد"),
        ("می\u200cخواهم ۲ کتاب", "می\u200cخواهم دو کتاب"),
    ],
    "ukr_Cyrl": [("9 травня", "дев'ятого травня"), ("22 ₴", "двадцять дві гривні")],
    "swe_Latn": [("1984", "nittonhundraåttiofyra"), ("21 kr", "tjugoen kronor"), ("3:e", "tredje")],
    "hin_Deva": [("डॉ. शर्मा", "डॉक्टर शर्मा"), ("५ किताबें", "पाँच किताबें")],
    "ben_Beng": [("৫টি বই", "পাঁচটি বই")],
    "zho_Hans": [("1984年5月3日", "一九八四年五月三日"), ("5%", "百分之五"), ("2个人", "两个人")],
    "jpn_Jpan": [("1984年5月3日", "千九百八十四年五月三日"), ("本を3冊", "本を三冊")],
    "fin_Latn": [("21", "kaksikymmentäyksi")],
    "vie_Latn": [("có 5 người", "có năm người")],
    "ind_Latn": [("21 orang", "dua puluh satu orang")],
    "heb_Hebr": [("21", "עשרים ואחת")],
    "kaz_Cyrl": [("21", "жиырма бір")],
    "cat_Latn": [("21", "vint-i-un")],
    "ron_Latn": [("21", "douăzeci și unu")],
    "nob_Latn": [("101", "ett hundre og en")],
    "dan_Latn": [("21", "enogtyve")],
    "amh_Ethi": [("21", "ሃያ አንድ")],
}

# Not surely said in one way, so left as it is.
LEFT = {
    "eng_Latn": [
        *["555-1234", "5551234567", "1/2", "10-20", "1.2.3", "3,5", "10²", "m²", "04/07/2021", "20:00"],
        *["5 ‰", "₫500", "$1.555", "A$5", "+49", "1" * 13, "0" * 21],
        *["3×4", "100 000 km", "$-5", "12h30", "01-Feb-02", "5233-NT", "4108.F"],
        *[
            "Main St. The",
            "They sold 1984 tickets",
            "They won by 1850 votes",
            "c. 1850 votes",
            "221B Baker Street",
            "at 1450 North Maple Avenue",
            "After 1850 workers left",
            "a crowd of 1831 prisoners",
            "the C2766 rifle",
            "V510210",
        ],
        "Hank M. Smith",
    ],
    "deu_Latn": [
        "3.5",
        "1 Mann",
        "50%ige",
        "100%-ig",
        "3. Mai",
        "12.5.2020",
    ],
    "spa_Latn": ["$5", "1,234.5"],
    "por_Latn": ["2019/20"],
    # the accusative is another: одну целую
    "rus_Cyrl": ["1,1", "21 т", "478 - 477 годах"],
    "ron_Latn": ["1 băiat", "2 fete", "12 fete"],
    "cat_Latn": ["2 cases", "200 cases"],
    "bel_Cyrl": ["2 жанчыны"],
    "slk_Latn": ["2 ženy"],
    "fra_Latn": ["1.000"],
    "pol_Latn": ["5-ty"],
    "arb_Arab": ["1984", "200 كتاب", "٥٠٪"],
    "hun_Latn": ["5-én", "1848. március"],
    "fin_Latn": ["5:ssä", "3. luokka", "3,5", "5 %", "5 €"],
    "srp_Cyrl": ["5 књига"],
    "swh_Latn": ["vitabu 5"],
    "amh_Ethi": ["1984"],
    "azj_Latn": ["101000", "11438", "21000"],
    "tel_Telu": ["100"],
}

XTTS_LANGUAGES = "eng_Latn spa_Latn fra_Latn deu_Latn ita_Latn por_Latn pol_Latn tur_Latn rus_Cyrl nld_Latn ces_Latn "
XTTS_LANGUAGES += "arb_Arab zho_Hans hun_Latn kor_Hang jpn_Jpan hin_Deva"

written = st.text("0123456789 .,:-/%$€£'°^²½ªº\u00a0٣۴५aAdst", max_size=40)


def cases(table: dict) -> list[tuple]:
    return [
        (language, *(case if isinstance(case, tuple) else (case,))) for language in table for case in table[language]
    ]


@pytest.mark.parametrize(("language", "text", "expected"), cases(READ))
def test_it_is_read_as_the_language_says_it(language: str, text: str, expected: str) -> None:
    assert prepare_text(text, language=language) == (expected, 0)


@pytest.mark.parametrize(("language", "text"), cases(LEFT))
def test_what_is_not_sure_is_left_alone_and_counted(language: str, text: str) -> None:
    result = prepare_text(text, language=language)
    digits = re.findall(r"\d", text.replace("²", "2").replace("½", "12"))
    assert re.findall(r"\d", result.text) == digits
    assert digits or result.text == text
    assert (result.unread_numbers > 0) == bool(digits)
    assert result.text.split()[0][0] == text[0]


@pytest.mark.slow
@pytest.mark.parametrize("language", [code for code in CONVENTIONS if CONVENTIONS[code].words])
def test_no_two_numbers_are_said_alike(language: str) -> None:
    """As they are where num2words loses a one: tens before a thousand, and thousands before a rest."""
    numbers = [*range(100), *range(100, 10_000, 37), *range(10_000, 1_000_000, 499), *range(100_000, 200_000, 113)]
    said = collections.defaultdict(set)
    for number in numbers:
        said[number_words(number, language=language)].add(number)
    assert {words: each for words, each in said.items() if words is not None and len(each) > 1} == {}


def test_every_language_of_xtts_is_read() -> None:
    assert set(XTTS_LANGUAGES.split()) <= set(READ)


@pytest.mark.parametrize("language", [code for code in CODES if code not in CONVENTIONS])
def test_a_language_that_cannot_be_read_is_left_alone_and_its_numbers_counted(language: str) -> None:
    assert prepare_text("1984, $5, 3.14 Dr. X etc.", language=language) == ("1984, $5, 3.14 Dr. X etc.", 4)


@given(written, st.sampled_from(sorted(CONVENTIONS)))
def test_no_number_is_lost_in_silence(text: str, language: str) -> None:
    """Each run of digits is either there still and counted, or has become letters."""
    result = prepare_text(text, language=language)
    assert result.unread_numbers == count_numbers(result.text)
    if re.search(r"\d", text) and not result.unread_numbers:
        added = sum(map(str.isalpha, result.text)) - sum(map(str.isalpha, text))
        assert added > 0


@given(st.integers(0, 10**13), st.sampled_from(sorted(CONVENTIONS)))
def test_a_whole_number_is_read_or_counted(number: int, language: str) -> None:
    result = prepare_text(f"{number}", language=language)
    assert result.unread_numbers == (1 if result.text == str(number) else 0)


@given(written, st.sampled_from(sorted(CONVENTIONS)))
def test_a_text_that_was_read_has_nothing_more_to_read(text: str, language: str) -> None:
    result = prepare_text(text, language=language)
    if not result.unread_numbers:
        assert verbalize(result.text, language=language) == result.text


@pytest.mark.parametrize("language", [code for code in CONVENTIONS if CONVENTIONS[code].words])
def test_words_are_in_the_languages_script_and_differ_for_every_number(language: str) -> None:
    numbers = [*range(1000), *range(1000, min(10**6, CONVENTIONS[language].limit), 997)]
    numbers = [number for number in numbers if number < CONVENTIONS[language].limit]
    words = [number_words(number, language=language) for number in numbers]
    assert None not in words
    assert len(set(words)) == len(numbers)
    latin = re.compile("[A-Za-z]")
    assert script(language) == "Latn" or not any(map(latin.search, map(str, words)))


HOSTILE = {
    "digits": "1" * 10_000,
    "signs between digits": "1," * 5_000,
    "spaced groups": "111 " * 2_500,
    "narrow spaces": "111\u202f" * 2_500,
    "dots": "3. a " * 2_000,
    "letters and digits": "a1" * 5_000,
    "currencies": "$" * 10_000,
    "minuses": "-1 " * 3_000,
    "abbreviations": "z. B. Mr. etc. " * 700,
    "a long name": "A" * 9_990 + " Dr. X",
    "non-joiners": "\u200c" * 10_000,
    "powers": "a²" * 5_000,
    "quotes": "etc." + "'" * 9_990 + "x",
}


def least_cpu_s(text: str, *, language: str, bound_s: float) -> float:
    """The least processor time of three readings of the text, or the first within the bound: others' work adds only."""
    taken: list[float] = []
    while not taken or (min(taken) >= bound_s and len(taken) < 3):
        start_s = time.process_time()
        prepare_text(text, language=language)
        taken.append(time.process_time() - start_s)
    return min(taken)


@pytest.mark.slow
@pytest.mark.parametrize(
    "language", ["eng_Latn", "deu_Latn", "fra_Latn", "rus_Cyrl", "kor_Hang", "pes_Arab", "amh_Ethi"]
)
@pytest.mark.parametrize("kind", HOSTILE)
def test_ten_thousand_characters_take_less_than_a_second(kind: str, language: str) -> None:
    assert least_cpu_s(HOSTILE[kind], language=language, bound_s=1) < 1


@pytest.mark.slow
@pytest.mark.parametrize("language", [code for code in CONVENTIONS if CONVENTIONS[code].rules])
@pytest.mark.parametrize("kind", ["signs between digits", "spaced groups", "dots"])
def test_no_rule_takes_long_for_ten_thousand_characters(kind: str, language: str) -> None:
    assert least_cpu_s(HOSTILE[kind], language=language, bound_s=1) < 1


def test_ten_thousand_digits_are_left_alone_at_once() -> None:
    assert prepare_text("1" * 10_000, language="eng_Latn").unread_numbers == 1
    assert least_cpu_s("1" * 10_000, language="eng_Latn", bound_s=0.05) < 0.05
