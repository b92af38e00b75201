"""How Swedish writes and says numbers, and its abbreviations."""

from __future__ import annotations

from preprocess.verbalization.conventions.convention import (
    DAY,
    MINUTE,
    MONTH,
    RANGE,
    YEAR,
    YEARS,
    Convention,
    Rule,
    money,
    noun,
)

_MONTHS = "januari februari mars april maj juni juli augusti september oktober november december"
_OF_MONTH = rf"(?= (?:{_MONTHS.replace(' ', '|')})\b)"

_COMMON = (
    "dag(?:ar)?|veck(?:a|or)|månad(?:er)?|timm(?:e|ar)|minut(?:er)?|sekund(?:er)?|gång(?:er)?|person(?:er)?|procent|"
    "procentenhet(?:er)?|kron(?:a|or)|dollar|euro|miljon(?:er)?|miljard(?:er)?|grad(?:er)?|poäng|sid(?:a|or)|"
    "(?:kilo|centi|milli|kvadrat|kubik)?meter|(?:deci|centi|milli)?liter|mil|hektar|tum|fot|matsked(?:ar)?|"
    "tesked(?:ar)?|plats(?:er)?|match(?:er)?|bil(?:ar)?|bok|böcker|elev(?:er)?|man|kvinn(?:a|or)|spelare|deltagare|"
    "invånare|natt|nätter|termin(?:er)?|säsong(?:er)?|omgång(?:ar)?|generation(?:er)?|portion(?:er)?|kopp(?:ar)?|flask(?:a|or)|burk(?:ar)?|del(?:ar)?"
)
_NEUTER = (
    "år|dygn|kilo|kilogram|gram|hekto|ton|barn|mål|rum|hus|lag|land|länder|kvartal|sekel|decenni(?:um|er)|exemplar|"
    "äpplen?|ägg|glas|stycken?|steg|varv|tillfällen?|fall|ord|träd|djur|hål|pund|halvår"
)
_UNIT_SIGNS = "km|m|cm|mm|dm|kg|hg|g|mg|ton|l|cl|ml|km/h|m/s|°C|kWh|MWh|kW|MW|ha|m\\^2|km\\^2|m\\^3|hk|h|tim|st"
_NUMBERED = (
    "nummer|sidan?|kapitel|del|punkt|grupp|fas|steg|nivå|klass|division|formel|kanal|bild|figur|tabell|avsnitt|årskurs|"
    "version|typ|zon|linje|spår|plats|rum|paragraf|artikel|klockan"
)

_AT = r"(?<=\b(?i:klockan)(?: (?:[\w.:]+ ){1,3}(?:till|och))? )"
_NEAR = r"(?<=\b(?i:vid|från|till|mellan|före|efter|innan|sedan|kring|runt|omkring|strax) )"
_HOUR, _LATE = r"(?P<h>[01]?\d|2[0-4])", r"(?P<h>1\d|2[0-3])"

_KINGS = (
    "Gustav|Gustaf|Karl|Carl|Erik|Johan|Magnus|Knut|Sverker|Fredrik|Frederik|Christian|Kristian|Valdemar|Harald|Olav|"
    "Oscar|Oskar|Adolf|Henrik|Ludvig|Filip|Georg|Edvard|Jakob|Vilhelm|Rikard|Peter|Alexander|Nikolaj|Ivan|Napoleon|"
    "Leopold|Albert|Franz|Frans|Pius|Leo|Benedictus|Benedikt|Johannes|Paulus|Gregorius|Innocentius|Clemens|Urban|"
    "Ramses|Xerxes|Dareios|Ptolemaios|Otto"
)
_QUEENS = "Elizabeth|Elisabet|Margareta|Margrethe|Katarina|Maria|Isabella|Beatrix|Kleopatra|Viktoria|Victoria"
_ROMAN = r"(?P<r>[IVX]{2,6}|[VX](?!\. ?\p{Lu})|I(?!\.? ?\p{Lu}))"  # not an initial

_ORDINALS = "{a:ordinal-reale} till {b:ordinal-reale}"
_THE_DAY, _THE_DATE = "{d:ordinal-reale} {mo:month}", "{d:ordinal-reale} {mo:month} {y:year}"
_CENTURY = r"1[1-9]00|20\d0|[2-9]00"
_WHOLE = r"(?P<w>\d+)"
_HALF = r"(?<!\d )1[/⁄]2"
_SCORED = (
    r"(?<=\b(?i:vann|vinner|vinna|ledde|leder|förlorade|förlorar|slutade|slutar|seger|segern|vinst|förlust|förlusten|"
    r"ledning|ledningen|kvitterade|reducerade|oavgjort|ställningen|resultatet|slutresultatet)"
    r"(?: (?:med|till|på|blev|är))? (?:\d\d?-\d\d?(?:,| och) )*)"
)

