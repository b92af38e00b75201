"""Polish, Czech, Russian and Ukrainian."""

from __future__ import annotations

from preprocess.conventions.convention import Convention, money, months, noun

POLISH = Convention(
    words="pl",
    decimal=",",
    thousands=" ",
    point=noun("przecinek"),
    fraction_is_number=True,
    minus="minus",
    plural="polish",
    agreement={"n": (("^jeden$", "jedno"),)},
    agrees=r"(?:^jeden|\bdwa)$",
    percent=noun("procent"),
    currencies={
        "zł": money("złoty złote złotych", "grosz grosze groszy"),
        "€": money("euro", "cent centy centów", "n", ""),
        "$": money("dolar dolary dolarów", "cent centy centów"),
        "£": money("funt funty funtów", "pens pensy pensów"),
    },
    dot="unsure",
    day_after=months(
        "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia"
    ),
    day_substitutions=((r"i\b", "iego"), (r"y\b", "ego")),
    unsure=r" (?:roku|r\.|wieku|w\.)|-[^\W\d]",
    titles={"dr": "doktor"},
    numbered={"n°": "numer", "nr": "numer", "ok.": "około"},
    phrases={"np.": "na przykład", "tzn.": "to znaczy", "m. in.": "między innymi", "tj.": "to jest"},
    closings={"itd.": "i tak dalej", "itp.": "i tym podobne"},
)

CZECH = Convention(
    words="cs",
    substitutions=((r"(dvě|tři|čtyři|pět|šest|sedm|osm|devět)(?=stě|sta|set\b)", r"\1 "),),
    decimal=",",
    thousands=" ",
    point=noun("celá celé celých", "f"),
    fraction_is_number=True,
    minus="minus",
    plural="west_slavic",
    agreement={
        "m": (("^jedna$", "jeden"),),
        "n": (("^jedna$", "jedno"), ("^dva$", "dvě")),
        "f": (("^dva$", "dvě"),),
    },
    agrees="(?:^jedna|dva)$",
    percent=noun("procento procenta procent", "n"),
    currencies={
        "Kč": money("koruna koruny korun", "haléř haléře haléřů", "f", "m"),
        "€": money("euro eura eur", "cent centy centů", "n", "m"),
        "$": money("dolar dolary dolarů", "cent centy centů", "m"),
        "£": money("libra libry liber", gender="f"),
    },
    dot="unsure",
    unsure=r"-[^\W\d]",
    numbered={"n°": "číslo", "č.": "číslo"},
    phrases={"např.": "například", "tj.": "to jest", "mj.": "mimo jiné", "resp.": "respektive"},
    closings={"atd.": "a tak dále", "apod.": "a podobně"},
)

RUSSIAN = Convention(
    words="ru",
    decimal=",",
    thousands=" ",
    point=noun("целая целых целых", "f"),
    places=(
        noun("десятая десятых десятых", "f"),
        noun("сотая сотых сотых", "f"),
        noun("тысячная тысячных тысячных", "f"),
    ),
    minus="минус",
    plural="east_slavic",
    agreement={"f": ((r"\bодин$", "одна"), (r"\bдва$", "две"))},
    agrees=r"\b(?:один|два)$",
    percent=noun("процент процента процентов"),
    currencies={
        **dict.fromkeys(("₽", "руб."), money("рубль рубля рублей", "копейка копейки копеек", "", "f")),
        "€": money("евро", "цент цента центов"),
        "$": money("доллар доллара долларов", "цент цента центов"),
        "£": money("фунт фунта фунтов", "пенс пенса пенсов"),
        "¥": money("иена иены иен", gender="f"),
    },
    ordinals=(("-?й", ()),),
    dot="unsure",
    day_after=months("января февраля марта апреля мая июня июля августа сентября октября ноября декабря"),
    day_substitutions=(("третий$", "третьего"), ("(?:ый|ой|ий)$", "ого")),
    unsure=r"-[^\W\d]| (?:года?|году|годы|годов|годах|гг?\.|века?|веке|вв?\.)(?!\w)",
    numbered={"n°": "номер"},
    phrases={"т. е.": "то есть", "т. к.": "так как", "напр.": "например"},
    closings={"и т. д.": "и так далее", "и т. п.": "и тому подобное", "и др.": "и другие"},
)

UKRAINIAN = Convention(
    words="uk",
    decimal=",",
    thousands=" ",
    point=noun("ціла цілих цілих", "f"),
    places=(noun("десята десятих десятих", "f"), noun("сота сотих сотих", "f"), noun("тисячна тисячних тисячних", "f")),
    minus="мінус",
    plural="east_slavic",
    agreement={"f": ((r"\bодин$", "одна"), (r"\bдва$", "дві"))},
    agrees=r"\b(?:один|два)$",
    percent=noun("відсоток відсотки відсотків відсотка"),
    currencies={
        **dict.fromkeys(("₴", "грн"), money("гривня гривні гривень", "копійка копійки копійок", "f")),
        "€": money("євро", "цент центи центів"),
        "$": money("долар долари доларів", "цент центи центів"),
    },
    ordinals=(("-?й", ()),),
    dot="unsure",
    day_after=months("січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня"),
    day_substitutions=(("третій$", "третього"), ("ий$", "ого")),
    unsure=r"-[^\W\d]| (?:рік|року|році|роки|роках|рр?\.|століття|столітті|ст\.)(?!\w)",
    numbered={"n°": "номер"},
    phrases={"напр.": "наприклад"},
    closings={"і т. д.": "і так далі", "та ін.": "та інші"},
)
