//! The model file: one safetensors file with versioned JSON metadata, refused when anything is off.
//!
//! Reading one runs no code: it is numbers and a JSON description. A digest over both catches truncation and
//! alteration; the format number catches files of a later paretau.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use paretau_core::{Error, Result, State, Tensor, hex};
use safetensors::SafeTensorError;
use safetensors::tensor::{Dtype, Metadata, SafeTensors, TensorView};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The format that this version writes and reads. 2: arms in one list, weights with a tail for each arm. 3: a
/// fingerprint of the training rows and the scores of held-out predictions. 4: what intervals miss along a direction. 5: what is known of any arm stands with it.
const FORMAT: u64 = 5;
/// The one metadata key; its value is the whole JSON document.
const KEY: &str = "paretau";
/// A header larger than this is not a model; refusing it early keeps a foreign file from eating memory.
const MAX_HEADER: u64 = 256 << 20;

/// The file's bytes for a state.
pub fn to_bytes(state: &State) -> Result<Vec<u8>> {
    let raw: BTreeMap<&str, (Dtype, &[usize], Vec<u8>)> =
        state.tensors.iter().map(|(name, tensor)| (name.as_str(), to_raw(tensor))).collect();
    let document = json!({ "format": FORMAT, "digest": digest(&state.json, &raw), "model": state.json });
    let views: Vec<(&str, TensorView<'_>)> = raw
        .iter()
        .map(|(name, (dtype, shape, bytes))| TensorView::new(*dtype, shape.to_vec(), bytes).map(|view| (*name, view)))
        .collect::<Result<_, _>>()
        .map_err(|e| Error::bad_model(e.to_string()))?;
    let metadata = HashMap::from([(KEY.to_owned(), document.to_string())]);
    safetensors::serialize(views, Some(metadata)).map_err(|e| Error::bad_model(e.to_string()))
}

/// The state in a file's bytes; any doubt is an error.
pub fn from_bytes(bytes: &[u8]) -> Result<State> {
    header_length(bytes)?;
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
    let text = header
        .metadata()
        .as_ref()
        .and_then(|m| m.get(KEY))
        .ok_or_else(|| Error::bad_model("the file holds tensors, but no paretau model"))?;
    let mut document: Value =
        serde_json::from_str(text).map_err(|e| Error::bad_model(format!("its description is damaged ({e})")))?;
    match document["format"].as_u64() {
        Some(FORMAT) => {}
        Some(newer) if newer > FORMAT => {
            return Err(Error::bad_model(format!(
                "it has format {newer}, this version reads up to {FORMAT}; update paretau to read it"
            )));
        }
        Some(older) => {
            return Err(Error::bad_model(format!(
                "it has format {older} of an earlier version, this version reads format {FORMAT}; fit the model again"
            )));
        }
        None => return Err(Error::bad_model("its format number is missing or unknown")),
    }
    let tensors = SafeTensors::deserialize(bytes).map_err(damaged)?;
    let json = document["model"].take();
    let raw: BTreeMap<String, TensorView<'_>> = tensors.tensors().into_iter().collect();
    let digestible =
        raw.iter().map(|(name, view)| (name.as_str(), (view.dtype(), view.shape(), view.data().to_vec()))).collect();
    if document["digest"] != digest(&json, &digestible) {
        return Err(Error::bad_model(
            "its contents do not match their digest: the file was altered or damaged; copy it again or fit again",
        ));
    }
    let tensors = raw.into_iter().map(|(name, view)| from_raw(&view).map(|t| (name, t))).collect::<Result<_>>()?;
    Ok(State { json, tensors })
}

/// Reads a file, with the path in any error. Its first bytes decide whether it is a model, its header how much is read.
pub fn read(path: &Path) -> Result<State> {
    let io = |source| Error::Io { path: path.to_path_buf(), source };
    let file = File::open(path).map_err(io)?;
    let size = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|m| m.len());
    read_from(file, size, io).map_err(|error| match error {
        Error::BadModel { message } => Error::File { path: path.to_path_buf(), column: None, row: None, message },
        other => other,
    })
}

