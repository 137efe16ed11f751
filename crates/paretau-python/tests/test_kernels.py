"""Kernels against the formulas, written out in numpy and scipy."""

from __future__ import annotations

import threading

import numpy as np
import paretau
import pytest
from paretau import kernels
from scipy.optimize import isotonic_regression
from scipy.stats import genpareto, rankdata

RNG = np.random.default_rng(0)
WEIGHTS = 1.0 / RNG.uniform(0.01, 1.0, 400)


def projection(w, eps):
    """Soft ranks as a projection onto the permutahedron, by isotonic regression."""
    order = np.argsort(w, kind="stable")
    z = w[order] / eps
    out = np.empty_like(z)
    out[order] = z - isotonic_regression(z - np.arange(1, len(w) + 1)).x
    return out


def central(f, w, g, h=1e-6):
    """Gradient of `sum(g * f(w))` by central differences."""
    out = np.empty_like(w)
    for i in range(len(w)):
        step = h * max(1.0, abs(w[i]))
        up, down = w.copy(), w.copy()
        up[i] += step
        down[i] -= step
        out[i] = (g @ f(up) - g @ f(down)) / (2 * step)
    return out


@pytest.mark.parametrize("eps", [1e-3, 0.1, 1.0, 30.0])
def test_soft_ranks_are_the_projection(eps):
    w = RNG.normal(size=300)
    np.testing.assert_allclose(kernels.soft_rank(w, eps), projection(w, eps), rtol=1e-10, atol=1e-8)
    assert kernels.soft_rank(w, eps).sum() == pytest.approx(300 * 301 / 2)


def test_soft_ranks_become_hard_and_flat():
    w = RNG.normal(size=50)
    np.testing.assert_allclose(kernels.soft_rank(w, 1e-9), rankdata(w))
    np.testing.assert_allclose(kernels.soft_rank(w, 1e9), 25.5, rtol=1e-6)


@pytest.mark.parametrize("eps", [0.05, 1.0])
def test_soft_rank_gradient(eps):
    w, g = RNG.normal(size=40), RNG.normal(size=40)
    expected = central(lambda v: kernels.soft_rank(v, eps), w, g)
    np.testing.assert_allclose(kernels.soft_rank_vjp(w, eps, g), expected, rtol=1e-5, atol=1e-6)
    ranks, gradient = kernels.soft_rank_and_vjp(w, eps, g)
    np.testing.assert_array_equal(ranks, kernels.soft_rank(w, eps))
    np.testing.assert_array_equal(gradient, kernels.soft_rank_vjp(w, eps, g))


def test_hard_smoothing_puts_quantiles_of_the_fit_in_the_tail():
    n = len(WEIGHTS)
    m = int(np.ceil(min(n / 5, 3 * np.sqrt(n))))
    order = np.argsort(WEIGHTS)
    mu = WEIGHTS[order[n - m - 1]]
    sigma, xi = kernels.gpd_fit(WEIGHTS[order[n - m :]] - mu, method="pwm")
    expected = WEIGHTS.copy()
    expected[order[n - m :]] = mu + genpareto.ppf((np.arange(m) + 0.5) / m, xi, scale=sigma)
    np.testing.assert_allclose(kernels.pareto_smooth(WEIGHTS), expected, rtol=1e-9)


def test_moments_are_those_of_hosking_and_wallis():
    x = np.sort(genpareto.rvs(0.2, scale=2.0, size=5000, random_state=1))
    sigma, xi = kernels.gpd_fit(x)
    assert (sigma, xi) == (pytest.approx(2.0, abs=0.15), pytest.approx(0.2, abs=0.06))
    assert kernels.gpd_fit(RNG.permutation(x)) == (sigma, xi)
    sigma, xi = kernels.gpd_fit(x, method="zhang-stephens")
    assert (sigma, xi) == (pytest.approx(2.0, abs=0.15), pytest.approx(0.2, abs=0.06))


