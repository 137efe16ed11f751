//! The `paretau` command: arguments in, results on stdout, progress and messages on stderr.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod checkpoint;
mod commands;
mod exit;
mod live_table;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    match commands::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::report(&error, cli.common.json),
    }
}
