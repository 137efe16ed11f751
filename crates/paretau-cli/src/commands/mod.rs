//! One file per command. Each turns its arguments into calls of the library and its results into output.

mod check;
mod column_names;
mod compare;
mod completions;
mod config;
pub(crate) mod data;
mod demo;
mod describe;
mod diagnose;
mod effect;
mod effect_folder;
mod evaluate;
mod fit;
mod init;
mod list;
mod merge;
mod policy;
mod refute;
mod report;
mod roles;
mod run;
mod schema;
mod sensitivity;
mod simulate;
mod tune;

use anyhow::Result;

pub(crate) use init::HEAD as CONFIG_HEAD;

use crate::args::{Cli, Command};

/// Runs the command in a pool of the wanted number of threads.
pub(crate) fn run(cli: &Cli) -> Result<()> {
    let threads = cli.common.threads.map(usize::from);
    let common = &cli.common;
    let mut failure = None;
    let outcome = paretau::with_threads(threads, || {
        let done = match &cli.command {
            Command::Demo(args) => demo::run(args, common),
            Command::List(args) => list::run(args, common),
            Command::Describe(args) => describe::run(args, common),
            Command::Simulate(args) => simulate::run(args, common),
            Command::Check(args) => check::run(args, common),
            Command::Init(args) => init::run(args, common),
            Command::Fit(args) => fit::run(args, common),
            Command::Effect(args) => effect::run(args, common),
            Command::Evaluate(args) => evaluate::run(args, common),
            Command::Diagnose(args) => diagnose::run(args, common),
            Command::Policy(args) => policy::run(args, common),
            Command::Refute(args) => refute::run(args, common),
            Command::Sensitivity(args) => sensitivity::run(args, common),
            Command::Compare(args) => compare::run(args, common),
            Command::Roles(args) => roles::run(args, common),
            Command::Report(args) => report::run(args, common),
            Command::Tune(args) => tune::run(args, common),
            Command::Run(args) => run::run(args, common),
            Command::Merge(args) => merge::run(args, common),
            Command::Completions(args) => completions::shell(args),
            Command::ColumnNames(args) => column_names::run(args),
            Command::Man(args) => completions::manual(args),
            Command::Schema(args) => schema::run(args),
        };
        failure = done.err();
        Ok(())
    });
    outcome?;
    failure.map_or(Ok(()), Err)
}
