//! From data arguments to a table and the columns' roles.

use std::path::Path;

use anyhow::Result;
use paretau::data::{DateOrder, ReadOptions, RoleSpec, Table, default_max_memory, read_watched};
use paretau::{Error, Model, Params};

use crate::args::{DataArgs, EstimatorArgs, ReadArgs, RoleArgs};
use crate::commands::config;
use crate::exit::Required;
use crate::progress::Progress;

/// The options of reading that the arguments give. Identifiers are read as text, so that `007` stays `007`.
pub(crate) fn read_options(args: &ReadArgs, id: Option<&str>) -> Result<ReadOptions> {
    let order = args.date_order.as_deref().map(str::parse::<DateOrder>);
    let date_order = order
        .transpose()
        .map_err(|_| bad_argument("date-order", args.date_order.as_deref().unwrap_or_default(), "dmy, mdy or ymd"))?;
    let options = ReadOptions {
        header: !args.no_header,
        date_order,
        na: args.na.iter().map(|mark| mark.trim().to_owned()).filter(|mark| !mark.is_empty()).collect(),
        numeric: args.numeric.clone(),
        categorical: args.categorical.clone(),
        max_memory: args.max_memory.unwrap_or_else(default_max_memory),
        sheet: args.sheet.clone(),
        ..ReadOptions::default()
    };
    let options = options
        .with_marks(args.decimal, args.thousands)
        .map_err(|bad| bad_argument(bad.option, &bad.mark.to_string(), &bad.expected))?;
    Ok(match id {
        Some(id) => options.with_id(id),
        None => options,
    })
}

/// Reads the whole file as a model's training data were read, if there is one, showing how far it is; Ctrl-C stops it.
pub(crate) fn table(args: &DataArgs, model: Option<&Model>, progress: &Progress) -> Result<Table> {
    table_at(&args.data, args, model, progress)
}

/// The model and the path of the data, where the first argument may be a model file (.paretau) before the data.
pub(crate) fn model_and_data<'a>(first: &'a Path, second: Option<&'a Path>) -> Result<(Option<Model>, &'a Path)> {
    match (first.extension().is_some_and(|e| e == "paretau"), second) {
        (true, Some(data)) => Ok((Some(Model::load(first)?), data)),
        (true, None) => Err(Required("a data file is required after the model file".to_owned()).into()),
        (false, None) => Ok((None, first)),
        (false, Some(second)) => {
            let given = second.display().to_string();
            Err(bad_argument("DATA", &given, "one data file, or a model file (.paretau) and a data file").into())
        }
    }
}

/// The same for data at another path than that of the arguments.
pub(crate) fn table_at(path: &Path, args: &DataArgs, model: Option<&Model>, progress: &Progress) -> Result<Table> {
    let mut options = read_options(&args.read, args.roles.id.as_deref())?;
    if let Some(model) = model {
        options = options.like(&model.about().reading);
    }
    let table = read_watched(path, &options, &mut |position| {
        progress.reading("reading", position);
        progress.check_interrupt()
    })?;
    progress.clear();
    Ok(table)
}

/// A number of bytes such as `500M`, `8G`, `8GiB` or `1000000`; K, M, G and T are powers of 1024.
pub(crate) fn memory_size(text: &str) -> Result<u64, String> {
    let refuse = || format!("`{text}` is no size; write e.g. 500M or 8G");
    let upper = text.trim().to_ascii_uppercase();
    let plain = upper.strip_suffix("IB").or_else(|| upper.strip_suffix('B')).unwrap_or(&upper);
    let (digits, power) = match plain.chars().last() {
        Some('K') => (&plain[..plain.len() - 1], 10),
        Some('M') => (&plain[..plain.len() - 1], 20),
        Some('G') => (&plain[..plain.len() - 1], 30),
        Some('T') => (&plain[..plain.len() - 1], 40),
        _ => (plain, 0),
    };
    let number: u64 = digits.trim().parse().map_err(|_| refuse())?;
    number.checked_mul(1 << power).filter(|&bytes| bytes > 0).ok_or_else(refuse)
}

/// The roles as far as they were named: for commands that look at columns and need no treatment or outcome.
pub(crate) fn named_roles(args: &RoleArgs) -> RoleSpec {
    RoleSpec {
        treatment: args.treatment.clone().unwrap_or_default(),
        outcome: args.outcome.clone().unwrap_or_default(),
        features: (!args.features.is_empty()).then(|| args.features.clone()),
        ignore: args.ignore.clone(),
        id: args.id.clone(),
        weight: args.weight.clone(),
        propensity: args.propensity.clone(),
        group: args.group.clone(),
        ..RoleSpec::default()
    }
}

/// The roles that the arguments give; those not given are taken from `known`, a model's.
pub(crate) fn roles(args: &RoleArgs, known: Option<&RoleSpec>) -> Result<RoleSpec> {
    let known = known.cloned().unwrap_or_default();
    let required = |given: &Option<String>, known: String, flag: &'static str| match given {
        Some(name) => Ok(name.clone()),
        None if !known.is_empty() => Ok(known),
        None => Err(Required(format!(
            "--{flag} is required: name the column, as in --{flag} COLUMN; `paretau check DATA` lists the columns"
        ))),
    };
    let truth = match args.truth.as_slice() {
        [] => known.truth,
        [mu0, mu1] => Some((mu0.clone(), mu1.clone())),
        other => return Err(bad_argument("truth", &other.join(","), "two columns, MU0,MU1").into()),
    };
    Ok(RoleSpec {
        treatment: required(&args.treatment, known.treatment, "treatment")?,
        outcome: required(&args.outcome, known.outcome, "outcome")?,
        features: if args.features.is_empty() { known.features } else { Some(args.features.clone()) },
        ignore: if args.ignore.is_empty() { known.ignore } else { args.ignore.clone() },
        id: args.id.clone().or(known.id),
        weight: args.weight.clone().or(known.weight),
        truth,
        treated_value: args.treated_value.clone().or(known.treated_value),
        control_value: args.control_value.clone().or(known.control_value),
        propensity: args.propensity.clone().or(known.propensity),
        group: args.group.clone().or(known.group),
    })
}

/// Parameters from the configuration file and `--set`, the latter winning.
pub(crate) fn params(args: &EstimatorArgs) -> Result<Params> {
    let mut params = match &args.config {
        Some(path) => config::params(path)?,
        None => Params::none(),
    };
    for (key, value) in pairs(&args.set)? {
        params = params.with(key, value);
    }
    Ok(params)
}

/// The keys and values of `--set KEY=VALUE` arguments.
pub(crate) fn pairs(set: &[String]) -> Result<Vec<(&str, &str)>> {
    set.iter()
        .map(|pair| match pair.split_once('=') {
            Some((key, value)) => Ok((key.trim(), value.trim())),
            None => Err(bad_argument("set", pair, "KEY=VALUE").into()),
        })
        .collect()
}

/// A value of a flag that will not do.
pub(crate) fn bad_argument(flag: &str, value: &str, expected: &str) -> Error {
    Error::BadParameter {
        owner: "the command line".into(),
        name: format!("--{flag}"),
        value: value.to_owned(),
        expected: expected.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_memory() {
        assert_eq!(memory_size("500M"), Ok(500 << 20));
        assert_eq!(memory_size("8g"), Ok(8 << 30));
        assert_eq!(memory_size("8 GiB"), Ok(8 << 30));
        assert_eq!(memory_size("123"), Ok(123));
        for wrong in ["", "G", "-1G", "1.5G", "0", "99999999999T", "eight"] {
            assert!(memory_size(wrong).is_err(), "{wrong}");
        }
    }
}
