//! Opening files: standard input, compression, and formats known by name and checked by first bytes.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use paretau_core::{Error, Result};

use super::position::ByteCount;
use crate::table::file_error;

/// File formats that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated text (another delimiter is recognised from the header line).
    Csv,
    /// Tab-separated text.
    Tsv,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC file (Feather version 2) or stream.
    Arrow,
    /// NumPy archive with `x`, `t`, `y` and optionally `mu0`, `mu1` and others.
    Npz,
    /// svmlight text with the outcome first and the treatment second: `y t index:value …`.
    Svm,
    /// The News pair of a sparse `.csv.x` and a `.csv.y`.
    News,
}

impl Format {
    /// The format that a path's ending names; `-` is CSV on standard input.
    pub fn from_path(path: &Path) -> Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self::Csv);
        }
        let name = path.file_name().map(|n| n.to_string_lossy().to_lowercase()).unwrap_or_default();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let ends = |ending: &str| name.ends_with(ending);
        match () {
            () if ends(".csv.x") || ends(".csv.y") => Ok(Self::News),
            () if ends(".csv") || ends(".txt") => Ok(Self::Csv),
            () if ends(".tsv") || ends(".tab") => Ok(Self::Tsv),
            () if ends(".parquet") || ends(".pq") => Ok(Self::Parquet),
            () if ends(".arrow") || ends(".feather") || ends(".ipc") => Ok(Self::Arrow),
            () if ends(".npz") => Ok(Self::Npz),
            () if ends(".svm") || ends(".svmlight") || ends(".libsvm") => Ok(Self::Svm),
            () if path.is_dir() => Err(file_error(path, None, None, "is a folder; name a file in it")),
            () => Err(file_error(
                path,
                None,
                None,
                "the file's ending names no known format; use .csv, .tsv (also .gz), .parquet, .arrow, .feather, \
                 .npz, .svm or a .csv.x/.csv.y pair (.xlsx, .ods, .json and .ndjson are read, not written)",
            )),
        }
    }
}

/// Where text comes from.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    File(PathBuf),
    /// A file that is read into memory as a whole, and the most bytes of text that it may have once decompressed.
    Whole(PathBuf, u64),
    /// Standard input, kept so that it can be read twice.
    Memory(PathBuf, std::sync::Arc<[u8]>),
    /// Standard input, to be read once as it comes.
    Stream(PathBuf),
}

/// An opened text.
pub(crate) struct Opened {
    pub(crate) text: Box<dyn Read + Send>,
    /// Whether it is decompressed on the way, so that errors can say so.
    pub(crate) gzip: bool,
    /// How many bytes of the file have been read, where it is one.
    pub(crate) count: Option<ByteCount>,
}

impl Input {
    /// The input named by a path, to be read once as it comes; `-` is standard input.
    pub(crate) fn stream(path: &Path) -> Self {
        if path.as_os_str() == "-" { Self::Stream(PathBuf::from(STDIN)) } else { Self::File(path.to_owned()) }
    }

    /// The input named by a path, to be kept in memory, where its text may take `max_bytes`; `-` reads standard input
    /// to its end.
    pub(crate) fn whole(path: &Path, max_bytes: u64) -> Result<Self> {
        if path.as_os_str() != "-" {
            return Ok(Self::Whole(path.to_owned(), max_bytes));
        }
        let name = PathBuf::from(STDIN);
        let mut bytes = Vec::new();
        match (Bounded { inner: std::io::stdin().lock(), left: max_bytes, limit: max_bytes }).read_to_end(&mut bytes) {
            Ok(_) => Ok(Self::Memory(name, bytes.into())),
            Err(source) => Err(read_failed(&name, source)),
        }
    }

    /// The name for errors.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Whole(path, _) | Self::Memory(path, _) | Self::Stream(path) => path,
        }
    }

    /// The text from its start, decompressed if the bytes say that it is compressed, without a byte-order mark.
    pub(crate) fn open_text(&self) -> Result<Opened> {
        let path = self.path();
        let io = |source| Error::Io { path: path.to_owned(), source };
        let (mut raw, count): (Box<dyn Read + Send>, _) = match self {
            Self::File(path) | Self::Whole(path, _) => {
                let (file, count) = ByteCount::of(open(path)?);
                (Box::new(file), count)
            }
            Self::Memory(_, bytes) => (Box::new(Cursor::new(bytes.clone())), None),
            Self::Stream(_) => (Box::new(std::io::stdin()), None),
        };
        let head = peek(&mut raw, HEAD).map_err(io)?;
        check_is_text(path, &head)?;
        if !head.starts_with(&[0x1f, 0x8b]) {
            let rest = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head).to_vec();
            return Ok(Opened { text: self.bounded(Cursor::new(rest).chain(raw)), gzip: false, count });
        }
        let compressed = BufReader::with_capacity(1 << 16, Cursor::new(head).chain(raw));
        // Several gzip members in one file are one text, as `cat a.gz b.gz` makes them.
        let mut text = flate2::bufread::MultiGzDecoder::new(compressed);
        let head = peek(&mut text, HEAD).map_err(|e| damaged_gzip(path, &e))?;
        check_is_text(path, &head)?;
        let rest = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head).to_vec();
        Ok(Opened { text: self.bounded(Cursor::new(rest).chain(text)), gzip: true, count })
    }

    /// The text, which ends with an error where it goes beyond what may be kept in memory.
    fn bounded(&self, text: impl Read + Send + 'static) -> Box<dyn Read + Send> {
        match *self {
            Self::Whole(_, limit) => Box::new(Bounded { inner: text, left: limit, limit }),
            _ => Box::new(text),
        }
    }
}

