//! The model file: one safetensors file with versioned JSON metadata, refused when anything is off.
//!
//! Reading one runs no code: it is numbers and a JSON description. A digest over both catches truncation and
//! alteration; the format number catches files of a later paretau.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use paretau_core::{Error, Result, State, Tensor, hex};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The newest format this version writes and reads.
const FORMAT: u64 = 1;
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
    let header = bytes.first_chunk::<8>().map(|b| u64::from_le_bytes(*b));
    if header.is_none_or(|len| len > MAX_HEADER) {
        return Err(Error::bad_model("this is not a paretau model file; name one that `paretau fit` wrote"));
    }
    let parse = |e: safetensors::SafeTensorError| {
        Error::bad_model(format!("the file is damaged or not a model ({e}); copy it again or fit anew"))
    };
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(parse)?;
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
        _ => return Err(Error::bad_model("its format number is missing or unknown")),
    }
    let tensors = SafeTensors::deserialize(bytes).map_err(parse)?;
    let json = document["model"].take();
    let raw: BTreeMap<String, TensorView<'_>> = tensors.tensors().into_iter().collect();
    let digestible =
        raw.iter().map(|(name, view)| (name.as_str(), (view.dtype(), view.shape(), view.data().to_vec()))).collect();
    if document["digest"] != digest(&json, &digestible) {
        return Err(Error::bad_model(
            "its contents do not match their digest: the file was altered or damaged; copy it again or fit anew",
        ));
    }
    let tensors = raw.into_iter().map(|(name, view)| from_raw(&view).map(|t| (name, t))).collect::<Result<_>>()?;
    Ok(State { json, tensors })
}

/// Reads a file whole, with the path in any error.
pub fn read(path: &Path) -> Result<State> {
    let bytes = fs::read(path).map_err(|source| Error::Io { path: path.to_path_buf(), source })?;
    from_bytes(&bytes).map_err(|error| match error {
        Error::BadModel { message } => Error::File { path: path.to_path_buf(), column: None, row: None, message },
        other => other,
    })
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

    #[test]
    fn a_file_of_the_future_is_named_as_such() {
        let text = json!({"format": 99, "digest": "", "model": {}}).to_string();
        let bytes =
            safetensors::serialize(Vec::<(&str, TensorView<'_>)>::new(), Some(HashMap::from([(KEY.to_owned(), text)])))
                .unwrap();
        assert!(from_bytes(&bytes).unwrap_err().to_string().contains("format 99"));
    }
}
