"""Charts drawn by Pillow from a seed, with changes: what an agent may draw, rightly or wrongly."""

import io
import random
from dataclasses import dataclass, field

from PIL import Image, ImageDraw, ImageFont

WORDS = ("Sales", "Profit", "Cost", "Growth", "Units", "North", "South", "2021", "2022", "Total")
KINDS = ("bars", "line", "points")


@dataclass
class Chart:
    """Numbers, colours and texts of a chart of one of three kinds."""

    kind: str
    heights: list
    colours: list
    title: str
    labels: list
    ground: int = 255
    width: int = 640
    shift: tuple = (0, 0)
    extra: list = field(default_factory=list)

    def drawn(self):
        scale = self.width / 640
        picture = Image.new("RGB", (self.width, self.width * 3 // 4), (self.ground,) * 3)
        draw = ImageDraw.Draw(picture)
        font = ImageFont.load_default(int(14 * scale))
        thick = max(1, int(2 * scale))

        def at(x, y):
            return (x + self.shift[0]) * scale, (y + self.shift[1]) * scale

        draw.text(at(220, 20), self.title, fill=(0, 0, 0), font=font)
        draw.line([at(60, 60), at(60, 430), at(600, 430)], fill=(0, 0, 0), width=thick)
        step = 500 / len(self.heights)
        for number, (height, colour) in enumerate(zip(self.heights, self.colours, strict=True)):
            x, y = 70 + number * step, 430 - height
            if self.kind == "bars":
                draw.rectangle([at(x, y), at(x + 0.7 * step, 429)], fill=colour)
            elif self.kind == "points":
                draw.ellipse([at(x - 5, y - 5), at(x + 5, y + 5)], fill=colour)
            elif number:
                draw.line([at(x - step, 430 - self.heights[number - 1]), at(x, y)], fill=self.colours[0], width=thick)
            draw.text(at(x, 438), self.labels[number], fill=(0, 0, 0), font=font)
        return picture


def chart(seed):
    """A chart with three to eight numbers."""
    draw = random.Random(seed)
    count = draw.randint(3, 8)
    return Chart(
        draw.choice(KINDS),
        [draw.randint(30, 350) for _ in range(count)],
        [tuple(draw.randint(0, 200) for _ in range(3)) for _ in range(count)],
        f"{' '.join(draw.sample(WORDS, 3))} {draw.randint(100, 999)}",
        [str(draw.randint(10, 99)) for _ in range(count)],
    )


def stored(picture, form="PNG", **options):
    """The bytes of a picture's file."""
    file = io.BytesIO()
    picture.save(file, form, **options)
    return file.getvalue()