const STDIN: &str = "<stdin>";

/// A text with a limit on its length.
struct Bounded<R> {
    inner: R,
    left: u64,
    limit: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(out)?;
        match self.left.checked_sub(n as u64) {
            Some(left) => self.left = left,
            None => return Err(std::io::Error::other(TooLong(self.limit))),
        }
        Ok(n)
    }
}

/// The text has more bytes than these.
#[derive(Debug)]
struct TooLong(u64);

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the text is longer than the {} bytes of the memory limit; raise --max-memory, or fit it with --block-rows 1000000",
            self.0
        )
    }
}

impl std::error::Error for TooLong {}

/// The error for a text that cannot be read to its end.
pub(crate) fn read_failed(path: &Path, source: std::io::Error) -> Error {
    match source.get_ref().and_then(|e| e.downcast_ref::<TooLong>()) {
        Some(&TooLong(limit)) => super::limit::too_large(path, "its text", limit.saturating_add(1), limit),
        None => Error::Io { path: path.to_owned(), source },
    }
}

/// Opens a regular file with an error that says what is wrong with the path.
pub(crate) fn open(path: &Path) -> Result<File> {
    let file = File::open(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    if file.metadata().is_ok_and(|m| m.is_dir()) {
        return Err(file_error(path, None, None, "is a folder; name a file in it"));
    }
    Ok(file)
}

/// The error for a gzip stream that ends early or is altered.
pub(crate) fn damaged_gzip(path: &Path, error: &std::io::Error) -> Error {
    if let Some(&TooLong(limit)) = error.get_ref().and_then(|e| e.downcast_ref::<TooLong>()) {
        return super::limit::too_large(path, "its decompressed text", limit.saturating_add(1), limit);
    }
    file_error(
        path,
        None,
        None,
        format!("the compressed data are cut short or damaged ({error}); fetch the file again"),
    )
}

/// First bytes that show what a file is.
const HEAD: usize = 16;

/// Up to `n` first bytes.
fn peek(reader: &mut impl Read, n: usize) -> std::io::Result<Vec<u8>> {
    let mut head = vec![0; n];
    let mut filled = 0;
    while filled < n {
        match reader.read(&mut head[filled..]) {
            Ok(0) => break,
            Ok(k) => filled += k,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    head.truncate(filled);
    Ok(head)
}

/// Refuses well-known formats that are not text, with the ending that they should have.
pub(crate) fn check_is_text(path: &Path, head: &[u8]) -> Result<()> {
    let start: Vec<u8> = head.iter().take(HEAD).map(u8::to_ascii_lowercase).collect();
    let what = match head {
        _ if ["<html", "<!doctype", "<table", "<?xml"].iter().any(|tag| start.starts_with(tag.as_bytes())) => {
            "is a web page (HTML or XML); open it in a spreadsheet program and save it as CSV"
        }
        [b'%', b'P', b'D', b'F', ..] => "is a PDF; export the table as CSV from the program that made it",
        [b'{', b'\\', b'r', b't', b'f', ..] => "is formatted text (RTF); save it as plain text",
        [0xd0, 0xcf, 0x11, 0xe0, ..] => "is an older Excel workbook; name it .xls, or save it as CSV",
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => "is UTF-32 text; save it again as UTF-8",
        [b'P', b'A', b'R', b'1', ..] => "is a Parquet file; name it .parquet",
        [b'A', b'R', b'R', b'O', ..] => "is an Arrow file; name it .arrow",
        [b'P', b'K', 3, 4, ..] => {
            "is a zip archive (a spreadsheet or .npz?); save it as CSV, or name a NumPy archive .npz"
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "is UTF-16 text; save it again as UTF-8, in Excel as `CSV UTF-8`",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "is compressed with zstd; decompress it or use gzip",
        _ => return Ok(()),
    };
    Err(file_error(path, None, None, what))
}

/// Refuses a file whose first bytes are not `magic`.
pub(crate) fn check_magic(path: &Path, magic: &[u8], what: &str) -> Result<()> {
    let mut file = open(path)?;
    let head = peek(&mut file, magic.len()).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    if head == magic {
        return Ok(());
    }
    let message = if head.is_empty() {
        "is empty; name the file that holds the data".to_owned()
    } else {
        format!("does not start like {what}; is the ending right, or was the file cut short?")
    };
    Err(file_error(path, None, None, message))
}
