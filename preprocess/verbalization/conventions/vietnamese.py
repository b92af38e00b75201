"""How Vietnamese writes and says numbers, and its abbreviations."""

from __future__ import annotations

from preprocess.verbalization.conventions.convention import (
    DAY,
    HOUR,
    MINUTE,
    MONTH,
    YEAR,
    YEARS,
    Convention,
    Rule,
    money,
    noun,
)

_MONTHS = ("một", "hai", "ba", "tư", "năm", "sáu", "bảy", "tám", "chín", "mười", "mười một", "mười hai")

_COUNTED = (
    "ngày|đêm|tuần|tháng|năm|giờ|tiếng|phút|giây|người|lần|tuổi|độ|triệu|tỷ|tỉ|nghìn|ngàn|vạn|đồng|đô la|euro|mét|"
    "cây số|cân|ký|kí|tấn|tạ|yến|lít|phần trăm|điểm|trang|câu|bài|con|cái|chiếc|quả|trái|cuốn|quyển|tập|học sinh|"
    "sinh viên|em|cháu|trẻ|hộ|gia đình|ca|bước|viên|thìa|muỗng|chén|cốc|ly|bát|củ|tép|lát|miếng|loại|thế kỷ|thế kỉ|"
    "khách|căn|phòng|tầng|món|trận|bàn|vòng|tỉnh|xã|huyện|thành viên|thành phố|doanh nghiệp|công nhân|đứa|bữa|"
    "buổi|inch|chỗ"
)
_UNIT_SIGNS = "km|m|cm|mm|kg|g|mg|l|ml|km/h|m/s|°C|kWh|MWh|kW|MW|ha|m\\^2|km\\^2|m\\^3|m2|m3|km2"
_QUANTITY = r"\d+(?:\.\d{3})*(?:,\d+)?"
_LARGE = r"(?<= (?:trăm|nghìn|ngàn|vạn|triệu|tỷ|tỉ) )"

_AT = r"(?<=\b(?i:lúc|vào|từ|đến|tới|trước|sau|khoảng|hồi|qua|gần) )"
_HOUR, _TO_HOUR = rf"{HOUR}[hg]", r"(?P<b>[01]?\d|2[0-4])[hg]"
_ON = r"\b(?i:ngày|hôm|sáng|trưa|chiều|tối|đêm|dịp|lễ|mùng|quốc khánh|hôm nay|hôm qua)"
_NAMED_DAY = r"\b(?i:thứ (?:hai|ba|tư|năm|sáu|bảy)|chủ nhật|hôm nay|hôm qua|nay|qua|mai)"
_DATED = rf"(?<={_ON} |{_ON} \(|{_NAMED_DAY},? \(|\b\d\d?/\d\d?(?: và| đến| -) |\b(?i:ngày) \d\d? (?:và|đến|tới) )"

_MEASURED = (
    r"(?<=\b(?i:hơn|khoảng|gần|chiếm|thêm|còn|bằng|giảm|"
    r"tăng|mất|ít nhất|được|đạt|quá|cắt|chỉ|bỏ|dùng|lấy|vòng|tổng cộng) )"
)
_OF_WHOLE = (
    r"(?= (?:số|diện tích|dân số|tổng|bề mặt|thìa|muỗng|chén|cốc|ly|bát|củ|quả|trái|lít|"
    r"thế giới|thế kỷ|thế kỉ|quân|cổ|người|thời gian|"
    r"quãng đường|đoạn đường|chặng|lượng|bình|chai|gói|trong số)\b)"
)
_PART = (
    r"(?P<a>1)[/⁄](?P<b>[235-9]|10|1[26]|100)|(?P<a>2)[/⁄](?P<b>[3579])|"
    r"(?P<a>3)[/⁄](?P<b>[5-9]|10)|(?P<a>4)[/⁄](?P<b>[5-9])"
)
_QUARTER = r"(?P<a>[13])[/⁄]4"

