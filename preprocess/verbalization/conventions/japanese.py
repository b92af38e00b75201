"""How Japanese writes and says numbers, and its abbreviations."""

from __future__ import annotations

from preprocess.verbalization.conventions.convention import (
    DAY,
    HOUR,
    MINUTE,
    MONTH,
    YEAR,
    Convention,
    Rule,
    noun,
)

_WHOLE = r"(?:\d{1,3}(?:,\d{3})+|[1-9]\d{0,5}|[1-9]\d*000|0)"
_DECIMAL = rf"{_WHOLE}(?:\.\d+)?"
_DASH = " ?[-~〜−‐] ?"
_CLOCK = r"(?:[01]?\d|2[0-4]):[0-5]\d"

# Codes, differences, ends of ranges.
_CODE_BEFORE = r"[A-Za-z]-?|[-~〜−‐+×/·・.^'′=〒]|\p{Sc} ?|[\d%] - |\d\p{Han} - "
_UNSURE_BEFORE = rf"{_CODE_BEFORE}|[A-Za-z]\.? "
_NUMBER = rf"(?<!{_UNSURE_BEFORE})(?P<n>{_WHOLE})"
_QUANTITY = rf"(?<!{_CODE_BEFORE})(?P<n>{_DECIMAL}) ?"
_AMOUNT = rf" ?(?P<n>{_DECIMAL}) ?(?P<m>[十百千]?[万億兆]|)(?![\d千]| ?[-~〜])"
_END = r"(?![A-Za-z\d/^])"

_COUNTED = (
    "[年月日時分秒人名個本枚匹頭羽冊台歳才回度階円銭点位番号件校社軒棟戸局駅席室泊杯着足組対勝敗戦打安塁失得種曲話巻章節条"
    "項字語行頁歩段級等周代世億万兆千百割倍票議区市町村県国州軍期次季票部編通隻機両基口丁畳坪升合反坑斤つか週]"
    "|[ヶヵカケ][月国所年村町店条]|キロ|メートル|センチ|ミリ|グラム|リットル|トン|ヘクタール|平方|立方|パーセント|ポイント(?=[上下高低増減])"
    "|ページ|ドル|ユーロ|ポンド|ウォン|元|ルーブル|ルピー|セント|フィート|インチ|マイル|ヤード|ノット|ヘルツ|ワット|ボルト|カロリー"
    "|(?<!(?<!\\d)1)(?:チーム|グループ|クラス|シーズン|ゴール|セット)|(?<=1[1-9]|[2-9]\\d|\\d{3})[ァ-ヺ]"
    "|デシベル|ヘクトパスカル|メガ|ギガ|テラ|ダース|バレル|オンス|ルクス|シーベルト|ベクレル|ガロン|エーカー|カラット|アンペア"
)
_SIGNS = "(?:km|[kMmμ]?g|[cmkn]?m|m[lL]|[lL]|t|°C?|[kM]?Wh?|[kMG]?Hz|hPa|kcal|[KMGT]B|ha|cc|V|dB)(?![A-Za-z])"

_DAYTIME = "午[前後]|[朝昼夜夕晩]|夕方|深夜|未明|早朝|正午|時刻|今[朝夜晩日]|[日)]|から|より|[はが]"
_THEN = "ごろ|頃|に|から|まで|発|着|開[始演会場店幕]|スタート|集合|以[降前]|過ぎ|すぎ|より|閉|終了|前"
_AT = rf"(?:(?<=(?:{_DAYTIME}) ?\d\d?:\d\d)|(?= ?(?:{_THEN})))"
_PART = "(?:(?P<a>1)/(?P<b>[2-9]|100?0?)|(?P<a>2)/(?P<b>[3579])|(?P<a>3)/(?P<b>[4578]|10)|(?P<a>[4-9])/(?P<b>[5-9]|10))"
_WIN = "で(?:勝|敗|負|下|逆転|破|快勝|引き分|終|惜敗|辛勝|大勝|圧勝|競り)|の(?:勝利|敗|引き分|スコア|同点)"

