//! `paretau completions` and `paretau man`: made from the same grammar as the help.

use std::collections::BTreeSet;
use std::io::Write as _;

use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory as _};
use paretau::{Error, registry};

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::commands::column_names;

pub(crate) fn shell(args: &CompletionsArgs) -> Result<()> {
    let mut text = vec![];
    clap_complete::generate(args.shell, &mut knowing(Cli::command()), "paretau", &mut text);
    let text = column_names::complete(args.shell, String::from_utf8_lossy(&text).into_owned(), &Cli::command());
    // Written here rather than by the generator, which would panic when the reader has gone.
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// The grammar with the names that arguments may have: estimators, their parameters, simulators, plans, checks. The command
/// line itself takes them as text, so that its own messages can say more.
fn knowing(command: Command) -> Command {
    let estimators: Vec<&str> = registry::ESTIMATORS.iter().map(|entry| entry.info().name).collect();
    let parameters: BTreeSet<String> = registry::ESTIMATORS
        .iter()
        .flat_map(|entry| entry.params().iter().map(|spec| format!("{}=", spec.name)))
        .collect();
    let simulators: Vec<&str> = paretau::data::SIMULATORS.iter().map(|simulator| simulator.name).collect();
    let plans: Vec<String> = paretau_study::experiment::PLANS.iter().map(|plan| plan.name.to_owned()).collect();
    let checks: Vec<&str> = paretau::CHECKS.iter().map(|(name, _)| *name).collect();
    let names = |values: Vec<String>| move |arg: Arg| arg.value_parser(PossibleValuesParser::new(values));
    let owned = |values: &[&str]| values.iter().map(|v| (*v).to_owned()).collect::<Vec<String>>();
    let parameters: Vec<String> = parameters.into_iter().collect();
    command
        .mut_subcommand("fit", |c| {
            c.mut_arg("estimator", names(owned(&estimators)))
                .mut_arg("set", names(parameters.clone()))
                .mut_arg("estimand", names(owned(&["ate", "att", "atc", "ato"])))
        })
        .mut_subcommand("tune", |c| {
            c.mut_arg("estimator", names(owned(&estimators)))
                .mut_arg("set", names(parameters.clone()))
                .mut_arg("search", names(owned(&["tpe", "random", "grid"])))
                .mut_arg("objective", names(owned(&["factual", "dr", "r"])))
        })
        .mut_subcommand("init", |c| c.mut_arg("estimator", names(owned(&estimators))))
        .mut_subcommand("compare", |c| c.mut_arg("estimators", names(owned(&estimators))))
        .mut_subcommand("describe", |c| c.mut_arg("name", names(owned(&estimators))))
        .mut_subcommand("run", |c| c.mut_arg("plan", names(plans)).mut_arg("set", names(parameters.clone())))
        .mut_subcommand("simulate", |c| c.mut_arg("process", names(owned(&simulators))))
        .mut_subcommand("refute", |c| c.mut_arg("checks", names(owned(&checks))))
        .mut_subcommand("effect", |c| c.mut_arg("kind", names(owned(&["conditional", "individual"]))))
}

pub(crate) fn manual(args: &ManArgs) -> Result<()> {
    let mut whole = Cli::command();
    whole.build();
    let page = match &args.command {
        None => whole,
        Some(name) => {
            let known: Vec<&str> = whole.get_subcommands().map(Command::get_name).collect();
            match whole.find_subcommand(name) {
                Some(found) => found.clone().name(format!("paretau-{name}")).display_name(format!("paretau-{name}")),
                None => return Err(Error::unknown_name("command", name, known).into()),
            }
        }
    };
    clap_mangen::Man::new(page).render(&mut std::io::stdout())?;
    Ok(())
}
