"""How Polish writes and says numbers, and its abbreviations."""

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

_MONTHS = "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia"
_OF_MONTH = rf"(?= (?:{_MONTHS.replace(' ', '|')})\b)"
_AFTER_MONTH = rf"(?<=\b(?:{_MONTHS.replace(' ', '|')}) )"

# Numbers above one, with or without groups.
_N = r"(?<!\d[ .,])(?P<n>(?!1(?!\d| \d{3}))[1-9]\d{0,2}(?: \d{3}){1,2}|(?!1(?!\d))[1-9]\d{0,5})(?! \d)"
_FEW = r"(?<!\d[ .,])(?P<n>(?:[1-9]\d*(?<!1))?[2-4])"
_TWO = r"(?<!\d[ .,])(?P<n>(?:[1-9]\d*(?<!1))?2)"
_RANGE = r"(?P<a>\d+(?:,\d+)?) ?- ?(?P<b>\d+(?:,\d+)?)"
_GEN, _LOC = "{n:cardinal-masculine-genitive}", "{n:cardinal-masculine-locative}"
_DAT, _INS = "{n:cardinal-masculine-dative}", "{n:cardinal-masculine-instrumental}"

_ADJECTIVE = r"(?:\p{Ll}+(?:ych|ich) )?"
_PERSONS = (
    "lekarzy|żołnierzy|pasażerów|mieszkańców|pracowników|uczniów|studentów|zawodników|piłkarzy|graczy|posłów|senatorów|"
    "radnych|policjantów|strażaków|górników|nauczycieli|kierowców|rowerzystów|turystów|widzów|kibiców|gości|"
    "uczestników|mężczyzn|chłopców|synów|braci|ludzi|ministrów|sędziów|księży|biskupów|naukowców|artystów|aktorów|"
    "muzyków|członków|kandydatów|wyborców|obywateli|migrantów|uchodźców|imigrantów|emigrantów|rannych|zabitych|"
    "poszkodowanych|chorych|zakażonych|bezrobotnych|bezdomnych|bojowników|terrorystów|jeńców|więźniów|oficerów|pilotów|"
    "marynarzy|powstańców|partyzantów|Polaków|Niemców|Rosjan|Ukraińców|Amerykanów|Żydów|Francuzów|Anglików|Czechów|"
    "przedsiębiorców|rolników|robotników|urzędników|ekspertów|specjalistów|inżynierów|dziennikarzy|pisarzy|poetów|"
    "autorów|reżyserów|sportowców|abonentów|klientów|użytkowników|pacjentów|ratowników|przyjaciół|kolegów|rycerzy|"
    "zakonników|mnichów|świadków|sąsiadów|delegatów|przedstawicieli|respondentów|czytelników|słuchaczy|internautów|"
    "osadzonych|zatrzymanych|oskarżonych|podejrzanych|dorosłych|emerytów|zwolenników|protestujących|sprawców|"
    "napastników|ochroniarzy|funkcjonariuszy|dyrektorów|profesorów|wojowników|obrońców|harcerzy|muzykantów|kolarzy|"
    "biegaczy|siatkarzy|koszykarzy|tancerzy|sędziów|Litwinów|Szwedów|Włochów|Hiszpanów|Chińczyków|Czeczenów|więźniów"
)
_PERSONS_NOMINATIVE = (
    "mężczyźni|bracia|panowie|synowie|chłopcy|koledzy|przyjaciele|zawodnicy|piłkarze|policjanci|studenci|uczniowie|"
    "żołnierze|lekarze|posłowie|sędziowie|muzycy|aktorzy|autorzy|pracownicy|strażacy|kandydaci|napastnicy|królowie"
)
# Words after which the number of a plural stands in the genitive.
_GENITIVE = (
    "od|do|dla|bez|około|koło|blisko|powyżej|poniżej|wśród|spośród|wokół|oprócz|zamiast|w ciągu|w wieku|w wysokości|"
    "w odległości|długości|szerokości|powierzchni|wartości|wadze|pojemności|mocy|masie|głębokości|średnicy|grubości|"
    "wysokości|prędkości|temperaturze|w cenie|w przypadku|liczb[yęa]|liczbie|w promieniu|w granicach|rzędu|"
    "sięga|sięgał[aoy]?|sięgają|dożył[ay]?|brakuje(?: \\p{Ll}+){0,2}|brakowało(?: \\p{Ll}+){0,2}|zabraknie|potrzeba|"
    "potrzebuj[eęą]|potrzebował[ay]?|wymaga|wymagają|dotycz[yą]|dotyczył[ayo]?|udzielił[ayo]?|"
    "grup[aęy]|grupie|większość|śmierć|śmierci|połow[aęy]"
)
_TO_GENITIVE = rf"(?<=\b(?i:{_GENITIVE}) )"
_OBLIQUE = rf"{_GENITIVE}|u|w|we|po|przy|z|ze|przed|nad|pod|między|pomiędzy|wobec|dzięki|przeciw|przeciwko|ku|poza"
# Plural genitives by their form; not singulars or function words.
_IN_GENITIVE = (
    rf"(?= \p{{Ll}}+(?:ych|ich)\b| {_ADJECTIVE}"
    rf"(?:(?:{_PERSONS}|procent|dni|osób|ludzi|państw|godzin|minut|miesięcy|tygodni|tysięcy|euro|pokoi|części|"
    r"stacji|sztuk|lekcji|wersji|edycji|powieści|kolei|km|kg|cm|zł)(?![\p{L}^/])|\p{Ll}+ów\b)"
    r"| (?!oraz|przed|jest|był|być|nad|pod|przez|więc|też|lub|raz|czy|tak|bez|milion|miliard|proc|tys|mln|mld|"
    r"min|sek|godz|szt|pkt|cal|stycz|wrze|tysiąc)\p{Ll}{2,}[bdfgklłmnńprstwzżcś](?<!ym|im|om)\b)"
)
_FEMININE = (
    "godzin|minut|sekund|osob|kobiet|ofiar|rodzin|ton|dob|dekad|stron|sztuk|bramk|rund|szklank|łyżk|łyżeczk|książk|"
    "córk|siostr|dziewczynk|dziewczyn|gmin|szkoł|firm|spółk|drużyn|płyt|prób|butelk|tabletk|kropl|porcj|wersj|grup|klas|"
    "lekcj|lini|nagrod|złotówk|edycj|piosenk|ulic|noc|powieśc|częśc|rzek|wysp|wież|ścian|wojn|walk|bitw|rocznic"
)
_OTHERS = (
    "lata|dni|tygodnie|miesiące|wieki|metry|kilometry|centymetry|milimetry|hektary|stopnie|kilogramy|gramy|litry|złote|"
    "dolary|funty|grosze|razy|punkty|procent|tysiące|miliony|miliardy|głosy|miejsca|mecze|gole|miasta|kraje|"
    "państwa|domy|mieszkania|pokoje|samochody|auta|słowa|jajka|ząbki|gatunki|języki|zdjęcia|filmy|odcinki|sety|rzędy|"
    "etapy|sezony|psy|koty|konie|statki|okręty|samoloty|pociągi|autobusy|rowery|telefony|komputery|tomy|rozdziały|"
    "rok|dzień|tydzień|miesiąc|wiek|metr|kilometr|centymetr|milimetr|hektar|stopień|kilogram|gram|litr|złoty|dolar|"
    "funt|grosz|raz|punkt|tysiąc|milion|miliard|głos|mecz|gol|dom|pokój|samochód|gatunek|odcinek|set|sezon|rozdział|"
    "i|lub|oraz|do|na|w|z|od|to|czy|po"
)
# Collectives, and words that can be persons: "pięć" or "pięcioro", "pięciu".
_UNKNOWN = (
    r" (?:\p{Ll}+(?:ych|ich) )?(?:dzieci|drzwi|skrzypiec|nożyczek|spodni|okularów|rodzeństwa|\p{Ll}+ąt|"
    r"(?!(?:pomn|wyn|dzien|sil|czyn|słow|przypad|wskaź|wier|pod|wnios|do|mo|dokumen|frag|monumen|instrumen|parlamen|"
    r"kontynen|procen|prezen|argumen|elemen|segmen|kolor|wybor|utwor|sektor|motor|telewizor|rower|numer|komputer|serwer|"
    r"order|krań|tań|pociąg|sześcian|oce|plan|stan|tytan|kasztan|organ|kata|trak|cmen|koryt|kalend|zeg|komen|egzempl))"
    r"\p{L}+(?:istów|ystów|ników|ców|ntów|orów|erów|logów|czyków|anów|cieli|atów|etów|arzy|erzy|aczy|owie))\b"
    r"|(?<=[2-4]) \p{L}+(?:ści|źni|cy|ni|szy|rzy)\b"
    r"| \p{L}+(?:ych|ich|ego|ej|emu|ym|im|ymi|imi)\b"
    r"(?! (?!przed|nad|pod|oraz|lub|przez|jest)\p{Ll}{2,}[^\W\daeiouyęąó]\b)"
)

