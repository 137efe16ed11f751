//! Whether a benchmark data set is there, and whether its files are the known ones.

use std::fmt;
use std::path::Path;

use paretau_core::hex;
use paretau_data::Dataset;
use sha2::{Digest as _, Sha256};

/// Whether a data set is present.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatasetState {
    /// Nothing.
    Absent,
    /// So many realisations.
    Present(usize),
    /// It is there, but a file is not the one that is known.
    Altered(String),
}

impl fmt::Display for DatasetState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => write!(f, "no"),
            Self::Present(1) => write!(f, "yes"),
            Self::Present(n) => write!(f, "{n} sets"),
            Self::Altered(file) => write!(f, "differs: {file}"),
        }
    }
}

/// Looks for a data set in a folder and checks the files whose digests are known.
pub fn state(set: &Dataset, folder: &Path) -> DatasetState {
    let found = set.realisations(folder).len();
    if found == 0 {
        return DatasetState::Absent;
    }
    for (file, known) in set.digests {
        let Ok(bytes) = std::fs::read(folder.join(file)) else { continue };
        let digest = hex(&Sha256::digest(&bytes));
        if digest != *known {
            return DatasetState::Altered((*file).to_owned());
        }
    }
    DatasetState::Present(found)
}
