//! Whole or not at all: a temporary file in the same folder, written through to the disk, then renamed.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use paretau_core::{Error, Result};

/// A file that gets its name when it is complete. Dropped before, it leaves nothing behind.
#[derive(Debug)]
pub(super) struct AtomicFile {
    file: File,
    /// Temporary name, `None` when the target is a device or a pipe and is written directly.
    temporary: Option<PathBuf>,
    path: PathBuf,
}

impl AtomicFile {
    /// Opens a temporary file beside `path`.
    pub(super) fn create(path: &Path) -> Result<Self> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let io = |source| Error::Io { path: path.to_owned(), source };
        if std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
            // Renaming onto /dev/stdout or a named pipe would replace it.
            let file = OpenOptions::new().write(true).open(path).map_err(io)?;
            return Ok(Self { file, temporary: None, path: path.to_owned() });
        }
        let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
            return Err(crate::table::file_error(path, None, None, "is a folder; name a file to write"));
        };
        // A link stays a link: the file that it points to is replaced.
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let prefix = prefix(&name.to_string_lossy());
        remove_stale(&path, &prefix);
        loop {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let temporary = path.with_file_name(format!("{prefix}{}.{number}{ENDING}", std::process::id()));
            let file = match new_file(path.exists()).open(&temporary) {
                Ok(file) => file,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(source) => return Err(Error::Io { path, source }),
            };
            // The lock tells others that the writer lives; it ends with the process, however that ends. Between
            // creation and lock, another process may have taken the file for a stale one: then it is gone.
            let locked = file.try_lock();
            if matches!(locked, Err(TryLockError::WouldBlock)) || !temporary.exists() {
                continue;
            }
            let made = Self { file, temporary: Some(temporary), path };
            keep_rights(&made.file, &made.path).map_err(|source| Error::Io { path: made.path.clone(), source })?;
            return Ok(made);
        }
    }

    /// Writes through to the disk and gives the file its name.
    pub(super) fn commit(mut self) -> Result<()> {
        let done = self.file.flush().and_then(|()| {
            let Some(temporary) = &self.temporary else { return Ok(()) };
            self.file.sync_all()?;
            std::fs::rename(temporary, &self.path)?;
            self.temporary = None;
            // The new name is safe only once the folder is; not every system lets one sync a folder.
            if let Some(folder) = self.path.parent().filter(|p| !p.as_os_str().is_empty())
                && let Ok(folder) = File::open(folder)
            {
                let _ = folder.sync_all();
            }
            Ok(())
        });
        done.map_err(|source| Error::Io { path: self.path.clone(), source })
    }
}

/// How the name of a temporary file ends.
const ENDING: &str = ".tmp";
/// Bytes of the target's name in that of the temporary file: with process, number and ending it must stay within the
/// 255 bytes that file systems allow.
const MOST_BYTES: usize = 180;

/// How the names of a target's temporary files begin.
fn prefix(name: &str) -> String {
    if name.len() <= MOST_BYTES {
        return format!(".{name}.");
    }
    let mut end = MOST_BYTES;
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    // Long names that begin alike must not share their temporary files.
    let digest = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    format!(".{}~{digest:016x}.", &name[..end])
}

