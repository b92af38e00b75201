"""How Indonesian writes and says numbers, and its abbreviations."""

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

_MONTHS = "Januari Februari Maret April Mei Juni Juli Agustus September Oktober November Desember"

_QUANTITY = r"(?P<n>\d[\d.,]*)"
_GROUPED = r"(?P<n>[1-9]\d{0,2}(?:\.\d{3})+|[1-9]\d*)"
_RUPIAH = r"(?:Rp|IDR)\.? ?"
_MAGNITUDES = "ribu|juta|miliar|milyar|triliun"

# Of "pukul 08.00 sampai 16.30", the first time is in words already when the second one is read.
_AT = r"(?<=\b(?i:pukul|jam) (?:(?:[\p{L}\d.:]+ ){1,9}(?:sampai|hingga|dan) )?)"
_HOUR = r"0?(?P<h>[1-9]|1\d|2[0-4])"
_TIME = r"\d?\d[.:][0-5]\d"
_ZONE = r"(?= ?(?:WIB|WITA|Wita|WIT)\b)"

_COUNTED = (
    "hari|minggu|pekan|bulan|tahun|jam|menit|detik|orang|kali|persen|kilometer|meter|kilogram|gram|liter|ton|derajat|"
    "buah|ekor|lembar|halaman|ratus|ribu|juta|miliar|milyar|triliun|rupiah|dolar|sendok|gelas|butir|siung|lantai|anak|"
    "siswa|poin|inci|kilo"
)
_SCORED = (
    "menang|kalah|skor|unggul|imbang|seri|tertinggal|kedudukan|keunggulan|kemenangan|kekalahan|takluk|tumbang|agregat|"
    "menaklukkan|menundukkan|mengalahkan"
)

# RT 1/3, Pasal 3/4, 1/8 final
_NOT_DIVIDED = r"(?<!\b(?i:RT|RW|no\.?|nomor|pasal|tanggal|tgl\.?|blok|kelas) ?)"
_DIVIDED = r"(?P<n>2)[/⁄](?P<d>[3579])|(?P<n>3)[/⁄](?P<d>[4578]|10)|(?P<n>4)[/⁄](?P<d>[579])|(?P<n>5)[/⁄](?P<d>[6-9])"
_NOT_STAGE = rf"(?! (?:final|{_MONTHS.replace(' ', '|')})\b| ?(?:kg|km|g|gr|l|ml|m|cm|mm|ha|°)(?![\p{{L}}]))"

_RULERS = (
    "Hamengku ?[Bb]u?wono|Pakubuwono|Paku Buwono|Paku Alam|Mangkunegara|Mangkunegoro|Paulus|Yohanes|Benediktus|Pius|"
    "Gregorius|Leo|Fransiskus|Klemens|Inosensius|Urbanus|Louis|Henry|George|Elizabeth|Charles|William|Edward|James|"
    "Napoleon|Ramses|Nikolas|Wilhelm|Friedrich|Philip|Filipus|Alexander|Aleksander|Mehmed|Mahmud|Murad|Selim|Bayezid|"
    "Ivan|Katarina|Margrethe|Carlos|Abdullah|Mohammed|Darius|Abdul Hamid|Willem|Perang Dunia"
)
_PARTS = "kelas|bab|komisi|jilid|bagian|semester|tingkat|golongan|volume|buku"

_UNREAD_UNITS = (
    "[KMGTk]B|[KMG]bps|hp|HP|PK|cc|mAh|m?A|[kMh]?Pa|dB|rpm|ppm|MP|k?kal|k?cal|k?VA?|k?J|cl|jt|rb|USD|EUR|SGD|GW|TWh|"
    "ft|lb|oz|inch|M|T"
)

_UNITS = {
    "km": noun("kilometer"),
    "m": noun("meter"),
    "cm": noun("sentimeter"),
    "mm": noun("milimeter"),
    **dict.fromkeys(("m²", "m2"), noun("meter_persegi")),
    **dict.fromkeys(("km²", "km2"), noun("kilometer_persegi")),
    **dict.fromkeys(("cm²", "cm2"), noun("sentimeter_persegi")),
    **dict.fromkeys(("m³", "m3"), noun("meter_kubik")),
    **dict.fromkeys(("ha", "Ha"), noun("hektare")),
    "kg": noun("kilogram"),
    **dict.fromkeys(("g", "gr"), noun("gram")),
    "mg": noun("miligram"),
    **dict.fromkeys(("l", "L"), noun("liter")),
    **dict.fromkeys(("ml", "mL"), noun("mililiter")),
    **dict.fromkeys(("km/jam", "km/h"), noun("kilometer_per_jam")),
    "m/s": noun("meter_per_detik"),
    "km/s": noun("kilometer_per_detik"),
    "°C": noun("derajat_Celsius"),
    "°F": noun("derajat_Fahrenheit"),
    "°": noun("derajat"),
    "W": noun("watt"),
    "kW": noun("kilowatt"),
    "MW": noun("megawatt"),
    "kWh": noun("kilowatt_jam"),
    "Hz": noun("hertz"),
    "kHz": noun("kilohertz"),
    "MHz": noun("megahertz"),
    "GHz": noun("gigahertz"),
    "SR": noun("skala_Richter"),
}

