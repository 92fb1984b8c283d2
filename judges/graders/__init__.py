"""OpenAI's graders as verifiers: `openai_grader('grader.json')`, or the file's name alone as a spec."""

from verikit.judges.graders.verifier import OpenAIGrader

__all__ = ["OpenAIGrader"]
