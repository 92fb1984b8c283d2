from verikit.verifiers.overlap.exact import Exact


def test_exact_is_to_the_letter_unless_a_normaliser_is_named():
    assert Exact()(" Paris ", "Paris").value == 1.0
    assert Exact()("paris", "Paris").value == 0.0
    assert Exact("squad")("The PARIS!", "paris").value == 1.0
    assert Exact("squad").equal("The PARIS!", "paris")
    assert not Exact().equal("The PARIS!", "paris")


def test_what_is_compared_is_what_is_extracted():
    score = Exact(extract="boxed")(r"no, \boxed{4}, so \boxed{ 5 }", "5")
    assert (score.value, score.answer) == (1.0, "5")
    assert Exact(extract="answer_tag")("<answer>x</answer> y", "x").value == 1.0
    assert Exact(extract="last_line")("x\ny", "y").value == 1.0
