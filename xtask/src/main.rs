//! Developer commands: test, gen, layers, golden, bench
fn main() {}
