"""How French writes and says numbers, and its abbreviations."""

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

_MONTHS = "janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre"

# Words after a number, for un and une.
_FEMININE_NOUNS = (
    "année|heure|minute|seconde|semaine|nuit|page|personne|femme|place|commune|maison|pièce|voiture|tonne|école|étoile|"
    "toile|œuvre|photo|lettre|ligne|marche|table|chaise|chambre|salle|porte|fenêtre|île|langue|victime|équipe|carte|"
    "boîte|espèce|plante|fleur|pomme|tasse|tranche|goutte|mère|sœur|vache|poule|rose|dent|couleur|valeur|erreur|étape|"
    "épreuve|image|plage|chanson|région|province|rue|route|gare|usine|ferme|tombe|statue|tête|bête|chèvre|balle|bombe|"
    "arme|feuille|pierre|branche|lampe|plaque|plainte|dose|douzaine|centaine|cuillère|gousse|piste|église|signature|"
    "estampe|scène|médaille|victoire|défaite|journée|soirée|idée|entreprise|famille|fille|ville|seule|grande|petite|"
    "bonne|belle|nouvelle|première|dernière|raison|chose|mine"
)
_FEMININE = (
    rf"(?:(?:{_FEMININE_NOUNS})s?|fois|voix|lois|\p{{Ll}}+(?:[ts]ions?|elles?|ettes?(?<!squelettes?)|euses?|trices?"
    r"|tures?|[ae]illes?|[ae]nces(?<!silences)|eries|ières(?<!cimetières)|[ae]ntes|ives|ises|ées(?<!musées|lycées|"
    r"trophées)))\b"
)
_MASCULINE_NOUNS = (
    "an|jour|siècle|euro|dollar|franc|centime|mètre|kilomètre|centimètre|kilo|gramme|litre|hectare|degré|point|but|"
    "match|"
    "homme|enfant|garçon|élève|membre|député|département|million|milliard|mort|blessé|soldat|cheva[lu]|chat|chien|"
    "mouton|"
    "arbre|film|album|titre|article|chapitre|texte|mot|numéro|exemplaire|véhicule|avion|bateau|train|camion|vol|lit|"
    "magasin|musée|lycée|salarié|employé|test|pied|œuf|café|verre|pain|gâteau|ballon|jeu|dessin|poème|roman|volume|"
    "tome|épisode|matin|soir|week-end|terme|objet|groupe|artiste|touriste|journaliste|athlète|cycliste|malade|lieu|"
    "frère|père|roi|candidat|avocat|médecin|oiseau|poisson|site|parti|essai|joueur|coureur|travailleur|seul|grand|"
    "petit|"
    "bon|beau|nouveau|premier|dernier"
)
_MASCULINE = (
    rf"(?:(?:{_MASCULINE_NOUNS})[sx]?|mois|pays|bus|cas|décès|fils|cours|pour cent|\p{{Ll}}+(?:ements?|[aci]teurs?"
    r"|ages?(?<!\b(?:pages?|images?|plages?|cages?))|ismes?|iers?(?<!hier)|iens|oirs|ards|ants|ents(?<!dents)|ets|"
    r"aux(?<!eaux)))\b"
)
_NUMBER = r"(?<!\d |[-+×^/€$#] ?)(?P<n>\d{1,3}(?: \d{3})+|\d+)"
_OR_MORE = r"(?: (?:à|ou|et) \d+)?"

