"""yaml, toml, csv and xml: well-formed, as the schema says, and no text that hangs, expands or reads anything."""

import csv as peer_csv
import io
import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit.errors import UsageError
from verikit.verifiers.documents.csv import Csv
from verikit.verifiers.documents.toml import Toml
from verikit.verifiers.documents.xml import Xml
from verikit.verifiers.documents.yaml import Yaml

yaml = pytest.importorskip("yaml")
pytest.importorskip("lxml")

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "born": {"type": "string"}},
    "required": ["name", "age"],
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("name: Ann\nage: 5", 1),
        ("Here:\n```yaml\nname: Ann\nage: 5\n```\nDone.", 1),
        ("```\nname: Ann\nage: 5\n```", 1),
        ("name: Ann\nage: 5\nborn: 2001-02-03", 1),
        ("name: Ann\nage: five", 0),
        ("name: Ann", 0),
        ("name: Ann\nage: 5\nage: 6", 0),
        ("name: [Ann\nage: 5", 0),
        ("name: Ann\n age: 5", 0),
        ("name: !!python/object/apply:os.system [ls]\nage: 5", 0),
        ("name: Ann\nage: 5\n---\nname: Bo\nage: 6", 0),
        ("born: 2001-13-45\nname: Ann\nage: 5", 0),
        ("&a [*a]", 0),
        ("[" * 1000 + "]" * 1000, 0),
        ("? [1, 2]\n: x", 0),
        ("name: Ann\nage: 0x" + "f" * 9000, 1),
        ("name: 0x" + "f" * 9000 + "\nage: 5", 0),
        ('name: Ann\nage: 5\n1: a\n"1": b', 0),
        ("name: Ann\nage: 5\n1: a\n0x1: b", 0),
        ("name: Ann\nage: 5\n1: a\n1.0: b", 0),
        ("name: Ann\nage: 5\n1: a\n2: b\n~: c", 1),
        ("```\nls\n```\nname: Ann\nage: 5\n```\nls\n```", 0),
        ("As asked:\n```text\nname: Ann\nage: 5\n```", 1),
        ("", 0),
        ("```yaml\n```", 0),
    ],
)
def test_yaml_is_well_formed_and_of_the_schemas_shape(text, value):
    score = Yaml(PERSON)(text)
    assert (score.status, score.value) == ("ok", value), score


def test_aliases_that_blow_up_are_refused_and_plain_ones_are_read():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    score = Yaml()("\n".join(lines))
    assert score.value == 0.0
    assert "more than 100000 values" in score.reason
    assert Yaml(PERSON)("base: &b {name: Ann}\n<<: *b\nage: 5").value == 1.0


def test_merges_that_blow_up_are_refused():
    lines = ["a0: &a0 {b: 1, c: 2}"]
    lines += [f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}]}}" for i in range(1, 7)]
    lines_of_one = [f"- &b{i} {{<<: *b{i - 1}, k{i}: 1}}" for i in range(1, 2000)]
    for text, cap in (
        ("\n".join(lines), "more than 100000 keys"),
        ("\n".join(["- &b0 {k0: 1}", *lines_of_one]), "more than 100000 keys"),
        ("a: &a {<<: *a}", "contains itself"),
    ):
        score = Yaml()(text)
        assert score.value == 0.0
        assert cap in score.reason
    assert Yaml()("- &a {<<: {x: 1}}\n- {<<: {x: 1}, <<: {y: 1}}").value == 0.0


def test_a_mapping_may_override_a_merge_and_be_merged_itself():
    text = "b: &b {x: 1}\nc:\n  inner: &c\n    <<: *b\n    x: 2\nd:\n  <<: *c\n"
    assert Yaml({"const": {"b": {"x": 1}, "c": {"inner": {"x": 2}}, "d": {"x": 2}}})(text).value == 1.0
    text = "a: &a {name: 1}\nlist:\n- &b {<<: *a, name: 2}\n- {<<: [*b, *a]}\n- {<<: [*a, *b]}"
    assert Yaml({"properties": {"list": {"const": [{"name": 2}, {"name": 2}, {"name": 1}]}}})(text).value == 1.0
    text = "- &x {a: 1}\n- <<: *x\n  b: 2\n- <<: [*x, {a: 3, c: 3}]"
    assert Yaml({"const": [{"a": 1}, {"a": 1, "b": 2}, {"a": 1, "c": 3}]})(text).value == 1.0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('name = "Ann"\nage = 5', 1),
        ('```toml\nname = "Ann"\nage = 5\nborn = 2001-02-03\n```', 1),
        ('name = "Ann"\nage = "5"', 0),
        ('name = "Ann"\nage = 5\nage = 6', 0),
        ("name = Ann\nage = 5", 0),
        ("a = " + "[" * 5000 + "]" * 5000, 0),
        ("a = " + "9" * 50_000, 0),
        ('name = "Ann"\nage = 0x' + "f" * 9000, 1),
        ("age = 5\nname = 0x" + "f" * 9000, 0),
        ('age = 5\nname = "' + "a." * 300 + '"  # ' + "a." * 300, 1),
        ('age = 5\nname = """"\n' + "a." * 300 + '""""', 1),
        ('name = "Ann"\nage = 5\n' + "a." * 199 + "a = 1", 1),
        ('name = "Ann"\nage = 5\n' + "'a' . " * 200 + "a = 1", 0),
        ("", 0),
    ],
)
def test_toml_is_well_formed_and_of_the_schemas_shape(text, value):
    score = Toml(PERSON)(text)
    assert (score.status, score.value) == ("ok", value), score


