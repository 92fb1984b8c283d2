import threading

import pytest

import verikit
from verikit.errors import UsageError
from verikit.verifiers.style.language import Language

langdetect = pytest.importorskip("langdetect")

TEXTS = {
    "en": "The weather is very nice today, so we will all go to the park with our friends.",
    "de": "Das Wetter ist heute sehr schön, deshalb gehen wir alle mit unseren Freunden in den Park.",
    "fr": "Il fait très beau aujourd'hui, alors nous irons tous au parc avec nos amis.",
    "es": "Hoy hace muy buen tiempo, así que iremos todos al parque con nuestros amigos.",
    "ru": "Сегодня очень хорошая погода, поэтому мы все пойдём в парк с друзьями.",
    "ja": "今日はとても天気が良いので、みんなで友達と公園に行きます。",
    "zh-cn": "今天天气很好，所以我们都要和朋友一起去公园。",
    "hi": "आज मौसम बहुत अच्छा है, इसलिए हम सब अपने दोस्तों के साथ पार्क जाएंगे।",
}


@pytest.mark.parametrize("code", TEXTS)
def test_a_text_is_in_its_language_and_in_no_other(code):
    for other in TEXTS:
        assert Language(other)(TEXTS[code]).value == (other == code)
    assert verikit.language()(TEXTS[code], language=code).value == 1.0
    assert Language("zh")(TEXTS[code]).value == (code == "zh-cn")


def test_the_share_of_a_language_counts_where_two_are_mixed():
    mixed = TEXTS["en"] + " " + TEXTS["ru"] * 2
    assert Language("ru", at_least=0.9)(mixed).value + Language("en", at_least=0.9)(mixed).value <= 1


def test_figures_are_in_no_language_and_a_row_without_a_language_is_unscored():
    for text in ("12345 + 678", "", "!!!", "\ud800"):
        assert (Language("en")(text).status, Language("en")(text).value) == ("ok", 0.0)
    assert Language()("text").status == "error"
    assert Language()("text", language="xx").status == "error"
    with pytest.raises(UsageError, match="unknown language"):
        Language("klingon")


def test_the_same_text_gets_the_same_verdict_from_every_thread_and_every_time():
    verdicts = []

    def judge():
        verdicts.append([Language(code)("Bonjour, my friend, wie geht es dir heute?").reason for code in ("en", "de")])

    threads = [threading.Thread(target=judge) for _ in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len({str(verdict) for verdict in verdicts}) == 1
