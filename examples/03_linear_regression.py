"""Linear regression by gradient descent: y = x - 1, with inputs and outputs scaled to [0, 1].

The line through the scaled points is known beforehand, so the result can be checked: x - 1 over x in
[0, 10] becomes slope 1 and intercept -1 / 10 once both are divided by 10.
"""

import numpy as np

import tapeless as tl

EPOCHS, RATE, SCALE = 50, 0.7, 10.0

x = np.arange(0.0, SCALE + 1)
inputs, targets = x / SCALE, (x - 1) / SCALE


def loss(slope, intercept, x, y):
    """Return the mean squared error of the line."""
    return np.mean((slope * x + intercept - y) ** 2)


@tl.compile
def epoch(slope, intercept, x, y):
    """Return the loss, and slope and intercept one step down the gradient: Python floats, as they came."""
    value, grads = tl.value_and_grad(loss, wrt=("slope", "intercept"))(slope, intercept, x, y)
    return value, slope - RATE * grads[0], intercept - RATE * grads[1]


slope, intercept = 0.0, 0.0
for number in range(1, EPOCHS + 1):
    value, slope, intercept = epoch(slope, intercept, inputs, targets)
    if number % 10 == 0:
        print(f"epoch {number}: loss {value:.6f}, y = {slope:.3f} x {intercept:+.3f}")

assert epoch.stats.traces == 1, "new values of the floats need no new trace"
print(f"expected:             y = 1.000 x {-1 / SCALE:+.3f}")
