"""139 formulas with the values that Excel's documentation gives them: no engine's error is scored as right or wrong.

The two Python engines and LibreOffice each miss some. A value that only one of them gives must never count.
"""

import datetime
import math

import pytest

from tests.artifacts.offices import need_office
from verikit.verifiers.xlsx.engines import Found, _typed, calculate, verdict
from verikit.verifiers.xlsx.verdicts import alike, matches

pytest.importorskip("formulas")
pytest.importorskip("formualizer")

TOLERANCE = 1e-9
INPUTS = {
    "A1": 3.0, "A2": 1.0, "A3": 4.0, "A4": 1.0, "A5": 5.0, "A6": 9.0,
    "B1": "apple", "B2": "Banana", "B3": "cherry", "B4": "apricot", "B5": "10", "B6": True,
    "C1": 10.0, "C2": 20.0, "C3": 30.0, "C4": 40.0, "C5": 50.0, "C6": 60.0,
    "D1": -1000.0, "D2": 300.0, "D3": 420.0, "D4": 680.0,
    "F1": 1.0, "F2": 2.0, "G1": 3.0, "G2": 4.0,
}  # fmt: skip
"""E1 to E6 are blank."""


def day(*date):
    return float((datetime.date(*date) - datetime.date(1899, 12, 30)).days)


def payment(rate, count, value):
    return -value * rate / (1 - (1 + rate) ** -count)


PAID = payment(0.01, 12, 1000)
MEAN = sum((3, 1, 4, 1, 5, 9)) / 6
SQUARES = sum((one - MEAN) ** 2 for one in (3, 1, 4, 1, 5, 9))
RIGHT = {
    # operators and types
    "-2^2": 4, "2^3^2": 64, "50%*2": 1, '"a"&1+2': "a3", '"3"+4': 7, "TRUE+1": 2, '"a"="A"': True, '"10"<9': False,
    'TRUE>"z"': True, "E1=0": True, 'E1=""': True, "-E1": 0, "1/0": "#DIV/0!", '"a"+1': "#VALUE!", "A1%": 0.03,
    # sums and counts
    "SUM(A1:A6)": 23, "SUM(B1:B6)": 0, 'SUM("3",TRUE)': 4, "COUNTA(A1:B6)": 12,
    "COUNTBLANK(C1:E6)": 8, "PRODUCT(A1:A6,E1)": 540, "SUMSQ(A1:A3)": 26, "AVERAGE(A1:B6)": MEAN,
    "AVERAGEA(B5:B6)": 0.5, "MAX(B1:B6)": 0, "MIN(A1:A6)": 1, "MEDIAN(A1:A6)": 3.5, "MODE(A1:A6)": 1,
    "LARGE(A1:A6,2)": 5, "SMALL(A1:A6,3)": 3, "RANK(A1,A1:A6)": 4, "PERCENTILE(A1:A6,0.25)": 1.5,
    "QUARTILE(A1:A6,3)": 4.75, "STDEV(A1:A6)": math.sqrt(SQUARES / 5), "VARP(A1:A6)": SQUARES / 6,
    "SUBTOTAL(9,A1:A6)": 23, "CORREL(A1:A2,C1:C2)": -1, "SLOPE(C1:C6,F1:F6)": 10,
    "SUMPRODUCT(--(A1:A6>2),C1:C6)": 150, "SUMPRODUCT(A1:A6*(C1:C6>30))": 15, "MDETERM(F1:G2)": -2,
    # criteria
    'COUNTIF(B1:B6,"ap*")': 2, 'COUNTIF(B1:B6,"?anana")': 1, 'COUNTIF(E1:E6,"")': 6, 'COUNTIF(A1:A6,"<>1")': 4,
    "COUNTIF(B1:B6,10)": 1, 'SUMIF(A1:A6,">3",C1:C6)': 140, 'SUMIF(A1:A6,">3")': 18,
    'SUMIFS(C1:C6,A1:A6,">1",C1:C6,"<60")': 90, 'AVERAGEIF(A1:A6,1,C1:C6)': 30, 'COUNTIFS(A1:A6,1,C1:C6,">20")': 1,
    # rounding
    "ROUND(-2.5,0)": -3, "ROUND(2.675,2)": 2.68, "ROUND(1234,-2)": 1200, "ROUNDUP(-2.1,0)": -3, "ROUNDDOWN(-2.9,0)": -2,
    "INT(-2.5)": -3, "TRUNC(-2.5)": -2, "MOD(-3,2)": 1, "MOD(3,-2)": -1, "QUOTIENT(-7,2)": -3, "CEILING(2.1,0.5)": 2.5,
    "FLOOR(2.9,0.5)": 2.5, "MROUND(7,3)": 6, "EVEN(-1)": -2, "ODD(2)": 3,
    # mathematics
    "FACT(5)": 120, "COMBIN(6,2)": 15, "PERMUT(5,2)": 20, "GCD(12,18)": 6, "LCM(4,6)": 12, "SQRT(-1)": "#NUM!",
    "LOG(8,2)": 3, "LN(EXP(2))": 2, "ATAN2(1,1)": math.pi / 4, "DEGREES(PI())": 180, "SIGN(-3)": -1, "ABS(-2)": 2,
    # text
    'TRIM("  a  b ")': "a b", 'VALUE("1,200")': 1200, 'PROPER("o\'neil mac-kay")': "O'Neil Mac-Kay",
    'SUBSTITUTE("aXbXc","X","-",2)': "aXb-c", 'FIND("n","Banana",4)': 5, 'SEARCH("N?N","Banana")': 3,
    'MID("abc",2,9)': "bc", 'REPLACE("abcdef",2,3,"-")': "a-ef", 'EXACT("a","A")': False, 'REPT("ab",3)': "ababab",
    'LEN("  a ")': 4, 'CODE("A")': 65, "CHAR(65)": "A", 'TEXT(1234.5,"#,##0.00")': "1,234.50",
    'TEXT(0.125,"0.0%")': "12.5%",
    'FIND("z","abc")': "#VALUE!", 'T(5)': "", 'N("a")': 0, 'LEFT("abc",0)': "",
    # dates
    "DATE(2024,1,31)": day(2024, 1, 31), "DATE(2024,14,1)": day(2025, 2, 1),
    "EDATE(DATE(2024,1,31),1)": day(2024, 2, 29),
    "EOMONTH(DATE(2024,1,15),1)": day(2024, 2, 29), "WEEKDAY(DATE(2024,1,1))": 2, "WEEKDAY(DATE(2024,1,7),2)": 7,
    "NETWORKDAYS(DATE(2024,1,1),DATE(2024,1,14))": 10, "DAY(DATE(2024,3,0))": 29,
    "DAYS360(DATE(2024,1,31),DATE(2024,3,1))": 31,
    "YEARFRAC(DATE(2024,1,1),DATE(2024,7,1))": 0.5, "HOUR(0.75)": 18, "TIME(25,0,0)": 1 / 24,
    # money
    "PMT(0.01,12,1000)": PAID, "FV(0.01,12,-100)": 100 * (1.01**12 - 1) / 0.01,
    "PV(0.01,12,-100)": 100 * (1 - 1.01**-12) / 0.01,
    "IPMT(0.01,1,12,1000)": -10, "PPMT(0.01,1,12,1000)": PAID + 10,
    "NPV(0.1,D2:D4)": 300 / 1.1 + 420 / 1.21 + 680 / 1.331,
    "SLN(1000,100,9)": 100, "SYD(1000,100,3,1)": 450, "DDB(1000,100,5,1)": 400,
    # lookups and logic
    'VLOOKUP("cherry",B1:C4,2,FALSE)': 30, "VLOOKUP(35,C1:D6,1)": 30, 'VLOOKUP("zzz",B1:C4,2,FALSE)': "#N/A",
    'MATCH("ban*",B1:B4,0)': 2, "MATCH(35,C1:C6,1)": 3, "INDEX(A1:C6,2,3)": 20, "SUM(INDEX(A1:C6,0,1))": 23,
    "LOOKUP(25,C1:C6,A1:A6)": 1, 'CHOOSE(2,"a","b")': "b", 'IFERROR(1/0,"x")': "x", "ISBLANK(E1)": True,
    "ISTEXT(B5)": True, "ISNUMBER(B6)": False, "AND(A1,A2)": True, "XOR(TRUE,TRUE)": False, "ISNA(NA())": True,
    "IF(E1,1,2)": 2, "ROWS(A1:C6)": 6, "COLUMNS(A1:C6)": 3, 'ISERR(NA())': False,
}  # fmt: skip