SWEDISH = Convention(
    icu="sv",
    decimal=",",
    thousands=" .",
    point=noun("komma"),
    fraction_is_number=True,
    minus="minus",
    agreement={"c": (("ett$", "en"),)},
    agrees="^ett$",
    agrees_not_before=rf" (?:{_NEUTER})\b",
    rules=(
        Rule("time", rf"{_AT}{_HOUR}[.:]00-(?P<b>[01]?\d|2[0-4])[.:]00", "{h} till {b}"),
        Rule("time", rf"{_AT}(?P<a>\d\d?(?:[.:]\d\d)?)-(?P<b>\d\d?(?:[.:]\d\d)?)", "{a:=} till {b:=}"),
        Rule("time", rf"(?:{_AT}{_HOUR}|{_NEAR}{_LATE}|(?P<h>0\d))[.:]00(?! kronor)", "{h}"),
        Rule("time", rf"(?:{_AT}{_HOUR}|{_NEAR}{_LATE})[.:]0(?P<m>[1-9])", "{h} noll {m}"),
        Rule("time", rf"(?:{_AT}{_HOUR}|{_NEAR}{_LATE})[.:]{MINUTE}(?! kronor)", "{h} {m}"),
        Rule("time", r"(?P<h>0\d)[.:](?P<m>1[3-9]|[2-5]\d)", "{h} {m}"),
        Rule("date", rf"(?<=\bden ){YEAR}-{MONTH}-{DAY}", _THE_DATE),
        Rule("date", rf"{YEAR}-{MONTH}-{DAY}", f"den {_THE_DATE}"),
        Rule("date", rf"(?<=\bden ){DAY}(?:\.{MONTH}\.|/{MONTH}[- ]){YEAR}", _THE_DATE),
        Rule("date", rf"{DAY}(?:\.{MONTH}\.|/{MONTH}[- ]){YEAR}", f"den {_THE_DATE}"),
        Rule("date", rf"(?<=\b(?:[Dd]en|\p{{L}}+dag(?:en)?) ){DAY}/{MONTH}", _THE_DAY),
        Rule("date", rf"(?<=\b(?:till|från|senast|sedan) )(?P<d>[12]\d|3[01])/{MONTH}", f"den {_THE_DAY}"),
        Rule("date", rf"(?P<a>\d\d?)-(?P<b>\d\d?){_OF_MONTH}", _ORDINALS),
        Rule("date", rf"(?P<a>\d\d?) och (?P<b>\d\d?){_OF_MONTH}", "{a:ordinal-reale} och {b:ordinal-reale}"),
        Rule("date", rf"(?P<a>\d\d?) till (?P<b>\d\d?){_OF_MONTH}", _ORDINALS),
        Rule("date", rf"{DAY}{_OF_MONTH}", "{d:ordinal-reale}"),
        Rule(
            "date",
            rf"(?<=\b(?i:den) ){DAY}(?=[,;!?)]|\.?$|\. \p{{Lu}}| (?:i|varje|denna|klockan)\b)",
            "{d:ordinal-reale}",
        ),
        Rule("ordinal", r"(?P<n>\d*(?<!1)[12]):a", "{n:ordinal-reale}"),
        Rule("ordinal", r"(?P<n>\d+):e", "{n:ordinal-masculine}"),
        Rule("year", r"(?P<n>[1-9]0)- och (?P<b>[1-9]0)-talet", "{n}- och {b}talet"),
        Rule(
            "year",
            rf"(?P<n>{_CENTURY})- och (?P<b>{_CENTURY})-talet",
            "{n:numbering-year}- och {b:numbering-year}talet",
        ),
        Rule("year", r"(?P<n>1[1-9]\d0|20\d0|[2-9]00|[1-9]0)-tal", "{n:numbering-year}tal"),
        Rule("year", r"(?P<n>1[1-9]\d0|20\d0|[2-9]00|[1-9]0)-talet", "{n:numbering-year}talet"),
        Rule("year", r"(?P<n>1[1-9]\d0|20\d0|[2-9]00|[1-9]0)-talets", "{n:numbering-year}talets"),
        Rule("year", r"(?P<n>1[1-9]\d0|20\d0|[2-9]00|[1-9]0)-talen", "{n:numbering-year}talen"),
        Rule("range", YEARS, "{a:year} till {b:year}"),
        Rule("range", r"(?P<a>1[1-9]\d\d)-(?P<b>1[3-9]|[2-9]\d)", "{a:year} till {b}"),
        Rule("fraction", rf"{_HALF} matskedar", "en halv matsked"),
        Rule("fraction", rf"{_HALF} teskedar", "en halv tesked"),
        Rule("fraction", rf"{_HALF} kg", "ett halvt kilo"),
        Rule("fraction", rf"{_HALF} l", "en halv liter"),
        Rule("fraction", rf"{_WHOLE} 1[/⁄]2 matskedar", "{w:c} och en halv matsked"),
        Rule("fraction", rf"{_WHOLE} 1[/⁄]2 teskedar", "{w:c} och en halv tesked"),
        Rule("fraction", rf"{_HALF}(?= (?:{_COMMON})\b)", "en halv"),
        Rule("fraction", rf"{_HALF}(?= (?:{_NEUTER})\b)", "ett halvt"),
        Rule("fraction", rf"{_WHOLE} 1[/⁄]2(?= (?:{_COMMON})\b)", "{w:c} och en halv"),
        Rule("fraction", rf"{_WHOLE} 1[/⁄]2(?= (?:{_NEUTER})\b)", "{w} och ett halvt"),
        Rule("fraction", r"(?<!\d )1[/⁄](?P<b>[34567])(?= av\b)", "en {b:ordinal-reale}del"),
        Rule("fraction", r"(?<!\d )(?P<a>[2-9])[/⁄](?P<b>[34567])(?= av\b)", "{a} {b:ordinal-reale}delar"),
        Rule("range", rf"1-(?P<b>\d+)(?= (?:{_COMMON})\b)", "en till {b}"),
        Rule("range", rf"1-(?P<b>\d+)(?= (?:{_NEUTER})\b)", "ett till {b}"),
        Rule(
            "range",
            rf"(?P<a>\d+(?:[ .]\d{{3}}){{0,3}}(?:,\d+)?)(?: - |-)(?P<b>\d+(?:[ .]\d{{3}}){{0,3}}(?:,\d+)?)"
            rf"(?= ?%| ?(?:{_UNIT_SIGNS})(?![\p{{L}}\p{{N}}/^])| (?:{_COMMON}|{_NEUTER})\b)",
            "{a:=} till {b:=}",
        ),
        Rule("range", rf"(?<=\b(?i:sidan|sidorna|kapitel|vers) ){RANGE}", "{a} till {b}"),
        Rule("number", rf"{_SCORED}(?P<a>\d\d?)-(?P<b>\d\d?)", "{a} {b}"),
        Rule(
            "number",
            r"(?P<a>\d+) ?[x×] ?(?P<b>\d+) ?[x×] ?(?P<c>\d+)(?= ?(?:mm|cm|dm|m|meter)\b)",
            "{a} gånger {b} gånger {c:=}",
        ),
        Rule(
            "number",
            rf"(?<![x×] ?)(?P<a>\d+) ?[x×] ?(?P<b>\d+(?:,\d+)?)(?= ?(?:{_UNIT_SIGNS})(?![\p{{L}}\p{{N}}/^])| meter\b)",
            "{a} gånger {b:=}",
        ),
        Rule("number", "1 miljoner", "en miljon"),
        Rule("number", "1 miljarder", "en miljard"),
        Rule("number", rf"1(?= (?!kronor|matskedar|teskedar)(?:{_COMMON})\b)", "en"),
        Rule("number", rf"1(?= (?:och|eller|till) \d+ (?:{_COMMON})\b)", "en"),
        Rule("number", rf"1(?= (?:och|eller|till) \d+ (?:{_NEUTER})\b)", "ett"),
        Rule("number", rf"(?<=\b(?i:{_NUMBERED}) )1", "ett"),
        Rule("number", r"(?P<n>\d{1,4})-(?!tal)(?P<w>\p{Ll}{3,})", "{n:year}{w:=}"),
        Rule("money", r"(?P<n>\d+):-", "{n} kronor"),
        Rule("money", r"(?<= (?:miljon|miljard)(?:er)? )€", "euro"),
        Rule("money", r"(?<= (?:miljon|miljard)(?:er)? )\$", "dollar"),
        Rule("money", "kronor/kg", "kronor per kilo"),
        Rule("money", r"kronor/m(?:\^2|2)", "kronor per kvadratmeter"),
        Rule("money", "kronor/kWh", "kronor per kilowattimme"),
        Rule("money", "kronor/st", "kronor styck"),
        Rule("money", "kronor/mån", "kronor i månaden"),
        Rule("money", "kronor/(?:h|tim)", "kronor i timmen"),
        Rule("unit", r"(?<=\bper )kg", "kilo"),
        Rule("unit", r"(?<=\bper )km", "kilometer"),
        Rule("unit", r"(?<=\bper )m(?:\^2|2)", "kvadratmeter"),
        Rule(
            "unit",
            r"(?P<n>[2-9]|\d\d{1,2}) min(?=[.,;:)]|$| (?:i|på|till|från|efter|innan|per|och|eller|senare)\b)",
            "{n} minuter",
        ),
        Rule("unit", r"(?<![-+])(?P<n>[02-9]|\d\d{1,2})°(?! ?[NSÖVEWC]\b)", "{n} grader"),
        Rule("roman", rf"(?<=\b(?:{_KINGS}) ){_ROMAN}:s", "den {r:ordinal-masculine}s"),
        Rule("roman", rf"(?<=\b(?:{_KINGS}) ){_ROMAN}", "den {r:ordinal-masculine}"),
        Rule("roman", rf"(?<=\b(?:{_QUEENS}) ){_ROMAN}:s", "den {r:ordinal-reale}s"),
        Rule("roman", rf"(?<=\b(?:{_QUEENS}) ){_ROMAN}", "den {r:ordinal-reale}"),
        Rule(
            "roman",
            r"(?<=\b(?i:kapitel|del|akt|band|volym|scen|fas|bilaga|klass|bok|tabell|figur) )(?P<r>[IVX]+)",
            "{r}",
        ),
    ),
    months=tuple(_MONTHS.split()),
    percent=noun("procent", "c"),
    currencies={
        "kronor": money("krona kronor", "öre", "c", ""),
        "€": money("euro", "cent", "c"),
        "$": money("dollar", "cent", "c"),
        "US$": money("dollar", "cent", "c"),
        "£": money("pund"),
        "¥": money("yen", gender="c"),
    },
    units={
        "km": noun("kilometer", "c"),
        "m": noun("meter", "c"),
        "dm": noun("decimeter", "c"),
        "cm": noun("centimeter", "c"),
        "mm": noun("millimeter", "c"),
        "kg": noun("kilo"),
        "hg": noun("hekto"),
        "g": noun("gram"),
        "mg": noun("milligram"),
        "l": noun("liter", "c"),
        "cl": noun("centiliter", "c"),
        "ml": noun("milliliter", "c"),
        **dict.fromkeys(("km/h", "km/tim"), noun("kilometer_i_timmen", "c")),
        "m/s": noun("meter_per_sekund", "c"),
        **dict.fromkeys(("m²", "m2", "kvm"), noun("kvadratmeter", "c")),
        **dict.fromkeys(("km²", "km2"), noun("kvadratkilometer", "c")),
        "cm²": noun("kvadratcentimeter", "c"),
        **dict.fromkeys(("m³", "m3"), noun("kubikmeter", "c")),
        "ha": noun("hektar", "c"),
        **dict.fromkeys(("°C", "° C"), noun("grad_Celsius grader_Celsius", "c")),
        "W": noun("watt", "c"),
        "kW": noun("kilowatt", "c"),
        "MW": noun("megawatt", "c"),
        "GW": noun("gigawatt", "c"),
        "kWh": noun("kilowattimme kilowattimmar", "c"),
        "MWh": noun("megawattimme megawattimmar", "c"),
        "GWh": noun("gigawattimme gigawattimmar", "c"),
        "TWh": noun("terawattimme terawattimmar", "c"),
        "V": noun("volt", "c"),
        "kB": noun("kilobyte", "c"),
        "MB": noun("megabyte", "c"),
        "GB": noun("gigabyte", "c"),
        "TB": noun("terabyte", "c"),
        "Mbit/s": noun("megabit_per_sekund", "c"),
        "Hz": noun("hertz", "c"),
        "kHz": noun("kilohertz", "c"),
        "MHz": noun("megahertz", "c"),
        "GHz": noun("gigahertz", "c"),
        "dB": noun("decibel", "c"),
        "hk": noun("hästkraft hästkrafter", "c"),
        "kcal": noun("kilokalori kilokalorier", "c"),
        "st": noun("styck stycken"),
        "tr": noun("trappa trappor", "c"),
        **dict.fromkeys(("h", "tim"), noun("timme timmar", "c")),
        "sek": noun("sekund sekunder", "c"),
        "matskedar": noun("matsked matskedar", "c"),
        "teskedar": noun("tesked teskedar", "c"),
    },
    money_joint="och",
    magnitudes="miljoner|miljarder|miljon|miljard|tusen",
    century="hundra",
    dot="unsure",
    # telephone numbers, dimensions, sections of a law, other units; before a number, codes and flights too
    unsure=r":[^\W\d]| ?x ?\d| ?§|-tal|\p{Lu}\d|(?<=\b\d{1,3}) min\b|(?<=\b0\d{1,3}) \d{2,3} \d\d"
    r"| ?(?!och/)\p{L}{1,3}/\p{L}"
    r"| ?(?:Nm|kN|nm|hPa|kPa|MPa|bar|lx|mA|mAh|kV|kVA|Gbit|Mbit|kJ|MJ|rpm|mmHg|mmol|ppm)\b",
    unsure_before=r"(?<![\d.,:-])0\d{1,3}[- ](?:\d{2,3} )*|\+\d+(?:[ -]?\d+)*[ -]?|\d ?x ?|\b[kc]?m"
    r"|(?i:kod|koden|lösenordet)(?: \p{L}+){0,3}:? |\b(?i:flyg|flyget|flight) \p{Lu}\p{Lu} ?"
    r"|\b(?i:dollar|euro|(?<!\d )kronor) ",
    titles={
        **dict.fromkeys(("Dr.", "Dr", "dr.", "dr"), "doktor"),
        **{"Prof.": "professor", "prof.": "professor", "Hr": "Herr", "hr": "herr", "S:t": "Sankt", "S:ta": "Sankta"},
    },
    numbered={
        **dict.fromkeys(("n°", "nr", "nr.", "Nr", "Nr."), "nummer"),
        **{"ca": "cirka", "ca.": "cirka", "c:a": "cirka", "Ca": "Cirka", "Ca.": "Cirka"},
        **dict.fromkeys(("kl", "kl."), "klockan"),
        **dict.fromkeys(("Kl", "Kl."), "Klockan"),
        **dict.fromkeys(("s.", "sid."), "sidan"),
        **{"kap.": "kapitel", "Kap.": "Kapitel", "§": "paragraf", "art.": "artikel", "vol.": "volym", "f.": "född"},
        **{"fig.": "figur", "Fig.": "Figur", "tab.": "tabell", "ung.": "ungefär", "tel.": "telefon", "tfn": "telefon"},
    },
    phrases={
        **{"t. ex.": "till exempel", "t ex": "till exempel", "bl. a.": "bland annat", "p. g. a.": "på grund av"},
        **{"d v s.": "det vill säga", "p g a.": "på grund av"},
        **{"d. v. s.": "det vill säga", "d v s": "det vill säga", "p g a": "på grund av"},
        **{"t. o. m.": "till och med", "fr. o. m.": "från och med", "i. o. m.": "i och med", "f. d.": "före detta"},
        **{"f Kr": "före Kristus", "e Kr": "efter Kristus"},
        **{
            "resp.": "respektive",
            "jfr": "jämför",
            "inkl.": "inklusive",
            "exkl.": "exklusive",
            "m. a. o.": "med andra ord",
        },
        **{"dl": "deciliter", "msk": "matskedar", "tsk": "teskedar", "kr": "kronor", "SEK": "kronor", "USD": "dollar"},
        **{"EUR": "euro", "milj.": "miljoner", "mdr": "miljarder", "tkr": "tusen kronor", "Tkr": "tusen kronor"},
        **dict.fromkeys(("mkr", "Mkr", "mnkr", "MSEK"), "miljoner kronor"),
        **dict.fromkeys(("mdkr", "mdrkr"), "miljarder kronor"),
    },
    closings={
        **{"o s v.": "och så vidare", "o. s. v.": "och så vidare", "o s v": "och så vidare", "m. m.": "med mera"},
        **{"m. fl.": "med flera", "etc.": "et cetera", "o. d.": "och dylikt", "kr.": "kronor"},
        **{"f. Kr.": "före Kristus", "e. Kr.": "efter Kristus"},
        **{"febr.": "februari", "feb.": "februari", "aug.": "augusti", "sept.": "september"},
        **{"okt.": "oktober", "nov.": "november", "dec.": "december"},
    },
)
