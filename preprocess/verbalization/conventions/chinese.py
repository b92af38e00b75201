"""How Chinese writes and says numbers, and its abbreviations."""

from __future__ import annotations

from preprocess.verbalization.conventions.convention import (
    DAY,
    HOUR,
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
_CODE_BEFORE = r"[A-Za-z]-?|[-~〜−‐+×/·・.^'′=]|\p{Sc} ?|[\d%] - |\d\p{Han} - "
_UNSURE_BEFORE = rf"{_CODE_BEFORE}|[A-Za-z]\.? "
_NUMBER = rf"(?<!{_UNSURE_BEFORE})(?P<n>{_WHOLE})"
_QUANTITY = rf"(?<!{_CODE_BEFORE})(?P<n>{_DECIMAL}) ?"
_AMOUNT = rf" ?(?P<n>{_DECIMAL}) ?(?P<m>[十百千]?[万亿]|)(?![\d千]| ?[-~])"
_END = r"(?![A-Za-z\d/^])"

_CURRENCY = "美元|欧元|英镑|日元|韩元|港元|港币|澳元|加元|卢布|卢比|法郎|美分|便士"
# What is counted with 两, and not numbered with 二 as well.
_COUNTED = (
    "[个位只条张本名件双把辆台架艘座栋幢间家户口匹头群批份封篇幅首支枝根棵株朵颗粒块片瓶杯碗盘盒箱袋包桶罐壶串束堆套副"
    "门种样遍趟场顿岁天周米克吨升斤亩里尺寸倍成步声晚夜页例起宗股滴床桌轮局球站句扇顶枚发笔盏面道册胜负平处所国校男女"
    "角毛秒对部字度亿万千百兆连点伏瓦届趟辈侧端岸地]"
    r"|人(?![转称])|大(?!爷|伯)|层(?=[楼的小])|项(?!式)|元(?!方程|[论一二三复])|次(?!元|方|函|曲|世界)|年(?!级|第|\d+班)|分(?!之)|小时"
    "|星期|礼拜|公[里斤分升顷尺]|[千厘毫微纳]米|[千毫]克|毫[升安]|平方|立方|摄氏|海里|英[里尺寸亩]|"
) + _CURRENCY
_NUMBERED = "[月日号楼层级班期组队集路环段题章节课卷季代时排等]"
_LARGE = f"(?!年|号)(?:{_COUNTED}|[层级题段章节课集期季多余]|来[个名人位年天]|以[上下内]|左右|之多|百分点)"
_SIGNS = "(?:km|[kMμ]?g|[cmkn]?m|m[lL]|[lL]|t|°C?|[kM]?Wh?|[kMG]?Hz|h|min|V|dB)(?![A-Za-z])"

_DAYTIME = (
    "[上中下]午|[早晚]上|早晨|凌晨|清晨|傍晚|夜[里间晚]|[深午半]夜|[今昨明当每][早晚]|周[一二三四五六日末]"
    "|星期[一二三四五六日天]|时间|[日号于从自在到至]"
)
_THEN = (
    "开[始会门播演业赛幕课]|关[门闭]|出发|[到抵]达|到站|起[床飞程]|降落|发车|截止|打烊|闭[馆店幕]|准时|左右|[之以]?[前后]"
    "|[时许到至整]|结束|[上下]班|举行|进行|集合|见面"
)
_AT = rf"(?:(?<=(?:{_DAYTIME}) ?\d\d?:\d\d)|(?= ?(?:{_THEN})))"
_WIN = "大?[胜败负平]|战[胜平]|击败|逆转|领先|落后|力克|险胜|轻取|完胜|获胜|取胜"
_PART = "(?:(?P<a>1)/(?P<b>[2-9]|100?0?)|(?P<a>2)/(?P<b>[3579])|(?P<a>3)/(?P<b>[4578]|10)|(?P<a>[4-9])/(?P<b>[5-9]|10))"
_TWO = rf"(?<!{_UNSURE_BEFORE})2"
_NOT_COUNTED = (
    "[月日号楼班级环审胎维比的和与是加减乘除等、两型]|世纪|年级|季度|路(?=公|[汽电]?车|巴)|次[元方函曲]|进制|手[车房]"
    r"|线城市|氧化|人转|[到至]\d"
)
_SHORT_YEAR = r"(?<=[5-9][1-9]|[89]0) ?年(?![前后来间代的多])|(?<=\d\d) ?年\d{1,2}月"
_ROOM = "号?(?:房间|客房|病房|包[间厢房]|教室|宿舍|[房室])"

CHINESE = Convention(
    icu="zh",
    plural="none",
    substitutions=(("〇", "零"), ("^二(?=[千万亿])", "两")),
    agreement={"counting": (("^二$", "两"),), "following": (("^两", "二"),)},
    decimal=".",
    thousands=",",
    point=noun("点"),
    rules=(
        # telephones
        Rule("digits", r"(?P<a>0\d{2,3})[- ](?P<b>\d{3,4})[- ]?(?P<c>\d{4})", "{a:digits},{b:digits},{c:digits}"),
        Rule("digits", r"(?P<a>1[3-9]\d)([- ]?)(?P<b>\d{4})\g<2>(?P<c>\d{4})", "{a:digits},{b:digits},{c:digits}"),
        Rule("digits", r"(?P<a>[48]00)-(?P<b>\d{3,4})-(?P<c>\d{3,4})", "{a:digits},{b:digits},{c:digits}"),
        Rule("digits", "(?<=打|拨|拨通|电话|报警) ?110", "幺幺零"),
        Rule("digits", "(?<=打|拨|拨通|电话|急救) ?120", "幺二零"),
        Rule("digits", "(?<=打|拨|拨通|电话|火警) ?119", "幺幺九"),
        # dates and clock times
        Rule("date", rf"{YEAR}([-/.]){MONTH}\g<2>{DAY}日?", "{y:digits}年{mo}月{d}日"),
        Rule("date", "0(?P<n>[1-9])(?= ?[月日号])", "{n}"),
        Rule("range", rf"(?P<a>{_CLOCK}){_DASH}(?P<b>{_CLOCK})", "{a:=}到{b:=}"),
        Rule("time", rf"{HOUR}:00{_AT}", "{h:counting}点"),
        Rule("time", rf"{HOUR}:0(?P<m>[1-9]){_AT}", "{h:counting}点零{m}分"),
        Rule("time", rf"{HOUR}:(?P<m>[1-5]\d){_AT}", "{h:counting}点{m}分"),
        Rule("time", "(?<=[点时] ?)0(?P<m>[1-9])(?= ?分)", "零{m}"),
        # scores and fractions
        Rule("ratio", r"(?<=以|比分.?|比例.?|总分.?|比数.?)(?P<a>\d{1,3})[:-](?P<b>\d{1,3})", "{a}比{b}"),
        Rule("ratio", rf"(?P<a>\d{{1,3}})[:-](?P<b>\d{{1,3}})(?=(?:的比分|{_WIN}))", "{a}比{b}"),
        Rule("ratio", r"(?P<a>\d+) ?比 ?(?P<b>\d+)(?!\d|[.%])", "{a}比{b}"),
        Rule("fraction", rf"(?<![A-Za-z第于自从截日号月年]){_PART}(?! ?[页日(A-Za-z])", "{b}分之{a}"),
        Rule("fraction", r"(?P<w>\d+) (?P<a>\d+)⁄(?P<b>\d+)", "{w}又{b}分之{a}"),
        Rule("fraction", r"(?P<a>\d+)⁄(?P<b>\d+)", "{b}分之{a}"),
        # Roman numerals; a single I, V or X can be a letter
        Rule("roman", "(?<![A-Za-z])(?P<r>[IVX]+)(?=世(?!代)|世纪)", "{r}"),
        Rule("roman", "(?<![A-Za-z])(?P<r>[IVX]{2,})(?=[型期级类度卷号章])", "{r}"),
        Rule("roman", "(?<=第)(?P<r>[IVX]{2,}|[IV])(?![A-Za-z])", "{r}"),
        # ranges
        Rule("range", rf"(?P<a>1\d{{3}}|20\d\d){_DASH}(?P<b>1\d{{3}}|20\d\d)(?=年)", "{a:digits}到{b:digits}"),
        Rule("range", rf"(?<=\()(?P<a>1\d{{3}}|20\d\d){_DASH}(?P<b>1\d{{3}}|20\d\d)(?=\))", "{a:digits}到{b:digits}"),
        Rule("range", rf"(?P<a>{_DECIMAL})%?{_DASH}(?P<b>{_DECIMAL})%(?!\d)", "百分之{a:=}到百分之{b:=}"),
        Rule(
            "range",
            rf"(?P<a>{_DECIMAL})(?P<u>(?: ?(?:{_SIGNS}|{_COUNTED}|{_NUMBERED}))?){_DASH}(?P<b>{_DECIMAL})"
            rf"(?= ?(?:{_SIGNS}|{_COUNTED}|{_NUMBERED}))",
            "{a:=}{u:=}到{b:=}",
        ),
        Rule("range", rf"(?P<a>1[89]\d\d|20\d\d){_DASH}(?P<b>\d\d)(?=年)", "{a:digits}到{b:digits}"),
        # percents and money
        Rule("percent", rf"{_QUANTITY}%(?!\d)", "百分之{n:=}"),
        Rule("percent", rf"{_QUANTITY}‰", "千分之{n:=}"),
        Rule("money", r"(?P<n>\d+)[.]00(?=元|美元|欧元|英镑)", "{n:=}"),
        Rule("money", rf"(?P<s>[$€£¥]) ?(?P<n>{_WHOLE})\.00(?!\d|[万亿])", "{s:=}{n:=}"),
        Rule("money", rf"(?P<n>{_WHOLE}\.[1-9])0(?=元|美元|欧元|英镑)", "{n:=}"),
        Rule("money", rf"(?P<s>[$€£¥]) ?(?P<n>{_WHOLE}\.[1-9])0(?![万亿])", "{s:=}{n:=}"),
        Rule("money", rf"(?<![A-Za-z])(?:CN|RMB ?)?¥{_AMOUNT}元?", "{n:=}{m:=}元"),
        Rule("money", rf"(?<![A-Za-z])(?:US ?)?\${_AMOUNT}", "{n:=}{m:=}美元"),
        Rule("money", rf"(?<![A-Za-z])HK ?\${_AMOUNT}", "{n:=}{m:=}港元"),
        Rule("money", rf"(?<![A-Za-z])€{_AMOUNT}", "{n:=}{m:=}欧元"),
        Rule("money", rf"(?<![A-Za-z])£{_AMOUNT}", "{n:=}{m:=}英镑"),
        Rule("money", rf"{_QUANTITY}元/(?P<u>[月天年日人斤吨股次张晚股台]|公斤|小时|平方?米|千克)", "每{u:=}{n:=}元"),
        # units
        Rule(
            "unit",
            rf"(?<=^|气温|温度|体温|[为至到达降是约于低近在,、 ])-(?P<n>{_DECIMAL}) ?(?:°C|摄氏)度?",
            "零下{n:=}摄氏度",
        ),
        Rule("unit", rf"{_QUANTITY}°C{_END}", "{n:=}摄氏度"),
        Rule("unit", rf"{_QUANTITY}°F{_END}", "{n:=}华氏度"),
        Rule("unit", rf"{_QUANTITY}°(?! ?[CF\d])", "{n:=}度"),
        Rule("unit", rf"(?<=时速.{{0,4}}){_QUANTITY}(?:km|KM|Km)/h{_END}", "{n:=}公里"),
        Rule("unit", rf"{_QUANTITY}(?:km|KM|Km)/h{_END}", "{n:=}公里每小时"),
        Rule("unit", rf"{_QUANTITY}m/s{_END}", "{n:=}米每秒"),
        Rule("unit", rf"{_QUANTITY}km\^?2{_END}", "{n:=}平方公里"),
        Rule("unit", rf"{_QUANTITY}cm\^?2{_END}", "{n:=}平方厘米"),
        Rule("unit", rf"{_QUANTITY}m\^?2{_END}", "{n:=}平方米"),
        Rule("unit", rf"{_QUANTITY}cm\^?3{_END}", "{n:=}立方厘米"),
        Rule("unit", rf"{_QUANTITY}m\^?3{_END}", "{n:=}立方米"),
        Rule("unit", rf"{_QUANTITY}(?:km|KM|Km){_END}", "{n:=}公里"),
        Rule("unit", rf"{_QUANTITY}cm{_END}", "{n:=}厘米"),
        Rule("unit", rf"{_QUANTITY}mm{_END}", "{n:=}毫米"),
        Rule("unit", rf"{_QUANTITY}m{_END}", "{n:=}米"),
        Rule("unit", rf"{_QUANTITY}(?:kg|KG|Kg){_END}", "{n:=}公斤"),
        Rule("unit", rf"{_QUANTITY}mg{_END}", "{n:=}毫克"),
        Rule("unit", rf"{_QUANTITY}g{_END}", "{n:=}克"),
        Rule("unit", rf"{_QUANTITY}t{_END}", "{n:=}吨"),
        Rule("unit", rf"{_QUANTITY}m[lL]{_END}", "{n:=}毫升"),
        Rule("unit", rf"{_QUANTITY}[lL]{_END}", "{n:=}升"),
        Rule("unit", rf"{_QUANTITY}h{_END}", "{n:=}小时"),
        Rule("unit", rf"{_QUANTITY}min{_END}", "{n:=}分钟"),
        Rule("unit", rf"{_QUANTITY}kWh{_END}", "{n:=}千瓦时"),
        Rule("unit", rf"{_QUANTITY}kW{_END}", "{n:=}千瓦"),
        Rule("unit", rf"{_QUANTITY}mAh{_END}", "{n:=}毫安时"),
        Rule("unit", rf"{_QUANTITY}V{_END}", "{n:=}伏"),
        Rule("unit", rf"{_QUANTITY}Hz{_END}", "{n:=}赫兹"),
        Rule("unit", rf"{_QUANTITY}dB{_END}", "{n:=}分贝"),
        # years
        Rule("number", r"(?P<n>\d+)(?=年(?:的?(?:悠久)?历史|之久))", "{n}"),
        Rule("number", r"(?<=距今(?:已有|[已约近有])?|历时|长达|将近)(?P<n>\d+)(?=[多余]?年)", "{n}"),
        Rule("year", "2000(?= ?年)", "两千"),
        Rule("year", r"(?P<y>(?:1\d|20)\d\d)(?=[至到](?:1\d|20)\d\d年)", "{y:digits}"),
        Rule("year", r"(?P<y>(?:1\d|20)(?!00)\d\d)(?= ?年)", "{y:digits}"),
        Rule("year", r"(?<=[在于自从至]|公元)(?P<y>1[1-9]00)(?= ?年)", "{y:digits}"),
        Rule("year", r"(?P<y>1[1-9]00)(?= ?年(?![前来间以之]))(?<!约|近|超过|经过|[过了]\d{4})", "{y:digits}"),
        Rule("year", r"(?<=公元前?|于|自)(?P<y>[1-9](?!00)\d\d)(?= ?年)", "{y:digits}"),
        Rule("year", r"(?P<y>20[0-2]\d)(?=届|级|款|赛季|财年|学年)", "{y:digits}"),
        Rule("year", "(?P<y>[5-9][05]|0[05])(?=后(?:[^的来]|$))", "{y:digits}"),
        # codes
        Rule("number", r"(?P<a>[1-9])(?P<u>[室房])(?P<b>[1-9])厅", "{a:counting}{u:=}{b:counting}厅"),
        Rule("digits", r"(?<![A-Za-z-])(?P<n>0\d{1,5})(?=\p{Han})", "{n:digits}"),
        Rule(
            "digits", r"(?<=(?:密码|验证码|尾号|学号|工号|邮编|邮政编码|编号)[是为:]? ?)(?P<n>\d{3,20})", "{n:digits}"
        ),
        Rule("digits", r"(?<=(?<![A-Za-z])(?:CA|MU|CZ|HU|MF|ZH|BA|UA|AF|LH|EK)) ?(?P<n>\d{3,4})", "{n:digits}"),
        Rule("digits", rf"(?P<n>[1-9]\d{{2,3}})(?= ?{_ROOM})", "{n:digits}"),
        Rule("digits", r"(?P<n>[1-9]\d\d)(?=路(?:公[交共]|[汽电]?车|巴士)|[国省]道)", "{n:digits}"),
        Rule("digits", r"(?<=[GDCZTKYSL])(?P<n>\d{1,4})(?=次)", "{n:digits}"),
        Rule("digits", r"(?<=波音|空客) ?(?P<n>[37]\d\d)", "{n:digits}"),
        Rule("digits", "(?P<n>985|211)(?=[高院]校|大学|工程|[、和与])", "{n:digits}"),
        Rule(
            "digits",
            r"(?P<a>\d{1,2})[.·](?P<b>\d{1,2})(?=晚会|事变|事件|惨案|运动|革命|妇女节)",
            "{a:digits}{b:digits}",
        ),
        Rule("digits", "(?P<n>911)(?=事件|恐怖|袭击)", "{n:digits}"),
        Rule("digits", r"(?P<a>\d)米(?P<b>\d{1,2})(?![\d.%A-Za-z]|[米厘公毫多])", "{a:counting}米{b:digits}"),
        Rule("number", "(?<![A-Za-z])(?P<n>[2-5]|8(?=K))(?=[GDSK](?![A-Za-z])|A级)", "{n}"),
        Rule("number", "(?<=(?<![A-Za-z])G)(?P<n>7|8|20)(?=[峰国集领财外])", "{n}"),
        Rule("decimal", r"(?<=PM)(?P<n>2)\.(?P<f>5)", "{n}点{f}"),
        # books and lists
        Rule("number", rf"(?<![A-Za-z])[pP]\. ?(?P<n>{_WHOLE})", "第{n}页"),
        Rule("range", rf"(?<![A-Za-z])[pP]{{1,2}}\. ?(?P<a>\d+){_DASH}(?P<b>\d+)", "第{a}到{b}页"),
        Rule("number", rf"(?<![A-Za-z])(?:N[oO]\.?|n°) ?(?!1(?!\d))(?P<n>{_WHOLE})", "{n}号"),
        # other numbers before words
        Rule("number", r"(?<!第 ?|\d、)2、3(?=[个位只天年次人名岁里]|公里|米|小时|分钟)", "两三"),
        Rule("number", rf"(?<=\d[万亿]){_NUMBER}(?=[万元人美])", "{n:following}"),
        Rule("number", rf"(?<=第[\d、 ]*|分之|零下){_NUMBER}(?= ?\p{{Han}})", "{n}"),
        Rule("number", rf"(?<!周|星期|礼拜|初|\d、){_TWO}(?= ?(?:{_COUNTED})|[到至]\d+ ?(?:{_COUNTED}))", "两"),
        Rule("number", rf"{_TWO}(?= ?(?:{_NOT_COUNTED}))", "二"),
        Rule("number", rf"{_NUMBER}(?<=(?<!\d)[013-9]|(?<!\d)[1-9]\d)(?= ?[\p{{Han}}、])(?!{_SHORT_YEAR})", "{n}"),
        Rule("number", rf"{_NUMBER}(?<=,\d{{3}}|(?<!\d)[1-9]\d0)(?= ?[多余]?年)", "{n}"),
        Rule("number", rf"{_NUMBER}(?<=,\d{{3}}|(?<!\d)[3-9]\d{{3}}|\d{{5}})(?= ?[多余]?年)", "{n}"),
        Rule("number", rf"{_NUMBER}(?<=\d{{3}})(?= ?{_LARGE})", "{n}"),
        Rule("decimal", rf"{_NUMBER}\.(?P<f>\d+)(?= ?\p{{Han}})", "{n}点{f:digits}"),
    ),
    unsure=rf" ?\d| ?[\p{{Han}}A-Za-z]|{_DASH}|(?<=(?<![\d.,])(?:(?:1\d|20)\d\d|\d{{5,6}}(?<!000)))",
    unsure_before=rf"\d |{_UNSURE_BEFORE}|(?:[号代编]码|编号|密码|邮编|型号|房间|群) ?[是为:]? ?",
)
