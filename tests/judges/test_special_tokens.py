"""No text that a judge is shown holds a special token of the judge's tokenizer."""

import random

import pytest

from tests.judges.scripted import Scripted
from verikit.judges import Pairwise, Pointwise
from verikit.judges.evidence.shown import visible
from verikit.judges.evidence.special_tokens import clearing, without_specials
from verikit.judges.graders import OpenAIGrader
from verikit.judges.pairwise import Pair
from verikit.types import Sample

PUBLIC = {
    "chatml, qwen": "<|im_start|> <|im_end|> <|endoftext|> <tool_call> </tool_call> <think> </think>",
    "llama": "<s> </s> <unk> [INST] [/INST] <<SYS>> <</SYS>> <|eot_id|> <|start_header_id|> <PRE> <EOT>",
    "mistral": "[TOOL_CALLS] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [SYSTEM_PROMPT] [IMG] [THINK] [/THINK]",
    "nemo": "<SPECIAL_12> [control_8] [PREFIX] [MIDDLE] [SUFFIX] [ARGS] [CALL_ID]",
    "gemma": "<bos> <eos> <pad> <mask> <start_of_turn> <end_of_turn> <unused0> [@BOS@] <start_of_image> <2mass>",
    "gemma 4": '<|turn> <turn|> <|channel> <channel|> <|tool_call> <|"|>',
    "deepseek": "<｜begin▁of▁sentence｜> <｜User｜> <｜Assistant｜> <｜tool▁calls▁begin｜> <｜fim▁hole｜>",
    "gpt-oss": "<|start|> <|channel|> <|message|> <|return|> <|call|>",
    "exaone": "[|system|] [|user|] [|assistant|] [|endofturn|] [BOS] [PAD]",
    "seed": "<seed:bos> <seed:eos> <seed:think> </seed:think> <seed:tool_call>",
    "minimax": "[e~[ ]~b] ]~!b[ ]<]image[>[ <minimax:tool_call>",
    "baichuan, internlm": "<reserved_106> <reserved_107> <eoh> <eoa> <TOKENS_UNUSED_1> [UNUSED_TOKEN_145] <ImageHere>",
    "glm, telechat": "[gMASK] [sMASK] <|user|> <|observation|> <arg_key> </arg_value> /nothink <_user> <_bot> <_end>",
    "bert, t5": "[CLS] [SEP] [MASK] [PAD] [UNK] <extra_id_0> <extra_id_99> <cls> <sep> <eod> <eop>",
    "code": "<fim_prefix> <fim-middle> <gh_stars> <jupyter_code> <empty_output> <commit_msg> <repo_name> <pr>",
    "vision": "<image> <img> </img> <video> <audio> <ref> <box> <quad> <fake_token_around_image> <row_1_col_2>",
    "falcon, olmo": ">>TITLE<< >>ANSWER<< |||EMAIL_ADDRESS||| |||IP_ADDRESS|||",
    "others": "◁think▷ ◁/think▷ <longcat_s> <role> </role> [START_REF] <work> <BOS_TOKEN> <0x0A> <special0>",
}
TOKENS = [token for line in PUBLIC.values() for token in line.split()]
HONEST = [
    "List<int> xs; Map<String, Integer> m; Vec<u8> b; Option<T>",
    "<div class='a'><p>x</p><br/></div><script>if (a < b && c > d) {}</script>",
    "a <b> c, if a<b or c|d, 1<2, x -> y, a <= b, <- << >>",
    "#include <vector>\n#include <stdio.h>\nstd::map<string, double> m;",
    "a[1] x[i] d['k'] [x] [TODO] [INT] [link](url) [[A]] [[10]] x[~mask]",
    "xs |> sum; f <| x; a <|> b; [|1; 2|]; |a|b|c| and | NAME | AGE |",
    "<https://example.org> <me@example.org> <!-- note --> $\\langle x \\rangle$ $<x>$",
    "日本語 ＡＢＣ ½ ﬁ «x» ⟨y⟩ 👩",
]


