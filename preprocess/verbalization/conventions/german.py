"""How German writes and says numbers, and its abbreviations."""

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

_MONTHS = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()
_MONTH = rf"(?:{'|'.join(_MONTHS)}|Jänner|Feber)\b"
_WEEKDAY = "(?:(?:Mon|Diens|Donners|Frei|Sams|Sonn)tag|Mittwoch|Sonnabend)"

_NUMBER = r"\d+(?:\.\d{3})*(?:,\d+)?"
_MINUTE = r"(?P<m>0[1-9]|[1-5]\d)"
_COUNTED = (
    "Tagen?|Werktagen?|Nächten?|Wochen|Monaten?|Jahren?|Jahrhunderten?|Stunden|Minuten|Sekunden|Mal|Malen|Personen|"
    "Menschen|Leuten?|Männern?|Frauen|Kindern?|Schülern?|Spielern?|Gästen?|Besuchern?|Teilnehmern?|Einwohnern?|Stück|"
    "Prozent|Prozentpunkten?|Grad|Metern?|Kilometern?|Zentimetern?|Millimetern?|Quadratmetern?|Hektar|Meilen|Litern?|"
    "Gramm|Kilo|Kilogramm|Pfund|Tonnen|Euro|Dollar|Cent|Franken|Millionen|Milliarden|Seiten|Zeilen|Stufen|Etagen|"
    "Zimmern?|Blättern?|Eiern?|Esslöffeln?|Teelöffeln?"
)
_MEASURES = "%|€|°C|(?:km|m|cm|mm|kg|g|mg|l|ml|t|h|ha|km/h|kW|kWh|MW|GB|MB|Mio|Mrd|Std|Min)(?![\\p{L}\\p{N}])"

# What an ordinal ends in after its article: "am 3.", "in der 3.", "das 3."
_DER = "der|dieser|jeder|jener|welcher"
_EIN = "(?:[kmds]?ein|ihr|unse?r|euer|eur)"
_DATIVE = "mit|von|zu|bei|nach|aus|seit|ab|vor|binnen|gegenüber|außer"
_PREPOSITIONS = (
    f"{_DATIVE}|in|an|auf|hinter|neben|über|unter|zwischen|während|wegen|trotz|innerhalb|außerhalb|laut|gemäß|samt|"
    "anhand|aufgrund|anlässlich|statt|anstatt|infolge|mithilfe"
)
_EN = (
    rf"\b(?i:am|vom|zum|zur|beim|im|vorm|unterm|dem|den|des|(?:{_PREPOSITIONS}) der|{_EIN}e[nmrs]|"
    r"(?:dies|jed|jen|welch)e[nm])(?: \p{Ll}+en)?"
)
_E = rf"\b(?i:das|die|ins|ans|aufs|fürs|durchs|{_EIN}e|(?:dies|jed|jen|welch)e)(?: \p{{Ll}}+e)?"
_AND = r" \d{1,3}\.(?:,| und| oder| sowie| bis)"

