//! Heterogeneous treatment effects with Pareto-smoothed weights: the registry, model files, experiments
