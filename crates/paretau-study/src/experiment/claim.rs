//! Which process works on which part of a run's cells. A claim is a locked file in the run's folder; the lock ends with the
//! process, however that ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use paretau_core::{Error, Result};

use super::cell::Shard;

const START: &str = ".part-";
const END: &str = ".lock";

/// A claim to a part of the cells, given up when dropped.
#[derive(Debug)]
pub(super) struct Claim {
    path: PathBuf,
    _file: File,
}

impl Claim {
    /// Claims a part, unless a living process works on cells of it. To be called under the lock of the folder's records,
    /// so that two processes cannot claim at once.
    pub(super) fn new(folder: &Path, shard: Shard) -> Result<Self> {
        let path = folder.join(format!("{START}{}-of-{}{END}", shard.part, shard.of));
        let io = |path: &Path, source| Error::Io { path: path.to_path_buf(), source };
        for entry in std::fs::read_dir(folder).map_err(|e| io(folder, e))?.flatten() {
            let Some(other) = entry.file_name().to_str().and_then(part) else { continue };
            if !shares_cells(shard, other) {
                continue;
            }
            let Ok(mut file) = OpenOptions::new().read(true).write(true).open(entry.path()) else { continue };
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => {
                    let mut process = String::new();
                    let _ = file.read_to_string(&mut process);
                    let message = format!(
                        "part {}/{} of the cells is being done here by process {}; wait for it, or choose another --shard or folder",
                        other.part,
                        other.of,
                        process.trim()
                    );
                    return Err(Error::File { path: folder.to_path_buf(), column: None, row: None, message });
                }
                // Its process was killed.
                _ => drop(std::fs::remove_file(entry.path())),
            }
        }
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).open(&path).map_err(|e| io(&path, e))?;
        let _ = file.try_lock();
        let _ = writeln!(file, "{}", std::process::id());
        Ok(Self { path, _file: file })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The part that a claim's file name stands for.
fn part(name: &str) -> Option<Shard> {
    let (part, of) = name.strip_prefix(START)?.strip_suffix(END)?.split_once("-of-")?;
    Some(Shard { part: part.parse().ok()?, of: of.parse().ok()? })
}

/// Whether some cell belongs to both parts: every `of`-th cell from the part's number on.
fn shares_cells(a: Shard, b: Shard) -> bool {
    let (mut x, mut y) = (a.of, b.of);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a.part % x.max(1) == b.part % x.max(1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parts_share_cells_when_some_cell_is_in_both() {
        for of in 1..7 {
            for other_of in 1..7 {
                for part in 1..=of {
                    for other_part in 1..=other_of {
                        let (a, b) = (Shard { part, of }, Shard { part: other_part, of: other_of });
                        let both = (0..60).any(|i| a.holds(i) && b.holds(i));
                        assert_eq!(shares_cells(a, b), both, "{a:?} {b:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_part_is_claimed_once_and_freed() {
        let folder = tempfile::tempdir().unwrap();
        let shard = |text: &str| text.parse::<Shard>().unwrap();
        let first = Claim::new(folder.path(), shard("1/2")).unwrap();
        let second = Claim::new(folder.path(), shard("2/2")).unwrap();
        for taken in ["1/2", "1/1", "3/4"] {
            let message = Claim::new(folder.path(), shard(taken)).unwrap_err().to_string();
            assert!(message.contains("is being done here by process"), "{message}");
        }
        drop((first, second));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        // What a killed process left is no claim.
        std::fs::write(folder.path().join(".part-1-of-1.lock"), "1").unwrap();
        Claim::new(folder.path(), Shard::WHOLE).unwrap();
    }
}
