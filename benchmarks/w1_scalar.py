"""(w x + b)^2 on Python floats, the value and its three gradients: what a call costs."""

import tapeless as tl


def square(w, x, b):
    return (w * x + b) ** 2


def peer_tapeless(d):
    f = tl.compile(tl.value_and_grad(square, wrt=(0, 1, 2)))
    w, x, b = d["w"], d["x"], d["b"]

    def step():
        value, gradients = f(w, x, b)
        return (value, *gradients)

    return step
