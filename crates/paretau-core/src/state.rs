//! The portable state of a fitted model: named tensors and a JSON value. The facade writes it to a file.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Error, Result};

/// A typed array with a shape.
#[derive(Debug, Clone, PartialEq)]
pub enum Tensor {
    /// 64-bit floats.
    F64(Vec<usize>, Vec<f64>),
    /// 32-bit floats.
    F32(Vec<usize>, Vec<f32>),
    /// Unsigned 32-bit integers.
    U32(Vec<usize>, Vec<u32>),
    /// Unsigned 16-bit integers.
    U16(Vec<usize>, Vec<u16>),
    /// Bytes.
    U8(Vec<usize>, Vec<u8>),
}

impl Tensor {
    /// The shape.
    pub fn shape(&self) -> &[usize] {
        match self {
            Self::F64(s, _) | Self::F32(s, _) | Self::U32(s, _) | Self::U16(s, _) | Self::U8(s, _) => s,
        }
    }
}

/// What a fitted model needs to come back: numbers as tensors, everything else as JSON.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    /// Small structured facts.
    pub json: Value,
    /// Named arrays.
    pub tensors: BTreeMap<String, Tensor>,
}

impl State {
    /// A state whose JSON part is `value`.
    pub fn new(value: &impl Serialize) -> Result<Self> {
        let json = serde_json::to_value(value).map_err(|e| Error::internal("writing the state of a model", e))?;
        Ok(Self { json, tensors: BTreeMap::new() })
    }

    /// The JSON part as a type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        T::deserialize(&self.json).map_err(|e| Error::bad_model(format!("its description does not parse: {e}")))
    }

    /// Adds a 1-D or shaped f64 tensor.
    pub fn put_f64(&mut self, name: &str, shape: &[usize], values: Vec<f64>) {
        self.tensors.insert(name.to_owned(), Tensor::F64(shape.to_vec(), values));
    }

    /// The f64 tensor of that name, with its shape checked.
    pub fn f64(&self, name: &str, shape: &[usize]) -> Result<&[f64]> {
        match self.tensors.get(name) {
            Some(Tensor::F64(found, values)) if found == shape => Ok(values),
            Some(other) => {
                Err(Error::bad_model(format!("tensor `{name}` should be f64 {shape:?}, found {:?}", other.shape())))
            }
            None => Err(Error::bad_model(format!("tensor `{name}` is missing"))),
        }
    }

    /// Moves all tensors and the JSON of `other` under a prefix, for models made of models.
    pub fn nest(&mut self, prefix: &str, other: Self) {
        if !self.json.is_object() {
            self.json = Value::Object(serde_json::Map::new());
        }
        if let Value::Object(map) = &mut self.json {
            map.insert(prefix.to_owned(), other.json);
        }
        self.tensors.extend(other.tensors.into_iter().map(|(name, tensor)| (format!("{prefix}/{name}"), tensor)));
    }

    /// The nested state under a prefix.
    pub fn nested(&self, prefix: &str) -> Result<Self> {
        let json =
            self.json.get(prefix).cloned().ok_or_else(|| Error::bad_model(format!("part `{prefix}` is missing")))?;
        let start = format!("{prefix}/");
        let tensors = self
            .tensors
            .iter()
            .filter_map(|(name, tensor)| name.strip_prefix(&start).map(|rest| (rest.to_owned(), tensor.clone())))
            .collect();
        Ok(Self { json, tensors })
    }
}
