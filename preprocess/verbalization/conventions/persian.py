"""How Persian writes and says numbers, and its abbreviations."""

from __future__ import annotations

from preprocess.verbalization.conventions.convention import (
    Convention,
    Rule,
    money,
    noun,
)

# Digits are written in three ways: 1404, ۱۴۰۴, ١٤٠٤.
_HOUR, _MINUTE = r"(?P<h>[01۰۱٠١]?\d|[2۲٢][0-4۰-۴٠-٤])", r"(?P<m>[0-5۰-۵٠-٥]\d)"
_SHARP = "(?:00|۰۰|٠٠)"
_DAY = r"(?P<d>[012۰۱۲٠١٢]?\d|[3۳٣][01۰۱٠١])"
_DAY_ONLY = r"(?P<d>[1۱١][3-9۳-۹٣-٩]|[2۲٢]\d|[3۳٣][01۰۱٠١])"
_MONTH = r"(?P<mo>[0۰٠]?[1-9۱-۹١-٩]|[1۱١][0-2۰-۲٠-٢])"
_SOLAR = r"[1۱١][2-4۲-۴٢-٤]\d\d"
_GREGORIAN = r"(?:[1۱١][5-9۵-۹٥-٩]|[2۲٢][01۰۱٠١])\d\d"
_YEAR = rf"(?:{_SOLAR}|{_GREGORIAN})"

_MONTHS = "فروردین اردیبهشت خرداد تیر مرداد شهریور مهر آبان آذر دی بهمن اسفند"
_GREGORIAN_MONTHS = (
    "ژانویه|ژانویهٔ|فوریه|فوریهٔ|مارس|آوریل|آپریل|مه|ژوئن|جون|ژوئیه|ژوئیهٔ|جولای|اوت|آگوست|آگست|"
    "سپتامبر|اکتبر|نوامبر|دسامبر"
)
_LUNAR_MONTHS = (
    "محرم|صفر|ربیع‌الاول|ربیع الاول|ربیع‌الثانی|ربیع الثانی|جمادی‌الاول|جمادی الاول|جمادی‌الثانی|جمادی الثانی|"
    "رجب|شعبان|رمضان|شوال|ذی‌القعده|ذیقعده|ذی‌الحجه|ذیحجه"
)
# Months that are other words too: bullet, seal, yesterday.
_OF_MONTH = (
    rf"(?= (?:فروردین|اردیبهشت|خرداد|مرداد|شهریور|آبان|آذر|بهمن|اسفند|{_GREGORIAN_MONTHS}|{_LUNAR_MONTHS}"
    rf"|(?:تیر|مهر|دی|می)(?:[ \u200c]?ماه\b| (?:سال )?{_YEAR}))(?![\p{{L}}\p{{M}}]))"
)
# "خیابان ۱۵ خرداد": the name of a place has the cardinal.
_PLACE = "خیابان|میدان|بلوار|بیمارستان|پل|کوچه|کوچهٔ|پارک|مترو|متروی|ایستگاه|دبیرستان|مدرسه|مدرسهٔ|شهرک|بنیاد|لشکر"
_NOT_PLACE = rf"(?<!\b(?:{_PLACE}) )"

_COUNTED = (
    "روز|روزه|هفته|هفتهٔ|هفته‌ای|ماه|ماهه|سال|ساله|سالگی|ساعت|ساعته|دقیقه|دقیقهٔ|دقیقه‌ای|ثانیه|نفر|نفره|نفری|بار|مرتبه|"
    "درصد|درصدی|درجه|درجهٔ|متر|متری|کیلومتر|کیلومتری|سانتی‌متر|سانتیمتر|سانتی متر|میلی‌متر|میلیمتر|میلی متر|کیلو|کیلویی|"
    "کیلوگرم|گرم|گرمی|تن|لیتر|لیتری|میلی‌لیتر|هکتار|تومان|ریال|دلار|یورو|هزار|میلیون|میلیارد|تریلیون|برابر|عدد|قاشق|"
    "فنجان|پیمانه|لیوان|صفحه|صفحه‌ای|شب|شبه|مرحله|مرحله‌ای|واحد|واحدی|قسمت|قسمتی|پرسی|تکه|تخته|اتاقه|طبقه|کلمه|گل|امتیاز"
)
_SIGNS = r"km|m|cm|mm|kg|g|mg|l|L|ml|mL|cc|km/h|m/s|°C|kWh|MW|kW|GB|MB|TB|ha|m\^2|km\^2|m\^3"
_BEHIND = rf"(?= ?[%٪]| ?(?:{_SIGNS})(?![\p{{L}}\p{{N}}/^])| ?(?:{_COUNTED})(?![\p{{L}}\p{{M}}]))"
_NUMBER = r"\d+(?:[,٬]\d{3})*(?:[.٫]\d+)?"

