//! Pure numerics on slices: ranking, Pareto smoothing, weights, discrepancies, sparse products
