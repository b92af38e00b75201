"""How Portuguese writes and says numbers, and its abbreviations."""

from __future__ import annotations

from preprocess.verbalization.conventions.convention import (
    DAY,
    MONTH,
    RANGE,
    YEAR,
    YEARS,
    Convention,
    Rule,
    money,
    noun,
)

_MONTHS = "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"
_OF_MONTH = rf" (?:de|do) (?i:{_MONTHS.replace(' ', '|')})\b"

# The gender of the noun after a number, by its ending or, where that does not tell, by a list.
_NOT_FEMININE = (
    "apenas|mas|as|nas|pelas|elas|nelas|aquelas|essas|estas|outras|dias|mapas|planetas|cometas|poetas|profetas|piratas|"
    "atletas|colegas|guardas|camaradas|cinemas|climas|indígenas|belgas|persas|celtas|incas|maias|astecas|croatas|caras|"
    "extras|polícias|guias|papas|monarcas|patriarcas|pijamas|panoramas|idiomas|diplomas|enigmas|traumas|sintomas|"
    "aromas|dramas|patriotas|idiotas|jesuítas|recrutas|sentinelas|"
    r"(?!listas|pistas|vistas|revistas|entrevistas|conquistas)\p{Ll}+istas|\p{Ll}+(?:emas|gramas|cidas|nautas|cratas)"
)
_FEMININE = (
    rf"(?!(?:{_NOT_FEMININE})\b)\p{{Ll}}+as|delas|das|irmãs|maçãs|manhãs|(?!cora|cal)\p{{Ll}}+ções|\p{{Ll}}+sões|"
    r"conexões|reflexões|\p{Ll}+dades|(?!persona|selva)\p{Ll}+gens|\p{Ll}+tudes|mulheres|vezes|mães|noites|partes|"
    "tardes|mortes|artes|fases|frases|bases|classes|aves|chaves|naves|neves|redes|paredes|sedes|torres|leis|fontes|"
    "pontes|frentes|correntes|enchentes|serpentes|lentes|sementes|crises|análises|teses|hipóteses|doses|cruzes|luzes|"
    "vozes|raízes|nozes|atrizes|matrizes|cicatrizes|cores|flores|dores|árvores|ordens|nuvens|colheres|espécies|séries|"
    "superfícies|greves|febres|peles|faces|pirâmides|equipes|gangues|estantes|variantes|fotos|motos|tribos|mãos|"
    "elites|boates|suítes|creches|metrópoles|próteses|sínteses|dioceses|hélices|elipses|bactérias"
)
_MASCULINE = (
    r"(?!(?:fotos|motos|tribos|menos|pelos|aos|nos|os)\b)\p{Ll}+os|deles|"
    r"(?!(?:c|fl|d|árv|mai|men|melh|pi|anteri|superi|inferi|exteri|interi|posteri)ores)\p{Ll}+ores|"
    "dias|mapas|planetas|problemas|programas|sistemas|temas|poemas|gramas|quilogramas|esquemas|telegramas|sintomas|"
    "idiomas|diplomas|cometas|fantasmas|pijamas|meses|países|homens|reais|dólares|euros|milhares|milhões|bilhões|"
    "trilhões|gols|jogadores|times|clubes|filmes|nomes|volumes|crimes|animais|hospitais|jornais|canais|casais|sinais|"
    "metais|materiais|rivais|tribunais|terminais|festivais|generais|vogais|hotéis|papéis|quartéis|anéis|coronéis|"
    "túneis|níveis|fósseis|imóveis|móveis|barris|fuzis|perfis|lugares|andares|pares|bares|lares|exemplares|colares|"
    "hectares|graus|museus|europeus|ateus|bens|trens|jardins|sons|tons|caminhões|aviões|corações|limões|leões|botões|"
    "cartões|portões|balões|tubarões|ladrões|patrões|galões|vagões|pães|cães|alemães|capitães|acidentes|incidentes|"
    "ambientes|continentes|restaurantes|elefantes|dentes|parques|tanques|ataques|cheques|bosques|golpes|postes|lotes|"
    "pacotes|quilates|bois|sóis|faróis|espanhóis|portugueses|ingleses|franceses|chineses|japoneses|holandeses|"
    "camponeses|milésimos|centavos|pontos|por cento|juízes|rapazes|açúcares|túmulos"
)
# said with masculine numbers, unless an adjective shows otherwise
_COMMON = (
    r"(?:(?!listas|pistas|vistas|revistas|entrevistas|conquistas)\p{Ll}+istas|habitantes|estudantes|clientes|policiais|"
    "jovens|participantes|integrantes|representantes|militares|agentes|visitantes|imigrantes|manifestantes|atletas|"
    r"comerciantes|moradores|parlamentares|presidentes|gerentes|parentes|dirigentes)(?! \p{Ll}+as\b)"
)
_ONE_FEMININE = (
    "pessoa|hora|semana|vez|casa|criança|mulher|menina|página|parte|libra|vaga|morte|vítima|noite|tonelada|xícara|"
    "colher|vitória|derrota|polegada|milha|caixa|garrafa|lata|fatia|cebola|pitada|década|equipe|partida|rodada|"
    r"escola|empresa|família|filha|irmã|moeda|dose|medalha|gota|folha|\p{Ll}+[çs]ão|\p{Ll}+dade|\p{Ll}+agem|foto|moto"
)
_ONE_MASCULINE = (
    r"(?!(?:como|quando|foto|moto|tribo|muito|pelo|isso|isto|tudo|mesmo|quanto|cedo|logo|\p{Ll}+ndo)\b)"
    r"\p{Ll}+[^\W\dãa]o|segundo|dia|mês|gol|homem|real|dólar|grau|milhar|hectare|dente|limão|pacote|empate|grama|"
    "quilograma|time|clube|filme|nome|país|jogador|lugar|problema|programa|irmão|milhão|bilhão|trilhão|caminhão|avião"
)
_BETWEEN = (
    r" (?:(?:e|a|ou|em|em cada|de cada) \d[\d.]* )?(?:mil (?:e \d+ )?)?"
    "(?:(?:grandes|maiores|menores|melhores|piores|principais|diferentes|importantes|possíveis|jovens|simples) )?"
)
_ALONE = r"(?<![-+#\p{Sc}] ?)"
_NUMBER = r"0?(?P<n>[1-9]\d{0,2}(?:\.\d{3})+|[1-9]\d{0,5})"
# of 1000 to 2099, what has no point may be a year
_COUNT = r"0?(?P<n>[1-9]\d{0,2}(?:\.\d{3})*|2[1-9]\d\d|[3-9]\d{3}|\d{5,6})"
_ABOUT = r"(?<=\b(?:(?:[Mm]ais|[Mm]enos|[Cc]erca|[Pp]erto|[Aa]cima|[Aa]lém) de|[Qq]uase|[Aa]proximadamente|umas) )"
_AFTER_FEMININE = (
    r"(?<=\b(?i:as|às|das|nas|pelas|umas|essas|estas|aquelas|suas|minhas|nossas|outras|últimas|próximas|"
    r"primeiras|demais) )"
)
_AFTER_MASCULINE = (
    r"(?<=\b(?i:os|dos|nos|aos|pelos|uns|esses|estes|aqueles|seus|meus|nossos|outros|últimos|próximos|primeiros) )"
)
_LABELED = (
    r"(?<=\b(?i:dias?|números?|páginas?|capítulos?|artigos?|itens|item|nível|grupos?|fases?|lei|decreto|camisa|linha|"
    "canal|sala|quarto|casa|rodovia|ano|anos|idade|ônibus|voo|classe|categoria|série|etapa|zona|distrito|quilômetro|lote|"
    "bloco|apartamento|versão|volume|tomo|parágrafo|nota|tipo|modelo|inciso|figura|tabela|quadra|posto|avenida|"
    r"rua|década de|grau|opção|questão|exercício|lição|versículos?|salmo|ano de) (?:[\d, ]+(?:e|a) )?)"
)
# 200, 21, 22.000
_GENDERED = r"(?<=(?<!1)[12]|[2-9]\d\d|(?:(?<!1)[12]|[2-9]\d\d)\.?\d{3})"