# The slash is a decimal sign too; these before a measure can be fractions.
_FRACTION = r"(?![1۱١]/[2-4۲-۴٢-٤](?!\d)|[2۲٢]/[3۳٣](?!\d)|[3۳٣]/[4۴٤](?!\d))"
_SLASHED = r"(?P<a>\d{1,3})/(?P<b>\d{1,2})"
_LARGE = "درصد|درصدی|میلیون|میلیونی|میلیارد|میلیاردی|تریلیون|هزار|ریشتر|ریشتری|درجه|درجهٔ|برابر"
_NEVER_HALVED = rf"(?= ?[%٪]| (?:{_LARGE})(?![\p{{L}}\p{{M}}]))"
_CUPS = r"(?= (?:پیمانه|پیمانهٔ|فنجان|قاشق|لیوان|استکان|کیلو|کیلوگرم|لیتر|بسته|ساعت|متر)(?![\p{L}\p{M}]))"
_NO_WHOLE = r"(?<!\d )"

_DAYTIME = r"(?= (?:صبح|بامداد|ظهر|بعدازظهر|بعد از ظهر|عصر|غروب|شب|نیمه‌شب)(?![\p{L}\p{M}]))"
_AT = r"(?<=\b(?:ساعت|ساعات|ساعت‌های)(?: [^ ]+ (?:تا|و|الی))? )"

_KINGS = (
    "لویی|لوئی|هانری|هنری|شارل|چارلز|کارل|جرج|جورج|ادوارد|جیمز|ویلیام|ویلهلم|ریچارد|الیزابت|کاترین|فیلیپ|فردریش|فردریک|پتر|"
    "پطر|پیتر|نیکلای|نیکلا|الکساندر|ایوان|ناپلئون|پیوس|پل|ژان پل|بندیکت|گرگوری|لئو|اوربان|اینوسنت|کلمنت|رامسس|بطلمیوس|"
    "داریوش|اردشیر|شاپور|یزدگرد|خسرو|بهرام|هرمز|قباد|کوروش|خشایارشا|مراد|سلیم|محمد|مصطفی|عبدالحمید|گوستاو|کریستین|لئوپولد|آلبرت|"
    "فرانسوا|فرانتس ژوزف|آلفونسو|کارلوس|خوان کارلوس|رودلف|ماکسیمیلیان"
)

