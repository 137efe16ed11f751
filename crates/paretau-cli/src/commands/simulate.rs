//! `paretau simulate`: seeded data with a known truth.

use anyhow::Result;
use paretau::data::{simulator, write_table};
use paretau::{Params, Seed};
use serde_json::json;

use crate::args::{Common, SimulateArgs};
use crate::out_path;
use crate::output::{self, JsonRows};

pub(crate) fn run(args: &SimulateArgs, common: &Common) -> Result<()> {
    out_path::check("out", &args.out, out_path::Kind::Table, &[], args.force.into())?;
    let simulator = simulator(&args.process)?;
    let mut params = Params::none();
    if let Some(n) = args.n {
        params = params.with("n", n);
    }
    if let Some(d) = args.d {
        params = params.with("d", d);
    }
    if let Some(noise) = args.noise {
        params = params.with("noise", noise);
    }
    for (key, value) in super::data::pairs(&args.set)? {
        params = params.with(key, value);
    }
    let made = (simulator.run)(&params, Seed(common.seed))?;
    let (n, d) = (made.x.n_rows(), made.x.n_cols());
    if args.out.as_os_str() == "-" && common.json {
        let mut out = JsonRows::start("data")?;
        out.batch(&made.table()?.densified()?)?;
        return out.finish(&[("process", json!(simulator.name)), ("rows", json!(n)), ("features", json!(d))]);
    }
    write_table(&args.out, &made.table()?)?;
    if args.out.as_os_str() == "-" {
        return Ok(());
    }
    if common.json {
        return output::json(
            &json!({ "process": simulator.name, "rows": n, "features": d, "out": output::path(&args.out), "seed": common.seed }),
        );
    }
    output::text(&format!("{n} rows with {d} features of `{}` in {}", simulator.name, args.out.display()))
}
