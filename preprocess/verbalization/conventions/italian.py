"""How Italian writes and says numbers, and its abbreviations."""

from __future__ import annotations

from preprocess.verbalization.conventions.convention import (
    DAY,
    HOUR,
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

_MONTHS = "gennaio|febbraio|marzo|aprile|maggio|giugno|luglio|agosto|settembre|ottobre|novembre|dicembre"

# After "1": un, uno, una.
_MASCULINE_NOUNS = (
    "anno|mese|giorno|minuto|secondo|euro|dollaro|metro|chilometro|centimetro|chilo|chilogrammo|grammo|litro|ettaro|"
    "milione|miliardo|punto|gol|caso|uomo|bambino|figlio|cucchiaio|cucchiaino|bicchiere|problema|grado|voto|posto|"
    "libro|"
    "gatto|cane|film|mazzo|morto|ferito|ragazzo|paese|mattino|pezzo|etto|quintale|pacchetto|vasetto|limone|fratello|"
    "uovo"
)
_FEMININE_NOUNS = (
    "settimana|volta|persona|pagina|donna|notte|sera|giornata|tonnellata|tazza|bustina|fetta|foglia|cipolla|carota|"
    "ragazza|bambina|figlia|parte|città|casa|stanza|camera|mela|bottiglia|dozzina|vittoria|sconfitta|stella|sola|"
    "busta|sorella"
)
_ONE_OBJECT = r"(?<=\b(?i:con|per|di|da|in|ogni|ha|ho|hai|abbiamo|hanno|c'è|oltre|entro|tra|fra|manca|serve) )"
_ONE_BEFORE = rf"(?:(?<=^|[.,:;(] |\b(?i:solo|soltanto|appena|circa|almeno|resta|rimane|rimasto) )|{_ONE_OBJECT})"
_WORDS = (
    r"(?:dopo|sotto|dentro|contro|verso|sono|hanno|fanno|quando|quanto|quello|questo|tutto|molto|solo|poco|meno|tanto|"
    r"altro|della|dalla|nella|sulla|senza|sopra|prima|circa|tutta|quella|questa|\p{Ll}+(?:ista|ema|amma))\b"
)
_IMPURE = r"(?:z|s[^aeiouàè]|gn|ps|pn|x|y|i[aeou])"

# After these words a number is a name.
_LABELS = (
    "pagin[ae]|articol[oi]|capitol[oi]|numer[oi]|volum[ei]|line[ae]|figur[ae]|tabell[ae]|sezion[ei]|paragraf[oi]|"
    "comm[ai]|"
    "camer[ae]|sal[ae]|port[ae]|binari?o?|bus|treno|vol[oi]|tapp[ae]|episodi?o?|stagion[ei]|livell[oi]|grupp[oi]|"
    "fas[ei]|"
    "zon[ae]|class[ei]|tip[oi]|categori[ae]|canale|salm[oi]|verset[ti]o?|domand[ae]|eserciz[io]+|lezion[ei]|Formula|"
    "versetto|codic[ei]|settor[ei]|lott[oi]|allegat[oi]|vers[oi]|Windows|Boeing|Airbus|modell[oi]|version[ei]"
)
_LABEL = rf"(?<=\b(?i:{_LABELS}) (?:\d+(?:,| e| o) ){{0,4}})"

_UNITS = {
    **{
        "km": noun("chilometro chilometri", "m"),
        "m": noun("metro metri", "m"),
        "cm": noun("centimetro centimetri", "m"),
    },
    **{"mm": noun("millimetro millimetri", "m"), "g": noun("grammo grammi", "m")},
    **dict.fromkeys(("kg", "Kg"), noun("chilogrammo chilogrammi", "m")),
    **{"mg": noun("milligrammo milligrammi", "m"), "t": noun("tonnellata tonnellate", "f")},
    **dict.fromkeys(("l", "L"), noun("litro litri", "m")),
    **dict.fromkeys(("dl", "dL"), noun("decilitro decilitri", "m")),
    **dict.fromkeys(("cl", "cL"), noun("centilitro centilitri", "m")),
    **dict.fromkeys(("ml", "mL"), noun("millilitro millilitri", "m")),
    **dict.fromkeys(("km²", "km2", "kmq"), noun("chilometro_quadrato chilometri_quadrati", "m")),
    **dict.fromkeys(("m²", "m2", "mq"), noun("metro_quadrato metri_quadrati", "m")),
    **dict.fromkeys(("cm²", "cm2"), noun("centimetro_quadrato centimetri_quadrati", "m")),
    **dict.fromkeys(("m³", "m3", "mc"), noun("metro_cubo metri_cubi", "m")),
    **{"km/h": noun("chilometro_orario chilometri_orari", "m"), "m/s": noun("metro_al_secondo metri_al_secondo", "m")},
    **dict.fromkeys(("°C", "° C"), noun("grado_Celsius gradi_Celsius", "m")),
    **dict.fromkeys(("°F", "° F"), noun("grado_Fahrenheit gradi_Fahrenheit", "m")),
    **{"h": noun("ora ore", "f"), "min": noun("minuto minuti", "m"), "s": noun("secondo secondi", "m")},
    **{"W": noun("watt", "m"), "kW": noun("chilowatt", "m"), "MW": noun("megawatt", "m"), "V": noun("volt", "m")},
    **{"kWh": noun("chilowattora", "m"), "Hz": noun("hertz", "m"), "kHz": noun("chilohertz", "m")},
    **{"MHz": noun("megahertz", "m"), "GHz": noun("gigahertz", "m"), "dB": noun("decibel", "m")},
    **{"MB": noun("megabyte", "m"), "GB": noun("gigabyte", "m"), "TB": noun("terabyte", "m")},
    **{"CV": noun("cavallo cavalli", "m"), "M€": noun("milione_di_euro milioni_di_euro", "m")},
    **{"mln": noun("milione milioni", "m"), "mld": noun("miliardo miliardi", "m")},
}
_PER = {"kg": " al chilo", "l": " al litro", r"m\^2": " al metro quadrato", "h": " all'ora", "mese": " al mese"}
_UNIT = r"(?:°C|km/h|[kcm]?m(?:\^[23])?|mq|[km]?g|[cdm]?[lL]|min|[kM]?W|kWh|M€|[MGT]B)(?![\p{L}\p{N}'/^])"
_COUNTED = (
    r"(?= (?:(?:ann|mes|giorn|minut|second|dollar|metr|chilometr|centimetr|chil|gramm|litr|ettar|milion|miliard|punt|"
    r"cas|cucchia|cucchiain|bicchier|grad|post|bambin|uomin|cavall|abitant|pass|test|soc|ospit|pezz|alunn|student)i|"
    r"euro|mila|(?:or|settiman|volt|person|pagin|donn|tonnellat|tazz|fett|part|cas|gocc|stell)e|notti|parti|città)\b)"
)

_KINGS = (
    "Emanuele|Vittorio|Umberto|Carlo|Luigi|Enrico|Federico|Filippo|Giovanni|Paolo|Pio|Leone|Giulio|Clemente|Innocenzo|"
    "Urbano|Benedetto|Gregorio|Alessandro|Nicola|Bonifacio|Sisto|Napoleone|Francesco|Giorgio|Edoardo|Guglielmo|Giacomo|"
    "Riccardo|Alberto|Leopoldo|Ferdinando|Amedeo|Ramses|Alfonso|Pietro|Martino|Eugenio|Callisto|Ottone|Corrado|"
    "Manfredi|"
    "Cosimo|Lorenzo|Baldovino|Adriano|Onorio|Celestino|Lotario|Vaticano|Juan Carlos|Felipe|Filiberto|Gustavo|Tolomeo"
)
_QUEENS = "[Ss]cena|[Pp]arte|Elisabetta|Caterina|Maria|Margherita|Isabella|Anna|Cristina|Giovanna|Berenice|Cleopatra"
_ROMAN = "(?P<r>[IVX]+)"
_NO_INITIAL = r"(?!(?<=\b[IVX])\. ?\p{L})"
_EVENTS_F = "guerra|Guerra|edizione|Edizione|[Aa]ssemblea|[Ff]iera|[Cc]onferenza|Repubblica|legislatura|[Cc]ommissione"
_EVENTS_M = "[Cc]ongresso|[Cc]oncorso|[Aa]nniversario|[Pp]remio|[Cc]oncilio|[Mm]unicipio|[Cc]anto|[Ll]ibro"
_SINGULAR = r"(?<=\b(?:[Ii]l|[Aa]l|[Dd]el|[Dd]al|[Nn]el|[Ss]ul|[Uu]n|suo|mio|nostro|loro|questo|ogni) |\b\p{L}*[lL]')"
_RANKED = (
    "posto|piano|anno|classificato|secolo|tempo|turno|grado|livello|giorno|compleanno|anniversario|premio|semestre|"
    "trimestre|battaglione|reggimento|municipio|giro|set|minuto|chilometro|capitolo|canto"
)
_HALVES_M = ("anno anni", "mese mesi", "giorno giorni", "secolo secoli", "chilo chili", "litro litri", "metro metri")
_HALVES_F = ("settimana settimane", "tazza tazze", "tonnellata tonnellate", "giornata giornate")
_AT = r"(?<=\b(?i:alle|dalle|delle|ore|sono le|erano le) |\b(?i:all|dall|dell|[èe] l|era l)'|\b[Ll]e (?=\d\d?:))"
_NOT_AMOUNT = r"(?! ?[%€$°]| (?:euro|milion|miliard|metri|per cento))"
_OF_WHOLE = r"(?= (?:di|del|dei|degli|dello|della|delle)\b| d(?:ell)?')"
_SEASON = (
    r"(?<=\b(?i:stagion[ei]|campionato|anno scolastico|anno accademico|guerra|biennio|edizione|esercizio)(?: del)? )"
)
_AFTER_SCORE = "contro|al|alla|sul|sulla|in|con|per|e|il|la|nel|nella|grazie|dopo"
_FEMININE_PLURAL = r"(?:\p{Ll}+(?:e|[zsgn]ioni)(?<!mese|paese)|notti|parti|mani|navi|città)\b"

ITALIAN = Convention(
    words="it",
    icu="it",
    substitutions=((",", ""), ("dicott", "diciott"), (r"(?<=\w)tre\b", "tré"), ("odiecesimo", "odecimo")),
    months=tuple(_MONTHS.split("|")),
    rules=(
        Rule("time", rf"{_AT}{HOUR}[:.,]00{_NOT_AMOUNT}", "{h:f}"),
        Rule("time", rf"{_AT}{HOUR}[:.,]{MINUTE}{_NOT_AMOUNT}", "{h:f} e {m}"),
        Rule("time", rf"[hH]\.? ?{HOUR}[:.]00", "ore {h}"),
        Rule("time", rf"[hH]\.? ?{HOUR}[:.]{MINUTE}", "ore {h} e {m}"),
        Rule("time", r"(?<=\b(?:all|dall|dell)')1(?= di notte| del pomeriggio|[.,;!?]|$)", "una"),
        Rule("date", rf"0?1(?P<s>[/.-]){MONTH}(?P=s){YEAR}", "primo {mo:month} {y}"),
        Rule("date", rf"{DAY}(?P<s>[/.-]){MONTH}(?P=s){YEAR}", "{d} {mo:month} {y}"),
        Rule("date", rf"1°?(?= (?:{_MONTHS})\b)", "primo"),
        Rule("digits", r"\+39 ?(?P<n>[03]\d{1,3}[ /.-]?\d{2,8}(?:[ .-]\d{2,4}){0,3})", "più trentanove {n:digits}"),
        Rule(
            "digits",
            r"(?P<n>0\d{1,3}[ /.-](?:\d{5,8}|\d{3,4}(?:[ .-]\d{2,4}){1,3}|\d\d(?:[ .-]\d\d){2,3}))",
            "{n:digits}",
        ),
        Rule("digits", r"(?P<n>3\d\d[ /.-]?(?:\d{7}|\d{3}[ .-]\d{4}|\d\d[ .-]\d\d[ .-]\d{3}))", "{n:digits}"),
        Rule("range", rf"{_SEASON}(?P<a>(?:19|20)\d\d)[-/](?P<b>(?:19|20)\d\d|[1-9]\d)", "{a}-{b}"),
        Rule("range", r"(?<=\banni )'?(?P<a>[2-9]0)-'?(?P<b>[2-9]0)", "{a}-{b}"),
        Rule("range", r"(?P<a>1\d{3}|20\d\d)-(?P<b>1[3-9]|[2-9]\d)", "{a}-{b}"),
        Rule("range", YEARS, "{a}-{b}"),
        Rule("range", r"(?<=\bguerra (?:mondiale )?(?:del )?)'?(?P<a>\d\d)[-/]'?(?P<b>\d\d)", "{a}-{b}"),
        Rule("range", rf"(?<=\b[Pp]agine ){RANGE}", "{a}-{b}"),
        Rule("range", rf"{RANGE} ?%", "{a}-{b} per cento"),
        Rule("range", rf"{RANGE} ?€", "{a}-{b} euro"),
        Rule("range", rf"(?!1-\d+ {_FEMININE_PLURAL}){RANGE}{_COUNTED}", "{a}-{b}"),
        Rule("range", rf"{RANGE}(?= ?{_UNIT})", "{a}-{b:=}"),
        Rule("fraction", "1 1⁄2 or[ae]", "un'ora e mezza"),
        Rule("fraction", "(?P<n>\\d+) 1⁄2 ore", "{n} ore e mezza"),
        *(Rule("fraction", f"1 1⁄2 (?:{'|'.join(n.split())})", f"un {n.split()[0]} e mezzo") for n in _HALVES_M),
        *(Rule("fraction", rf"(?P<n>\d+) 1⁄2 {n.split()[1]}", f"{{n}} {n.split()[1]} e mezzo") for n in _HALVES_M),
        *(Rule("fraction", rf"(?P<n>\d+) 1⁄2 {n.split()[1]}", f"{{n}} {n.split()[1]} e mezza") for n in _HALVES_F),
        Rule("fraction", "1[/⁄]2 ora", "mezz'ora"),
        Rule("fraction", rf"1[/⁄]2(?= (?!{_WORDS})(?:\p{{Ll}}{{2,}}o|bicchiere|limone|baccello)\b)", "mezzo"),
        Rule("fraction", rf"1[/⁄]2(?= (?!{_WORDS})\p{{Ll}}{{2,}}a\b)", "mezza"),
        Rule("fraction", rf"1[/⁄](?P<d>[3-9]|10){_OF_WHOLE}", "un {d:ordinal}"),
        Rule("fraction", rf"(?P<n>[2-9])[/⁄](?P<d>[3-9]|10){_OF_WHOLE}", "{n} {d:ordinal-masculine-plural}"),
        Rule("roman", r"(?<=\b[IVX]+ )sec\.", "secolo"),
        Rule(
            "roman",
            rf"{_ROMAN}(?=(?:(?:(?:,| ed?| o| al| e (?:il|del)) |-)[IVX]+)* secol[oi]\b)",
            "{r:ordinal}",
        ),
        Rule("roman", r"(?<=\b[Ss]ecol[oi] (?:[IVX]+(?:,| e|-) ?)*)(?P<r>[IVX]+)", "{r:ordinal}"),
        Rule(
            "roman",
            rf"(?<=\b(?:{_KINGS}|[Cc]anto|[Cc]apitolo|[Ll]ibro|[Aa]tto|[Tt]itolo) ){_ROMAN}{_NO_INITIAL}",
            "{r:ordinal}",
        ),
        Rule("roman", rf"(?<=\b(?:{_QUEENS}) ){_ROMAN}{_NO_INITIAL}", "{r:ordinal-feminine}"),
        Rule("roman", rf"{_ROMAN}(?= (?:{_EVENTS_F})\b)", "{r:ordinal-feminine}"),
        Rule("roman", rf"{_ROMAN}(?= (?:{_EVENTS_M})\b)", "{r:ordinal}"),
        Rule("ordinal", rf"(?P<n>\d{{1,3}})°(?= (?:{_RANKED})\b)", "{n:ordinal}"),
        Rule("ordinal", rf"{_SINGULAR}(?P<n>\d{{1,3}})°(?! ?[CF]\b)", "{n:ordinal}"),
        Rule("unit", r"(?<=\b(?:a|di|dei|ai|i|sui|circa|oltre|fino a|meno) )(?P<n>\d{2,3})°(?! ?[CF\d])", "{n} gradi"),
        Rule("unit", r"(?<=\b(?i:al|del|il|dal) )km (?P<n>\d+)", "chilometro {n}"),
        *(Rule("unit", rf"(?<=\d ?€)/{unit}", words) for unit, words in _PER.items()),
        Rule("unit", r"1,(?P<c>[1-9]\d) ?m", "un metro e {c}"),
        Rule("unit", r"(?P<n>[2-9]|[1-9]\d+),(?P<c>[1-9]\d) ?m", "{n} metri e {c}"),
        Rule("money", r"(?<=\b(?:milion[ei]|miliard[oi]|ml[nd]) di |mila )€", "euro"),
        Rule("money", r"(?<=\b(?:milion[ei]|miliard[oi]|ml[nd]) )€", "di euro"),
        Rule(
            "number",
            r"(?<=\b(?i:anni|[dn]el|dal|il|al|i|gli|fine|classe|decennio)(?: '\d\d(?:,| e))* )'(?P<n>[1-9]\d|[2-9]00)",
            "{n}",
        ),
        Rule("number", r"(?P<n>[2-9]|[1-9]\d\d?)mila", "{n:before mila}mila"),
        Rule("number", rf"{_LABEL}(?P<n>[1-9]\d*)(?! \d)", "{n}"),
        Rule("number", r"(?P<n>[1-9]\d*)(?= [lmst]')", "{n}"),  # "nel 1990 l'uomo": not a unit
        Rule("number", r"(?<!\d )1 ?(?:ora|h)", "un'ora"),
        Rule("number", rf"(?<!\d )1(?= (?:{_MASCULINE_NOUNS})\b)", "un"),
        Rule("number", rf"(?<!\d )1(?= (?:{_FEMININE_NOUNS}|\p{{Ll}}+[zs]ione)\b)", "una"),
        Rule("number", rf"(?<=\b[Dd]a )(?P<n>1)(?= a \d+(?! {_FEMININE_PLURAL}))", "{n}"),
        Rule("number", rf"(?P<n>1)(?= o \d+ (?!{_FEMININE_PLURAL})\p{{Ll}}+i\b)", "{n}"),
        Rule("number", rf"(?P<n>1)(?= [oa] \d+ {_FEMININE_PLURAL})", "{n:f}"),
        Rule("number", rf"(?<=\b\d+ (?:gol |punti )?a )(?P<n>1)(?= (?:{_AFTER_SCORE})\b)", "{n}"),
        Rule("number", rf"{_ONE_BEFORE}1(?= (?!{_WORDS}){_IMPURE}\p{{Ll}}*(?:o|tore|iere)\b)", "uno"),
        Rule("number", rf"{_ONE_BEFORE}1(?= (?!{_WORDS}|{_IMPURE})\p{{Ll}}{{3,}}(?:o|tore|iere)\b)", "un"),
        Rule("number", rf"{_ONE_OBJECT}1(?= (?!{_WORDS})[^\W\daeiou]\p{{Ll}}{{2,}}a\b)", "una"),
        Rule("number", r"(?<=^|[.,:;(] )1(?= [^\W\daeiou]\p{Ll}{2,}a (?:di|grande|rossa|media|piccola)\b)", "una"),
    ),
    units=_UNITS,
    decimal=",",
    thousands=".'",
    point=noun("virgola"),
    fraction_is_number=True,
    minus="meno",
    agreement={"m": (("^uno$", "un"),), "f": (("^uno$", "una"),), "before mila": (("é$", "e"),)},
    agrees="^uno$",
    agrees_not_before=" per cento",
    percent=noun("per_cento"),
    currencies={
        **dict.fromkeys(("€", "EUR"), money("euro", "centesimo centesimi", "m")),
        "$": money("dollaro dollari", "centesimo centesimi", "m"),
        "£": money("sterlina sterline", gender="f"),
        "¥": money("yen", gender="m"),
    },
    money_joint="e",
    of="di",
    ordinals=(("o", ()), ("a", (("o$", "a"),))),
    unsure=r" ?[x+=] ?\d| ?\p{L}{1,3}/\p{L}|[ /-]\d{5,}",
    unsure_before=r"\+\d[\d .-]* |\d ?x |[+=] ?|\d° ?",  # telephone numbers, products, coordinates
    titles={
        **dict.fromkeys(("Sig.", "sig."), "signor"),
        **dict.fromkeys(("Sig.ra", "sig.ra"), "signora"),
        **dict.fromkeys(("Sig.na", "sig.na"), "signorina"),
        **dict.fromkeys(("Dott.", "dott.", "Dr.", "dr."), "dottor"),
        **dict.fromkeys(("Dott.ssa", "dott.ssa"), "dottoressa"),
        **dict.fromkeys(("Prof.", "prof."), "professor"),
        **dict.fromkeys(("Prof.ssa", "prof.ssa"), "professoressa"),
        **dict.fromkeys(("Avv.", "avv."), "avvocato"),
        **dict.fromkeys(("On.", "on."), "onorevole"),
        **{"Ing.": "ingegner", "Mons.": "monsignor"},
    },
    numbered={
        **dict.fromkeys(("n°", "n.", "N°"), "numero"),
        **dict.fromkeys(("pag.", "p."), "pagina"),
        **dict.fromkeys(("pagg.", "pp."), "pagine"),
        **{"art.": "articolo", "artt.": "articoli", "cap.": "capitolo", "vol.": "volume", "fig.": "figura"},
        **{"tel.": "telefono", "Tel.": "Telefono"},
    },
    phrases={"a. C.": "avanti Cristo", "d. C.": "dopo Cristo", "p. es.": "per esempio"},
    closings={"ecc.": "eccetera", "ca.": "circa"},
)
