"""The look of all pictures: one palette, one set of fonts, one shape a role.

Blue, vermilion and green stay apart for colour-blind eyes (after Okabe and Ito, 2008), and each role also has
a shape. Fills are light under dark text and lines are of middle tones, so that a picture without a background
reads on white and on black.
"""

from __future__ import annotations

from .parts import Part
from .scene import Role

FONT = "Arial"
TEXT = "#1f2933"
QUIET = "#5f6b76"
LINE = "#7b8794"
PAPER = "#ffffff"

# (fill, line) of the nodes of each part; the cluster around them has the line's colour, faint.
PART_COLOURS = {
    Part.FORWARD: ("#e3eefa", "#2f6db3"),
    Part.BACKWARD: ("#fdebdd", "#c4601c"),
    Part.UPDATE: ("#def2ea", "#0b805d"),
}

LEAF_STYLES = {
    Role.INPUT: {"shape": "cds", "fillcolor": "#eceff3", "color": "#5f6b76"},
    Role.PARAMETER: {"shape": "cylinder", "fillcolor": "#fbf3d3", "color": "#96760a"},
    Role.CONSTANT: {"shape": "note", "fillcolor": "#f5f6f8", "color": "#8a95a1"},
    Role.OUTPUT: {"shape": "ellipse", "fillcolor": "#33404f", "color": "#8a95a1", "fontcolor": PAPER},
}

GRAPH = {
    "fontname": FONT,
    "fontsize": "12",
    "nodesep": "0.22",
    "ranksep": "0.3",
    "pad": "0.15",
}
NODE = {
    "fontname": FONT,
    "fontsize": "11",
    "fontcolor": TEXT,
    "shape": "box",
    "style": "rounded,filled",
    "height": "0.3",
    "margin": "0.09,0.04",
    "penwidth": "1",
}
EDGE = {
    "color": LINE,
    "fontname": FONT,
    "fontsize": "8",
    "fontcolor": QUIET,
    "arrowsize": "0.55",
    "labelangle": "-18",
    "labeldistance": "1.8",
}


def faint(colour: str, opacity: float) -> str:
    """The colour with an opacity between 0 and 1."""
    return f"{colour}{round(opacity * 255):02x}"
