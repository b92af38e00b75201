"""How Danish writes and says numbers, and its abbreviations."""

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

_MONTHS = "januar februar marts april maj juni juli august september oktober november december"
_OF_MONTH = rf"(?= (?:{_MONTHS.replace(' ', '|')})\b)"

_COMMON = (
    "dage?|uger?|måned(?:er)?|timer?|gange?|person(?:er)?|procent|kroner?|dollars?|euro|million(?:er)?|milliard(?:er)?|"
    "grad(?:er)?|sider?|(?:kilo|centi|milli|kvadrat|kubik)?meter|(?:deci|centi|milli)?liter|mil|hektar|tomme[r]?|"
    "spiseskeer|spiseskefulde?|teskefulde?|spiller[e]?|deltagere?|kamp(?:e)?|bog|bøger|elev(?:er)?|mand|mænd|"
    "kvinder?|biler?|nat|nætter|sæson(?:er)?|del(?:e)?|plads(?:er)?|portion(?:er)?|kop(?:per)?|flasker?"
)
_NEUTER = (
    "år|døgn|minut(?:ter)?|sekund(?:er)?|kilo|kilogram|gram|tons?|barn|børn|mål|point|hus(?:e)?|rum|hold|land|lande|"
    "kvartal(?:er)?|semestre?|århundreder?|eksemplar(?:er)?|æbler?|æg|glas|stykker|skridt|ord|træ(?:er)?|dyr|hul|pund|"
    "procentpoint|menneske|mennesker|sæt|styk|værelser?|medlem(?:mer)?"
)
_UNIT_SIGNS = "km|m|cm|mm|kg|g|mg|ton|l|cl|ml|km/t|km/h|m/s|°C|kWh|MWh|kW|MW|ha|m\\^2|km\\^2|m\\^3|hk|stk"
_NUMBERED = (
    "nummer|side|kapitel|del|punkt|gruppe|fase|trin|niveau|klasse|division|formel|kanal|figur|tabel|afsnit|version|type|"
    "zone|linje|spor|plads|værelse|paragraf|stykke|artikel|klokken|bind"
)
_SECOND_COMMON = (
    "gang|plads|halvleg|etape|runde|division|klasse|del|sal|omgang|dag|uge|måned|sæson|generation|udgave|behandling|"
    "pinsedag|juledag|påskedag|søndag|verdenskrig|Verdenskrig|Division|præmie|række|violin|akt|sats|scene|søn|"
    "prioritet|viceborgmester|pilot|instans|Mosebog"
)
_LATER_SECOND = r"(?:(?:og|eller|til) \d+\. )?"  # 2. og 3. division
_SECOND_NEUTER = (
    "kvartal|semester|halvår|hold|kapitel|bind|århundrede|årtusinde|år|trin|afsnit|forsøg|sæt|led|vers|møde"
)

_AT = r"(?<=\b(?i:klokken)(?: (?:[\w.:]+ ){1,3}(?:til|og))? )"
_NEAR = r"(?<=\b(?i:ved|fra|til|mellem|før|efter|inden|siden|omkring) )"
_HOUR, _LATE = r"(?P<h>[01]?\d|2[0-4])", r"(?P<h>1\d|2[0-3])"

_MONARCHS = (
    "Christian|Kristian|Frederik|Valdemar|Erik|Knud|Oluf|Harald|Svend|Niels|Margrethe|Christoffer|Magnus|Gustav|"
    "Karl|Carl|Olav|Haakon|Oscar|Henrik|Ludvig|Philip|Filip|Georg|Edward|Jakob|Vilhelm|Wilhelm|Richard|Peter|"
    "Alexander|Nikolaj|Ivan|Napoleon|Leopold|Albert|Franz|Pius|Leo|Benedikt|Johannes|Paul|Gregor|Innocens|Clemens|Urban|"
    "Ramses|Xerxes|Otto|Elizabeth|Elisabeth|Katarina|Maria|Isabella|Beatrix|Victoria"
)
_ROMAN = r"(?P<r>[IVX]{2,6}|[VX](?!\. ?\p{Lu})|I(?!\.? ?\p{Lu}))"  # not an initial

