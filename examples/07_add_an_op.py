"""Add a primitive: the Huber loss of a residual, with its derivative, as one node of the graph.

What an op means stands in one record. Its type rule says which operands it takes, `numpy` what it computes,
`vjp` how a cotangent passes back through it, by building nodes, so there is a second derivative too. The
samples are what the project's own tests would try it with.
"""

import numpy as np

import tapeless as tl
from tapeless import testing
from tapeless.compiler.ir import ArrayType, Flow, Kind, OpDef
from tapeless.compiler.ir.opdef import Sample, register
from tapeless.tracer.numpy_table.own import function_of


def huber_type(types, attrs):
    """The type of the residual, which must be a float array."""
    (residual,) = types
    if not isinstance(residual, ArrayType) or residual.dtype.kind != "f":
        HUBER.fail("C1", f"the residual is {residual}")
    return residual


def huber_value(residual, width=1.0):
    """Square near zero, straight beyond `width`."""
    size = np.abs(residual)
    return np.where(size <= width, residual**2 / 2, width * (size - width / 2))


def huber_vjp(b, node, ct):
    """The derivative is the residual, held between -width and width."""
    (residual,) = node.inputs
    width = node.attrs.get("width", 1.0)
    low, high = b.scalar(-width, residual), b.scalar(width, residual)
    return (b.multiply(ct, b.maximum(b.minimum(residual, high), low)),)


HUBER = register(
    OpDef(
        name="huber",
        doc="the Huber loss of each residual",
        kind=Kind.ELEMENTWISE,
        type_rule=huber_type,
        numpy=huber_value,
        vjp=huber_vjp,
        constraints=("C1: the residual is a float array",),
        samples=(Sample("vector", lambda rng: (rng.normal(size=5),)),),
        flow=Flow.BOUNDED,  # the derivative is finite whatever the residual
    )
)
huber = function_of(HUBER)  # on arrays it is NumPy, on traced values a node


def loss(w, x, y):
    """Return the mean Huber loss of a linear model."""
    return np.mean(huber(x @ w - y, width=0.5))


rng = np.random.default_rng(0)
x = rng.normal(size=(100, 2))
y = x @ [1.0, -2.0] + 0.01 * rng.normal(size=100)
y[::10] += 20  # outliers, which a Huber loss can live with
w = np.zeros(2)

testing.assert_same_values(loss, w, x, y, rtol=1e-15)
testing.check_grads(loss, (w, x, y), order=1)
both = tl.compile(tl.value_and_grad(loss))
print(both.graph(w, x, y))
for _ in range(300):
    value, gradient = both(w, x, y)
    w -= 0.5 * gradient
print(f"weights {w.round(2)}, loss {value:.3f}")
