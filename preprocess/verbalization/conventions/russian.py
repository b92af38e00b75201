"""How Russian writes and says numbers, and its abbreviations."""

from __future__ import annotations

from preprocess.verbalization.conventions.convention import (
    HOUR,
    MONTH,
    YEAR,
    YEARS,
    Convention,
    Rule,
    money,
    months,
    noun,
)

_MONTHS = "января февраля марта апреля мая июня июля августа сентября октября ноября декабря"
_DAY = rf"(?P<d>[1-9]|[12]\d|3[01])(?={months(_MONTHS)})"
_DATE = rf"(?P<d>0?[1-9]|[12]\d|3[01])\.{MONTH}\.{YEAR}(?: (?:года|г\.))?"

_TO_GENITIVE = (
    "(?i:до|от|около|без|для|из|из-за|после|у|среди|против|свыше|более|менее|больше|меньше|кроме|вместо|ради|вокруг|возле|"
    "порядка|не хватает|не менее|не более|достиг(?:ает|ают|ал|ла|ло|ли)?)"
)
_GENITIVE = rf"(?<=\b{_TO_GENITIVE} )"
# Of 1, 21, 31, the genders differ in every case.
_N = r"(?P<n>[1-9]\d{0,2}(?: \d{3}){1,3}|[1-9]\d*)"
_NOT_ONE = rf"{_N}(?<!(?<!1)1)"
_ONE = r"(?P<n>(?:[1-9]\d*)?(?<!1)1)"
# ICU has no ordinals of 200 and more hundreds.
_NTH = r"(?P<n>[1-9]\d{0,2})(?<!00)"
_ADJECTIVE = r"(?:\p{Ll}+ )?"
# Other words in -а can be the genitive of a masculine: 1 сома.
_FEMININE = (
    r"(?:минута|секунда|неделя|страница|тонна|копейка|книга|машина|квартира|школа|женщина|девушка|семья|группа|команда|"
    r"работа|задача|песня|комната|улица|партия|\p{Ll}+(?:ция|сия|лия|рия|ния|дия))"
)
_COUNTED = (
    "дн|сут|час|минут|секунд|недел|месяц|лет|год|человек|раз|процент|страниц|километр|метр|грамм|килограмм|рубл|тысяч|"
    "миллион"
)

_UNITS = {
    "км": "километр километра километров",
    "м": "метр метра метров",
    "см": "сантиметр сантиметра сантиметров",
    "мм": "миллиметр миллиметра миллиметров",
    "кг": "килограмм килограмма килограммов",
    "мг": "миллиграмм миллиграмма миллиграммов",
    "л": "литр литра литров",
    "мл": "миллилитр миллилитра миллилитров",
    "га": "гектар гектара гектаров",
    "ч": "час часа часов",
    "км/ч": "километр_в_час километра_в_час километров_в_час",
    "м/с": "метр_в_секунду метра_в_секунду метров_в_секунду",
    "м²": "квадратный_метр квадратных_метра квадратных_метров",
    "км²": "квадратный_километр квадратных_километра квадратных_километров",
    "кв. м": "квадратный_метр квадратных_метра квадратных_метров",
    "кв. км": "квадратный_километр квадратных_километра квадратных_километров",
    "м³": "кубический_метр кубических_метра кубических_метров",
    "°C": "градус_Цельсия градуса_Цельсия градусов_Цельсия",
    "°": "градус градуса градусов",
    "кВт": "киловатт киловатта киловатт",
    "МВт": "мегаватт мегаватта мегаватт",
    "Гц": "герц герца герц",
    "ГБ": "гигабайт гигабайта гигабайт",
    "млн": "миллион миллиона миллионов",
    "млрд": "миллиард миллиарда миллиардов",
    "трлн": "триллион триллиона триллионов",
    "руб.": "рубль рубля рублей",
    "%": "процент процента процентов",
    "₽": "рубль рубля рублей",
}
_FEMININE_UNITS = {
    "т": noun("тонна тонны тонн", "f"),
    "мин": noun("минута минуты минут", "f"),
    "тыс.": noun("тысяча тысячи тысяч", "f"),
    "коп.": noun("копейка копейки копеек", "f"),
}