@pytest.mark.parametrize("form", ["{}=1", "[{}]", "x = {{{}=1}}"])
def test_toml_keys_of_thousands_of_parts_are_refused_at_once(form):
    score = Toml()(form.format("a." * 16_000 + "a"))
    assert score.value == 0.0
    assert "more than 200 parts" in score.reason


@pytest.mark.parametrize("unit", ["9", "a", "-", "a-9_", "a ", "a.b ", "a. "])
def test_toml_that_is_one_long_word_is_read_in_linear_work(linear, unit):
    linear(Toml(max_chars=10**6), unit)
    assert Toml()(f"{'9' * 90_000} = 1\n{'.'.join('a' * 200)} = 1").value == 1.0
    assert Toml()(f"{'.'.join('a' * 201)} = 1").value == 0.0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("name,age\nAnn,5\nBo,6", 1),
        ("name,age\nAnn,٥", 0),
        ("name,age\nAnn,٥.٥", 0),
        ('```csv\nname,age\n"Ann, the first",5\n```', 1),
        ('name,age\n"Ann\nB",5', 1),
        ('name,age\n"say ""hi""",5', 1),
        ("name,age", 1),
        ("name,age\nAnn,five", 0),
        ("name,age\nAnn", 0),
        ("name,age\nAnn,5,6", 0),
        ('name,age\n"Ann,5', 0),
        ('name,age\n"Ann"x,5', 0),
        ("name,name\nAnn,5", 0),
        ("name\nAnn", 0),
        ("", 0),
    ],
)
def test_csv_is_well_formed_and_its_rows_are_of_the_schemas_shape(text, value):
    required = {"type": "object", "properties": PERSON["properties"], "required": ["name", "age"]}
    verifier = Csv(required, columns=("name", "age") if value else ())
    score = verifier(text)
    if text == "name\nAnn" or value:
        assert (score.status, score.value) == ("ok", value), score
    else:
        assert score.value == 0, score


def test_csv_counts_rows_and_reads_cells_as_their_types():
    verifier = Csv(
        {"properties": {"n": {"type": ["number", "null"]}, "ok": {"type": "boolean"}, "id": {"type": "string"}}},
        min_rows=1, max_rows=2,
    )  # fmt: skip
    assert verifier("id,n,ok\n007,1.5,true\nx,,FALSE").value == 1.0
    assert verifier("id,n,ok\n7,1e999,true").value == 0.0
    assert verifier("id,n,ok\n7,1_000,true").value == 0.0
    assert verifier("id,n,ok").value == 0.0
    assert verifier("id,n,ok" + "\n1,1,true" * 3).value == 0.0
    assert Csv(delimiter="\t", columns=("a", "b"))("a\tb\n1\t2").value == 1.0
    assert Csv(delimiter="\t", columns=("a", "b"))("\n a\tb\n1\t\n  ").value == 1.0
    assert Csv(delimiter="\t", columns=("a", "b"))("a\tb\n1").value == 0.0
    with pytest.raises(UsageError, match="delimiter"):
        Csv(delimiter=", ")


def test_references_of_a_csv_schema_start_from_the_schema_itself():
    price = Csv({"properties": {"p": {"$ref": "#/$defs/p"}}, "$defs": {"p": {"enum": ["1", "2"]}}})
    assert [price(text).value for text in ("p\n1\n2", "p\n1\n3", "p")] == [1, 0, 1]
    assert price("p\n1\n3").reason.startswith("row 3: $.p")


