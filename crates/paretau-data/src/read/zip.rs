//! Members of a zip archive, with everything checked that the format offers: checksums, sizes, and that no two
//! members share bytes.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use paretau_core::Result;
use zip::ZipArchive;
use zip::result::ZipError;

use super::parquet::damaged;
use super::source::open;
use crate::table::file_error;

/// More members than this are no archive of arrays.
const MAX_MEMBERS: usize = 100_000;

/// An archive of arrays.
pub(super) struct Archive {
    path: PathBuf,
    inner: ZipArchive<BufReader<File>>,
}

impl Archive {
    /// Opens an archive; one whose members overlap unpacks to far more than it is, and is refused.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = BufReader::new(open(path)?);
        let mut inner = ZipArchive::new(file).map_err(|e| damaged(path, &format!("its directory: {e}")))?;
        if inner.len() > MAX_MEMBERS {
            return Err(damaged(path, &format!("its directory lists {} members", inner.len())));
        }
        if inner.has_overlapping_files().map_err(|e| damaged(path, &format!("its directory: {e}")))? {
            return Err(damaged(path, &"members of the archive overlap"));
        }
        Ok(Self { path: path.to_owned(), inner })
    }

    /// Number of members.
    pub(super) fn len(&self) -> usize {
        self.inner.len()
    }

    /// Hands the name, the claimed unpacked size and the bytes of a member to `read`. The bytes end with an error if
    /// their checksum is not the directory's, which the reader sees only at their very end.
    pub(super) fn member<T>(
        &mut self,
        index: usize,
        read: impl FnOnce(&str, u64, &mut dyn Read) -> Result<T>,
    ) -> Result<T> {
        let name = self.inner.name_for_index(index).unwrap_or_default().to_owned();
        let path = &self.path;
        let mut file = self.inner.by_index(index).map_err(|e| match e {
            ZipError::CompressionMethodNotSupported(_) | ZipError::UnsupportedArchive(_) => {
                file_error(path, None, None, format!("`{name}` cannot be unpacked ({e}); save it with numpy.savez"))
            }
            other => damaged(path, &format!("`{name}`: {other}")),
        })?;
        let size = file.size();
        read(&name, size, &mut file)
    }
}
