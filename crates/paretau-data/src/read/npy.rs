//! NumPy arrays: the header, and the numbers or texts behind it. Pickled objects are refused, never run.

use std::io::Read;

/// An array of numbers or text in C order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Array {
    pub(super) shape: Vec<usize>,
    pub(super) data: Data,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Data {
    Number(Vec<f64>),
    Text(Vec<String>),
}

/// An array whose header has been read and whose values have not.
pub(super) struct Start<R> {
    source: R,
    kind: ItemKind,
    shape: Vec<usize>,
    fortran: bool,
    /// Bytes of the values.
    bytes: u64,
}

impl<R: Read> Start<R> {
    /// Reads the header; `size` is the number of bytes that the archive claims for all of the array.
    pub(super) fn read(mut source: R, size: u64) -> Result<Self, String> {
        let mut magic = [0; 8];
        source.read_exact(&mut magic).map_err(|e| e.to_string())?;
        if !magic.starts_with(b"\x93NUMPY") {
            return Err("is not a NumPy array".into());
        }
        let mut length = [0; 4];
        let digits = if magic[6] >= 2 { 4 } else { 2 };
        source.read_exact(&mut length[..digits]).map_err(|e| e.to_string())?;
        let length = u32::from_le_bytes(length) as usize;
        if length > 1 << 20 {
            return Err("has a header of more than 1 MiB".into());
        }
        let mut header = vec![0; length];
        source.read_exact(&mut header).map_err(|e| e.to_string())?;
        let header = String::from_utf8_lossy(&header).into_owned();
        let descr = quoted(&header, "descr").ok_or("has a type that is no plain number or text")?;
        let fortran = after(&header, "fortran_order").is_some_and(|rest| rest.trim_start().starts_with("True"));
        let shape = shape(&header).ok_or("has no shape in its header")?;
        let kind = ItemKind::parse(&descr)?;
        let n = shape.iter().try_fold(1_usize, |n, &k| n.checked_mul(k)).ok_or("is larger than any memory")?;
        let bytes = n.checked_mul(kind.width).ok_or("is larger than any memory")? as u64;
        let held = size.saturating_sub((magic.len() + digits + length) as u64);
        if bytes != held {
            return Err(format!("should have {bytes} bytes of data by its shape, but the archive holds {held}"));
        }
        Ok(Self { source, kind, shape, fortran, bytes })
    }

    /// Bytes of memory that the array takes while it is read.
    pub(super) fn memory(&self) -> u64 {
        let items = self.bytes / self.kind.width.max(1) as u64;
        // A text is a pointer, a length and a capacity beside its own bytes.
        let each = if matches!(self.kind.letter, 'U' | 'S') { 24 + self.kind.width as u64 + 16 } else { 8 };
        self.bytes.saturating_add(items.saturating_mul(each))
    }

    /// Reads the values to the very end of the source, where its checksum is compared.
    pub(super) fn finish(&mut self) -> Result<Array, String> {
        let Self { source, kind, shape, fortran, bytes } = self;
        let (kind, bytes) = (*kind, *bytes);
        let mut raw = vec![];
        source.take(bytes).read_to_end(&mut raw).map_err(|e| e.to_string())?;
        if (raw.len() as u64) < bytes {
            return Err(format!("should have {bytes} bytes of data, but has {}", raw.len()));
        }
        if source.read(&mut [0]).map_err(|e| e.to_string())? > 0 {
            return Err(format!("has more than the {bytes} bytes of data that its shape tells"));
        }
        let items = raw.chunks_exact(kind.width.max(1));
        let data = match kind.letter {
            'U' => Data::Text(items.map(|item| unicode(item, kind.big)).collect()),
            'S' => {
                Data::Text(items.map(|item| String::from_utf8_lossy(item).trim_end_matches('\0').to_owned()).collect())
            }
            _ => Data::Number(items.map(|item| kind.number(item)).collect()),
        };
        let array = Array { shape: std::mem::take(shape), data };
        Ok(if *fortran && array.shape.len() == 2 { array.transposed() } else { array })
    }
}

impl Array {
    /// Column order to row order.
    fn transposed(mut self) -> Self {
        let (n, d) = (self.shape[0], self.shape[1]);
        if let Data::Number(values) = &mut self.data {
            let by_columns = std::mem::take(values);
            *values = (0..n * d).map(|k| by_columns[(k % d) * n + k / d]).collect();
        }
        self
    }
}

/// How an item is stored.
#[derive(Debug, Clone, Copy)]
struct ItemKind {
    letter: char,
    width: usize,
    big: bool,
}

