"""A PDF of one page from Graphviz's drawing operations (`-Tjson`), for a Graphviz that writes none itself.

The operations are those of the xdot format (graphviz.org/docs/outputs/canon/#xdot); fonts are Helvetica and,
for Greek, Symbol, which every PDF reader has. A character in neither becomes a question mark.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from typing import Any

MARGIN = 10.8
# An ellipse as four Bézier curves: control points lie this far along the tangents.
KAPPA = 0.5523
GREEK = dict(
    zip(
        "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        strict=True,
    )
)
FONTS = ("Helvetica", "Helvetica-Bold", "Symbol")


def pdf_from_json(text: bytes) -> bytes:
    """The page that the output of `dot -Tjson` describes."""
    graph = json.loads(text)
    left, bottom, right, top = (float(number) for number in graph["bb"].split(","))
    page = _Page()
    page.add(f"1 0 0 1 {MARGIN - left:.2f} {MARGIN - bottom:.2f} cm")
    for thing in _in_drawing_order(graph):
        page.add("q 1 w")
        page.bold = False
        for name in ("_draw_", "_ldraw_", "_hdraw_", "_tdraw_", "_hldraw_", "_tldraw_"):
            page.draw(thing.get(name, ()))
        page.add("Q")
    return page.document(right - left + 2 * MARGIN, top - bottom + 2 * MARGIN)


def _in_drawing_order(graph: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The page, clusters, edges, nodes: what comes later lies on top."""
    things = graph.get("objects", [])
    yield graph
    yield from (thing for thing in things if "bb" in thing)
    yield from graph.get("edges", [])
    yield from (thing for thing in things if "bb" not in thing)


class _Page:
    """The content of the page as it grows, and the state that text needs."""

    def __init__(self) -> None:
        self.content: list[str] = []
        self.opacities: dict[str, str] = {}
        self.size = 14.0
        self.bold = False
        self.colours = {"c": "#000000", "C": "#000000"}

    def add(self, line: str) -> None:
        self.content.append(line)

    def draw(self, operations: Any) -> None:
        for operation in operations:
            code = operation["op"]
            if code in "cC":
                self._colour(code, operation.get("color", "#000000"))
            elif code == "F":
                self.size = operation["size"]
            elif code == "t":
                self.bold = bool(operation["fontchar"] & 1)
            elif code == "S":
                self._style(operation["style"])
            elif code == "T":
                self._text(operation)
            else:
                self._shape(code, operation)

    def _colour(self, code: str, colour: str) -> None:
        self.colours[code] = colour
        red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
        self.add(f"{red:.3f} {green:.3f} {blue:.3f} {'RG' if code == 'c' else 'rg'}")
        opacity = int(colour[7:9], 16) / 255 if len(colour) == 9 else 1.0
        entry = f"/{'CA' if code == 'c' else 'ca'} {opacity:.3f}"
        self.add(f"/{self.opacities.setdefault(entry, f'G{len(self.opacities)}')} gs")

    def _style(self, style: str) -> None:
        width = re.fullmatch(r"setlinewidth\(([\d.]+)\)", style)
        if width:
            self.add(f"{width[1]} w")
        elif style in ("dashed", "dotted", "solid"):
            self.add({"dashed": "[5 3] 0 d", "dotted": "[1 3] 0 d", "solid": "[] 0 d"}[style])

    def _shape(self, code: str, operation: dict[str, Any]) -> None:
        if code in "Ee":
            points = _ellipse(*operation["rect"])
            curved = True
        else:
            points = operation["points"]
            curved = code in "Bb"
        (x, y), *rest = points
        path = [f"{x:.2f} {y:.2f} m"]
        step = 3 if curved else 1
        for at in range(0, len(rest), step):
            numbers = " ".join(f"{px:.2f} {py:.2f}" for px, py in rest[at : at + step])
            path.append(f"{numbers} {'c' if curved else 'l'}")
        closed = code in "PpEeB"
        filled = code in "PEB" and not self.colours["C"].endswith("00", 7)
        self.add(" ".join(path) + (" b" if filled else " s" if closed else " S"))

    def _text(self, operation: dict[str, Any]) -> None:
        """The text from its left end, in runs of one font."""
        x, y = operation["pt"]
        x -= {"l": 0.0, "c": 0.5, "r": 1.0}[operation["align"]] * operation["width"]
        red, green, blue = (int(self.colours["c"][at : at + 2], 16) / 255 for at in (1, 3, 5))
        self.opacities.setdefault("/ca 1.000", f"G{len(self.opacities)}")
        opaque = self.opacities["/ca 1.000"]
        pieces = [f"q /{opaque} gs {red:.3f} {green:.3f} {blue:.3f} rg BT {x:.2f} {y:.2f} Td"]
        for run in re.findall(rf"[{''.join(GREEK)}]+|[^{''.join(GREEK)}]+", operation["text"]):
            greek = run[0] in GREEK
            font = 2 if greek else int(self.bold)
            letters = "".join(GREEK[letter] for letter in run) if greek else run
            pieces.append(f"/F{font} {self.size:.1f} Tf <{letters.encode('cp1252', 'replace').hex()}> Tj")
        self.add(" ".join(pieces) + " ET Q")

    def document(self, width: float, height: float) -> bytes:
        """The file: catalogue, pages, one page, its content, fonts."""
        stream = zlib.compress("\n".join(self.content).encode("ascii"))
        fonts = " ".join(
            f"/F{number} << /Type /Font /Subtype /Type1 /BaseFont /{name}"
            + ("" if name == "Symbol" else " /Encoding /WinAnsiEncoding")
            + " >>"
            for number, name in enumerate(FONTS)
        )
        states = " ".join(f"/{name} << {entry} >>" for entry, name in self.opacities.items())
        objects = [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.2f} {height:.2f}] /Contents 4 0 R "
            f"/Resources << /Font << {fonts} >> /ExtGState << {states} >> >> >>".encode("ascii"),
            b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(stream), stream),
        ]
        return _file(objects)


def _ellipse(x: float, y: float, width: float, height: float) -> list[tuple[float, float]]:
    """Centre and half axes → a start and four curves."""
    a, b = width * KAPPA, height * KAPPA
    return [
        (x + width, y),
        *((x + width, y + b), (x + a, y + height), (x, y + height)),
        *((x - a, y + height), (x - width, y + b), (x - width, y)),
        *((x - width, y - b), (x - a, y - height), (x, y - height)),
        *((x + a, y - height), (x + width, y - b), (x + width, y)),
    ]


def _file(objects: list[bytes]) -> bytes:
    """Numbered objects with their table of positions."""
    data = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"
    positions = []
    for number, body in enumerate(objects, 1):
        positions.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(data)
    table = b"".join(b"%010d 00000 n \n" % position for position in positions)
    size = len(objects) + 1
    return (
        data
        + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
        % (
            size,
            table,
            size,
            start,
        )
    )