_FEMININE_OBLIQUE = "ordinal-feminine-locative"
_AT = (
    r"(?<=\b(?i:o|od|do|po|około|koło) (?:godzin(?:ie|y) )?"
    r"|\b(?i:od|do|o|między|godzinach(?: od)?) [^\d]{0,12}\d\d?(?:[.:]\d\d)? (?:do|i|a) |\bgodzin(?:ie|y) )"
)
_HOUR, _MINUTE = r"(?P<h>0?\d|1\d|2[0-4])", r"(?P<m>[1-5]\d)"
_H = f"{{h:{_FEMININE_OBLIQUE}}}"
_NO_UNIT = r"(?! ?(?:procent|proc|%|zł|mln|mld|tys|km|m|kg|pkt|punkt|lat|dni|godzin|osób)\b)"
# Full stops that end the sentence too are kept.
_R = r"(?:r\.(?![\"')]*$)|r(?=\.[\"')]*$)|roku\b)"
_W = r"(?:w\.(?![\"')]*$)|w(?=\.[\"')]*$)|wieku\b)"
_IN = r"(?<=\b(?i:w|we|po|o|na|przy) )"
_Y = r"(?<!\d )(?P<y>[1-9]\d{2,3})"

_ROMAN = r"(?P<r>[IVX]{1,7})"
_KING = (
    r"(?<=\b(?:Jan|Zygmunt|August|Stanisław|Władysław|Kazimierz|Henryk|Stefan|Aleksande?r|Karol|Ludwik|Fryderyk|Leon|"
    r"Wilhelm|Pius|Grzegorz|Klemens|Urban|Benedykt|Edward|Filip|Ferdynand|Francisze?k|Józef|Bolesław|Lesze?k|"
    r"Konrad|Przemysł|Wacław|Ryszard|Jakub|Iwan|Ramzes|Gustaw|Chrystian|Juliusz|Sykstus|Rudolf|Maksymilian|Albert|"
    r"Leopold|Napoleon|Alfons|Wiktor|Pawe?ł|Piotr|Otton|Mikołaj|Olaf|Harald|Michał|Aleksy|Innocenty|Bonifacy)"
)
_QUEEN = r"(?<=\b(?:Elżbiet|Katarzyn|Małgorzat|Joann|Krystyn|Izabel|Kleopatr)"
_NAMED_BY_ROMANS = r"(?P<r>[IVX]{2,7}|[VX](?!\.? \p{Lu}\.)|I(?![ .]*(?:\p{Lu}\.|\p{Ll}+em\b)))"
_NTH = r"(?P<r>[IVX]{2,}|[VX]|(?<=\p{L} )I)"
_N_TH = r"(?P<n>[1-9]\d{0,3})\."

