"""English names of languages in the folder names of corpora, such as `mls_spanish_opus`."""

from __future__ import annotations

import re
from pathlib import Path

CODE_OF = {
    "chinese": "zho_Hans",
    "dutch": "nld_Latn",
    "english": "eng_Latn",
    "finnish": "fin_Latn",
    "french": "fra_Latn",
    "german": "deu_Latn",
    "greek": "ell_Grek",
    "hungarian": "hun_Latn",
    "italian": "ita_Latn",
    "japanese": "jpn_Jpan",
    "polish": "pol_Latn",
    "portuguese": "por_Latn",
    "russian": "rus_Cyrl",
    "spanish": "spa_Latn",
}


def language_from_name(folder: Path) -> str | None:
    """The FLORES-200 code of the language in a folder's name: `spa_Latn` for `mls_spanish_opus`; None without one."""
    words = re.split(r"[^a-z]+", folder.absolute().name.lower())
    return next((CODE_OF[word] for word in words if word in CODE_OF), None)
