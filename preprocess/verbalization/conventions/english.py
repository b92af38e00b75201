"""How English writes and says numbers, and its abbreviations."""

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

_MONTHS = "January February March April May June July August September October November December".split()
_MONTH = rf"(?:{'|'.join(_MONTHS)})\b"
_SHORT_MONTH = rf"(?:{'|'.join(month[:3] for month in _MONTHS)})\b"
_TH = "(?:st|nd|rd|th)?"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"

_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
# The full stop of an abbreviation, unless it also ends the sentence.
_DOT = r"\.(?! *[\"')]*(?:$| \p{Lu}))"
_OLD_DOT = r"(?:\.(?= \p{Ll}))?"  # "George III. was"
_HOUR = r"(?P<h>0?[1-9]|1\d|2[0-3])"
_CLOCK = r"\d{1,2}(?::\d\d)?"
_AT = r"(?<=\b(?i:at|until|till|by|from|before|after|around|about|since|to|between) )"
_AM = r"(?= [APap]\.?[Mm]\b)"
_NOT_TO_ONE = r"(?<!\b(?i:ratio|scale|odds)(?: of)? )"
_SCALED = r"(?! (?:scale|ratio|odds|model|replica|gradient|slope|mix|dilution)\b)"

_COUNTED = (
    "days?|weeks?|months?|years?|hours?|minutes?|seconds?|times|people|persons?|men|women|children|kids|adults|"
    "students|pupils|guests|passengers|workers|soldiers|troops|pages|words|eggs|"
    "per ?cent|percent|degrees|miles?|yards?|feet|foot|inch|inches|met(?:er|re)s?|kilomet(?:er|re)s?|acres?|hectares|"
    "centimet(?:er|re)s|millimet(?:er|re)s|grams?|kilos?|kilograms?|tons?|tonnes?|pounds?|ounces?|cups?|teaspoons?|"
    "tablespoons?|lit(?:er|re)s?|gallons?|euros?|dollars?|cents|pence|"
    "hundred|thousand|million|billion|trillion"
)
_MEASURES = "km|m|cm|mm|kg|g|mg|l|ml|mph|km/h|°C|°F|ft|lbs?|oz|kW|MW|GB|MB"
_PORTION = (
    "of|majority|full|inch(?:es)?|cups?|teaspoons?|tablespoons?|tsps?|tbsps?|pounds?|ounces?|pints?|quarts?|"
    "gallons?|miles?|hours?|years?|acres?|lengths?"
)
_NUMBERED = "(?i:aged?|ages|pages|chapters|verses|lines|sections|articles|grades|levels|questions|items|steps)"
# "Sold 1984 tickets" counts, "By 1984 tickets were sold" dates: without a word of time before it, a number is left.
_OF_TIME = rf"in|since|until|till|circa|year|early|late|mid|(?-i:By)|{_MONTH}"
_NO_PLURAL = "was|is|has|does|its|his|this|as|us|always|perhaps|sometimes|across|towards|thus|versus|besides|unless"
# "39 George III. c. 745", "R.S.C. 1985, c. 46" are chapters, "a.c. 240 volts" is a current
_CIRCA = r"(?<!(?:\b[IVXL]{1,7}\.?|\d|\b(?:Vict|Geo|Will|Edw|Eliz|Jac|Car|Hen)\.),? )(?<![\p{L}.])c\. ?"
_NO_AMOUNT = rf"(?![-–]|s\b| ?[%°]| ?(?:{_MEASURES}|{_COUNTED}|hp|k?Hz|ha|rpm)\b| (?!(?:{_NO_PLURAL})\b)\p{{Ll}}+s\b)"
_COUNT_OR_YEAR = (
    rf"(?<!\b(?i:{_OF_TIME}),? \d{{4}})"
    rf"(?<=(?<![\d$£€.,])(?:1[1-9]|20)(?!00)\d\d) (?!(?:{_NO_PLURAL})\b)\p{{Ll}}+(?<![sui])s\b"
)
# "1450 Maple Street", "221B Baker Street"
_STREET = "Street|Avenue|Road|Lane|Drive|Boulevard|Place|Court|Square"
_HOUSE = rf"(?<=(?<![\d.,])\d{{3,5}})[A-H]?(?: \p{{Lu}}\p{{L}}*\.?){{1,3}} (?:{_STREET})\b"
# "A 5 km run", "the 100-m sprint": the unit is in the singular.
_ATTRIBUTE = rf"(?:(?<=\b(?i:an?) )(?P<n>{_NUMBER}) ?|(?P<n>{_NUMBER})-)"
_SUM = r"(?<=\b(?i:an?|the|its|their|his|our|another) )"
_FUNCTION_WORDS = (
    "and|or|in|of|from|to|for|on|by|with|at|as|per|than|but|if|when|while|so|into|over|under|out|up|after|before|"
    "is|was|were|are|has|had|have|will|would|could|can|may|might|should|that|which|who|he|she|it|they|we|you|a|an|the|"
    "his|her|their|its|this|each|every|worth|more|less|extra|not|all|only|apiece|"
    "hundred|thousand|million|billion|trillion|ago|today|yesterday|back|because|due"
)
_AMOUNT = r"(?P<n>\d+(?:,\d{3})*(?:\.\d+(?=[ -][mbt]))?)(?P<x>(?:[ -](?:million|billion|trillion))?)"
_OF_THING = rf"(?= (?!(?:{_FUNCTION_WORDS}|\p{{Ll}}+ed|\p{{Ll}}+ly)\b)\p{{Ll}}|-\p{{Ll}})"