XSD = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="person"><xs:complexType><xs:sequence>
<xs:element name="name" type="xs:string"/><xs:element name="age" type="xs:integer"/>
</xs:sequence></xs:complexType></xs:element></xs:schema>"""
BOMB = (
    '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    + "]><r>&i;</r>"
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<a:b/>", 0),
        ("<b a:x='1'/>", 0),
        ("<b xmlns:a='u'><a:c/></b>", 1),
        ("<b><c xmlns:a='u'/><a:c/></b>", 0),
        ("<b xmlns='u v' xml:lang='en'/>", 1),
        ("<b xmlns:a='u' xmlns:c='u' a:x='1' c:x='2'/>", 0),
        ("<a:b:c xmlns:a='u'/>", 0),
    ],
)
def test_every_prefix_of_xml_has_a_namespace_where_it_is_used(text, value):
    assert Xml()(text).value == value


def test_the_root_is_named_with_its_prefix_and_without_its_namespace():
    assert Xml(root="a:b")("<a:b xmlns:a='urn:x y'/>").value == 1.0
    assert Xml(root="b")("<b xmlns='urn:x'/>").value == 1.0
    assert Xml(root="b")("<a:b xmlns:a='urn:x'/>").value == 0.0


@pytest.mark.parametrize(
    ("text", "plain", "valid"),
    [
        ("<person><name>Ann</name><age>5</age></person>", 1, 1),
        (
            "As:\n```xml\n<?xml version='1.0' encoding='UTF-8'?>\n<person><name>A</name><age>5</age></person>\n```",
            1,
            1,
        ),
        ("Sure: <person><name>Ann</name><age>5</age></person> as asked.", 1, 1),
        ("<person><name>Ann</name><age>five</age></person>", 1, 0),
        ("<person><name>Ann</name></person>", 1, 0),
        ("<person><name>Ann</person></name>", 0, 0),
        ("<person><name>Ann & Bo</name><age>5</age></person>", 0, 0),
        ("<a/><b/>", 0, 0),
        (BOMB, 0, 0),
        ('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r>&x;</r>', 0, 0),
        ('<!DOCTYPE r [<!ENTITY % p SYSTEM "http://example.com/x.dtd"> %p;]><r/>', 0, 0),
        ("<a>" * 100_00 + "</a>" * 100_00, 0, 0),
        ("no markup", 0, 0),
        ("1 < 2 and 3 > 2", 0, 0),
        ("", 0, 0),
    ],
)
def test_xml_is_well_formed_and_as_its_schema_says(text, plain, valid):
    assert (Xml()(text).status, Xml()(text).value) == ("ok", plain)
    assert (Xml(XSD)(text).status, Xml(XSD)(text).value) == ("ok", valid)


def test_the_root_can_be_asked_for_and_a_bad_schema_is_told():
    assert [Xml(root="b")(text).value for text in ("<b><a/></b>", "<a><b/></a>")] == [1, 0]
    for schema in ("<not-a-schema/>", "<broken", "/no/such/file.xsd"):
        with pytest.raises(UsageError):
            Xml(schema)


@pytest.mark.parametrize("verifier", [Yaml(), Toml(), Csv(), Xml()], ids=lambda v: v.name)
def test_work_on_hostile_texts_is_linear_up_to_the_cap(linear, verifier):
    units = ['"\\', "'''a", '""\\',
             "[", "{", "a: ", "- ", "? ", "&a *a ", "!", '"', "'", "a.a.", "[[a]]\n", "a=1\n", "<a>", "<a b=''", "&#1;",
             "<!--", ",", '"",', "a,b\n", "# ", "|\n ", "\x00", "\ud800", "\U0001f600"]  # fmt: skip
    for unit in units:
        statuses = []
        linear(lambda text, seen=statuses: seen.append(verifier(text).status), unit, most=verifier.max_chars // 4)
        assert set(statuses) == {"ok"}, unit
    assert verifier("x" * (verifier.max_chars + 1)).value == 0.0


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text("abc 1:-#'\"\n", max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(PLAIN)
def test_what_pyyaml_writes_is_yaml_with_the_value_it_was_written_from(value):
    text = yaml.safe_dump(value)
    assert Yaml({"const": value})(f"```yaml\n{text}\n```").value == 1.0


@given(st.text("ab=\"'[].\n #1", max_size=30))
def test_toml_is_what_tomllib_reads(text):
    try:
        tomllib.loads(text)
        right = bool(text.strip())
    except ValueError:
        right = False
    assert Toml()(text).value == right


@given(st.lists(st.lists(st.text('ab,"\n ', max_size=5), min_size=2, max_size=2), min_size=1, max_size=4))
def test_what_the_csv_module_writes_is_csv(rows):
    out = io.StringIO()
    peer_csv.writer(out, quoting=peer_csv.QUOTE_ALL).writerows([["x", "y"], *rows])
    schema = {"properties": {"x": {"enum": [row[0] for row in rows]}, "y": {"enum": [row[1] for row in rows]}}}
    assert Csv(json.loads(json.dumps(schema)), min_rows=len(rows), max_rows=len(rows))(out.getvalue()).value == 1.0
