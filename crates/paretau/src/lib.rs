//! paretau: heterogeneous treatment effects with Pareto-smoothed weights.

pub mod model_file;