/// Removes temporary files of this target whose writers were killed, once per target and process.
fn remove_stale(path: &Path, prefix: &str) {
    static DONE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if !DONE.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned()) {
        return;
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let numbers = name.to_str().and_then(|n| n.strip_prefix(prefix)?.strip_suffix(ENDING)?.split_once('.'));
        let ours = numbers.is_some_and(|(a, b)| a.parse::<u32>().is_ok() && b.parse::<u64>().is_ok());
        // Whoever still writes holds the lock.
        if ours
            && let Ok(file) = OpenOptions::new().write(true).open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// How a temporary file is made. One that will replace another belongs to its owner alone until it has the other's permissions:
/// who opened it before could go on reading.
fn new_file(replaces: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if replaces {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

/// Gives the new file the owner and the permissions of the one that it will replace, as far as the system lets us. Never may more
/// people read it than could read the old one, nor fewer without a word: where the system gives it others, it is not written.
#[cfg(unix)]
fn keep_rights(file: &File, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
    let Ok(old) = std::fs::metadata(path) else { return Ok(()) };
    let new = file.metadata()?;
    let mut keeps_group = new.gid() == old.gid();
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        keeps_group = fchown(file, Some(old.uid()), Some(old.gid())).is_ok()
            || fchown(file, None, Some(old.gid())).is_ok()
            || keeps_group;
    }
    let mode = rights(old.permissions().mode(), keeps_group);
    let set = file.set_permissions(std::fs::Permissions::from_mode(mode));
    // What counts is what the file has now: some file systems know no permissions, and there the new file is what the old one was.
    let granted = file.metadata()?.permissions().mode();
    if granted & 0o777 == mode & 0o777 {
        return Ok(());
    }
    let refused = set.err().unwrap_or_else(|| io::Error::other("the system did not say why"));
    let message = format!(
        "the new file cannot get the permissions of the old one ({:o} and not {:o}: {refused}); write somewhere else",
        mode & 0o777,
        granted & 0o777
    );
    Err(io::Error::new(refused.kind(), message))
}

/// The permissions of a file that replaces one with these. Where it cannot have the old one's group, its group is a stranger.
#[cfg(unix)]
fn rights(old: u32, keeps_group: bool) -> u32 {
    if keeps_group { old } else { old & !0o2070 | old & ((old & 0o007) << 3) }
}

#[cfg(not(unix))]
fn keep_rights(file: &File, path: &Path) -> io::Result<()> {
    if let Ok(old) = std::fs::metadata(path) {
        let _ = file.set_permissions(old.permissions());
    }
    Ok(())
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = std::fs::remove_file(temporary);
        }
    }
}

/// Whether a file can be written at `path`, found out by beginning one: nothing stays, and what is there is not touched. For
/// those who are going to work for hours before they write.
pub fn check_writable(path: &Path) -> Result<()> {
    match std::fs::metadata(path) {
        // Whoever reads from a pipe would take the attempt for all that comes.
        Ok(found) if !found.is_file() && !found.is_dir() => return Ok(()),
        // A name that no file may have; the temporary one would be shorter.
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(Error::Io { path: path.to_owned(), source });
        }
        _ => {}
    }
    AtomicFile::create(path).map(drop)
}

/// Writes all bytes to `path`, whole or not at all.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    file.commit()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[cfg(unix)]
    #[test]
    fn an_existing_file_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret.csv");
        write_atomically(&path, b"1").unwrap();
        for mode in [0o600, 0o640, 0o666] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            write_atomically(&path, b"2").unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_group_that_cannot_be_kept_gets_what_strangers_get() {
        for (old, new) in
            [(0o640, 0o600), (0o660, 0o600), (0o644, 0o644), (0o664, 0o644), (0o604, 0o604), (0o2755, 0o755)]
        {
            assert_eq!((rights(old, true), rights(old, false)), (old, new), "{old:o}");
        }
    }

    #[test]
    fn a_check_leaves_everything_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        check_writable(&path).unwrap();
        assert_eq!(names(folder.path()), Vec::<String>::new());
        std::fs::write(&path, b"old").unwrap();
        check_writable(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["model"]);
        assert!(check_writable(&folder.path().join("nowhere/model")).is_err());
        assert!(check_writable(&folder.path().join("n".repeat(256))).is_err());
    }

    #[test]
    fn what_a_killed_writer_left_is_removed_and_what_a_living_one_writes_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        std::fs::write(folder.path().join(".model.4000000.7.tmp"), b"half").unwrap();
        std::fs::write(folder.path().join(".model.notes.tmp"), b"not ours").unwrap();
        std::fs::write(folder.path().join(".models.1.1.tmp"), b"of another target").unwrap();
        let alive = folder.path().join(".model.4000000.8.tmp");
        let writing = File::create(&alive).unwrap();
        writing.try_lock().unwrap();
        write_atomically(&path, b"whole").unwrap();
        assert_eq!(names(folder.path()), [".model.4000000.8.tmp", ".model.notes.tmp", ".models.1.1.tmp", "model"]);
    }

    #[test]
    fn a_file_name_may_have_255_bytes() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["n".repeat(255), "ü".repeat(127)] {
            write_atomically(&folder.path().join(&name), b"1").unwrap();
            assert!(names(folder.path()).contains(&name));
        }
        assert_eq!(names(folder.path()).len(), 2);
        assert_ne!(prefix(&format!("{}a", "n".repeat(200))), prefix(&format!("{}b", "n".repeat(200))));
    }
}