_ERA = (
    "thế kỷ|thế kỉ|quý|chương|phần|khóa|khoá|đại hội|tập|hồi|quyển|kỳ|kì|hạng|cấp|loại|bảng|khu|quân khu|vùng|nhóm|"
    "giai đoạn|thế chiến|mục"
)
_KINGS = (
    "Louis|Lui|Henry|Henri|Charles|George|Edward|William|Richard|James|Philip|Philippe|Felipe|Gregory|Benedict|"
    "Biển Đức|Piô|Pius|Leo|Gustav|Karl|Christian|Frederik|Ramses"
)
_SCORED = (
    r"(?<=\b(?i:thắng|thua|hòa|hoà|tỷ số|tỉ số|dẫn|dẫn trước|"
    r"cầm hòa|gỡ hòa|gỡ hoà|chung cuộc|vùi dập|đè bẹp)(?: là| với)? (?:\d\d?-\d\d?(?:,| và) )*)"
)
_CALLED = r"(?<=\b(?i:gọi|gọi số|điện thoại|số|hotline|tổng đài|đường dây nóng|liên hệ|đt):? )"
_EMERGENCY = r"(?<=\b(?i:gọi|gọi số|cảnh sát|cấp cứu|cứu hỏa|cứu hoả|tổng đài|số máy|đường dây nóng|lực lượng) )"
_CODED = r"(?<=\b(?i:mã|mã số|mật khẩu|mã pin|mã otp)(?: \p{L}+){0,3}:? )"

