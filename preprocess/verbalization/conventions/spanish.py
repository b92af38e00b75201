"""How Spanish writes and says numbers, and its abbreviations."""

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

_MONTHS = "enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"

# Words after a number, for its gender.
_FEMININE_NOUNS = (
    "hora|semana|persona|hermana|página|vez|veces|mujer|mujeres|noche|noches|tarde|tardes|clase|clases|parte|partes|"
    "calle|calles|"
    "flor|flores|imagen|imágenes|mano|manos|foto|fotos|moto|motos|nave|naves|llave|llaves|serie|series|especie|"
    "especies|"
    "torre|torres|sede|sedes|luces|voces|cruces|madre|madres|señal|señales|sucursal|sucursales|niña|chica|cucharada|"
    "taza|"
    "tonelada|hectárea|libra|milla|planta|cama|vuelta|carta|mesa|casa|empresa|tienda|victoria|derrota|etapa|familia|"
    "pregunta|plaza|víctima|canción|habitación|docena|década|copa|botella|pieza|sola|nueva"
)
_NOT_FEMININE = "más|jamás|además|quizás|apenas|gracias|mientras|tras|atrás"
_MASCULINE_IN_A = (
    r"días|tranvías|mapas|climas|fantasmas|planetas|cometas|poetas|atletas|profetas|colegas|guardias|policías|guías|"
    r"curas|"
    r"pijamas|gorilas|dramas|\p{Ll}+(?:istas|nautas|cratas|blemas|lemas|[st]emas|quemas|gramas|iomas|ntomas|igmas|"
    r"plomas)"
)
_FEMININE = (
    rf"(?:(?:{_FEMININE_NOUNS})|\p{{Ll}}+(?:[cst]ión|[cgnstx]iones|[dt]ad|[dt]ades|tudes)|"
    rf"(?!(?:{_NOT_FEMININE}|{_MASCULINE_IN_A})\b)\p{{Ll}}{{2,}}as)\b"
)
_MASCULINE_NOUNS = (
    "año|mes|meses|día|días|minuto|segundo|kilo|gramo|gramos|kilogramos|litro|metro|kilómetro|centímetro|hombre|"
    "hombres|"
    "niño|punto|gol|goles|euro|dólar|dólares|peso|centavo|céntimo|caso|libro|grado|siglo|millón|millones|billón|"
    "billones|"
    "habitante|habitantes|país|países|hospital|hospitales|local|locales|animal|animales|restaurante|restaurantes|"
    "coche|coches|pie|pies|tren|trenes|avión|aviones|camión|camiones|gramos|tramos|últimos|próximos|préstamos|premio|"
    "hermano|"
    "problema|problemas|programa|programas|sistema|sistemas|tema|temas|idiomas|mapas|planetas|poemas|jueces|peces|"
    "lápices|bares|lugar|lugares|mártires|miembro|hijo|partido|voto|trabajador|kilovatio|estudiantes|clientes|agentes|"
    "pacientes|militares|concejales|jóvenes|españoles|franceses|ingleses|jefes|viaje|disco|huevo|café|gato|perro|"
    "solo|nuevo"
)
_MASCULINE = (
    rf"(?:(?:{_MASCULINE_NOUNS}|{_MASCULINE_IN_A})|\p{{Ll}}+(?:ajes|etes|ones(?<!iones|razones|sazones)"
    r"|ores(?<!flores|labores|mejores|peores|mayores|menores|teriores|periores)"
    r"|[ae]ntes(?<!\bantes|variantes|constantes|importantes|fuentes|mentes|corrientes|serpientes|pendientes|siguientes)"
    r"|\p{Ll}os(?<![aei]mos|\b(?:menos|manos|fotos|motos|ellos))))\b"
)
_NUMBER = (
    r"(?<!\d |[-+×^/€$#] ?)(?!(?<=\b(?i:en|del?|desde|hasta|hacia|año|entre|y|a) )(?:1\d|20)\d\d(?![\d.]))"
    r"(?P<n>[1-9]\d{0,2}(?:\.\d{3})+|[1-9]\d*)"
)
_OR = r" [aoóy] \d[\d.]*"
_NO_UNIT = r"(?=[.,;:!?)]|$| \p{Ll}{4,}| (?:de|en|y|que|por|con|del|las|fue|han|son|a)\b)"
_PLURALS = (
    r"(?:[lnd]?[ao]s|un[ao]s|ell[ao]s|sus|es|tres|seis|más|tras|mientras|después|antes|entonces|nuestr[ao]s|ambas)\b"
)
_WORDS = (
    r"(?:para|como|sobre|entre|desde|hasta|cuando|pero|porque|según|contra|tras|mientras|donde|frente|hacia|durante|"
    r"cada|"
    r"bajo|todo|toda|esta|otro|otra|luego|mucho|poco|dentro|fuera|junto|cuanto|cuarto|"
    r"pudo|hizo|quiso|tuvo|puso|dijo|vino|supo|estuvo|hubo|trajo)\b"
)