impl ItemKind {
    /// Parses a type such as `<f8`, `|b1` or `<U12`.
    fn parse(descr: &str) -> Result<Self, String> {
        let refuse = || format!("has type `{descr}`; use numbers, booleans or text");
        let mut chars = descr.chars();
        let order = chars.next().ok_or_else(refuse)?;
        let letter = chars.next().ok_or_else(refuse)?;
        let count: usize = chars.as_str().parse().map_err(|_| refuse())?;
        let width = if letter == 'U' { count.checked_mul(4).ok_or_else(refuse)? } else { count };
        match (letter, width) {
            ('f', 2 | 4 | 8) | ('i' | 'u', 1 | 2 | 4 | 8) | ('b', 1) | ('U' | 'S', 1..=1_048_576) => {
                Ok(Self { letter, width, big: order == '>' })
            }
            _ => Err(refuse()),
        }
    }

    fn number(self, item: &[u8]) -> f64 {
        let mut word = [0_u8; 8];
        // The item's bytes, least significant first.
        for (k, slot) in word[..self.width].iter_mut().enumerate() {
            *slot = item[if self.big { self.width - 1 - k } else { k }];
        }
        let bits = u64::from_le_bytes(word);
        let unused = 64 - 8 * self.width as u32;
        match (self.letter, self.width) {
            ('f', 8) => f64::from_bits(bits),
            ('f', 4) => f64::from(f32::from_bits(bits as u32)),
            ('f', _) => half(bits as u16),
            // Shifting up and down again spreads the sign bit.
            ('i', _) => ((bits << unused) as i64 >> unused) as f64,
            _ => bits as f64,
        }
    }
}

/// A 16-bit float.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff) / 1024.0);
    sign * match exponent {
        0 => fraction * 2_f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1.0 + fraction) * 2_f64.powi(e - 15),
    }
}

fn unicode(item: &[u8], big: bool) -> String {
    item.chunks_exact(4)
        .map(|c| {
            let word = [c[0], c[1], c[2], c[3]];
            if big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
        })
        .take_while(|&c| c != 0)
        .filter_map(char::from_u32)
        .collect()
}

/// What follows `'key':` in the header's dictionary.
fn after<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let at = header.find(&format!("'{key}'"))?;
    header[at..].split_once(':').map(|(_, rest)| rest)
}

fn quoted(header: &str, key: &str) -> Option<String> {
    let rest = after(header, key)?.trim_start().strip_prefix('\'')?;
    rest.split('\'').next().map(str::to_owned)
}

fn shape(header: &str) -> Option<Vec<usize>> {
    let rest = after(header, "shape")?.trim_start().strip_prefix('(')?;
    let inside = rest.split(')').next()?;
    inside.split(',').map(str::trim).filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn array(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Result<Array, String> {
        let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        Start::read(&bytes[..], bytes.len() as u64)?.finish()
    }

    #[test]
    fn all_number_types() {
        let one = |descr: &str, data: &[u8]| match array(descr, "False", "(1,)", data).unwrap().data {
            Data::Number(v) => v[0],
            Data::Text(_) => f64::NAN,
        };
        assert_eq!(one("<f8", &1.5_f64.to_le_bytes()), 1.5);
        assert_eq!(one(">f8", &1.5_f64.to_be_bytes()), 1.5);
        assert_eq!(one("<f4", &(-2.5_f32).to_le_bytes()), -2.5);
        assert_eq!(one("<i8", &(-7_i64).to_le_bytes()), -7.0);
        assert_eq!(one(">i2", &(-7_i16).to_be_bytes()), -7.0);
        assert_eq!(one("|u1", &[200]), 200.0);
        assert_eq!(one("|b1", &[1]), 1.0);
        assert_eq!(one("<f2", &[0x00, 0xc1]), -2.5);
    }

    #[test]
    fn order_text_and_refusals() {
        let bytes: Vec<u8> = [1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let by_columns = array("<f8", "True", "(2, 3)", &bytes).unwrap();
        assert_eq!(by_columns.data, Data::Number(vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0]));
        let text = array("<U2", "False", "(1,)", &[b'a', 0, 0, 0, 0, 0, 0, 0]).unwrap();
        assert_eq!(text.data, Data::Text(vec!["a".into()]));
        assert!(array("|O", "False", "(1,)", &[0]).unwrap_err().contains("|O"));
        assert!(array("<f8", "False", "(9,)", &bytes).is_err());
        assert!(array("<f8", "False", "(5,)", &bytes).unwrap_err().contains("should have 40 bytes"));
        assert!(array("<f8", "False", "(99999999999, 99999999999)", &bytes).is_err());
    }
}
