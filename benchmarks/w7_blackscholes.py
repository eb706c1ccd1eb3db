"""The sum of a million Black-Scholes call prices and its gradient by spot, volatility and rate."""

import numpy as np
from scipy.special import erf

import tapeless as tl


def cdf(x):
    return 0.5 * (1 + erf(x * 0.5**0.5))


def total(spot, volatility, rate, strike, maturity):
    deviation = volatility * np.sqrt(maturity)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * maturity) / deviation
    return np.sum(spot * cdf(d1) - strike * np.exp(-rate * maturity) * cdf(d1 - deviation))


def peer_tapeless(d):
    f = tl.compile(tl.value_and_grad(total, wrt=(0, 1, 2)))

    def step():
        value, gradients = f(d["S"], d["vol"], d["rate"], d["K"], d["T"])
        return (value, *gradients)

    return step