def _genitive(unit: str, forms: str) -> Rule:
    """After a preposition of the genitive, a unit is in its plural."""
    written = unit.replace(".", r"\.").replace("²", r"\^2").replace("³", r"\^3")
    end = "" if unit in "%₽°" else r"(?![\p{L}/^])"
    words = forms.split()[-1].replace("_", " ")
    return Rule("unit", rf"{_GENITIVE}{_NOT_ONE} ?{written}{end}", f"{{n:cardinal-masculine-genitive}} {words}")


_KINGS = (
    "Пётр|Петр|Николай|Александр|Павел|Иван|Людовик|Карл|Генрих|Филипп|Фридрих|Вильгельм|Георг|Наполеон|Пий|Василий"
)
_OF_KINGS = (
    "Петра|Николая|Александра|Павла|Ивана|Людовика|Карла|Генриха|Филиппа|Фридриха|Вильгельма|Георга|Наполеона|Василия"
)
_ROMAN = "(?P<r>[IVX]+)"

RUSSIAN = Convention(
    words="ru",
    icu="ru",
    substitutions=((r"^одна тысяча\b", "тысяча"), ("третьом", "третьем")),
    decimal=",",
    thousands=" ",
    point=noun("целая целых целых", "f"),
    places=(
        noun("десятая десятых десятых", "f"),
        noun("сотая сотых сотых", "f"),
        noun("тысячная тысячных тысячных", "f"),
    ),
    minus="минус",
    plural="east_slavic",
    agreement={"f": ((r"\bодин$", "одна"), (r"\bдва$", "две"))},
    agrees=r"\b(?:один|два)$",
    months=tuple(_MONTHS.split()),
    rules=(
        # dates and years
        Rule(
            "date",
            rf"(?<!\b(?i:на|по|к|ко|перед) ){_DATE}",
            "{d:ordinal-neuter-genitive} {mo:month} {y:ordinal-masculine-genitive} года",
        ),
        Rule("date", rf"(?<=\b(?i:на|по) ){_DAY}", "{d:ordinal-neuter-accusative}"),
        Rule("date", rf"(?<=\b(?i:ко?) ){_DAY}", "{d:ordinal-neuter-dative}"),
        Rule("date", rf"(?<=\b(?i:перед|между) ){_DAY}", "{d:ordinal-neuter-instrumental}"),
        Rule("date", _DAY, "{d:ordinal-neuter-genitive}"),
        Rule("year", rf"(?<=\b[Вв] ){YEAR} г\.", "{y:ordinal-masculine-prepositional} году"),
        Rule("year", rf"(?<={months(_MONTHS)} ){YEAR} г\.", "{y:ordinal-masculine-genitive} года"),
        Rule("year", rf"(?<=\b[Кк] ){YEAR}(?= году\b)", "{y:ordinal-masculine-dative}"),
        Rule("year", rf"{YEAR}(?= году\b)", "{y:ordinal-masculine-prepositional}"),
        Rule("year", rf"{YEAR}(?= года\b)", "{y:ordinal-masculine-genitive}"),
        Rule("year", rf"{YEAR}(?= годом\b)", "{y:ordinal-masculine-instrumental}"),
        Rule("year", rf"{YEAR}(?= год\b)", "{y:ordinal-masculine}"),
        Rule("year", rf"{YEARS}(?= год(?:ов|ы)\b)", "{a:ordinal-masculine-genitive} - {b:ordinal-masculine-genitive}"),
        Rule(
            "year", rf"{YEARS}(?= годах\b)", "{a:ordinal-masculine-prepositional} - {b:ordinal-masculine-prepositional}"
        ),
        Rule("year", r"(?P<n>\d{1,4})-е(?= годы\b)", "{n:ordinal-plural}"),
        Rule("year", r"(?P<n>\d{1,4})-х(?= год(?:ов|ах)\b)", "{n:ordinal-plural-genitive}"),
        # clock times
        Rule("time", r"(?<=\b(?i:в) )1[:.]0(?P<m>[1-9])", "час ноль {m}"),
        Rule("time", r"(?<=\b(?i:в) )1[:.](?P<m>[1-5]\d)", "час {m}"),
        Rule("time", r"(?<=\b(?i:в) )(?P<h>1|21)[:.]00", "{h} час"),
        Rule("time", r"(?<=\b(?i:в) )(?P<h>[234]|22|23|24)[:.]00", "{h} часа"),
        Rule("time", rf"(?<=\b(?i:в) ){HOUR}[:.]00", "{h} часов"),
        Rule("time", rf"(?<=\b(?i:в) ){HOUR}[:.]0(?P<m>[1-9])", "{h} ноль {m}"),
        Rule("time", rf"(?<=\b(?i:в) ){HOUR}[:.](?P<m>[1-5]\d)", "{h} {m}"),
        Rule(
            "time",
            r"(?<=\b(?i:до|после|около|с) )(?P<h>[2-9]|1\d|20|22|23|24)[:.]00",
            "{h:cardinal-masculine-genitive} часов",
        ),
        # Roman numerals
        Rule("roman", rf"{_ROMAN}(?= век\b)", "{r:ordinal-masculine}"),
        Rule("roman", rf"{_ROMAN}(?= века\b)", "{r:ordinal-masculine-genitive}"),
        Rule("roman", rf"{_ROMAN}(?= веке\b)", "{r:ordinal-masculine-prepositional}"),
        Rule("roman", rf"{_ROMAN}(?= веку\b)", "{r:ordinal-masculine-dative}"),
        Rule("roman", rf"{_ROMAN}(?= веком\b)", "{r:ordinal-masculine-instrumental}"),
        Rule("roman", rf"(?<=\b(?:{_KINGS}) ){_ROMAN}", "{r:ordinal-masculine}"),
        Rule("roman", rf"(?<=\b(?:{_OF_KINGS}) ){_ROMAN}", "{r:ordinal-masculine-genitive}"),
        Rule("roman", rf"(?<=\b(?:Екатерина|Елизавета|Изабелла) ){_ROMAN}", "{r:ordinal-feminine}"),
        Rule("roman", rf"(?<=\b(?:Екатерин|Елизавет|Изабелл)(?:ы|е|ой) ){_ROMAN}", "{r:ordinal-feminine-genitive}"),
        # ordinals
        Rule("ordinal", rf"{_NTH}-[йя](?= {_ADJECTIVE}\p{{Ll}}+(?:ы|и|ой|ей)\b)", "{n:ordinal-feminine-genitive}"),
        Rule("ordinal", rf"{_NTH}-й(?! \p{{Ll}}+е\b)", "{n:ordinal-masculine}"),
        Rule("ordinal", rf"{_NTH}-я", "{n:ordinal-feminine}"),
        Rule("ordinal", rf"{_NTH}-ю", "{n:ordinal-feminine-accusative}"),
        Rule("ordinal", rf"{_NTH}-го", "{n:ordinal-masculine-genitive}"),
        Rule("ordinal", rf"{_NTH}-му", "{n:ordinal-masculine-dative}"),
        Rule("ordinal", rf"(?<=\b(?i:в|на|о|об) ){_NTH}-м", "{n:ordinal-masculine-prepositional}"),
        Rule("ordinal", rf"{_NTH}-е(?= {_ADJECTIVE}\p{{Ll}}+[ое]\b)", "{n:ordinal-neuter}"),
        # pages and the like
        Rule("abbreviation", r"(?<=\b[Нн]а )стр\. ?(?P<n>\d+)", "странице {n}"),
        Rule("abbreviation", r"(?<=^|[(;:.] )[Сс]тр\. ?(?P<n>\d+)", "страница {n}"),
        # cases
        Rule("number", r"(?P<n>(?:[1-9]\d*)?(?<!1)[234])(?= человек\b)", "{n:cardinal-masculine-genitive}"),
        *(_genitive(unit, forms) for unit, forms in _UNITS.items()),
        Rule(
            "number",
            rf"{_GENITIVE}{_NOT_ONE}(?= (?!(?:{'|'.join(_UNITS)})\b)\p{{Ll}}{{2}})",
            "{n:cardinal-masculine-genitive}",
        ),
        Rule(
            "number",
            rf"{_NOT_ONE}(?= {_ADJECTIVE}\p{{Ll}}+(?:[ая]ми|тьми|дьми)\b)",
            "{n:cardinal-masculine-instrumental}",
        ),
        Rule("number", rf"{_NOT_ONE}(?= {_ADJECTIVE}\p{{Ll}}{{2,}}[ая]м\b)", "{n:cardinal-masculine-dative}"),
        Rule(
            "number",
            rf"{_NOT_ONE}(?= (?!год){_ADJECTIVE}\p{{Ll}}{{2,}}[ая]х\b)",
            "{n:cardinal-masculine-prepositional}",
        ),
        Rule("number", rf"(?<!{_TO_GENITIVE} ){_ONE}(?= \p{{Ll}}+[ую]\b)", "{n:cardinal-feminine-accusative}"),
        Rule("number", rf"(?<!{_TO_GENITIVE} ){_ONE}(?= {_FEMININE}\b)", "{n:cardinal-feminine}"),
        Rule("number", r"(?<!\w )(?P<n>(?:[1-9]\d*)?(?<!1)2)(?= \p{Ll}+[ыи]\b)", "{n:cardinal-feminine}"),
        # grams, unless the letter is that of a year
        Rule("unit", r"(?P<n>(?:[1-9]\d*)?(?<!1)1) г(?!\.)", "{n} грамм"),
        Rule("unit", r"(?P<n>(?:[1-9]\d*)?(?<!1)[2-4]) г(?!\.)", "{n} грамма"),
        Rule("unit", rf"(?<!{_TO_GENITIVE} )(?P<n>[1-9]\d*(?:[05-9]|1[1-4])|[5-9]) г(?!\.)", "{n} граммов"),
        Rule("decimal", r"1,5(?= (?!тысяч)\p{Ll}+а\b)", "полтора"),
        Rule("decimal", r"1,5(?= \p{Ll}+[ыи]\b)", "полторы"),
        Rule("decimal", "1,5 млн", "полтора миллиона"),
        Rule("decimal", "1,5 млрд", "полтора миллиарда"),
        Rule("decimal", "1,5 км", "полтора километра"),
        # ranges and fractions
        Rule("range", rf"(?<!{_TO_GENITIVE} )(?P<a>\d+)-(?P<b>\d+)(?= (?:{_COUNTED})| ?%)", "{a} - {b:=}"),
        Rule("fraction", r"(?<!\d )1⁄2(?= (?:часа|литра|стакана|километра|года))", "пол"),
    ),
    currencies={
        "₽": money("рубль рубля рублей", "копейка копейки копеек", "", "f"),
        "€": money("евро", "цент цента центов"),
        "$": money("доллар доллара долларов", "цент цента центов"),
        "£": money("фунт фунта фунтов", "пенс пенса пенсов"),
        "¥": money("иена иены иен", gender="f"),
    },
    percent=noun("процент процента процентов"),
    magnitudes="тысяч|миллион(?:а|ов)?|миллиард(?:а|ов)?|триллион(?:а|ов)?",
    units={
        **{unit: noun(forms) for unit, forms in _UNITS.items() if unit not in "%₽°"},
        **_FEMININE_UNITS,
        "°": noun("градус градуса градусов"),
    },
    dot="unsure",
    unsure=(
        r"-[^\W\d]| (?:года?|году|годы|годов|годах|гг?\.|века?|веке|вв?\.|сутк|суток|воро|ножниц)(?!\w)"
        r"| миллион(?:ам|ами)(?!\w)"
        r"| \d[\d -]*-\d| --? ?\d|-\d| из \d| сут| г(?!\p{L})"
    ),
    unsure_words=r"\bодна (?:тонна|минута|тысяча|копейка|целая)|^тысяча\b",  # the accusative: одну тонну, тысячу двести
    unsure_before=(
        rf"\b(?:{_TO_GENITIVE}|(?i:к|ко|перед|между|над|при|о|об|по|с|со|из|код|кода|коду|пин-код|пароль|телефон)) "
        r"|\b(?i:рейс) "
        r"|\b(?i:стр|с|п|пп|ст|гл|рис|табл|т|д|кв)\. ?|\d-|\d - "
    ),
    numbered={"n°": "номер"},
    phrases={"т. е.": "то есть", "т. к.": "так как", "напр.": "например"},
    closings={"и т. д.": "и так далее", "и т. п.": "и тому подобное", "и др.": "и другие"},
)
