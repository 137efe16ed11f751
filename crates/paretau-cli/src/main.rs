//! The `paretau` command: arguments in, results on stdout, progress and messages on stderr.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod checkpoint;
mod commands;
mod exit;
mod fault;
mod glossary;
mod interrupt;
mod live_table;
mod log;
mod memory;
mod out_path;
mod output;
mod print;
mod progress;
mod terminal;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    // First of all, so that no signal comes too early.
    fault::hold_back();
    memory::reserve();
    interrupt::listen();
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    let done = fault::caught(|| {
        cli.common.log.as_deref().map_or(Ok(()), log::open)?;
        commands::run(&cli)
    });
    if !interrupt::claim_report() {
        // The interruption is being reported; the program ends there.
        std::thread::sleep(std::time::Duration::from_secs(5));
    }
    match done {
        Ok(()) => {
            log::line("done");
            ExitCode::SUCCESS
        }
        Err(error) => exit::report(&error, cli.common.json),
    }
}
