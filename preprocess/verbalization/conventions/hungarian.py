"""How Hungarian writes and says numbers, and its abbreviations."""

from __future__ import annotations

from preprocess.verbalization.conventions.convention import (
    Convention,
    money,
    months,
    noun,
)

HUNGARIAN = Convention(
    words="hu",
    decimal=",",
    thousands=" .",
    point=noun("egész"),
    places=(noun("tized"), noun("század"), noun("ezred")),
    minus="mínusz",
    plural="none",
    agreement={"m": (("kettő$", "két"),)},
    agrees="kettő$",
    percent=noun("százalék", "m"),
    currencies={
        "Ft": money("forint", gender="m"),
        "€": money("euró", "cent", "m"),
        "$": money("dollár", "cent", "m"),
        "£": money("font", gender="m"),
    },
    dot="ordinal",
    unsure=r"-[^\W\d]|\.?"
    + months("január február március április május június július augusztus szeptember október november december"),
    titles={**dict.fromkeys(("Dr.", "dr."), "doktor"), "Prof.": "professzor"},
    phrases={"pl.": "például", "ún.": "úgynevezett", "kb.": "körülbelül", "ill.": "illetve"},
    closings={"stb.": "és a többi"},
)
