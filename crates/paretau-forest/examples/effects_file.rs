//! The error of a causal forest on a file, for comparisons with other forests: the parent process writes the rows and
//! reads the effects.
//!
//! `effects_file ESTIMATOR PARAMETERS FOLDER...`: parameters are a JSON object; a folder holds the files `train` and
//! `test` (rows of f64: features, treatment, outcome, effect; the effect only scores) and `meta.json`, whose `levels`
//! give each feature's number of levels, 0 for numbers. Prints a line per folder: its name, the root mean squared
//! error of the effects in the test rows, and the out-of-bag loss.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;

use paretau_core::{
    Column, ColumnKind, Dense, Design, EstimatorEntry, Features, FitContext, Params, Result, Seed, Toolbox,
};
use paretau_forest::{CAUSAL_FOREST, CAUSAL_FOREST_DML, FOREST};
use paretau_learners::RIDGE;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let tools = Toolbox { bases: &[&FOREST, &RIDGE] };
    let entry: &dyn EstimatorEntry = if args[0] == "causal-forest" { &CAUSAL_FOREST } else { &CAUSAL_FOREST_DML };
    let params = Params(serde_json::from_str(&args[1]).expect("a JSON object"));
    let estimator = entry.build(&params, &tools)?;
    for folder in &args[2..] {
        let folder = Path::new(folder);
        let meta: serde_json::Value =
            serde_json::from_slice(&std::fs::read(folder.join("meta.json")).unwrap()).unwrap();
        let levels: Vec<u64> = meta["levels"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect();
        let mut columns = Column::numbered(levels.len());
        for (column, &n) in columns.iter_mut().zip(&levels) {
            if n > 0 {
                column.kind = ColumnKind::Categorical { levels: n as u32 };
            }
        }
        let (x, t, y, _) = read(&folder.join("train"), levels.len());
        let (x_test, _, _, tau) = read(&folder.join("test"), levels.len());
        let design = Design::new(x, t, y)?.named(columns)?;
        let model = estimator.fit(&design, &FitContext::silent(Seed(0)))?;
        let effects = model.effects(&x_test)?;
        let squares: f64 = effects.tau.iter().zip(&tau).map(|(a, b)| (a - b).powi(2)).sum();
        let name = folder.file_name().unwrap().to_string_lossy();
        println!("{name} {:.5} {:.6}", (squares / tau.len() as f64).sqrt(), model.diagnostics().numbers["oob_r_loss"]);
    }
    Ok(())
}

fn read(path: &Path, p: usize) -> (Features, Vec<u8>, Vec<f64>, Vec<f64>) {
    let bytes = std::fs::read(path).expect("a file that can be read");
    let all: Vec<f64> = bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
    let rows = || all.chunks_exact(p + 3);
    let x = rows().flat_map(|row| row[..p].to_vec()).collect();
    let column = |k: usize| rows().map(|row| row[p + k]).collect::<Vec<f64>>();
    let t = column(0).iter().map(|&t| t as u8).collect();
    (Features::Dense(Dense::new(rows().len(), p, x).unwrap()), t, column(1), column(2))
}
