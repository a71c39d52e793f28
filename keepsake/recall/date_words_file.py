"""Makes data/dateparser_words.json from an installed dateparser, which nothing needs at run time.

`pip install dateparser==1.5.0; python -m keepsake.recall.date_words_file`
"""

from __future__ import annotations

import json
from importlib import import_module, metadata

from keepsake.recall.date_words import DATA, MONTHS, UNITS, WEEKDAYS

_LANGUAGES = ("en", "ru", "vi", "zh")


def compile_words() -> None:
    """Writes the words of four languages, with the library's licence beside them."""
    kept = (*MONTHS, *WEEKDAYS, *UNITS, "relative-type", "ago")
    words = {}
    for language in _LANGUAGES:
        info = import_module(f"dateparser.data.date_translation_data.{language}").info
        words[language] = {key: info[key] for key in kept}
    files = metadata.files("dateparser") or []
    licence = next(file for file in files if file.name == "LICENSE").read_text()
    about = f"dateparser {metadata.version('dateparser')}, from Unicode CLDR"
    content = {"source": about, "licence": licence, "words": words}
    DATA.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    compile_words()
