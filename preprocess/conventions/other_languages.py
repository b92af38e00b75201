"""Hungarian, Turkish, Arabic, Persian, Hindi and Korean."""

from __future__ import annotations

from preprocess.conventions.convention import Convention, money, months, noun

HUNGARIAN = Convention(
    words="hu",
    decimal=",",
    thousands=" .",
    point=noun("egész"),
    places=(noun("tized"), noun("század"), noun("ezred")),
    minus="mínusz",
    plural="none",
    agreement={"m": (("kettő$", "két"),)},
    agrees="kettő$",
    percent=noun("százalék", "m"),
    currencies={
        "Ft": money("forint", gender="m"),
        "€": money("euró", "cent", "m"),
        "$": money("dollár", "cent", "m"),
        "£": money("font", gender="m"),
    },
    dot="ordinal",
    unsure=r"-[^\W\d]|\.?"
    + months("január február március április május június július augusztus szeptember október november december"),
    titles={**dict.fromkeys(("Dr.", "dr."), "doktor"), "Prof.": "professzor"},
    phrases={"pl.": "például", "ún.": "úgynevezett", "kb.": "körülbelül", "ill.": "illetve"},
    closings={"stb.": "és a többi"},
)

_TURKISH = "bir|iki|üç|dört|beş|altı|yedi|sekiz|dokuz|on|yirmi|otuz|kırk|elli|altmış|yetmiş|seksen|doksan|yüz|bin"
_TURKISH_ENDS = f"{_TURKISH}|milyon|milyar"

TURKISH = Convention(
    words="tr",
    # num2words writes numbers in one word, as on cheques
    substitutions=((rf"(milyon|milyar|{_TURKISH})(?={_TURKISH_ENDS})", r"\1 "),),
    thousand="bin",  # num2words reads 121,500 as 120,500
    decimal=",",
    thousands=".",
    point=noun("virgül"),
    fraction_is_number=True,
    minus="eksi",
    plural="none",
    percent=noun("yüzde"),
    percent_first=True,
    currencies={
        "₺": money("lira", "kuruş"),
        "€": money("avro", "sent"),
        "$": money("dolar", "sent"),
        "£": money("sterlin"),
    },
    dot="ordinal",
    titles={"Dr.": "Doktor", "Prof.": "Profesör", "Sn.": "Sayın"},
    numbered={"n°": "numara", "No.": "numara", "no.": "numara"},
    phrases={"örn.": "örneğin"},
    closings={"vb.": "ve benzeri", "vs.": "vesaire"},
)

ARABIC = Convention(
    words="ar",
    # the conjunction is joined to the next word; the duals have their short form before a noun only
    substitutions=((" و ", " و"), (r"\b(مئتا|ألفا|مليونا)(?=$| و)", r"\1ن")),
    decimal="٫.",
    thousands="٬,",
    point=noun("فاصلة"),
    fraction_is_number=True,
    minus="ناقص",
    plural="none",
    percent=noun("بالمئة"),
    closings=dict.fromkeys(("إلخ", "الخ"), "إلى آخره"),
)

PERSIAN = Convention(
    words="fa",
    decimal="٫.",
    thousands="٬,",
    point=noun("ممیز"),
    fraction_is_number=True,
    minus="منفی",
    plural="none",
    percent=noun("درصد"),
    currencies={"$": money("دلار", "سنت"), "€": money("یورو", "سنت"), "£": money("پوند")},
    money_joint="و",
)

# num2words does not support Hindi.
HINDI = Convention(titles={"डॉ.": "डॉक्टर", "प्रो.": "प्रोफेसर"})

KOREAN = Convention(
    words="ko",
    decimal=".",
    thousands=",",
    point=noun("점"),
    minus="마이너스",
    plural="none",
    percent=noun("퍼센트"),
    currencies={"₩": money("원"), "$": money("달러", "센트"), "€": money("유로", "센트"), "¥": money("엔")},
    # counters that take native numerals, or either kind; and June and October
    unsure=r" ?(?:시(?!대)|개(?!월)|명|분|살|마리|권|잔|병|번|달|가지|사람|벌|채|대|송이|그루|켤레|곳|쪽|차)"
    r"|(?<=6|10)월",
)
