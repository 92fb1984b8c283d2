"""Modules that the bare tier loads before it forks: the standard modules that most programs import."""

import bisect
import collections
import functools
import heapq
import itertools
import json
import math
import random
import re
import string
import typing

__all__ = [
    "bisect", "collections", "functools", "heapq", "itertools", "json", "math", "random", "re", "string", "typing",
]  # fmt: skip
