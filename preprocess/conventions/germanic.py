"""English, German, Dutch and Swedish."""

from __future__ import annotations

from preprocess.conventions.convention import Convention, money, months, noun

_ENGLISH_MONTHS = "January February March April May June July August September October November December"

ENGLISH = Convention(
    words="en",
    substitutions=((",", ""),),
    decimal=".",
    thousands=",",
    point=noun("point"),
    minus="minus",
    percent=noun("percent"),
    currencies={
        **dict.fromkeys(("$", "US$"), money("dollar dollars", "cent cents")),
        "€": money("euro euros", "cent cents"),
        "£": money("pound pounds", "penny pence"),
        "¥": money("yen yen"),
        "₹": money("rupee rupees", "paisa paise"),
        "₽": money("ruble rubles", "kopeck kopecks"),
    },
    money_joint="and",
    magnitudes="hundred|thousand|million|billion|trillion",
    century="",
    decades=True,
    ordinals=(("st|nd|rd|th", ()),),
    day_before=rf"\b(?:{_ENGLISH_MONTHS.replace(' ', '|')}) $",
    unsure=months(_ENGLISH_MONTHS),
    titles={
        **{"Mr": "Mister", "Mrs": "Missus"},
        **dict.fromkeys(("Dr.", "Dr"), "Doctor"),
        **dict.fromkeys(("St.", "St"), "Saint"),
        **{"Prof.": "Professor", "Capt.": "Captain", "Gen.": "General", "Col.": "Colonel", "Lt.": "Lieutenant"},
        **{"Sgt.": "Sergeant", "Rev.": "Reverend", "Hon.": "Honorable", "Gov.": "Governor", "Sen.": "Senator"},
        "Mt.": "Mount",
    },
    streets=frozenset({"Dr.", "Dr", "St.", "St"}),
    numbered={"n°": "number", "No.": "number", "Nos.": "numbers"},
    phrases={"Mr.": "Mister", "Mrs.": "Missus", "e. g.": "for example", "i. e.": "that is", "vs.": "versus"},
    closings={"etc.": "et cetera"},
)

GERMAN = Convention(
    words="de",
    decimal=",",
    thousands=".'",
    point=noun("Komma"),
    minus="minus",
    plural="none",
    agreement={"m": (("eins$", "ein"),)},
    agrees="eins$",
    percent=noun("Prozent", "m"),
    currencies={
        "€": money("Euro", "Cent", "m"),
        "$": money("Dollar", "Cent", "m"),
        "£": money("Pfund", gender="m"),
        "¥": money("Yen", gender="m"),
    },
    century="hundert",
    dot="unsure",
    ordinals_after=(
        (r"\b(?i:am|vom|zum|beim|im|dem|den|des) $", "n"),
        (r"\b(?i:das|die) $", ""),
    ),
    unsure=r"(?<=\b(?i:der|(?:[kmds]?ein|ihr|unser|euer|jed|dies)(?:e[rnms]?)?) \d{1,2})\.|\."
    + months("Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember"),
    titles={"Dr.": "Doktor", "Prof.": "Professor", "St.": "Sankt"},
    numbered={"n°": "Nummer", "Nr.": "Nummer", "ca.": "circa"},
    phrases={
        **{"z. B.": "zum Beispiel", "d. h.": "das heißt", "u. a.": "unter anderem", "bzw.": "beziehungsweise"},
        **{"Z. B.": "Zum Beispiel", "vgl.": "vergleiche", "evtl.": "eventuell", "i. d. R.": "in der Regel"},
    },
    closings={"usw.": "und so weiter", "u. s. w.": "und so weiter", "etc.": "et cetera"},
)

DUTCH = Convention(
    words="nl",
    decimal=",",
    thousands=".",
    point=noun("komma"),
    minus="min",
    plural="none",
    percent=noun("procent"),
    currencies={"€": money("euro", "cent"), "$": money("dollar", "cent"), "£": money("pond")},
    money_joint="en",
    century="honderd",
    ordinals=(("ste|de|e", ()),),
    titles={
        **dict.fromkeys(("dr.", "Dr."), "doctor"),
        **{"dhr.": "de heer", "mevr.": "mevrouw", "prof.": "professor", "Prof.": "professor"},
    },
    numbered={"n°": "nummer", "nr.": "nummer", "ca.": "circa"},
    phrases={
        **{"bijv.": "bijvoorbeeld", "d. w. z.": "dat wil zeggen", "m. a. w.": "met andere woorden"},
        **{"o. a.": "onder andere", "a. u. b.": "alstublieft"},
    },
    closings={"enz.": "enzovoort", "etc.": "et cetera"},
)

SWEDISH = Convention(
    words="sv",
    substitutions=(("etttusen", "ettusen"), ("tjugode$", "tjugonde")),
    decimal=",",
    thousands=" ",
    point=noun("komma"),
    minus="minus",
    agreement={"c": (("ett$", "en"),)},
    agrees="ett$",
    percent=noun("procent", "c"),
    currencies={
        "kr": money("krona kronor", "öre", "c", ""),
        "€": money("euro", "cent", "c"),
        "$": money("dollar", "cent", "c"),
    },
    money_joint="och",
    century="hundra",
    ordinals=((":[ae]", ()),),
    dot="unsure",
    unsure=r":[^\W\d]",
    numbered={"n°": "nummer", "nr": "nummer", "nr.": "nummer", "ca": "cirka"},
    phrases={"t. ex.": "till exempel", "bl. a.": "bland annat", "d. v. s.": "det vill säga"},
    closings={"osv.": "och så vidare", "m. m.": "med mera"},
)