_REGNAL = (
    "Henry|Louis|Charles|George|Edward|James|William|Richard|Elizabeth|Catherine|Philip|Pius|Paul|Benedict|Gregory|Leo|"
    "Alexander|Napoleon|Frederick|Peter|Nicholas|Ramses|Ferdinand|Francis|Innocent|Urban|Clement|John|Xerxes|Darius|"
    "Carlos|Felipe|Alfonso|Wilhelm|Otto|Ivan|Gustav|Christian|Haakon|Olav|Harald|Margrethe|Boniface|Sixtus|Julius|"
    "Mehmed|Murad|Selim|Suleiman|Abdullah|Leopold|Albert|Joseph|Emmanuel|Umberto|Rudolf|Maximilian|Theodosius|"
    "Constantine|Justinian|Ptolemy|Cleopatra|Mary|Robert|David|Stephen|Baldwin|Casimir|Sigismund|Pedro"
)
_RULER = "King|Queen|Pope|Emperor|Empress|Tsar|Czar|Kaiser|Sultan|Pharaoh|Prince|Duke|Earl|Count"

_ENGLISH_UNITS = {
    "km": noun("kilometer kilometers"),
    "m": noun("meter meters"),
    "cm": noun("centimeter centimeters"),
    "mm": noun("millimeter millimeters"),
    "kg": noun("kilogram kilograms"),
    "g": noun("gram grams"),
    "mg": noun("milligram milligrams"),
    "l": noun("liter liters"),
    "L": noun("liter liters"),
    "ml": noun("milliliter milliliters"),
    "mL": noun("milliliter milliliters"),
    "km/h": noun("kilometer_per_hour kilometers_per_hour"),
    "kph": noun("kilometer_per_hour kilometers_per_hour"),
    "mph": noun("mile_per_hour miles_per_hour"),
    "m/s": noun("meter_per_second meters_per_second"),
    **dict.fromkeys(("cm²", "cm2"), noun("square_centimeter square_centimeters")),
    **dict.fromkeys(("m²", "m2"), noun("square_meter square_meters")),
    **dict.fromkeys(("km²", "km2"), noun("square_kilometer square_kilometers")),
    **dict.fromkeys(("m³", "m3"), noun("cubic_meter cubic_meters")),
    "ha": noun("hectare hectares"),
    "°C": noun("degree_Celsius degrees_Celsius"),
    "°F": noun("degree_Fahrenheit degrees_Fahrenheit"),
    "mi": noun("mile miles"),
    "yd": noun("yard yards"),
    "yds": noun("yard yards"),
    "ft": noun("foot feet"),
    "sq ft": noun("square_foot square_feet"),
    "sq km": noun("square_kilometer square_kilometers"),
    "sq mi": noun("square_mile square_miles"),
    "lb": noun("pound pounds"),
    "lbs": noun("pound pounds"),
    "oz": noun("ounce ounces"),
    "tsp": noun("teaspoon teaspoons"),
    "tbsp": noun("tablespoon tablespoons"),
    "hr": noun("hour hours"),
    "hrs": noun("hour hours"),
    "h": noun("hour hours"),
    "min": noun("minute minutes"),
    "mins": noun("minute minutes"),
    "sec": noun("second seconds"),
    "secs": noun("second seconds"),
    "ms": noun("millisecond milliseconds"),
    "yr": noun("year years"),
    "yrs": noun("year years"),
    "W": noun("watt watts"),
    "kW": noun("kilowatt kilowatts"),
    "MW": noun("megawatt megawatts"),
    "GW": noun("gigawatt gigawatts"),
    "kWh": noun("kilowatt_hour kilowatt_hours"),
    "MWh": noun("megawatt_hour megawatt_hours"),
    "KB": noun("kilobyte kilobytes"),
    "MB": noun("megabyte megabytes"),
    "GB": noun("gigabyte gigabytes"),
    "TB": noun("terabyte terabytes"),
    "Hz": noun("hertz"),
    "kHz": noun("kilohertz"),
    "MHz": noun("megahertz"),
    "GHz": noun("gigahertz"),
    "dB": noun("decibel decibels"),
    "kcal": noun("kilocalorie kilocalories"),
    "hp": noun("horsepower"),
}