_STARTS = (
    "Er|Sie|Es|Wir|Ich|Ihr|Man|Das|Die|Der|Den|Dem|Dies(?:e[rsmn]?)?|Eine?|Einer|Danach|Dann|Da|Dort|Damit|Dabei|Doch|"
    "Aber|Und|Oder|Auch|In|Im|Am|An|Auf|Aus|Bei|Beim|Bis|Für|Mit|Nach|Seit|Von|Vom|Vor|Zu|Zum|Zur|Um|Über|Unter|So|"
    "Nun|Jetzt|Heute|Als|Wenn|Weil|Was|Wer|Wie|Wo|Nur|Noch|Schon|Seine?|Meine?|Keine?|Alle|Viele|Insgesamt|Außerdem|"
    "Dazu|Deshalb|Allerdings|Jedoch|Hier|Hinzu|Später|Während|Zwar|Ja|Nein|Denn|Daher|Zudem|Wegen|Ihre|Unsere?"
)
# The full stop of an abbreviation, unless it also ends the sentence.
_DOT = rf"\.(?! *[\"')]*(?:$| (?:{_STARTS})\b))"
_NTH = rf"(?P<n>[1-9]\d{{0,2}})\.(?= (?!(?:{_STARTS})\b)\p{{L}})"
_MASCULINE = (
    rf"(?:{_MONTH}|(?:\p{{Lu}}[\p{{Ll}}-]*)?(?i:tag|krieg|platz|stock|rang|preis|sieg|versuch|antrag|satz|teil|"
    "band|akt|gang|zug|kreis|lauf|bezirk|präsident|kanzler|"
    "minister|meister|spieler|mann|sohn|monat|schritt|punkt|kongress|"
    "kandidat|besucher|titel|grad|film|roman|absatz|artikel|senat|verein|gipfel|könig|kaiser|papst|advent|stich|"
    "haushalt|"
    "mensch|bürger|einwohner|schüler|student|nehmer|wähler|fahrer|nutzer|patient|betrieb|deutsche|befragte|erwachsene|"
    "fc|sc|sv)\\b)"
)
_FEMININE = (
    r"(?!(?:\p{Lu}\p{Ll}*)?(?i:sprung|schwung)\b)(?:\p{Lu}[\p{Ll}-]*)?(?i:halbzeit|hälfte|minute|stunde|woche|sekunde|"
    "nacht|klasse|liga|runde|etage|auflage|ausgabe|person|generation|republik|armee|division|kammer|etappe|stufe|"
    "staffel|sinfonie|symphonie|saison|reihe|seite|stelle|position|folge|zeit|periode|phase|welle|ehe|frau|tochter|"
    "strophe|szene|sure|hand|instanz|ung|heit|keit|schaft|tion|sion|tät)\\b"
)
_NEUTER = (
    r"(?:\p{Lu}[\p{Ll}-]*)?(?i:jahr|jahrhundert|jahrtausend|mal|kind|spiel|tor|buch|kapitel|konzert|album|viertel|"
    "drittel|semester|quartal|jubiläum|gebot|regiment|bataillon|treffen|fest|festival|rennen|haus|opfer|stockwerk|"
    "geschoss|lied|werk|gesetz|zimmer|team|match|duell|finale)\\b"
)

# One: its gender, and what asks for its case.
_ONE_M = (
    "Euro|Dollar|Cent|Meter|Kilometer|Zentimeter|Liter|Quadratmeter|Hektar|Grad|Tag|Monat|Punkt|Teelöffel|Esslöffel|"
    "Becher|Apfel|Mann"
)
_ONE_F = (
    "Stunde|Minute|Sekunde|Woche|Nacht|Tonne|Million|Milliarde|Person|Frau|Stimme|Seite|Flasche|Tasse|Packung|Dose|"
    "Scheibe|Prise|Zehe|Zwiebel|Kilowattstunde|Meile|Runde|Etage|Zeile|Portion|Tüte|Karte"
)
_ONE_N = "Jahr|Kind|Mal|Prozent|Kilogramm|Kilo|Gramm|Pfund|Stück|Glas|Ei|Tor|Haus|Zimmer|Spiel|Bier|Päckchen"
_ABOUT = (
    r"(?: (?:nur|etwa|rund|circa|ungefähr|knapp|gut|mindestens|höchstens|maximal|fast|genau|lediglich|jeweils|bloß|"
    r"über|unter|mehr als|weniger als|insgesamt)){0,2}"
)
_TO_DATIVE = rf"(?<=\b(?i:{_DATIVE}|in){_ABOUT} )"
_TO_ACCUSATIVE = (
    r"(?<=\b(?i:für|um|ohne|gegen|durch|pro|je|koste(?:t|n|te|ten)?|(?:be)?zahl(?:t|en|te|ten)|verdien(?:t|en|te)|"
    r"wiegt|wog|misst|dauert|dauerte|beträgt|betrug|brauch(?:e|t|st|en|te)|verlangt|spart)"
    rf"(?: (?!(?:{_PREPOSITIONS})\b)\p{{Ll}}+){{0,3}} )"
)
_OF_MEASURE = (
    " (?:lang|hoch|breit|tief|dick|groß|weit|weiter|entfernt|höher|tiefer|länger|breiter|größer|kürzer|mehr|weniger|"
    "später|früher|vorher|danach|darauf|zuvor|alt|nördlich|südlich|östlich|westlich|vom|von|über|unter|vor)\\b"
)
_NOMINATIVE_OR_ACCUSATIVE = (
    rf"(?<!\b(?i:{_DATIVE}|in|an|auf|neben|zwischen|während|wegen|trotz|innerhalb|außerhalb|statt|laut|samt|"
    rf"de[rsnm]|einer?|und|oder|bis){_ABOUT} )(?<!\b(?:unter|weniger als|,) )(?<!, )"
)
_NUMBERED = (
    "Artikel|Paragraf|Nummer|Seite|Kapitel|Absatz|Satz|Abbildung|Tabelle|Platz|Rang|Gleis|Zimmer|Linie|Band|Teil|"
    "Klasse|Gruppe|Stufe|Runde|Formel|Tag|Woche|Phase|Typ|Ziffer|Raum|Halle|Level|Note|Spalte|Zeile|Block|Kategorie|"
    "Version|Liga|Kanal|Bahnsteig|Terminal|Folge|Staffel|Schritt|Punkt|Zone|Aufgabe|Frage|Strophe|Vers|Jahr|Zahl"
)

