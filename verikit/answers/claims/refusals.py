"""Replies that end by calling their answer wrong: "It's 5. No, that's wrong.", "答案是5。不，这是错的。".

Only a sentence right after the answer counts, and only one of a few fixed forms in ten languages. A remark, a doubt or
an admitted mistake refuses nothing.
"""

from __future__ import annotations

import re

from verikit.answers.claims.tokens import tokens

MAX_END = 300
"""Number of characters at the end of a reply that are read."""
_FORMS = (
    r"(?:no|wait|sorry|hmm?,?\sno)(?:,|…|\.{3})?\s(?:that|this|it)(?:['’]s|\sis)\s(?:wrong|incorrect|not\s(?:right|correct))",
    r"(?:no|wait|sorry|hmm?,?\sno)(?:,|…|\.{3})?\s(?:that|this|it)\sisn['’]t\s(?:right|correct)",
    r"nein,\sdas\s(?:stimmt\snicht|ist\s(?:falsch|nicht\s(?:richtig|korrekt)))",
    r"non,\sc(?:['’]est\s(?:faux|incorrect)|e\sn['’]est\spas\s(?:juste|correct))",
    r"no,\s(?:es[ot]\s)?(?:es\s(?:falso|incorrecto)|está\smal|no\s(?:es\scorrecto|está\sbien))",
    r"no,\s(?:questo\s)?(?:non\sè\s(?:corretto|giusto)|è\s(?:sbagliato|errato))",
    r"não,\sis[st]o\s(?:está\s(?:errado|incorreto)|não\sestá\s(?:certo|correto))",
    r"nee,\sdat\s(?:klopt\sniet|is\s(?:fout|verkeerd|onjuist|niet\s(?:juist|correct)))",
    r"нет,\sэто\s(?:неверно|неправильно|не\sтак)",
    r"(?:いいえ|いや)、?(?:それは|これは)?(?:間違い(?:です)?|間違っています|誤りです|違います|正しくありません)",
    r"不对?[，,](?:这|那)(?:不对|不正确|是?错的|是错误的)",
)
"""A word that refuses, and a statement that "it" is wrong. Without its comma, "No está mal" is praise."""
_REFUSALS = re.compile(rf"[.!…。！\n][*$)\]\\]{{0,4}}\s*(?:(?:{'|'.join(_FORMS)})(?:[.!。！]\s*|\Z))+\Z", re.IGNORECASE)
_LAST_WORDS = (
    "wrong", "incorrect", "right", "correct", "nicht", "falsch", "richtig", "korrekt", "faux", "juste", "falso", "mal",
    "incorrecto", "correcto", "bien", "corretto", "giusto", "sbagliato", "errato", "errado", "incorreto", "certo",
    "correto", "niet", "fout", "verkeerd", "onjuist", "juist", "неверно", "неправильно", "так", "間違い", "です",
    "ます", "ません", "不对", "不正确", "错的", "错误的",
)  # fmt: skip
"""Every refusal ends in one of these, which is a cheap test."""
_BREAK = re.compile(r"[.!?;…。！？；\n](?!\d)")
_UNCLEAR = frozenset(("but", "they", "say", "think", "if", "or", "because", "thought", "maybe", "might", "comma"))
"""Roles of words that make an answer's sentence say more than one thing, so that "that" may be another of them."""
_JUDGED = re.compile(
    r"wrong|error|errone|mistake|incorrect|false|falsch|fehler|faux|erreur|erróne|equivoc|sbagli|errat|errad|erro\b"
    r"|\bfout|onjuist|неверн|неправ|ошиб|間違|誤|错|錯|不对"
    r"|\b(?:right|correct|true|richtig|stimmt|vrai|juste|verdad|vero|giusto|certo|juist|верно)\b[^.?？\n]{0,20}[?？]",
    re.IGNORECASE,
)
"""Words by which a question is about right or wrong, so that "No, that's wrong" may answer it."""
_JUDGEMENTS = frozenset(("not", "wrong", "right", "case"))
_YES_OR_NO = frozenset(
    "yes no ja nein oui non si sí sì sim não nee да нет はい いいえ いや 是 否 对 不 有 没有 没".split()
)


def is_refused(text: str, start: int, gold: str, question: str) -> bool:
    """Whether a reply calls its answer wrong right after the sentence with it, and says nothing else.

    Args:
        text: The reply.
        start: The start of its answer.
        gold: The gold answer. If it is a yes or no, an option letter or about right and wrong, nothing is refused.
        question: The question. If it is about right and wrong, nothing is refused.
    """
    refusals = _REFUSALS.search(text, max(start, len(text) - MAX_END))
    if refusals is None or _BREAK.search(text, start, refusals.start()):
        return False
    said = text[start : refusals.start()]
    is_clear = " (" not in said and _UNCLEAR.isdisjoint(token.role for token in tokens(said))
    return is_clear and not _may_be_judged(gold, question)


def may_be_refused(text: str) -> bool:
    """A cheap test whether a reply's last word is one that ends a refusal."""
    return text[-60:].rstrip(" .!。！\n").lower().endswith(_LAST_WORDS)


def _may_be_judged(gold: str, question: str) -> bool:
    """Whether "No, that's wrong" may be a part of the right answer."""
    if _JUDGED.search(gold) or _JUDGED.search(question):
        return True
    words = tokens(gold)
    is_letters = all(len(word.text) == 1 and word.text.isascii() and word.text.isalpha() for word in words)
    return is_letters or any(word.role in _JUDGEMENTS or word.text in _YES_OR_NO for word in words)
