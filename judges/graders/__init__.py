"""OpenAI's graders as verifiers: `openai_grader('grader.json')`, or only the file's name as a spec."""

from verikit.judges.graders.verifier import OpenAIGrader

__all__ = ["OpenAIGrader"]