PERSIAN = Convention(
    words="fa",
    decimal="٫.",
    thousands="٬,",
    point=noun("ممیز"),
    fraction_is_number=True,
    minus="منفی",
    plural="none",
    agreement={
        "ordinal-fa": (("سه$", "سو"), ("سی$", "سی‌ا"), ("$", "م")),
        "month-gregorian": (
            *(("^یازده$", "نوامبر"), ("^دوازده$", "دسامبر"), ("^ده$", "اکتبر"), ("^نه$", "سپتامبر"), ("^هشت$", "اوت")),
            *(("^هفت$", "ژوئیه"), ("^شش$", "ژوئن"), ("^پنج$", "مه"), ("^چهار$", "آوریل"), ("^سه$", "مارس")),
            *(("^دو$", "فوریه"), ("^یک$", "ژانویه")),
        ),
    },
    rules=(
        Rule("time", rf"{_AT}{_HOUR}[:./]{_SHARP}", "{h}"),
        Rule("time", rf"{_AT}{_HOUR}[:./]{_MINUTE}", "{h} و {m} دقیقه"),
        Rule("time", rf"{_HOUR}[:.]{_SHARP}{_DAYTIME}", "{h}"),
        Rule("time", rf"{_HOUR}[:.]{_MINUTE}{_DAYTIME}", "{h} و {m} دقیقه"),
        Rule("time", r"(?<=\bساعت )(?P<a>\d\d?)-(?P<b>\d\d?)", "{a} تا {b}"),
        Rule("date", rf"(?P<y>{_SOLAR})(?P<x>[/-]){_MONTH}(?P=x){_DAY}", "{d:ordinal-fa} {mo:month} {y}"),
        Rule("date", rf"{_DAY}(?P<x>[/-]){_MONTH}(?P=x)(?P<y>{_SOLAR})", "{d:ordinal-fa} {mo:month} {y}"),
        Rule("date", rf"(?P<y>{_GREGORIAN})(?P<x>[/-]){_MONTH}(?P=x){_DAY}", "{d:ordinal-fa} {mo:month-gregorian} {y}"),
        Rule(
            "date",
            rf"{_DAY_ONLY}(?P<x>[/.-]){_MONTH}(?P=x)(?P<y>{_GREGORIAN})",
            "{d:ordinal-fa} {mo:month-gregorian} {y}",
        ),
        Rule("date", rf"(?P<a>\d\d?)(?:-| تا | الی )(?P<b>\d\d?){_OF_MONTH}", "{a:ordinal-fa} تا {b:ordinal-fa}"),
        Rule("date", rf"(?P<a>\d\d?) و (?P<b>\d\d?){_OF_MONTH}", "{a:ordinal-fa} و {b:ordinal-fa}"),
        Rule("date", rf"{_NOT_PLACE}{_DAY}{_OF_MONTH}", "{d:ordinal-fa}"),
        Rule("ordinal", r"(?P<n>\d{1,2})\u200c?\u064f?م(?!\u200c)", "{n:ordinal-fa}"),
        Rule("ordinal", r"(?P<n>\d{1,4})[ \u200c]?ا\u064f?م(?!\u200c)", "{n:ordinal-fa}"),
        Rule("ordinal", r"(?P<n>\d{1,4})[ \u200c]?ا?\u064f?مین(?!\u200c)", "{n:ordinal-fa}ین"),
        Rule(
            "ordinal",
            r"(?<=\b(?:قرن|قرون|قرن‌های|سده‌های) )(?P<a>\d\d?) و (?P<b>\d\d?)",
            "{a:ordinal-fa} و {b:ordinal-fa}",
        ),
        Rule(
            "ordinal",
            r"(?<=\b(?:قرن|قرن‌های|سده‌های) )(?P<a>\d\d?)(?:-| تا )(?P<b>\d\d?)",
            "{a:ordinal-fa} تا {b:ordinal-fa}",
        ),
        Rule("ordinal", r"(?<=\b(?:قرن|سده|سدهٔ|سده‌ی|جنگ جهانی) )(?P<n>[1-9۱-۹١-٩]\d?)", "{n:ordinal-fa}"),
        Rule("range", r"(?<=\b(?:نتیجه|نتیجهٔ|نتیجه‌ی) )(?P<a>\d\d?)-(?P<b>\d\d?)", "{a} بر {b}"),
        Rule(
            "range",
            rf"(?<!\b(?:تحصیلی|زراعی|آبی|فصل|رقابت‌های|لیگ|مالی) )(?P<a>{_SOLAR})-(?P<b>{_SOLAR})"
            rf"|(?<!\b(?:تحصیلی|فصل|رقابت‌های|لیگ|مالی) )(?P<a>{_GREGORIAN})-(?P<b>{_GREGORIAN})",
            "{a} تا {b}",
        ),
        Rule("range", rf"(?P<a>{_NUMBER})(?: - |-)(?P<b>{_NUMBER}){_BEHIND}", "{a:=} تا {b:=}"),
        Rule(
            "range", r"(?<=\b(?:صفحات|صفحه‌های|آیات|آیه‌های|فصل‌های|بندهای|سنین|سن) )(?P<a>\d+)-(?P<b>\d+)", "{a} تا {b}"
        ),
        Rule("number", rf"{_SLASHED}{_NEVER_HALVED}", "{a:=}٫{b:=}"),
        Rule("number", rf"{_FRACTION}{_SLASHED}{_BEHIND}", "{a:=}٫{b:=}"),
        Rule("number", rf"(?<=\b(?:معدل|بزرگی|به‌قدرت|قدرت) ){_SLASHED}", "{a:=}٫{b:=}"),
        Rule("fraction", r"(?P<w>\d+) [1۱١][/⁄][2۲٢]", "{w} و نیم"),
        Rule("fraction", r"(?P<w>\d+) (?P<a>[1-9۱-۹])[/⁄](?P<b>[3-9۳-۹])", "{w} و {a} {b:ordinal-fa}"),
        Rule("fraction", rf"{_NO_WHOLE}[1۱١](?:⁄|/(?=[2۲٢]{_CUPS}))[2۲٢](?= \p{{L}})", "نیم"),
        Rule("fraction", rf"{_NO_WHOLE}(?P<a>\d)⁄(?P<b>[3-9۳-۹])", "{a} {b:ordinal-fa}"),
        Rule("fraction", rf"{_NO_WHOLE}(?P<a>[123۱۲۳])/(?P<b>[348۳۴۸]){_CUPS}", "{a} {b:ordinal-fa}"),
        Rule("number", rf"(?P<a>\d+) ?[x×*] ?(?P<b>\d+){_BEHIND}", "{a} در {b:=}"),
        Rule("digits", r"\(?(?P<a>[0۰٠]\d{2,3})(?:\) ?|-)(?P<b>\d{7,8})", "{a:digits}، {b:digits}"),
        Rule("digits", r"(?P<a>[0۰٠][9۹٩]\d\d)[ -](?P<b>\d{3})[ -]?(?P<c>\d{4})", "{a:digits}، {b:digits}، {c:digits}"),
        Rule(
            "digits",
            r"(?P<a>[0۰٠][9۹٩]\d\d)[ -](?P<b>\d{3})[ -](?P<c>\d\d)[ -](?P<e>\d\d)",
            "{a:digits}، {b:digits}، {c:digits}، {e:digits}",
        ),
        Rule("unit", r"(?P<n>\d+) ?°(?! ?[CFNSEW])", "{n} درجه"),
        Rule("year", rf"(?P<y>{_GREGORIAN}) ?م(?=\))", "{y} میلادی"),
        Rule("year", rf"(?<=\bسال )(?P<y>{_GREGORIAN}) ?م(?!\.)", "{y} میلادی"),
        Rule("roman", rf"(?<=\b(?:{_KINGS}) )(?P<r>[IVX]+)", "{r:ordinal-fa}"),
        Rule(
            "roman",
            r"(?<=\b(?:فصل|بخش|قرن|سدهٔ|سده|جلد|پردهٔ|پرده|جنگ جهانی|کتاب|پاپ \p{L}+) )(?P<r>[IVX]+)",
            "{r:ordinal-fa}",
        ),
    ),
    months=tuple(_MONTHS.split()),
    percent=noun("درصد"),
    currencies={
        "$": money("دلار", "سنت"),
        "US$": money("دلار", "سنت"),
        "USD": money("دلار", "سنت"),
        "€": money("یورو", "سنت"),
        "EUR": money("یورو", "سنت"),
        "£": money("پوند", "پنس"),
        "¥": money("ین"),
        "₺": money("لیر"),
        "₹": money("روپیه"),
        "₽": money("روبل"),
        "IRR": money("ریال"),
    },
    units={
        "km": noun("کیلومتر"),
        "m": noun("متر"),
        "cm": noun("سانتی‌متر"),
        "mm": noun("میلی‌متر"),
        "kg": noun("کیلوگرم"),
        "g": noun("گرم"),
        "mg": noun("میلی‌گرم"),
        **dict.fromkeys(("l", "L"), noun("لیتر")),
        **dict.fromkeys(("ml", "mL"), noun("میلی‌لیتر")),
        "cc": noun("سی‌سی"),
        "km/h": noun("کیلومتر_بر_ساعت"),
        "m/s": noun("متر_بر_ثانیه"),
        **dict.fromkeys(("m²", "m2"), noun("متر_مربع")),
        **dict.fromkeys(("km²", "km2"), noun("کیلومتر_مربع")),
        "cm²": noun("سانتی‌متر_مربع"),
        **dict.fromkeys(("m³", "m3"), noun("متر_مکعب")),
        "ha": noun("هکتار"),
        **dict.fromkeys(("°C", "° C"), noun("درجهٔ_سانتی‌گراد")),
        **dict.fromkeys(("°F", "° F"), noun("درجهٔ_فارنهایت")),
        "W": noun("وات"),
        "kW": noun("کیلووات"),
        "MW": noun("مگاوات"),
        "GW": noun("گیگاوات"),
        "kWh": noun("کیلووات‌ساعت"),
        "V": noun("ولت"),
        "KB": noun("کیلوبایت"),
        "MB": noun("مگابایت"),
        "GB": noun("گیگابایت"),
        "TB": noun("ترابایت"),
        "Hz": noun("هرتز"),
        "kHz": noun("کیلوهرتز"),
        "MHz": noun("مگاهرتز"),
        "GHz": noun("گیگاهرتز"),
        "dB": noun("دسی‌بل"),
        "kcal": noun("کیلوکالری"),
        "h": noun("ساعت"),
        "min": noun("دقیقه"),
    },
    money_joint="و",
    magnitudes="هزار|میلیون|میلیارد|تریلیون",
    # 10.000 can be ten thousand; years before شمسی or میلادی or قمری; Latin units
    unsure=r"(?<=\d\.\d{3})|[ \u200c]?(?:م|ش|ق|ه|هـ)(?![\p{L}\p{M}\u200c])| ?\p{Latin}",
    unsure_before=r"\p{Latin}-?|\b(?:ص|ج|ش|ت|م|ق)\.? ",
    numbered={
        "n°": "شمارهٔ",
        **dict.fromkeys(("ص", "ص."), "صفحهٔ"),
        **dict.fromkeys(("صص", "صص."), "صفحات"),
        **dict.fromkeys(("ش", "ش."), "شمارهٔ"),
        **dict.fromkeys(("ج", "ج."), "جلد"),
    },
    phrases={
        **dict.fromkeys(("ه. ش.", "ه. ش", "هـ. ش.", "هـ. ش", "ه ش"), "هجری شمسی"),
        **dict.fromkeys(("ه. ق.", "ه. ق", "هـ. ق.", "هـ. ق", "ه ق"), "هجری قمری"),
        **dict.fromkeys(("ق. م.", "ق. م"), "قبل از میلاد"),
        **dict.fromkeys(("پ. م.", "پ. م"), "پیش از میلاد"),
    },
    closings={"الخ": "الی آخر"},
)