@pytest.mark.parametrize(
    "around", ["{}", "x{}y", "<{}>", "[{}]", "{}{}", "List{}", "```\n{}\n```", "\u200b{}\n", "|{}|"]
)
def test_no_special_token_of_a_public_tokenizer_is_left_whole(around):
    for token in TOKENS:
        text = around.replace("{}", token)
        assert token not in without_specials(text)
        assert token not in visible(text)
        assert token in visible(text).replace(" ", "")  # it can still be read


@pytest.mark.parametrize(
    "token", ["＜|im_end|＞", "＜think＞", "＜｜ｉｍ＿ｅｎｄ｜＞", "［ＩＮＳＴ］", "﹤seed:eos﹥", "<𝗍hink>"]
)
def test_look_alikes_that_a_tokenizer_may_normalise_to_a_token_are_broken_as_well(token):
    assert token not in without_specials(f"a {token} b")


@pytest.mark.parametrize("text", HONEST)
def test_code_markup_and_mathematics_stay_as_they_are(text):
    assert without_specials(text) == text
    assert visible(text) == text


def test_an_element_or_a_type_of_a_users_own_is_broken_visibly_and_the_judge_is_told():
    assert without_specials("<item>1</item>") == "< item>1< /item>"
    engine = Scripted(lambda _: "[[5]]")
    Pointwise(engine).score([Sample("q", "Array<Foo>"), Sample("q", "List<int>")])
    broken, whole = (request.prompt[-1]["content"] for request in engine.requests)
    assert "Array< Foo>\n⟨special tokens are shown with a space⟩\n</answer" in broken
    assert "⟨special" not in whole


def test_an_invisible_character_within_a_token_does_not_hide_it():
    assert "<think>" not in visible("<th\u200bink>")
    assert "<|im_end|>" not in visible("<|im\u2060_end|>")


def made(tokens, normalizer=""):
    """A tokenizer of transformers with these tokens added."""
    transformers, tokenizers = map(pytest.importorskip, ("transformers", "tokenizers"))
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[none]": 0}, unk_token="[none]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    if normalizer:
        tokenizer.normalizer = getattr(tokenizers.normalizers, normalizer)()
    tokenizer.add_tokens([tokenizers.AddedToken(token, normalized=bool(normalizer)) for token in tokens])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def force(tokenizer, text):
    """The added tokens that a tokenizer reads in a text."""
    ids = tokenizer(text, add_special_tokens=False).input_ids
    return {tokenizer.added_tokens_decoder[i].content for i in ids if i in tokenizer.added_tokens_decoder}


def test_of_a_known_tokenizer_its_own_tokens_are_broken_and_nothing_else():
    tokenizer = made(["<|mine|>", "%%turn%%", "<item>", "sys::end", "  ", "\n\n"])
    clear = clearing(tokenizer)
    assert clear("<div><think>[INST]<|im_end|>") == "<div><think>[INST]<|im_end|>"
    for token in ("<|mine|>", "%%turn%%", "<item>", "sys::end"):
        assert force(tokenizer, f"a{token}b") == {token}
        assert not force(tokenizer, clear(f"a{token}b{token}"))
    assert clear("a\n\nb  c") == "a\n\nb  c"


def test_of_a_known_tokenizer_tokens_are_broken_after_its_own_normalisation():
    tokenizer = made(["<think>"], "NFKC")
    assert force(tokenizer, "＜think＞")
    assert not force(tokenizer, clearing(tokenizer)("＜think＞ ＜ｔhink>"))


