"""How Arabic writes and says numbers, and its abbreviations.

Numbers have cases and the gender of what they count: most are read only where both are certain or not heard.
"""

from __future__ import annotations

from preprocess.verbalization.conventions.convention import (
    Convention,
    Rule,
    noun,
)

# Digits are written in three ways: 2011, ٢٠١١, ۲۰۱۱.
_0, _1, _2, _3, _4, _5 = "[0٠۰]", "[1١۱]", "[2٢۲]", "[3٣۳]", "[4٤۴]", "[5٥۵]"
_1_9, _2_9, _3_9 = "[1-9١-٩۱-۹]", "[2-9٢-٩۲-۹]", "[3-9٣-٩۳-۹]"
_NOT_2 = "[13-9١٣-٩۱۳-۹]"
_BELOW_20 = rf"(?:{_1_9}|{_1}\d)"
_BELOW_1000 = rf"{_1_9}\d{{0,2}}"
_YEAR = rf"(?:{_1}{_1_9}\d\d|{_2}[01٠١۰۱]\d\d)"
# Without cases that are heard: three to ten, eleven and thirteen to nineteen, hundreds.
_FEW = rf"(?:{_3_9}|{_1}{_0})"
_TEEN = rf"{_1}{_NOT_2}"
_HUNDREDS = rf"{_NOT_2}{_0}{{2}}"
_SAME = rf"(?:{_FEW}|{_TEEN}|{_HUNDREDS})"
_ROUND = rf"(?:{_HUNDREDS}|(?:{_1}|{_SAME})(?:[,٬]?{_0}{{3}}|(?:[,٬]{_0}{{3}}){{2}}))"
_POINTED = rf"(?:{_0}|{_1}|{_SAME})[.٫]\d+"

# Before the genitive; the second number of "من 20 إلى 30" is left with the first.
_AFTER = (
    "من|إلى|الى|في|عن|على|مع|نحو|حوالي|حوالى|قرابة|زهاء|بعد|قبل|منذ|خلال|سوى|بنسبة|نسبة|بمعدل|لمدة|مدة|طوال|بقيمة|بمبلغ|"
    "بسعر|بعمر|عمر|سن|بسن|مسافة|بمسافة|بارتفاع|بطول|بسرعة|بمقدار|بواقع|بفارق|حدود|بحدود|ضمن"
)
_OBLIQUE = rf"(?<=(?<!\d )\b[وف]?(?:{_AFTER}) )"
_ALONE = r"(?<!-)(?<!\d (?:إلى|الى|أو|حتى|و) )"
_TO = "(?:-| إلى | الى )"

_END = r"(?![\p{L}\p{M}])"
_MASCULINE = (
    "أيام|ايام|أسابيع|أشهر|شهور|أعوام|عقود|قرون|أشخاص|أفراد|رجال|أطفال|أولاد|أبناء|إخوة|شبان|طلاب|تلاميذ|لاعبين|لاعبون|"
    "جنود|عمال|أعضاء|وزراء|بحارة|أهداف|أشواط|فصول|أجزاء|كتب|دروس|أسئلة|أقسام|أنواع|مواقع|مراكز|منازل|بيوت|طوابق|أبواب|"
    "مقاعد|أمتار|كيلومترات|سنتيمترات|ملليمترات|مليمترات|أميال|كيلوغرامات|كيلوجرامات|غرامات|جرامات|أطنان|لترات|هكتارات|"
    "دولارات|جنيهات|ريالات|دنانير|دراهم|قروش|آلاف|ملايين|مليارات|أضعاف|مقاتلين|مدنيين|أحزاب|ألوان|أحرف|حروف|أسطر|"
    "مواسم|ملاعب|مسلحين|متهمين|مرشحين|أصدقاء|مهندسين|أطباء|معلمين|موظفين|صحفيين|صحافيين|كراسي|أقلام"
)
_FEMININE = (
    "سنوات|سنين|ساعات|دقائق|ثوان|ثواني|ليال|ليالي|مرات|نساء|بنات|فتيات|سيدات|طالبات|تلميذات|دول|مدن|قرى|محافظات|ولايات|"
    "مناطق|نقاط|درجات|صفحات|كلمات|غرف|سيارات|طائرات|سفن|شركات|مباريات|جولات|مراحل|ملاعق|حبات|بيضات|لغات|جامعات|"
    "مجموعات|ركعات|خطوات|حلقات|قطع|صور|رسائل|قصص|روايات|مقالات|دورات|جوائز|ميداليات|بطولات|نسخ|أرجل|عمليات|غارات|"
    "جلسات|أغنيات|لوحات|شقق|سور|آيات"
)
_OF_HIM, _OF_HER = rf"(?= (?:{_MASCULINE}){_END})", rf"(?= (?:{_FEMININE}){_END})"
# The singular after eleven to ninety-nine.
_ONE_OF_HIM = rf"(?= (?!هذا|أيضا|كما|إذا|لذا|جميعا)\p{{L}}{{2,}}(?:ًا|اً|ا){_END})"
_ONE_OF_HER = rf"(?= \p{{L}}{{2,}}ة{_END})"
_MAGNITUDE = rf"(?= (?:مليون|مليار|ألف){_END})"

