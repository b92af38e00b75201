"""How Turkish writes and says numbers, and its abbreviations."""

from __future__ import annotations

from preprocess.verbalization.conventions.convention import (
    DAY,
    HOUR,
    MONTH,
    RANGE,
    YEARS,
    Convention,
    Rule,
    money,
    noun,
)

_NUMBER_WORDS = (
    "bir|iki|üç|dört|dörd|beş|altı|yedi|sekiz|dokuz|on|yirmi|otuz|kırk|elli|altmış|yetmiş|seksen|doksan|yüz|bin"
)
_NUMBER_WORDS_TO_MILLIARD = f"{_NUMBER_WORDS}|milyon|milyar"

# A suffix has the vowels of the number's last word: front ones (5'te) or back ones (6'da, 1990'daki).
_FRONT = r"(?<=(?:[1-578]|[2578]0|[1-9]00|[1-9]\d{0,2}\.?000)')"
_BACK = r"(?<=(?:[69]|[13469]0|(?<!\d)0|000\.?000)')"
_CONSONANT = "[bcçdfgğhjklmnprsştvyz]"
_FRONTS, _BACKS = "[eiöübcçdfgğhjklmnprsştvyz]*", r"[aıoubcçdfgğhjklmnprsştvyz]*(?:ki\p{Ll}*|yken)?"
_VOWEL_SUFFIX = rf"(?<![267]|[25]0)'(?:{_FRONT}(?P<s>[eiöü]{_FRONTS})|{_BACK}(?P<s>[aıou]{_BACKS}))"
_FITTING = r"(?:(?<=[267]|[25]0)|(?!'(?:[ynş]|s[iıuü](?!z))))"  # 2'ye, 2'si, but 3'e, 3'ü
_CONSONANT_SUFFIX = rf"{_FITTING}'(?:{_FRONT}(?P<s>{_CONSONANT}{_FRONTS})|{_BACK}(?P<s>{_CONSONANT}{_BACKS}))"
_WHOLE = r"(?<![-+\p{Sc}%/] ?)(?P<n>[1-9]\d{0,2}(?:\.\d{3})+|[1-9]\d{0,5}|0)"
_SUFFIX = r"'\p{Ll}+"
_ENDING = rf"(?P<s>(?:{_SUFFIX})?)"

_QUANTITY = r"(?P<n>\d[\d.,]*)"
_AFTER_E = r"'(?P<s>[ydnsl][^\W\daıoöuü]*)"  # of kilometre, derece
_AFTER_A = r"'(?P<s>[aıdl][^\W\deioöuü]*)"  # of kilogram
_LIRA = r"(?<=(?:\d|\b(?:bin|milyon|milyar|trilyon)) )TL'"

_AFTER_TIME_WORD = r"(?<=\b(?i:saat|saati|saatleri|sabah|akşam|gece) )"
_FULL_HOUR = r"0?(?P<h>[1-9]|1\d|2[0-4])[.:]00"
_LOCATIVE = r"'[dt][ea](?:ki)?"
_AROUND = r" (?:sularında|sıralarında|civarında|itibar)"

_COUNTED = (
    "gün|hafta|ay|yıl|yaş|saat|dakika|saniye|kişi|kat|kez|kere|defa|sayfa|metre|kilometre|kilo|litre|gram|ton|derece|"
    "lira|dolar|avro|euro|bin|milyon|milyar|puan|adet|tane|bardak|kaşık|porsiyon|öğrenci|çocuk"
)
_CUPS = (
    "bardak|su bardağı|çay bardağı|kahve fincanı|çay kaşığı|tatlı kaşığı|yemek kaşığı|kaşık|fincan|paket|demet|kilo|"
    "litre|saat|porsiyon|limon|adet|dilim|ekmek|ölçek|kase|kâse"
)
_PART = (
    r"(?<!\b(?i:no|numara|kat|daire|madde|md\.|m\.):? ?)"
    r"(?:(?P<n>1)[/⁄](?P<d>[2-9]|10)|(?P<n>2)[/⁄](?P<d>[3579])|(?P<n>3)[/⁄](?P<d>[4578]|10)|(?P<n>4)[/⁄](?P<d>[579]))"
)

