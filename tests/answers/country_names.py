"""Writes `verikit/answers/countries.json`: the names of countries in the languages that `answer` reads.

`python -m tests.answers.country_names` after Babel (`pip install babel`) brought a new release of the Unicode CLDR. The
names are Unicode's, under the licence in `verikit/answers/LICENSE.unicode`. The English ones listed here are official
names and abbreviations.
"""

import json
from pathlib import Path

FILE = Path(__file__).resolve().parents[2] / "verikit/answers/countries.json"
LANGUAGES = "en de fr es it pt nl sv pl tr vi ru ar hi zh ja ko".split()
NO_COUNTRIES = "AC CP CQ DG EA EU EZ IC QO TA UN XA XB ZZ".split()
ENGLISH = {
    "AE": "UAE", "AF": "Islamic Republic of Afghanistan", "AR": "Argentine Republic",
    "AU": "Commonwealth of Australia", "BN": "Brunei Darussalam",
    "BO": "Plurinational State of Bolivia", "BR": "Federative Republic of Brazil", "BS": "The Bahamas",
    "CD": "DRC;DR Congo;Democratic Republic of the Congo;Congo-Kinshasa",
    "CG": "Republic of the Congo;Congo-Brazzaville", "CI": "Ivory Coast", "CN": "People's Republic of China;PRC",
    "CV": "Cabo Verde", "CZ": "Czech Republic", "DE": "Federal Republic of Germany", "EG": "Arab Republic of Egypt",
    "ES": "Kingdom of Spain", "FM": "Federated States of Micronesia", "FR": "French Republic", "GB": "UK",
    "GR": "Hellenic Republic", "IE": "Republic of Ireland", "IN": "Republic of India", "IR": "Islamic Republic of Iran",
    "IT": "Italian Republic", "KP": "DPRK;Democratic People's Republic of Korea", "KR": "Republic of Korea",
    "LA": "Lao People's Democratic Republic;Lao PDR", "LK": "Democratic Socialist Republic of Sri Lanka",
    "MD": "Republic of Moldova", "MK": "Republic of North Macedonia", "MM": "Myanmar;Burma",
    "MX": "United Mexican States", "NL": "Kingdom of the Netherlands", "NP": "Federal Democratic Republic of Nepal",
    "PH": "Republic of the Philippines", "PK": "Islamic Republic of Pakistan", "PL": "Republic of Poland",
    "PS": "Palestine;State of Palestine", "PT": "Portuguese Republic", "RU": "Russian Federation",
    "SA": "Kingdom of Saudi Arabia;KSA", "SY": "Syrian Arab Republic", "SZ": "Swaziland;Kingdom of Eswatini",
    "TH": "Kingdom of Thailand", "TL": "East Timor", "TR": "Turkey;Republic of Türkiye;Republic of Turkey",
    "TZ": "United Republic of Tanzania", "US": "USA;US;United States of America", "VA": "Vatican;Holy See",
    "VE": "Bolivarian Republic of Venezuela", "VN": "Viet Nam;Socialist Republic of Vietnam",
    "ZA": "Republic of South Africa",
}  # fmt: skip


def names() -> dict[str, list[str]]:
    """Each country's English name with its others, in the order of the languages."""
    from babel import localedata

    tables = [localedata.load(language)["territories"] for language in LANGUAGES]
    countries = [code for code in tables[0] if len(code) == 2 and code.isalpha() and code not in NO_COUNTRIES]
    found = {}
    for code in sorted(countries):
        cldr = [table[code] for table in tables if code in table]
        english = cldr[0].replace("St. ", "Saint ").replace(" & ", " and ")
        found[cldr[0]] = sorted({english, *cldr, *ENGLISH.get(code, "").split(";")} - {cldr[0], ""})
    return found


def text() -> str:
    """The file's text: a line for each country."""
    rows = (
        f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(others, ensure_ascii=False)}"
        for name, others in names().items()
    )
    return "{\n" + ",\n".join(rows) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