_LARGE = r"(?<=(?<![\d.,])(?:\d{1,3}(?:\.\d{3})+|2[1-9]\d\d|[3-9]\d{3}|\d{5,6}))"
_NEUTRAL = r"(?:de|e|ou|a|o|os|mil|milh\w+|bilh\w+|trilh\w+|por cento)\b"
_RANKED = (
    "lugar|andar|turno|dia|ano|grau|gol|tempo|set|colocado|round|batalhão|distrito|capítulo|aniversário|século|"
    "semestre|bimestre|trimestre|mandato|lote|período|artigo|filho"
)
_AT = r"(?<=\b(?i:às|à|as|das|da|pelas|até|desde|entre|e|a) )"
_HOURS = r"(?P<h>[2-9]|0[2-9]|1\d|2[0-4])"
_MINUTES = r"(?P<m>0[1-9]|[1-5]\d)(?: ?min(?:utos)?)?"

_COUNTED = (
    "dias|semanas|meses|anos|horas|minutos|segundos|pessoas|vezes|reais|pontos|páginas|graus|metros|quilômetros|quilos|"
    "litros|alunos|gramas|toneladas|mil|milhões|bilhões|colheres|xícaras|jogadores|centímetros|crianças|unidades|"
    "hectares|casas|gols|folhas|porções"
)
_SIGNS = r" ?(?:km|m|cm|mm|kg|g|mg|l|L|ml|ha|h|min|km/h|°C)(?![\p{L}\p{N}])"
_HALVED_FEMININE = "xícara|colher|hora|dose|tonelada|garrafa|cebola|maçã|laranja|lata|barra|porção|dúzia|libra|página"
_HALVED_MASCULINE = (
    "litro|copo|quilo|limão|pacote|tomate|metro|século|ano|pimentão|abacaxi|dente|maço|tablete|quilômetro"
)
_OF = r"(?= d[aeo]s? (?!\d))"

