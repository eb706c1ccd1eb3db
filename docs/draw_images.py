"""Makes the pictures of the documentation anew: `python docs/draw_images.py`.

The Python blocks of README.md run as one file, and the training step they define is drawn. The program of
graphviz-pure draws it (`pip install 'tapeless[draw]'`), since its bytes are the same on every machine.
"""

import contextlib
import re
import runpy
import tempfile
from pathlib import Path

from tapeless.compiler.draw import dot_source, output_names
from tapeless.compiler.drawing.render import render_with, wheel_program

HERE = Path(__file__).resolve().parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def pictures() -> dict[str, str]:
    """The DOT text of each picture under its file's name."""
    blocks = BLOCK.findall((HERE.parent / "README.md").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "train.py")
        file.write_text("\n".join(blocks), encoding="utf-8")
        with contextlib.chdir(folder):
            names = runpy.run_path(str(file))
        step, arguments = names["train_step"], (names["params"], names["x"], names["y"])
        plan = step.plan(*arguments)
        return {
            "train_step": dot_source(step.graph(*arguments), outputs=output_names(plan)),
            "train_step_plan": dot_source(plan),
        }


def without_tooltips(svg: str) -> str:
    """A picture on a page shows no tooltips, and they are half of the file."""
    svg = re.sub(r"<!--.*?-->\n", "", svg, flags=re.DOTALL)
    return re.sub(r'<g id="a_[^>]*><a [^>]*>\n(.*?)</a>\n</g>\n', r"\1", svg, flags=re.DOTALL)


def main() -> None:
    program = wheel_program()
    if program is None:
        raise SystemExit("graphviz-pure is not installed: pip install 'tapeless[draw]'")
    folder = HERE / "images"
    folder.mkdir(exist_ok=True)
    for name, source in pictures().items():
        path = folder / f"{name}.svg"
        svg = render_with(program, source, "svg").decode("utf-8")
        path.write_text(without_tooltips(svg), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
