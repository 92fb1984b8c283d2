"""The words by which sentences of several languages choose or reject an option, by the part they play."""

from __future__ import annotations

_ROLES = {
    "answer": """answer answers ans ответом ответа đáp réponses respuestas respostas risposte antworten réponse
        respuesta resposta risposta antwort antwoord ответ cevap jawaban svar odpowiedź उत्तर जवाब
        الجواب الإجابة 答案 答え 解答 正解 정답 답""",
    "option": """option options lettera letra buchstabe choice choices letter selection solution statement one
        opción opcion opção alternativa opzione choix lettre lösung auswahl wahl вариант विकल्प seçenek
        الخيار 选项 選項 選択肢 项 項""",
    "is": """is are was were be 's been being equals est sont ist sind lautet es son é è são sera será है हैं هي
        هو : = — – 是 为 為 は が である です является là だ 은 는 입니다""",
    "choose": """choose chose chosen choosing select selected selecting pick picked picking go going opt wähle
        nehme choisis elijo escojo escolho scelgo выбираю 选择 選択 选 選""",
    "right": """correct правильным doğru đúng right best richtig richtige richtigen korrekt korrekte correcte
        juste bonne correcta correcto correta correto corretta corretto giusta giusto правильный
        правильная верный верна верно правильно सही الصحيحة 正确 正確 正しい 맞""",
    "wrong": """wrong incorrect false invalid untrue fails fail failed eliminated excluded rejected impossible
        doubt deny mistake unlikely disagree falsch falsche faux fausse incorrecte incorrecta incorrecto
        errada errado incorreta sbagliata неверно неверный неправильный गलत 错误 错 錯 不对""",
    "not": """not n't never cannot cant neither nor none nobody no refuse
        refuses refused refusing decline declines declined avoid avoids avoided hesitate
        nicht kein keine weder pas non não nunca ni
        ne не нет नहीं ليس ليست değil 不是 不 非 没 아니 아닙""",
    "except": "except excluding without besides außer sauf excepto eccetto tranne",
    "but": "but sondern mais sino bensì mas aber however а но 而是 但",
    "and": "and & und et y e и और و 和 及 与 と 、",
    "or": "or oder ou или या أو / 或者 或",
    "if": "if unless whether suppose supposing assuming assume wenn falls ob si se если यदि अगर إذا 如果 假如 若",
    "maybe": "maybe perhaps possibly might could may vielleicht quizás quizá talvez forse 可能 也许",
    "so": """so ∴ よって したがって 따라서 therefore thus hence then donc alors ainsi daher somit folglich entonces
        quindi dunque portanto logo então поэтому इसलिए अतः لذلك 因此 所以 故 应该 应 應該""",
    "because": """because rather instead since as while whereas though although given due weil denn da car parce
        puisque porque ya perché poiché pois потому क्योंकि लेकिन لأن 因为 因為""",
    "it": "it",
    "filler": """l án the a an my our your final clearly likely probably definitely certainly simply just indeed
        must should would have to most only both either actually think believe that this i'd we also le
        la les el los die der das il lo un une um uma tanto por lo 即 的 with for by""",
    "after": """which based according from in on at here alone too again above below when where who whose these
        its than of""",
}  # fmt: skip
ROLES: dict[str, str] = {word: role for role, words in _ROLES.items() for word in words.split()}
"""The part a word plays; a word that languages share plays the last part listed."""
UNSPACED = sorted((word for word in ROLES if ord(word[0]) > 0x2E7F or word == "、"), key=len, reverse=True)
"""Words of scripts that are written without spaces, longest first."""