/// The state in a source of so many bytes, where their number is known.
fn read_from(mut source: impl Read, size: Option<u64>, io: impl Fn(std::io::Error) -> Error) -> Result<State> {
    let mut bytes = vec![];
    let mut read_more = |bytes: &mut Vec<u8>, n: u64| source.by_ref().take(n).read_to_end(bytes).map_err(&io);
    // The length of the header and the brace that it begins with.
    read_more(&mut bytes, PREFIX + 1)?;
    let header = header_length(&bytes)?;
    if size.is_some_and(|size| size < PREFIX + header) {
        return Err(Error::bad_model("the file is cut short; copy it again or fit again"));
    }
    read_more(&mut bytes, header.saturating_sub(1))?;
    // Not `SafeTensors::read_metadata`, which wants the tensors' bytes as well.
    let metadata: Metadata = serde_json::from_slice(bytes.get(PREFIX as usize..).unwrap_or_default())
        .map_err(|e| damaged(SafeTensorError::InvalidHeaderDeserialization(e)))?;
    let data = metadata.data_len() as u64;
    let whole = PREFIX.saturating_add(header).saturating_add(data);
    if let Some(size) = size.filter(|&size| size != whole) {
        return Err(Error::bad_model(format!(
            "the file has {size} bytes, but its header names {whole}: it is damaged; copy it again or fit again"
        )));
    }
    // One byte more shows what should not be there.
    read_more(&mut bytes, data.saturating_add(1))?;
    from_bytes(&bytes)
}

/// Bytes in front of the header, which tell its length.
const PREFIX: u64 = 8;

/// The length of the header that the first bytes tell, if they are those of a model.
fn header_length(bytes: &[u8]) -> Result<u64> {
    match bytes.split_first_chunk::<8>().map(|(length, rest)| (u64::from_le_bytes(*length), rest.first())) {
        Some((length, Some(b'{'))) if length <= MAX_HEADER => Ok(length),
        _ => Err(Error::bad_model("this is not a paretau model file; name one that `paretau fit` wrote")),
    }
}

fn damaged(error: SafeTensorError) -> Error {
    Error::bad_model(format!("the file is damaged or not a model ({error}); copy it again or fit again"))
}

fn digest(json: &Value, tensors: &BTreeMap<&str, (Dtype, &[usize], Vec<u8>)>) -> String {
    let mut hash = Sha256::new();
    hash.update(json.to_string());
    for (name, (dtype, shape, bytes)) in tensors {
        hash.update(format!("\n{name} {dtype:?} {shape:?}\n"));
        hash.update(bytes);
    }
    hex(&hash.finalize())
}

fn to_raw(tensor: &Tensor) -> (Dtype, &[usize], Vec<u8>) {
    fn bytes<T: Copy, const N: usize>(values: &[T], encode: fn(T) -> [u8; N]) -> Vec<u8> {
        values.iter().flat_map(|&v| encode(v)).collect()
    }
    match tensor {
        Tensor::F64(shape, v) => (Dtype::F64, shape, bytes(v, f64::to_le_bytes)),
        Tensor::F32(shape, v) => (Dtype::F32, shape, bytes(v, f32::to_le_bytes)),
        Tensor::U32(shape, v) => (Dtype::U32, shape, bytes(v, u32::to_le_bytes)),
        Tensor::U16(shape, v) => (Dtype::U16, shape, bytes(v, u16::to_le_bytes)),
        Tensor::U8(shape, v) => (Dtype::U8, shape, v.clone()),
    }
}

