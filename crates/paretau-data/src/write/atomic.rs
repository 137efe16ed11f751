//! Whole or not at all: a temporary file in the same folder, written through to the disk, then renamed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

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
        loop {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let hidden = format!(".{}.{}.{number}.tmp", name.to_string_lossy(), std::process::id());
            let temporary = path.with_file_name(hidden);
            match OpenOptions::new().write(true).create_new(true).open(&temporary) {
                Ok(file) => return Ok(Self { file, temporary: Some(temporary), path }),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(Error::Io { path, source }),
            }
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

/// Writes all bytes to `path`, whole or not at all.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    file.commit()
}