# After these words a number is a name.
_LABELS = (
    "páginas?|artículos?|capítulos?|números?|tomos?|volumen|volúmenes|líneas?|figuras?|tablas?|secci[oó]n(?:es)?|"
    "párrafos?|habitación|salas?|puertas?|andén|vías?|autobús|tren|vuelos?|rutas?|carreteras?|etapas?|episodios?|"
    "temporadas?|nivel|niveles|grupos?|fases?|zonas?|clases?|tipos?|categorías?|canal|salmos?|versículos?|preguntas?|"
    "ejercicios?|lecci[oó]n(?:es)?|calles?|carrera|kilómetros?|códigos?|distritos?|sector|lotes?|puntos?|años?|Fórmula|"
    "Ley|decreto|resolución|anexos?|versi[oó]n(?:es)?|modelos?|apartados?|casilla|planta|Boeing|Airbus|Windows|unidad"
)
_LABEL = rf"(?<=\b(?i:{_LABELS}) (?:n° )?(?:\d+(?:,| y| o| al?) ){{0,4}})"

_UNITS = {
    **{"km": noun("kilómetro kilómetros", "m"), "m": noun("metro metros", "m")},
    **{"cm": noun("centímetro centímetros", "m"), "mm": noun("milímetro milímetros", "m")},
    **dict.fromkeys(("kg", "Kg"), noun("kilogramo kilogramos", "m")),
    **{"g": noun("gramo gramos", "m"), "mg": noun("miligramo miligramos", "m"), "t": noun("tonelada toneladas", "f")},
    **dict.fromkeys(("l", "L"), noun("litro litros", "m")),
    **dict.fromkeys(("cl", "cL"), noun("centilitro centilitros", "m")),
    **dict.fromkeys(("ml", "mL"), noun("mililitro mililitros", "m")),
    **dict.fromkeys(("km²", "km2"), noun("kilómetro_cuadrado kilómetros_cuadrados", "m")),
    **dict.fromkeys(("m²", "m2"), noun("metro_cuadrado metros_cuadrados", "m")),
    **dict.fromkeys(("cm²", "cm2"), noun("centímetro_cuadrado centímetros_cuadrados", "m")),
    **dict.fromkeys(("m³", "m3"), noun("metro_cúbico metros_cúbicos", "m")),
    "km/h": noun("kilómetro_por_hora kilómetros_por_hora", "m"),
    "m/s": noun("metro_por_segundo metros_por_segundo", "m"),
    **dict.fromkeys(("°C", "° C"), noun("grado_Celsius grados_Celsius", "m")),
    **dict.fromkeys(("°F", "° F"), noun("grado_Fahrenheit grados_Fahrenheit", "m")),
    **dict.fromkeys(("h", "hs", "hrs"), noun("hora horas", "f")),
    **{"min": noun("minuto minutos", "m"), "s": noun("segundo segundos", "m")},
    **{
        "W": noun("vatio vatios", "m"),
        "kW": noun("kilovatio kilovatios", "m"),
        "MW": noun("megavatio megavatios", "m"),
    },
    **{"kWh": noun("kilovatio_hora kilovatios_hora", "m"), "V": noun("voltio voltios", "m")},
    **{"Hz": noun("hercio hercios", "m"), "kHz": noun("kilohercio kilohercios", "m")},
    **{"MHz": noun("megahercio megahercios", "m"), "GHz": noun("gigahercio gigahercios", "m")},
    **{
        "MB": noun("megabyte megabytes", "m"),
        "GB": noun("gigabyte gigabytes", "m"),
        "TB": noun("terabyte terabytes", "m"),
    },
    **{"CV": noun("caballo caballos", "m"), "dB": noun("decibelio decibelios", "m")},
    "M€": noun("millón_de_euros millones_de_euros", "m"),
}
_PER = {"kg": " el kilo", "l": " el litro", r"m\^2": " el metro cuadrado", "h": " la hora", "mes": " al mes"}
_UNIT = r"(?:°C|km/h|[kcm]?m(?:\^[23])?|[km]?g|[cm]?[lL]|h|min|[kM]?W|kWh|M€|[MGT]B)(?![\p{L}\p{N}'/^])"