fn from_raw(view: &TensorView<'_>) -> Result<Tensor> {
    fn values<T, const N: usize>(bytes: &[u8], decode: fn([u8; N]) -> T) -> Vec<T> {
        bytes.as_chunks::<N>().0.iter().map(|chunk| decode(*chunk)).collect()
    }
    let (shape, data) = (view.shape().to_vec(), view.data());
    Ok(match view.dtype() {
        Dtype::F64 => Tensor::F64(shape, values(data, f64::from_le_bytes)),
        Dtype::F32 => Tensor::F32(shape, values(data, f32::from_le_bytes)),
        Dtype::U32 => Tensor::U32(shape, values(data, u32::from_le_bytes)),
        Dtype::U16 => Tensor::U16(shape, values(data, u16::from_le_bytes)),
        Dtype::U8 => Tensor::U8(shape, data.to_vec()),
        other => return Err(Error::bad_model(format!("it holds a tensor of an unknown kind ({other:?})"))),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn state() -> State {
        let mut state = State { json: json!({"name": "lr-1", "pi": 0.1 + 0.2}), ..State::default() };
        state.put_f64("b", &[2], vec![1.0, f64::MIN_POSITIVE]);
        state.tensors.insert("a".into(), Tensor::U16(vec![3], vec![1, 2, 65535]));
        state
    }

    #[test]
    fn bytes_come_back_the_same_and_are_the_same_twice() {
        let bytes = to_bytes(&state()).unwrap();
        assert_eq!(from_bytes(&bytes).unwrap(), state());
        assert_eq!(bytes, to_bytes(&state()).unwrap());
    }

    #[test]
    fn every_truncation_and_every_flipped_bit_is_refused() {
        let bytes = to_bytes(&state()).unwrap();
        for len in 0..bytes.len() {
            assert!(from_bytes(&bytes[..len]).is_err(), "truncated to {len}");
        }
        for at in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[at] ^= 4;
            // Padding and white space carry nothing; what is accepted must be the same model.
            if let Ok(got) = from_bytes(&altered) {
                assert_eq!(got, state(), "byte {at}");
            }
        }
    }

    /// Bytes without end that count how many of them were asked for.
    struct Endless<'a>(&'a [u8], std::rc::Rc<std::cell::Cell<u64>>);

    impl Read for Endless<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let at = self.1.get() as usize;
            for (k, byte) in out.iter_mut().enumerate() {
                *byte = self.0[(at + k) % self.0.len()];
            }
            self.1.set((at + out.len()) as u64);
            Ok(out.len())
        }
    }

    #[test]
    fn a_foreign_file_is_refused_by_its_first_bytes() {
        let io = |source| Error::Io { path: "f".into(), source };
        let named = [&100_000_000_u64.to_le_bytes()[..], b"x"].concat();
        for foreign in [&b"a,b,c\n1,2,3\n"[..], &[0; 16], &[0xff; 16], b"PK\x03\x04aaaaaaaaaa", &named] {
            let asked = std::rc::Rc::new(std::cell::Cell::new(0));
            let error = read_from(Endless(foreign, asked.clone()), Some(3 << 30), io).unwrap_err();
            assert!(error.to_string().contains("not a paretau model file"), "{error}");
            assert!(asked.get() <= 64, "{} bytes of a foreign file were read", asked.get());
        }
    }

    #[test]
    fn a_header_that_names_more_or_less_than_the_file_has_is_refused_before_it_is_read() {
        let io = |source| Error::Io { path: "f".into(), source };
        let bytes = to_bytes(&state()).unwrap();
        assert_eq!(read_from(&bytes[..], Some(bytes.len() as u64), io).unwrap(), state());
        assert_eq!(read_from(&bytes[..], None, io).unwrap(), state());
        for size in [20, bytes.len() as u64 - 1, bytes.len() as u64 + 1, 3 << 30] {
            assert!(read_from(&bytes[..], Some(size), io).is_err(), "{size}");
        }
        let longer = [&bytes[..], b"x"].concat();
        assert!(read_from(&longer[..], None, io).is_err());
    }

    #[test]
    fn a_file_of_the_future_is_named_as_such() {
        let text = json!({"format": 99, "digest": "", "model": {}}).to_string();
        let bytes =
            safetensors::serialize(Vec::<(&str, TensorView<'_>)>::new(), Some(HashMap::from([(KEY.to_owned(), text)])))
                .unwrap();
        assert!(from_bytes(&bytes).unwrap_err().to_string().contains("format 99"));
    }
}