_SCORED = r"(?= (?:contra|sobre|n?[oa]s?|d[oa]s?|diante|em|para|com|e|num|neste|nesta)\b|[.,;!?)]|$)"

_UP_TO_TEN, _BEYOND_TEN = r"(?P<r>I{1,3}|IV|VI{0,3}|IX|X)(?!\. ?\p{Lu})", "(?P<r>X[IVX]+)"
_CENTURY = r"(?<=\b[Ss]éculos? (?:[\p{L}]+(?: [ea]o?|,) )*)"
_KINGS = (
    "Pedro|João|Luís|Luis|Henrique|Carlos|Filipe|Felipe|Afonso|Sancho|Manuel|Fernando|Jorge|Eduardo|Guilherme|"
    "Napoleão|Pio|Bento|Paulo|Gregório|Leão|Clemente|Inocêncio|Urbano|Alexandre|Nicolau|Ricardo|Frederico|Otão|Oto|"
    "Ramsés|Ptolomeu|Dario|Xerxes|Francisco|José|Alberto|Balduíno|Leopoldo|Umberto|Emanuel|Constantino|Teodósio|"
    "Gustavo|Cristiano|Ivan|Mehmed|Maomé|Selim|Murad|Solimão|Sisto|Júlio|Bonifácio|Celestino|Adriano|Calisto|Martinho|"
    "Eugênio|Tutmés|Amenófis|Jaime|Tiago|Duarte|Artaxerxes|Antíoco|Rodolfo|Maximiliano|Augusto"
)
_QUEENS = "Elizabeth|Elisabete|Isabel|Catarina|Maria|Margarida|Beatriz|Cleópatra"
_EVENTS = "Congresso|Festival|Encontro|Simpósio|Concurso|Campeonato|Fórum|Seminário|Prêmio|Salão|Torneio|Colóquio"
_FEMININE_EVENTS = (
    "Guerra Mundial|Bienal|Conferência|Copa|Semana|Jornada|Mostra|Feira|Assembleia|Olimpíada|Cúpula|Edição|Dinastia"
)