_KINGS = (
    "Felipe|Carlos|Alfonso|Fernando|Juan|Pablo|Pío|León|Luis|Enrique|Jaime|Pedro|Sancho|Ramiro|Ordoño|Napoleón|"
    "Francisco|"
    "Jorge|Eduardo|Guillermo|Federico|Alejandro|Nicolás|Gregorio|Clemente|Inocencio|Urbano|Benedicto|Sixto|Julio|"
    "Bonifacio|"
    "Ricardo|Jacobo|Ramsés|Leopoldo|Alberto|Balduino|Gustavo|Martín|Vaticano|Teodosio|Abderramán|Mohamed|Hassan|Harald"
)
_QUEENS = "Isabel|Catalina|María|Cristina|Juana|Margarita|Victoria|Elizabeth|Berenguela|Urraca"
_NO_INITIAL = r"(?!(?<=\b[IVX])\. ?\p{L})"
_TO_TEN = "(?P<r>I{1,3}|I[VX]|VI{0,3}|X)"
_EVENTS_F = "Guerra|República|[Ee]dición|Asamblea|Feria|Cumbre|Conferencia|Copa|Jornadas?|Bienal"
_EVENTS_M = "Congreso|Encuentro|Festival|Concurso|Aniversario|aniversario|Premio|Foro|Certamen|Concilio|Plan"
_RANKED = "piso|puesto|premio|lugar|grado|ciclo|año|día|capítulo|trimestre|semestre|aniversario|puesto"
_AFTER_SCORE = "ante|contra|al?|frente|sobre|en|con|gracias|y|para|el|la|pero|por"
_CENTURY = r"(?<=\b(?:[Ss]iglo |[Ss]iglos (?:[IVX]+(?:,| y| o| al?|-) ?){0,4}|siglo [IVX]+ al? ))"
_HALVES_M = ("año", "día", "siglo", "kilo", "litro", "metro", "kilómetro", "punto")
_HALVES_F = ("hora", "semana", "taza", "cucharada", "cucharadita", "libra", "tonelada", "docena")
_SEASON = r"(?P<a>(?:19|20)\d\d)[-/](?P<b>(?:19|20)\d\d|[1-9]\d)"
_AT = r"(?<=\b[Ll]as? )"
_FROM = r"(?<=\b[Dd]e (?=\d\d?:\d\d a )|\b[Dd]e \d\d?:\d\d a )"
_OF_WHOLE = r"(?= de(?:l| (?!final\b))\b)"
_ONE_OBJECT = r"(?<=\b(?i:quedan?|hay|había|hubo|tienen?|tengo|tenía|falta|con|sin|por|durante|hace|us[ae]|añad[ae]) )"
_ONE_BEFORE = rf"(?:(?<=^|[.,:;¿¡(] |\b(?i:sol[oa]|sólo|únicamente|apenas|casi|de|cada|en|y|más) )|{_ONE_OBJECT})"

