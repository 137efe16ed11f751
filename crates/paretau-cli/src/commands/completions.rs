//! `paretau completions` and `paretau man`: made from the same grammar as the help.

use anyhow::Result;
use clap::CommandFactory as _;

use crate::args::{Cli, CompletionsArgs};

pub(crate) fn shell(args: &CompletionsArgs) -> Result<()> {
    clap_complete::generate(args.shell, &mut Cli::command(), "paretau", &mut std::io::stdout());
    Ok(())
}

pub(crate) fn manual() -> Result<()> {
    clap_mangen::Man::new(Cli::command()).render(&mut std::io::stdout())?;
    Ok(())
}
