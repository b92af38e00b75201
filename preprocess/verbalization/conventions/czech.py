"""How Czech writes and says numbers, and its abbreviations."""

from __future__ import annotations

from preprocess.verbalization.conventions.convention import (
    DAY,
    MONTH,
    YEAR,
    YEARS,
    Convention,
    Rule,
    money,
    noun,
)

_MONTHS = "ledna února března dubna května června července srpna září října listopadu prosince"
_OF_MONTH = rf"(?= (?:{_MONTHS.replace(' ', '|')})\b)"
_AFTER_MONTH = rf"(?<=\b(?:{_MONTHS.replace(' ', '|')}) )"

_ORDINAL = (
    (r"\bjedn[aou]$|\bjeden$", "první"),
    (r"\bdv[aě]$", "druhý"),
    (r"\btři$", "třetí"),
    (r"\bčtyři$", "čtvrtý"),
    (r"\bpět$", "pátý"),
    (r"\bšest$", "šestý"),
    (r"\bsedm$", "sedmý"),
    (r"\bosm$", "osmý"),
    (r"\bdevět$", "devátý"),
    (r"\bdeset$", "desátý"),
    (r"náct$", "náctý"),
    (r"cet\b", "cátý"),
    (r"desát\b", "desátý"),
    (r"^sto$", "stý"),
    (r"^tisíc$", "tisící"),
)
_CASES = (
    (r"\b(pět|šest|sedm|osm|deset|\w+náct|\w+cet|\w+desát)\b", r"\1i"),
    (r"\bdevět\b", "devíti"),
    (r"^nula$", "nuly"),
)

# Numbers above one, with or without groups.
_N = r"(?<!\d[ .,])(?P<n>(?!1(?!\d| \d{3}))[1-9]\d{0,2} \d{3}|(?!1(?!\d))[1-9]\d{0,5})(?! \d)"
_TWO = r"(?<!\d[ .,])(?P<n>(?:[1-9]\d*(?<!1))?2)"
_N_TH = r"(?<!\d )(?P<n>[1-9]\d?|100|1000)\."
_RANGE = r"(?P<a>\d+(?:,\d+)?) ?- ?(?P<b>\d+(?:,\d+)?)"
_SIGN = r"(?= ?%| ?(?:km|m|cm|mm|kg|g|t|l|ml|Kč|ha|°C|€|km/h)(?![\p{L}/])| (?:tisíc|milion|miliard|mil\.|mld\.|tis\.))"

_GENITIVE = (
    "od|do|bez|kolem|okolo|během|z|ze|u|podle|ve výši|ve věku|délce|výšce|rozloze|hmotnosti|objemu|výkonu|šířce|"
    "průměru|v ceně|hodnotě|rychlosti|hloubce|teplotě|vzdálenosti|dosahuje|dosáhl[aoiy]?|dosahují|dožil[aiy]? se|"
    "se dožil[aiy]?|"
    "počet|počtu|skupin[aouy]|skupině|většin[aouy]|polovin[aouy]|včetně"
)
_TO_GENITIVE = rf"(?<=\b(?i:{_GENITIVE}) )"
_NOT_OBLIQUE = rf"(?<!\b(?i:{_GENITIVE}|k|ke|s|se|v|ve|po|při|před|nad|pod|mezi|proti|díky|kvůli|vůči|místo|vedle|o) )"
_FUNCTION = r"(?!(?:a|i|nebo|či|až|do|na|v|ve|z|ze|s|se|k|je|jsou|byl\p{Ll}*|bude|tis|mil|mld|let[ýáéí]\p{Ll}*)\b)"