def test_judges_break_the_tokens_of_the_engine_that_they_ask():
    tokenizer, asked = made(["%%turn%%"]), []

    def reply(request):
        asked.append(request.prompt[-1]["content"])
        return "[[5]]" if "rated" in asked[-1] else '{"steps": [], "result": 1}' if "{" in asked[-1] else "[[A]]"

    def engine(known):
        scripted = Scripted(reply)
        scripted.tokenizer = known
        return scripted

    grader = {
        "type": "score_model", "model": "m", "range": [0, 1],
        "input": [{"role": "user", "content": "rate {{sample.output_text}}"}],
    }  # fmt: skip
    for known, broken, whole in ((tokenizer, "%%turn%%", "<think>"), (None, "<think>", "%%turn%%")):
        text = f"a {broken} {whole} b"
        Pointwise(engine(known)).score([Sample("q", text)])
        Pairwise(engine(known), order="fixed").compare([Pair(text, "c")])
        OpenAIGrader(grader, engine=engine(known), probe=0).score([Sample("q", text)])
        assert len(asked) >= 3
        for shown in asked:
            assert broken not in shown
            assert whole in shown
        asked.clear()


SHAPES = [
    "<|{}|>",
    "<{}>",
    "</{}>",
    "<｜{}｜>",
    "[|{}|]",
    "<seed:{}>",
    "<{}_7>",
    "<|{}>",
    "<{}|>",
    "＜{}＞",
    "[/{}]",
    "[{}_X]",
]


def test_search_no_token_of_a_tokens_shape_is_left_whole():
    """A standing search: made words in the shapes of tokens, nested, doubled and glued to their surroundings."""
    draw = random.Random(20263)
    for _ in range(4000):
        word = (
            "".join(draw.choice("abcdefghijklmnopqrstuvwxyz_") for _ in range(draw.randint(6, 14))).strip("_") or "turn"
        )
        shape = draw.choice(SHAPES)
        token = shape.format(word.upper() if shape[0] == "[" and "|" not in shape else word)
        glue = [
            draw.choice(
                ["", "<", "[", "|", ">", "x", " ", "\n", "\u200b", "<div>", TOKENS[draw.randrange(len(TOKENS))]]
            )
        ]
        text = "".join([*glue, token, draw.choice(["", token, ">", "]", "|>", "y", "\u00ad"])])
        assert token not in visible(text), (token, text)


def test_search_no_added_token_of_a_real_tokenizer_is_read_in_a_cleared_text():
    """A standing search: texts from pieces of tokens, read by a tokenizer that has all public tokens and more."""
    draw = random.Random(20264)
    own = [shape.format(word) for shape in SHAPES for word in ("mine", "End9", "a.b")] + [
        "%%x%%",
        "@@",
        "::turn::",
        "§END",
    ]
    tokenizer = made([*TOKENS, *own])
    clear = clearing(tokenizer)
    pieces = [*TOKENS, *own, "<", ">", "|", "[", "]", " ", "x", "＜", "\u200b", "</", "<|", "|>"]
    found = 0
    for _ in range(1500):
        text = "".join(draw.choice(pieces) for _ in range(draw.randint(1, 8)))
        found += bool(force(tokenizer, text))
        assert not force(tokenizer, visible(text, clear=clear)), text
    assert found > 500


@pytest.mark.real
@pytest.mark.parametrize("name", ["smollm2", "minilm"])
def test_no_added_token_of_a_pretrained_tokenizer_is_read_in_a_cleared_text(name):
    from tests.real import models as real

    transformers = pytest.importorskip("transformers")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(getattr(real, name)())
    except real.MissingModel as missing:
        pytest.skip(str(missing))
    draw = random.Random(20265)
    # BERT gives unknown characters its [UNK], which is no force of the text's.
    own = [t.content for t in tokenizer.added_tokens_decoder.values() if t.content != "[UNK]"]
    assert all(force(tokenizer, f"a {token} b") for token in own)
    pieces = [*own, "<", "|", "[", "x", " ", "＜", "im_end"]
    for clear in (clearing(tokenizer), without_specials):
        for _ in range(500):
            text = "".join(draw.choice(pieces) for _ in range(draw.randint(1, 8)))
            assert not force(tokenizer, visible(text, clear=clear)) & {*own}, text
