"""Each published form becomes rows that its verifier reads: the gold scores 1, a near miss 0."""

import base64
import json
import zlib

import pytest
from click.testing import CliRunner

from tests.convert.forms import PARAGRAPHS, ROWS, STDIN, packed
from verikit.cli import cli
from verikit.convert import FORMS
from verikit.convert.parts import LeftOut
from verikit.errors import SchemaError
from verikit.readers import read
from verikit.scoring.chunk import SCORES
from verikit.verifiers.code.packed import unpacked


def run(*args):
    return CliRunner().invoke(cli, list(map(str, args)), standalone_mode=False)


def converted(tmp_path, form, *rows, **options):
    (tmp_path / "source.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    flags = [f"--{key.replace('_', '-')}={value}" for key, value in options.items()]
    done = run("data", form, tmp_path / "source.jsonl", "-o", tmp_path / "rows.jsonl", *flags)
    assert done.exception is None, done.exception
    return [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()], done


def make(form, row):
    return list(FORMS[form].make(row))


@pytest.mark.parametrize("name", ROWS)
def test_the_gold_scores_1_and_a_near_miss_0(name, tmp_path):
    source, right, wrong, verifier = ROWS[name]
    if verifier == "bfcl_multi_turn":
        pytest.importorskip("bfcl_eval", reason="pip install --no-deps bfcl-eval mpmath")
    ((row,), done) = converted(tmp_path, name.partition(" ")[0], source)
    assert done.return_value == 0
    scored = tmp_path / "scored.jsonl"
    scored.write_text(json.dumps(row | {"completions": [right, wrong]}) + "\n", "utf-8")
    done = run("score", scored, "-v", verifier, "-o", tmp_path / "run", "-q")
    assert done.exception is None, done.exception
    scores = [json.loads(line) for line in (tmp_path / "run" / SCORES).read_text("utf-8").splitlines()]
    assert [(score["value"], score["status"]) for score in scores] == [(1.0, "ok"), (0.0, "ok")], scores


def test_every_form_has_a_row_here_or_a_test_of_its_own():
    assert set(FORMS) - {name.partition(" ")[0] for name in ROWS} == {
        *("ultrafeedback", "ultrafeedback-pairs", "qa-passages", "dpr", "kilt", "documents", "healthbench"),
        *("spreadsheetbench", "osworld", "gdpval"),
    }


def test_latex_goes_through_as_it_stands(tmp_path):
    problem, answer = 'Let $\\frac{\\theta}{\\nabla}\\beta\\b\\f\\"$.', "\\frac{\\sqrt{2}}{\\pi}"
    ((row,), _) = converted(tmp_path, "math", {"problem": problem, "answer": answer})
    assert (row["prompt"], row["answer"]) == (problem, answer)


@pytest.mark.parametrize("broken", ["\x0crac{1}{2}", "$\x08egin{x}", "\x0bec v"])
def test_latex_that_was_unescaped_once_too_often_is_told(broken):
    with pytest.raises(SchemaError, match="the rest of a LaTeX command") as told:
        make("math", {"problem": "p", "answer": broken})
    assert told.value.field == "answer"
    with pytest.raises(SchemaError, match="LaTeX"):
        make("verl", {"prompt": "p", "reward_model": {"ground_truth": broken}})


@pytest.mark.parametrize(
    ("form", "change", "reason"),
    [
        ("numinamath", {"answer": "proof"}, "proof"),
        ("numinamath", {"answer": "notfound"}, "notfound"),
        ("numinamath", {"question_type": "proof"}, "proof"),
        ("numinamath", {"question_type": "MCQ"}, "multiple choice"),
        ("numinamath", {"problem_is_valid": "Incomplete"}, "problem_is_valid"),
        ("numinamath", {"answer": None, "solution": "obvious"}, "no box"),
        ("musique", {"answerable": False}, "not answerable"),
        ("hotpotqa", {"answer": None}, "no answer"),
        ("apps", {"input_output": ""}, "no tests"),
        ("apps", {"input_output": '{"inputs": [], "outputs": []}'}, "no tests"),
        ("code-contests", {"public_tests": {"input": [], "output": []}, "generated_tests": {}}, "no tests"),
        ("code-contests", {"input_file": "in.txt"}, "named file"),
    ],
)
def test_rows_that_the_form_calls_unusable_are_left_out(form, change, reason):
    source = ROWS["numinamath (1.5)" if form == "numinamath" else form][0]
    with pytest.raises(LeftOut, match=reason):
        make(form, source | change)


@pytest.mark.parametrize(
    ("form", "change", "field", "problem"),
    [
        ("gsm8k", {"answer": "it is 5"}, "answer", "####"),
        ("gsm8k", {"question": 5}, "question", "must be a string, got a number"),
        ("gsm8k", {"question": None}, "question", "is empty"),
        ("math", {"solution": "no box"}, "solution", "boxed"),
        ("math", {"solution": ""}, "answer", "is missing"),
        ("numinamath (1.5)", {"answer": {}}, "answer", "must be a string"),
        ("verl (DAPO)", {"reward_model": None}, "reward_model", "is empty"),
        ("verl (DAPO)", {"reward_model": {"style": "rule"}}, "reward_model.ground_truth", "is missing"),
        ("verl (DAPO)", {"prompt": [{"role": "user"}]}, "prompt", "must be a string or messages"),
        ("hotpotqa", {"question": " "}, "question", "is empty"),
        ("2wiki", {"supporting_facts": "{"}, "supporting_facts", "not JSON"),
        ("musique", {"paragraphs": [3]}, "paragraphs", "list of objects"),
        ("livecodebench", {"private_test_cases": "AAAA"}, "private_test_cases", "packed"),
        ("livecodebench", {"public_test_cases": '[{"input": "x"}]'}, "public_test_cases", "can't be read"),
        ("apps", {"input_output": '{"inputs": ["1"], "outputs": []}'}, "input_output", "one length"),
        ("code-contests", {"public_tests": {"input": ["1"], "output": []}}, "public_tests", "one length"),
        ("ifeval", {"instruction_id_list": ["no:such", "y"]}, "instruction_id_list", "no:such"),
        ("ifeval", {"kwargs": [{}]}, "instruction_id_list", "kwargs"),
        ("ifeval", {"kwargs": 3}, "instruction_id_list", "kwargs"),
        ("hotpotqa", {"supporting_facts": {"title": 5}}, "supporting_facts", "must be a list or an object"),
        ("bfcl", {"ground_truth": None}, "ground_truth", "expected calls not found"),
        (
            "bfcl",
            {"question": [[{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}]]},
            "question",
            "turn",
        ),
        ("bfcl (multi-turn)", {"ground_truth": None}, "ground_truth", "is empty"),
        ("bfcl (multi-turn)", {"ground_truth": [["cd('sub')"]]}, "question", "1 turns"),
        ("bfcl (multi-turn)", {"initial_config": "{"}, "initial_config", "not an object"),
        ("bfcl (multi-turn)", {"involved_classes": "x"}, "involved_classes", "not a list"),
    ],
)
def test_a_bad_row_is_told_with_its_field(form, change, field, problem):
    with pytest.raises(SchemaError, match=problem) as told:
        make(form.partition(" ")[0], ROWS[form][0] | change)
    assert told.value.field == field


def test_packed_tests_that_are_no_text_are_never_run():
    call = base64.b64encode(zlib.compress(b"cbuiltins\nexit\n(tR.")).decode()
    with pytest.raises(SchemaError, match="packed tests contain"):
        make("livecodebench", ROWS["livecodebench"][0] | {"private_test_cases": call})


def test_private_tests_are_unpacked_unless_the_row_would_be_too_long_to_read(monkeypatch):
    source = ROWS["livecodebench"][0] | {"private_test_cases": packed(STDIN * 50)}
    (row,) = make("livecodebench", source)
    assert row["private_test_cases"] == STDIN * 50
    monkeypatch.setattr("verikit.convert.programs.MAX_UNPACKED", 100)
    (row,) = make("livecodebench", source)
    assert json.loads(unpacked(row["private_test_cases"])) == STDIN * 50


def test_gold_titles_are_those_of_the_supporting_facts_once_each():
    titles = {name: make(name.partition(" ")[0], row[0])[0].get("gold_titles") for name, row in ROWS.items()}
    assert titles["hotpotqa"] == ["Arthur's Magazine", "First for Women"]
    assert titles["hotpotqa (hub)"] == titles["musique"] == titles["musique (FlashRAG)"] == ["A", "B"]
    assert titles["2wiki"] == ["Polish-Russian War"]
    assert titles["2wiki (texts of JSON)"] == titles["2wiki (objects)"] == ["P"]
    (row,) = make("musique", ROWS["musique"][0])
    assert row["answer"] == ["Rome", "Roma", "Rome, Italy"]
    assert row["source"] == "musique"


def test_passages_of_questions_are_written_once_with_sentences_parted(tmp_path):
    names = ["hotpotqa", "hotpotqa (hub)", "2wiki", "2wiki (texts of JSON)", "2wiki (objects)", "musique"]
    rows, done = converted(tmp_path, "qa-passages", *(ROWS[name][0] for name in names), ROWS["musique"][0])
    assert [(row["title"], row["text"]) for row in rows] == [
        ("Arthur's Magazine", "Arthur's Magazine was a periodical. It ended in 1846."),
        ("Radio City", "Radio City is a station."),
        ("A", "One. Two."),
        ("B", "Three."),
        ("Polish-Russian War", "It is a film. It was directed."),
        ("Maheen Khan", "She designs."),
        ("P", "One. Two."),
        ("P", "One."),
        *((item["title"], item["paragraph_text"]) for item in PARAGRAPHS),
    ]
    assert len({row["id"] for row in rows}) == len(rows)
    assert "3 repeated" in done.stderr


def test_dpr_tables_and_flashrag_rows_become_passages(tmp_path):
    table = 'id\ttext\ttitle\n1\t"Aaron is a ""prophet"" \\frac, high priest"\tAaron\n2\tplain text\t"Aaron, B"\n'
    (tmp_path / "psgs_w100.tsv").write_text(table)
    assert run("data", "dpr", tmp_path / "psgs_w100.tsv", "-o", tmp_path / "out.jsonl").exception is None
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert rows == [
        {"id": "1", "title": "Aaron", "text": 'Aaron is a "prophet" \\frac, high priest'},
        {"id": "2", "title": "Aaron, B", "text": "plain text"},
    ]
    assert make("dpr", {"id": 0, "contents": '"Aaron"\nbrother of Moses'}) == [
        {"id": "0", "title": "Aaron", "text": "brother of Moses"}
    ]


def test_kilt_pages_lose_their_marks_and_the_title_that_begins_them(tmp_path):
    page = {
        "_id": "290",
        "wikipedia_id": "290",
        "wikipedia_title": "Anarchism",
        "text": ["Anarchism\n", "It is a philosophy.\n", "Section::::History.\n", "BULLET::::- one\n", " \n"],
        "anchors": [],
        "categories": "A,B",
    }
    expected = {"id": "290", "title": "Anarchism", "text": "It is a philosophy.\nHistory.\none"}
    assert converted(tmp_path, "kilt", page)[0] == [expected]
    hub = {"kilt_id": "290", "wikipedia_title": "Anarchism", "text": {"paragraph": page["text"]}}
    assert make("kilt", hub) == [expected]


def test_documents_keep_their_text_title_and_address(tmp_path):
    dclm = {
        "bff_contained_ngram_count_before_dedupe": 20,
        "language_id_whole_page_fasttext": {"en": 0.94},
        "metadata": {"WARC-Record-ID": "<urn:uuid:1>", "Content-Length": "61769"},
        "previous_word_count": 500,
        "text": "A page with $\\frac12$.",
        "url": "http://example.org/",
        "warcinfo": "robots: classic",
    }
    nemotron = {"warc_record_id": "w1", "url": "http://example.com/", "text": "Another."}
    assert converted(tmp_path, "documents", dclm, nemotron)[0] == [
        {"id": "<urn:uuid:1>", "url": "http://example.org/", "text": "A page with $\\frac12$."},
        {"id": "w1", "url": "http://example.com/", "text": "Another."},
    ]


BINARIZED = {
    "prompt": "Say hello.",
    "prompt_id": "abc",
    "chosen": [{"content": "Say hello.", "role": "user"}, {"content": "Hello!", "role": "assistant"}],
    "rejected": [{"content": "Say hello.", "role": "user"}, {"content": "No.", "role": "assistant"}],
    "messages": [{"content": "Say hello.", "role": "user"}, {"content": "Hello!", "role": "assistant"}],
    "score_chosen": 8.5,
    "score_rejected": 3.0,
}
PLAIN = {
    "source": "evol_instruct",
    "instruction": "Say hello.",
    "models": ["a", "b"],
    "completions": [
        {"model": "a", "response": "No.", "overall_score": 3.0},
        {"model": "b", "response": "Hello!", "overall_score": 8.5},
        {"model": "c", "response": "Hi", "overall_score": 7},
    ],
    "correct_answers": ["None"],
}


@pytest.mark.parametrize("source", [BINARIZED, PLAIN])
def test_ultrafeedback_becomes_prompts_and_pairs(source, tmp_path):
    ((row,), _) = converted(tmp_path, "ultrafeedback", source)
    assert row["prompt"] == "Say hello."
    assert not {"chosen", "rejected", "completions", "messages"} & row.keys()
    ((row,), _) = converted(tmp_path, "ultrafeedback-pairs", source)
    assert (row["completions"], row["labels"]) == (["Hello!", "No."], [1, 0])
    done = run("score", tmp_path / "rows.jsonl", "-v", "column('labels')", "-o", tmp_path / "run", "-q")
    scores = [json.loads(line) for line in (tmp_path / "run" / SCORES).read_text().splitlines()]
    assert [score["value"] for score in scores] == [1.0, 0.0], done.stderr


def test_ties_make_no_pair():
    for change in ({"score_rejected": 8.5}, {"rejected": BINARIZED["chosen"]}):
        with pytest.raises(LeftOut):
            make("ultrafeedback-pairs", BINARIZED | change)
    with pytest.raises(LeftOut):
        make("ultrafeedback-pairs", PLAIN | {"completions": PLAIN["completions"][:1]})


def test_healthbench_rows_are_read_by_the_rubric_judge(tmp_path):
    from verikit.judges.rubric.read import in_row

    source = {
        "prompt": [{"role": "user", "content": "My head aches."}],
        "prompt_id": "p1",
        "rubrics": [
            {"criterion": "Asks how long.", "points": 5, "tags": ["level:example", "axis:accuracy"]},
            {"criterion": "Prescribes.", "points": -9, "tags": ["axis:accuracy"]},
        ],
        "example_tags": ["theme:context_seeking"],
        "ideal_completions_data": {"ideal_completion": "How long?", "ideal_completions_ref_completions": ["a"]},
        "canary": "healthbench:…",
    }
    ((row,), _) = converted(tmp_path, "healthbench", source)
    assert (row["id"], row["prompt"]) == ("p1", source["prompt"])
    assert "ideal_completions_data" not in row
    scored = tmp_path / "scored.jsonl"
    scored.write_text(json.dumps(row | {"completion": "How long?"}) + "\n")
    (group,) = read(scored)
    assert [item.points for item in in_row(group.meta).items] == [5, -9]
    with pytest.raises(SchemaError, match="not a number"):
        make("healthbench", source | {"rubrics": [{"criterion": "x", "points": "5"}]})
    with pytest.raises(SchemaError, match="positive"):
        make("healthbench", source | {"rubrics": [{"criterion": "x", "points": -5}]})


def test_multi_turn_rows_of_bfcl_keep_all_turns_and_a_missed_function():
    source = ROWS["bfcl (multi-turn)"][0] | {"id": "multi_turn_miss_func_7", "missed_function": {"1": ["cd"]}}
    source |= {"question": [source["question"][0], []]}
    (row,) = make("bfcl", source)
    assert row["prompt"] == source["question"][0]
    assert row["turns"] == source["question"]
    assert (row["category"], row["missed_function"]) == ("multi_turn_miss_func", {"1": ["cd"]})


def test_bfcl_golds_come_from_the_folder_beside(tmp_path):
    name = "BFCL_v4_simple_python.json"
    source = {key: value for key, value in ROWS["bfcl"][0].items() if key != "ground_truth"}
    (tmp_path / name).write_text(json.dumps(source) + "\n" + json.dumps(source | {"id": "simple_python_1"}) + "\n")
    (tmp_path / "possible_answer").mkdir()
    golds = [{"id": f"simple_python_{n}", "ground_truth": [{"pay": {"sum": [3 + n]}}]} for n in (0, 1)]
    (tmp_path / "possible_answer" / name).write_text("\n".join(map(json.dumps, golds)))
    assert run("data", "bfcl", tmp_path / name, "-o", tmp_path / "out.jsonl").exception is None
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["calls"] for row in rows] == [gold["ground_truth"] for gold in golds]
    assert rows[0]["category"] == "simple_python"
