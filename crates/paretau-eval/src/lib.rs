//! Metrics and diagnostics of effects: PEHE, scores without truth, overlap, balance