_ONE_FEMININE = (
    "hodin|minut|sekund|osob|korun|stran|tun|lžíc|lžičk|libr|knih|škol|tříd|rodin|skupin|firm|sklenic|dávk|krabic"
)
_FEMININE = (
    "hodiny|minuty|sekundy|vteřiny|osoby|koruny|ženy|dívky|dcery|sestry|strany|stránky|tuny|lžíce|lžičky|branky|knihy|"
    "školy|třídy|rodiny|skupiny|firmy|obce|desky|láhve|lahve|sklenice|židle|postavy|ceny|sezony|sezóny|dávky|zkoušky|"
    "kapky|krabice|nohy|ruce|nemocnice|linky|ulice|stanice|vesnice|kapitoly|písně|hry|noci|směny|jednotky|části|kočky|"
    "krávy|tašky|děti|léta|města|auta|piva|vejce|jablka|místa|okna|kola|slova|procenta|eura|století|kila|utkání|"
    "vítězství|patra|křesla|kuřata|koťata|štěňata|desetiletí|představení|vydání|čísla|těla|letadla|místnosti|žákyně|hvězdy|"
    "operace|verze|generace|policistky|studentky|medaile|otázky|cesty|řeky|kostky|vidličky|karty|mapy|bomby"
)
_OTHERS = (
    "roky|dny|týdny|měsíce|metry|kilometry|centimetry|milimetry|litry|gramy|kilogramy|body|góly|domy|stupně|hektary|"
    "dolary|tisíce|miliony|milióny|zápasy|pokoje|vlaky|autobusy|druhy|díly|kusy|případy|hráči|muži|chlapci|bratři|"
    "synové|žáci|studenti|policisté|vojáci|poslanci|řidiči|psi|psy|stromy|hrnky|zuby|filmy|hlasy|"
    "a|až|nebo|i|či|do|na|v|ze|z|ku|krát|je|byl|se|let|lidí|korun|procent|dní|hodin|minut|osob|obyvatel|žen|\\p{Ll}+ů"
)
# After one.
_ONE_MASCULINE = (
    "rok|den|týden|měsíc|metr|kilometr|litr|gram|kilogram|bod|gól|dům|stupeň|hektar|dolar|milion|hlas|kus|díl"
)

_HOUR, _MINUTE = r"(?P<h>0?[13-9]|1\d|2[0134])", r"(?P<m>[1-5]\d)"
_O_CLOCK = r"(?: ?(?:hod\.|h\b|hodin\b))"
_OLD = r"(?P<a>1[1-9])(?P<b>0[1-9]|[1-9]\d)"
_YEAR_BEFORE = rf"(?:(?<=\b(?i:rok|roku|roce|rokem|roky|r\.|letech|léta|let|až|a) )|{_AFTER_MONTH}|(?<=\())"
_IN_MONTH = (
    "leden|únor|březen|duben|květen|červen|červenec|srpen|říjen|listopad|prosinec|lednu|únoru|březnu|dubnu|květnu|červnu|"
    "červenci|srpnu|říjnu|listopadu|prosinci"
)
_NO_COUNT = r"(?! (?:lidí|let|korun|metrů|kilometrů|obyvatel|osob|kusů|bodů|hodin|Kč)\b)"

_KING = (
    r"(?<=\b(?:Kare?l|Václav|Rudolf|Ferdinand|Josef|František|Leopold|Zikmund|Vladislav|Otakar|Jindřich|"
    r"Ludvík|Filip|Jiří|Eduard|Vilém|Fridrich|Bedřich|Alexandr|Mikuláš|Petr|Pave?l|Jan|Pius|Klement|Urban|Benedikt|"
    r"Řehoř|Lev|Innocenc|Bonifác|Napoleon|Richard|Štěpán|Boleslav|Břetislav|Vratislav|Soběslav|Spytihněv|Matyáš|"
    r"Kazimír|Albrecht|Konrád|Ota|Ramses|Gustav|Kristián|Ivan|Maxmilián)"
)
_QUEEN = r"(?<=\b(?:Alžbět|Kateřin|Markét|Marie|Kleopatr|Viktori)"
_NTH_ROMAN = r"(?P<r>[IVX]{1,7})(?:\.(?![\"')]*$)|(?=\.[\"')]*$))"
_COMPOUND = (
    r"(?P<w>(?:let|denn|hodinov|minutov|metrov|kilometrov|kilov|gramov|litrov|procentn|korunov|člen|místn|pokojov|patrov|"
    r"stupňov|bodov|měsíčn|týdenn|stránkov|tisícov|násobn|krát|dílov|ročn|palcov|tunov|sekundov)\p{Ll}*)"
)
_N_PART = r"(?P<w>\d+) 1[/⁄]2"
_FEMININE_PART = "hodiny|lžíce|lžičky|sklenice|minuty|tuny|strany|dávky|cibule|sezony|sezóny|vteřiny"
_PART = "roku|litru|metru|kilometru|hrnku|hrnečku|šálku|kila|kilogramu|dne|týdne|měsíce|procenta|bodu|milionu|století"

