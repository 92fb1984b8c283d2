"""Small corpora and encoders."""

import json
import random
import time
import zlib

import numpy as np

WORDS = [f"w{number}" for number in range(300)]


def write_corpus(path, count=400, seed=0):
    draw = random.Random(seed)
    with open(path, "w") as file:
        for number in range(count):
            row = {"title": f"t{number}", "text": " ".join(draw.choices(WORDS, k=draw.randint(3, 30)))}
            file.write(json.dumps(row) + "\n")
    return path


class Hashed:
    """Bags of hashed words, scaled: an encoder without a model. Counts what it is asked."""

    def __init__(self, dimension=32, dies_after=None):
        self.dimension, self.dies_after, self.passages = dimension, dies_after, 0

    def encode(self, texts, role):
        if role == "passage":
            self.passages += len(texts)
            if self.dies_after is not None and self.passages > self.dies_after:
                raise KeyboardInterrupt
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            for word in text.split():
                draw = np.random.default_rng(zlib.crc32(word.encode()))
                vectors[row] += draw.standard_normal(self.dimension, dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class Slow(Hashed):
    """Takes its time, so that a build can be killed amid it."""

    def encode(self, texts, role):
        if len(texts) > 1:
            time.sleep(0.5)
        return super().encode(texts, role)