# A word with a capital may begin the next sentence; these hardly ever do.
_NUMBERED = (
    "Dünya Savaş|Dünya Harbi|Yüzyıl|Lig|Cumhurbaşkan|Kolordu|Ordu Komutan|Meşrutiyet|Sınıf|Ağır Ceza|Asliye|İcra|"
    "Noter|Uluslararası|Ulusal|Geleneksel|Olağan|Cadde|Sokak|Levent|Etap|Hukuk Dairesi|Ceza Dairesi|Abdül|Bayezid"
)
_RULERS = (
    "Mura[dt]|Mehme|Selim|Beyazı|Ahme|Mustafa|Osman|Mahmu|Süleyman|Wilhelm|Louis|Charles|George|Henry|Elizabeth|Nikola|"
    "Friedrich|Napolyon|Petro|Katerina|Aleksandr|Justinian|Ramses|Darius|Murşili|Dönem|Bölüm|Cilt|Kısım|Grup|Tümen"
)
_SCORED = (
    "kazan|yen|mağlup|galip|önde|öne|kaybet|bit|skor|berabere|sona|geriden|üstün|galibiyet|mağlubiyet|yenilgi|zafer"
)

_UNREAD_UNITS = r"mn|mlr|mln|hp|HP|BG|mAh|m?A|[kMh]?Pa|dB|rpm|ppm|MP|k?cal|[kK]B|[KMG]bps|k?VA?|k?J|cl|cc|USD|EUR|GBP"

_UNITS = {
    "km": noun("kilometre"),
    "m": noun("metre"),
    "cm": noun("santimetre"),
    "mm": noun("milimetre"),
    **dict.fromkeys(("m²", "m2"), noun("metrekare")),
    **dict.fromkeys(("km²", "km2"), noun("kilometrekare")),
    **dict.fromkeys(("m³", "m3"), noun("metreküp")),
    "ha": noun("hektar"),
    "kg": noun("kilogram"),
    **dict.fromkeys(("g", "gr"), noun("gram")),
    "mg": noun("miligram"),
    **dict.fromkeys(("l", "L", "lt", "Lt"), noun("litre")),
    **dict.fromkeys(("ml", "mL"), noun("mililitre")),
    **dict.fromkeys(("°C", "°"), noun("derece")),
    "dk": noun("dakika"),
    "sn": noun("saniye"),
    "W": noun("vat"),
    "kW": noun("kilovat"),
    "MW": noun("megavat"),
    "GW": noun("gigavat"),
    "kWh": noun("kilovatsaat"),
    "Hz": noun("hertz"),
    "kHz": noun("kilohertz"),
    "MHz": noun("megahertz"),
    "GHz": noun("gigahertz"),
    "MB": noun("megabayt"),
    "GB": noun("gigabayt"),
    "TB": noun("terabayt"),
}

