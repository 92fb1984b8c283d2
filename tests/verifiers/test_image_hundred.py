"""A hundred drawn charts: the right picture has at least .9, a blank one and the one of another chart at most .1."""

import pytest

pytest.importorskip("numpy")
Picture = pytest.importorskip("PIL.Image")
from tests.artifacts.charts import chart  # noqa: E402  (it needs Pillow)
from tests.verifiers.test_image import alike  # noqa: E402


@pytest.mark.slow(seconds=60)
def test_a_hundred_charts_are_alike_themselves_and_neither_blank_pictures_nor_other_charts():
    blank = Picture.new("RGB", (640, 480), "white")
    for seed in range(1000, 1100):
        right = alike(chart(seed).drawn().resize((960, 720), Picture.Resampling.LANCZOS), seed)
        forged = [alike(picture, seed) for picture in (blank, chart(seed + 1).drawn())]
        assert right.value >= 0.9, (seed, right.reason)
        assert all(one.value <= 0.1 for one in forged), (seed, forged)
