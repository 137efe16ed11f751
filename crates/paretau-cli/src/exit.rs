//! From an error to the lines a person reads and the code a script sees.

use std::io::Write as _;
use std::process::ExitCode;

use clap::error::ErrorKind as ClapErrorKind;
use paretau::{Error, ErrorKind, printable};

use crate::terminal::{self, Look, Stream};
use crate::{log, output};

/// A job whose results were printed, though some of it failed: exit code 1, and no second document on stdout.
#[derive(Debug)]
pub(crate) struct PartlyFailed(pub(crate) String);

impl std::fmt::Display for PartlyFailed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PartlyFailed {}

/// An argument that is missing: exit code 2.
#[derive(Debug)]
pub(crate) struct Required(pub(crate) String);

impl std::fmt::Display for Required {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Required {}

/// Prints an error to stderr (as JSON on stdout too, when JSON was asked for) and gives the exit code.
pub(crate) fn report(error: &anyhow::Error, json: bool) -> ExitCode {
    let kind = error.chain().find_map(|cause| cause.downcast_ref::<Error>()).map(Error::kind);
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    if io.is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe) {
        // The reader of our output (`head`, say) has had enough; that is not a failure.
        return ExitCode::SUCCESS;
    }
    let code = match kind {
        Some(ErrorKind::Usage) => 2,
        None if error.is::<Required>() => 2,
        Some(ErrorKind::Data) => 3,
        Some(ErrorKind::Interrupted) => 130,
        // Our own output could not be written: a full disk, say.
        None if io.is_some() => 3,
        Some(ErrorKind::Failed) | None => 1,
    };
    print_error(&in_one_line(error), json && !error.is::<PartlyFailed>(), code)
}

/// Prints what is wrong with the arguments in two lines, or the help or version that was asked for.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let printed = [
        ClapErrorKind::DisplayHelp,
        ClapErrorKind::DisplayVersion,
        ClapErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
    ];
    if printed.contains(&error.kind()) {
        let _ = error.print();
        return ExitCode::from(error.exit_code().clamp(0, 255) as u8);
    }
    // Arguments are part of the text, and scripts make them from the names of files.
    let text = error.render().to_string().split('\n').map(printable).collect::<Vec<_>>().join("\n");
    let paragraphs = text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    let (mut what, mut how) = (String::new(), String::new());
    for part in paragraphs {
        match part.strip_prefix("error: ") {
            Some(first) => first.clone_into(&mut what),
            None if part.starts_with("tip: ") => what += &format!("; {}", &part[5..]),
            None if part.starts_with("Usage: ") => how = part,
            None => {}
        }
    }
    let how = if how.is_empty() { "Try --help.".to_owned() } else { format!("{how} (more with --help)") };
    // The arguments did not parse, so that --json has to be looked for among them.
    print_error(&format!("{what}\n{how}"), std::env::args_os().any(|arg| arg == "--json"), 2)
}

fn print_error(message: &str, json: bool, code: u8) -> ExitCode {
    log::line(&format!("error (exit {code}): {message}"));
    if json {
        let document = serde_json::json!({ "error": message, "exit_code": code }).to_string();
        let _ = writeln!(std::io::stdout(), "{}", output::printable_json(&document));
    }
    let mut text = terminal::for_stderr(&format!("paretau: {message}"));
    if terminal::has_colours(Stream::Err)
        && let Some(rest) = text.strip_prefix("paretau:")
    {
        text = format!("{}{rest}", terminal::painted("paretau:", Look::Error));
    }
    let _ = writeln!(std::io::stderr(), "{text}");
    ExitCode::from(code)
}

/// The error and its causes; a cause that is part of the text already is not repeated.
fn in_one_line(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text += &format!(": {cause}");
        }
    }
    text
}