_KINGS = (
    "Ludwig|Karl|Heinrich|Friedrich|Wilhelm|Otto|Philipp|Leopold|Franz|Joseph|Josef|Ferdinand|Maximilian|Rudolf|Georg|"
    "Eduard|Jakob|Richard|Johann|Johannes|Paul|Pius|Benedikt|Gregor|Leo|Innozenz|Urban|Clemens|Alexander|Nikolaus|"
    "Peter|Iwan|Gustav|Adolf|Christian|Albrecht|Konrad|Sigismund|Napoleon|Ramses|Xerxes|Dareios|August|Ernst|Sixtus|"
    "Julius|Bonifatius|Viktor|Emanuel|Umberto|Carlos|Felipe|Alfons|Haakon|Harald|Olav|Mehmed|Murad|Charles|Stephan|"
    "Kasimir|Balduin|Bernhard|Ulrich|Eberhard|Moritz|Albert"
)
_QUEENS = "Elisabeth|Katharina|Margarethe|Margrethe|Maria|Isabella|Johanna|Anna|Beatrix"
_RULER = "(?:König|Kaiser|Papst|Zar|Kurfürst|Herzog|Großherzog|Sultan|Pharao|Fürst|Graf|Prinz)"
_KING = rf"(?:{_RULER} )?(?:(?:{_KINGS}) ){{1,2}}"
_QUEEN = rf"(?:(?:Königin|Kaiserin|Zarin|Queen) )?(?:{_QUEENS}) "
_ROMAN = rf"(?P<r>[IVX]{{2,6}}|[IVX](?!\. \p{{Lu}}))(?:{_DOT})?"

_FROM, _AND_MINUTE = r"(?P<a>[01]?\d|2[0-4])", r"(?P<b>0[1-9]|[1-5]\d)"
_CENTURY = "{n:ordinal}n Jahrhundert"
_COUNTED_BY_ROMANS = r"(?:Jahrhunderts?|Weltkriege?s?|Vatikan\w*|Internationalen?|Republik|Olympi\w+)\b"
_DAY_BEFORE = rf"(?<={_EN} |\b(?i:bis|ab|seit) |\b(?i:am|bis|ab|vom) {_WEEKDAY},? )"
_PART_OF = r"(?= (?:der|des|aller|davon|von|dieser|ihrer|seiner|meiner|unserer|deiner)\b)"

