"""Prompts of the three ways to answer, all with the same answer tags. The first two are R1-Searcher's (at 631167c)."""

from __future__ import annotations

from verikit.types import Message

_FORMAT = (
    "The output format of reasoning process and final answer are enclosed within <think> </think> and"
    ' <answer> </answer> tags, respectively, i.e., "<think> reasoning process here </think>'
    '<answer> final answer here </answer>".'
)
_SEARCH = (
    ' with the format of "<|begin_of_query|> search query (only keywords) here <|end_of_query|>".'
    " A query must involve only a single triple.\n"
    'Then, the search system will provide {whom} with helpful information with the format of "<|begin_of_documents|>'
    ' ...search results... <|end_of_documents|>".\n'
)
_BASE = (
    "The User asks a question, and the Assistant solves it.\nThe Assistant first thinks about the reasoning process in"
    " the mind and then provides the User with the final answer.\n"
    + _FORMAT
    + "\nDuring the thinking process, the Assistant"
    " can perform searching for uncertain knowledge if necessary" + _SEARCH.replace("{whom}", "the Assistant")
)
_INSTRUCT = (
    "You are a helpful assistant. Given a question, you should answer it by first thinking about the reasoning process"
    f" in the mind and then providing the final answer.\n{_FORMAT}\nYou should perform thinking with decomposing,"
    " reflecting, brainstorming, verifying, refining, and revising. Besides, you can perform searching for uncertain"
    " knowledge if necessary" + _SEARCH.replace("{whom}", "you")
)
_SHORT = "Answer the question in a few words, between <answer> and </answer>, and write nothing else."


def search_prompt(question: str) -> str:
    """Return the prompt for base models, which opens the thinking."""
    return f"{_BASE}\nUser: {question}\nAssistant: <think>"


def search_messages(question: str) -> list[Message]:
    """Return the conversation for instruction-tuned models."""
    return [Message(role="system", content=_INSTRUCT), Message(role="user", content=question)]


def rag_prompt(question: str, evidence: str) -> str:
    """Return the prompt that contains the evidence."""
    return f"{_SHORT} The documents may help.\n\n{evidence}\n\nQuestion: {question}\nAnswer:"


def closed_prompt(question: str) -> str:
    """Return the prompt without evidence."""
    return f"{_SHORT}\n\nQuestion: {question}\nAnswer:"
