//! The benchmark data sets: where to get each, what it looks like on disk, and how to read it into one table.
//!
//! Nothing is downloaded. A set is present when its folder below the data folder holds the files named here; the
//! data folder is given by the caller ([`data_folder`] finds the usual one).

mod entries;
mod load;

use std::path::{Path, PathBuf};

use paretau_core::{Error, Result};

use crate::roles::RoleSpec;
use crate::table::Table;

pub use entries::DATASETS;

/// A benchmark data set.
#[derive(Debug, Clone, Copy)]
pub struct Dataset {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Where its authors give it away.
    pub address: &'static str,
    /// The expected files, relative to the data folder; `{i}` stands for the realisation.
    pub files: &'static str,
    /// What its licence or its authors ask for.
    pub licence: &'static str,
    /// Whether the true effects are known, so that errors can be computed.
    pub has_truth: bool,
    /// Shares of validation and test rows that are usual for it.
    pub split: (f64, f64),
    /// SHA-256 digests of files that do not change, relative to the data folder.
    pub digests: &'static [(&'static str, &'static str)],
    realisations: fn(&Path) -> Vec<u64>,
    load: fn(&Path, u64) -> Result<(Table, RoleSpec)>,
}

impl Dataset {
    /// The set of that name, or an error with the nearest name.
    pub fn named(name: &str) -> Result<&'static Self> {
        DATASETS
            .iter()
            .find(|set| set.name == name)
            .ok_or_else(|| Error::unknown_name("data set", name, DATASETS.iter().map(|set| set.name)))
    }

    /// Numbers of the realisations that are present in the data folder; none when the set is absent.
    pub fn realisations(&self, folder: &Path) -> Vec<u64> {
        (self.realisations)(folder)
    }

    /// One realisation as a table, with the roles of its columns.
    pub fn load(&self, folder: &Path, realisation: u64) -> Result<(Table, RoleSpec)> {
        let present = self.realisations(folder);
        if present.contains(&realisation) {
            return (self.load)(folder, realisation);
        }
        let message = if present.is_empty() {
            format!(
                "the data set `{}` is not here: put {} into this folder (from {}), or name another folder in {FOLDER}",
                self.name, self.files, self.address
            )
        } else {
            let numbers: Vec<String> = present.iter().map(u64::to_string).collect();
            format!("`{}` has no realisation {realisation}, only {}", self.name, numbers.join(", "))
        };
        Err(Error::File { path: folder.to_path_buf(), column: None, row: None, message })
    }
}

/// The variable that names the data folder.
pub const FOLDER: &str = "PARETAU_DATA";

/// The folder of data sets: `PARETAU_DATA`, or the current one.
pub fn data_folder() -> PathBuf {
    std::env::var_os(FOLDER).map_or_else(|| PathBuf::from("."), PathBuf::from)
}