def test_smoothing_gradients():
    w, g = WEIGHTS[:60].copy(), RNG.normal(size=60)
    hard = central(kernels.pareto_smooth, w, g, 1e-7)
    np.testing.assert_allclose(kernels.pareto_smooth_vjp(w, g), hard, rtol=1e-4, atol=1e-5)
    for units, eps, kappa in (("scale-free", 0.5, 2.0), ("paper", 0.1, 1.0)):
        soft = central(lambda v: kernels.soft_pareto(v, eps, kappa, units=units), w, g, 1e-7)
        made = kernels.soft_pareto_vjp(w, eps, kappa, g, units=units)
        np.testing.assert_allclose(made, soft, rtol=1e-3, atol=1e-4)


def test_soft_smoothing_approaches_hard_smoothing():
    soft = kernels.soft_pareto(WEIGHTS, 1e-6, 1e6)
    np.testing.assert_allclose(soft, kernels.pareto_smooth(WEIGHTS), rtol=0.2)
    assert kernels.soft_pareto(WEIGHTS).max() < WEIGHTS.max() * 1.5


def test_psis_is_the_published_procedure():
    lw = np.log(WEIGHTS) + 3.0
    smoothed, k = kernels.psis(lw)
    assert np.exp(smoothed).sum() == pytest.approx(1.0)
    n = len(lw)
    m = int(np.ceil(min(n / 5, 3 * np.sqrt(n))))
    order = np.argsort(lw)
    peak = lw.max()
    cutoff = np.exp(lw[order[n - m - 1]] - peak)
    sigma, shape = kernels.gpd_fit(np.exp(lw[order[n - m :]] - peak) - cutoff, method="zhang-stephens")
    assert k == pytest.approx(shape)
    tail = np.log(cutoff + genpareto.ppf((np.arange(m) + 0.5) / m, k, scale=sigma))
    expected = lw - peak
    expected[order[n - m :]] = np.minimum(tail, 0.0)
    raw, again = kernels.psis(lw, normalize=False)
    assert again == k
    np.testing.assert_allclose(raw - peak, expected, rtol=1e-8, atol=1e-10)
    assert kernels.khat_threshold(100) == pytest.approx(0.5)
    assert kernels.khat_threshold(10**6) == 0.7


def test_effective_sample_size():
    assert kernels.ess(WEIGHTS) == pytest.approx(WEIGHTS.sum() ** 2 / (WEIGHTS**2).sum())
    assert kernels.ess(np.ones(9)) == pytest.approx(9)


def gram(x, y, sigma):
    return np.exp(-((x[:, None] - y[None]) ** 2).sum(-1) / (2 * sigma**2))


@pytest.mark.parametrize("k", [2, 40])
def test_discrepancy_is_its_formula(k):
    a, b, sigma = RNG.normal(size=(30, k)), RNG.normal(size=(20, k)) + 0.3, np.sqrt(k)
    aa, bb, ab = gram(a, a, sigma), gram(b, b, sigma), gram(a, b, sigma)
    biased = aa.mean() + bb.mean() - 2 * ab.mean()
    assert kernels.mmd_rbf(a, b, sigma) == pytest.approx(biased, rel=1e-9)
    off = lambda g: (g.sum() - len(g)) / (len(g) * (len(g) - 1))  # noqa: E731
    assert kernels.mmd_rbf(a, b, sigma, unbiased=True) == pytest.approx(off(aa) + off(bb) - 2 * ab.mean(), rel=1e-9)
    value, ga, gb = kernels.mmd_rbf_grad(a, b, sigma)
    assert value == pytest.approx(biased, rel=1e-9)
    step = np.zeros_like(a)
    step[3, 1] = 1e-5
    slope = (kernels.mmd_rbf(a + step, b, sigma) - kernels.mmd_rbf(a - step, b, sigma)) / 2e-5
    assert ga[3, 1] == pytest.approx(slope, rel=1e-4, abs=1e-9)
    assert (ga.shape, gb.shape) == (a.shape, b.shape)
    single = kernels.mmd_rbf_grad(a.astype(np.float32), b.astype(np.float32), sigma)
    assert single[1].dtype == np.float32
    assert single[0] == pytest.approx(biased, rel=1e-4)
    np.testing.assert_allclose(single[1], ga, atol=1e-5)