_NOT_SECOND = r"[13-9]|[1-9]\d"  # anden or andet
_ORDINALS = "{a:ordinal-common} til {b:ordinal-common}"
_THE_DAY, _THE_DATE = "{d:ordinal-common} {mo:month}", "{d:ordinal-common} {mo:month} {y}"
_WHOLE, _HALF = r"(?P<w>\d+)", r"(?<!\d )1[/⁄]2"
_SCORED = (
    r"(?<=\b(?i:vandt|vinder|vinde|førte|fører|tabte|taber|endte|ender|sluttede|slutter|sejr|sejren|nederlag|"
    r"nederlaget|føring|føringen|udlignede|reducerede|uafgjort|stillingen|resultatet)"
    r"(?: (?:med|til|på|blev|er))? (?:\d\d?-\d\d?(?:,| og) )*)"
)
_BEFORE_PRICE = (
    r"(?<=\b(?:for|på|til|koster|kostede|betale|betalte|betaler|af|med|cirka|kun|eller|og|end|omkring|over|under) )"
)
_PAIR = r"[1-9]\d"

DANISH = Convention(
    icu="da",
    substitutions=(
        ("^tusind hundrede", "ellevehundrede"),
        *(("^tusind tohundrede", "tolvhundrede"), ("^tusind trehundrede", "trettenhundrede")),
        *(("^tusind firehundrede", "fjortenhundrede"), ("^tusind femhundrede", "femtenhundrede")),
        *(("^tusind sekshundrede", "sekstenhundrede"), ("^tusind syvhundrede", "syttenhundrede")),
        *(("^tusind ottehundrede", "attenhundrede"), ("^tusind nihundrede", "nittenhundrede")),
        *(("etog(?=t)", "enog"), ("fyrrende$", "fyrretyvende")),
    ),
    decimal=",",
    thousands=". ",
    point=noun("komma", "c"),
    fraction_is_number=True,
    minus="minus",
    agreement={
        "c": ((r"\bet$", "en"),),
        "decade": (("tres$", "tress"), ("e$", ""), ("$", "erne")),
    },
    agrees=r"\bet$",
    agrees_not_before=rf" (?:{_NEUTER})\b",
    rules=(
        Rule("time", rf"{_AT}{_HOUR}[.:]00-(?P<b>[01]?\d|2[0-4])[.:]00", "{h} til {b}"),
        Rule("time", rf"{_AT}(?P<a>\d\d?(?:[.:]\d\d)?)-(?P<b>\d\d?(?:[.:]\d\d)?)", "{a:=} til {b:=}"),
        Rule("time", rf"(?:{_AT}{_HOUR}|{_NEAR}{_LATE})[.:]00", "{h}"),
        Rule("time", rf"(?:{_AT}{_HOUR}|{_NEAR}{_LATE}(?=:))[.:]0(?P<m>[1-9])", "{h} nul {m}"),
        Rule("time", rf"(?:{_AT}{_HOUR}|{_NEAR}{_LATE}(?=:|.1[3-9]|.[2-5]))[.:]{MINUTE}", "{h} {m}"),
        Rule("date", rf"(?<=\bden ){YEAR}-{MONTH}-{DAY}", _THE_DATE),
        Rule("date", rf"{YEAR}-{MONTH}-{DAY}", f"den {_THE_DATE}"),
        Rule("date", rf"(?<=\bden ){DAY}(?:[.-]{MONTH}[.-]|\. ?{MONTH}\. |/{MONTH}[- ]){YEAR}", _THE_DATE),
        Rule("date", rf"{DAY}(?:[.-]{MONTH}[.-]|/{MONTH}[- ]){YEAR}", f"den {_THE_DATE}"),
        Rule("date", rf"(?<=\b(?:[Dd]en|\p{{L}}+dag) ){DAY}/{MONTH}", _THE_DAY),
        Rule("date", rf"d\. {DAY}/{MONTH}", f"den {_THE_DAY}"),
        Rule("date", rf"(?<=\b(?:til|fra|senest|siden|inden) )(?P<d>[12]\d|3[01])/{MONTH}", f"den {_THE_DAY}"),
        Rule("date", rf"d\. {DAY}\.{_OF_MONTH}", "den {d:ordinal-common}"),
        Rule("date", rf"(?P<a>\d\d?)\. ?- ?(?P<b>\d\d?)\.{_OF_MONTH}", _ORDINALS),
        Rule("date", rf"{DAY}\.?{_OF_MONTH}", "{d:ordinal-common}"),
        Rule("ordinal", rf"(?<=\b(?:{_MONARCHS}) )(?P<n>\d\d?)\.'?s", "den {n:ordinal-common}s"),
        Rule("ordinal", rf"(?<=\b(?:{_MONARCHS}) )(?P<n>\d\d?)\.(?= \p{{Ll}}|[,;:)])", "den {n:ordinal-common}"),
        Rule("ordinal", rf"(?<=\b(?:{_MONARCHS}) )(?P<n>\d\d?)\.(?=$)", "den {n:ordinal-common}."),
        Rule("date", r"(?<=\b(?i:den) )2\.(?= (?:og|til|eller|i)\b)", "anden"),
        Rule(
            "ordinal",
            rf"(?<=\b(?i:den|en|sin|min|din|hver) )2\.(?= \p{{Ll}})|2\.(?= {_LATER_SECOND}(?:{_SECOND_COMMON})\b)",
            "anden",
        ),
        Rule(
            "ordinal",
            rf"(?<=\b(?i:det|et|sit|mit|dit|hvert) )2\.(?= \p{{Ll}})|2\.(?= {_LATER_SECOND}(?:{_SECOND_NEUTER})\b)",
            "andet",
        ),
        Rule("ordinal", rf"(?P<a>{_NOT_SECOND})\. ?- ?(?P<b>{_NOT_SECOND})\.(?= \p{{Ll}})", _ORDINALS),
        Rule(
            "ordinal",
            rf"(?<!\b(?i:{_NUMBERED}|år) )(?P<n>{_NOT_SECOND})\.(?= (?:\p{{Ll}}|Verdenskrig|Division|Mosebog)|,)",
            "{n:ordinal-common}",
        ),
        Rule("date", rf"(?<=\b(?i:den) ){DAY}\.(?=$| \p{{Lu}})", "{d:ordinal-common}."),
        Rule("year", r"(?P<n>[1-9]0)'?-?er(?:ne)?", "{n:decade}"),
        Rule("year", r"(?P<n>1[1-9]00|[2-9]00)-tal", "{n:numbering-year}tal"),
        Rule("year", r"(?P<n>1[1-9]00|[2-9]00)-tallet", "{n:numbering-year}tallet"),
        Rule("year", r"(?P<n>1[1-9]00|[2-9]00)-tallets", "{n:numbering-year}tallets"),
        Rule(
            "year",
            r"(?P<n>1[1-9]00|[2-9]00)- og (?P<b>1[1-9]00|[2-9]00)-tallet",
            "{n:numbering-year}- og {b:numbering-year}tallet",
        ),
        Rule("range", YEARS, "{a} til {b}"),
        Rule("range", r"(?P<a>1[1-9]\d\d)-(?P<b>1[3-9]|[2-9]\d)(?!')", "{a} til {b}"),
        Rule("fraction", rf"{_HALF} spiseskefulde", "en halv spiseskefuld"),
        Rule("fraction", rf"{_HALF} teskefulde", "en halv teskefuld"),
        Rule("fraction", rf"{_HALF} kg", "et halvt kilo"),
        Rule("fraction", rf"{_HALF} l", "en halv liter"),
        Rule("fraction", r"1 1[/⁄]2 spiseskefulde", "halvanden spiseskefuld"),
        Rule("fraction", r"1 1[/⁄]2 teskefulde", "halvanden teskefuld"),
        Rule("fraction", rf"{_HALF}(?= (?:{_COMMON})\b)", "en halv"),
        Rule("fraction", rf"{_HALF}(?= (?:{_NEUTER})\b)", "et halvt"),
        Rule("fraction", rf"1 1[/⁄]2(?= (?:{_COMMON})\b)", "halvanden"),
        Rule("fraction", rf"1 1[/⁄]2(?= (?:{_NEUTER})\b)", "halvandet"),
        Rule("fraction", rf"{_WHOLE} 1[/⁄]2(?= (?:{_COMMON})\b)", "{w} og en halv"),
        Rule("fraction", rf"{_WHOLE} 1[/⁄]2(?= (?:{_NEUTER})\b)", "{w} og et halvt"),
        Rule("fraction", r"(?<!\d )1[/⁄](?P<b>[3-9]|10)(?= af\b)", "en {b:ordinal-common}del"),
        Rule("fraction", r"(?<!\d )(?P<a>[2-9])[/⁄](?P<b>[3-9]|10)(?= af\b)", "{a} {b:ordinal-common}dele"),
        Rule("range", rf"1-(?P<b>\d+)(?= (?:{_COMMON})\b)", "en til {b}"),
        Rule("range", rf"1-(?P<b>\d+)(?= (?:{_NEUTER})\b)", "et til {b}"),
        Rule(
            "range",
            rf"(?P<a>\d+(?:[ .]\d{{3}}){{0,3}}(?:,\d+)?)(?: - |-)(?P<b>\d+(?:[ .]\d{{3}}){{0,3}}(?:,\d+)?)"
            rf"(?= ?%| ?(?:{_UNIT_SIGNS})(?![\p{{L}}\p{{N}}/^])| (?:{_COMMON}|{_NEUTER}|hverdage)\b)",
            "{a:=} til {b:=}",
        ),
        Rule("range", rf"(?<=\b(?i:side|siderne|kapitel|vers) ){RANGE}", "{a} til {b}"),
        Rule("number", rf"{_SCORED}(?P<a>\d\d?)-(?P<b>\d\d?)", "{a} {b}"),
        Rule(
            "number",
            r"(?P<a>\d+) ?[x×] ?(?P<b>\d+) ?[x×] ?(?P<c>\d+)(?= ?(?:mm|cm|m|meter)\b)",
            "{a} gange {b} gange {c:=}",
        ),
        Rule(
            "number",
            rf"(?<![x×] ?)(?P<a>\d+) ?[x×] ?(?P<b>\d+(?:,\d+)?)(?= ?(?:{_UNIT_SIGNS})(?![\p{{L}}\p{{N}}/^])| meter\b)",
            "{a} gange {b:=}",
        ),
        Rule("number", "1 millioner", "en million"),
        Rule("number", "1 milliarder", "en milliard"),
        Rule("number", rf"1(?= (?!kroner|spiseskefulde|teskefulde)(?:{_COMMON})\b)", "en"),
        Rule("number", rf"1(?= (?:og|eller|til) \d+ (?:{_COMMON})\b)", "en"),
        Rule("number", rf"1(?= (?:og|eller|til) \d+ (?:{_NEUTER})\b)", "et"),
        Rule("number", rf"(?<=\b(?i:{_NUMBERED}) )1", "et"),
        Rule("number", r"(?P<n>\d{1,4})-(?!tal)(?P<w>\p{Ll}{3,})", "{n}{w:=}"),
        Rule("digits", rf"(?P<a>{_PAIR})(?P<b>{_PAIR}) (?P<c>{_PAIR})(?P<d>{_PAIR})", "{a} {b} {c} {d}"),
        Rule("money", r"(?P<n>\d{1,3}(?:\.\d{3}){1,3}|\d+),-(?: kroner)?", "{n} kroner"),
        Rule("money", rf"{_BEFORE_PRICE}kroner (?P<n>\d{{1,3}}(?:\.\d{{3}}){{1,3}}|\d+)(?:,00)?", "{n} kroner"),
        Rule("money", r"(?<= (?:million|milliard)(?:er)? )€", "euro"),
        Rule("money", r"(?<= (?:million|milliard)(?:er)? )\$", "dollar"),
        Rule("money", "kroner/kg", "kroner per kilo"),
        Rule("money", r"kroner/m(?:\^2|2)", "kroner per kvadratmeter"),
        Rule("money", "kroner/kWh", "kroner per kilowatttime"),
        Rule("money", "kroner/stk", "kroner stykket"),
        Rule("money", "kroner/time", "kroner i timen"),
        Rule("money", "kroner/(?:måned|md)", "kroner om måneden"),
        Rule("unit", r"(?<=\bper )kg", "kilo"),
        Rule("unit", r"(?<=\bper )km", "kilometer"),
        Rule("unit", r"(?<=\bper )m(?:\^2|2)", "kvadratmeter"),
        Rule("unit", r"(?P<n>[2-9]|\d\d{1,2}) min(?:\.(?! \p{Lu}|$))?", "{n} minutter"),
        Rule("unit", r"(?<![-+])(?P<n>[02-9]|\d\d{1,2})°(?! ?[NSØVEWC]\b)", "{n} grader"),
        Rule("roman", rf"(?<=\b(?:{_MONARCHS}) ){_ROMAN}'?s", "den {r:ordinal-common}s"),
        Rule("roman", rf"(?<=\b(?:{_MONARCHS}) ){_ROMAN}", "den {r:ordinal-common}"),
        Rule("roman", r"(?P<r>[IVX]+)\.(?= (?:århundrede|årtusinde)\b)", "{r:ordinal-neuter}"),
        Rule("roman", r"(?<=\b(?i:kapitel|del|akt|bind|scene|fase|bilag|klasse|bog|tabel|figur) )(?P<r>[IVX]+)", "{r}"),
    ),
    months=tuple(_MONTHS.split()),
    percent=noun("procent", "c"),
    currencies={
        "kroner": money("krone kroner", "øre", "c"),
        "€": money("euro", "cent", "c"),
        "$": money("dollar", "cent", "c"),
        "US$": money("dollar", "cent", "c"),
        "£": money("pund"),
        "¥": money("yen", gender="c"),
    },
    units={
        "km": noun("kilometer", "c"),
        "m": noun("meter", "c"),
        "cm": noun("centimeter", "c"),
        "mm": noun("millimeter", "c"),
        "kg": noun("kilo"),
        "g": noun("gram"),
        "mg": noun("milligram"),
        "l": noun("liter", "c"),
        "cl": noun("centiliter", "c"),
        "ml": noun("milliliter", "c"),
        **dict.fromkeys(("km/t", "km/h"), noun("kilometer_i_timen", "c")),
        "m/s": noun("meter_per_sekund", "c"),
        **dict.fromkeys(("m²", "m2", "kvm"), noun("kvadratmeter", "c")),
        **dict.fromkeys(("km²", "km2"), noun("kvadratkilometer", "c")),
        **dict.fromkeys(("m³", "m3"), noun("kubikmeter", "c")),
        "ha": noun("hektar", "c"),
        **dict.fromkeys(("°C", "° C"), noun("grad_celsius grader_celsius", "c")),
        "W": noun("watt", "c"),
        "kW": noun("kilowatt", "c"),
        "MW": noun("megawatt", "c"),
        "GW": noun("gigawatt", "c"),
        "kWh": noun("kilowatttime kilowatttimer", "c"),
        "MWh": noun("megawatttime megawatttimer", "c"),
        "GWh": noun("gigawatttime gigawatttimer", "c"),
        "TWh": noun("terawatttime terawatttimer", "c"),
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
        "hk": noun("hestekraft hestekræfter", "c"),
        "kcal": noun("kilokalorie kilokalorier", "c"),
        **dict.fromkeys(("stk.", "stk"), noun("styk")),
        "spiseskefulde": noun("spiseskefuld spiseskefulde", "c"),
        "teskefulde": noun("teskefuld teskefulde", "c"),
    },
    money_joint="og",
    magnitudes="millioner|milliarder|million|milliard|tusind",
    dot="unsure",
    # dimensions, sections of a law, other units; before a number, codes and flights too
    unsure=r":[^\W\d]| ?x ?\d| ?§|-tal|'|\p{Lu}\d| ?(?!og/)\p{L}{1,3}/\p{L}"
    r"| ?(?:Nm|kN|nm|hPa|kPa|MPa|bar|lx|mA|mAh|kV|kVA|Gbit|Mbit|kJ|MJ|rpm|mmHg|mmol|ppm|h|t)\b",
    unsure_before=r"\+\d+(?:[ -]?\d+)*[ -]?|\d ?x ?|\b[kc]?m"
    r"|(?i:kode|koden|kodeordet)(?: \p{L}+){0,3}:? |\b(?i:fly|flyet|flight) \p{Lu}\p{Lu} ?"
    rf"|\b(?:{_MONARCHS}) "
    r"|\b(?i:dollar|euro|(?<!\d |(?:million|milliard)(?:er)? )kroner) ",
    titles={
        **dict.fromkeys(("Dr.", "dr.", "Dr"), "doktor"),
        **{"Prof.": "professor", "prof.": "professor", "Hr.": "Herr", "hr.": "herr", "Sct.": "Sankt", "Skt.": "Sankt"},
    },
    numbered={
        **dict.fromkeys(("n°", "nr.", "nr"), "nummer"),
        **{"Nr.": "Nummer", "ca.": "cirka", "ca": "cirka", "Ca.": "Cirka"},
        **dict.fromkeys(("kl.", "kl"), "klokken"),
        **dict.fromkeys(("Kl.", "Kl"), "Klokken"),
        **{"s.": "side", "kap.": "kapitel", "Kap.": "Kapitel", "§": "paragraf", "stk.": "stykke", "art.": "artikel"},
        **{"bd.": "bind", "fig.": "figur", "Fig.": "Figur", "tlf.": "telefon", "Tlf.": "Telefon", "f.": "født"},
    },
    phrases={
        **{"f. eks.": "for eksempel", "fx": "for eksempel", "bl. a.": "blandt andet", "dvs.": "det vil sige"},
        **{"d. v. s.": "det vil sige", "pga.": "på grund af", "p. g. a.": "på grund af", "ifm.": "i forbindelse med"},
        **{"ift.": "i forhold til", "mht.": "med hensyn til", "vha.": "ved hjælp af", "iflg.": "ifølge"},
        **{"jf.": "jævnfør", "inkl.": "inklusive", "ekskl.": "eksklusive", "hhv.": "henholdsvis", "pr.": "per"},
        **{"mio. USD": "millioner dollar", "mio. EUR": "millioner euro", "mio. DKK": "millioner kroner"},
        **{"mia. USD": "milliarder dollar", "mia. EUR": "milliarder euro", "mia. DKK": "milliarder kroner"},
        **{"t. o. m.": "til og med", "fr. o. m.": "fra og med"},
        **{"dl": "deciliter", "kr": "kroner", "DKK": "kroner", "USD": "dollar", "EUR": "euro", "mio": "millioner"},
        **{"spsk": "spiseskefulde", "tsk": "teskefulde", "pct": "procent"},
    },
    closings={
        **{"osv.": "og så videre", "o. s. v.": "og så videre", "m. m.": "med mere", "mv.": "med videre"},
        **{"m. v.": "med videre", "m. fl.": "med flere", "mfl.": "med flere", "o. l.": "og lignende"},
        **{"f. Kr.": "før Kristus", "e. Kr.": "efter Kristus"},
        **{"etc.": "et cetera", "kr.": "kroner", "mio.": "millioner", "mia.": "milliarder", "mill.": "millioner"},
        **{"pct.": "procent", "km/t.": "km/t", "spsk.": "spiseskefulde", "tsk.": "teskefulde"},
        **{"jan.": "januar", "feb.": "februar", "febr.": "februar", "aug.": "august", "sept.": "september"},
        **{"okt.": "oktober", "nov.": "november", "dec.": "december"},
    },
)