# After these words a number is a name: it neither agrees nor has an s.
_LABELS = (
    "pages?|articles?|chapitres?|numéros?|tomes?|volumes?|lignes?|figures?|tableaux?|sections?|paragraphes?|alinéas?|"
    "chambres?|salles?|portes?|quais?|voies?|bus|métro|train|TGV|vols?|routes?|étapes?|épisodes?|saisons?|niveaux?|"
    "groupes?|phases?|zones?|classes?|types?|catégories?|canal|chaînes?|psaumes?|versets?|questions?|exercices?|"
    "leçons?|"
    r"années|décennie|an|codes?|cantons?|secteurs?|lots?|Ligue|Formule|Windows|Boeing|Airbus|annexes?|actes?|"
    r"versions?|modèles?"
)
_LABEL = rf"(?<=\b(?:(?i:{_LABELS})|(?:vol|train|bus)(?: \p{{Lu}}\p{{L}}+){{1,3}}) (?:\d+(?:,| et| ou| à) ){{0,4}})"
_BEFORE_YEAR = "en|entre|et|de|à|depuis|dès|an|année|été|automne|hiver|printemps|vers|début|fin|avant|après"
_NO_NOUN = (
    r"(?=[.,;:!?)]|$| (?:à|et|ou|l[ea]s?|un|une|des?|du|ils?|elles?|on|nous|je|par|pour|dans|que|qui|aux?|avec|sur|"
    r"est|était|a|avait|fut|furent|sont|ont|se|ne|y|en|où|lors|jusqu|puis|mais|sous|sans|chez|son|sa|ses|cette?)\b)"
)

_UNITS = {
    **{"km": noun("kilomètre kilomètres"), "m": noun("mètre mètres"), "cm": noun("centimètre centimètres")},
    **{"mm": noun("millimètre millimètres"), "kg": noun("kilogramme kilogrammes"), "g": noun("gramme grammes")},
    **{"mg": noun("milligramme milligrammes"), "t": noun("tonne tonnes", "f"), "ha": noun("hectare hectares")},
    **dict.fromkeys(("l", "L"), noun("litre litres")),
    **dict.fromkeys(("cl", "cL"), noun("centilitre centilitres")),
    **dict.fromkeys(("ml", "mL"), noun("millilitre millilitres")),
    **dict.fromkeys(("km²", "km2"), noun("kilomètre_carré kilomètres_carrés")),
    **dict.fromkeys(("m²", "m2"), noun("mètre_carré mètres_carrés")),
    **dict.fromkeys(("cm²", "cm2"), noun("centimètre_carré centimètres_carrés")),
    **dict.fromkeys(("m³", "m3"), noun("mètre_cube mètres_cubes")),
    **{"km/h": noun("kilomètre_par_heure kilomètres_par_heure"), "m/s": noun("mètre_par_seconde mètres_par_seconde")},
    **dict.fromkeys(("°C", "° C"), noun("degré_Celsius degrés_Celsius")),
    **dict.fromkeys(("°F", "° F"), noun("degré_Fahrenheit degrés_Fahrenheit")),
    **{"h": noun("heure heures", "f"), "s": noun("seconde secondes", "f")},
    **dict.fromkeys(("min", "mn"), noun("minute minutes", "f")),
    **{"W": noun("watt watts"), "kW": noun("kilowatt kilowatts"), "MW": noun("mégawatt mégawatts")},
    **{"kWh": noun("kilowattheure kilowattheures"), "V": noun("volt volts"), "dB": noun("décibel décibels")},
    **{"Hz": noun("hertz"), "kHz": noun("kilohertz"), "MHz": noun("mégahertz"), "GHz": noun("gigahertz")},
    **{"Mo": noun("mégaoctet mégaoctets"), "Go": noun("gigaoctet gigaoctets"), "To": noun("téraoctet téraoctets")},
    **dict.fromkeys(("M€", "million d'€", "millions d'€", "millions €"), noun("million_d'euros millions_d'euros")),
    **dict.fromkeys(
        ("Md€", "Mds€", "milliard d'€", "milliards d'€", "milliards €"), noun("milliard_d'euros milliards_d'euros")
    ),
}
_PER = {
    **{"kg": " le kilo", "l": " le litre", r"m\^2": " le mètre carré", "h": " de l'heure"},
    **{"jour": " par jour", "mois": " par mois", "an": " par an"},
}
_UNIT = r"(?:°C|km/h|[kcm]?m(?:\^[23])?|[km]?g|[cm]?[lL]|ha|h|min|mn|[kM]?W|kWh|M€|[MGT]o)(?![\p{L}\p{N}'/^])"

