import pytest

from verikit.errors import UsageError
from verikit.verifiers.overlap.cover_em import CoverEM


@pytest.mark.parametrize(
    ("text", "gold", "words", "contiguous"),
    [
        ("born in Paris, France", "Paris", 1, 1),
        ("8 January 1891", "January 8, 1891", 1, 0),
        ("Titan IIIE/Centaur", "Titan IIIE", 1, 1),
        ("Parisian", "Paris", 0, 0),
        ("112", "12", 0, 0),
        ("", "Paris", 0, 0),
        ("anything", "the", 0, 0),
        ("the", "a", 1, 1),
    ],
)
def test_the_golds_words_occur_in_any_order_or_as_a_run(text, gold, words, contiguous):
    assert CoverEM()(text, gold).value == words
    assert CoverEM(variant="contiguous")(text, gold).value == contiguous


def test_an_unknown_variant_is_refused():
    with pytest.raises(UsageError):
        CoverEM(variant="substring")
