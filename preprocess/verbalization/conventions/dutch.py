"""How Dutch writes and says numbers, and its abbreviations."""

from __future__ import annotations

from preprocess.verbalization.conventions.convention import (
    DAY,
    HOUR,
    MONTH,
    RANGE,
    YEAR,
    YEARS,
    Convention,
    Rule,
    money,
    noun,
)

_MONTHS = "januari februari maart april mei juni juli augustus september oktober november december".split()

_NUMBER = r"\d+(?:\.\d{3})*(?:,\d+)?"
_MINUTE = r"(?P<m>0[1-9]|[1-5]\d)"
_FROM, _AND_MINUTE = r"(?P<a>[01]?\d|2[0-4])", r"(?P<b>0[1-9]|[1-5]\d)"
_TIME_BEFORE = r"(?<=\b(?i:om|vanaf|rond|omstreeks|tegen) )"
# The full stop of an abbreviation, unless it also ends the sentence.
_DOT = r"(?:\.(?! *[\"')]*(?:$| \p{Lu}))|(?=\.))"

_COUNTED = (
    "dagen|werkdagen|nachten|weken|maanden|jaar|jaren|jarigen?|eeuwen|uur|uren|minuten|seconden|keer|maal|personen|"
    "mensen|mannen|vrouwen|kinderen|leerlingen|spelers|gasten|bezoekers|deelnemers|stuks|procent|procentpunt|graden|"
    "meter|kilometer|centimeter|millimeter|hectare|mijl|liter|gram|kilo|kilogram|pond|ton|euro|dollar|cent|miljoen|"
    "miljard|pagina's|bladzijden|eetlepels|theelepels|eieren|teentjes|plakjes|euro's|woorden"
)
_MEASURES = "%|€|°C|(?:km|m|cm|mm|kg|g|gr|l|ml|dl|ha|km/u|kW|kWh|MW|GB|MB|mln|mld|min|u)(?![\\p{L}\\p{N}])"
_NUMBERED = "(?i:pagina's|pagina|bladzijden?|artikelen|hoofdstukken|hoofdstuk|verzen|vers|groep|groepen|leeftijd)"

# Half of these is "een halve", and "een half".
_COMMON = (
    "liter|meter|kilometer|centimeter|kilo|dag|week|minuut|eeuw|eetlepel|theelepel|citroen|ui|komkommer|appel|"
    "bladzijde|pagina|mijl|ton|hectare|bos|bloemkool|fles|kop"
)
_NEUTER = "uur|jaar|pond|ons|glas|blik|blikje|blokje|zakje|brood|miljoen|miljard|procent|pakje"

_REGNAL = (
    "Willem|Karel|Filips|Lodewijk|Hendrik|Frederik|Napoleon|Leopold|Albert|Boudewijn|Paulus|Pius|Benedictus|Gregorius|"
    "Leo|Innocentius|Urbanus|Clemens|Alexander|Nicolaas|Peter|Ivan|Gustaaf|Christiaan|Jacobus|Richard|Eduard|Edward|"
    "Elizabeth|Catharina|Floris|Otto|Maximiliaan|Rudolf|Ferdinand|Frans|Jozef|Julius|Ramses|Xerxes|Darius|George|"
    "Charles|Philip|Wilhelm|Carlos|Felipe|Harald|Margrethe|Margaretha|Dirk|Reinald|Godfried|Bonifatius|Sixtus|Umberto"
)
_RULER = "(?i:koning|koningin|keizer|keizerin|tsaar|tsarina|paus|prins|hertog|graaf|sultan|farao)"