CZECH = Convention(
    words="cs",
    substitutions=((r"(dvě|tři|čtyři|pět|šest|sedm|osm|devět)(?=stě|sta|set\b)", r"\1 "),),
    decimal=",",
    thousands=" .",
    point=noun("celá celé celých", "f"),
    fraction_is_number=True,
    minus="minus",
    plural="west_slavic",
    agreement={
        "m": (("^jedna$", "jeden"),),
        "n": (("^jedna$", "jedno"), (r"\bdva$", "dvě")),
        "f": ((r"\bdva$", "dvě"),),
        "th": _ORDINAL,
        "th_genitive": (*_ORDINAL, (r"í\b", "ího"), (r"ý\b", "ého")),
        "th_locative": (*_ORDINAL, (r"í\b", "ím"), (r"ý\b", "ém")),
        "th_instrumental": (*_ORDINAL, (r"í\b", "ím"), (r"ý\b", "ým")),
        "th_dative": (*_ORDINAL, (r"í\b", "ímu"), (r"ý\b", "ému")),
        "th_feminine": (*_ORDINAL, (r"ý\b", "á")),
        "th_feminine_genitive": (*_ORDINAL, (r"ý\b", "é")),
        "th_feminine_accusative": (*_ORDINAL, (r"ý\b", "ou")),
        "th_plural_genitive": (*_ORDINAL, (r"í\b", "ích"), (r"ý\b", "ých")),
        "genitive": (
            *_CASES,
            (r"\bdv[aě] stě\b", "dvou set"),
            (r"\btři sta\b", "tří set"),
            (r"\bčtyři sta\b", "čtyř set"),
            (r"\bdv[aě]\b", "dvou"),
            (r"\btři\b", "tří"),
            (r"\bčtyři\b", "čtyř"),
            (" tisíce", " tisíc"),
            (r"^tisíc\b", "tisíce"),
        ),
        "locative": (
            *_CASES,
            (r"\bdv[aě] stě\b", "dvou stech"),
            (r"\btři sta\b", "třech stech"),
            (r"\bčtyři sta\b", "čtyřech stech"),
            (r"\bset\b", "stech"),
            (r"\bdv[aě]\b", "dvou"),
            (r"\btři\b", "třech"),
            (r"\bčtyři\b", "čtyřech"),
            (r" tisíce?\b", " tisících"),
            (r"^tisíc\b", "tisíci"),
        ),
        "instrumental": (
            *_CASES,
            (r"\bdv[aě] stě\b", "dvěma sty"),
            (r"\btři sta\b", "třemi sty"),
            (r"\bčtyři sta\b", "čtyřmi sty"),
            (r"\bset\b", "sty"),
            (r"\bdv[aě]\b", "dvěma"),
            (r"\btři\b", "třemi"),
            (r"\bčtyři\b", "čtyřmi"),
            (r" tisíce?\b", " tisíci"),
            (r"^tisíc\b", "tisícem"),
        ),
        "dative": (*_CASES, (r"\bdv[aě]\b", "dvěma"), (r"\btři\b", "třem"), (r"\bčtyři\b", "čtyřem")),
        "compound": (*_CASES, ("^jedna$", "jedno"), ("^dva$", "dvou"), ("^tři$", "tří"), ("^čtyři$", "čtyř")),
    },
    agrees="(?:^jedna|dva)$",
    agrees_not_before=rf" (?:{_OTHERS})\b",
    rules=(
        Rule("number", rf"(?P<n>[1-9]|1\d|[2-9]0|100)-?{_COMPOUND}", "{n:compound}{w:=}"),
        Rule("date", rf"(?<=\b[Pp]řed ){DAY}\.{_OF_MONTH}", "{d:th_instrumental}"),
        Rule("date", rf"(?<=\b(?i:po) ){DAY}\.{_OF_MONTH}", "{d:th_locative}"),
        Rule("date", rf"(?<=\b(?i:k|ke) ){DAY}\.{_OF_MONTH}", "{d:th_dative}"),
        Rule(
            "date",
            rf"(?<!\b(?:[Oo]d|[Mm]ezi) )(?P<a>\d\d?)\. ?- ?(?P<b>\d\d?)\.{_OF_MONTH}",
            "{a:th_genitive} až {b:th_genitive}",
        ),
        Rule(
            "date",
            rf"(?<!\b[Mm]ezi )(?P<a>\d\d?)\. (?P<x>a|do|až|nebo|na) (?P<b>\d\d?)\.{_OF_MONTH}",
            "{a:th_genitive} {x:=} {b:th_genitive}",
        ),
        Rule("date", rf"(?<!\b[Mm]ezi |\d\. a ){DAY}\.{_OF_MONTH}", "{d:th_genitive}"),
        Rule("date", rf"{DAY}\. ?{MONTH}\. ?{_OLD}", "{d:th_genitive} {mo:month} {a} set {b}"),
        Rule("date", rf"{DAY}\. ?{MONTH}\. ?{YEAR}", "{d:th_genitive} {mo:month} {y}"),
        Rule(
            "range",
            r"(?<=\b(?:letech|léta|let|roky) |\()(?P<a>1[1-9])(?P<b>0[1-9]|[1-9]\d) ?- ?"
            r"(?P<c>1[1-9])(?P<d>0[1-9]|[1-9]\d)",
            "{a} set {b} až {c} set {d}",
        ),
        Rule("range", rf"(?<=\b(?:letech|léta|let|roky) |\(){YEARS}", "{a} až {b}"),
        Rule("year", r"\br\.(?= ?\d{3,4})", "roku"),
        Rule("year", rf"{_YEAR_BEFORE}{_OLD}{_NO_COUNT}(?![.,]? ?\d)", "{a} set {b}"),
        Rule("year", rf"{_YEAR_BEFORE}(?P<a>1[1-9])00{_NO_COUNT}(?![.,]? ?\d)", "{a} set"),
        Rule("year", rf"(?<=\b(?i:{_IN_MONTH}) ){_OLD}(?!\d| \d)", "{a} set {b}"),
        Rule("year", r"(?<=\b(?:roce|roku|roky|rok|rokem) )(?P<y>\d{3,4})(?! \d)", "{y}"),
        Rule("year", r"(?<=\b(?:letech|let) )(?P<n>[2-9]0)\.(?! stol| století)", "{n:th_plural_genitive}"),
        Rule("year", r"(?P<n>[2-9]0)\.(?= let(?:ech)?\b)", "{n:th_plural_genitive}"),
        Rule("year", r"(?P<n>[2-9]0)\.(?= léta\b)", "{n:th_feminine}"),
        Rule("time", rf"(?<=\b[Vv]e? ){_HOUR}[.:]00{_O_CLOCK}?", "{h} hodin"),
        Rule("time", rf"(?<=\b[Vv]e? ){_HOUR}[.:]{_MINUTE}{_O_CLOCK}", "{h} hodin {m} minut"),
        Rule("time", rf"(?<=\b[Vv]e? ){_HOUR}[.:]0(?P<m>[1-9])", "{h} nula {m}"),
        Rule("time", rf"(?<=\b[Vv]e? ){_HOUR}[.:]{_MINUTE}", "{h} {m}"),
        Rule("time", rf"(?<=\b[Vv]e? ){_HOUR}(?= hodin\b)", "{h}"),
        Rule("time", r"(?<=\b[Vv]e? )(?P<h>[234])(?= hodiny\b)", "{h:f}"),
        Rule("time", rf"(?<=\b(?i:od|do|kolem|okolo) ){_HOUR}[.:]00{_O_CLOCK}?", "{h:genitive} hodin"),
        Rule(
            "number",
            r"(?<=\b(?i:vyhrál\p{Ll}*|prohrál\p{Ll}*|zvítězil\p{Ll}*|remizoval\p{Ll}*|vedl\p{Ll}*|porazil\p{Ll}*|výhr\p{Ll}+|"
            r"prohr\p{Ll}+|remíz\p{Ll}+|skór\p{Ll}+|výsled\p{Ll}+|stavu?|skončil\p{Ll}*)(?: \p{L}+){0,3} )"
            r"(?P<a>\d{1,2}):(?P<b>\d{1,2})",
            "{a} {b}",
        ),
        Rule("roman", rf"{_KING} ){_NTH_ROMAN}", "{r:th}"),
        Rule("roman", rf"{_KING}[ae] ){_NTH_ROMAN}", "{r:th_genitive}"),
        Rule("roman", rf"{_KING}em ){_NTH_ROMAN}", "{r:th_instrumental}"),
        Rule("roman", rf"{_KING}ovi ){_NTH_ROMAN}", "{r:th_dative}"),
        Rule("roman", rf"{_QUEEN}a ){_NTH_ROMAN}", "{r:th_feminine}"),
        Rule("roman", rf"{_QUEEN}y ){_NTH_ROMAN}", "{r:th_feminine_genitive}"),
        Rule("roman", rf"{_QUEEN}[ou]u? ){_NTH_ROMAN}", "{r:th_feminine_accusative}"),
        Rule("roman", r"(?P<r>[IVX]+|\d)\.(?= světová válka\b)", "{r:th_feminine}"),
        Rule("roman", r"(?P<r>[IVX]+|\d)\.(?= světové vál(?:ky|ce)\b)", "{r:th_feminine_genitive}"),
        Rule("roman", r"(?P<r>[IVX]+|\d)\.(?= světovou válk(?:u|ou)\b)", "{r:th_feminine_accusative}"),
        Rule(
            "ordinal",
            r"(?<=\b(?i:v|ve) )(?P<a>[IVX]+|\d\d?)\. a (?P<b>[IVX]+|\d\d?)\.(?= století\b)",
            "{a:th_locative} a {b:th_locative}",
        ),
        Rule(
            "ordinal",
            r"(?<=\b(?i:přelomu|konce|konci|z|ze|během|do|od|počátku|začátku|polovin[ayěou]+) )"
            r"(?P<a>[IVX]+|\d\d?)\. (?P<x>a|do|až) (?P<b>[IVX]+|\d\d?)\.(?= století\b)",
            "{a:th_genitive} {x:=} {b:th_genitive}",
        ),
        Rule("ordinal", r"(?<=\b(?i:v|ve|na|po) )(?P<r>[IVX]+|\d\d?)\.(?= století\b)", "{r:th_locative}"),
        Rule(
            "ordinal",
            r"(?<=\b(?!(?i:je|bylo|bude|a|i|pro|za|nebo|než|jako|před|mezi|s|celé|toto) )\p{L}+ )"
            r"(?P<r>[IVX]+|\d\d?)\.(?= století\b)",
            "{r:th_genitive}",
        ),
        Rule(
            "ordinal",
            rf"{_N_TH}(?= (?:patře|místě|ročníku|kole|díle|poločase|okrsku|pokusu|stupni|dni)\b)",
            "{n:th_locative}",
        ),
        Rule("ordinal", rf"{_N_TH}(?= (?:patra|místa|ročníku|kola|dílu|dne|bodu|pluku|stupně)\b)", "{n:th_genitive}"),
        Rule("ordinal", rf"{_N_TH}(?= (?:ročník|den|díl|pluk|stupeň|bod|pokus|zápas|rok|týden|měsíc)\b)", "{n:th}"),
        Rule("ordinal", rf"{_N_TH}(?= (?:místo|patro|kolo|výročí|narozeniny)\b)", "{n:th_feminine_genitive}"),
        Rule(
            "ordinal",
            rf"{_N_TH}(?= (?:třída|liga|kapitola|minuta|část|etapa|strana|pozice|série)\b)",
            "{n:th_feminine}",
        ),
        Rule(
            "ordinal",
            rf"{_N_TH}(?= (?:třídy|třídě|ligy|lize|kapitoly|kapitole|minuty|minutě|části|etapy|etapě|"
            r"straně|pozici|brigády|divize|armády)\b)",
            "{n:th_feminine_genitive}",
        ),
        Rule(
            "ordinal",
            rf"{_N_TH}(?= \p{{Ll}}{{2,}}(?:u|ou|ici|nici)\b)(?! (?:ročníku|dílu|roku|pluku|bodu|pokusu))",
            "{n:th_feminine_accusative}",
        ),
        Rule("fraction", rf"{_N_PART}(?= (?:{_FEMININE_PART})\b)", "{w:f} a půl"),
        Rule("fraction", rf"{_N_PART}(?= (?:{_PART})\b)", "{w:m} a půl"),
        Rule("fraction", rf"(?P<w>[1-9]),5(?= (?:{_FEMININE_PART})\b)", "{w:f} a půl"),
        Rule("fraction", r"(?P<w>[1-9]),5(?= (?:roku|milionu|metru|kilometru|litru|dne|měsíce)\b)", "{w:m} a půl"),
        Rule("fraction", rf"(?<!\d )1[/⁄]2(?= (?:{_PART}|{_FEMININE_PART})\b)", "půl"),
        Rule("fraction", rf"{_NOT_OBLIQUE}(?<!\d )3[/⁄]4(?= \p{{Ll}})", "tři čtvrtiny"),
        Rule("fraction", rf"{_NOT_OBLIQUE}(?<!\d )2[/⁄]3(?= \p{{Ll}})", "dvě třetiny"),
        Rule(
            "range", rf"{_TO_GENITIVE}(?P<a>\d+) ?- ?(?P<b>\d+)(?= {_FUNCTION}\p{{Ll}})", "{a:genitive} až {b:genitive}"
        ),
        Rule(
            "range",
            rf"{_NOT_OBLIQUE}(?P<a>\d*(?<!\d)[3-9]|\d+[03-9]|1\d) ?- ?(?P<b>\d+)(?= {_FUNCTION}\p{{Ll}}{{3,}})",
            "{a} až {b:=}",
        ),
        Rule(
            "range",
            rf"{_NOT_OBLIQUE}(?P<a>[12]) ?- ?(?P<b>[2-9])(?= (?:{_FEMININE}|hodin|minut|osob|stran|let|lžic)\b)",
            "{a:f} až {b:f}",
        ),
        Rule(
            "range",
            rf"{_NOT_OBLIQUE}(?P<a>[12]) ?- ?(?P<b>[2-9])(?= (?!a\b|i\b|do\b|v\b|je\b)"
            rf"(?:{_OTHERS}|dnů|dní|týdnů|měsíců|metrů|kilometrů)\b)",
            "{a:m} až {b}",
        ),
        Rule("range", rf"{_NOT_OBLIQUE}{_RANGE}{_SIGN}", "{a:=} až {b:=}"),
        Rule("number", rf"(?<=\b(?i:od|z|ze) ){_N} ?%(?= (?:do|na) \d)", "{n:genitive} procent"),
        Rule("number", rf"(?<=\b(?i:od|z|ze) ){_N} Kč(?= (?:do|na) \d)", "{n:genitive} korun"),
        Rule("number", rf"(?<=\b[Oo]d ){_N}(?= do \d+{_SIGN})", "{n:genitive}"),
        Rule("number", rf"(?<=\b[Oo]d ){_N}(?= do \d+ \p{{Ll}}{{3,}})", "{n:genitive}"),
        Rule("number", rf"(?<=\b[Ss]e? ){_N}(?<=000)(?= \p{{Ll}}+)", "{n:instrumental}"),
        Rule("number", rf"{_N}(?= (?:\p{{Ll}}+[ýí]ch )?\p{{Ll}}+(?:ech|ách|atech)\b)", "{n:locative}"),
        Rule(
            "number",
            rf"{_N}(?= (?:\p{{Ll}}+[ýí]mi )?\p{{Ll}}+(?:ami|emi|ěmi|ími|ými|tmi|dmi|tami)\b)",
            "{n:instrumental}",
        ),
        Rule("number", rf"(?<=\b(?i:s|se|před) ){_N}(?= (?:\p{{Ll}}+[ýí]mi )?\p{{Ll}}+[yi]\b)", "{n:instrumental}"),
        Rule("number", rf"{_N}(?= (?:\p{{Ll}}+[ýí]m )?\p{{Ll}}+(?:ům|ám|ětem)\b)", "{n:dative}"),
        Rule("money", rf"{_TO_GENITIVE}{_N} Kč", "{n:genitive} korun"),
        Rule("money", rf"(?<=\b(?i:s|se|před) ){_N} Kč", "{n:instrumental} korunami"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?%", "{n:genitive} procent"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?km(?![/^])", "{n:genitive} kilometrů"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?km/h", "{n:genitive} kilometrů za hodinu"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?m(?:\^2|2)", "{n:genitive} metrů čtverečních"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?m(?![/^.])", "{n:genitive} metrů"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?cm(?![/^])", "{n:genitive} centimetrů"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?kg", "{n:genitive} kilogramů"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?l(?![/.])", "{n:genitive} litrů"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?ha", "{n:genitive} hektarů"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?° ?C", "{n:genitive} stupňů Celsia"),
        Rule("number", rf"{_TO_GENITIVE}{_N}(?= {_FUNCTION}\p{{Ll}}{{3,}}(?<!ech|ách|ami|emi))", "{n:genitive}"),
        Rule("number", rf"{_NOT_OBLIQUE}{_TWO}(?= (?:\p{{Ll}}+[éí] )?(?:{_FEMININE})\b)", "{n:f}"),
        Rule("number", rf"(?<!\d[ ,.]){_NOT_OBLIQUE}1(?= (?:{_ONE_FEMININE})[ae]\b)", "jedna"),
        Rule(
            "number",
            rf"(?<!\d[ ,.]){_NOT_OBLIQUE}1(?= (?:{_ONE_FEMININE}|(?!rok|hrn|balíč|šál)\p{{Ll}}+k)u\b)",
            "jednu",
        ),
        Rule("number", rf"(?<!\d[ ,.]){_NOT_OBLIQUE}1(?= (?:{_ONE_MASCULINE})\b)", "jeden"),
        Rule("money", r"(?<=\b(?:tisíc(?:e|ů)?|mili[oó]n(?:u|y|ů)?|miliard(?:a|y|u)?|mil\.|mld\.|tis\.) )Kč", "korun"),
        Rule("money", r"(?<=\b(?:tisíc(?:e|ů)?|mili[oó]n(?:u|y|ů)?|miliard(?:a|y|u)?|mil\.|mld\.|tis\.) )€", "eur"),
        Rule("money", r"(?<=\b(?:tisíc(?:e|ů)?|mili[oó]n(?:u|y|ů)?|miliard(?:a|y|u)?|mil\.|mld\.|tis\.) )\$", "dolarů"),
        Rule("number", r"(?<=\b[Nn]a )(?:s|str)\. ?(?P<n>[2-9]|\d\d+)", "straně {n}"),
        Rule(
            "digits",
            r"(?<=\b(?i:číslo|čísle|telefon|telefonu|tel\.):? )(?P<a>[1-9]\d\d) (?P<b>[1-9]\d\d) (?P<c>[1-9]\d\d)",
            "{a}, {b}, {c}",
        ),
    ),
    months=tuple(_MONTHS.split()),
    percent=noun("procento procenta procent procenta", "n"),
    currencies={
        **dict.fromkeys(("Kč", "CZK"), money("koruna koruny korun", "haléř haléře haléřů", "f", "m")),
        **dict.fromkeys(("€", "EUR"), money("euro eura eur", "cent centy centů", "n", "m")),
        **dict.fromkeys(("$", "USD"), money("dolar dolary dolarů", "cent centy centů", "m")),
        "£": money("libra libry liber", gender="f"),
    },
    units={
        "km": noun("kilometr kilometry kilometrů kilometru", "m"),
        "m": noun("metr metry metrů metru", "m"),
        "cm": noun("centimetr centimetry centimetrů centimetru", "m"),
        "mm": noun("milimetr milimetry milimetrů milimetru", "m"),
        "kg": noun("kilogram kilogramy kilogramů kilogramu", "m"),
        "dkg": noun("deka deka deka deka", "n"),
        "g": noun("gram gramy gramů gramu", "m"),
        "mg": noun("miligram miligramy miligramů miligramu", "m"),
        "t": noun("tuna tuny tun tuny", "f"),
        "l": noun("litr litry litrů litru", "m"),
        "dl": noun("decilitr decilitry decilitrů decilitru", "m"),
        "ml": noun("mililitr mililitry mililitrů mililitru", "m"),
        "km/h": noun("kilometr_za_hodinu kilometry_za_hodinu kilometrů_za_hodinu kilometru_za_hodinu", "m"),
        "m/s": noun("metr_za_sekundu metry_za_sekundu metrů_za_sekundu metru_za_sekundu", "m"),
        **dict.fromkeys(("m²", "m2"), noun("metr_čtvereční metry_čtvereční metrů_čtverečních metru_čtverečního", "m")),
        **dict.fromkeys(
            ("km²", "km2"),
            noun("kilometr_čtvereční kilometry_čtvereční kilometrů_čtverečních kilometru_čtverečního", "m"),
        ),
        "m³": noun("metr_krychlový metry_krychlové metrů_krychlových metru_krychlového", "m"),
        "ha": noun("hektar hektary hektarů hektaru", "m"),
        **dict.fromkeys(("°C", "° C"), noun("stupeň_Celsia stupně_Celsia stupňů_Celsia stupně_Celsia", "m")),
        "kW": noun("kilowatt kilowatty kilowattů kilowattu", "m"),
        "MW": noun("megawatt megawatty megawattů megawattu", "m"),
        "kWh": noun("kilowatthodina kilowatthodiny kilowatthodin kilowatthodiny", "f"),
        "MB": noun("megabajt megabajty megabajtů megabajtu", "m"),
        "GB": noun("gigabajt gigabajty gigabajtů gigabajtu", "m"),
        "TB": noun("terabajt terabajty terabajtů terabajtu", "m"),
        "MHz": noun("megahertz megahertze megahertzů megahertzu", "m"),
        "GHz": noun("gigahertz gigahertze gigahertzů gigahertzu", "m"),
        "tis.": noun("tisíc tisíce tisíc tisíce", "m"),
        **dict.fromkeys(("mil.", "mil", "mio."), noun("milion miliony milionů milionu", "m")),
        **dict.fromkeys(("mld.", "mld"), noun("miliarda miliardy miliard miliardy", "f")),
        **dict.fromkeys(("hod.", "hod", "h"), noun("hodina hodiny hodin hodiny", "f")),
        **dict.fromkeys(("min", "min."), noun("minuta minuty minut minuty", "f")),
    },
    dot="unsure",
    unsure=r"-[^\W\d]| [IVX]+\b| \d| ?(?:ks|Nm|dB|V|W|kV|hPa|kcal|Mb|sb)\b"
    r"| (?:dveří|dveře|nůžky|kalhoty|brýle|noviny)\b",
    unsure_before=rf"\b(?i:{_GENITIVE}|k|ke|s|se|v|ve|po|při|před|nad|pod|mezi|proti|díky|kvůli|vůči|vedle) "
    r"|\b(?i:čl\.|odst\.) "
    r"|§ ?|\b(?i:mezi) [^.]{1,12} a |\b(?i:kód|kódu|PIN|heslo)(?: \p{L}+){0,4}:? |\d |\d ?x ?|\+\d+ (?:\d+ )*",
    numbered={"n°": "číslo", "č.": "číslo", "cca": "cirka", "tel.": "telefon", "Tel.": "Telefon"},
    phrases={
        **{"např.": "například", "tj.": "to jest", "tzn.": "to znamená", "mj.": "mimo jiné", "resp.": "respektive"},
    },
    closings={
        "atd.": "a tak dále",
        "apod.": "a podobně",
        "př. n. l.": "před naším letopočtem",
        "n. l.": "našeho letopočtu",
    },
)