_COMPOUND = (
    r"(?P<w>(?:let|lat(?:ek|k)|leci|osobow|krot|minut|godzin|dniow|tygodni|miesięcz|kilometr|metr|pokoj|piętr|stopni|"
    r"procent|tysięcz|złot|calow|litr|kilogram|tonow|hektar|punkt|rocz|drzwiow|bit|konn|sekund|strzał|kondygn|"
    r"milimetr|centymetr|gram|stron|element|głos|cyfr|dolar|klas)\p{Ll}+)"
)
_MASCULINE_PART = "roku|miesiąca|tygodnia|kilometra|metra|litra|kilograma|wieku|dnia|miliona|miliarda|tysiąca|punktu"
_FEMININE_PART = "godziny|szklanki|łyżki|łyżeczki|doby|strony|minuty|tony|kostki|porcji|cebuli|cytryny"
_NOT_OBLIQUE = rf"(?<!\b(?i:{_OBLIQUE}) )"

POLISH = Convention(
    words="pl",
    icu="pl",
    substitutions=(
        ("piętdziesiąt", "pięćdziesiąt"),
        ("dziewiętdziesiąt", "dziewięćdziesiąt"),
        ("szesdziesiąt", "sześćdziesiąt"),
    ),
    decimal=",",
    thousands=" .",
    point=noun("przecinek"),
    fraction_is_number=True,
    minus="minus",
    plural="polish",
    agreement={
        "n": (("^jeden$", "jedno"),),
        "f": (("^jeden$", "jedna"), (r"\bdwa$", "dwie")),
        "compound": (
            (r"\bjeden$", "jedno"),
            (r"\bdwa$", "dwu"),
            (r"\bcztery$", "cztero"),
            (r"\bosiem$", "ośmio"),
            (r"\bsiedem$", "siedmio"),
            (r"\b(pię|dziewię|dziesię)ć$", r"\1cio"),
            (r"\bsześć$", "sześcio"),
            ("naście$", "nasto"),
            ("(dzieścia|dzieści)", "dziesto"),
            ("dziesiąt", "dziesięcio"),
            (r"^sto\b", "stu"),
            (" ", ""),
        ),
    },
    agrees=r"(?:^jeden|\bdwa)$",
    agrees_not_before=rf" (?:{_OTHERS})(?!\p{{L}})",
    rules=(
        Rule("number", rf"(?P<n>[1-9]\d?|1\d\d)-{_COMPOUND}", "{n:compound}{w:=}"),
        Rule("date", rf"(?<=\b[Pp]rzed ){DAY}{_OF_MONTH}", "{d:ordinal-masculine-instrumental}"),
        Rule("date", rf"(?<=\b[Pp]o ){DAY}{_OF_MONTH}", "{d:ordinal-masculine-locative}"),
        Rule(
            "date",
            rf"(?<=\b[Mm]iędzy )(?P<a>\d\d?) (?:a|i) (?P<b>\d\d?){_OF_MONTH}",
            "{a:ordinal-masculine-instrumental} a {b:ordinal-masculine-instrumental}",
        ),
        Rule(
            "date",
            rf"(?P<a>\d\d?) ?- ?(?P<b>\d\d?){_OF_MONTH}",
            "od {a:ordinal-masculine-genitive} do {b:ordinal-masculine-genitive}",
        ),
        Rule(
            "date",
            rf"(?<!\d )(?P<a>\d\d?) (?P<x>i|do|lub|oraz|na) (?P<b>\d\d?){_OF_MONTH}",
            "{a:ordinal-masculine-genitive} {x:=} {b:ordinal-masculine-genitive}",
        ),
        Rule("date", rf"(?<!\d ){DAY}{_OF_MONTH}", "{d:ordinal-masculine-genitive}"),
        Rule("year", rf"{_AFTER_MONTH}{YEAR} {_R}", "{y:ordinal-masculine-genitive} roku"),
        Rule("year", rf"{_AFTER_MONTH}{YEAR}(?! \d)", "{y:ordinal-masculine-genitive}"),
        Rule(
            "date",
            rf"{DAY}\.{MONTH}\.{YEAR} {_R}",
            "{d:ordinal-masculine-genitive} {mo:month} {y:ordinal-masculine-genitive} roku",
        ),
        Rule(
            "date",
            rf"{DAY}\.{MONTH}\.{YEAR}",
            "{d:ordinal-masculine-genitive} {mo:month} {y:ordinal-masculine-genitive}",
        ),
        Rule("year", rf"{_IN}(?P<y>\d{{1,2}}) r\.(?= przed naszą)", "{y:ordinal-masculine-locative} roku"),
        Rule("year", rf"{_IN}{_Y} {_R}", "{y:ordinal-masculine-locative} roku"),
        Rule("year", rf"(?<![-/ia] ?){_Y} {_R}", "{y:ordinal-masculine-genitive} roku"),
        Rule("year", rf"(?<=\b(?i:w|po|o) roku ){_Y}", "{y:ordinal-masculine-locative}"),
        Rule("year", rf"(?<=\broku ){_Y}", "{y:ordinal-masculine-genitive}"),
        Rule("year", rf"(?<=\brokiem ){_Y}", "{y:ordinal-masculine-instrumental}"),
        Rule("year", rf"(?<=\b[Rr]ok ){_Y}", "{y:ordinal-masculine}"),
        Rule("year", r"(?<=\blat(?:ach)? )(?P<n>[2-9]0)(?:\.|-tych)(?! ?\d)", "{n:ordinal-plural-genitive}"),
        Rule("year", r"(?<=\b[Ll]ata )(?P<n>[2-9]0)(?:\.|-te)(?! ?\d)", "{n:ordinal-plural}"),
        Rule("year", r"(?<=\blat(?:ach)? \p{L}+ [iao] )(?P<n>[2-9]0)\.(?! ?\d)", "{n:ordinal-plural-genitive}"),
        Rule("year", r"(?<=\b[Ll]ata \p{L}+ i )(?P<n>[2-9]0)\.(?! ?\d)", "{n:ordinal-plural}"),
        Rule("range", rf"(?<=\b(?:[Ll]ata|[Ll]atach|lat) |\(){YEARS}", "{a} - {b}"),
        Rule(
            "year",
            r"(?<=\b[Ww] )(?P<y>1[5-9]\d\d|20[0-3]\d)(?=[,;:)]|\.?$|\. \p{Lu}| (?!\p{Ll}+(?:ach|ech|ych|ich)\b)\p{Ll})",
            "{y:ordinal-masculine-locative}",
        ),
        Rule("time", r"(?<=\b[Oo] )godz\.(?= ?\d)", "godzinie"),
        Rule("time", r"(?<=\b(?i:od|do|około|koło) )godz\.(?= ?\d)", "godziny"),
        Rule("time", r"(?<=\b[Pp]o )godz\.(?= ?\d)", "godzinie"),
        Rule(
            "time",
            r"(?<=\b[Ww] )(?:godz\.|godzinach) (?P<a>[01]?\d|2[0-4])(?:[.:]00)? ?- ?(?P<b>[01]?\d|2[0-4])(?:[.:]00)?",
            f"godzinach od {{a:{_FEMININE_OBLIQUE}}} do {{b:{_FEMININE_OBLIQUE}}}",
        ),
        Rule("time", rf"{_AT}{_HOUR}[.:]00{_NO_UNIT}", _H),
        Rule("time", rf"{_AT}{_HOUR}[.:]0(?P<m>[1-9]){_NO_UNIT}", f"{_H} zero {{m}}"),
        Rule("time", rf"{_AT}{_HOUR}[.:]{_MINUTE}{_NO_UNIT}", f"{_H} {{m}}"),
        Rule("time", rf"(?<=\b[Gg]odzina ){_HOUR}", "{h:ordinal-feminine}"),
        Rule(
            "time",
            r"(?<=\b[Mm]iędzy (?:godziną )?)(?P<a>\d\d?)(?:[.:]00)? a (?P<b>\d\d?)[.:]00",
            "{a:ordinal-feminine-instrumental} a {b:ordinal-feminine-instrumental}",
        ),
        Rule("time", rf"(?<=\bgodzin(?:ie|y) ){_HOUR}", _H),
        Rule("time", rf"(?<=\b[Pp]rzed (?:godziną )?){_HOUR}[.:]00", "{h:ordinal-feminine-instrumental}"),
        Rule("unit", r"proc\.(?![\"')]*$)|proc(?=\.[\"')]*$)", "procent"),
        Rule("money", rf"(?<=\b(?i:od|z) ){_N} zł(?= (?:do|na) \d)", f"{_GEN} złotych"),
        Rule("unit", rf"(?<=\b(?i:od|z) ){_N}(?: ?%| procent)(?= (?:do|na) \d)", f"{_GEN} procent"),
        Rule("number", r"(?P<a>\d{1,3}):(?P<b>\d)", "{a} do {b:cardinal-masculine-genitive}"),
        Rule("roman", rf"{_KING} ){_NAMED_BY_ROMANS}", "{r:ordinal-masculine}"),
        Rule("roman", rf"{_KING}a ){_NAMED_BY_ROMANS}", "{r:ordinal-masculine-genitive}"),
        Rule("roman", rf"{_KING}(?:em|iem) ){_NAMED_BY_ROMANS}", "{r:ordinal-masculine-instrumental}"),
        Rule("roman", rf"{_KING}owi ){_NAMED_BY_ROMANS}", "{r:ordinal-masculine-dative}"),
        Rule("roman", rf"{_QUEEN}a ){_NAMED_BY_ROMANS}", "{r:ordinal-feminine}"),
        Rule("roman", rf"{_QUEEN}[yi] ){_NAMED_BY_ROMANS}", "{r:ordinal-feminine-genitive}"),
        Rule("roman", rf"{_QUEEN}[ęą] ){_NAMED_BY_ROMANS}", "{r:ordinal-feminine-instrumental}"),
        Rule("roman", rf"(?<=\b[Rr]ozdział |\b[Tt]om |\b[Aa]kt ){_ROMAN}", "{r:ordinal-masculine}"),
        Rule("roman", rf"(?<=\b[Cc]zęść |\b[Kk]sięga |\b[Kk]lasa ){_ROMAN}", "{r:ordinal-feminine}"),
        Rule(
            "roman",
            rf"{_NTH}(?= (?:liga|połowa|klasa|edycja|runda|tura|część|dywizja|armia|kadencja)\b)",
            "{r:ordinal-feminine}",
        ),
        Rule(
            "roman",
            rf"{_NTH}(?= (?:lig|lidz|połow|klas|edycj|rund|rundzi|tur|turz|części|dywizj|armi|kadencj)(?:i|ie|y|e)?\b)",
            "{r:ordinal-feminine-genitive}",
        ),
        Rule(
            "roman",
            rf"{_NTH}(?= (?:lig|połow|klas|edycj|rund|tur|dywizj|armi|kadencj)ę\b)",
            "{r:ordinal-feminine-accusative}",
        ),
        Rule("roman", r"(?P<r>II?)(?= [Ww]ojna\b)", "{r:ordinal-feminine}"),
        Rule("roman", r"(?P<r>II?)(?= [Ww]ojn(?:y|ie)\b)", "{r:ordinal-feminine-genitive}"),
        Rule("roman", r"(?P<r>II?)(?= [Ww]ojn[ęą]\b)", "{r:ordinal-feminine-instrumental}"),
        Rule(
            "roman",
            rf"{_IN}(?P<r>[IVX]+)(?P<x> i | lub |-)(?P<b>[IVX]+) {_W}",
            "{r:ordinal-masculine-locative}{x:=}{b:ordinal-masculine-locative} wieku",
        ),
        Rule(
            "roman",
            rf"(?P<r>[IVX]+)(?P<x> i | lub | do |-)(?P<b>[IVX]+) {_W}",
            "{r:ordinal-masculine-genitive}{x:=}{b:ordinal-masculine-genitive} wieku",
        ),
        Rule("roman", rf"{_IN}{_ROMAN} {_W}", "{r:ordinal-masculine-locative} wieku"),
        Rule("roman", rf"{_ROMAN} {_W}", "{r:ordinal-masculine-genitive} wieku"),
        Rule("roman", rf"{_ROMAN}(?= wiek\b)", "{r:ordinal-masculine}"),
        Rule("roman", rf"{_ROMAN}(?= wiekiem\b)", "{r:ordinal-masculine-instrumental}"),
        Rule(
            "ordinal", rf"{_N_TH}(?= (?!imię|zwierzę)\p{{Ll}}+ę\b| \p{{Ll}}+cją\b)", "{n:ordinal-feminine-accusative}"
        ),
        Rule(
            "ordinal",
            rf"{_N_TH}?(?= (?:klasie|rundzie|minucie|lidze|kolejce|połowie)\b)",
            "{n:ordinal-feminine-genitive}",
        ),
        Rule(
            "ordinal",
            rf"{_N_TH}(?= (?:klas|rund|rocznic|minuc|edycj|kolejc|godzin|dywizj|armi|brygad|stron|połow|dekad|minut|"
            r"lidz|lig|kadencj|pozycj|częśc)(?:y|i|ie|e)\b)",
            "{n:ordinal-feminine-genitive}",
        ),
        Rule(
            "ordinal",
            rf"{_N_TH}(?= (?:edycja|runda|rocznica|klasa|minuta|kolejka|część|kadencja)\b)",
            "{n:ordinal-feminine}",
        ),
        Rule(
            "ordinal",
            rf"{_N_TH}?(?= (?:piętrze|miejscu|stuleciu|okrążeniu|rozdziale|etapie|kilometrze)\b)",
            "{n:ordinal-neuter-locative}",
        ),
        Rule(
            "ordinal",
            rf"{_N_TH}(?= (?:piętra|miejsca|stulecia|okrążenia|rozdziału|etapu|sezonu|dnia|kilometra)\b)",
            "{n:ordinal-neuter-genitive}",
        ),
        Rule("ordinal", rf"{_N_TH}?(?= (?:piętro|miejsce|stulecie|okrążenie)\b)", "{n:ordinal-neuter}"),
        Rule(
            "ordinal",
            rf"{_N_TH}(?= (?:dzień|rozdział|etap|sezon|tydzień|miesiąc|kilometr|pułk|artykuł)\b)",
            "{n:ordinal-masculine}",
        ),
        Rule("ordinal", rf"{_N_TH}(?= (?:urodziny|imieniny)\b)", "{n:ordinal-plural}"),
        Rule("ordinal", rf"{_N_TH}(?= (?:urodzin|imienin|urodzinach)\b)", "{n:ordinal-plural-genitive}"),
        Rule("fraction", rf"(?P<w>\d+) 1[/⁄]2(?= (?:{_FEMININE_PART})\b)(?<!\b1 1.2)", "{w:f} i pół"),
        Rule("fraction", rf"(?P<w>\d+) 1[/⁄]2(?= (?:{_MASCULINE_PART})\b)(?<!\b1 1.2)", "{w} i pół"),
        Rule("fraction", rf"1 1[/⁄]2(?= (?:{_FEMININE_PART})\b)", "półtorej"),
        Rule("fraction", rf"1 1[/⁄]2(?= (?:{_MASCULINE_PART})\b)", "półtora"),
        Rule("fraction", rf"1,5(?= (?:{_FEMININE_PART})\b)", "półtorej"),
        Rule("fraction", rf"1,5(?= (?:{_MASCULINE_PART})\b)", "półtora"),
        Rule("fraction", rf"(?<!\d )1[/⁄]2(?= (?:{_MASCULINE_PART}|{_FEMININE_PART})\b)", "pół"),
        Rule("fraction", rf"(?<!\d ){_NOT_OBLIQUE}3[/⁄]4", "trzy czwarte"),
        Rule("fraction", rf"(?<!\d ){_NOT_OBLIQUE}2[/⁄]3", "dwie trzecie"),
        Rule(
            "range",
            rf"(?<=\b[Oo]d ){_N}(?= do \d+(?:{_IN_GENITIVE}| ?%| (?:proc|tys|mln|mld|km|kg|cm|m|zł)(?![\p{{L}}/])))",
            _GEN,
        ),
        Rule("range", rf"{_TO_GENITIVE}{_RANGE}(?= ?%)", "{a:cardinal-masculine-genitive} do {b:=}"),
        Rule(
            "range",
            rf"{_TO_GENITIVE}(?P<a>\d+) ?- ?(?P<b>\d+){_IN_GENITIVE}",
            "{a:cardinal-masculine-genitive} do {b:=}",
        ),
        Rule(
            "range",
            rf"{_NOT_OBLIQUE}{_RANGE}(?= ?%| (?:proc|tys|mln|mld|km|kg|cm|m|zł)(?!\p{{L}}|/))",
            "{a:=} do {b:=}",
        ),
        Rule(
            "range",
            rf"(?<!\d ){_NOT_OBLIQUE}(?P<a>\d+) ?- ?(?P<b>\d+)(?= {_ADJECTIVE}(?:{_PERSONS})\b)",
            "{a:cardinal-masculine-personal} do {b:=}",
        ),
        Rule(
            "range",
            rf"(?<!\d ){_NOT_OBLIQUE}(?P<a>[3-9]|\d+[03-9]) ?- ?(?P<b>\d+){_IN_GENITIVE}(?!{_UNKNOWN})",
            "{a} do {b:=}",
        ),
        Rule(
            "range", rf"(?<!\d ){_NOT_OBLIQUE}(?P<a>[12]) ?- ?(?P<b>[2-4])(?= (?:{_FEMININE})[yie]\b)", "{a:f} - {b:f}"
        ),
        Rule("range", rf"(?<!\d ){_NOT_OBLIQUE}(?P<a>[1-3]) ?- ?(?P<b>[2-4])(?= (?:{_OTHERS})\b)", "{a} - {b}"),
        Rule("number", rf"(?<=\b(?i:{_GENITIVE}|z|ze|u) ){_N}{_IN_GENITIVE}(?! ?(?:km|kg|cm|m|zł)\b)", _GEN),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?(?:%|proc(?:\.|\b))", f"{_GEN} procent"),
        Rule("money", rf"{_TO_GENITIVE}{_N} zł", f"{_GEN} złotych"),
        Rule("money", rf"{_TO_GENITIVE}{_N} ?(?:€|euro)", f"{_GEN} euro"),
        Rule("money", rf"{_TO_GENITIVE}{_N} ?\$", f"{_GEN} dolarów"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} tys\.", f"{_GEN} tysięcy"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} mln", f"{_GEN} milionów"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} mld", f"{_GEN} miliardów"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?km(?![/^])", f"{_GEN} kilometrów"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?km/h", f"{_GEN} kilometrów na godzinę"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?km\^2", f"{_GEN} kilometrów kwadratowych"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?m(?:\^2|2)", f"{_GEN} metrów kwadratowych"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?m(?![/^.])", f"{_GEN} metrów"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?cm(?![/^])", f"{_GEN} centymetrów"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?mm(?![/^])", f"{_GEN} milimetrów"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?kg(?![/^])", f"{_GEN} kilogramów"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?l(?![/^.])", f"{_GEN} litrów"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?ha", f"{_GEN} hektarów"),
        Rule("unit", rf"{_TO_GENITIVE}{_N} ?° ?C", f"{_GEN} stopni Celsjusza"),
        Rule("number", rf"{_N}(?= {_ADJECTIVE}\p{{Ll}}+ach\b)", _LOC),
        Rule("number", rf"{_N}(?= (?:\p{{Ll}}+[yi]mi )?(?!dziećmi)\p{{Ll}}+(?:ami|źmi|ćmi)\b)", _INS),
        Rule("number", rf"{_N}(?= (?:\p{{Ll}}+[yi]m )?(?!dom|atom|poziom|tom)\p{{Ll}}+om\b)", _DAT),
        Rule("number", rf"{_FEW}(?= {_ADJECTIVE}(?:(?:{_PERSONS})\b|(?!okularów)\p{{Ll}}+ów\b))", _GEN),
        Rule("number", rf"{_NOT_OBLIQUE}{_N}(?= {_ADJECTIVE}(?:{_PERSONS})\b)", "{n:cardinal-masculine-personal}"),
        Rule("number", rf"(?<!\d[ ,.])(?P<n>[234])(?= (?:{_PERSONS_NOMINATIVE})\b)", "{n:cardinal-masculine-personal}"),
        Rule("number", rf"{_NOT_OBLIQUE}{_TWO}(?= (?:\p{{Ll}}+e )?(?:{_FEMININE})[yie]\b)", "{n:f}"),
        Rule("number", rf"(?<!\d[ ,.]){_NOT_OBLIQUE}1(?= (?:{_FEMININE})a\b)", "jedna"),
        Rule("number", rf"(?<!\d[ ,.]){_NOT_OBLIQUE}1(?= (?:{_FEMININE})ę\b)", "jedną"),
        Rule(
            "money", r"(?<=\b(?:mln|mld|tys\.|milion(?:y|ów|a)?|miliard(?:y|ów|a)?|tysi(?:ące|ęcy|ąca)) )zł", "złotych"
        ),
        Rule(
            "money", r"(?<=\b(?:mln|mld|tys\.|milion(?:y|ów|a)?|miliard(?:y|ów|a)?|tysi(?:ące|ęcy|ąca)) )\$", "dolarów"
        ),
        Rule("unit", r"(?<=\b(?:mln|mld|tys\.) )m(?: kw\.|\^2)", "metrów kwadratowych"),
        Rule("unit", r"(?<=\b(?:mln|mld|tys\.) )km(?![/^]| kw)", "kilometrów"),
        Rule("unit", r"(?<=\b(?:mln|mld|tys\.) )t(?!\.)", "ton"),
        Rule("money", r"(?<=\b(?:mln|mld|tys\.|milion(?:y|ów|a)?|miliard(?:y|ów|a)?|tysi(?:ące|ęcy|ąca)) )€", "euro"),
        Rule(
            "digits",
            r"(?<=\b(?i:numer|numerem|telefon|telefonu|tel\.|telefonicznie|dzwonić|kontakt):? )"
            r"(?P<a>[1-9]\d\d)[ -](?P<b>[1-9]\d\d)[ -](?P<c>[1-9]\d\d)",
            "{a}, {b}, {c}",
        ),
        Rule("number", r"(?<=\b[Nn]a )s\. ?(?P<n>\d{1,3})", "stronie {n}"),
    ),
    months=tuple(_MONTHS.split()),
    percent=noun("procent"),
    currencies={
        **dict.fromkeys(("zł", "PLN"), money("złoty złote złotych", "grosz grosze groszy")),
        **dict.fromkeys(("€", "EUR", "euro"), money("euro", "cent centy centów", "n", "")),
        **dict.fromkeys(("$", "USD"), money("dolar dolary dolarów", "cent centy centów")),
        **dict.fromkeys(("£", "GBP"), money("funt funty funtów", "pens pensy pensów")),
        "CHF": money("frank franki franków"),
        "gr": money("grosz grosze groszy"),
    },
    units={
        "km": noun("kilometr kilometry kilometrów kilometra"),
        "m": noun("metr metry metrów metra"),
        "cm": noun("centymetr centymetry centymetrów centymetra"),
        "mm": noun("milimetr milimetry milimetrów milimetra"),
        "kg": noun("kilogram kilogramy kilogramów kilograma"),
        "dag": noun("dekagram dekagramy dekagramów dekagrama"),
        "g": noun("gram gramy gramów grama"),
        "mg": noun("miligram miligramy miligramów miligrama"),
        "t": noun("tona tony ton tony", "f"),
        "l": noun("litr litry litrów litra"),
        "ml": noun("mililitr mililitry mililitrów mililitra"),
        "km/h": noun("kilometr_na_godzinę kilometry_na_godzinę kilometrów_na_godzinę kilometra_na_godzinę"),
        "m/s": noun("metr_na_sekundę metry_na_sekundę metrów_na_sekundę metra_na_sekundę"),
        **dict.fromkeys(
            ("m²", "m2", "m kw."),
            noun("metr_kwadratowy metry_kwadratowe metrów_kwadratowych metra_kwadratowego"),
        ),
        **dict.fromkeys(
            ("km²", "km2", "km kw."),
            noun("kilometr_kwadratowy kilometry_kwadratowe kilometrów_kwadratowych kilometra_kwadratowego"),
        ),
        "m³": noun("metr_sześcienny metry_sześcienne metrów_sześciennych metra_sześciennego"),
        "ha": noun("hektar hektary hektarów hektara"),
        **dict.fromkeys(("°C", "° C"), noun("stopień_Celsjusza stopnie_Celsjusza stopni_Celsjusza stopnia_Celsjusza")),
        "kW": noun("kilowat kilowaty kilowatów kilowata"),
        "MW": noun("megawat megawaty megawatów megawata"),
        "kWh": noun("kilowatogodzina kilowatogodziny kilowatogodzin kilowatogodziny", "f"),
        "MB": noun("megabajt megabajty megabajtów megabajta"),
        "GB": noun("gigabajt gigabajty gigabajtów gigabajta"),
        "TB": noun("terabajt terabajty terabajtów terabajta"),
        "Hz": noun("herc herce herców herca"),
        "kHz": noun("kiloherc kiloherce kiloherców kiloherca"),
        "MHz": noun("megaherc megaherce megaherców megaherca"),
        "GHz": noun("gigaherc gigaherce gigaherców gigaherca"),
        "KM": noun("koń_mechaniczny konie_mechaniczne koni_mechanicznych konia_mechanicznego"),
        "mln": noun("milion miliony milionów miliona"),
        "mld": noun("miliard miliardy miliardów miliarda"),
        "tys.": noun("tysiąc tysiące tysięcy tysiąca"),
        "proc.": noun("procent"),
        **dict.fromkeys(("godz.", "h"), noun("godzina godziny godzin godziny", "f")),
        **dict.fromkeys(("min", "min."), noun("minuta minuty minut minuty", "f")),
        "sek.": noun("sekunda sekundy sekund sekundy", "f"),
        "szt.": noun("sztuka sztuki sztuk sztuki", "f"),
        "pkt": noun("punkt punkty punktów punktu"),
    },
    dot="unsure",
    unsure=rf"{_UNKNOWN}|(?<!\d,\d+) (?:roku|r\.|wieku|w\.)|-[^\W\d]| [IVX]+\b| \d|'"
    r"| ?(?:mies|tyg|os|m\.|s\.|cal|kcal|hPa|dB|kV|V|W)\b"
    r"| (?:z nich|zostało|zginęło|zmarło|przeciw|za|wstrzymało|odniosło|trafiło|pozostałych)\b"
    r"| (?:rano|wieczorem|po południu)\b| (?:klas|pułk|piętr|kolejk|wiek|lig|rund)\p{Ll}+",
    unsure_before=rf"\b(?i:{_OBLIQUE}|godz\.|godzina|ulica|ul\.|art\.|kod|PIN|hasło|s\.|str\."
    r"|ust\.|pkt|ich|nas|was|(?:między|pomiędzy) [^.]{1,12} a) |\d "
    r"|\b(?i:kod|PIN|hasło)(?: \p{L}+){0,4}:? |\d ?x ?|\+\d+ (?:\d+ )*",
    titles={"dr": "doktor"},
    numbered={"n°": "numer", "nr": "numer", "ok.": "około", "Ok.": "Około", "pod nr": "pod numerem", "tel.": "telefon"},
    phrases={
        **{"np.": "na przykład", "tzn.": "to znaczy", "m. in.": "między innymi", "tj.": "to jest", "wg": "według"},
        **{"ds.": "do spraw", "pt.": "pod tytułem", "przy ul.": "przy ulicy", "na ul.": "na ulicy"},
    },
    closings={
        **{"itd.": "i tak dalej", "itp.": "i tym podobne", "p. n. e.": "przed naszą erą", "n. e.": "naszej ery"},
        **{"dol.": "dolarów", "br.": "bieżącego roku", "ub. r.": "ubiegłego roku"},
    },
)
