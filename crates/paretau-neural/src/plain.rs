//! A trained plain net.

use paretau_core::{Error, Features, Result, State, Tensor};
use paretau_kernels::parallel::Parallelism;
use rayon::prelude::*;

use crate::data::{Centres, Rows, Scaler};
use crate::engine::{Mode, Net, NetWork};
use crate::error::failed;
use crate::model::PlainSpec;

/// Rows a task predicts.
const BLOCK: usize = 512;

/// A plain net with the scales it was trained on.
#[derive(Debug, Clone)]
pub(crate) struct PlainPredictor {
    pub(crate) hidden: Vec<usize>,
    net: Net,
    scaler: Scaler,
    columns: Centres<f32>,
    params: Vec<f32>,
}

/// Buffers for a block of rows.
#[derive(Debug)]
pub(crate) struct PlainWork {
    rows: Rows<f32>,
    work: NetWork<f32>,
}

impl PlainPredictor {
    pub(crate) fn new(hidden: Vec<usize>, spec: &PlainSpec, scaler: Scaler, params: Vec<f32>) -> Result<Self> {
        let (net, layout) = spec.net();
        if layout.len() != params.len() || scaler.width() != spec.d || params.iter().any(|p| !p.is_finite()) {
            return Err(Error::bad_model("a plain net's parameters do not fit its shape"));
        }
        Ok(Self { hidden, net, columns: Centres::new(&scaler), scaler, params })
    }

    pub(crate) fn work(&self, capacity: usize) -> PlainWork {
        PlainWork { rows: Rows::default(), work: self.net.work(capacity, false) }
    }

    /// Outputs for some rows, at most as many as `work` holds.
    pub(crate) fn answer<'w>(&self, x: &Features, rows: &[usize], work: &'w mut PlainWork) -> Result<&'w [f32]> {
        let picked = rows.iter().copied();
        let input = match x {
            Features::Sparse(m) if !self.scaler.clamps => {
                work.rows.take_sparse(m, &self.scaler, picked);
                work.rows.sparse_input(&self.columns)
            }
            _ => {
                work.rows.take_dense(x, &self.scaler, picked);
                work.rows.dense_input(self.scaler.width())
            }
        };
        let input = input.map_err(failed)?;
        let shape = (rows.len(), Mode::Evaluation);
        self.net.forward(&self.params, input, shape, &mut work.work, Parallelism::None).map_err(failed)?;
        Ok(work.work.output())
    }

    /// Outputs for all rows.
    pub(crate) fn outputs(&self, x: &Features) -> Result<Vec<f64>> {
        let rows: Vec<usize> = (0..x.n_rows()).collect();
        let parts: Vec<Result<Vec<f64>>> = rows
            .par_chunks(BLOCK)
            .map_init(
                || self.work(BLOCK),
                |work, rows| Ok(self.answer(x, rows, work)?.iter().map(|v| f64::from(*v)).collect()),
            )
            .collect();
        Ok(parts.into_iter().collect::<Result<Vec<_>>>()?.concat())
    }

    /// Whether far-out features are held back.
    pub(crate) fn clamps(&self) -> bool {
        self.scaler.clamps
    }

    pub(crate) fn put_scaler(&self, state: &mut State, tag: &str) {
        let d = self.scaler.mean.len();
        state.put_f64(&format!("mean{tag}"), &[d], self.scaler.mean.clone());
        state.put_f64(&format!("scale{tag}"), &[d], self.scaler.scale.clone());
    }

    pub(crate) fn put(&self, state: &mut State, name: &str) {
        state.tensors.insert(name.to_owned(), Tensor::F32(vec![self.params.len()], self.params.clone()));
    }
}
