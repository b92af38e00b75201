"""French, Spanish, Italian and Portuguese."""

from __future__ import annotations

from preprocess.conventions.convention import Convention, money, months, noun

FRENCH = Convention(
    words="fr",
    decimal=",",
    thousands=" ",
    point=noun("virgule"),
    fraction_is_number=True,
    minus="moins",
    plural="french",
    agreement={"f": (("un$", "une"),)},
    agrees=r"\bun$",
    agrees_not_before=months("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
    percent=noun("pour_cent"),
    currencies={
        "€": money("euro euros", "centime centimes"),
        "$": money("dollar dollars", "cent cents"),
        "£": money("livre livres", "penny pence", "f", ""),
        "¥": money("yen yens"),
    },
    money_joint="et",
    of="d'",
    ordinals=(
        ("er", ()),
        ("re|ère", (("premier$", "première"),)),
        ("e|ème|eme", ()),
        ("nd", (("deuxième$", "second"),)),
        ("nde", (("deuxième$", "seconde"),)),
    ),
    titles={
        **{"M.": "Monsieur", "MM.": "Messieurs", "Mme": "Madame", "Mmes": "Mesdames", "Mlle": "Mademoiselle"},
        **dict.fromkeys(("Dr", "Dr."), "Docteur"),
    },
    streets=frozenset({"M."}),
    numbered={"n°": "numéro"},
    phrases={"p. ex.": "par exemple", "c.-à-d.": "c'est-à-dire", "av. J.-C.": "avant Jésus-Christ"},
    closings={"etc.": "et cetera"},
)

SPANISH = Convention(
    words="es",
    substitutions=((r"décimo(?=\w)", "decimo"),),
    decimal=",",
    thousands=".",
    point=noun("coma"),
    fraction_is_number=True,
    minus="menos",
    agreement={
        "m": (("veintiuno$", "veintiún"), ("uno$", "un")),
        "f": (("uno$", "una"), (r"(cient|quinient)os\b(?!.*mill)", r"\1as")),
    },
    agrees=r"uno$|(?:cient|quinient)os\b",
    agrees_not_before=r" (?:de|y|e|o|u|a|al|en|por)\b",
    percent=noun("por_ciento"),
    # A bare $ is the peso of half of America.
    currencies={
        "€": money("euro euros", "céntimo céntimos", "m"),
        "US$": money("dólar dólares", "centavo centavos", "m"),
        "£": money("libra libras", "penique peniques", "f", "m"),
        "¥": money("yen yenes", gender="m"),
    },
    money_joint="con",
    of="de",
    ordinals=(
        (r"\.?o", ()),
        (r"\.?a", ((r"o\b", "a"),)),
        (r"\.?er", ((r"(primer|tercer)o$", r"\1"),)),
    ),
    titles={
        **{"Sr.": "señor", "Sra.": "señora", "Srta.": "señorita", "Sres.": "señores", "Dr.": "doctor"},
        **{"Dra.": "doctora", "Dña.": "doña", "Sta.": "Santa", "Prof.": "profesor"},
    },
    numbered={"n°": "número", "núm.": "número"},
    phrases={"p. ej.": "por ejemplo", "Ud.": "usted", "Uds.": "ustedes", "EE. UU.": "Estados Unidos"},
    closings={"etc.": "etcétera"},
)

ITALIAN = Convention(
    words="it",
    substitutions=((",", ""),),
    decimal=",",
    thousands=".'",
    point=noun("virgola"),
    fraction_is_number=True,
    minus="meno",
    agreement={"m": (("^uno$", "un"),), "f": (("^uno$", "una"),)},
    agrees="^uno$",
    percent=noun("per_cento"),
    currencies={
        "€": money("euro", "centesimo centesimi", "m"),
        "$": money("dollaro dollari", "centesimo centesimi", "m"),
        "£": money("sterlina sterline", gender="f"),
        "¥": money("yen", gender="m"),
    },
    money_joint="e",
    of="di",
    ordinals=(("o", ()), ("a", (("o$", "a"),))),
    titles={
        **{"Sig.": "signor", "Sig.ra": "signora", "Sig.na": "signorina", "Dott.": "dottor", "Dr.": "dottor"},
        **{"Dott.ssa": "dottoressa", "Prof.": "professor", "Prof.ssa": "professoressa"},
    },
    numbered={"n°": "numero", "n.": "numero"},
    phrases={"a. C.": "avanti Cristo", "d. C.": "dopo Cristo", "p. es.": "per esempio"},
    closings={"ecc.": "eccetera"},
)

# NLLB has one Portuguese; most of its speakers, and of the recordings, are Brazilian: dezesseis, bilhão.
PORTUGUESE = Convention(
    words="pt_BR",
    substitutions=((",", ""),),
    decimal=",",
    thousands=".",
    point=noun("vírgula"),
    fraction_is_number=True,
    minus="menos",
    agreement={"f": ((r"\bum$", "uma"), (r"\bdois$", "duas"), (r"(zent|cent|nhent)os\b(?!.*(?:milh|bilh))", r"\1as"))},
    agrees=r"\b(?:um|dois)$|(?:z|c|nh)entos\b",
    agrees_not_before=r" (?:de|e|ou|a|ao|em|por|mil|milh[õã]\w+)\b",
    percent=noun("por_cento"),
    currencies={
        "R$": money("real reais", "centavo centavos"),
        "€": money("euro euros", "centavo centavos"),
        **dict.fromkeys(("$", "US$"), money("dólar dólares", "centavo centavos")),
        "£": money("libra libras", gender="f"),
    },
    money_joint="e",
    of="de",
    ordinals=((r"\.?o", ()), (r"\.?a", ((r"o\b", "a"),))),
    titles={
        **{"Sr.": "senhor", "Sra.": "senhora", "Srta.": "senhorita", "Dr.": "doutor", "Dra.": "doutora"},
        **{"Prof.": "professor", "Profa.": "professora"},
    },
    numbered={"n°": "número", "núm.": "número"},
    phrases={"p. ex.": "por exemplo"},
    closings={"etc.": "et cetera"},
)
