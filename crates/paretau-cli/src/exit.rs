//! From an error to the lines a person reads and the code a script sees.

use std::process::ExitCode;

use paretau::{Error, ErrorKind};

/// Prints an error to stderr (as JSON too, when JSON was asked for) and gives the exit code.
pub(crate) fn report(error: &anyhow::Error, json: bool) -> ExitCode {
    let kind = error.chain().find_map(|cause| cause.downcast_ref::<Error>()).map(Error::kind);
    let broken_pipe = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<std::io::Error>())
        .is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe);
    if broken_pipe {
        // The reader of our output (`head`, say) has had enough; that is not a failure.
        return ExitCode::SUCCESS;
    }
    let code = match kind {
        Some(ErrorKind::Usage) => 2,
        Some(ErrorKind::Data) => 3,
        Some(ErrorKind::Interrupted) => 130,
        Some(ErrorKind::Failed) | None => 1,
    };
    if json {
        println!("{}", serde_json::json!({ "error": format!("{error:#}"), "exit_code": code }));
    }
    eprintln!("paretau: {error:#}");
    ExitCode::from(code)
}
