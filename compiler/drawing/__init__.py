"""How pictures are made: what is shown (scene), how repeats collapse, how it looks, who renders it.

Read `scene.py`, then `collapse.py`, `graph_dot.py` and `render.py`. The public face is `compiler/draw.py`.
"""