GERMAN = Convention(
    words="de",
    substitutions=(("einstausend", "eintausend"), ("eins (?=Milli)", "ein ")),
    rules=(
        Rule("time", rf"{_FROM}(?:[:.]00)? ?- ?{HOUR}(?:[:.]00)? Uhr", "{a} bis {h:m} Uhr"),
        Rule("time", rf"{_FROM}(?:[:.]00)? ?- ?{HOUR}[:.]{_MINUTE} Uhr", "{a} bis {h:m} Uhr {m}"),
        Rule("time", rf"{_FROM}[:.]{_AND_MINUTE} ?- ?{HOUR}(?:[:.]00)? Uhr", "{a:m} Uhr {b} bis {h:m} Uhr"),
        Rule("time", rf"{_FROM}[:.]{_AND_MINUTE} ?- ?{HOUR}[:.]{_MINUTE} Uhr", "{a:m} Uhr {b} bis {h:m} Uhr {m}"),
        Rule("time", rf"{HOUR}[:.]00(?= (?:bis|und|oder) \d{{1,2}}(?:[:.]\d\d)? Uhr)", "{h:m} Uhr"),
        Rule("time", rf"{HOUR}[:.]{_MINUTE}(?= (?:bis|und|oder) \d{{1,2}}(?:[:.]\d\d)? Uhr)", "{h:m} Uhr {m}"),
        Rule("time", rf"{HOUR}(?= (?:bis|und|oder) \d{{1,2}}(?:[:.]\d\d)? Uhr)", "{h}"),
        Rule("time", rf"{HOUR}[:.]00 Uhr", "{h:m} Uhr"),
        Rule("time", rf"{HOUR}[:.]{_MINUTE} Uhr", "{h:m} Uhr {m}"),
        Rule("time", rf"{HOUR} Uhr", "{h:m} Uhr"),
        Rule("time", rf"{HOUR}[:.]{_MINUTE} ?h", "{h:m} Uhr {m}"),
        Rule("time", rf"(?<=\b(?i:um|gegen|ab|bis|von) ){HOUR}(?:[:.]00)? ?h", "{h:m} Uhr"),
        Rule("time", rf"(?<=\b(?i:um|gegen|ab) ){HOUR}:00", "{h:m} Uhr"),
        Rule("time", rf"(?<=\b(?i:um|gegen|ab) ){HOUR}:{_MINUTE}", "{h:m} Uhr {m}"),
        Rule("number", r"(?P<a>\d{1,3}):(?P<b>\d|[6-9]\d|\d{3,6})", "{a} zu {b}"),
        Rule("number", r"(?P<a>2[5-9]|[3-9]\d):(?P<b>\d\d)(?! (?:Min|Std|Stund))", "{a} zu {b}"),
        Rule("number", r"(?<=\b(?:Verhältnis|Maßstab)(?: von)? )(?P<a>\d{1,3}):(?P<b>\d+)", "{a} zu {b}"),
        Rule("date", rf"{_DAY_BEFORE}{DAY}\. ?{MONTH}\. ?{YEAR}", "{d:ordinal}n {mo:month} {y:year}"),
        Rule("date", rf"(?<=\b[Dd]er ){DAY}\. ?{MONTH}\. ?{YEAR}", "{d:ordinal} {mo:month} {y:year}"),
        Rule("date", rf"{_DAY_BEFORE}{DAY}\. ?{MONTH}(?:{_DOT}|(?=\.))(?! ?\d)", "{d:ordinal}n {mo:month}"),
        Rule("date", rf"(?<=\b[Dd]er ){DAY}\. ?{MONTH}(?:{_DOT}|(?=\.))(?! ?\d)", "{d:ordinal} {mo:month}"),
        Rule("date", rf"{_DAY_BEFORE}{_NTH}(?= {_MONTH})", "{n:ordinal}n"),
        Rule(
            "range",
            rf"(?<={_EN} )(?P<a>\d\d?)\.? ?- ?(?P<b>\d\d?)\.(?= (?:{_MONTH}|Jahrhunderts?\b))",
            "{a:ordinal}n bis {b:ordinal}n",
        ),
        Rule(
            "ordinal",
            rf"(?<=\b[Dd]es(?: \p{{Ll}}+en)? )(?P<n>\d\d?)\. (?:Jh|Jhd|Jhdt)(?:{_DOT}|(?=\.))",
            _CENTURY + "s",
        ),
        Rule("ordinal", rf"(?<={_EN}(?:{_AND})? )(?P<n>\d\d?)\. (?:Jh|Jhd|Jhdt)(?:{_DOT}|(?=\.))", _CENTURY),
        Rule("ordinal", rf"(?<={_EN}{_AND}(?: zum| zur| dem| der)? ){_NTH}", "{n:ordinal}n"),
        Rule("ordinal", rf"(?<={_E}{_AND}(?: das| die)? ){_NTH}", "{n:ordinal}"),
        Rule("ordinal", rf"(?<={_EN} ){_NTH}", "{n:ordinal}n"),
        Rule("ordinal", rf"(?<={_E} ){_NTH}", "{n:ordinal}"),
        Rule("ordinal", rf"(?<=\b(?i:{_DER}) ){_NTH}(?= {_MASCULINE})", "{n:ordinal}"),
        Rule("ordinal", rf"(?<=\b(?i:{_DER}) ){_NTH}(?= {_FEMININE})", "{n:ordinal}n"),
        Rule("ordinal", rf"(?<=\b(?i:dieses|jedes|jenes|welches) ){_NTH}(?= {_NEUTER})", "{n:ordinal}"),
        Rule("ordinal", rf"(?<=\b(?i:{_EIN}) ){_NTH}(?= {_MASCULINE})", "{n:ordinal}r"),
        Rule("ordinal", rf"(?<=\b(?i:{_EIN}) ){_NTH}(?= {_NEUTER})", "{n:ordinal}s"),
        Rule("ordinal", rf"(?<=\b(?i:{_DATIVE}|in) ){_NTH}(?= {_FEMININE})", "{n:ordinal}r"),
        Rule("roman", rf"(?<=\b(?:{_KINGS})s )(?!I ){_ROMAN}", "des {r:ordinal}n"),
        Rule("roman", rf"(?<=\bdes {_RULER}(?:e?s|en)? {_KING}){_ROMAN}", "des {r:ordinal}n"),
        Rule(
            "roman",
            rf"(?<=\b(?i:von|vom|mit|unter|bei|nach|zu|seit|aus|vor|gegenüber|neben|dem) {_KING}){_ROMAN}",
            "dem {r:ordinal}n",
        ),
        Rule("roman", rf"(?<=\b(?i:für|gegen|durch|ohne|um|auf|über|den) {_KING}){_ROMAN}", "den {r:ordinal}n"),
        Rule(
            "roman",
            rf"(?<=(?:^\"?|\b[Dd]er (?:\p{{Ll}}+e )?(?={_RULER})|\b(?i:als|dass|wenn|weil|nachdem|bevor|obwohl|ob|wie|"
            rf"ist|war|wurde|hieß|starb|regierte|herrschte) ){_KING}){_ROMAN}",
            "der {r:ordinal}",
        ),
        Rule("roman", rf"(?<=\b(?:{_QUEENS})s |\b(?i:{_DATIVE}|unter|neben|der) {_QUEEN}){_ROMAN}", "der {r:ordinal}n"),
        Rule("roman", rf"(?<=(?<!\b(?:an|auf|in) ){_QUEEN}){_ROMAN}", "die {r:ordinal}"),
        Rule("roman", rf"(?<={_EN} )(?P<r>[IVX]+)\.(?= {_COUNTED_BY_ROMANS})", "{r:ordinal}n"),
        Rule("roman", rf"(?<={_E} )(?P<r>[IVX]+)\.(?= {_COUNTED_BY_ROMANS})", "{r:ordinal}"),
        Rule("roman", rf"(?<=\b(?:{_NUMBERED}|Akt|Buch|Hartz|Apollo|Szene|Anhang|Anlage) )(?P<r>[IVXL]+)", "{r}"),
        Rule(
            "digits",
            r"(?<=\b(?:PLZ|Postleitzahl|PIN|Code|Vorwahl|Durchwahl|Notruf|Notrufnummer) )(?P<n>\d{3,6})",
            "{n:digits}",
        ),
        Rule("year", rf"{YEAR}-?er", "{y:year}er"),
        Rule("year", rf"{YEAR}-?ern", "{y:year}ern"),
        Rule("number", r"(?P<n>[2-9]|[1-9]\d)-?er", "{n}er"),
        Rule("number", r"(?P<n>[2-9]|[1-9]\d)-?ern", "{n}ern"),
        Rule("year", rf"(?P<n>\d{{1,4}}) v\. ?Chr(?:{_DOT}|(?=\.))", "{n:year} vor Christus"),
        Rule("year", rf"(?P<n>\d{{1,4}}) n\. ?Chr(?:{_DOT}|(?=\.))", "{n:year} nach Christus"),
        Rule("range", YEARS, "{a:year} bis {b:year}"),
        Rule("range", rf"1 ?- ?(?P<b>{_NUMBER})(?= ?(?:{_MEASURES})| (?:{_COUNTED})\b)", "ein bis {b:=}"),
        Rule("range", rf"(?<!\b(?:{_NUMBERED}) )1 bis (?P<b>\d+)(?= (?:{_COUNTED})\b)", "ein bis {b}"),
        Rule(
            "range", rf"(?P<a>{_NUMBER}) ?- ?(?P<b>{_NUMBER})(?= ?(?:{_MEASURES})| (?:{_COUNTED})\b)", "{a:=} bis {b:=}"
        ),
        Rule("range", rf"(?<=\b(?:Seiten?|Kapitel|Paragrafen|Verse|Artikel) ){RANGE}", "{a} bis {b}"),
        Rule("fraction", r"(?P<w>\d+) 1[/⁄]2", "{w:m}einhalb"),
        Rule("fraction", r"(?P<w>\d+) 1[/⁄]4", "{w:m}einviertel"),
        Rule("fraction", r"(?P<w>\d+) 3[/⁄]4", "{w:m}dreiviertel"),
        Rule("fraction", rf"{_TO_DATIVE}1[/⁄]2(?= (?:{_ONE_F})\b)", "einer halben"),
        Rule("fraction", rf"{_TO_DATIVE}1[/⁄]2(?= (?:{_ONE_M}|{_ONE_N})\b)", "einem halben"),
        Rule("fraction", rf"{_TO_ACCUSATIVE}1[/⁄]2(?= (?:{_ONE_M})\b)", "einen halben"),
        Rule("fraction", rf"{_NOMINATIVE_OR_ACCUSATIVE}1[/⁄]2(?= (?:{_ONE_F})\b)", "eine halbe"),
        Rule("fraction", rf"{_NOMINATIVE_OR_ACCUSATIVE}1[/⁄]2(?= (?:{_ONE_N})\b)", "ein halbes"),
        Rule("fraction", rf"{_TO_DATIVE}1[/⁄](?P<b>[3-9]|10|12|20|100)", "einem {b:ordinal}l"),
        Rule("fraction", rf"{_NOMINATIVE_OR_ACCUSATIVE}1[/⁄](?P<b>[3-9]|10|12|20|100){_PART_OF}", "ein {b:ordinal}l"),
        Rule("fraction", rf"{_TO_DATIVE}(?P<a>[2-9])[/⁄](?P<b>[3-9]|10|12|20|100)", "{a} {b:ordinal}ln"),
        Rule(
            "fraction",
            rf"{_NOMINATIVE_OR_ACCUSATIVE}(?P<a>[2-9])[/⁄](?P<b>[3-9]|10|12|20|100){_PART_OF}",
            "{a} {b:ordinal}l",
        ),
        Rule("money", r"1,(?P<c>\d[1-9]|[1-9]0) ?(?:€|Euro)|€ ?1,(?P<c>\d[1-9]|[1-9]0)", "ein Euro {c}"),
        Rule("money", r"(?P<e>[2-9]|[1-9]\d{1,2}),(?P<c>\d[1-9]|[1-9]0) Euro", "{e:m} Euro {c}"),
        Rule("money", r"0,(?P<c>\d[2-9]|[1-9]\d) Euro", "{c} Cent"),
        Rule("money", rf"(?P<n>{_NUMBER}),-+ ?(?:€|Euro|EUR)|(?:€|EUR) ?(?P<n>{_NUMBER})(?:,-+)", "{n:=} Euro"),
        Rule("money", rf"EUR (?P<n>{_NUMBER})", "{n:=} Euro"),
        Rule("money", r"(?<=\b(?i:mit|von|zu|bei|aus|nach|seit) )1 ?Mio\.? ?€", "einer Million Euro"),
        Rule("money", r"1 ?Mio\.? ?€", "eine Million Euro"),
        Rule("number", rf"1 ?Mio(?:{_DOT}|(?=\.)|(?= ))", "1 Million"),
        Rule("number", rf"1 ?Mrd(?:{_DOT}|(?=\.)|(?= ))", "1 Milliarde"),
        Rule("money", rf"(?P<n>{_NUMBER}) ?(?:Mio\.?|Millionen) ?€", "{n:=} Millionen Euro"),
        Rule("money", rf"(?P<n>{_NUMBER}) ?(?:Mrd\.?|Milliarden) ?€", "{n:=} Milliarden Euro"),
        Rule("number", rf"(?P<n>{_NUMBER}) ?Mio(?:{_DOT})?", "{n:=} Millionen"),
        Rule("number", rf"(?P<n>{_NUMBER}) ?Mrd(?:{_DOT})?", "{n:=} Milliarden"),
        Rule("number", rf"(?P<n>\d{{1,3}}) ?Tsd(?:{_DOT})?", "{n:m}tausend"),
        Rule("unit", rf"(?P<n>{_NUMBER}) ?Std(?:{_DOT})?", "{n:=} Stunden"),
        Rule("unit", rf"(?P<n>{_NUMBER}) ?Min(?:{_DOT})?", "{n:=} Minuten"),
        Rule("unit", rf"(?P<n>{_NUMBER}) ?Sek(?:{_DOT})?", "{n:=} Sekunden"),
        Rule("unit", r"1°(?! ?\d)", "ein Grad"),
        Rule("unit", rf"(?P<n>{_NUMBER})°(?! ?\d)", "{n:=} Grad"),
        Rule("unit", r"(?P<a>[2-9]),(?P<b>[1-9]\d) ?m(?= (?:groß|hoch|lang|breit|tief|weit)\b)", "{a} Meter {b}"),
        Rule("unit", r"1,(?P<b>[1-9]\d) ?m(?= (?:groß|hoch|lang|breit|tief|weit)\b)", "einen Meter {b}"),
        # Written out, one awaits its case.
        Rule("money", "1 ?€|€ ?1", "1 Euro"),
        Rule("money", r"1 ?\$|\$ ?1", "1 Dollar"),
        Rule("percent", "1 ?%", "1 Prozent"),
        Rule("unit", "1 ?km(?!/)", "1 Kilometer"),
        Rule("unit", "1 ?m(?![/^])", "1 Meter"),
        Rule("unit", "1 ?cm(?!\\^)", "1 Zentimeter"),
        Rule("unit", "1 ?kg(?!/)", "1 Kilogramm"),
        Rule("unit", "1 ?g(?!/)", "1 Gramm"),
        Rule("unit", "1 ?l(?!/)", "1 Liter"),
        Rule("unit", "1 ?t(?!/)", "1 Tonne"),
        Rule("unit", "1 ?h", "1 Stunde"),
        Rule("unit", "1 ?°C", "1 Grad Celsius"),
        Rule("number", rf"(?<=\b(?:{_NUMBERED}) )(?P<n>(?:\d*0)?1)", "{n}"),
        Rule("number", rf"{_TO_DATIVE}1(?= (?:{_ONE_M}|{_ONE_N})\b)", "einem"),
        Rule("number", rf"{_TO_DATIVE}1(?= (?:{_ONE_F})\b)", "einer"),
        Rule("number", rf"{_TO_ACCUSATIVE}1(?= (?:{_ONE_M})\b)", "einen"),
        Rule("number", rf"1(?= (?:{_ONE_M}){_OF_MEASURE})", "einen"),
        Rule(
            "number", rf"(?<=[:(] ?|^)1(?= (?:{_ONE_M}) (?:und|oder|ist|pro|je|für|entspricht|kommt|reicht)\b)", "ein"
        ),
        Rule("number", rf"{_NOMINATIVE_OR_ACCUSATIVE}1(?= (?:{_ONE_F})\b)", "eine"),
        Rule("number", rf"{_NOMINATIVE_OR_ACCUSATIVE}1(?= (?:{_ONE_N})\b)", "ein"),
        Rule("number", r"(?<!\p{L}-)(?P<n>(?:\d*0)?1)(?=-\p{L})", "{n:m}"),
        Rule("number", r"(?P<n>\d+) ?x(?= (?:täglich|wöchentlich|jährlich|pro|am|im|die)\b)", "{n:m}mal"),
        Rule("number", r"(?P<n>\d+)-?fach", "{n:m}fach"),
        Rule("number", r"(?P<n>\d+)-?mal", "{n:m}mal"),
        Rule("number", r"(?P<n>\d+(?:\.\d{3})*)\+(?!\+)", "{n} plus"),
    ),
    months=tuple(_MONTHS),
    units={
        "km": noun("Kilometer", "m"),
        "m": noun("Meter", "m"),
        "cm": noun("Zentimeter", "m"),
        "mm": noun("Millimeter", "m"),
        "kg": noun("Kilogramm", "m"),
        "g": noun("Gramm", "m"),
        "mg": noun("Milligramm", "m"),
        "t": noun("Tonne Tonnen", "f"),
        "l": noun("Liter", "m"),
        "ml": noun("Milliliter", "m"),
        "cl": noun("Zentiliter", "m"),
        "km/h": noun("Kilometer_pro_Stunde", "m"),
        "m/s": noun("Meter_pro_Sekunde", "m"),
        **dict.fromkeys(("cm²", "cm2"), noun("Quadratzentimeter", "m")),
        **dict.fromkeys(("m²", "m2", "qm"), noun("Quadratmeter", "m")),
        **dict.fromkeys(("km²", "km2"), noun("Quadratkilometer", "m")),
        **dict.fromkeys(("m³", "m3"), noun("Kubikmeter", "m")),
        "ha": noun("Hektar", "m"),
        "°C": noun("Grad_Celsius", "m"),
        "h": noun("Stunde Stunden", "f"),
        "min": noun("Minute Minuten", "f"),
        "s": noun("Sekunde Sekunden", "f"),
        "W": noun("Watt", "m"),
        "kW": noun("Kilowatt", "m"),
        "MW": noun("Megawatt", "m"),
        "GW": noun("Gigawatt", "m"),
        "kWh": noun("Kilowattstunde Kilowattstunden", "f"),
        "MWh": noun("Megawattstunde Megawattstunden", "f"),
        "MB": noun("Megabyte", "m"),
        "GB": noun("Gigabyte", "m"),
        "TB": noun("Terabyte", "m"),
        "Hz": noun("Hertz", "m"),
        "kHz": noun("Kilohertz", "m"),
        "MHz": noun("Megahertz", "m"),
        "GHz": noun("Gigahertz", "m"),
        "dB": noun("Dezibel", "m"),
        "kcal": noun("Kilokalorie Kilokalorien", "f"),
        "EL": noun("Esslöffel", "m"),
        "TL": noun("Teelöffel", "m"),
    },
    decimal=",",
    thousands=".'",
    point=noun("Komma"),
    minus="minus",
    agreement={"m": (("eins$", "ein"),), "f": (("eins$", "eine"),)},
    agrees="eins$",
    agrees_not_before=r" (?:ist|war|zu|plus|minus|gegen|in|im|am|bei|als|wie)\b"
    r"| (?:und|oder|bis|mal) \d+(?:[.,;:!?)]|$| \p{Ll})",
    percent=noun("Prozent", "m"),
    currencies={
        **dict.fromkeys(("€", "EUR"), money("Euro", "Cent", "m")),
        **dict.fromkeys(("$", "US$"), money("Dollar", "Cent", "m")),
        "£": money("Pfund", "Pence", "m"),
        "¥": money("Yen", gender="m"),
        "CHF": money("Franken", "Rappen", "m"),
        "ct": money("Cent", gender="m"),
    },
    magnitudes="Millionen|Milliarden|Million|Milliarde",
    century="hundert",
    dot="unsure",
    # An ordinal or the end of a sentence; abbreviations; telephone numbers.
    unsure=rf"(?<=(?<!\d)\d{{1,3}})\. (?!(?:{_STARTS})\b)\p{{Lu}}|\.[/+-]|(?<=\b(?:w[iu]rden?|werden|als) \d\d?)\."
    r"| ?(?:[b-df-hj-np-tv-xz]{1,4}|Mio|Mrd|Tsd|Std|Min|Sek|[kMGT]?(?:Pa|V|Ah|J))\b"
    r"| \p{Lu}[b-df-hj-np-tv-xz]{1,4}\.|(?<=\b0\d+)[ /-]+\d",
    unsure_words="^eine Million$",  # in the dative: einer Million
    unsure_before=r"\b(?:EUR|USD|GBP|CHF) |\d ?[x×] ?|\b\p{Ll}{1,3}/|\b0\d+[ /-]+(?:\d+[ /-]+)*|\+\d+ (?:\d+ )*",
    titles={"Dr.": "Doktor", "Prof.": "Professor", "St.": "Sankt", "Hr.": "Herr", "Hrn.": "Herrn", "Fr.": "Frau"},
    numbered={
        **{"n°": "Nummer", "Nr.": "Nummer", "Nrn.": "Nummern", "S.": "Seite", "Art.": "Artikel", "Abs.": "Absatz"},
        **{"§": "Paragraf", "§§": "Paragrafen", "Kap.": "Kapitel", "Bd.": "Band", "Abb.": "Abbildung"},
        **{"Tab.": "Tabelle", "Tel.": "Telefon", "geb.": "geboren", "gest.": "gestorben"},
        **{"ca.": "circa", "rd.": "rund", "mind.": "mindestens", "max.": "maximal"},
        **{"Jan.": "Januar", "Feb.": "Februar", "Aug.": "August", "Sept.": "September", "Sep.": "September"},
        **{"Okt.": "Oktober", "Nov.": "November", "Dez.": "Dezember"},
    },
    phrases={
        **{"z. B.": "zum Beispiel", "d. h.": "das heißt", "u. a.": "unter anderem", "bzw.": "beziehungsweise"},
        **{"Z. B.": "Zum Beispiel", "vgl.": "vergleiche", "evtl.": "eventuell", "i. d. R.": "in der Regel"},
        **{"v. a.": "vor allem", "z. T.": "zum Teil", "ggf.": "gegebenenfalls", "inkl.": "inklusive"},
    },
    closings={"usw.": "und so weiter", "u. s. w.": "und so weiter", "etc.": "et cetera"},
)
