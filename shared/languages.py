"""The languages of NLLB-200: FLORES-200 codes, token ids, and other names for them (ISO 639, BCP 47, English).

The table is in id order, which is almost but not quite the alphabet's: `ace_Arab` is 256001, `zul_Latn`
256202 (fairseq dictionary of facebook/nllb-200; the same in Hugging Face's `tokenization_nllb.py`).
"""

from __future__ import annotations

import difflib
import re

from shared.errors import UserError

FIRST_ID = 256001

CODES: tuple[str, ...] = tuple(
    """
    ace_Arab ace_Latn acm_Arab acq_Arab aeb_Arab afr_Latn ajp_Arab aka_Latn amh_Ethi apc_Arab arb_Arab
    ars_Arab ary_Arab arz_Arab asm_Beng ast_Latn awa_Deva ayr_Latn azb_Arab azj_Latn bak_Cyrl bam_Latn
    ban_Latn bel_Cyrl bem_Latn ben_Beng bho_Deva bjn_Arab bjn_Latn bod_Tibt bos_Latn bug_Latn bul_Cyrl
    cat_Latn ceb_Latn ces_Latn cjk_Latn ckb_Arab crh_Latn cym_Latn dan_Latn deu_Latn dik_Latn dyu_Latn
    dzo_Tibt ell_Grek eng_Latn epo_Latn est_Latn eus_Latn ewe_Latn fao_Latn pes_Arab fij_Latn fin_Latn
    fon_Latn fra_Latn fur_Latn fuv_Latn gla_Latn gle_Latn glg_Latn grn_Latn guj_Gujr hat_Latn hau_Latn
    heb_Hebr hin_Deva hne_Deva hrv_Latn hun_Latn hye_Armn ibo_Latn ilo_Latn ind_Latn isl_Latn ita_Latn
    jav_Latn jpn_Jpan kab_Latn kac_Latn kam_Latn kan_Knda kas_Arab kas_Deva kat_Geor knc_Arab knc_Latn
    kaz_Cyrl kbp_Latn kea_Latn khm_Khmr kik_Latn kin_Latn kir_Cyrl kmb_Latn kon_Latn kor_Hang kmr_Latn
    lao_Laoo lvs_Latn lij_Latn lim_Latn lin_Latn lit_Latn lmo_Latn ltg_Latn ltz_Latn lua_Latn lug_Latn
    luo_Latn lus_Latn mag_Deva mai_Deva mal_Mlym mar_Deva min_Latn mkd_Cyrl plt_Latn mlt_Latn mni_Beng
    khk_Cyrl mos_Latn mri_Latn zsm_Latn mya_Mymr nld_Latn nno_Latn nob_Latn npi_Deva nso_Latn nus_Latn
    nya_Latn oci_Latn gaz_Latn ory_Orya pag_Latn pan_Guru pap_Latn pol_Latn por_Latn prs_Arab pbt_Arab
    quy_Latn ron_Latn run_Latn rus_Cyrl sag_Latn san_Deva sat_Beng scn_Latn shn_Mymr sin_Sinh slk_Latn
    slv_Latn smo_Latn sna_Latn snd_Arab som_Latn sot_Latn spa_Latn als_Latn srd_Latn srp_Cyrl ssw_Latn
    sun_Latn swe_Latn swh_Latn szl_Latn tam_Taml tat_Cyrl tel_Telu tgk_Cyrl tgl_Latn tha_Thai tir_Ethi
    taq_Latn taq_Tfng tpi_Latn tsn_Latn tso_Latn tuk_Latn tum_Latn tur_Latn twi_Latn tzm_Tfng uig_Arab
    ukr_Cyrl umb_Latn urd_Arab uzn_Latn vec_Latn vie_Latn war_Latn wol_Latn xho_Latn ydd_Hebr yor_Latn
    yue_Hant zho_Hans zho_Hant zul_Latn
    """.split()
)

LAST_ID = FIRST_ID + len(CODES) - 1
_ID_OF = {code: FIRST_ID + index for index, code in enumerate(CODES)}

# Names on the left mean the languages on the right: ISO 639-1, bibliographic, withdrawn and macrolanguage codes,
# with a script or a region where that makes a difference, and the English names in the folder names of corpora.
# Several on the right: the name is ambiguous. None: NLLB does not have the language.
_NAMES = """
    af=afr ak=aka am=amh ar,ara=arb as=asm ay,aym=ayr az,aze=azj az-arab,az-ir=azb ba=bak be=bel
    bg=bul bm=bam bn=ben bo,tib=bod bs=bos ca=cat cs,cze=ces cy,wel=cym da=dan de,ger,german=deu din=dik dz=dzo
    ee=ewe el,gre,greek=ell en,english=eng eo=epo es,spanish=spa et,ekk=est eu,baq=eus fa,fas,per=pes fa-af=prs
    ff,ful=fuv fi,finnish=fin fj=fij fo=fao fr,fre,french=fra ga=gle gd=gla gl=glg gn,gug=grn gu=guj ha=hau he,iw=heb
    hi=hin hr=hrv ht=hat hu,hungarian=hun hy,arm=hye id,in=ind ig=ibo is,ice=isl it,italian=ita ja,japanese=jpn
    jv,jw=jav ka,geo=kat kg=kon ki=kik kk=kaz km=khm kn=kan ko=kor kr,kau=knc ks=kas ku,kur=kmr,ckb ku-iq=ckb
    ku-tr=kmr ky=kir lb=ltz lg=lug li=lim ln=lin lo=lao lt=lit lv,lav=lvs mg,mlg=plt mi,mao=mri mk,mac=mkd ml=mal
    mn,mon=khk mo=ron mr=mar ms,msa,may=zsm mt=mlt my,bur=mya nb=nob ne,nep=npi nl,dut,dutch=nld nn=nno
    no,nor=nob,nno ny=nya oc=oci om,orm=gaz or,ori=ory pa=pan pa-pk= pl,polish=pol ps,pus=pbt
    pt,portuguese=por qu,que=quy rn=run ro,rum=ron ru,russian=rus rw=kin sa=san sc=srd sd=snd sg=sag
    sh,hbs=bos,hrv,srp si=sin sk,slo=slk sl=slv sm=smo sn=sna so=som sq,sqi,alb=als sr=srp ss=ssw st=sot su=sun
    sv=swe sw,swa=swh ta=tam te=tel tg=tgk th=tha ti=tir tk=tuk tl,fil=tgl tmh=taq tn=tsn tr=tur ts=tso tt=tat
    tw=twi ug=uig uk=ukr ur=urd uz,uzb=uzn vi=vie wo=wol xh=xho yi,ji,yid=ydd yo=yor
    zh,chi,cmn,chinese=zho zh-cn,zh-sg=zho_Hans zh-tw=zho_Hant zh-hk,zh-mo=yue_Hant,zho_Hant zu=zul
    ar-eg=arb,arz ar-iq=arb,acm ar-jo,ar-ps=arb,ajp ar-lb,ar-sy=arb,apc ar-ma=arb,ary ar-sa=arb,ars ar-tn=arb,aeb
    ar-ye=arb,acq
"""


