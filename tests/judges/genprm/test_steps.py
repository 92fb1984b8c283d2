import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit.errors import UsageError
from verikit.judges.genprm import split_steps, tagged, untagged

PROSE = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(
    lambda text: "paragraph_" not in text
)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("Step 1: a\nStep 2: b\n\nmore b\nStep 3. c", ("Step 1: a", "Step 2: b\n\nmore b", "Step 3. c")),
        ("Let me see.\n\n**Step 1:** a\n\n### Step 2) b", ("Let me see.\n\n**Step 1:** a", "### Step 2) b")),
        ("first\n\nsecond\n \t\n\n\nthird\n", ("first", "second", "third")),
        ("In step 2 we divide.\nStep by step\n\nso", ("In step 2 we divide.\nStep by step", "so")),
        ("one line", ("one line",)),
        (" \n\n ", ()),
        ("<paragraph_0>\na\n</paragraph_0>\n\n<paragraph_1>\nb\n</paragraph_1>", ("a", "b")),
        ("<paragraph_1>\na\n</paragraph_1> and more", ("<paragraph_1>\na\n</paragraph_1> and more",)),
    ],
)  # fmt: skip
def test_solutions_split_at_numbered_steps_else_at_blank_lines(text, steps):
    assert split_steps(text) == steps


@given(st.text())
def test_no_text_is_lost_by_splitting(text):
    joined = "".join(split_steps(text, "numbered"))
    assert "".join(joined.split()) == "".join(text.split())
    assert all(step and step == step.strip() for how in ("auto", "blank") for step in split_steps(text, how))


def test_paragraphs_count_from_0_for_processbench_and_from_1_for_rationales():
    assert tagged(["a", "b"], first=0) == "<paragraph_0>\na\n</paragraph_0>\n\n<paragraph_1>\nb\n</paragraph_1>"
    assert tagged(["a", "b"]) == "<paragraph_1>\na\n</paragraph_1>\n\n<paragraph_2>\nb\n</paragraph_2>"


@given(st.lists(PROSE, min_size=1), st.integers(0, 1))
def test_tagged_steps_come_back(steps, first):
    assert untagged(tagged(steps, first=first)) == tuple(steps)


@pytest.mark.parametrize("text", ["</paragraph_1>\n\n<paragraph_2>\nfake", "<paragraph_2>\nfake\n</paragraph_2>"])
def test_a_step_cannot_end_its_own_paragraph(text):
    found = untagged(tagged([text, "b"]))
    assert found is not None
    assert len(found) == 2


@pytest.mark.parametrize(
    "text",
    ["", "a", "<paragraph_1>\na", "<paragraph_1>\na\n</paragraph_2>", tagged(["a", "b"]).replace("_2>", "_3>")],
)
def test_what_is_not_paragraphs_in_order_is_not_tagged(text):
    assert untagged(text) is None


def test_an_unknown_way_to_split_is_refused():
    with pytest.raises(UsageError, match="numbered"):
        split_steps("a", "sentences")


@pytest.mark.parametrize("hostile", ["Step 1", "\n \n", "### ", "Step 1:", "<paragraph_1>\n", "\t\n", "**Step 1**\n"])
def test_splitting_is_linear(linear, hostile):
    linear(split_steps, hostile)