SPANISH = Convention(
    words="es",
    icu="es",
    substitutions=(
        (r"décimo ?primer", "undécim"),
        (r"décimo ?segund", "duodécim"),
        (r"décimo octavo", "decimoctavo"),
        (r"décimo ?(?=\w)", "decimo"),
        ("quadra", "cuadra"),
        (r"veintiuno (?=mil)", "veintiún "),
        (r"uno (?=mil)", "un "),
    ),
    months=tuple(_MONTHS.split("|")),
    rules=(
        Rule("time", rf"{HOUR}[:.]00 ?(?:h|hs|hrs|horas)", "{h:f} horas"),
        Rule("time", rf"{HOUR}[:.](?P<m>[1-5]\d) ?(?:h|hs|hrs|horas)", "{h:f} {m} horas"),
        Rule("time", rf"(?:{_AT}{HOUR}[:.]|{_FROM}{HOUR}:)00", "{h:f}"),
        Rule("time", rf"(?:{_AT}{HOUR}[:.]|{_FROM}{HOUR}:)0(?P<m>[1-9])", "{h:f} y {m}"),
        Rule("time", rf"(?:{_AT}{HOUR}[:.]|{_FROM}{HOUR}:){MINUTE}|{HOUR}:{MINUTE}(?= ?[ap]\.? ?m\b)", "{h:f} {m}"),
        Rule("date", rf"{DAY}(?P<s>[/.-]){MONTH}(?P=s){YEAR}", "{d} de {mo:month} de {y}"),
        Rule(
            "date", r"(?<=\b(?i:el|del|al|día|este) )(?P<d>[23]?1)(?= (?:del?|en|al|y|por|para|con|a (?!\d))\b)", "{d}"
        ),
        Rule("date", rf"1°(?= de (?:{_MONTHS})\b)", "primero"),
        Rule("range", rf"(?<=\b(?i:temporadas?|cursos?|ejercicios?|bienio) ){_SEASON}", "{a} {b}"),
        Rule("range", r"(?<=\baños )(?P<a>[2-9]0)-(?P<b>[2-9]0)", "{a}-{b}"),
        Rule("range", YEARS, "{a} a {b}"),
        Rule("range", rf"(?<=\b[Pp]áginas? ){RANGE}", "{a} a {b}"),
        Rule("range", rf"{RANGE} ?%", "{a} a {b} por ciento"),
        Rule("range", rf"{RANGE} ?€", "{a} a {b:m} euros"),
        Rule("range", rf"{RANGE}(?= {_FEMININE})", "{a:f} a {b:f}"),
        Rule("range", rf"{RANGE}(?= {_MASCULINE})", "{a} a {b:m}"),
        Rule("range", rf"{RANGE}(?= ?{_UNIT})", "{a:=} a {b:=}"),
        *(Rule("fraction", rf"1 1⁄2 {one}s?", f"un {one} y medio") for one in _HALVES_M),
        *(Rule("fraction", rf"(?P<n>\d+) 1⁄2 {one}s", f"{{n:m}} {one}s y medio") for one in _HALVES_M),
        *(Rule("fraction", rf"1 1⁄2 {one}s?", f"una {one} y media") for one in _HALVES_F),
        *(Rule("fraction", rf"(?P<n>\d+) 1⁄2 {one}s", f"{{n:f}} {one}s y media") for one in _HALVES_F),
        Rule("fraction", r"1[/⁄]2(?= (?:(?!como|pero)\p{Ll}{2,}o|día|limón|melón|mes)\b)", "medio"),
        Rule("fraction", r"1[/⁄]2(?= (?!para\b|hasta\b)\p{Ll}{2,}a\b)", "media"),
        Rule("fraction", rf"1[/⁄]3{_OF_WHOLE}", "un tercio"),
        Rule("fraction", rf"2[/⁄]3{_OF_WHOLE}", "dos tercios"),
        Rule("fraction", rf"1[/⁄](?P<d>[4-9]|10){_OF_WHOLE}", "un {d:ordinal}"),
        Rule("fraction", rf"(?P<n>[2-9])[/⁄](?P<d>[4-9]|10){_OF_WHOLE}", "{n} {d:ordinal}s"),
        Rule("roman", rf"{_CENTURY}(?P<r>X?X[IVX]+|XX)", "{r}"),
        Rule("roman", rf"{_CENTURY}{_TO_TEN}", "{r:ordinal-masculine}"),
        Rule("roman", rf"(?<=\b(?:{_KINGS}) ){_TO_TEN}{_NO_INITIAL}", "{r:ordinal-masculine}"),
        Rule("roman", rf"(?<=\b(?:{_QUEENS}) ){_TO_TEN}{_NO_INITIAL}", "{r:ordinal-feminine}"),
        Rule("roman", r"(?<=\p{Lu}\p{Ll}+ |\bcapítulo |\btomo )(?P<r>X?X[IVX]+|XX)", "{r}"),
        Rule("roman", rf"(?P<r>[IVX]+)(?= (?:{_EVENTS_F})\b)", "{r:ordinal-feminine}"),
        Rule("roman", rf"(?P<r>[IVX]+)(?= (?:{_EVENTS_M})\b)", "{r:ordinal-masculine-adjective}"),
        Rule("ordinal", rf"(?P<n>\d?[13])(?:\.?o|°)(?= (?:{_RANKED})\b)", "{n:ordinal-masculine-adjective}"),
        Rule("ordinal", rf"(?P<n>\d\d?)°(?= (?:{_RANKED})\b)", "{n:ordinal-masculine}"),
        Rule("money", r"(?:US\$|USD) ?(?P<n>\d+) millones", "{n:m} millones de dólares"),
        Rule("money", r"(?:US\$|USD) ?(?P<n>\d+),(?P<c>\d) millones", "{n} coma {c} millones de dólares"),
        Rule("money", r"(?:USD|U\$S) (?P<n>\d{1,3}(?:\.\d{3})+|\d+)(?! mil)", "{n:m} dólares"),
        Rule("money", r"(?<=\bmill(?:ón|ones) de |\bmil )€", "euros"),
        Rule("money", r"(?<=\bmill(?:ón|ones) )€", "de euros"),
        Rule("number", rf"(?<=\b\d+ (?:goles? |puntos? )?a )(?P<n>1)(?= (?:{_AFTER_SCORE})\b)", "{n}"),
        Rule("number", r"(?<=\b(?:años|los|década de los) )'(?P<n>[1-9]0)", "{n}"),
        Rule("number", r"(?<=\ba la )1", "una"),
        Rule("number", rf"{_LABEL}(?P<n>[1-9]\d*)(?! \d)", "{n}"),
        Rule("number", rf"{_NUMBER}(?= de cada \d+ {_FEMININE})", "{n:f}"),
        Rule("number", rf"{_NUMBER}(?= de cada \d+ {_MASCULINE})", "{n}"),
        Rule("number", rf"(?<!\d )1(?= {_FEMININE})", "una"),
        Rule("number", rf"(?<!\d )1(?= {_MASCULINE})", "un"),
        Rule("number", rf"{_NUMBER}(?=(?:{_OR})?(?: mil)? {_FEMININE}(?<=s))", "{n:f}"),
        Rule("number", rf"{_NUMBER}(?={_OR}(?: mil)? {_MASCULINE}(?<=s))", "{n}"),
        Rule("number", rf"{_NUMBER}(?=(?: mil)? {_MASCULINE}(?<=s))", "{n:m}"),
        Rule("number", r"(?P<n>\d?\d?[02-9]1)(?= mil\b)", "{n:m}"),
        Rule("number", rf"(?<=\b(?i:[ldmnr]as|las otras|unas|estas|esas|otras|aquellas) ){_NUMBER}{_NO_UNIT}", "{n:f}"),
        Rule(
            "number",
            rf"(?<=\b(?i:los|unos|estos|esos|otros|aquellos) ){_NUMBER}(?= (?!{_WORDS})\p{{Ll}}{{4,}})",
            "{n:m}",
        ),
        Rule("number", rf"(?<=\b(?i:los|unos) ){_NUMBER}(?=[.,;!?)]|$| (?:del?|en|que|por|con|al?|y)\b)", "{n}"),
        Rule("number", r"(?<=\b[Dd]e )(?P<n>1)(?= a \d+(?!\d|,\d| ?\p{L}))", "{n}"),
        Rule("number", rf"{_ONE_BEFORE}1(?= (?!{_WORDS})\p{{Ll}}{{3,}}o\b)", "un"),
        Rule("number", rf"{_ONE_OBJECT}1(?= (?!{_WORDS}|(?:{_MASCULINE_IN_A})\b)\p{{Ll}}{{3,}}a\b)", "una"),
        Rule("number", r"(?<=^|[.,:;(] )1(?= \p{Ll}{3,}a (?:de|grande|pequeña|roja|verde|mediana)\b)", "una"),
        Rule("unit", r"(?<=\b(?:el|del|al) )km (?P<n>\d+)", "kilómetro {n}"),
        Rule("unit", r"1,(?P<c>[1-9]\d) ?m", "un metro {c}"),
        Rule("unit", r"(?P<n>[2-9]|[1-9]\d+),(?P<c>[1-9]\d) ?m", "{n:m} metros {c}"),
        Rule("unit", r"(?P<n>\d\d+)°(?! ?[\d\p{L}])", "{n:m} grados"),
        *(Rule("unit", rf"(?<=\d ?€)/{unit}", words) for unit, words in _PER.items()),
    ),
    units=_UNITS,
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
    agrees_not_before=rf" (?:de (?:{_MONTHS})|por ciento|mill[oó]n)",
    percent=noun("por_ciento"),
    # A bare $ is the peso of half of America.
    currencies={
        **dict.fromkeys(("€", "EUR"), money("euro euros", "céntimo céntimos", "m")),
        **dict.fromkeys(("US$", "USD", "U$S"), money("dólar dólares", "centavo centavos", "m")),
        "£": money("libra libras", "penique peniques", "f", "m"),
        "¥": money("yen yenes", gender="m"),
    },
    money_joint="con",
    of="de",
    ordinals=(
        (r"\.?(?:o|ro|do|to|mo|vo|no)", ()),
        (r"\.?(?:a|ra|da|ta|ma|va|na)", ((r"o\b", "a"),)),
        (r"\.?er", ((r"(primer|tercer)o$", r"\1"),)),
    ),
    # -os or -as, uno or una in thousands, and products, km/l
    unsure=(
        rf"(?<=[2-9]\d\d|[2-9]\d\d\.\d\d\d|\d[02-9]1) (?!{_PLURALS}|{_MASCULINE})\p{{Ll}}+s\b"
        r"| ?[x+=] ?\d| ?\p{L}{1,3}/\p{L}"
    ),
    unsure_before=r"\+\d[\d .-]* |\d ?x |[+=] ?|\d° ?",  # telephone numbers, products, coordinates
    titles={
        **{"Sr.": "señor", "Sra.": "señora", "Srta.": "señorita", "Sres.": "señores", "Dr.": "doctor"},
        **{"Dra.": "doctora", "Dña.": "doña", "Sta.": "Santa", "Prof.": "profesor", "Gral.": "general"},
        **dict.fromkeys(("Av.", "Avda."), "avenida"),
    },
    numbered={
        **dict.fromkeys(("n°", "N°", "núm.", "Núm.", "nro.", "Nro."), "número"),
        **dict.fromkeys(("pág.", "p."), "página"),
        **dict.fromkeys(("págs.", "pp."), "páginas"),
        **{"art.": "artículo", "arts.": "artículos", "cap.": "capítulo", "vol.": "volumen", "fig.": "figura"},
        **{"tel.": "teléfono", "Tel.": "Teléfono", "aprox.": "aproximadamente"},
    },
    phrases={
        **{"p. ej.": "por ejemplo", "Ud.": "usted", "Uds.": "ustedes", "EE. UU.": "Estados Unidos"},
        **{"a. C.": "antes de Cristo", "d. C.": "después de Cristo"},
    },
    closings={"etc.": "etcétera"},
)
