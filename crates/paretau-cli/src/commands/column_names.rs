//! Columns of the data file in completions: `paretau column-names`, which the scripts ask, and what the scripts do with it.

use std::collections::BTreeSet;

use anyhow::Result;
use clap::{Arg, Command};
use clap_complete::Shell;
use paretau::data::{BatchReader, ReadOptions};

use crate::args::ColumnNamesArgs;
use crate::output;

/// Prints the names; nothing of a file that cannot be read, since a completion is no place for messages.
pub(crate) fn run(args: &ColumnNamesArgs) -> Result<()> {
    // A few rows are enough for the names.
    let first = BatchReader::open(&args.data, &ReadOptions::default(), 16).ok().and_then(|mut batches| batches.next());
    match first {
        Some(Ok(table)) if !table.columns().is_empty() => {
            let names: Vec<&str> = table.columns().iter().map(|column| column.name.as_str()).collect();
            output::text(&names.join("\n"))
        }
        _ => Ok(()),
    }
}

/// The long options whose value is a column, or a list of columns.
fn options(command: &Command) -> BTreeSet<String> {
    let names_column = |arg: &Arg| {
        let values = arg.get_value_names().unwrap_or_default();
        values.iter().any(|value| matches!(value.as_str(), "COL" | "COLS" | "MU0,MU1" | "C|COL"))
    };
    let own = command.get_arguments().filter(|arg| names_column(arg));
    let longs = own.flat_map(|arg| arg.get_long_and_visible_aliases().unwrap_or_default());
    let longs: BTreeSet<String> = longs.into_iter().map(|long| format!("--{long}")).collect();
    command.get_subcommands().map(options).fold(longs, |all, more| &all | &more)
}

/// A shell's script with columns where an option takes some. Shells without a function of ours keep their script.
pub(crate) fn complete(shell: Shell, script: String, command: &Command) -> String {
    let options: Vec<String> = options(command).into_iter().collect();
    match shell {
        Shell::Bash => {
            let own = BASH.replace("OPTIONS", &options.join("|"));
            // Ours is called by the shell, and calls the generated one.
            format!("{}\n{own}", script.replace("complete -F _paretau ", "complete -F _paretau_or_column "))
        }
        Shell::Zsh => {
            let by_column = [":COL:_default", ":COLS:_default", ":MU0,MU1:_default", ":C|COL:_default"]
                .iter()
                .fold(script, |text, value| text.replace(value, &value.replace("_default", "_paretau_columns")));
            // The function must be there before the last lines call or register the generated one.
            by_column.replacen("\n_paretau() {", &format!("\n{ZSH}\n_paretau() {{"), 1)
        }
        Shell::Fish => {
            let lines = options.iter().map(|option| {
                let long = option.trim_start_matches('-');
                format!("complete -c paretau -l {long} -x -a '(__paretau_columns)'\n")
            });
            format!("{script}\n{FISH}{}", lines.collect::<String>())
        }
        _ => script,
    }
}

/// The data file is the first word that is a file and not a model.
const BASH: &str = r#"_paretau_or_column() {
    _paretau "$@"
    # A parameter's value follows its name at once.
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
    local cur="$2" option="$3" word data="" name before=""
    case "$option" in
        OPTIONS) ;;
        *) return 0 ;;
    esac
    for word in "${COMP_WORDS[@]:1}"; do
        if [[ -f $word && $word != *.paretau && $word != *.toml ]]; then
            data="$word"
            break
        fi
    done
    [[ -n $data ]] || return 0
    # Of a list, the last name is completed.
    if [[ $cur == *,* ]]; then
        before="${cur%,*},"
        cur="${cur##*,}"
    fi
    COMPREPLY=()
    while IFS= read -r name; do
        if [[ $name == "$cur"* ]]; then
            COMPREPLY+=("$before$(printf '%q' "$name")")
        fi
    done < <("$1" column-names "$data" 2>/dev/null)
    return 0
}
"#;

const ZSH: &str = r#"_paretau_columns() {
    local word data
    for word in "${(@Q)words[2,-1]}"; do
        if [[ -f $word && $word != *.paretau && $word != *.toml ]]; then
            data=$word
            break
        fi
    done
    [[ -n $data ]] || return 1
    local -a names
    names=("${(@f)$(paretau column-names "$data" 2>/dev/null)}")
    compset -P '*,'
    compadd -a names
}
"#;

const FISH: &str = r"function __paretau_columns
    for word in (commandline -opc)[2..]
        if test -f $word; and not string match -qr '\.(paretau|toml)$' -- $word
            paretau column-names $word 2>/dev/null
            return
        end
    end
end
";