_MONTHS = (
    "يناير|فبراير|مارس|أبريل|ابريل|إبريل|مايو|يونيو|يونيه|يوليو|يوليه|أغسطس|اغسطس|سبتمبر|أكتوبر|اكتوبر|نوفمبر|ديسمبر|"
    "كانون الثاني|شباط|آذار|نيسان|أيار|حزيران|تموز|آب|أيلول|تشرين الأول|تشرين الثاني|كانون الأول|جانفي|فيفري|أفريل|ماي|"
    "جوان|جويلية|أوت|محرم|ربيع الأول|ربيع الآخر|ربيع الثاني|جمادى الأولى|جمادى الآخرة|جمادى الثانية|رجب|شعبان|رمضان|"
    "شوال|ذي القعدة|ذو القعدة|ذي الحجة|ذو الحجة"
)
_OF_MONTH = rf"(?= (?:شهر )?(?:{_MONTHS}){_END})"
_OF_MONTH_SAID = rf"(?= من (?:شهر )?(?:{_MONTHS}){_END})"
_WEEKDAYS = "السبت|الأحد|الاثنين|الإثنين|الثلاثاء|الأربعاء|الخميس|الجمعة"
_ON = rf"(?<=\b[وف]?(?:في|من|منذ|حتى|إلى|الى|قبل|بعد|يوم|ليلة|صباح|مساء|فجر|بتاريخ|يوم (?:{_WEEKDAYS})) )"
_LATE_DAY = rf"(?P<d>{_2}\d|{_3}[01٠١۰۱])"

_HE = "القرن|الطابق|الدور|الفصل|المركز|الباب|الأسبوع|الموسم|العدد|الجزء|المجلد|الشوط|العيد|اليوم|العام|المؤتمر|المهرجان"
_SHE = (
    "المرتبة|المادة|الدورة|النسخة|القمة|الذكرى|الحلقة|الجولة|السنة|المرحلة|الطبعة|الدقيقة|الفقرة|الصفحة|الجلسة|المرة|"
    "الآية|الليلة"
)

_AT = r"(?<=\b(?:ال|بال|لل|وال)ساعة )"
_AT_OR_NOW = r"(?<=\b(?:ال|بال|لل|وال)ساعة (?:الآن )?)"
_HOUR = rf"(?P<h>{_0}?{_1_9}|{_1}\d)"
_CUPS = rf"(?= (?:ملعقة|كوب|كأس|فنجان|لتر|كيلو|كيلوغرام|كيلوجرام){_END})"
_KM, _KG = r"(?:km|كم|كلم)(?!/)", "(?:kg|كجم|كغم|كغ)"

_KINGS = (
    "لويس|هنري|شارل|تشارلز|كارل|جورج|إدوارد|ادوارد|جيمس|وليام|ويليام|فيلهلم|ريتشارد|فيليب|فريدريش|فريدريك|بطرس|نيكولاس|"
    "نيقولا|ألكسندر|إيفان|نابليون|بيوس|بولس|بنديكت|غريغوريوس|ليو|أوربان|إنوسنت|كليمنت|رمسيس|بطليموس|داريوس|مراد|سليم|"
    "محمد|مصطفى|عبد الحميد|غوستاف|كريستيان|ليوبولد|ألبرت|ألفونسو|كارلوس|رودولف|ماكسيميليان|تحتمس|"
    "أمنحتب|عبد الله|فرديناند"
)

