//! `paretau completions` and `paretau man`: made from the same grammar as the help.

use std::io::Write as _;

use anyhow::Result;
use clap::CommandFactory as _;

use crate::args::{Cli, CompletionsArgs};

pub(crate) fn shell(args: &CompletionsArgs) -> Result<()> {
    let mut text = vec![];
    clap_complete::generate(args.shell, &mut Cli::command(), "paretau", &mut text);
    // Written here rather than by the generator, which would panic when the reader has gone.
    std::io::stdout().write_all(&text)?;
    Ok(())
}

pub(crate) fn manual() -> Result<()> {
    clap_mangen::Man::new(Cli::command()).render(&mut std::io::stdout())?;
    Ok(())
}
