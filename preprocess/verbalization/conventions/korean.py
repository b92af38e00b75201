"""How Korean writes and says numbers, and its abbreviations."""

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
_LARGE = r"(?:\d{1,3}(?:,\d{3})+|[1-9]\d{2,5}|[1-9]\d*000)"
_DASH = " ?[-~〜−‐∼] ?"
_CLOCK = r"(?:[01]?\d|2[0-4]):[0-5]\d"
_END = r"(?![A-Za-z\d/^])"

# Codes, differences, ends of ranges.
_CODE_BEFORE = r"[A-Za-z]-?|[-~〜−‐∼+×/·ᆞ・.^'′=]|\p{Sc} ?|[\d%] - "
_UNSURE_BEFORE = rf"{_CODE_BEFORE}|[A-Za-z]\.? "
# After these the number is often English.
_LOANS = (
    "(?:톱|탑|빅|베스트|시즌|파트|넘버|라운드|아이폰|갤럭시|윈도우?즈?|레벨|챕터|스테이지|유로|포뮬러|에피소드|버전"
    "|코로나) ?"
)
_BEFORE = rf"(?<!{_UNSURE_BEFORE})"
_NUMBER = rf"{_BEFORE}(?P<n>{_WHOLE})"
_NATIVELY = "{n:cardinal-native-attributive} "
_SMALL = rf"{_BEFORE}(?P<n>[1-9]\d?)"
_QUANTITY = rf"(?<!{_CODE_BEFORE})(?P<n>{_DECIMAL}) ?"
_AMOUNT = rf" ?(?P<n>{_DECIMAL}) ?(?P<m>[십백천]?[만억조]|)(?![\d천]| ?[-~])"