_NAMES = (
    "Louis|Henri|Charles|François|Napoléon|Philippe|Paul|Pie|Benoît|Grégoire|Léon|Innocent|Clément|Urbain|Jean|"
    "Alexandre|"
    "Nicolas|[ÉE]lisabeth|Elizabeth|Guillaume|Frédéric|[ÉE]douard|Georges?|Jacques|Richard|Robert|Albert|Léopold|"
    "Alphonse|Ferdinand|Pierre|Catherine|Ramsès|Mohammed|Hassan|Boniface|Jules|Sixte|Christian|Gustave|Ptolémée"
)
_OF_WHOLE = r"(?= (?:des?|du|d'\p{L}+)\b(?! finale))"
_MASCULINE_HALVES = "kilo|litre|mètre|verre|tour|siècle|citron|oignon|sachet|pot|comprimé|échelon|point"
_FEMININE_HALVES = "heure|journée|tasse|cuillère|cuillerée|bouteille|gousse|douzaine|page|tonne|botte|finale|baguette"

_AFTER_SCORE = "contre|face|devant|aux?|à|pour|en|dans|sur|grâce|après|lors|et|mais|ce|les?|la|hier"
_SEASON = r"(?P<a>(?:19|20)\d\d)[-/](?P<b>(?:19|20)\d\d|[1-9]\d)"
_AT = r"(?<=\b(?i:à|vers|dès|avant|après|jusqu'à) )"
_PHONE = r"([ .-]?)(?P<b>[1-9]\d)\2(?P<c>[1-9]\d)\2(?P<d>[1-9]\d)\2(?P<e>[1-9]\d)"