DUTCH = Convention(
    words="nl",
    substitutions=(
        (r"(tien|elf|twaalf) honderd ?", r"\1honderd"),
        (r"(?<=\p{L})één", "een"),
        (r"duizend(?!ste\b)(?=\p{L})", "duizend "),
        (r"\bduizend honderd", "elfhonderd"),
    ),
    rules=(
        Rule("time", rf"{_FROM}(?:[:.]00)? ?- ?{HOUR}(?:[:.]00)? uur", "{a} tot {h} uur"),
        Rule("time", rf"{_FROM}(?:[:.]00)? ?- ?{HOUR}[:.]{_MINUTE} uur", "{a} tot {h} uur {m}"),
        Rule("time", rf"{_FROM}[:.]{_AND_MINUTE} ?- ?{HOUR}(?:[:.]00)? uur", "{a} uur {b} tot {h} uur"),
        Rule("time", rf"{_FROM}[:.]{_AND_MINUTE} ?- ?{HOUR}[:.]{_MINUTE} uur", "{a} uur {b} tot {h} uur {m}"),
        Rule("time", rf"{HOUR}[:.]00(?= (?:tot|en|of) \d{{1,2}}(?:[:.]\d\d)? uur)", "{h} uur"),
        Rule("time", rf"{HOUR}[:.]{_MINUTE}(?= (?:tot|en|of) \d{{1,2}}(?:[:.]\d\d)? uur)", "{h} uur {m}"),
        Rule("time", rf"{HOUR}[:.]00 ?(?:uur|[uh](?:{_DOT})?)", "{h} uur"),
        Rule("time", rf"{HOUR}[:.]{_MINUTE} ?(?:uur|[uh](?:{_DOT})?)", "{h} uur {m}"),
        Rule("time", rf"{HOUR}[uh]{_MINUTE}", "{h} uur {m}"),
        Rule("time", rf"{HOUR}[uh]00", "{h} uur"),
        Rule("time", rf"{_TIME_BEFORE}{HOUR}[:.]00", "{h} uur"),
        Rule("time", rf"{_TIME_BEFORE}{HOUR}[:.]{_MINUTE}", "{h} uur {m}"),
        Rule("time", rf"(?<=\b(?i:tot|voor|na|sinds|van|tussen) ){HOUR}:{_MINUTE}", "{h} uur {m}"),
        Rule("number", r"(?<=\b(?i:schaal|verhouding)(?: van)? )(?P<a>\d{1,3}):(?P<b>\d+)", "{a} op {b}"),
        Rule("date", rf"{DAY}-{MONTH}-{YEAR}", "{d} {mo:month} {y:year}"),
        Rule("date", rf"{DAY}/{MONTH}/{YEAR}", "{d} {mo:month} {y:year}"),
        Rule("date", rf"{DAY}\. ?{MONTH}\. ?{YEAR}", "{d} {mo:month} {y:year}"),
        Rule("year", r"(?<=\b(?i:jaren) )'(?P<n>\d0)", "{n}"),
        Rule("year", rf"(?P<n>\d{{1,4}}) v\. ?Chr{_DOT}", "{n:year} voor Christus"),
        Rule("year", rf"(?P<n>\d{{1,4}}) n\. ?Chr{_DOT}", "{n:year} na Christus"),
        Rule("range", YEARS, "{a:year} tot {b:year}"),
        Rule(
            "range",
            rf"(?P<a>{_NUMBER}) ?- ?(?P<b>{_NUMBER})(?= ?(?:{_MEASURES})| (?:{_COUNTED})\b)",
            "{a:=} tot {b:=}",
        ),
        Rule("range", rf"€ ?(?P<a>{_NUMBER}) ?- ?(?:€ ?)?(?P<b>{_NUMBER})", "{a:=} tot € {b:=}"),
        Rule("range", rf"(?<=\b{_NUMBERED} ){RANGE}", "{a} tot {b}"),
        Rule("fraction", r"1 1[/⁄]2", "anderhalf"),
        Rule("fraction", r"(?P<w>\d*(?<!1)[23]) 1[/⁄]2", "{w}ënhalf"),
        Rule("fraction", r"(?P<w>\d+) 1[/⁄]2", "{w}enhalf"),
        Rule("fraction", r"(?P<w>\d+) 1[/⁄]4", "{w} en een kwart"),
        Rule("fraction", r"(?P<w>\d+) 3[/⁄]4", "{w} en driekwart"),
        Rule("fraction", rf"(?<!\d )1[/⁄]2(?= (?:{_COMMON})\b)", "een halve"),
        Rule("fraction", rf"(?<!\d )1[/⁄]2(?= (?:{_NEUTER})\b)", "een half"),
        Rule("fraction", rf"(?<!\d )1[/⁄]4(?= (?:van|deel|{_COMMON}|{_NEUTER})\b)", "een kwart"),
        Rule("fraction", rf"(?<!\d )3[/⁄]4(?= (?:van|deel|{_COMMON}|{_NEUTER})\b)", "driekwart"),
        Rule(
            "fraction",
            rf"(?<!\d )1[/⁄](?P<b>[3-9]|1\d|20|100)(?= (?:van|deel|{_COMMON}|{_NEUTER})\b)",
            "een {b:ordinal}",
        ),
        Rule(
            "fraction",
            r"(?<!\d )(?P<a>[2-9])[/⁄](?P<b>[3-9]|1\d|20|100)(?= (?:van|deel|meerderheid)\b)",
            "{a} {b:ordinal}",
        ),
        Rule("money", rf"€ ?(?P<n>{_NUMBER}),-+|(?P<n>{_NUMBER}),-+ ?(?:€|euro)", "{n:=} euro"),
        Rule("money", r"(?P<e>[1-9]\d{0,2}),(?P<c>\d[1-9]|[1-9]0) (?:euro|EUR)", "{e} euro {c}"),
        Rule("money", r"0,(?P<c>\d[1-9]|[1-9]0) (?:euro|EUR)", "{c} cent"),
        Rule("money", rf"EUR (?P<n>{_NUMBER})", "€ {n:=}"),
        Rule("roman", rf"(?<=\b(?:{_REGNAL}) )(?P<r>[IVX]{{2,6}}|[IVX](?!\. ?\p{{Lu}}))", "de {r:ordinal}"),
        Rule("roman", rf"(?<=\b{_RULER} \p{{Lu}}\p{{Ll}}+ )(?P<r>[IVX]{{2,6}}|[IV](?!\. ?\p{{Lu}}))", "de {r:ordinal}"),
        Rule(
            "roman",
            r"(?<=\b(?i:hoofdstuk|deel|band|boek|akte|bedrijf|wereldoorlog|WO|scène|titel|artikel|klasse|type|fase|"
            r"groep|apollo|vaticaan|bijlage|tabel) )(?P<r>[IVXL]+)",
            "{r}",
        ),
        Rule("roman", r"(?P<r>[IVX]+)(?:e|de|ste)?(?=(?: en [IVX]+(?:e|de|ste)?)?[ -]eeuws?e?\b)", "{r:ordinal}"),
        Rule("digits", r"(?P<a>[1-9]\d)(?P<b>[1-9]\d)(?= [A-Z]{2}\b)", "{a} {b}"),
        Rule("unit", rf"(?P<n>{_NUMBER}) ?(?P<x>u|min|sec|gr|kg|km){_DOT}", "{n:=} {x:=}"),
        Rule("unit", r"1°(?! ?\d)", "één graad"),
        Rule("unit", rf"(?P<n>{_NUMBER})°(?! ?\d)", "{n:=} graden"),
        Rule("unit", r"(?P<a>[12]),(?P<b>[1-9]\d) ?m", "{a} meter {b}"),
        Rule("number", r"(?P<n>\d+(?:\.\d{3})*)\+(?!\+)", "{n} plus"),
    ),
    months=tuple(_MONTHS),
    units={
        "km": noun("kilometer"),
        "m": noun("meter"),
        "cm": noun("centimeter"),
        "mm": noun("millimeter"),
        "kg": noun("kilogram"),
        "g": noun("gram"),
        "gr": noun("gram"),
        "mg": noun("milligram"),
        "t": noun("ton"),
        "l": noun("liter"),
        "dl": noun("deciliter"),
        "cl": noun("centiliter"),
        "ml": noun("milliliter"),
        "km/u": noun("kilometer_per_uur"),
        "km/h": noun("kilometer_per_uur"),
        "m/s": noun("meter_per_seconde"),
        **dict.fromkeys(("cm²", "cm2"), noun("vierkante_centimeter")),
        **dict.fromkeys(("m²", "m2"), noun("vierkante_meter")),
        **dict.fromkeys(("km²", "km2"), noun("vierkante_kilometer")),
        **dict.fromkeys(("m³", "m3"), noun("kubieke_meter")),
        "ha": noun("hectare"),
        "°C": noun("graad_Celsius graden_Celsius"),
        "u": noun("uur"),
        "min": noun("minuut minuten"),
        "sec": noun("seconde seconden"),
        "s": noun("seconde seconden"),
        "W": noun("watt"),
        "kW": noun("kilowatt"),
        "MW": noun("megawatt"),
        "GW": noun("gigawatt"),
        "kWh": noun("kilowattuur"),
        "MWh": noun("megawattuur"),
        "MB": noun("megabyte"),
        "GB": noun("gigabyte"),
        "TB": noun("terabyte"),
        "Hz": noun("hertz"),
        "kHz": noun("kilohertz"),
        "MHz": noun("megahertz"),
        "GHz": noun("gigahertz"),
        "dB": noun("decibel"),
        "kcal": noun("kilocalorie kilocalorieën"),
    },
    decimal=",",
    thousands=".",
    point=noun("komma"),
    fraction_is_number=True,
    minus="min",
    percent=noun("procent"),
    currencies={
        **dict.fromkeys(("€", "EUR"), money("euro", "cent")),
        **dict.fromkeys(("$", "US$"), money("dollar", "cent")),
        "£": money("pond", "penny pence"),
        "¥": money("yen"),
    },
    money_joint="en",
    magnitudes="miljoen|miljard|duizend",
    century="",
    ordinals=(("ste|de|e", ()),),
    # Abbreviations without a vowel, and telephone numbers.
    unsure=r" ?(?:[b-df-hj-np-tv-xz]{1,4}|[kMGT]?(?:Pa|V|Ah|J))\b(?!')|(?<=\b0\d+)[ /-]+\d",
    unsure_before=r"\b(?:EUR|USD|GBP|CHF) |\d ?[x×] ?|\b\p{Ll}{1,3}/|\b0\d+[ /-]+(?:\d+[ /-]+)*|\+\d+ (?:\d+ )*",
    titles={
        **dict.fromkeys(("dr.", "Dr."), "doctor"),
        **dict.fromkeys(("prof.", "Prof."), "professor"),
        **{"dhr.": "de heer", "mevr.": "mevrouw", "mw.": "mevrouw", "drs.": "doctorandus", "ds.": "dominee"},
        **{"ir.": "ingenieur", "ing.": "ingenieur", "mr.": "meester", "St.": "Sint"},
    },
    numbered={
        **{"n°": "nummer", "nr.": "nummer", "Nr.": "nummer", "nrs.": "nummers", "ca.": "circa", "art.": "artikel"},
        **{"blz.": "bladzijde", "p.": "pagina", "pag.": "pagina", "pp.": "pagina's", "afb.": "afbeelding"},
        **{"Art.": "Artikel", "Blz.": "Bladzijde", "Afb.": "Afbeelding", "fig.": "figuur", "Fig.": "Figuur"},
        **{"hfst.": "hoofdstuk", "Hfst.": "Hoofdstuk", "§": "paragraaf", "tel.": "telefoon", "max.": "maximaal"},
        **{"min.": "minimaal", "geb.": "geboren", "jan.": "januari", "feb.": "februari", "aug.": "augustus"},
        **{"sept.": "september", "okt.": "oktober", "nov.": "november", "dec.": "december"},
    },
    phrases={
        **{"bijv.": "bijvoorbeeld", "bv.": "bijvoorbeeld", "d. w. z.": "dat wil zeggen"},
        **{"m. a. w.": "met andere woorden", "o. a.": "onder andere", "a. u. b.": "alstublieft", "t/m": "tot en met"},
        **{"i. p. v.": "in plaats van", "m. b. t.": "met betrekking tot", "t. o. v.": "ten opzichte van"},
        **{"i. v. m.": "in verband met", "n. a. v.": "naar aanleiding van", "m. n.": "met name"},
        **{"incl.": "inclusief", "excl.": "exclusief", "mln": "miljoen", "mld": "miljard"},
    },
    closings={"enz.": "enzovoort", "etc.": "et cetera", "mln.": "miljoen", "mld.": "miljard", "e. d.": "en dergelijke"},
)