# Counted with native numbers: 두 개.
_NATIVE = (
    "개(?![월년국사소교조항점동시구군읍면팀당])|명(?!의신)|살|마리|그루|잔|자루|포기|사람|가지|벌|켤레|송이|채(?!널|용|권|무)|곳|군데"
    "|달(?![러라])|쌍|줄|통(?![신계합화])|척|칸|그릇|접시|조각|방울|알|톨|모금|발짝|발자국|걸음|차례|끼|바퀴|가닥|다발|상자|봉지"
    "|박스|컵|큰술|작은술|숟가락|스푼|판|꾸러미|묶음|나라|팀|종류|과목|골(?![프목])|곡|병(?![동원사장실])|갈래|가락|마디|아름|움큼"
    "|손가락|식구|시간(?!대)|뼘|모둠|뿌리|포대|자리(?!수)|색깔|글자|도시|방향|축|갑절|계절|대륙|형제|자매|친구"
)
# Counted with numbers of Chinese origin, and set off.
_SINO = (
    "년|일|분(?!의)|초|개월|개년|개국|주(?:년|일|간|째|차|기)?|학년|학기|교시|반|층|호|회|차|위|등(?!학)|급|세(?!트)"
    "|도(?![움전착심입])|원|달러|유로|엔|위안|파운드|센트|펜스|루블|루피|프랑|페소|퍼센트|프로|킬로|미터|센티|밀리"
    "|그램|리터|톤|평|제곱|헥타르|인치|피트|마일|와트|볼트|칼로리|데시벨|헤르츠|기가|메가|테라|바이트|페이지|절|항|호선|번지"
    "|인|이닝|단계|박|연승|연패|연속|승|패|무|부작|부 ?리그|실점|득점|타점|피안타|탈삼진|시시|관왕|차선|포인트|광년"
    "|동(?= ?\\d)|배럴|노트|야드|온스|캐럿|기|%"
)
_WIN = "(?:으?로) ?(?:승|이기|이겼|이긴|꺾|패|졌|지고|앞|뒤|역전|완승|대승|신승|물리|제압|비기|비겼|무|끝|눌)"
_SIGNS = "(?:km|[kMm]?g|[cmkn]?m|m[lL]|[lL]|t|°C?|[kM]?Wh?|[kMG]?Hz|[KMGT]B|kcal|ha|cc|V|dB)(?![A-Za-z])"
_PARTICLE = (
    "(?:이|가|을|를|은|는|의|에|에서|에는|에게|로|으로|로는|와|과|도|까지|부터|보다|이다|다|이며|며|이고|고|이라는?|라는?|이었다|였다|인"
    "|입니다|이나|나|밖에|처럼|이란|란|이면|면|이라고|라고|예요|이에요)(?![가-힣])"
)
_TIMES = "하루에?|일주일에|한 ?달에|[일년주]에|매[일주월년]|벌써|총|모두|단|무려|지금까지|통산|연속"
_COUNT = "[이가을를은는도만의]? ?(?:(?:약|총|모두|단|무려) )?"
_DAYTIME = "오전|오후|[밤낮]|새벽|아침|저녁|정오|자정|[일은는]|부터|에서|시각"
_THEN = "에|기차|열차|버스|까지|부터|경|쯤|께|시작|출발|도착"
_AT = rf"(?:(?<=(?:{_DAYTIME}) ?\d\d?:\d\d)|(?= ?(?:{_THEN})))"
_HOUR = "(?P<h>0?[1-9]|1[0-2])"
_CLOCK_WORD = "시(?!시|간|즌|리즈|대|드|민|스템|험|내|립|장|청|군|설|선)"
_EVENT = (
    "운동|혁명|민주|전쟁|항쟁|사건|사태|선언|절(?![가-힣]{3})|참사|의거|테러|광복|쿠데타|비상계엄|계엄|정변|기념|공동|성명"
    "|만세|사변|참전"
)
_NAMED = "출구|버스|문제|홀|홈|선수|타자|국도|창구|게이트|노선|트랙|방|테이블|시드|지|호|마|후보|질문"
_WORKS = "작품|유물|그림|미술품|회화|도자기|사진|조각|문화재"
_TO = r"(?:[-. ]|\) ?)"
_CODE_NAME = "(?:비밀번호|암호|인증번호|우편번호)(?:[는은가이]|:)? ?"
_PART = "(?:(?P<a>1)/(?P<b>[2-9]|100?0?)|(?P<a>2)/(?P<b>[3579])|(?P<a>3)/(?P<b>[4578]|10)|(?P<a>[4-9])/(?P<b>[5-9]|10))"
_AGED = (
    "남성|여성|남녀|남자|여자|청년|청소년|소년|소녀|초반|중반|후반|노인|주부|직장인|부부|대학생|학생|회사원|아들|딸|시절"
    "|환자|층|운전자"
)
_LEADERS = (
    "대통령|국회|총선|의원|회장|왕|총리|총장|사장|교황|황제|임금|국왕|대표|위원장|원장|학생회|은행|기업|그룹|시중|도시"
    "|광역시|재벌|과제|전략|공약|원칙"
)
_VEHICLES = (
    "차|차량|버스|트럭|택시|오토바이|자전거|비행기|항공기|헬기|전투기|여객기|컴퓨터|카메라|에어컨|냉장고|기계|로봇|드론"
    "|피아노|휠체어|장비"
)
_BOOKS = "책|소설|만화|만화책|공책|노트|도서|교과서|사전|시집|잡지|동화책|서적|저서"
_SHEETS = "종이|용지|사진|티켓|표|카드|우표|엽서|그림|지폐|음반|앨범|수건|옷|이불|장판|서류|편지|쿠폰|입장권"
_FILMS = "영화|소설|드라마|논문|단편|장편|작품|동화|글|광고|다큐멘터리"