TURKISH = Convention(
    words="tr",
    limit=10**9,  # beyond: 4,001,000,000 is read as four milliard million
    # num2words writes numbers in one word, as on cheques
    substitutions=((rf"(milyon|milyar|{_NUMBER_WORDS})(?={_NUMBER_WORDS_TO_MILLIARD})", r"\1 "),),
    thousand="bin",  # num2words reads 121,500 as 120,500
    months=tuple("Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık".split()),
    agreement={
        "vowel": ((r"dört$", "dörd"),),
        "in": ((r"(üç|dört|beş)$", r"\1te"), (r"(iki|yedi|sekiz)$", r"\1de"), (r"(altı|dokuz|on)$", r"\1da")),
    },
    rules=(
        # first what leaves the last number with its suffix, which is read at the end
        Rule("date", rf"{DAY}[./]{MONTH}[./](?P<y>[12]\d{{3}}(?:{_SUFFIX})?)", "{d} {mo:month} {y:=}"),
        Rule("range", rf"{_FULL_HOUR} ?- ?0?(?P<k>[1-9]|1\d|2[0-4])[.:]00(?= (?:saatleri )?aras)", "{h} ile {k}"),
        Rule(
            "range",
            r"0?(?P<h>\d\d?)[.:](?P<m>[1-5]\d) ?- ?0?(?P<k>\d\d?)[.:](?P<n>[1-5]\d)(?= aras)",
            "{h} {m} ile {k} {n}",
        ),
        Rule("range", r"0?(?P<h>\d\d?)[.:]00 ?- ?0?(?P<k>\d\d?)[.:](?P<n>[1-5]\d)(?= aras)", "{h} ile {k} {n}"),
        Rule("range", r"0?(?P<h>\d\d?)[.:](?P<m>[1-5]\d) ?- ?0?(?P<k>\d\d?)[.:]00(?= aras)", "{h} {m} ile {k}"),
        Rule("time", rf"{_AFTER_TIME_WORD}{_FULL_HOUR}{_ENDING}", "{h:=}{s:=}"),
        Rule("time", rf"{_AFTER_TIME_WORD}00[.:]0(?P<m>[1-9](?:{_SUFFIX})?)", "sıfır sıfır sıfır {m:=}"),
        Rule("time", rf"{_AFTER_TIME_WORD}00[.:](?P<m>[1-5]\d(?:{_SUFFIX})?)", "sıfır sıfır {m:=}"),
        Rule("time", rf"{_AFTER_TIME_WORD}{HOUR}[.:]0(?P<m>[1-9](?:{_SUFFIX})?)", "{h} sıfır {m:=}"),
        Rule("time", rf"{_AFTER_TIME_WORD}{HOUR}[.:](?P<m>[1-5]\d(?:{_SUFFIX})?)", "{h} {m:=}"),
        Rule("time", rf"(?:0(?P<h>[1-9])|(?P<h>1\d|2[0-3]))[.:]00(?P<s>{_LOCATIVE}|(?={_AROUND}))", "{h:=}{s:=}"),
        Rule("time", rf"(?P<h>0[1-9])[.:](?P<m>[1-5]\d(?:{_LOCATIVE}|(?={_AROUND})))", "{h} {m:=}"),
        Rule("time", rf"(?P<h>1\d|2[0-3]):0(?P<m>[1-9](?:{_SUFFIX}|(?={_AROUND})))", "{h} sıfır {m:=}"),
        Rule("time", rf"(?P<h>1\d|2[0-3]):(?P<m>[1-5]\d(?:{_SUFFIX}|(?={_AROUND})))", "{h} {m:=}"),
        Rule("time", rf"(?P<h>1\d|2[0-3])\.(?P<m>(?:15|30|45){_LOCATIVE})", "{h} {m:=}"),
        Rule("range", rf"{YEARS}(?= (?:yılları )?aras)", "{a} ile {b}"),
        Rule("range", rf"{YEARS}{_ENDING}", "{a} {b:=}{s:=}"),
        Rule("number", rf"(?P<a>\d{{1,3}})-(?P<b>\d{{1,3}}(?:'l[iıuü]k)?)(?= (?:{_SCORED}))", "{a} {b:=}"),
        Rule(
            "range",
            rf"{RANGE}(?= (?:{_COUNTED})\p{{Ll}}*| ?(?:km|m|cm|kg|g|l|TL|°C)(?![\p{{L}}\p{{N}}]))",
            "{a:=} ila {b:=}",
        ),
        Rule("percent", r"(?<!\d ?)%(?= \d)", "yüzde"),
        Rule("percent", rf"%(?P<n>\d[\d.,]*{_SUFFIX})", "yüzde {n:=}"),
        Rule("number", rf"(?<!\S)-(?P<n>\d[\d.,]*{_SUFFIX})", "eksi {n:=}"),
        Rule("fraction", r"(?P<n>\d+) 1[/⁄]2 ?kg(?!')", "{n} buçuk kilogram"),
        Rule("fraction", r"(?<!\d )1[/⁄]2 ?kg(?!')", "yarım kilogram"),
        Rule("fraction", r"(?P<n>\d+) 1[/⁄]2(?= \p{Ll}{3})", "{n} buçuk"),
        Rule("fraction", rf"1[/⁄]2(?= (?:{_CUPS}))", "yarım"),
        Rule("fraction", rf"1[/⁄]4(?= (?:{_CUPS}))", "çeyrek"),
        Rule("fraction", rf"{_PART}(?= (?:{_CUPS}|oran|çoğunluk|hisse|pay))", "{d:in} {n}"),
        Rule("fraction", rf"{_PART}(?P<s>{_SUFFIX})", "{d:in} {n:=}{s:=}"),
        Rule("digits", r"0(?P<a>[2-5]\d\d) (?P<b>[1-9]\d\d) (?P<c>[1-9]\d) (?P<d>[1-9]\d)", "sıfır {a} {b} {c} {d}"),
        Rule("unit", r"(?<=\d )dk\.(?= \p{Ll})", "dakika"),
        Rule("unit", r"(?<=\d )sn\.(?= \p{Ll})", "saniye"),
        Rule("unit", rf"₺ ?(?P<n>\d[\d.,]*)(?P<s>{_SUFFIX})", "{n:=} TL{s:=}"),
        Rule("unit", r"(?P<n>\d[\d.,]*)TL(?P<s>(?:'\p{Ll}+)?)", "{n:=} TL{s:=}"),
        Rule("unit", r"(?<=\b(?:bin|milyon|milyar|trilyon) )TL(?!')", "lira"),
        Rule("unit", rf"{_LIRA}y[ea]", "liraya"),
        Rule("unit", rf"{_LIRA}y[iı]", "lirayı"),
        Rule("unit", rf"{_LIRA}d[ea]", "lirada"),
        Rule("unit", rf"{_LIRA}d[ea]n", "liradan"),
        Rule("unit", rf"{_LIRA}n[iı]n", "liranın"),
        Rule("unit", rf"{_LIRA}l[iı]k", "liralık"),
        Rule("unit", rf"{_LIRA}d[iı]r", "liradır"),
        Rule("unit", rf"{_LIRA}yd[iı]", "liraydı"),
        Rule("unit", rf"{_LIRA}yl[ea]", "lirayla"),
        Rule("unit", rf"{_LIRA}s[iı]", "lirası"),
        Rule("unit", rf"{_LIRA}s[iı]n[iı]", "lirasını"),
        Rule("unit", r"(?<=\b[sS]aatte \d[\d.,]* )km/(?:sa|h)(?!')", "kilometre"),
        Rule("unit", rf"(?<!\b[sS]aatte (?:\p{{L}}+ )?){_QUANTITY} ?km/(?:sa|h)(?!')", "saatte {n:=} kilometre"),
        Rule("unit", rf"{_QUANTITY} ?km{_AFTER_E}", "{n:=} kilometre{s:=}"),
        Rule("unit", rf"{_QUANTITY} ?m{_AFTER_E}", "{n:=} metre{s:=}"),
        Rule("unit", rf"{_QUANTITY} ?cm{_AFTER_E}", "{n:=} santimetre{s:=}"),
        Rule("unit", rf"{_QUANTITY} ?mm{_AFTER_E}", "{n:=} milimetre{s:=}"),
        Rule("unit", rf"{_QUANTITY} ?m\^?2{_AFTER_E}", "{n:=} metrekare{s:=}"),
        Rule("unit", rf"{_QUANTITY} ?km\^?2{_AFTER_E}", "{n:=} kilometrekare{s:=}"),
        Rule("unit", rf"{_QUANTITY} ?(?:l|L|lt){_AFTER_E}", "{n:=} litre{s:=}"),
        Rule("unit", rf"{_QUANTITY} ?m[lL]{_AFTER_E}", "{n:=} mililitre{s:=}"),
        Rule("unit", rf"{_QUANTITY} ?°C?{_AFTER_E}", "{n:=} derece{s:=}"),
        Rule("unit", rf"{_QUANTITY} ?kg{_AFTER_A}", "{n:=} kilogram{s:=}"),
        Rule("unit", rf"{_QUANTITY} ?gr?{_AFTER_A}", "{n:=} gram{s:=}"),
        Rule("unit", rf"{_QUANTITY} ?GB{_AFTER_A}", "{n:=} gigabayt{s:=}"),
        Rule("unit", rf"{_QUANTITY} ?MW{_AFTER_A}", "{n:=} megavat{s:=}"),
        Rule("number", r"1 bin", "bin"),
        Rule("decimal", rf"(?P<w>0|[1-9]\d*),(?P<f>[1-9]\d{{0,2}}{_SUFFIX})", "{w} virgül {f:=}"),
        Rule("decimal", rf"(?P<w>0|[1-9]\d*),0(?P<f>[1-9]\d?{_SUFFIX})", "{w} virgül sıfır {f:=}"),
        Rule("number", rf"{_WHOLE}{_VOWEL_SUFFIX}", "{n:vowel}{s:=}"),
        Rule("number", rf"{_WHOLE}{_CONSONANT_SUFFIX}", "{n}{s:=}"),
        Rule("ordinal", r"(?P<n>[1-9]\d{2,3})\.(?= \p{Ll})", "{n:ordinal}"),
        Rule("ordinal", rf"(?P<n>[1-9]\d{{0,2}})\.(?= (?:{_NUMBERED}))", "{n:ordinal}"),
        Rule("ordinal", r"(?<=\b(?i:sultan|padişah|kral|papa|çar) )(?P<n>[1-9]\d?)\.(?= \p{Lu})", "{n:ordinal}"),
        Rule("roman", r"(?<![IVX]\.?-)(?<!\b(?:Bölüm|Cilt|Kısım|Perde) )(?P<r>[IVX]{2,6})\.(?= \p{L})", "{r:ordinal}"),
        Rule("roman", rf"(?<![IVX]\.?-)(?P<r>[IVX])\.(?= (?:\p{{Ll}}|{_NUMBERED}|{_RULERS}))", "{r:ordinal}"),
    ),
    decimal=",",
    thousands=".",
    point=noun("virgül"),
    fraction_is_number=True,
    minus="eksi",
    plural="none",
    percent=noun("yüzde"),
    percent_first=True,
    currencies={
        **dict.fromkeys(("₺", "TL"), money("lira", "kuruş")),
        "€": money("avro", "sent"),
        **dict.fromkeys(("$", "US$"), money("dolar", "sent")),
        "£": money("sterlin", "peni"),
        "¥": money("yen"),
        "₽": money("ruble"),
    },
    magnitudes="bin|milyon|milyar|trilyon",
    units=_UNITS,
    dot="ordinal",
    unsure=(
        r"(?<=(?<![\d.,])\d{1,3})\. ?\p{Lu}|'\p{L}| \d| ?[x×] ?\d| ?\p{L}{1,3}/\p{L}"
        rf"| ?(?:{_UNREAD_UNITS})(?![\p{{L}}\p{{N}}])"
    ),
    unsure_before=r"\d |\d ?[x×] ?|/\p{L}{1,2}\^?",
    titles={
        **{"Dr.": "Doktor", "Prof.": "Profesör", "Sn.": "Sayın", "Doç.": "Doçent", "Av.": "Avukat", "Hz.": "Hazreti"},
        **{"Alb.": "Albay", "Yrd.": "Yardımcı", "Uzm.": "Uzman", "Müh.": "Mühendis"},
    },
    numbered={
        **dict.fromkeys(("n°", "No.", "no.", "No:", "no:"), "numara"),
        **{"s.": "sayfa", "md.": "madde", "Md.": "Madde"},
        **dict.fromkeys(("MÖ", "M.Ö."), "milattan önce"),
        **dict.fromkeys(("MS", "M.S."), "milattan sonra"),
    },
    phrases={
        "Öğr. Gör.": "Öğretim Görevlisi",
        "Öğr. Üyesi": "Öğretim Üyesi",
        "örn.": "örneğin",
        "bkz.": "bakınız",
        "no'lu": "numaralı",
        "nolu": "numaralı",
        "yy.": "yüzyıl",
        "Cad.": "Caddesi",
        "Mah.": "Mahallesi",
    },
    closings={"vb.": "ve benzeri", "vs.": "vesaire", "vd.": "ve diğerleri"},
)
