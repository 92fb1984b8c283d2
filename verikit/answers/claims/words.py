"""The roles of words of several languages in sentences that assert, deny, doubt or choose a value."""

from __future__ import annotations

_ROLES = {
    "answer": """answer answers ans ответом ответа đáp réponses respuestas respostas risposte antworten réponse
        respuesta resposta risposta antwort antwoord ответ cevap jawaban svar odpowiedź उत्तर जवाब
        الجواب الإجابة 答案 答え 解答 正解 정답 답""",
    "option": """option options lettera letra buchstabe choice choices letter selection solution statement one
        opción opcion opção alternativa opzione choix lettre lösung auswahl wahl вариант विकल्प seçenek
        الخيار 选项 選項 選択肢 项 項""",
    "is": """is are was were be 's been being equals est sont soit ist sind sei lautet es son sea è é são sera será seja
        है हैं هي هو : = — – 是 为 為 は が である です является là だ 은 는 입니다""",
    "choose": """choose chose chosen choosing select selected selecting pick picked picking go going opt left leaves
        wähle nehme choisis elijo escojo escolho scelgo выбираю 选择 選択 选 選""",
    "right": """correct правильным doğru đúng right best richtig richtige richtigen korrekt korrekte correcte
        juste bonne correcta correcto correta correto corretta corretto giusta giusto правильный
        правильная верный верна верно правильно सही الصحيحة 正确 正確 正しい 맞""",
    "wrong": """wrong incorrect false invalid untrue fails fail failed eliminated excluded rejected impossible ruled
        reject rejects disproved doubt doubts deny denies denied mistake mistaken unlikely disagree disagrees refute
        contrary tempting falsch falsche faux fausse incorrecte incorrecta incorrecto errada errado incorreta sbagliata
        sbagliato falso falsa неверно неверный неправильный गलत 错误 错 錯""",
    "not": """not n't never cannot cant neither nor none nobody no hardly
        nicht kein keine keiner keinen weder pas jamais non não nunca ni geen niet
        ne не нет नहीं ليس ليست değil 不是 不 非 没 沒 ではない ではありません じゃない 아니 아닙""",
    "out": "out off raus",
    "refuse": "refuse refuses refused refusing decline declines declined avoid avoids avoided hesitate",
    "except": """unlike except excluding besides außer sauf excepto eccetto
        tranne 除了""",
    "bound": "least most between than differs different close near",
    "but": "but sondern mais sino bensì mas ma aber however а но 而是 但",
    "and": "and & und et y e и و और 和 及 与 と 、",
    "or": "or oder ou или या أو / 或者 或",
    "if": """if unless whether suppose supposing assuming assume imagine pretend wenn falls ob si если यदि अगर إذا
        如果 假如 若""",
    "se": "se",
    "maybe": "maybe perhaps possibly alternatively vielleicht peut-être quizás quizá talvez forse 可能 也许",
    "might": "might could may",
    "would": "would wäre wären serait seraient sería serían seria seriam sarebbe sarebbero zou zouden",
    "so": """so ∴ よって したがって 따라서 therefore thus hence then donc alors ainsi daher somit folglich also entonces
        quindi dunque portanto tanto logo então поэтому इसलिए अतः لذلك 因此 所以 故 应该 应 應該""",
    "because": """because rather instead since as while whereas though although given due weil denn da car parce
        puisque porque ya perché poiché pois потому क्योंकि लेकिन لأن 因为 因為 now""",
    "it": "it this それ これ",
    "think": """think believe thinks believes expect conclude accept agree sure certain convinced
        follow know see mean means imply implies show shows prove proves
        glaube denke finde crois pense creo pienso acho credo penso думаю считаю 认为""",
    "remains": "remains",
    "thought": "thought believed guessed",
    "case": "true case possible way chance wahr vrai cierto verdad vero verdade 可能性",
    "say": """say says said claim claims claimed suggest suggests suggested argue argues argued state states stated
        guess guesses propose proposes proposed insists insist wrote writes behauptet sagt dit dice zegt говорит
        diz 说""",
    "they": """you one someone somebody people students others user student friend friends colleague many man on tu
        vous usted você 你 freund freundin ami amie amigo amiga amico amica vriend vriendin друг подруга 朋友""",
    "that": "that dass que che чтобы что how why",
    "all": "all everything anything any each every everyone both",
    "does": "does do did can will has have had doesn don didn isn won ca ai",
    "sure": """definitely certainly clearly surely simply just indeed probably likely exactly precisely equal exactement
        exactamente genau égale igual gleich follows""",
    "filler": """l án the a an my our your final must should to only either actually i'd we le
        la les el los die der das il lo un une um uma por 即 的 with for by i""",
    "after": """which according based from in at here alone too again above below when where who whose these
        its of what""",
}  # fmt: skip
ROLES: dict[str, str] = {word: role for role, words in _ROLES.items() for word in words.split()}
"""The role of each word. A word shared by languages has the last role listed."""
UNSPACED = sorted((word for word in ROLES if ord(word[0]) > 0x2E7F or word == "、"), key=len, reverse=True)
"""Words of scripts without spaces between words, longest first."""
WHOSE = frozenset(
    "your his her their student's dein deine ihr ihre votre ton su tu suo tuo seu вашего ваш твой".split()
)
EARLIER = frozenset(
    "first initial previous original earlier erste ursprüngliche première primera prima primeira".split()
)
GETS = frozenset("get got say find found have obtain think choose".split())
"""Verbs that "I" or "we" use with an answer of their own."""
CHOOSES = frozenset("choose pick guess say give answer decide estimate select name commit".split())
"""Verbs by which one commits to an answer: "if I had to guess", "I would not hesitate to say"."""
SUBJECTS = frozenset(
    """it this that these those they he she es das dies c ce ça cela ceci il eso esto ello questo quello ciò isso isto
    het dat dit это 它 这 那 這 他 她 それ これ""".split()
)
"""Pronouns that refer to what is asked, as in "It's 5."."""
_SUPPOSED = frozenset("soit sea seja sei be were being です が は".split())
"""Words with the role of "is" that suppose a value ("let it be 5") or follow what they are about."""
COPULAS = frozenset("re d ll sono zijn это будет будут".split()) | {
    word
    for word, role in ROLES.items()
    if word == "'s" or (role in ("is", "would") and word.isalpha() and word not in _SUPPOSED)
}
"""Verbs between such a pronoun and its value, with the rests of "they're", "it'd" and "it'll"."""
PROPERTIES = frozenset(
    """positive negative nonnegative non-negative nonzero non-zero even odd integer whole rational real finite large
    small big huge tiny round simple nice neat surprising interesting""".split()
)
"""Words that describe a number and do not name it. `predicates.applies` knows those that may not apply to a number."""
PRONOUNS = frozenset("they he she".split())
"""Words before "answer" that make it another person's or an abandoned one."""
_REACHING_ROLES = frozenset("not wrong refuse except bound thought if maybe might they but".split())
REACHING = frozenset(word for word, role in ROLES.items() if role in _REACHING_ROLES) | {"rather", "instead", "t"}
"""If none of these precede a value, nothing is said of it there. "t" is the rest of "isn't"."""
_SAYING_ROLES = frozenset("not wrong refuse except bound thought if maybe might they or would but out".split())
SAYING = frozenset(word for word, role in ROLES.items() if role in _SAYING_ROLES) | {
    "too", "rather", "instead", "t", "opposite", "negation", *WHOSE, *EARLIER, *PRONOUNS
}  # fmt: skip
"""A sentence without any of these asserts all its values. "t" is the rest of "isn't" without punctuation."""