_UNREAD_UNITS = (
    "[KMGTk]B|[KMG]bps|hp|cv|CV|cc|mAh|m?A|[kMh]?Pa|dB|rpm|ppm|MP|cal|k?VA?|k?J|s|seg|ft|lb|USD|EUR|BRL|pp|TWh|GWh|GW"
)

_UNITS = {
    "km": noun("quilômetro quilômetros"),
    "m": noun("metro metros"),
    "cm": noun("centímetro centímetros"),
    "mm": noun("milímetro milímetros"),
    "m²": noun("metro_quadrado metros_quadrados"),
    "m2": noun("metro_quadrado metros_quadrados"),
    "km²": noun("quilômetro_quadrado quilômetros_quadrados"),
    "km2": noun("quilômetro_quadrado quilômetros_quadrados"),
    "cm²": noun("centímetro_quadrado centímetros_quadrados"),
    "m³": noun("metro_cúbico metros_cúbicos"),
    "m3": noun("metro_cúbico metros_cúbicos"),
    "ha": noun("hectare hectares"),
    "kg": noun("quilo quilos"),
    "g": noun("grama gramas"),
    "mg": noun("miligrama miligramas"),
    "t": noun("tonelada toneladas", "f"),
    "l": noun("litro litros"),
    "L": noun("litro litros"),
    "ml": noun("mililitro mililitros"),
    "mL": noun("mililitro mililitros"),
    "km/h": noun("quilômetro_por_hora quilômetros_por_hora"),
    "km/s": noun("quilômetro_por_segundo quilômetros_por_segundo"),
    "m/s": noun("metro_por_segundo metros_por_segundo"),
    "h": noun("hora horas", "f"),
    "min": noun("minuto minutos"),
    "°C": noun("grau_Celsius graus_Celsius"),
    "ºC": noun("grau_Celsius graus_Celsius"),
    "°F": noun("grau_Fahrenheit graus_Fahrenheit"),
    "kcal": noun("quilocaloria quilocalorias", "f"),
    "W": noun("watt watts"),
    "kW": noun("quilowatt quilowatts"),
    "MW": noun("megawatt megawatts"),
    "kWh": noun("quilowatt-hora quilowatts-hora"),
    "Hz": noun("hertz"),
    "kHz": noun("quilohertz"),
    "MHz": noun("megahertz"),
    "GHz": noun("gigahertz"),
}