VIETNAMESE = Convention(
    icu="vi",
    decimal=",",
    thousands=".",
    point=noun("phẩy"),
    fraction_is_number=True,
    minus="âm",
    plural="none",
    rules=(
        Rule("time", rf"{_HOUR}(?:00)?(?: - |-){_TO_HOUR}(?:00)?", "{h} giờ đến {b} giờ"),
        Rule("time", rf"{_HOUR}{MINUTE}(?: - |-){_TO_HOUR}(?:00)?", "{h} giờ {m} phút đến {b} giờ"),
        Rule("time", rf"{_HOUR}(?:00)?(?: - |-){_TO_HOUR}(?P<c>[0-5]\d)", "{h} giờ đến {b} giờ {c} phút"),
        Rule("time", rf"{_HOUR}{MINUTE}(?: - |-){_TO_HOUR}(?P<c>[0-5]\d)", "{h} giờ {m} phút đến {b} giờ {c} phút"),
        Rule("time", rf"(?P<h>\d{{1,3}})h|{_HOUR}00'?", "{h} giờ"),
        Rule("time", rf"{_HOUR}{MINUTE}(?: ?phút|')?", "{h} giờ {m} phút"),
        Rule("time", rf"{_AT}{HOUR}:00|{HOUR}:00(?= (?:sáng|trưa|chiều|tối|đêm)\b)", "{h} giờ"),
        Rule("time", rf"{_AT}{HOUR}:{MINUTE}|{HOUR}:{MINUTE}(?= (?:sáng|trưa|chiều|tối|đêm)\b)", "{h} giờ {m} phút"),
        Rule("time", rf"(?<=\bgiờ ){MINUTE}'", "{m} phút"),
        Rule("time", r"(?<=\bphút (?:thứ )?)(?P<m>\d{1,3})'", "{m}"),
        Rule("date", rf"{DAY}[/.-]{MONTH}[/.-]{YEAR}", "{d} tháng {mo:month} năm {y}"),
        Rule("date", rf"(?<=\b(?i:ngày) )(?P<a>\d\d?)-(?P<d>[12]?\d|3[01])/{MONTH}", "{a} đến {d} tháng {mo:month}"),
        Rule("date", rf"(?<=\b(?i:ngày) )(?P<d>1[3-9]|2\d|3[01])-{MONTH}", "{d} tháng {mo:month}"),
        Rule("date", rf"{_DATED}(?!24/7\b){DAY}/{MONTH}", "{d} tháng {mo:month}"),
        Rule("date", rf"(?<=\b(?i:tháng) ){MONTH}[/.-]{YEAR}", "{mo:month} năm {y}"),
        Rule(
            "date", rf"(?<=\b(?i:từ|đến|vào|trong|cuối|đầu|giữa|hồi) ){MONTH}/{YEAR}(?!/)", "tháng {mo:month} năm {y}"
        ),
        Rule("date", r"(?<=\b(?i:tháng) )(?P<a>[1-9]|1[0-2])-(?P<b>[1-9]|1[0-2])", "{a:month} đến {b:month}"),
        Rule("date", rf"(?<=\b(?i:tháng) ){MONTH}", "{mo:month}"),
        Rule("date", r"(?<=\b(?i:ngày|mùng|mồng) )0(?P<d>[1-9])", "{d}"),
        Rule("date", rf"(?<=\b(?i:quý) )(?P<r>I{{1,3}}|IV|[1-4])/{YEAR}", "{r} năm {y}"),
        Rule("ordinal", r"(?<=\b(?i:thứ) )(?:1|I)", "nhất"),
        Rule("ordinal", r"(?<=\b(?i:thứ) )(?:4|IV)", "tư"),
        Rule("ordinal", r"(?<=\b(?i:thứ) )(?P<r>[IVX]+)", "{r}"),
        Rule("range", YEARS, "{a} đến {b}"),
        Rule("fraction", rf"(?:{_MEASURED}|(?=\d⁄)(?<!\d )){_QUARTER}|{_QUARTER}{_OF_WHOLE}", "{a} phần tư"),
        Rule("fraction", rf"(?:{_MEASURED}|(?=\d⁄)(?<!\d ))(?:{_PART})|(?:{_PART}){_OF_WHOLE}", "{a} phần {b}"),
        Rule("number", rf"{_SCORED}(?P<a>\d\d?)-(?P<b>\d\d?)", "{a} {b}"),
        Rule("range", r"(?<=\b(?i:trang|chương|điều|câu) )(?P<a>\d+)-(?P<b>\d+)", "{a} đến {b}"),
        Rule(
            "range",
            rf"(?<!{_ON} )(?P<a>{_QUANTITY})(?: - |-)(?P<b>{_QUANTITY})"
            rf"(?= ?%| ?(?:{_UNIT_SIGNS})(?![\p{{L}}\p{{N}}/^])| (?:{_COUNTED})\b)",
            "{a:=} đến {b:=}",
        ),
        Rule("digits", r"\((?P<a>0\d{2,3})\) ?(?P<n>\d{3,4}[ .-]?\d{3,4})", "{a:digits} {n:digits}"),
        Rule("digits", r"\+84[ .]?(?P<n>\d{2,3}(?:[ .-]?\d{3,4}){2})", "cộng tám bốn {n:digits}"),
        Rule("digits", r"(?P<n>0\d{2,3}(?:[ .-]\d{2,4}){2,3})", "{n:digits}"),
        Rule("digits", rf"{_CALLED}(?P<n>1[89]00[ .-]?\d{{4}}|1[89]00[ .-]?\d{{6}})", "{n:digits}"),
        Rule("digits", rf"{_EMERGENCY}(?P<n>11[1-5])", "{n:digits}"),
        Rule("digits", rf"{_CODED}(?P<n>\d{{3,8}})", "{n:digits}"),
        Rule("digits", r"U(?P<n>2[1-9])", "U {n:digits}"),
        Rule("roman", rf"(?<=\b(?i:{_ERA}) )(?P<r>[IVX]+)-(?P<b>[IVX]+)", "{r} đến {b}"),
        Rule("roman", rf"(?<=\b(?i:{_ERA}) )(?P<r>[IVX]+)", "{r}"),
        Rule("roman", rf"(?<=\b(?:{_KINGS}) )(?P<r>V|VI{{1,3}}|IX|X[IVX]*)(?!\.)", "thứ {r}"),
        Rule("unit", r"(?P<a>[12])m(?P<b>\d\d?)", "{a} mét {b}"),
        Rule("unit", r"(?<![-+])(?P<n>\d{1,3})°(?! ?[NSBĐTCF]\b)", "{n} độ"),
        Rule("unit", rf"{_LARGE}m(?:\^2|2)", "mét vuông"),
        Rule("unit", rf"{_LARGE}km(?:\^2|2)", "ki-lô-mét vuông"),
        Rule("unit", rf"{_LARGE}m(?:\^3|3)", "mét khối"),
        Rule("unit", rf"{_LARGE}ha", "héc-ta"),
        Rule("unit", rf"{_LARGE}km(?![\^/2])", "ki-lô-mét"),
        Rule("unit", rf"{_LARGE}kg(?!/)", "ki-lô-gam"),
        Rule("unit", rf"{_LARGE}kWh", "ki-lô-oát giờ"),
        Rule("unit", r"người/km(?:\^2|2)", "người trên một ki-lô-mét vuông"),
        Rule("money", r"(?P<n>\d{1,3}(?:\.\d{3})*) ?đ/kg", "{n} đồng một ki-lô-gam"),
        Rule("money", "đồng/kg", "đồng một ki-lô-gam"),
        Rule("money", r"đồng/m(?:\^2|2)", "đồng một mét vuông"),
        Rule("money", r"đồng/m(?:\^3|3)", "đồng một mét khối"),
        Rule("money", "đồng/kWh", "đồng một ki-lô-oát giờ"),
        Rule("money", "đồng/lít", "đồng một lít"),
        Rule("money", "đồng/tháng", "đồng một tháng"),
        Rule("money", "đồng/ngày", "đồng một ngày"),
        Rule("money", "đồng/năm", "đồng một năm"),
        Rule("money", "đồng/người", "đồng một người"),
        Rule("money", "đồng/lượng", "đồng một lượng"),
        Rule("money", "đô la/thùng", "đô la một thùng"),
        Rule("money", "đô la/tấn", "đô la một tấn"),
        Rule("money", rf"{_LARGE}\$", "đô la"),
        Rule("number", r"(?P<a>1?\d)(?P<x>[A-Z])(?P<b>\d\d?)", "{a} {x:=} {b}"),
        Rule("number", r"P\. ?(?P<n>[1-9]\d{2,3})", "phòng {n}"),
        Rule("number", r"P\. ?(?P<n>\d\d?)(?=, ?[Qq])", "phường {n}"),
    ),
    months=_MONTHS,
    percent=noun("phần_trăm"),
    currencies={
        **dict.fromkeys(("₫", "đ"), money("đồng")),
        **dict.fromkeys(("$", "US$"), money("đô_la", "xu")),
        "€": money("euro", "xu"),
        "£": money("bảng_Anh"),
        "¥": money("yên"),
    },
    units={
        "km": noun("ki-lô-mét"),
        "m": noun("mét"),
        "dm": noun("đề-xi-mét"),
        "cm": noun("xen-ti-mét"),
        "mm": noun("mi-li-mét"),
        "kg": noun("ki-lô-gam"),
        "g": noun("gam"),
        "mg": noun("mi-li-gam"),
        "l": noun("lít"),
        "ml": noun("mi-li-lít"),
        "km/h": noun("ki-lô-mét_trên_giờ"),
        "m/s": noun("mét_trên_giây"),
        **dict.fromkeys(("m²", "m2"), noun("mét_vuông")),
        **dict.fromkeys(("km²", "km2"), noun("ki-lô-mét_vuông")),
        **dict.fromkeys(("cm²", "cm2"), noun("xen-ti-mét_vuông")),
        **dict.fromkeys(("m³", "m3"), noun("mét_khối")),
        "ha": noun("héc-ta"),
        **dict.fromkeys(("°C", "° C"), noun("độ_C")),
        "kW": noun("ki-lô-oát"),
        "kWh": noun("ki-lô-oát_giờ"),
        "W": noun("oát"),
        "V": noun("vôn"),
    },
    magnitudes="nghìn|ngàn|triệu|tỷ|tỉ",
    dot="unsure",
    # dimensions, 1,500 (of English or three decimals), other units
    unsure=r"[-:][^\W\d]| ?[x×] ?\d|(?<=\b[1-9]\d{0,2},\d{3})|'|\p{Lu}\d| ?\p{L}{1,3}/\p{L}"
    r"| ?(?:tr|k|t|h|s|kB|KB|MB|GB|TB|Mbps|MW|GW|MWh|GWh|TWh|Hz|kHz|MHz|GHz|dB|mAh|hp|Nm|kN|nm|hPa|kPa|MPa|kV|"
    r"mmHg|mmol|ppm|kcal|calo|cl|dl|ft|lb|lbs|oz|mph)\b",
    unsure_before=r"\+\d+(?:[ .-]?\d+)*[ .-]?|\d ?[x×] ?|\b[kc]?m",
    titles={
        **{"GS": "giáo sư", "PGS": "phó giáo sư", "TS.": "tiến sĩ", "TS": "tiến sĩ"},
        **dict.fromkeys(("ThS.", "ThS", "Ths."), "thạc sĩ"),
        **dict.fromkeys(("BS.", "BS", "Bs."), "bác sĩ"),
    },
    numbered={"n°": "số", "tr.": "trang", "Tr.": "Trang", "Q.": "quận"},
    phrases={
        **dict.fromkeys(("GS. TS.", "GS. TS"), "giáo sư tiến sĩ"),
        **dict.fromkeys(("PGS. TS.", "PGS. TS"), "phó giáo sư tiến sĩ"),
        **{"GS.": "giáo sư", "PGS.": "phó giáo sư"},
        **dict.fromkeys(("TP. HCM", "TP HCM", "Tp. HCM", "tp. HCM"), "Thành phố Hồ Chí Minh"),
        **dict.fromkeys(("TP.", "TP", "Tp.", "tp."), "thành phố"),
        **{"USD": "đô la", "VND": "đồng", "VNĐ": "đồng", "EUR": "euro"},
    },
    closings={"v. v.": "vân vân"},
)