JAPANESE = Convention(
    icu="ja",
    plural="none",
    decimal=".",
    thousands=",",
    point=noun("点"),
    rules=(
        # telephones
        Rule("digits", r"(?P<a>0\d{1,4})[- ](?P<b>\d{1,4})[- ](?P<c>\d{3,4})", "{a:digits}の{b:digits}の{c:digits}"),
        # dates and clock times
        Rule("date", rf"{YEAR}([-/.]){MONTH}\g<2>{DAY}", "{y}年{mo}月{d}日"),
        Rule("date", rf"{MONTH}/{DAY}(?= ?\((?:[月火水木金土日]|祝))", "{mo}月{d}日"),
        Rule("date", "0(?P<n>[1-9])(?= ?[月日])", "{n}"),
        Rule("range", rf"(?P<a>{_CLOCK}){_DASH}(?P<b>{_CLOCK})", "{a:=}から{b:=}"),
        Rule("time", rf"{HOUR}:00{_AT}", "{h}時"),
        Rule("time", rf"{HOUR}:{MINUTE}{_AT}", "{h}時{m}分"),
        Rule("time", "(?<=時 ?)0(?P<m>[1-9])(?= ?分)", "{m}"),
        # scores and fractions
        Rule("ratio", rf"(?P<a>\d{{1,3}})[-:](?P<b>\d{{1,3}})(?={_WIN})", "{a}対{b}"),
        Rule("ratio", r"(?<=比率?[はがを]|割合[はがを])(?P<a>\d{1,3}):(?P<b>\d{1,3})", "{a}対{b}"),
        Rule("fraction", rf"(?<=[のが約全回]|およそ|残り)(?<!日の|月の){_PART}(?! ?[日(A-Za-z])", "{b}分の{a}"),
        Rule(
            "fraction",
            rf"{_PART}(?=[の以程弱強]|に[なす減縮削下]|ほど|[くぐ]らい|カップ|サイズ|未満|近く)",
            "{b}分の{a}",
        ),
        Rule("fraction", r"(?P<w>\d+) (?P<a>\d+)⁄(?P<b>\d+)", "{w}と{b}分の{a}"),
        Rule("fraction", r"(?P<a>\d+)⁄(?P<b>\d+)", "{b}分の{a}"),
        # Roman numerals; a single I, V or X can be a letter
        Rule("roman", "(?<![A-Za-z])(?P<r>[IVX]+)(?=世(?!代)|世紀)", "{r}"),
        Rule("roman", "(?<![A-Za-z])(?P<r>[IVX]{2,})(?=[型期級類度巻号章種部])", "{r}"),
        Rule("roman", "(?<=第)(?P<r>[IVX]{2,}|[IV])(?![A-Za-z])", "{r}"),
        # ranges
        Rule("range", rf"(?P<a>1\d{{3}}|20\d\d){_DASH}(?P<b>1\d{{3}}|20\d\d)(?=年)", "{a}年から{b}"),
        Rule("range", rf"(?P<a>1\d{{3}}|20\d\d){_DASH}(?P<b>\d\d)(?=年)", "{a}年から{b}"),
        Rule("range", rf"(?<=\()(?P<a>1\d{{3}}|20\d\d){_DASH}(?P<b>1\d{{3}}|20\d\d)(?=\))", "{a}年から{b}年"),
        Rule("range", rf"(?P<a>{_DECIMAL})(?P<u>%?){_DASH}(?P<b>{_DECIMAL})(?=%(?!\d))", "{a:=}{u:=}から{b:=}"),
        Rule(
            "range",
            rf"(?P<a>{_DECIMAL})(?P<u>(?: ?(?:{_SIGNS}|{_COUNTED}))?){_DASH}(?P<b>{_DECIMAL})"
            rf"(?= ?(?:{_SIGNS}|{_COUNTED}))",
            "{a:=}{u:=}から{b:=}",
        ),
        # percents and money
        Rule("money", rf"(?<=\d ?(?:ドル|ユーロ|ポンド|円|元))=(?P<n>{_DECIMAL})(?=円|ウォン|ドル|元)", "{n:=}"),
        Rule("percent", rf"{_QUANTITY}%(?!\d)", "{n:=}パーセント"),
        Rule("money", rf"(?P<s>[$€£¥]) ?(?P<n>{_WHOLE})\.00(?!\d|[万億兆])", "{s:=}{n:=}"),
        Rule("money", rf"(?<![A-Za-z])(?:US ?)?\$ ?(?P<n>{_WHOLE})\.(?P<f>\d\d)(?![\d万億兆])", "{n}ドル{f}セント"),
        Rule("money", rf"(?<![A-Za-z])€ ?(?P<n>{_WHOLE})\.(?P<f>\d\d)(?![\d万億兆])", "{n}ユーロ{f}セント"),
        Rule("money", rf"(?<![A-Za-z])£ ?(?P<n>{_WHOLE})\.(?P<f>\d\d)(?![\d万億兆])", "{n}ポンド{f}ペンス"),
        Rule("money", rf"(?<![A-Za-z])¥{_AMOUNT}円?", "{n:=}{m:=}円"),
        Rule("money", rf"(?<![A-Za-z])(?:US ?)?\${_AMOUNT}(?:ドル)?", "{n:=}{m:=}ドル"),
        Rule("money", rf"(?<![A-Za-z])€{_AMOUNT}(?:ユーロ)?", "{n:=}{m:=}ユーロ"),
        Rule("money", rf"(?<![A-Za-z])£{_AMOUNT}(?:ポンド)?", "{n:=}{m:=}ポンド"),
        # units
        Rule("unit", rf"(?<=^|[はがをにでともの約、,( ])[-−](?P<n>{_DECIMAL}) ?(?:°C|度)", "マイナス{n:=}度"),
        Rule("unit", rf"{_QUANTITY}°C{_END}", "{n:=}度"),
        Rule("unit", rf"{_QUANTITY}°(?! ?[CF\d])", "{n:=}度"),
        Rule("unit", rf"(?<=時速.{{0,4}}){_QUANTITY}km/h{_END}", "{n:=}キロメートル"),
        Rule("unit", rf"{_QUANTITY}km/h{_END}", "時速{n:=}キロメートル"),
        Rule("unit", rf"(?<=[秒風]速.{{0,4}}){_QUANTITY}m/s{_END}", "{n:=}メートル"),
        Rule("unit", rf"{_QUANTITY}km\^?2{_END}", "{n:=}平方キロメートル"),
        Rule("unit", rf"{_QUANTITY}cm\^?2{_END}", "{n:=}平方センチメートル"),
        Rule("unit", rf"{_QUANTITY}m\^?2{_END}", "{n:=}平方メートル"),
        Rule("unit", rf"{_QUANTITY}cm\^?3{_END}", "{n:=}立方センチメートル"),
        Rule("unit", rf"{_QUANTITY}m\^?3{_END}", "{n:=}立方メートル"),
        Rule("unit", rf"{_QUANTITY}km{_END}", "{n:=}キロメートル"),
        Rule("unit", rf"{_QUANTITY}cm{_END}", "{n:=}センチメートル"),
        Rule("unit", rf"{_QUANTITY}mm{_END}", "{n:=}ミリメートル"),
        Rule("unit", rf"{_QUANTITY}m{_END}", "{n:=}メートル"),
        Rule("unit", rf"{_QUANTITY}kg{_END}", "{n:=}キログラム"),
        Rule("unit", rf"{_QUANTITY}mg{_END}", "{n:=}ミリグラム"),
        Rule("unit", rf"{_QUANTITY}g{_END}", "{n:=}グラム"),
        Rule("unit", rf"{_QUANTITY}t{_END}", "{n:=}トン"),
        Rule("unit", rf"{_QUANTITY}m[lL]{_END}", "{n:=}ミリリットル"),
        Rule("unit", rf"{_QUANTITY}[lL]{_END}", "{n:=}リットル"),
        Rule("unit", rf"{_QUANTITY}cc{_END}", "{n:=}シーシー"),
        Rule("unit", rf"{_QUANTITY}ha{_END}", "{n:=}ヘクタール"),
        Rule("unit", rf"{_QUANTITY}kWh{_END}", "{n:=}キロワット時"),
        Rule("unit", rf"{_QUANTITY}kW{_END}", "{n:=}キロワット"),
        Rule("unit", rf"{_QUANTITY}W{_END}", "{n:=}ワット"),
        Rule("unit", rf"{_QUANTITY}V{_END}", "{n:=}ボルト"),
        Rule("unit", rf"{_QUANTITY}kHz{_END}", "{n:=}キロヘルツ"),
        Rule("unit", rf"{_QUANTITY}MHz{_END}", "{n:=}メガヘルツ"),
        Rule("unit", rf"{_QUANTITY}Hz{_END}", "{n:=}ヘルツ"),
        Rule("unit", rf"{_QUANTITY}dB{_END}", "{n:=}デシベル"),
        Rule("unit", rf"{_QUANTITY}hPa{_END}", "{n:=}ヘクトパスカル"),
        Rule("unit", rf"{_QUANTITY}kcal{_END}", "{n:=}キロカロリー"),
        Rule("unit", rf"{_QUANTITY}GB{_END}", "{n:=}ギガバイト"),
        Rule("unit", rf"{_QUANTITY}MB{_END}", "{n:=}メガバイト"),
        Rule("unit", rf"{_QUANTITY}TB{_END}", "{n:=}テラバイト"),
        # codes
        Rule("digits", r"(?<=(?:暗証番号|パスワード|学籍番号|会員番号|コード)[はが:]? ?)(?P<n>\d{3,8})", "{n:digits}"),
        Rule("digits", r"(?P<n>[1-9]\d{2,3})(?=号室)", "{n:digits}"),
        Rule("digits", r"(?<![A-Za-z-])(?P<n>0\d{1,5})(?=[\p{Han}\p{Hiragana}])", "{n:digits}"),
        Rule("digits", r"(?P<a>\d)・(?P<b>\d\d)(?!\d|・| ?[年月日人号番回位階時分])", "{a}・{b:digits}"),
        Rule("decimal", r"(?<=PM)(?P<n>2)\.(?P<f>5)", "{n}点{f}"),
        # books
        Rule("number", rf"(?<![A-Za-z])[pP]\. ?(?P<n>{_WHOLE})", "{n}ページ"),
        Rule("range", rf"(?<![A-Za-z])[pP]{{1,2}}\. ?(?P<a>\d+){_DASH}(?P<b>\d+)", "{a}から{b}ページ"),
        Rule("number", rf"(?<![A-Za-z])(?:N[oO]\.?|n°) ?(?![1-3](?!\d))(?P<n>{_WHOLE})", "ナンバー{n}"),
        # other numbers before words
        Rule("number", rf"(?<!{_UNSURE_BEFORE})0(?= ?[時点度])", "零"),
        Rule("number", rf"(?<!{_UNSURE_BEFORE})0(?! ?[A-Za-z%°×=・/]|{_DASH})", "ゼロ"),
        Rule("number", rf"(?<!{_UNSURE_BEFORE})1,?000(?=[万億兆])", "一千"),
        Rule("number", rf"{_NUMBER}(?= ?(?:{_COUNTED}))", "{n}"),
        Rule(
            "number",
            rf"(?:(?<![ァ-ヺー] ?)|(?<=マグニチュード|プラス|マイナス)){_NUMBER}"
            r"(?<!(?<!\d)(?:19|20)\d\d)(?= ?[\p{Han}\p{Hiragana}、])",
            "{n}",
        ),
        Rule("decimal", rf"(?<!{_UNSURE_BEFORE})0\.(?P<f>\d+)(?! ?[A-Za-z%°×=])", "零点{f:digits}"),
        Rule("decimal", rf"{_NUMBER}\.(?P<f>\d+)(?= ?[\p{{Han}}\p{{Hiragana}}\p{{Katakana}}])", "{n}点{f:digits}"),
    ),
    unsure=rf" ?[\p{{Han}}\p{{Hiragana}}\p{{Katakana}}A-Za-z]|{_DASH}| ?\d|(?<=(?<![\d.,])(?:19|20)\d\d)",
    unsure_before=rf"\d |{_UNSURE_BEFORE}|[ァ-ヺー] ?|(?:番号|コード) ?[はがを:]? ?",
)