# NLLB has one Portuguese; most of its speakers, and of the recordings, are Brazilian: dezesseis, bilhão.
PORTUGUESE = Convention(
    words="pt_BR",
    icu="pt",
    substitutions=((",", ""),),
    months=tuple(_MONTHS.split()),
    rules=(
        Rule("date", rf"0?1[/.]{MONTH}[/.]{YEAR}", "primeiro de {mo:month} de {y}"),
        Rule("date", rf"{DAY}[/.]{MONTH}[/.]{YEAR}", "{d} de {mo:month} de {y}"),
        Rule("date", rf"(?<=\b[Dd]ia )0?1/{MONTH}", "primeiro de {mo:month}"),
        Rule("date", rf"(?<=\b[Dd]ia ){DAY}/{MONTH}", "{d} de {mo:month}"),
        Rule("date", rf"0?1[°º]?(?={_OF_MONTH})", "primeiro"),
        Rule("range", r"(?P<a>\d{1,2}h(?:[0-5]\d)?) ?- ?(?P<b>\d{1,2}h(?:[0-5]\d)?)", "{a:=} às {b:=}"),
        Rule("time", rf"{_AT}0?0[h:]{_MINUTES}", "zero hora e {m}"),
        Rule("time", rf"{_AT}0?1[h:]{_MINUTES}(?: ?h(?:oras)?)?", "uma e {m}"),
        Rule("time", rf"{_AT}{_HOURS} ?[h:] ?{_MINUTES}(?: ?h(?:oras)?)?", "{h:f} e {m}"),
        Rule("time", rf"(?:{_AT}0?0:00(?: ?h(?:oras?)?)?|0?0 ?h(?:00)?)", "zero hora"),
        Rule("time", rf"(?:{_AT}0?1:00(?: ?h(?:oras?)?)?|0?1 ?h(?:00)?)", "uma hora"),
        Rule("time", rf"(?:{_AT}{_HOURS}:00(?: ?h(?:oras?)?)?|{_HOURS} ?h(?:00)?)", "{h:f} horas"),
        Rule("time", rf"0?1 ?h ?{_MINUTES}", "uma hora e {m} minutos"),
        Rule("time", rf"{_HOURS} ?h ?{_MINUTES}", "{h:f} horas e {m} minutos"),
        Rule("range", YEARS, "{a} a {b}"),
        Rule(
            "range",
            r"(?<=\b(?:páginas|capítulos|artigos|versículos|itens|séculos|questões) )(?P<a>\d+)-(?P<b>\d+)",
            "{a} a {b}",
        ),
        Rule("range", r"(?P<a>\d[\d,]*)% ?- ?(?P<b>\d[\d,]*)%", "{a:=}% a {b:=}%"),
        Rule("range", rf"{RANGE}(?= ?%|{_OF_MONTH}| (?:{_COUNTED})\b|{_SIGNS})", "{a:=} a {b:=}"),
        Rule(
            "number",
            r"(?<=\b(?:por|placar de|empate em|vitória de|derrota de) )(?P<a>\d{1,2}) ?[xX×-] ?(?P<b>\d{1,2})",
            "{a} a {b}",
        ),
        Rule("fraction", rf"1 1[/⁄]2 (?P<of>{_HALVED_FEMININE})s?", "uma {of:=} e meia"),
        Rule("fraction", rf"1 1[/⁄]2 (?P<of>{_HALVED_MASCULINE})s?", "um {of:=} e meio"),
        Rule("fraction", rf"(?P<n>\d+) 1[/⁄]2 (?P<of>(?:{_HALVED_FEMININE}|semana)e?s)", "{n:f} {of:=} e meia"),
        Rule("fraction", rf"(?P<n>\d+) 1[/⁄]2 (?P<of>(?:{_HALVED_MASCULINE}|dia|minuto)s|meses)", "{n} {of:=} e meio"),
        Rule("fraction", r"1 1[/⁄]2 ?kg", "um quilo e meio"),
        Rule("fraction", r"(?P<n>\d+) 1[/⁄]2 ?kg", "{n} quilos e meio"),
        Rule("fraction", r"(?<!\d )1[/⁄]2 ?kg", "meio quilo"),
        Rule("fraction", rf"1[/⁄]2(?= (?:{_HALVED_FEMININE})\b)", "meia"),
        Rule("fraction", rf"1[/⁄]2(?= (?:{_HALVED_MASCULINE})\b)", "meio"),
        Rule("fraction", rf"1[/⁄]3{_OF}", "um terço"),
        Rule("fraction", rf"2[/⁄]3{_OF}", "dois terços"),
        Rule("fraction", rf"1[/⁄](?P<d>[4-9]|10){_OF}", "um {d:ordinal}"),
        Rule("fraction", rf"(?:(?P<n>3)[/⁄](?P<d>[4578]|10)|(?P<n>[2-4])[/⁄](?P<d>5)){_OF}", "{n} {d:ordinal}s"),
        Rule("fraction", rf"1[/⁄]4(?= (?:{_HALVED_FEMININE}|{_HALVED_MASCULINE})\b)", "um quarto de"),
        Rule("fraction", rf"3[/⁄]4(?= (?:{_HALVED_FEMININE}|{_HALVED_MASCULINE})\b)", "três quartos de"),
        Rule("unit", r"1,(?P<f>[1-9]\d) ?m(?!\^)", "um metro e {f}"),
        Rule("unit", r"(?P<n>[2-9]),(?P<f>[1-9]\d) ?m(?!\^)", "{n} metros e {f}"),
        Rule("money", r"R\$ ?(?P<n>\d[\d.,]*) mil(?! reais)", "{n:=} mil reais"),
        Rule("money", r"US\$ ?(?P<n>\d[\d.,]*) mil(?! dólares)", "{n:=} mil dólares"),
        Rule("money", r"€ ?(?P<n>\d[\d.,]*) mil(?! euros)", "{n:=} mil euros"),
        Rule("number", r"(?<=(?<![\d.,])[01](?:,\d+)? )mi", "milhão"),
        Rule("number", r"(?<=\d )mi", "milhões"),
        Rule("number", r"(?<=(?<![\d.,])[01](?:,\d+)? )bi", "bilhão"),
        Rule("number", r"(?<=\d )bi", "bilhões"),
        Rule("number", r"1 mil", "mil"),
        Rule("unit", r"(?<=\b(?i:no|do|ao|o|pelo) )km(?= \d)", "quilômetro"),
        Rule("ordinal", rf"(?P<n>[1-9]\d?)°(?= (?:{_RANKED})\b)", "{n:ordinal}"),
        Rule(
            "number",
            rf"{_LABELED}{_NUMBER}(?= (?!mil\b|milh|bilh)\p{{L}})(?!{_SIGNS}|{_BETWEEN}(?!das\b)(?:{_FEMININE})\b)",
            "{n}",
        ),
        Rule("number", rf"{_NUMBER}(?= e meia\b)", "{n:f}"),
        Rule("number", rf"{_ALONE}1(?= (?:{_ONE_FEMININE})\b)", "uma"),
        Rule("number", rf"{_ALONE}1(?= (?:{_ONE_MASCULINE})\b)", "um"),
        Rule("number", rf"{_ALONE}{_COUNT}(?={_BETWEEN}(?:{_FEMININE})\b)", "{n:f}"),
        Rule("number", rf"{_ABOUT}{_NUMBER}(?={_BETWEEN}(?:{_FEMININE})\b)", "{n:f}"),
        Rule("number", rf"{_ALONE}{_NUMBER}(?={_BETWEEN}(?:{_MASCULINE}|{_COMMON})\b)", "{n}"),
        Rule("number", rf"{_AFTER_FEMININE}{_COUNT}(?= (?!milh|bilh|trilh)\p{{Ll}}|[.,;!?)]|$)(?!{_SIGNS})", "{n:f}"),
        Rule("number", rf"{_AFTER_MASCULINE}{_NUMBER}(?= \p{{Ll}})(?!{_SIGNS})", "{n}"),
        Rule("number", rf"{_COUNT}(?= da (?:manhã|tarde|noite|madrugada)\b)", "{n:f}"),
        Rule("number", rf"(?<=\b(?:por|de|em) )(?P<a>\d{{1,2}}) a (?P<b>\d{{1,2}}){_SCORED}", "{a} a {b}"),
        Rule("roman", rf"{_CENTURY}{_BEYOND_TEN}", "{r}"),
        Rule("roman", rf"{_CENTURY}{_UP_TO_TEN}", "{r:ordinal}"),
        Rule("roman", rf"(?<=\b(?:{_KINGS}) ){_BEYOND_TEN}", "{r}"),
        Rule("roman", rf"(?<=\b(?:{_KINGS}) ){_UP_TO_TEN}", "{r:ordinal}"),
        Rule("roman", rf"(?<=\b(?:{_QUEENS}) ){_UP_TO_TEN}", "{r:ordinal-feminine}"),
        Rule("roman", rf"(?<=\b(?i:capítulo|volume|tomo) ){_BEYOND_TEN}", "{r}"),
        Rule("roman", rf"(?P<r>[IVX]+)(?= (?:{_EVENTS})\b)", "{r:ordinal}"),
        Rule("roman", rf"(?P<r>[IVX]+)(?= (?:{_FEMININE_EVENTS})\b)", "{r:ordinal-feminine}"),
    ),
    decimal=",",
    thousands=".",
    point=noun("vírgula"),
    fraction_is_number=True,
    minus="menos",
    plural="french",
    agreement={
        "f": (
            (r"\bum(?=$| mil\b)", "uma"),
            (r"\bdois(?=$| mil\b)", "duas"),
            (r"(zent|cent|nhent)os\b(?!.*(?:milh|bilh))", r"\1as"),
        )
    },
    agrees=r"\b(?:um|dois)$|(?:z|c|nh)entos\b",
    agrees_not_before=rf"{_OF_MONTH}| (?:e|ou|a \d+|mil|milh\w+|bilh\w+|trilh\w+|por cento)\b",
    percent=noun("por_cento"),
    currencies={
        # the third form is said after millions
        "R$": money("real reais de_reais", "centavo centavos"),
        "€": money("euro euros de_euros", "centavo centavos"),
        **dict.fromkeys(("$", "US$"), money("dólar dólares de_dólares", "centavo centavos")),
        "£": money("libra libras de_libras", "penny pence", gender="f", hundredth_gender=""),
        "¥": money("iene ienes de_ienes"),
    },
    magnitudes="milhão|milhões|bilhão|bilhões|trilhão|trilhões",
    money_joint="e",
    of="de",
    units=_UNITS,
    ordinals=((r"\.?o", ()), (r"\.?a", ((r"o\b", "a"),)), (r"\.?os", ((r"o\b", "os"),)), (r"\.?as", ((r"o\b", "as"),))),
    unsure=(
        # a gender that is not known; 2010 before a feminine noun can be a number or a year
        rf"{_LARGE}{_GENDERED} (?!{_NEUTRAL})\p{{L}}"
        rf"|(?<=(?<![\d.,])(?:1\d{{3}}|20\d\d)){_BETWEEN}(?:{_FEMININE})\b"
        rf"|(?<=(?<![\d.,])\d{{1,3}}){_GENDERED} (?:(?:e|a|ou|em) \d[\d.]*|mil(?: e \d+)?) (?!{_NEUTRAL})\p{{Ll}}"
        rf"|(?<=(?<!1)[12],\d+) (?:{_FEMININE})\b"
        r"| \d| ?[x×] ?\d|\) ?\d{4}| ?\p{L}{1,3}/\p{L}"
        rf"| ?(?:{_UNREAD_UNITS})(?![\p{{L}}\p{{N}}])"
    ),
    unsure_before=r"\d |\d ?[x×] ?|/\p{L}{1,2}\^?|\b(?:USD|EUR|BRL|CEP:?) ?",
    titles={
        **{"Sr.": "senhor", "Sra.": "senhora", "Srta.": "senhorita", "Dr.": "doutor", "Dra.": "doutora"},
        **{"Prof.": "professor", "Profa.": "professora", "Srs.": "senhores", "Pe.": "padre", "Cel.": "coronel"},
        **{"Gen.": "general", "Cap.": "capitão", "Ten.": "tenente", "Sgt.": "sargento", "Eng.": "engenheiro"},
        **{"Av.": "Avenida", "Sto.": "Santo", "Sta.": "Santa", "Exmo.": "excelentíssimo"},
    },
    numbered={
        **dict.fromkeys(("n°", "N°", "núm."), "número"),
        **dict.fromkeys(("p.", "pág.", "pg."), "página"),
        **dict.fromkeys(("pp.", "págs."), "páginas"),
        **{"art.": "artigo", "Art.": "Artigo", "arts.": "artigos", "Arts.": "Artigos", "cap.": "capítulo"},
        **{"vol.": "volume", "fl.": "folha", "fls.": "folhas", "fig.": "figura", "Fig.": "Figura", "§": "parágrafo"},
        **{"tel.": "telefone", "Tel.": "Telefone", "inc.": "inciso"},
    },
    phrases={"p. ex.": "por exemplo", "i. e.": "isto é", "séc.": "século", "sécs.": "séculos", "vs.": "versus"},
    closings={"etc.": "et cetera", "a. C.": "antes de Cristo", "d. C.": "depois de Cristo"},
)