ENGLISH = Convention(
    words="en",
    rules=(
        Rule("time", rf"(?P<a>{_CLOCK})-(?P<b>{_CLOCK}) ?(?P<x>[ap]\.?m|[AP]\.?M)", "{a:=} to {b:=} {x:=}"),
        Rule(
            "time",
            rf"(?P<a>{_CLOCK}) ?(?P<x>[ap]\.?m|[AP]\.?M)\.?-(?P<b>{_CLOCK}) ?(?P<y>[ap]\.?m|[AP]\.?M)",
            "{a:=} {x:=} to {b:=} {y:=}",
        ),
        Rule("time", rf"(?P<a>{_CLOCK}|\d{{1,2}}\.[0-5]\d)(?P<x>[ap]\.?m|[AP]\.?M)", "{a:=} {x:=}"),
        Rule("time", rf"{_HOUR}[:.]00{_AM}", "{h}"),
        Rule("time", rf"{_HOUR}[:.]0(?P<m>[1-9]){_AM}", "{h} oh {m}"),
        Rule("time", rf"{_HOUR}[:.]{MINUTE}{_AM}", "{h} {m}"),
        Rule("time", rf"{_AT}(?P<h>0?[1-9]|1[0-2]):00", "{h} o'clock"),
        Rule("time", rf"{_AT}{_HOUR}:0(?P<m>[1-9]){_SCALED}", "{h} oh {m}"),
        Rule("time", rf"{_AT}{_HOUR}:(?P<m>[1-5]\d){_SCALED}", "{h} {m}"),
        Rule("time", rf"{_NOT_TO_ONE}(?!0?1:){_HOUR}:(?P<m>[1-5]\d){_SCALED}", "{h} {m}"),
        Rule(
            "date",
            rf"(?<=\b[Tt]he )(?P<a>{_DAY}){_TH}-(?P<b>{_DAY}){_TH}(?= {_MONTH})",
            "{a:ordinal} to {b:ordinal} of",
        ),
        Rule("date", rf"(?P<a>{_DAY}){_TH}-(?P<b>{_DAY}){_TH}(?= {_MONTH})", "the {a:ordinal} to the {b:ordinal} of"),
        Rule("date", rf"(?<!\b[Tt]he ){DAY}{_TH}(?= (?:to|and|or|until) {_DAY}{_TH} {_MONTH})", "the {d:ordinal}"),
        Rule("date", rf"(?<=\b[Tt]he ){DAY}{_TH}(?= {_MONTH})", "{d:ordinal} of"),
        Rule(
            "date",
            rf"(?<=\b(?i:(?:the|this|that) following|previous|preceding|every|last|next) ){DAY}{_TH}(?= {_MONTH})",
            "{d:ordinal} of",
        ),
        Rule("date", rf"{DAY}{_TH}(?= {_MONTH})", "the {d:ordinal} of"),
        Rule("year", rf"{_CIRCA}(?P<a>10)(?P<b>[1-9]\d){_NO_AMOUNT}", "circa {a} {b}"),
        Rule("year", rf"{_CIRCA}(?P<y>1[1-9]\d\d|1000|20\d\d){_NO_AMOUNT}", "circa {y:year}"),
        Rule("year", rf"{_CIRCA}(?P<n>[1-9]\d\d)(?![,.]?\d){_NO_AMOUNT}", "circa {n}"),
        Rule(
            "year",
            rf"{_CIRCA}(?P<a>1[1-9]\d\d|20\d\d)[-–](?P<b>1[1-9]\d\d|20\d\d)(?! ?[\p{{L}}%°]|[-–])",
            "circa {a:year} to {b:year}",
        ),
        Rule("date", rf"(?<=\b{_MONTH} )(?P<a>{_DAY}){_TH}-(?P<b>{_DAY}){_TH}", "{a:ordinal} to {b:ordinal}"),
        Rule("date", rf"(?<=\b{_MONTH} \d{{1,2}} (?:and|or|to|through|until) ){DAY}(?=[,.;:)]|$)", "{d:ordinal}"),
        Rule("number", rf"(?<=\b[Ii]n {_MONTH} )(?P<n>\d{{1,2}})(?= \p{{Ll}})", "{n}"),
        Rule("date", rf"{MONTH}/(?P<d>1[3-9]|2\d|3[01])/{YEAR}", "{mo:month} {d:ordinal} {y:year}"),
        Rule(
            "date", rf"(?<!\b[Tt]he )(?P<d>1[3-9]|2\d|3[01])/{MONTH}/{YEAR}", "the {d:ordinal} of {mo:month} {y:year}"
        ),
        Rule("date", rf"{YEAR}-(?P<mo>0[1-9]|1[0-2])-(?P<d>0[1-9]|[12]\d|3[01])", "{mo:month} {d:ordinal} {y:year}"),
        Rule(
            "range",
            rf"(?P<a>{_NUMBER})-(?P<b>{_NUMBER})"
            rf"(?= ?%|[ -](?:{_COUNTED})\b| ?(?:{_MEASURES})(?![\p{{L}}\p{{N}}]))",
            "{a:=} to {b:=}",
        ),
        Rule("range", rf"(?P<a>{_NUMBER})%-(?P<b>{_NUMBER})(?=%)", "{a:=}% to {b:=}"),
        Rule("range", rf"(?<=\b{_NUMBERED} ){RANGE}", "{a} to {b}"),
        Rule("range", YEARS, "{a:year} to {b:year}"),
        Rule("range", rf"\$(?P<a>{_NUMBER})-\$?(?P<b>{_NUMBER})", "{a:=} to ${b:=}"),
        Rule("range", rf"£(?P<a>{_NUMBER})-£?(?P<b>{_NUMBER})", "{a:=} to £{b:=}"),
        Rule("range", rf"€(?P<a>{_NUMBER})-€?(?P<b>{_NUMBER})", "{a:=} to €{b:=}"),
        Rule("money", rf"(?<=[$£€])(?P<n>{_NUMBER}) ?(?:m|M|mn|mln)", "{n:=} million"),
        Rule("money", rf"(?<=[$£€])(?P<n>{_NUMBER}) ?(?:bn|B)", "{n:=} billion"),
        Rule("money", rf"(?<=[$£€])(?P<n>{_NUMBER}) ?(?:tn|trn)", "{n:=} trillion"),
        Rule("money", rf"(?<=[$£€])(?P<n>{_NUMBER}) ?[kK]", "{n:=} thousand"),
        Rule("money", rf"{_SUM}[$£€](?P<a>\d+)\.(?P<b>[1-9]\d){_OF_THING}", "{a} {b}"),
        Rule("money", rf"{_SUM}\${_AMOUNT}{_OF_THING}", "{n:=}{x:=} dollar"),
        Rule("money", rf"{_SUM}£{_AMOUNT}{_OF_THING}", "{n:=}{x:=} pound"),
        Rule("money", rf"{_SUM}€{_AMOUNT}{_OF_THING}", "{n:=}{x:=} euro"),
        Rule("money", "1p", "one penny"),
        Rule("money", r"(?P<n>[2-9]|[1-9]\d)p", "{n} pence"),
        Rule("number", rf"(?P<n>{_NUMBER}) ?bn", "{n:=} billion"),
        Rule("fraction", r"(?P<w>\d+) 1[/⁄]2", "{w} and a half"),
        Rule("fraction", r"(?P<w>\d+) 1[/⁄]4", "{w} and a quarter"),
        Rule("fraction", r"(?P<w>\d+) 3[/⁄]4", "{w} and three quarters"),
        Rule("fraction", r"(?P<w>\d+) 1[/⁄]3", "{w} and a third"),
        Rule("fraction", r"(?P<w>\d+) 1[/⁄]8", "{w} and an eighth"),
        Rule("fraction", r"(?P<w>\d+) (?P<a>[2-7])[/⁄](?P<b>[358])", "{w} and {a} {b:ordinal}s"),
        Rule("fraction", r"(?<!\d )1[/⁄]2(?= (?:an?|the|of) )", "half"),
        Rule("fraction", rf"(?<!\d )1(?:⁄|/(?=2[ -](?:{_PORTION})\b))2", "one half"),
        Rule("fraction", rf"(?<!\d )1(?:⁄|/(?=4[ -](?:{_PORTION})\b))4", "one quarter"),
        Rule("fraction", rf"(?<!\d )3(?:⁄|/(?=4[ -](?:{_PORTION})\b))4", "three quarters"),
        Rule("fraction", rf"(?<!\d )1(?:⁄|/(?=\d+[ -](?:{_PORTION})\b))(?P<b>[35-9]|10|12|16)", "one {b:ordinal}"),
        Rule(
            "fraction",
            rf"(?<!\d )(?P<a>[2-9]|1[1357])(?:⁄|/(?=\d+[ -](?:{_PORTION})\b))(?P<b>[35-9]|10|12|16)",
            "{a} {b:ordinal}s",
        ),
        Rule("roman", rf"(?<=\b(?:{_REGNAL}) )(?P<r>[IVX]{{2,6}}|[VX](?!\. \p{{Lu}})){_OLD_DOT}", "the {r:ordinal}"),
        Rule("roman", rf"(?<=\b(?:{_RULER}) \p{{Lu}}\p{{Ll}}+ )(?P<r>[IVX]{{2,6}}|V)", "the {r:ordinal}"),
        Rule("roman", rf"(?<=\b(?:{_RULER}) \p{{Lu}}\p{{Ll}}+ )(?P<r>I)(?= of\b|'s\b|[,.;:)]|$)", "the {r:ordinal}"),
        Rule(
            "roman",
            r"(?<=\b(?:World War|Chapter|Part|Volume|Book|Act|Scene|Section|Article|Title|Type|Phase|Stage|Class|Grade"
            r"|Division|Appendix|Super Bowl|Apollo|Vatican) )"
            r"(?P<r>[IVXL]{2,}|[VX]|(?<=War )I|I(?= (?:of|and)\b|[,.;:)]|$))",
            "{r}",
        ),
        Rule("roman", rf"(?P<r>[IVX]+){_TH}(?=(?: (?:and|or|to) [IVX]+{_TH})?[ -][Cc]entur(?:y|ies)\b)", "{r:ordinal}"),
        Rule("number", r"#(?P<n>\d{1,4})", "number {n}"),
        Rule("number", r"(?<![$£€])(?P<n>\d+(?:,\d{3})*)\+(?!\+)", "{n} plus"),
        Rule("number", "24/7", "twenty-four seven"),
        Rule("number", "9/11", "nine eleven"),
        Rule("number", "50[/-]50", "fifty-fifty"),
        Rule(
            "digits",
            r"\(?(?P<a>[2-9]\d\d)(?:\) ?|[-.])(?P<b>\d{3})[-.](?P<c>\d{4})",
            "{a:digits}, {b:digits}, {c:digits}",
        ),
        Rule(
            "digits",
            r"(?<=\b(?i:call|calling|dial|dialing|phone|ring|text|tel\.?|telephone|fax|number)(?: \p{Ll}+){0,2}:? )"
            r"(?P<a>[2-9]\d\d)-(?P<b>\d{4})",
            "{a:digits}, {b:digits}",
        ),
        Rule(
            "digits",
            r"(?<=\b(?i:call|called|calling|calls|dial|dialed|dialled|dialing|ring|rang|phone|phoned) )"
            "(?P<n>911|999|112|101|111|988)",
            "{n:digits}",
        ),
        Rule("digits", "(?P<n>911|999)(?= (?:calls?|callers?|operators?|dispatchers?)\\b)", "{n:digits}"),
        Rule(
            "digits",
            r"(?<=\b(?i:code|codes|PIN|password|passcode|combination|extension) )(?P<n>\d{3,8})",
            "{n:digits}",
        ),
        Rule(
            "digits",
            r"(?<=\b(?i:flight|room|suite|apartment|highway|route|interstate)(?: [A-Z]{2})? )"
            r"(?P<a>[1-9]\d?)0(?P<b>[1-9])",
            "{a} oh {b}",
        ),
        Rule(
            "digits",
            r"(?<=\b(?i:flight|room|suite|apartment|highway|route|interstate)(?: [A-Z]{2})? )"
            r"(?P<a>[1-9]\d?)(?P<b>[1-9]\d)",
            "{a} {b}",
        ),
        Rule("digits", r"(?<=\bBoeing )(?P<a>7)(?P<b>[1-8]7)", "{a} {b}"),
        Rule(
            "year",
            rf"(?<=\b(?i:in|since|until|till|by|from|before|after|around|circa|year|of|to|and|early|late|{_MONTH}) )"
            rf"(?P<a>10)(?P<b>[1-9]\d)(?! (?:{_COUNTED}|\p{{Ll}}+s)\b)",
            "{a} {b}",
        ),
        Rule(
            "number",
            rf"(?<!\b(?i:in|since|until|by|from|to|year|before|after) )(?P<n>1[1-9]\d\d|20\d\d)(?= (?:{_COUNTED})\b)",
            "{n}",
        ),
        Rule(
            "number",
            r"(?<=\b(?i:over|some|nearly|almost|than|least|up to|approximately|roughly|exactly|total of|another) )"
            r"(?P<n>1[1-9]\d\d|20\d\d)(?= \p{Ll}{3,}s\b)",
            "{n}",
        ),
        Rule("unit", r"(?P<a>[4-7])'(?P<b>\d|1[01])\"", "{a} foot {b}"),
        Rule("unit", r"(?P<a>\d) ?ft (?P<b>\d|1[01])(?:in)?", "{a} foot {b}"),
        Rule("unit", rf"(?P<n>{_NUMBER}) ?(?P<x>sq|oz|lbs?|ft|yds?|mi|hrs?|mins?|secs?|yrs?){_DOT}", "{n:=} {x:=}"),
        Rule("unit", rf"{_ATTRIBUTE}km", "{n:=} kilometer"),
        Rule("unit", rf"{_ATTRIBUTE}m", "{n:=} meter"),
        Rule("unit", rf"{_ATTRIBUTE}cm", "{n:=} centimeter"),
        Rule("unit", rf"{_ATTRIBUTE}mm", "{n:=} millimeter"),
        Rule("unit", rf"{_ATTRIBUTE}kg", "{n:=} kilogram"),
        Rule("unit", rf"{_ATTRIBUTE}g", "{n:=} gram"),
        Rule("unit", rf"{_ATTRIBUTE}ml", "{n:=} milliliter"),
        Rule("unit", rf"{_ATTRIBUTE}mph", "{n:=} mile per hour"),
        Rule("unit", rf"{_ATTRIBUTE}ft", "{n:=} foot"),
        Rule("unit", rf"{_ATTRIBUTE}lb", "{n:=} pound"),
        Rule("unit", rf"{_ATTRIBUTE}oz", "{n:=} ounce"),
        Rule("unit", rf"{_ATTRIBUTE}(?:hr|h)", "{n:=} hour"),
        Rule("unit", rf"{_ATTRIBUTE}min", "{n:=} minute"),
        Rule("unit", rf"{_ATTRIBUTE}MW", "{n:=} megawatt"),
        Rule("unit", rf"{_ATTRIBUTE}GB", "{n:=} gigabyte"),
        Rule("unit", rf"{_ATTRIBUTE}°", "{n:=} degree"),
        Rule("unit", "1°(?! ?\\d)", "one degree"),
        Rule("unit", rf"(?P<n>{_NUMBER})°(?! ?\d)", "{n:=} degrees"),
    ),
    months=tuple(_MONTHS),
    units=_ENGLISH_UNITS,
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
        "¢": money("cent cents"),
    },
    money_joint="and",
    magnitudes="hundred|thousand|million|billion|trillion",
    century="",
    decades=True,
    ordinals=(("st|nd|rd|th", ()),),
    day_before=rf"\b{_MONTH} $",
    # Abbreviations without a vowel, telephone numbers, numbers of things such as C2766.
    unsure=r" ?(?![ap]\.?m\b)(?:[b-df-hj-np-tv-xz]{1,4}|cu|[kMGT]?(?:bps|Pa|V|Ah|J))\b|(?<=\b0\d+)[ -]+\d"
    rf"|{_COUNT_OR_YEAR}|(?<=\b\p{{Lu}}{{1,3}}\d{{3,12}})"
    rf"|-(?:\p{{Lu}}{{2}}|{_SHORT_MONTH})|\.\p{{L}}|{_HOUSE}",
    unsure_before=r"\b(?:EUR|USD|GBP|CHF) |\d x |\b0\d+[ -]+(?:\d+[ -]+)*|\+\d+ (?:\d+ )*"
    rf"|\b{_SHORT_MONTH}-",
    titles={
        **{"Mr": "Mister", "Mrs": "Missus"},
        **dict.fromkeys(("Dr.", "Dr"), "Doctor"),
        **dict.fromkeys(("St.", "St"), "Saint"),
        **{"Prof.": "Professor", "Capt.": "Captain", "Gen.": "General", "Col.": "Colonel", "Lt.": "Lieutenant"},
        **{"Sgt.": "Sergeant", "Rev.": "Reverend", "Hon.": "Honorable", "Gov.": "Governor", "Sen.": "Senator"},
        "Mt.": "Mount",
    },
    streets=frozenset({"Dr.", "Dr", "St.", "St"}),
    numbered={
        **dict.fromkeys(("n°", "No.", "no."), "number"),
        **{"Nos.": "numbers", "nos.": "numbers", "p.": "page", "pp.": "pages", "Fig.": "Figure", "fig.": "figure"},
        **{"Vol.": "Volume", "vol.": "volume", "Ch.": "Chapter", "ch.": "chapter", "§": "section", "§§": "sections"},
        **{"Art.": "Article", "Sec.": "Section", "ca.": "circa", "approx.": "approximately"},
        **{"Jan.": "January", "Feb.": "February", "Aug.": "August", "Sept.": "September", "Sep.": "September"},
        **{"Oct.": "October", "Nov.": "November", "Dec.": "December", "Oct": "October", "Nov": "November"},
        **{"Jan": "January", "Feb": "February", "Aug": "August", "Sept": "September", "Dec": "December"},
    },
    phrases={
        **{"Mr.": "Mister", "Mrs.": "Missus", "e. g.": "for example", "i. e.": "that is"},
        **{"vs.": "versus", "vs": "versus"},
    },
    closings={"etc.": "et cetera"},
)
