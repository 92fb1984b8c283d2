# Written by `python -m tests.stubs` from the entry points: don't edit.
from verikit.base import Verifier as Verifier
from verikit.base import verifier as verifier
from verikit.compose.choose import by as by
from verikit.compose.choose import first_of as first_of
from verikit.compose.choose import gate as gate
from verikit.compose.combine import all_of as all_of
from verikit.compose.combine import clip as clip
from verikit.compose.combine import majority as majority
from verikit.compose.combine import maximum as maximum
from verikit.compose.combine import mean as mean
from verikit.compose.combine import minimum as minimum
from verikit.compose.conversation import turns as turns
from verikit.compose.guards import cached as cached
from verikit.compose.guards import length_guard as length_guard
from verikit.compose.guards import with_timeout as with_timeout
from verikit.compose.second_opinion import rescue as rescue
from verikit.env.grading.harbor_tests import HarborTests as harbor_tests
from verikit.errors import VerikitError as VerikitError
from verikit.evals.call import evaluate as evaluate
from verikit.judges.cascade import cascade as cascade
from verikit.judges.genprm import Classifier as prm
from verikit.judges.genprm import GenPRM as genprm
from verikit.judges.genprm import StepColumn as step_column
from verikit.judges.graders import OpenAIGrader as openai_grader
from verikit.judges.jury import jury as jury
from verikit.judges.match.call import judge_answers as judge_answers
from verikit.judges.pairwise import Pairwise as pairwise
from verikit.judges.pointwise import Pointwise as judge
from verikit.judges.pointwise import Reference as reference_judge
from verikit.judges.rewards import RewardModel as rm
from verikit.judges.rubric import Rubric as rubric
from verikit.names.spec import load as load
from verikit.results.compare import compare as compare
from verikit.results.score import score as score
from verikit.trainers.call import train as train
from verikit.types import Gold as Gold
from verikit.types import Group as Group
from verikit.types import Message as Message
from verikit.types import PASS_MARK as PASS_MARK
from verikit.types import Prompt as Prompt
from verikit.types import Sample as Sample
from verikit.types import Score as Score
from verikit.types import Status as Status
from verikit.verifiers.answer import Answer as answer
from verikit.verifiers.answer import Math as math
from verikit.verifiers.boxed import Boxed as boxed
from verikit.verifiers.choice import Choice as choice
from verikit.verifiers.citations import Citations as citations
from verikit.verifiers.code import Code as code
from verikit.verifiers.column import Column as column
from verikit.verifiers.documents.csv import Csv as csv
from verikit.verifiers.documents.json_schema import JsonSchema as json_schema
from verikit.verifiers.documents.toml import Toml as toml
from verikit.verifiers.documents.xml import Xml as xml
from verikit.verifiers.documents.yaml import Yaml as yaml
from verikit.verifiers.docx import Docx as docx
from verikit.verifiers.echo import echo_guard as echo_guard
from verikit.verifiers.files import LeftFiles as files
from verikit.verifiers.html import Html as html
from verikit.verifiers.image import Image as image
from verikit.verifiers.instructions import Instructions as instructions
from verikit.verifiers.json_match import JsonMatch as json_match
from verikit.verifiers.numeric import Numeric as numeric
from verikit.verifiers.osworld import OSWorldChecks as osworld
from verikit.verifiers.overlap.cover_em import CoverEM as cover_em
from verikit.verifiers.overlap.exact import Exact as exact
from verikit.verifiers.overlap.f1 import F1 as f1
from verikit.verifiers.overlap.fuzzy import Fuzzy as fuzzy
from verikit.verifiers.overlap.rouge import Rouge as rouge
from verikit.verifiers.overlap.sacrebleu import Bleu as bleu
from verikit.verifiers.overlap.sacrebleu import Chrf as chrf
from verikit.verifiers.overlap.sacrebleu import Ter as ter
from verikit.verifiers.overlap.wer import Cer as cer
from verikit.verifiers.overlap.wer import Wer as wer
from verikit.verifiers.patch import Patch as patch
from verikit.verifiers.pdf import Pdf as pdf
from verikit.verifiers.pptx import Pptx as pptx
from verikit.verifiers.proposals.program import Program as program
from verikit.verifiers.reasoning_gym import ReasoningGym as reasoning_gym
from verikit.verifiers.regex import Regex as regex
from verikit.verifiers.search import SearchFormat as search_format
from verikit.verifiers.search import Searched as searched
from verikit.verifiers.service import Service as service
from verikit.verifiers.sql import SQL as sql
from verikit.verifiers.state import State as state
from verikit.verifiers.style.cosine_length import cosine_length as cosine_length
from verikit.verifiers.style.language import Language as language
from verikit.verifiers.style.length import Length as length
from verikit.verifiers.style.refusal import Refusal as refusal
from verikit.verifiers.style.repetition import Repetition as repetition
from verikit.verifiers.style.soft_overlong import SoftOverlong as soft_overlong
from verikit.verifiers.table import LeftTable as table
from verikit.verifiers.tags import Tags as tags
from verikit.verifiers.tools.bfcl_multi_turn import BfclMultiTurn as bfcl_multi_turn
from verikit.verifiers.tools.tool_calls import ToolCalls as tool_calls
from verikit.verifiers.tools.trajectory import Trajectory as trajectory
from verikit.verifiers.xlsx import Xlsx as xlsx

from verikit.base import score_all as score_all  # an old name, for one release

__version__: str
__all__ = [
    'Gold',
    'Group',
    'Message',
    'PASS_MARK',
    'Prompt',
    'Sample',
    'Score',
    'Status',
    'Verifier',
    'VerikitError',
    'all_of',
    'answer',
    'bfcl_multi_turn',
    'bleu',
    'boxed',
    'by',
    'cached',
    'cascade',
    'cer',
    'choice',
    'chrf',
    'citations',
    'clip',
    'code',
    'column',
    'compare',
    'cosine_length',
    'cover_em',
    'csv',
    'docx',
    'echo_guard',
    'evaluate',
    'exact',
    'f1',
    'files',
    'first_of',
    'fuzzy',
    'gate',
    'genprm',
    'harbor_tests',
    'html',
    'image',
    'instructions',
    'json_match',
    'json_schema',
    'judge',
    'judge_answers',
    'jury',
    'language',
    'length',
    'length_guard',
    'load',
    'majority',
    'math',
    'maximum',
    'mean',
    'minimum',
    'numeric',
    'openai_grader',
    'osworld',
    'pairwise',
    'patch',
    'pdf',
    'pptx',
    'prm',
    'program',
    'reasoning_gym',
    'reference_judge',
    'refusal',
    'regex',
    'repetition',
    'rescue',
    'rm',
    'rouge',
    'rubric',
    'score',
    'search_format',
    'searched',
    'service',
    'soft_overlong',
    'sql',
    'state',
    'step_column',
    'table',
    'tags',
    'ter',
    'toml',
    'tool_calls',
    'train',
    'trajectory',
    'turns',
    'verifier',
    'wer',
    'with_timeout',
    'xlsx',
    'xml',
    'yaml',
]
