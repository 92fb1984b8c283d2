"""Units that are repeated to a megabyte: each is what some pattern or scan would go over again and again."""

HOSTILE = [
    "a", " ", "\n", "9", "{", "}", "\\", "$", "-", "'", "\u0301", "İ", "٣",
    "\\boxed{", "\\boxed ", "\\boxed{}", "\\boxed{{}", "\\fbox   ", "{\\boxed{1}",
    "<answer>", "</answer>", "<answer></answer>", "<answer", "<think></think>",
    "answer is ", "answer is:\n", "the answer", "option is (", "Answer: [[", "A ", "(A)", "A.\n", "\\text{",
    "1,", "1,111,", "1.", "1e", "1e9", "1/2", "+1-", "99,999,9999",
    "```\n", "```json\n", "\n```", "``` ", '{"a":', "[1,", '"', '["aaaaaaaa",',
    "the ", "a an the ", "\u2028", "\r\n",
]  # fmt: skip
