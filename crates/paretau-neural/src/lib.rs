//! Neural estimators: layers with explicit backward, one training loop, presets

pub mod engine;