KOREAN = Convention(
    words="ko",
    icu="ko",
    plural="none",
    agreement={"code": (("영", "공"),)},
    decimal=".",
    thousands=",",
    point=noun("점"),
    months=("일월", "이월", "삼월", "사월", "오월", "유월", "칠월", "팔월", "구월", "시월", "십일월", "십이월"),
    rules=(
        # telephones and other codes, each digit a group to keep the words together
        Rule(
            "digits",
            rf"0(?P<a>\d){_TO}(?P<b>\d)(?P<c>\d)(?P<d>\d){_TO}(?P<e>\d)(?P<f>\d)(?P<g>\d)(?P<h>\d)",
            "공{a:code}에 {b:code}{c:code}{d:code}에 {e:code}{f:code}{g:code}{h:code}",
        ),
        Rule(
            "digits",
            rf"0(?P<a>\d){_TO}(?P<i>\d)(?P<b>\d)(?P<c>\d)(?P<d>\d){_TO}(?P<e>\d)(?P<f>\d)(?P<g>\d)(?P<h>\d)",
            "공{a:code}에 {i:code}{b:code}{c:code}{d:code}에 {e:code}{f:code}{g:code}{h:code}",
        ),
        Rule(
            "digits",
            rf"0(?P<a>\d)(?P<j>\d){_TO}(?P<b>\d)(?P<c>\d)(?P<d>\d){_TO}(?P<e>\d)(?P<f>\d)(?P<g>\d)(?P<h>\d)",
            "공{a:code}{j:code}에 {b:code}{c:code}{d:code}에 {e:code}{f:code}{g:code}{h:code}",
        ),
        Rule(
            "digits",
            rf"0(?P<a>\d)(?P<j>\d){_TO}(?P<i>\d)(?P<b>\d)(?P<c>\d)(?P<d>\d){_TO}(?P<e>\d)(?P<f>\d)(?P<g>\d)(?P<h>\d)",
            "공{a:code}{j:code}에 {i:code}{b:code}{c:code}{d:code}에 {e:code}{f:code}{g:code}{h:code}",
        ),
        Rule(
            "digits",
            r"1(?P<a>[5-8])(?P<b>\d)(?P<c>\d)-(?P<d>\d)(?P<e>\d)(?P<f>\d)(?P<g>\d)",
            "일{a:code}{b:code}{c:code}에 {d:code}{e:code}{f:code}{g:code}",
        ),
        Rule(
            "digits",
            rf"(?<={_CODE_NAME})(?P<a>\d)(?P<b>\d)(?P<c>\d)(?P<d>\d)",
            "{a:code}{b:code}{c:code}{d:code}",
        ),
        Rule(
            "digits",
            rf"(?<={_CODE_NAME})(?P<a>\d)(?P<b>\d)(?P<c>\d)(?P<d>\d)(?P<e>\d)",
            "{a:code}{b:code}{c:code}{d:code}{e:code}",
        ),
        Rule("digits", "119(?= ?(?:신고|구급|대원|구조|안전|상황)|[에로를])", "일일구"),
        Rule("digits", "112(?= ?(?:신고|상황)|[에로를])", "일일이"),
        Rule("digits", r"0(?P<a>\d)(?P<b>\d) ?(?=편|호|번)", "공{a:code}{b:code} "),
        Rule("digits", r"0(?P<a>\d)(?P<b>\d)(?![\d-])", "공{a:code}{b:code}"),
        Rule("digits", r"0(?P<a>\d)(?= ?(?:학번|년))", "공{a:code}"),
        # dates and clock times
        Rule("date", rf"{YEAR}(-|/|\. ?){MONTH}\g<2>{DAY}(?:\.(?! ?\d))?", "{y} 년 {mo:month} {d} 일"),
        Rule("date", rf"(?P<a>\d{{1,2}})[·ᆞ・.](?P<b>[1-3])(?P<c>[1-9])(?<!12.12)(?= ?(?:{_EVENT}))", "{a}{b}{c}"),
        Rule("date", rf"(?P<a>\d{{1,2}})[·ᆞ・.](?P<b>[1-9]|[1-3]0|12)(?= ?(?:{_EVENT}))", "{a}{b}"),
        Rule("date", r"(?P<a>[4568])[·ᆞ・](?P<b>[12])(?P<c>[589])(?<=4.19|5.18|6.25|8.15)", "{a}{b}{c}"),
        Rule("range", rf"(?P<a>{_CLOCK}){_DASH}(?P<b>{_CLOCK})", "{a:=}에서 {b:=}"),
        Rule("time", rf"{_HOUR}:00{_AT}", "{h:cardinal-native-attributive} 시"),
        Rule("time", rf"{_HOUR}:{MINUTE}{_AT}", "{h:cardinal-native-attributive} 시 {m} 분"),
        Rule("time", rf"{HOUR}:00{_AT}", "{h} 시"),
        Rule("time", rf"{HOUR}:{MINUTE}{_AT}", "{h} 시 {m} 분"),
        # scores and fractions
        Rule("ratio", rf"(?P<a>\d{{1,3}})[-:](?P<b>\d{{1,3}})(?={_WIN})", "{a} 대 {b}"),
        Rule(
            "ratio", r"(?P<a>\d{1,3})[-:](?P<b>\d{1,3})(?= ?(?:승리|무승부|패배|역전승|완승|스코어|동점))", "{a} 대 {b}"
        ),
        Rule("ratio", r"(?P<a>\d+) ?대 ?(?P<b>\d+)(?= ?(?:으?로|의|비율|무승부|동점|승|패|[.,]|$))", "{a} 대 {b}"),
        Rule("fraction", "(?P<a>[1-4])/4(?= ?분기)", "{a}사"),
        Rule("fraction", r"(?P<a>\d+)분의 ?(?P<b>\d+)", "{a}분의 {b}"),
        Rule("fraction", rf"(?<=[의약총] ?|거의 ){_PART}(?! ?[일(])", "{b}분의 {a}"),
        Rule(
            "fraction",
            rf"{_PART}(?= ?(?:쯤|정도|이상|이하|가량|수준|지점|미만|[이가을를의로])(?![가-힣]))",
            "{b}분의 {a}",
        ),
        Rule("fraction", r"(?<!\d )(?P<a>\d+)⁄(?P<b>\d+) ?(?=컵|큰술|작은술|스푼|티스푼|개|봉지|인치)", "{b}분의 {a} "),
        Rule("fraction", r"(?<!\d )(?P<a>\d+)⁄(?P<b>\d+)", "{b}분의 {a}"),
        # Roman numerals
        Rule("roman", "(?<![A-Za-z])(?P<r>[IVX]+) ?(?=세기|세(?!대|트))", "{r} "),
        Rule("roman", "(?<![A-Za-z])(?P<r>[IVX]{2,}) ?(?=[권부장편형급])", "{r} "),
        Rule("roman", "(?<=제)(?P<r>[IVX]+)(?=[가-힣])", "{r}"),
        # ranges
        Rule(
            "range",
            rf"(?P<a>[1-9]\d?)(?: ?(?:{_NATIVE}))?{_DASH}(?P<b>[1-9]\d?) ?(?P<u>{_NATIVE})",
            "{a:cardinal-native-attributive} {u:=}에서 {b:cardinal-native-attributive} {u:=}",
        ),
        Rule(
            "range",
            rf"(?P<a>[1-9]|1[0-2])시?{_DASH}(?P<b>[1-9]|1[0-2])(?=시(?!간))",
            "{a:cardinal-native-attributive} 시에서 {b:cardinal-native-attributive} ",
        ),
        Rule("range", rf"(?P<a>\d\d?)시?{_DASH}(?P<b>1[3-9]|2[0-4])(?=시(?!간))", "{a:=}시에서 {b:=}"),
        Rule("range", rf"(?P<a>[1-9]0)대?{_DASH}(?P<b>[2-9]0)(?=대)", "{a}에서 {b} "),
        Rule(
            "range",
            rf"(?P<a>{_DECIMAL})(?P<u>(?: ?(?:{_SIGNS}|{_SINO}|월))?){_DASH}(?P<b>{_DECIMAL})"
            rf"(?= ?(?:{_SIGNS}|{_SINO}|[만억조천월점배쪽]))(?! ?[승패무])",
            "{a:=}{u:=}에서 {b:=}",
        ),
        # percents and money
        Rule("percent", rf"{_QUANTITY}%(?:p|P|포인트)(?![A-Za-z])", "{n:=} 퍼센트포인트"),
        Rule("percent", rf"{_QUANTITY}%(?!\d)", "{n:=} 퍼센트"),
        Rule("money", rf"(?P<s>[$€£¥₩]) ?(?P<n>{_WHOLE})\.00(?![\d만억조])", "{s:=}{n:=}"),
        Rule("money", rf"(?<![A-Za-z])(?:US ?)?\$ ?(?P<n>{_WHOLE})\.(?P<f>\d\d)(?![\d만억조])", "{n} 달러 {f} 센트"),
        Rule("money", rf"(?<![A-Za-z])€ ?(?P<n>{_WHOLE})\.(?P<f>\d\d)(?![\d만억조])", "{n} 유로 {f} 센트"),
        Rule("money", rf"(?<![A-Za-z])£ ?(?P<n>{_WHOLE})\.(?P<f>\d[02-9]|[1-9]1)(?![\d만억조])", "{n} 파운드 {f} 펜스"),
        Rule("money", rf"(?<![A-Za-z])(?:US ?)?\${_AMOUNT}(?: ?달러)?", "{n:=}{m:=} 달러"),
        Rule("money", rf"(?<![A-Za-z])€{_AMOUNT}(?: ?유로)?", "{n:=}{m:=} 유로"),
        Rule("money", rf"(?<![A-Za-z])£{_AMOUNT}(?: ?파운드)?", "{n:=}{m:=} 파운드"),
        Rule("money", rf"(?<![A-Za-z])¥{_AMOUNT}(?: ?엔)?", "{n:=}{m:=} 엔"),
        Rule("money", rf"(?<![A-Za-z])₩{_AMOUNT}(?: ?원)?", "{n:=}{m:=} 원"),
        # units
        Rule("unit", rf"(?<!\S|\()[-−](?P<n>{_DECIMAL}) ?(?:°C|도)", "영하 {n:=} 도"),
        Rule("unit", rf"{_QUANTITY}°C{_END}", "{n:=} 도"),
        Rule("unit", rf"{_QUANTITY}°(?! ?[CF\d])", "{n:=} 도"),
        Rule("unit", rf"(?<=시속.{{0,4}}){_QUANTITY}km/h{_END}", "{n:=} 킬로미터"),
        Rule("unit", rf"{_QUANTITY}km/h{_END}", "시속 {n:=} 킬로미터"),
        Rule("unit", rf"{_QUANTITY}km\^?2{_END}", "{n:=} 제곱킬로미터"),
        Rule("unit", rf"{_QUANTITY}cm\^?2{_END}", "{n:=} 제곱센티미터"),
        Rule("unit", rf"{_QUANTITY}m\^?2{_END}", "{n:=} 제곱미터"),
        Rule("unit", rf"{_QUANTITY}m\^?3{_END}", "{n:=} 세제곱미터"),
        Rule("unit", rf"{_QUANTITY}km{_END}", "{n:=} 킬로미터"),
        Rule("unit", rf"{_QUANTITY}cm{_END}", "{n:=} 센티미터"),
        Rule("unit", rf"{_QUANTITY}mm{_END}", "{n:=} 밀리미터"),
        Rule("unit", rf"{_QUANTITY}m{_END}", "{n:=} 미터"),
        Rule("unit", rf"{_QUANTITY}kg{_END}", "{n:=} 킬로그램"),
        Rule("unit", rf"{_QUANTITY}mg{_END}", "{n:=} 밀리그램"),
        Rule("unit", rf"{_QUANTITY}g{_END}", "{n:=} 그램"),
        Rule("unit", rf"{_QUANTITY}t{_END}", "{n:=} 톤"),
        Rule("unit", rf"{_QUANTITY}m[lL]{_END}", "{n:=} 밀리리터"),
        Rule("unit", rf"{_QUANTITY}[lL]{_END}", "{n:=} 리터"),
        Rule("unit", rf"{_QUANTITY}cc{_END}", "{n:=} 시시"),
        Rule("unit", rf"{_QUANTITY}ha{_END}", "{n:=} 헥타르"),
        Rule("unit", rf"{_QUANTITY}kWh{_END}", "{n:=} 킬로와트시"),
        Rule("unit", rf"{_QUANTITY}kW{_END}", "{n:=} 킬로와트"),
        Rule("unit", rf"{_QUANTITY}MW{_END}", "{n:=} 메가와트"),
        Rule("unit", rf"{_QUANTITY}W{_END}", "{n:=} 와트"),
        Rule("unit", rf"{_QUANTITY}V{_END}", "{n:=} 볼트"),
        Rule("unit", rf"{_QUANTITY}kHz{_END}", "{n:=} 킬로헤르츠"),
        Rule("unit", rf"{_QUANTITY}MHz{_END}", "{n:=} 메가헤르츠"),
        Rule("unit", rf"{_QUANTITY}Hz{_END}", "{n:=} 헤르츠"),
        Rule("unit", rf"{_QUANTITY}dB{_END}", "{n:=} 데시벨"),
        Rule("unit", rf"{_QUANTITY}kcal{_END}", "{n:=} 킬로칼로리"),
        Rule("unit", rf"{_QUANTITY}GB{_END}", "{n:=} 기가바이트"),
        Rule("unit", rf"{_QUANTITY}MB{_END}", "{n:=} 메가바이트"),
        Rule("unit", rf"{_QUANTITY}TB{_END}", "{n:=} 테라바이트"),
        # books
        Rule("number", rf"(?<![A-Za-z])[pP]\. ?(?P<n>{_WHOLE})", "{n} 쪽"),
        Rule("range", rf"(?<![A-Za-z])[pP]{{1,2}}\. ?(?P<a>\d+){_DASH}(?P<b>\d+)", "{a}에서 {b} 쪽"),
        Rule("number", rf"(?<![A-Za-z])(?:N[oO]\.|n°) ?(?!1(?!\d))(?P<n>{_WHOLE})", "{n} 번"),
        # decimals
        Rule("decimal", rf"{_NUMBER}\.(?P<f>\d+) ?(?={_NATIVE}|{_SINO}|[대배점])", "{n} 점 {f:digits} "),
        Rule("decimal", rf"{_NUMBER}\.(?P<f>\d+)(?=[만억조천]|{_PARTICLE})", "{n} 점 {f:digits}"),
        # joined to their words
        Rule("date", rf"{_BEFORE}{MONTH} ?(?=월)월", "{mo:month}"),
        Rule("date", "0(?P<d>[1-9]) ?(?=일|시|분)", "{d} "),
        Rule("ordinal", rf"(?<=(?<![가-힣])제){_NUMBER}(?=[가-힣])", "{n}"),
        Rule("ordinal", r"(?P<n>[1-9]\d{0,2}) ?번째", "{n:ordinal-native-count}"),
        Rule("number", rf"{_BEFORE}1(?=[만천백](?!화|점|국))", ""),
        Rule(
            "number",
            rf"{_NUMBER}(?=[만억조천백](?!화|점|국|각)|여(?![가-힣])|여[명년개일]|차원|인칭|중주|원색|[남녀루촌강]|대강)",
            "{n}",
        ),
        Rule("number", rf"{_BEFORE}1(?=주일)", "일"),
        # native numbers
        Rule("number", rf"{_SMALL}(?<!2[1-9]|[3-9]\d) ?(?=시간(?!대))", _NATIVELY),
        Rule("number", rf"{_NUMBER} ?(?=시간(?!대))", "{n} "),
        Rule("time", rf"{_BEFORE}{_HOUR} ?(?={_CLOCK_WORD})", "{h:cardinal-native-attributive} "),
        Rule("time", rf"{_BEFORE}{HOUR} ?(?={_CLOCK_WORD})", "{h} "),
        Rule("number", rf"{_SMALL} ?(?={_NATIVE})", _NATIVELY),
        Rule(
            "number",
            rf"{_SMALL}(?<!1[1-9]|[2-9]\d) ?(?=배(?![우추달터급드열])|건(?![물축설강]))",
            _NATIVELY,
        ),
        Rule(
            "number",
            rf"(?<=(?:{_VEHICLES}){_COUNT}){_SMALL} ?(?=대(?![표통회학로 ]))",
            _NATIVELY,
        ),
        Rule("number", rf"(?<=(?:{_VEHICLES}){_COUNT}){_SMALL} ?(?=대 )", _NATIVELY),
        Rule("number", rf"(?<=(?:{_BOOKS}){_COUNT}){_SMALL} ?(?=권)|{_SMALL} ?(?=권의 ?책|권씩)", _NATIVELY),
        Rule("number", rf"(?<=(?:{_SHEETS}){_COUNT}){_SMALL} ?(?=장)|{_SMALL} ?(?=장의 ?(?:사진|카드))", _NATIVELY),
        Rule("number", rf"(?<=(?:{_FILMS}){_COUNT}){_SMALL} ?(?=편)|{_SMALL} ?(?=편의 ?(?:영화|시))", _NATIVELY),
        Rule("number", rf"(?<=(?:{_WORKS}){_COUNT}){_SMALL} ?(?=점)", _NATIVELY),
        Rule("number", rf"(?<=(?:{_TIMES}) ?){_SMALL} ?(?=번(?![호지]))", _NATIVELY),
        Rule("number", rf"{_SMALL} ?(?=번(?:이나|만에|씩| 더| 연속| 넘게))", _NATIVELY),
        Rule("number", r"(?<=[님신모자객] ?)(?P<n>[1-9]) ?(?=분(?:이|을|과|은|의|께서)(?![가-힣]))", _NATIVELY),
        # numbers of Chinese origin
        Rule("number", rf"(?<=(?:세계|국내|전국|한국|미국|유럽|아시아) ?){_SMALL} ?(?=대)", "{n} "),
        Rule("number", rf"(?<=(?:국도|기호|등번호|채널) ?){_SMALL} ?(?=번)", "{n} "),
        Rule("number", rf"{_SMALL} ?(?=번 ?(?:{_NAMED})|대 ?(?:{_AGED}|{_LEADERS}))", "{n} "),
        Rule(
            "number",
            rf"{_BEFORE}(?P<n>{_LARGE}) ?(?={_NATIVE}|[대권장편병건배점쪽번]|가구|세대|경기|문제|선수)",
            "{n} ",
        ),
        Rule(
            "number",
            rf"{_SMALL}(?<=\d\d|[5-9]) ?(?=쪽)|{_SMALL}(?<=\d\d) ?(?=배(?![우추달터급드열])|건(?![물축설강]))",
            "{n} ",
        ),
        Rule("number", rf"{_NUMBER} ?(?=점)", "{n} "),
        Rule("number", rf"{_NUMBER} ?(?={_SINO})", "{n} "),
        Rule("number", rf"(?<!{_LOANS}){_NUMBER}(?={_PARTICLE})", "{n}"),
    ),
    unsure=rf" ?[가-힣A-Za-z]|{_DASH}| ?\d|(?<=(?<!\d)0\d+)"
    r"|(?<=(?<!\d)(?:4.19|5.18|6.25|8.15))|(?<=(?<![\d.,])\d{5,6}(?<!000))",
    unsure_before=rf"\d |{_UNSURE_BEFORE}|{_LOANS}|(?:번호|코드)[는은가이:]? ?",
)