def _codes_of(language: str) -> list[str]:
    """The codes of an ISO 639-3 language: `zho_Hans` and `zho_Hant` for `zho`; a FLORES-200 code gives itself."""
    return [code for code in CODES if language in (code, code[:3])]


def _meanings() -> dict[str, list[str]]:
    meanings = {code[:3]: _codes_of(code[:3]) for code in CODES}
    for names, languages in (row.split("=") for row in _NAMES.split()):
        codes = [code for language in languages.split(",") for code in _codes_of(language)]
        meanings |= dict.fromkeys(names.split(","), codes)
    return meanings


_MEANINGS = _meanings()
# ISO 15924 also names writing systems: some are of several scripts of Unicode, or of one with another name.
_UNICODE_SCRIPTS = {"Hans": ("Hani",), "Hant": ("Hani",), "Jpan": ("Hani", "Hira", "Kana")}
UNSPACED_SCRIPTS = frozenset(_UNICODE_SCRIPTS)  # without spaces between words
_RETIRED = {"mo", "sh"}  # names of Romanian and Serbian that ISO 639-1 has no more
_NAME = re.compile(r"(?P<language>[a-z]{2,})(?:-(?P<script>[a-z]{4}))?(?:-(?P<region>[a-z]{2}|\d{3}))?")


def language_id(code: str) -> int:
    """The NLLB token id of a FLORES-200 code such as `eng_Latn` (256047).

    Raises:
        UserError: the code is not one of the 202; the message names the nearest ones.
    """
    if code in _ID_OF:
        return _ID_OF[code]
    raise _unknown(code, near=[])


def resolve_language(name: str) -> str:
    """Resolve a language's name to its FLORES-200 code.

    Args:
        name: a FLORES-200 code, ISO 639-1 or -3, BCP 47, or a Common Voice locale: `en`, `deu`, `pt-BR`. Case does
            not matter; parts are joined by `-` or `_`. A region that makes no difference is ignored.

    Raises:
        UserError: NLLB does not have the language or the script, or the name is ambiguous, such as `zh`.
    """
    if name in _ID_OF:
        return name
    parts = _NAME.fullmatch(name.lower().replace("_", "-"))
    meant = _meant(**parts.groupdict()) if parts else []
    if len(meant) > 1:
        raise UserError(f"ambiguous language {name!r}; expected one of {', '.join(meant)}")
    if not meant:
        raise _unknown(name, near=_MEANINGS.get(parts["language"], []) if parts else [])
    return meant[0]


def _meant(language: str, script: str | None, region: str | None) -> list[str]:
    """The codes that the parts of a name can mean, by the most specific name in the table."""
    for name in (f"{language}-{region}", f"{language}-{script}", language):
        codes = [code for code in _MEANINGS.get(name, []) if not script or code.lower().endswith(script)]
        if codes or (name in _MEANINGS and not script):
            return codes
    return []


def _unknown(name: str, *, near: list[str]) -> UserError:
    near = near or difflib.get_close_matches(name, CODES, n=3, cutoff=0.4) or ["eng_Latn"]
    return UserError(f"unknown language {name!r}; expected a FLORES-200 code such as {', '.join(near)}")


def language_code(token_id: int) -> str:
    """The FLORES-200 code of an NLLB language token id.

    Raises:
        ValueError: the id is not a language token.
    """
    if not FIRST_ID <= token_id <= LAST_ID:
        raise ValueError(f"token {token_id} is not a language; expected {FIRST_ID} to {LAST_ID}")
    return CODES[token_id - FIRST_ID]


def iso_639_1(code: str) -> str:
    """The two-letter code of a FLORES-200 language, such as `en`; its three letters, where there is none."""
    two = (name for name, codes in _MEANINGS.items() if len(name) == 2 and code in codes and name not in _RETIRED)
    return next(two, code[:3])


def script(code: str) -> str:
    """The ISO 15924 script of a FLORES-200 code: `Latn` for `eng_Latn`."""
    return code.rpartition("_")[2]


def unicode_scripts(code: str) -> tuple[str, ...]:
    """The scripts of a FLORES-200 language's characters, by ISO 15924: `Hani`, `Hira`, `Kana` for `jpn_Jpan`."""
    return _UNICODE_SCRIPTS.get(script(code), (script(code),))