def test_the_median_distance_is_the_default_bandwidth():
    from scipy.spatial.distance import pdist

    a, b = RNG.normal(size=(40, 3)), RNG.normal(size=(50, 3))
    median = np.median(pdist(np.vstack([a, b])))
    assert kernels.mmd_rbf(a, b) == pytest.approx(kernels.mmd_rbf(a, b, median), rel=0.1)


def test_transport_approaches_the_assignment():
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    a, b = RNG.normal(size=(25, 2)), RNG.normal(size=(25, 2)) + 1.0
    for squared in (False, True):
        cost = cdist(a, b, "sqeuclidean" if squared else "euclidean")
        best = cost[linear_sum_assignment(cost)].mean()
        found = kernels.sinkhorn(a, b, 0.005, squared=squared, max_iterations=20_000, tolerance=1e-8)
        assert found == pytest.approx(best, rel=0.05)
    options = {"max_iterations": 5000, "tolerance": 1e-12}
    value, ga, _ = kernels.sinkhorn_grad(a, b, 0.2, **options)
    assert value == kernels.sinkhorn(a, b, 0.2, **options)
    step = np.zeros_like(a)
    step[4, 0] = 1e-5
    slope = (kernels.sinkhorn(a + step, b, 0.2, **options) - kernels.sinkhorn(a - step, b, 0.2, **options)) / 2e-5
    # The strength follows the mean cost, which the gradient holds fixed: hence the tolerance.
    assert ga[4, 0] == pytest.approx(slope, rel=0.2, abs=2e-3)


def test_anything_like_an_array_is_taken():
    expected = kernels.soft_rank(np.array([3.0, 1.0, 2.0]), 0.1)
    for form in ([3, 1, 2], (3.0, 1.0, 2.0), np.array([3, 1, 2], dtype=np.int8), np.array([3, 0, 1, 0, 2.0, 0])[::2]):
        np.testing.assert_array_equal(kernels.soft_rank(form, 0.1), expected)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: kernels.soft_rank([], 1.0), paretau.DataError, "empty"),
        (lambda: kernels.soft_rank([1.0, np.nan], 1.0), paretau.DataError, r"w\[1\] is NaN"),
        (lambda: kernels.soft_rank([1.0], -1.0), paretau.UsageError, "eps"),
        (lambda: kernels.soft_rank([[1.0]], 1.0), paretau.DataError, "one dimension"),
        (lambda: kernels.soft_rank_vjp([1.0, 2.0], 1.0, [1.0]), paretau.DataError, "length"),
        (lambda: kernels.pareto_smooth([1.0, -1.0]), paretau.DataError, "positive"),
        (lambda: kernels.soft_pareto([1.0, 2.0], units="metres"), paretau.UsageError, "units"),
        (lambda: kernels.gpd_fit([1.0, 2.0, 3.0], "mle"), paretau.UsageError, "zhang-stephens"),
        (lambda: kernels.gpd_fit(np.zeros(20)), paretau.DataError, "cannot be fitted"),
        (lambda: kernels.mmd_rbf([[1.0]], [[1.0, 2.0]]), paretau.DataError, "1 columns, b has 2"),
        (lambda: kernels.mmd_rbf([1.0], [[1.0]]), paretau.DataError, "two dimensions"),
        (lambda: kernels.mmd_rbf([[1.0]], [[2.0]], -1.0), paretau.UsageError, "bandwidth"),
        (lambda: kernels.sinkhorn([[1.0]], [[2.0]], 0.0), paretau.UsageError, "0"),
        (lambda: kernels.ess([-1.0]), paretau.DataError, "from 0 up"),
        (lambda: kernels.psis([1.0, np.inf]), paretau.DataError, "inf"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_kernels_run_beside_each_other():
    w = RNG.normal(size=200_000)
    expected = kernels.soft_rank(w, 1.0)
    found: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: found.append(kernels.soft_rank(w, 1.0))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(f, expected) for f in found)
