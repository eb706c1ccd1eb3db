"""A single neuron with a sigmoid, trained on three examples by the gradient of the mean squared error."""

import numpy as np

import tapeless as tl


def train_neuron(features, labels, weights, bias, rate, epochs):
    """Return weights, bias and the loss of every epoch, rounded to four places."""

    def loss(weights, bias):
        predictions = 1 / (1 + np.exp(-(features @ weights + bias)))
        return np.mean((predictions - labels) ** 2)

    @tl.compile
    def step(weights, bias):
        value, (d_weights, d_bias) = tl.value_and_grad(loss, wrt=(0, 1))(weights, bias)
        weights -= rate * d_weights
        return value, bias - rate * d_bias

    losses = []
    for _ in range(epochs):
        value, bias = step(weights, bias)
        losses.append(round(float(value), 4))
    return weights.round(4), round(float(bias), 4), losses


weights, bias, losses = train_neuron(
    features=np.array([[1.0, 2.0], [2.0, 1.0], [-1.0, -2.0]]),
    labels=np.array([1.0, 0.0, 0.0]),
    weights=np.array([0.1, -0.2]),
    bias=0.0,
    rate=0.1,
    epochs=2,
)
print("weights", weights)
print("bias   ", bias)
print("losses ", losses)
