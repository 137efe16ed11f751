//! Reads a whole file into a table, as `fit` does before it fits, and prints its size; `cargo xtask bench reading` times it.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;

use paretau_core::{Error, Result};
use paretau_data::{ReadOptions, read};

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).map(PathBuf::from);
    let path = path.ok_or_else(|| Error::unfit("name the file to read"))?;
    let table = read(&path, &ReadOptions::default())?;
    println!("{} rows of {} columns", table.n_rows(), table.columns().len());
    Ok(())
}