_GENITIVE = (
    (r"(?<!ملي)ون(?!\p{L})", "ين"),
    ("اثنان", "اثنين"),
    ("اثنا عشر", "اثني عشر"),
    (r"(مئت|ألف|مليون)ان(?!\p{L})", r"\1ين"),
)
_OF_FEMININE = (
    ("أحد عشر", "إحدى عشرة"),
    ("اثن(ا|ي) عشر", r"اثنت\1 عشرة"),
    ("ثمانية عشر", "ثماني عشرة"),
    ("(ثلاث|أربع|خمس|ست|سبع|تسع)ة عشر", r"\1 عشرة"),
    ("واحد(?= و)", "إحدى"),
    (r"اثن(ان|ين)(?!\p{L})", r"اثنت\1"),
    ("ثمانية(?= و)|(?<= و)ثمانية$", "ثمان"),
    ("ثمانية$", "ثماني"),
    ("(ثلاث|أربع|خمس|ست|سبع|تسع)ة(?=$| و)", r"\1"),
    ("^عشرة$", "عشر"),
)
_ORDINAL = (
    *(("^واحد$", "أول"), ("واحد|أحد(?= عشر)", "حادي"), ("اثنان|اثنا", "ثاني"), ("ثلاثة", "ثالث"), ("أربعة", "رابع")),
    *(("خمسة", "خامس"), ("ستة", "سادس"), ("سبعة", "سابع"), ("ثمانية", "ثامن"), ("تسعة", "تاسع"), ("^عشرة$", "عاشر")),
    ("ون$", "ين"),
)
_ORDINAL_OF_FEMININE = (
    ("^أول$", "أولى"),
    ("(حادي|ثاني|ثالث|رابع|خامس|سادس|سابع|ثامن|تاسع|عاشر)", r"\1ة"),
    ("عشر$", "عشرة"),
)
_THE = ("^|(?<= و)", "ال")

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
    agreement={
        "genitive": _GENITIVE,
        "feminine": _OF_FEMININE,
        "feminine-genitive": (*_GENITIVE, *_OF_FEMININE),
        "ordinal-he": (*_ORDINAL, _THE),
        "ordinal-she": (*_ORDINAL, *_ORDINAL_OF_FEMININE, _THE),
        "hour": (*_ORDINAL, ("^أول$", "واحد"), *_ORDINAL_OF_FEMININE, ("^واحد$", "واحدة"), _THE),
    },
    rules=(
        Rule("time", rf"{_AT_OR_NOW}{_HOUR}[:.]{_0}{{2}}", "{h:hour}"),
        Rule("time", rf"{_AT_OR_NOW}{_HOUR}[:.]{_1}{_5}", "{h:hour} والربع"),
        Rule("time", rf"{_AT_OR_NOW}{_HOUR}[:.]{_3}{_0}", "{h:hour} والنصف"),
        Rule("time", rf"{_AT_OR_NOW}{_HOUR}[:.](?P<m>{_0}{_5}|{_1}{_0})", "{h:hour} و{m:feminine} دقائق"),
        Rule("time", rf"{_AT}{_HOUR}[:.](?P<m>[2-5٢-٥۲-۵](?:{_0}|{_5}))", "{h:hour} و{m:feminine-genitive} دقيقة"),
        Rule("time", rf"{_AT}{_HOUR}(?! ?- ?\d| و ?\d)", "{h:hour}"),
        Rule("date", rf"(?P<d>{_0}?{_BELOW_20}){_OF_MONTH}", "{d:ordinal-he} من"),
        Rule("date", rf"(?P<d>{_0}?{_BELOW_20}){_OF_MONTH_SAID}", "{d:ordinal-he}"),
        Rule("date", rf"{_ON}{_LATE_DAY}{_OF_MONTH}", "{d:ordinal-he} من"),
        Rule("date", rf"{_ON}{_LATE_DAY}{_OF_MONTH_SAID}", "{d:ordinal-he}"),
        Rule("year", rf"(?<=\bعامي )(?P<a>{_YEAR}) و ?(?P<b>{_YEAR})", "{a:genitive} و{b:genitive}"),
        Rule(
            "year",
            rf"(?<=\b(?:[ولبفك]?عام|[وف]?(?:{_AFTER}|حتى) العام|للعام|{_MONTHS}) )(?P<y>{_YEAR})",
            "{y:genitive}",
        ),
        # a year with one at its end is said in more than one way
        Rule("year", rf"(?<=\b[ولبفك]?سنة )(?!\d\d[02-9٠٢-٩۰۲-۹]{_1})(?P<y>{_YEAR})", "{y:feminine-genitive}"),
        Rule(
            "range",
            rf"(?<=\p{{L}} )(?<!\b(?:ال|لل)?موسم |\bعامي |\bدوري )(?P<a>{_YEAR})-(?P<b>{_YEAR})",
            "{a:genitive} إلى {b:genitive}",
        ),
        Rule("range", rf"(?P<a>{_FEW}){_TO}(?P<b>{_FEW}){_OF_HIM}", "{a} إلى {b}"),
        Rule("range", rf"(?P<a>{_FEW}){_TO}(?P<b>{_FEW}){_OF_HER}", "{a:feminine} إلى {b:feminine}"),
        Rule("range", rf"(?P<a>{_TEEN}){_TO}(?P<b>{_TEEN}){_ONE_OF_HIM}", "{a} إلى {b}"),
        Rule("range", rf"(?P<a>{_TEEN}){_TO}(?P<b>{_TEEN}){_ONE_OF_HER}", "{a:feminine} إلى {b:feminine}"),
        Rule("fraction", rf"(?<!\d )(?:1⁄2(?= \p{{L}})|{_1}/{_2}{_CUPS})", "نصف"),
        Rule("fraction", rf"(?<!\d )(?:1⁄4(?= \p{{L}})|{_1}/{_4}{_CUPS})", "ربع"),
        Rule("fraction", rf"(?<!\d )(?:1⁄3(?= \p{{L}})|{_1}/{_3}{_CUPS})", "ثلث"),
        Rule("fraction", rf"(?<!\d )(?:3⁄4(?= \p{{L}})|{_3}/{_4}{_CUPS})", "ثلاثة أرباع"),
        Rule("percent", rf"(?<![-\d] ?)(?P<n>{_0}|{_SAME}) ?[%٪]", "{n} بالمئة"),
        Rule("percent", rf"(?<![-\d] ?)[%٪] ?(?P<n>{_0}|{_SAME})", "{n} بالمئة"),
        Rule("percent", rf"{_OBLIQUE}(?P<n>{_BELOW_1000}) ?[%٪]", "{n:genitive} بالمئة"),
        Rule("percent", rf"{_OBLIQUE}[%٪] ?(?P<n>{_BELOW_1000})", "{n:genitive} بالمئة"),
        Rule("percent", rf"(?<!- ?)(?P<a>{_0}|{_SAME})[.,٫](?P<b>{_3_9}) ?[%٪]", "{a} فاصلة {b} بالمئة"),
        Rule(
            "percent",
            rf"{_OBLIQUE}(?P<a>{_0}|{_BELOW_1000})[.,٫](?P<b>{_1_9}\d?) ?[%٪]",
            "{a:genitive} فاصلة {b:genitive} بالمئة",
        ),
        Rule("percent", rf"بـ? ?(?P<n>{_BELOW_1000}) ?[%٪]", "ب{n:genitive} بالمئة"),
        Rule("ordinal", rf"(?<=\b[ولبف]?(?:{_HE}) )الـ? ?(?P<n>{_BELOW_20})", "{n:ordinal-he}"),
        Rule("ordinal", rf"(?<=\b[ولبف]?(?:{_SHE}) )الـ? ?(?P<n>{_BELOW_20})", "{n:ordinal-she}"),
        Rule("ordinal", rf"(?<=\b(?:{_AFTER}) (?:{_HE}) )الـ? ?(?P<n>{_2_9}\d)", "{n:ordinal-he}"),
        Rule("ordinal", rf"(?<=\b(?:{_AFTER}) (?:{_SHE}) )الـ? ?(?P<n>{_2_9}\d)", "{n:ordinal-she}"),
        Rule("ordinal", rf"(?<=\b[وب]?(?:القرن|الطابق) )(?P<n>{_BELOW_20})(?! و ?\d)", "{n:ordinal-he}"),
        Rule("ordinal", rf"(?<=\b(?:{_AFTER}) القرن )(?P<n>{_2}\d)(?! و ?\d)", "{n:ordinal-he}"),
        Rule("ordinal", rf"(?<=\b[وب]?(?:المرتبة|المادة) )(?P<n>{_BELOW_20})(?! و ?\d)", "{n:ordinal-she}"),
        Rule("roman", rf"(?<=\b(?:{_KINGS}) )(?P<r>X?(?:IX|IV|VI{{0,3}}|I{{1,3}})|X)", "{r:ordinal-he}"),
        Rule(
            "digits",
            rf"(?P<a>{_0}\d{{1,3}})[- ](?P<b>\d{{3}})[- ](?P<c>\d{{3,4}})",
            "{a:digits}، {b:digits}، {c:digits}",
        ),
        Rule("digits", rf"(?P<a>{_0}\d{{1,3}})-(?P<b>\d{{6,8}})", "{a:digits}، {b:digits}"),
        Rule("number", rf"(?<=\bرقم )(?P<n>{_BELOW_1000})(?=[.،,؛:؟!)]|$| \p{{L}})", "{n:genitive}"),
        Rule("unit", rf"(?<!-)(?P<n>{_FEW}) ?{_KM}", "{n} كيلومترات"),
        Rule("unit", rf"(?<!-)(?P<n>{_TEEN}) ?{_KM}", "{n} كيلومترًا"),
        Rule("unit", rf"(?<!-)(?P<n>{_HUNDREDS}) ?{_KM}", "{n} كيلومتر"),
        Rule("unit", rf"{_OBLIQUE}(?P<n>{_2_9}\d) ?{_KM}", "{n:genitive} كيلومترًا"),
        Rule("unit", rf"(?<!-)(?P<n>{_FEW}) ?{_KG}", "{n} كيلوغرامات"),
        Rule("unit", rf"(?<!-)(?P<n>{_TEEN}) ?{_KG}", "{n} كيلوغرامًا"),
        Rule("unit", rf"(?<!-)(?P<n>{_HUNDREDS}) ?{_KG}", "{n} كيلوغرام"),
        Rule("unit", rf"{_OBLIQUE}(?P<n>{_2_9}\d) ?{_KG}", "{n:genitive} كيلوغرامًا"),
        Rule("unit", rf"(?<!-)(?P<n>{_FEW}) ?(?:cm|سم)", "{n} سنتيمترات"),
        Rule("unit", rf"(?<!-)(?P<n>{_TEEN}) ?(?:cm|سم)", "{n} سنتيمترًا"),
        Rule("unit", rf"(?<!-)(?P<n>{_HUNDREDS}) ?(?:cm|سم)", "{n} سنتيمتر"),
        Rule("unit", rf"(?<!-)(?P<n>{_FEW}) ?m(?![\^/])", "{n} أمتار"),
        Rule("unit", rf"(?<!-)(?P<n>{_TEEN}) ?m(?![\^/])", "{n} مترًا"),
        Rule("unit", rf"(?<!-)(?P<n>{_HUNDREDS}) ?(?:g|غ|غم|جم)", "{n} غرام"),
        Rule("unit", rf"(?<!-)(?P<n>{_FEW}) ?°C", "{n:feminine} درجات مئوية"),
        Rule("unit", rf"(?<!-)(?P<n>{_TEEN}) ?°C", "{n:feminine} درجة مئوية"),
        Rule("money", rf"\$ ?(?P<n>{_FEW}) (?P<x>ملايين|مليارات|آلاف)", "{n} {x:=} دولار"),
        Rule("money", rf"\$ ?(?P<n>{_TEEN}|{_HUNDREDS}) (?P<x>مليون|مليار|ألف)", "{n} {x:=} دولار"),
        Rule("number", rf"بـ? ?(?P<n>{_FEW}){_OF_HIM}", "ب{n}"),
        Rule("number", rf"بـ? ?(?P<n>{_FEW}){_OF_HER}", "ب{n:feminine}"),
        Rule("number", rf"لـ? ?(?P<n>{_FEW}){_OF_HIM}", "ل{n}"),
        Rule("number", rf"لـ? ?(?P<n>{_FEW}){_OF_HER}", "ل{n:feminine}"),
        Rule("number", rf"{_ALONE}(?P<n>(?:{_NOT_2}{_0})?{_3_9}|{_NOT_2}?{_1}{_0}){_OF_HIM}", "{n}"),
        Rule("number", rf"{_ALONE}(?P<n>{_FEW}){_OF_HER}", "{n:feminine}"),
        Rule("number", rf"{_ALONE}(?P<n>{_NOT_2}?{_TEEN})(?:{_ONE_OF_HIM}|{_MAGNITUDE})", "{n}"),
        Rule("number", rf"{_ALONE}(?P<n>{_NOT_2}?{_TEEN}){_ONE_OF_HER}", "{n:feminine}"),
        Rule("number", rf"{_OBLIQUE}(?P<n>{_2_9}\d|{_1}{_2})(?:{_ONE_OF_HIM}|{_MAGNITUDE})", "{n:genitive}"),
        Rule("number", rf"{_OBLIQUE}(?P<n>{_2_9}\d|{_1}{_2}){_ONE_OF_HER}", "{n:feminine-genitive}"),
    ),
    closings=dict.fromkeys(("إلخ", "الخ"), "إلى آخره"),
    # read are: zero, decimals without cases, and round numbers before what they count
    unsure=rf"(?<!(?<![\d.,٫٬])(?:{_0}|{_POINTED}))(?:(?<!(?<![\d.,٫٬]){_ROUND})|(?! (?!\p{{L}}{_END})\p{{L}}))",
    unsure_before=r"\p{L}|ـ ?|\b(?!و )\p{L}\.? ",
)