INDONESIAN = Convention(
    words="id",
    limit=10**15,
    months=tuple(_MONTHS.split()),
    rules=(
        Rule("money", rf"(?P<a>{_RUPIAH}[\d.,]*\d) ?- ?(?P<b>{_RUPIAH}[\d.,]*\d)", "{a:=} sampai {b:=}"),
        Rule("money", rf"{_RUPIAH}{_QUANTITY} (?P<m>{_MAGNITUDES})", "{n:=} {m:=} rupiah"),
        Rule("money", rf"{_RUPIAH}{_QUANTITY} ?(?:rb|RB)", "{n:=} ribu rupiah"),
        Rule("money", rf"{_RUPIAH}{_QUANTITY} ?(?:jt|Jt|JT)", "{n:=} juta rupiah"),
        Rule("money", rf"{_RUPIAH}{_QUANTITY} ?M", "{n:=} miliar rupiah"),
        Rule("money", rf"{_RUPIAH}{_QUANTITY} ?T", "{n:=} triliun rupiah"),
        Rule("money", rf"{_RUPIAH}{_GROUPED}-an", "{n}an rupiah"),
        Rule("money", rf"{_RUPIAH}{_GROUPED},(?P<f>0[1-9]|[1-9]\d)", "{n} rupiah {f} sen"),
        Rule("money", rf"{_RUPIAH}{_GROUPED}(?:,00|,-)?(?!/)", "{n} rupiah"),
        Rule("money", rf"USD ?{_QUANTITY}", "US${n:=}"),
        Rule("date", rf"{DAY}(?P<sign>[/.-]){MONTH}(?P=sign){YEAR}", "{d} {mo:month} {y}"),
        Rule("range", rf"{_AT}(?P<a>{_TIME})(?: WIB)? ?- ?(?P<b>{_TIME})", "{a:=} sampai {b:=}"),
        Rule("time", rf"(?:{_AT}{_HOUR}[.:]00|{_HOUR}[.:]00{_ZONE})", "{h}"),
        Rule("time", rf"(?:{_AT}{_HOUR}[.:]{MINUTE}|{_HOUR}[.:]{MINUTE}{_ZONE})", "{h} lewat {m} menit"),
        Rule("range", YEARS, "{a} sampai {b}"),
        Rule("range", rf"(?<=\b(?i:halaman|pasal|ayat|bab|nomor) ){RANGE}", "{a} sampai {b}"),
        Rule("range", r"(?P<a>\d[\d,]*)% ?- ?(?P<b>\d[\d,]*)%", "{a:=}% sampai {b:=}%"),
        Rule(
            "range",
            rf"{RANGE}(?= ?%| (?:{_COUNTED}|{_MONTHS.replace(' ', '|')})\b"
            r"| ?(?:km|m|cm|mm|kg|g|gr|l|ml|m\^?2|ha|°C|km/jam)(?![\p{L}\p{N}]))",
            "{a:=} sampai {b:=}",
        ),
        Rule("number", rf"(?<=\b(?i:{_SCORED})(?: \p{{L}}+){{0,2}} )(?P<a>\d{{1,2}})-(?P<b>\d{{1,2}})", "{a} {b}"),
        Rule(
            "number",
            rf"(?P<a>\d[\d,]*) ?[x×] ?(?P<b>\d+)(?= ?(?:km|m|cm|mm|{_COUNTED})(?![\p{{L}}\p{{N}}])|,\d+ ?[cm]?m\b)",
            "{a:=} kali {b:=}",
        ),
        Rule("number", r"(?P<n>\d+) ?[xX](?= (?:se\p{Ll}+|lipat))", "{n} kali"),
        Rule("ordinal", r"[Kk]e-(?P<n>[1-9]\d{0,3})", "{n:ordinal}"),
        Rule("number", rf"{_GROUPED}-an", "{n}an"),
        Rule("digits", r"(?P<a>0\d{2,3})[- ](?P<b>\d{3,4})[- ](?P<c>\d{3,5})", "{a:digits} {b:digits} {c:digits}"),
        Rule("digits", r"\((?P<a>0\d{2,3})\) ?(?P<b>\d{6,8})", "{a:digits} {b:digits}"),
        Rule("digits", r"\((?P<a>0\d{2,3})\) ?(?P<b>\d{3,4})[- ](?P<c>\d{3,4})", "{a:digits} {b:digits} {c:digits}"),
        Rule("fraction", r"(?P<n>[1-9]\d?) 1[/⁄]2 ?kg", "{n} setengah kilogram"),
        Rule("fraction", r"1[/⁄]2 ?kg", "setengah kilogram"),
        Rule("fraction", r"1[/⁄]4 ?kg", "seperempat kilogram"),
        Rule("fraction", r"1[/⁄]2 ?[lL]", "setengah liter"),
        Rule("fraction", rf"(?P<n>[1-9]\d?) 1[/⁄]2{_NOT_STAGE}", "{n} setengah"),
        Rule("fraction", rf"(?P<n>[1-9]\d?) 1[/⁄]4{_NOT_STAGE}", "{n} seperempat"),
        Rule("fraction", rf"{_NOT_DIVIDED}1[/⁄]2{_NOT_STAGE}", "setengah"),
        Rule("fraction", rf"{_NOT_DIVIDED}1[/⁄](?P<d>[3-9]|10){_NOT_STAGE}", "seper{d}"),
        Rule("fraction", rf"{_NOT_DIVIDED}(?:{_DIVIDED}){_NOT_STAGE}", "{n} per{d}"),
        Rule("roman", r"(?<=\b[Aa]bad )(?:ke-)?(?P<r>[IVX]+)", "{r:ordinal}"),
        Rule("roman", rf"(?<=\b(?:{_RULERS}) )(?:ke-)?(?P<r>[IVX]+)", "{r:ordinal}"),
        Rule("roman", rf"(?<=\b(?i:{_PARTS}) )(?P<r>[IVX]+)", "{r}"),
        Rule("date", r"(?<=\d )SM", "sebelum Masehi"),
        Rule("date", r"(?<=\b[Tt]ahun \d+ )M", "Masehi"),
        Rule("date", r"(?<=\b[Tt]ahun \d+ )H", "Hijriah"),
    ),
    decimal=",",
    thousands=".",
    point=noun("koma"),
    minus="minus",
    plural="none",
    percent=noun("persen"),
    currencies={
        "US$": money("dolar_Amerika", "sen"),
        "$": money("dolar", "sen"),
        "€": money("euro", "sen"),
        "£": money("pound_sterling", "penny"),
        "¥": money("yen"),
    },
    magnitudes=_MAGNITUDES,
    units=_UNITS,
    dot="unsure",
    unsure=rf"[-:][^\W\d]| \d| ?[x×] ?\d| ?\p{{L}}{{1,3}}/\p{{L}}| ?(?:{_UNREAD_UNITS})(?![\p{{L}}\p{{N}}])",
    unsure_before=r"\b(?:Rp|IDR|USD|EUR|SGD|AUD|RM)\.? ?|\d |\d ?[x×] ?|/\p{L}{1,2}\^?",
    titles={
        **{"Prof.": "Profesor", "Dr.": "Doktor", "dr.": "dokter", "Drs.": "Doktorandus", "Ir.": "Insinyur"},
        **{"Hj.": "Hajah", "Bpk.": "Bapak", "Sdr.": "Saudara", "Ny.": "Nyonya", "Tn.": "Tuan", "Jl.": "Jalan"},
        **{"Jln.": "Jalan", "Kab.": "Kabupaten", "Kec.": "Kecamatan", "Kel.": "Kelurahan"},
    },
    numbered={
        **dict.fromkeys(("n°", "No.", "no.", "No", "no"), "nomor"),
        **dict.fromkeys(("hlm.", "hal.", "Hlm.", "Hal."), "halaman"),
        **dict.fromkeys(("tgl.", "Tgl."), "tanggal"),
        **dict.fromkeys(("telp.", "Telp.", "tlp.", "Tlp."), "telepon"),
        **{"ps.": "pasal", "vol.": "volume", "Vol.": "Volume", "pkl.": "pukul", "Pkl.": "Pukul"},
    },
    phrases={
        "s.d.": "sampai dengan",
        "s/d": "sampai dengan",
        "a.n.": "atas nama",
        "yg": "yang",
        "sdt": "sendok teh",
        "sdm": "sendok makan",
    },
    closings={
        **{"dll.": "dan lain-lain", "dsb.": "dan sebagainya", "dst.": "dan seterusnya", "dkk.": "dan kawan-kawan"},
    },
)
