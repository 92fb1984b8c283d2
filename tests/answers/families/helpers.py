"""What the generator tests share: every notation of a value matches every other, every notation of another does not."""

from verikit.answers import verify


def assert_same(notations, question=""):
    """Each text is right for each gold, bare and in a box."""
    for gold in notations:
        for answer in notations:
            for text in (answer, rf"so it is \boxed{{{answer}}}"):
                verdict = verify(text, gold, question=question)
                assert verdict.equal, f"gold {gold!r} refuses {text!r}: {verdict.rule}"


def assert_different(notations, others, question=""):
    """None of the others is right for any of the golds, bare, boxed or stated."""
    for gold in notations:
        for answer in others:
            for text in (answer, rf"\boxed{{{answer}}}", f"The answer is {answer}."):
                verdict = verify(text, gold, question=question)
                assert not verdict.equal, f"gold {gold!r} accepts {text!r}: {verdict.rule}"


def assert_boxed(golds, answers):
    """Each answer in a box is right for each gold."""
    for gold in golds:
        for answer in answers:
            assert verify(rf"\boxed{{{answer}}}", gold).equal, (gold, answer)
