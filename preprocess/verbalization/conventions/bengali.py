"""How Bengali writes and says numbers, and its abbreviations."""

from __future__ import annotations

from preprocess.verbalization.conventions.convention import (
    RANGE,
    Convention,
    Rule,
    money,
    noun,
)

_MONTHS = "জানুয়ারি ফেব্রুয়ারি মার্চ এপ্রিল মে জুন জুলাই আগস্ট সেপ্টেম্বর অক্টোবর নভেম্বর ডিসেম্বর"
_CENTURY = r"(?P<c>1[1-9]|১[১-৯])(?P<y>\d\d)(?<!00|০০)"
_YEAR_WORDS = r"(?:সাল|সন|খ্রিস্টাব্দ|খ্রিষ্টাব্দ)"
_COUNTED = "দিন|ঘণ্টা|মিনিট|মাস|বছর|জন|টি|টা|বার|কিলোমিটার|মিটার|টাকা|শতাংশ"

BENGALI = Convention(
    words="bn",
    substitutions=(("পঁইত্রিশ", "পঁয়ত্রিশ"),),
    dot="unsure",
    unsure=r"[-:][^\W\d]|(?:লা|রা|ঠা|ই|শে|ম|য়|র্থ|ষ্ঠ)(?![\p{L}\p{M}])",
    decimal=".",
    thousands=",",
    point=noun("দশমিক"),
    minus="মাইনাস",
    plural="none",
    rules=(
        Rule("ordinal", "[1১]ম", "প্রথম"),
        Rule("ordinal", "[2২]য়", "দ্বিতীয়"),
        Rule("ordinal", "[3৩]য়", "তৃতীয়"),
        Rule("ordinal", "[4৪]র্থ", "চতুর্থ"),
        Rule("ordinal", "[5৫]ম", "পঞ্চম"),
        Rule("ordinal", "[6৬]ষ্ঠ", "ষষ্ঠ"),
        Rule("ordinal", "[7৭]ম", "সপ্তম"),
        Rule("ordinal", "[8৮]ম", "অষ্টম"),
        Rule("ordinal", "[9৯]ম", "নবম"),
        Rule("ordinal", "(?:10|১০)ম", "দশম"),
        Rule("date", "[1১]লা", "পয়লা"),
        Rule("year", rf"{_CENTURY}(?= {_YEAR_WORDS})", "{c}শ {y}"),
        Rule("date", rf"(?P<d>\d{{1,2}}) (?P<m>{_MONTHS.replace(' ', '|')}),? {_CENTURY}", "{d} {m:=} {c}শ {y}"),
        Rule("range", rf"{RANGE}(?= ?(?:{_COUNTED})(?![\p{{L}}\p{{M}}])|%)", "{a:=} থেকে {b:=}"),
        Rule("unit", r"(?P<n>\d+) ?(?:কিমি/ঘণ্টা|km/h)", "ঘণ্টায় {n} কিলোমিটার"),
        Rule("time", r"(?P<h>\d{1,2}):(?:00|০০)(?=টা)", "{h}"),
    ),
    percent=noun("শতাংশ"),
    magnitudes="শত|হাজার|লাখ|লক্ষ|কোটি|মিলিয়ন|বিলিয়ন",
    currencies={
        "৳": money("টাকা", "পয়সা"),
        "₹": money("রুপি", "পয়সা"),
        "$": money("ডলার", "সেন্ট"),
        "€": money("ইউরো", "সেন্ট"),
        "£": money("পাউন্ড", "পেন্স"),
    },
    units={
        "কিমি": noun("কিলোমিটার"),
        "কি.মি.": noun("কিলোমিটার"),
        "km": noun("কিলোমিটার"),
        "মিটার": noun("মিটার"),
        "m": noun("মিটার"),
        "সেমি": noun("সেন্টিমিটার"),
        "cm": noun("সেন্টিমিটার"),
        "মিমি": noun("মিলিমিটার"),
        "কেজি": noun("কেজি"),
        "kg": noun("কেজি"),
        "গ্রাম": noun("গ্রাম"),
        "মিলি": noun("মিলিলিটার"),
        "ml": noun("মিলিলিটার"),
        "লিটার": noun("লিটার"),
        "°C": noun("ডিগ্রি_সেলসিয়াস"),
        "°সে": noun("ডিগ্রি_সেলসিয়াস"),
        "বর্গকিমি": noun("বর্গকিলোমিটার"),
    },
    numbered={"পৃ.": "পৃষ্ঠা", "নং": "নম্বর", "n°": "নম্বর"},
)
