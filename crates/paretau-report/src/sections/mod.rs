//! The page's sections, one file each: words and charts from the records.

mod along;
mod answer;
mod balance;
mod features;
mod forest;
mod groups;
mod making;
mod overlap;
mod run;
mod training;
mod who;

pub(crate) use answer::{answer, title};
pub(crate) use balance::balance;
pub(crate) use features::features;
pub(crate) use making::making;
pub(crate) use overlap::overlap;
pub(crate) use run::run;
pub(crate) use training::training;
pub(crate) use who::who;

use crate::number::Unit;
use crate::records::ModelRecords;

/// How this page writes effects.
pub(crate) fn unit(records: &ModelRecords) -> Unit<'_> {
    let width = records.averages.first().map_or(0.0, |average| average.effect.hi - average.effect.lo);
    Unit::new(records.question.binary, width, records.options.unit.as_deref().unwrap_or_default())
}

/// A section of the page.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) id: &'static str,
    pub(crate) heading: &'static str,
    pub(crate) html: String,
}