FRENCH = Convention(
    words="fr",
    substitutions=((r"(vingt|cent|million|milliard)sième", r"\1ième"),),
    months=tuple(_MONTHS.split("|")),
    rules=(
        Rule("time", r"24 ?h(?:eures)? ?(?:/|sur) ?24(?: ?h)?", "vingt-quatre heures sur vingt-quatre"),
        Rule("time", r"7 ?j(?:ours)? ?(?:/|sur) ?7(?: ?j)?", "sept jours sur sept"),
        Rule("time", rf"(?P<h>0?[01]) ?[hH] ?00|{_AT}(?P<h>0?[01]):00", "{h:f} heure"),
        Rule("time", rf"{HOUR} ?[hH] ?00|{_AT}{HOUR}:00", "{h:f} heures"),
        Rule("time", rf"(?:(?P<h>0?[01]) ?[hH] ?|{_AT}(?P<h>0?[01]):){MINUTE}(?! ?mi?n\b)", "{h:f} heure {m:f}"),
        Rule("time", rf"(?:{HOUR} ?[hH] ?|{_AT}{HOUR}:){MINUTE}(?! ?mi?n\b)", "{h:f} heures {m:f}"),
        Rule("time", r"0(?P<m>[2-9]) ?min", "{m} minutes"),
        Rule("date", rf"0?1(?P<s>[/.-]){MONTH}(?P=s){YEAR}", "premier {mo:month} {y:label}"),
        Rule("date", rf"{DAY}(?P<s>[/.-]){MONTH}(?P=s){YEAR}", "{d} {mo:month} {y:label}"),
        Rule("date", rf"0?1(?= (?:{_MONTHS})\b)", "premier"),
        Rule("date", r"(?<=\b(?i:le|du|au) )(?P<d>[23]1)(?= (?:à|au|du|et|pour|en|dernier|prochain)\b)", "{d}"),
        Rule("digits", rf"(?P<a>0\d){_PHONE}", "{a:digits} {b:label} {c:label} {d:label} {e:label}"),
        Rule("digits", rf"\+33 ?(?P<a>[1-9]){_PHONE}", "plus trente-trois {a} {b:label} {c:label} {d:label} {e:label}"),
        Rule("digits", r"(?<=\b0\d(?: \d\d){0,3} )(?P<n>[1-9]\d)(?= \d\d|(?<=(?: \d\d){4}))", "{n:label}"),
        Rule("range", rf"(?<=\b(?i:saisons?|exercices?|année|hivers?)(?: \w+aire)? ){_SEASON}", "{a:label} {b:label}"),
        Rule("range", r"(?<=\bannées )(?P<a>[2-9]0)-(?P<b>[2-9]0)", "{a:label} {b:label}"),
        Rule("range", YEARS, "{a:label} à {b:label}"),
        Rule("range", r"(?<=\bguerre (?:mondiale )?(?:de )?)(?P<a>14|39)-(?P<b>18|45)", "{a} {b}"),
        Rule("range", rf"(?<=\b[Pp]ages? ){RANGE}", "{a:label} à {b:label}"),
        Rule("range", rf"{RANGE} ?%", "{a} à {b} pour cent"),
        Rule("range", rf"{RANGE} ?€", "{a} à {b} euros"),
        Rule("range", rf"{RANGE}(?= {_FEMININE})", "{a:f} à {b:f}"),
        Rule("range", rf"{RANGE}(?= {_MASCULINE})", "{a} à {b}"),
        Rule("range", rf"{RANGE}(?= ?{_UNIT})", "{a:=} à {b:=}"),
        Rule("fraction", r"1 1⁄2 heure", "une heure et demie"),
        Rule("fraction", r"(?P<n>\d+) 1⁄2 heures", "{n:f} heures et demie"),
        *(
            Rule("fraction", rf"(?P<n>\d+) 1⁄2 {counted}", f"{{n}} {counted} et demi")
            for counted in "an ans mois jours litre litres kilo kilos mètres kilomètres siècle siècles".split()
        ),
        Rule("fraction", rf"1[/⁄]2(?=[ -](?:{_MASCULINE_HALVES})s?\b)", "un demi"),
        Rule("fraction", rf"1[/⁄]2(?=[ -](?:{_FEMININE_HALVES})s?\b)", "une demi"),
        Rule("fraction", rf"1[/⁄]3{_OF_WHOLE}", "un tiers"),
        Rule("fraction", rf"2[/⁄]3{_OF_WHOLE}|(?<=\b(?:[Ll]es|[Aa]ux) )2[/⁄]3", "deux tiers"),
        Rule("fraction", rf"1[/⁄]4{_OF_WHOLE}", "un quart"),
        Rule("fraction", rf"3[/⁄]4{_OF_WHOLE}|(?<=\b(?:[Ll]es|[Aa]ux) )3[/⁄]4", "trois quarts"),
        Rule("fraction", rf"1[/⁄](?P<d>[5-9]|1[02]){_OF_WHOLE}", "un {d:ordinal}"),
        Rule("fraction", rf"(?P<n>[2-9])[/⁄](?P<d>[5-9]|1[02]){_OF_WHOLE}", "{n} {d:ordinal}s"),
        Rule("fraction", r"(?P<n>1?\d)/20", "{n} sur vingt"),
        Rule("roman", "Ier", "premier"),
        Rule("roman", "I(?:re|ère)", "première"),
        Rule("roman", r"(?P<r>[IVX]{2,}|V|X)(?:e|è|ème|eme)", "{r:ordinal}"),
        Rule("roman", rf"(?<=\b(?:{_NAMES}) )(?P<r>V|X)(?!\. ?\p{{L}})", "{r}"),
        Rule("roman", rf"(?<=\p{{Lu}}\p{{Ll}}+ |\b(?:{_LABELS}) )(?P<r>[IVX]{{2,7}})(?! siècle)", "{r}"),
        Rule("roman", r"(?<=\b(?i:le|du|au|rugby à) )(?P<r>XV|XIII)(?! siècle)", "{r}"),
        Rule("year", rf"(?<=\b(?i:{_BEFORE_YEAR}|{_MONTHS}) )(?P<y>1\d(?:80|00)|20[08]0){_NO_NOUN}", "{y:label}"),
        Rule("number", rf"{_LABEL}(?P<n>[1-9]\d*)(?! \d)", "{n:label}"),
        Rule("number", r"(?<=\b[Dd]e )(?P<n>\d*1)(?= à \d+(?!\d|,\d| ?\p{L}))", "{n}"),
        Rule("number", rf"(?<=\b\d+ (?:buts? |points? )?à )(?P<n>1)(?= (?:{_AFTER_SCORE})\b)", "{n}"),
        Rule("number", rf"(?<!\d )1(?={_OR_MORE} {_FEMININE}(?<!rue|route))", "une"),
        Rule("number", rf"{_NUMBER}(?<=\d1)(?={_OR_MORE} {_FEMININE}(?<=[sx]))", "{n:f}"),
        Rule("number", rf"{_NUMBER}(?= (?:(?:bis|ter),? )?(?:rue|avenue|boulevard|route|place|chemin|allée)\b)", "{n}"),
        Rule("number", r"(?P<n>[1-9]\d*)(?= [hlmst]')", "{n:label}"),  # "en 1990 l'homme": not a unit
        Rule("unit", r"(?P<n>1),(?P<c>[1-9]\d) ?m|(?P<n>1) ?m ?(?P<c>[1-9]\d)", "{n} mètre {c}"),
        Rule("unit", r"(?P<n>[2-9]|[1-9]\d+),(?P<c>[1-9]\d) ?m|(?P<n>\d+) ?m ?(?P<c>[1-9]\d)", "{n} mètres {c}"),
        *(Rule("unit", rf"(?<=\d ?€)/{unit}", words) for unit, words in _PER.items()),
        Rule("unit", r"(?<=\b[Aa]u )km (?P<n>\d+)", "kilomètre {n:label}"),
        Rule("unit", r"(?P<n>[2-9]|[1-9]\d+)€(?P<c>[1-9]\d)", "{n} euros {c}"),
        Rule("unit", r"(?P<n>\d\d+)°(?! ?[\d\p{L}])", "{n} degrés"),
    ),
    units=_UNITS,
    decimal=",",
    thousands=" ",
    point=noun("virgule"),
    fraction_is_number=True,
    minus="moins",
    plural="french",
    agreement={"f": (("un$", "une"),), "label": (("(cent|vingt)s$", r"\1"),)},
    agrees=r"\bun$",
    agrees_not_before=rf"{_OR_MORE} (?:{_MASCULINE}|(?:{_MONTHS})\b)",
    percent=noun("pour_cent"),
    currencies={
        "€": money("euro euros", "centime centimes"),
        "$": money("dollar dollars", "cent cents"),
        **dict.fromkeys(("US$", "$ US"), money("dollar_américain dollars_américains", "cent cents")),
        "£": money("livre livres", "penny pence", "f", ""),
        "¥": money("yen yens"),
        "CHF": money("franc_suisse francs_suisses", "centime centimes"),
    },
    money_joint="et",
    of="d'",
    ordinals=(
        ("er", ()),
        ("ers", (("$", "s"),)),
        ("re|ère", (("premier$", "première"),)),
        (r"(?<!\b1)(?:e|è|ème|eme)", ()),
        (r"(?<!\b1)(?:es|èmes)", (("$", "s"),)),
        ("nd", (("deuxième$", "second"),)),
        ("nde", (("deuxième$", "seconde"),)),
    ),
    # un or une in thousands, and products, decades, km/l
    unsure=rf"(?<=\d \d[02-68]1) (?!{_MASCULINE}|d['e])\p{{Ll}}| ?[x+=] ?\d|'s\b| ?\p{{L}}{{1,3}}/\p{{L}}",
    unsure_before=r"\+\d[\d .-]* |\d-\d+ |\d ?x |[+=] ?|° ?",  # telephone numbers, products, coordinates
    titles={
        **{"M.": "Monsieur", "MM.": "Messieurs", "Mme": "Madame", "Mmes": "Mesdames", "Mlle": "Mademoiselle"},
        **dict.fromkeys(("Dr", "Dr."), "Docteur"),
        **{"Pr": "Professeur", "Me": "Maître", "Mgr": "Monseigneur", "St": "Saint", "Ste": "Sainte"},
    },
    streets=frozenset({"M."}),
    numbered={
        **dict.fromkeys(("n°", "no", "N°", "No"), "numéro"),
        **{
            "p.": "page",
            "pp.": "pages",
            "art.": "article",
            "al.": "alinéa",
            "chap.": "chapitre",
            "vol.": "volume",
            "fig.": "figure",
        },
        **{"env.": "environ", "tél.": "téléphone", "Tél.": "Téléphone"},
    },
    phrases={
        **{"p. ex.": "par exemple", "c.-à-d.": "c'est-à-dire", "s. v. p.": "s'il vous plaît"},
        **{"av. J.-C.": "avant Jésus-Christ", "apr. J.-C.": "après Jésus-Christ", "ap. J.-C.": "après Jésus-Christ"},
    },
    closings={"etc.": "et cetera"},
)
