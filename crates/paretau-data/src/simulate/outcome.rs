//! What a simulation returns, and drawing treatments and outcomes from a truth.

use paretau_core::{Column, Dense, Design, Features, Oracle, Result, Rng};

use crate::table::{SparseBlock, Table, TableColumn};

/// A simulated data set with its truth beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// Features.
    pub x: Features,
    /// Names and kinds of the features.
    pub columns: Vec<Column>,
    /// Treatment of each row.
    pub t: Vec<u8>,
    /// Observed outcome of each row.
    pub y: Vec<f64>,
    /// Expected outcome without treatment.
    pub mu0: Vec<f64>,
    /// Expected outcome with treatment.
    pub mu1: Vec<f64>,
    /// True propensity.
    pub e: Vec<f64>,
}

impl Simulated {
    /// What an estimator may see.
    pub fn design(&self) -> Result<Design> {
        Design::new(self.x.clone(), self.t.clone(), self.y.clone())?.named(self.columns.clone())
    }

    /// The truth.
    pub fn oracle(&self) -> Result<Oracle> {
        Oracle::new(self.mu0.clone(), self.mu1.clone())
    }

    /// Columns `t, y, mu0, mu1, e` and the features; sparse features stay a sparse block.
    pub fn table(&self) -> Result<Table> {
        let mut columns = vec![
            TableColumn::number("t", self.t.iter().map(|&t| f64::from(t)).collect()),
            TableColumn::number("y", self.y.clone()),
            TableColumn::number("mu0", self.mu0.clone()),
            TableColumn::number("mu1", self.mu1.clone()),
            TableColumn::number("e", self.e.clone()),
        ];
        match &self.x {
            Features::Dense(x) => {
                columns.extend(self.columns.iter().enumerate().map(|(j, column)| {
                    TableColumn::number(column.name.clone(), (0..x.n_rows()).map(|i| x.get(i, j)).collect())
                }));
                Table::new(columns)
            }
            Features::Sparse(values) => {
                let names = self.columns.iter().map(|c| c.name.clone()).collect();
                Table::new(columns)?.with_sparse(SparseBlock { names, values: values.clone() })
            }
        }
    }
}

/// Rows of a simulation as they are drawn.
#[derive(Debug, Default)]
pub(super) struct Rows {
    x: Vec<f64>,
    t: Vec<u8>,
    y: Vec<f64>,
    mu0: Vec<f64>,
    mu1: Vec<f64>,
    e: Vec<f64>,
}

impl Rows {
    /// Room for `n` rows of `d` features.
    pub(super) fn with_capacity(n: usize, d: usize) -> Self {
        Self { x: Vec::with_capacity(n * d), ..Self::default() }
    }

    /// Adds a row: draws its treatment, then one noise term that both potential outcomes share.
    pub(super) fn push(&mut self, x: &[f64], (mu0, mu1, e): (f64, f64, f64), noise: f64, rng: &mut Rng) {
        let treated = rng.bernoulli(e);
        let error = noise * rng.normal();
        self.x.extend_from_slice(x);
        self.t.push(u8::from(treated));
        self.y.push(if treated { mu1 } else { mu0 } + error);
        self.mu0.push(mu0);
        self.mu1.push(mu1);
        self.e.push(e);
    }

    /// Adds a row with a yes/no outcome of the given probabilities.
    pub(super) fn push_binary(&mut self, x: &[f64], (mu0, mu1, e): (f64, f64, f64), rng: &mut Rng) {
        self.push(x, (mu0, mu1, e), 0.0, rng);
        if let Some(y) = self.y.last_mut() {
            *y = f64::from(u8::from(rng.bernoulli(*y)));
        }
    }

    /// The finished data set with features `x1, x2, …`.
    pub(super) fn finish(self, d: usize) -> Result<Simulated> {
        let x = Features::Dense(Dense::new(self.y.len(), d, self.x)?);
        let Self { t, y, mu0, mu1, e, .. } = self;
        Ok(Simulated { x, columns: Column::numbered(d), t, y, mu0, mu1, e })
    }
}
