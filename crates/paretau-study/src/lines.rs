//! Append-only files of lines. A line is whole or, after a crash, the torn last one, which is cut off on opening.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use paretau_core::{Error, Result};

/// Opens (or makes) such a file for appending and returns its whole lines.
pub(crate) fn open(path: &Path) -> Result<(File, String)> {
    let io = |source| Error::Io { path: path.to_path_buf(), source };
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
    let mut bytes = vec![];
    file.read_to_end(&mut bytes).map_err(io)?;
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    bytes.truncate(whole);
    let text = String::from_utf8(bytes).map_err(|_| Error::File {
        path: path.to_path_buf(),
        column: None,
        row: None,
        message: "is not a text file; choose another one".to_owned(),
    })?;
    file.set_len(whole as u64).map_err(io)?;
    file.seek(SeekFrom::End(0)).map_err(io)?;
    Ok((file, text))
}
