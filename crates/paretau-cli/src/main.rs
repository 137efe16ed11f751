//! The command line of paretau
fn main() {}