def same(a, b):
    return alike(TOLERANCE, a, b)


def said(found, value):
    """The verdict on a value that a task expects."""
    value = float(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return verdict(found, lambda one: matches(one, value, TOLERANCE), same)


def values(formulas, inputs):
    """The values of formulas, by engine."""
    cells = {f"X1!H{number}": f"={formula}" for number, formula in enumerate(formulas, 1)}
    model = {"values": {f"X1!{cell}": value for cell, value in inputs.items()}, "formulas": cells, "errors": {}}
    runs = calculate(model, list(cells), [{}], same)
    return {formula: runs.of(key, 0) for formula, key in zip(formulas, cells, strict=True)}


@pytest.fixture(scope="module")
def computed():
    need_office()
    with_truth = [formula for formula in RIGHT if "B6" in formula]
    without = [formula for formula in RIGHT if "B6" not in formula]
    return values(with_truth, INPUTS) | values(without, {**INPUTS, "B6": None})


def test_the_right_value_of_a_formula_is_never_wrong_and_another_never_right(computed):
    verdicts = {formula: said(computed[formula], value) for formula, value in RIGHT.items()}
    assert not [(formula, computed[formula]) for formula, one in verdicts.items() if one == "no"]
    accepted = [
        (formula, one)
        for formula, found in computed.items()
        for one in found.values()
        if not one.unknown
        and said({"": one, " ": one}, RIGHT[formula]) == "no"
        and said(found, one.error or one.value) == "yes"
    ]
    assert not accepted
    assert sum(one == "yes" for one in verdicts.values()) >= 130


@pytest.mark.parametrize(("value", "expected"), [(1.0, "unknown"), (True, "unknown"), (0.0, "no"), ("tea", "no")])
def test_a_value_that_only_libreoffice_gives_without_its_type_is_not_wrong(value, expected):
    """One engine is at its limit, and one lacks a function. LibreOffice's 1 may be a truth value."""
    found = {"formulas": Found(unknown="a limit"), "formualizer": Found(error="#N/A")}
    assert said(found | {"LibreOffice": _typed(Found(1.0), found)}, value) == expected
