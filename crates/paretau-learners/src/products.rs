//! The base learner `products`: a lasso over the columns, their squares and the products of two of them.
//!
//! What two columns do together is invisible to a line, and trees need many rows to draw it in steps. Where outcome and
//! propensity share it, what is missed is confounding. Squares and products are made of standardised values that are held within
//! a few standard deviations, so that a value far out has no more say in them than in the columns themselves.

use paretau_core::{
    BaseEntry, Dense, Error, Features, FitContext, FittedRegressor, Handles, ParamKind, ParamSpec, Params,
    RegressionTask, Regressor, Result, State, Target, resolve,
};
use paretau_kernels::numeric::sigmoid;
use serde::{Deserialize, Serialize};

use crate::design_matrix::{Moments, refuse_missing, weights_or_ones};
use crate::lasso::{Lasso, LassoTask, Loss, MAX_LOGIT};
use crate::ridge::linear_predictor;

/// Standard deviations within which values are held before they are multiplied.
const FARTHEST: f64 = 3.0;
/// Columns whose products are looked at; of more, those that go most with the outcome.
const MOST_FACTORS: usize = 40;
/// Feature columns beyond which it does not take part in the stack of nuisances.
const MOST_COLUMNS: usize = 256;
/// Rows beyond which it does not: trees find products there by themselves.
const MOST_ROWS: usize = 10_000;

/// Entry of the base learner `products`.
#[derive(Debug, Clone, Copy)]
pub struct ProductsBase;

/// The entry for the list of base learners.
pub const PRODUCTS: ProductsBase = ProductsBase;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProductsConfig {
    penalty: Option<f64>,
    folds: usize,
    most: usize,
}

const DEFAULTS: ProductsConfig = ProductsConfig { penalty: None, folds: 5, most: 100 };

const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "penalty",
        ParamKind::Auto(&ParamKind::Float { min: 0.0, max: f64::INFINITY }),
        "absolute penalty on standardised columns and products; auto chooses it by cross-validation",
    ),
    ParamSpec::new("folds", ParamKind::Int { min: 2, max: 100 }, "folds for choosing the penalty"),
    ParamSpec::new(
        "most",
        ParamKind::Int { min: 1, max: 10_000 },
        "most squares and products; of more, those that go most with the outcome",
    ),
];

impl BaseEntry for ProductsBase {
    fn name(&self) -> &'static str {
        "products"
    }

    fn summary(&self) -> &'static str {
        "Lasso over the columns, their squares and the products of two of them"
    }

    fn handles(&self) -> Handles {
        Handles { missing: false, sparse: true, categories: false, many_arms: false }
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn for_nuisances(&self, n_rows: usize) -> Option<Params> {
        (n_rows <= MOST_ROWS).then(|| Params::none().with("folds", 3))
    }

    fn most_columns(&self) -> Option<usize> {
        Some(MOST_COLUMNS)
    }

    fn build(&self, params: &Params) -> Result<Box<dyn Regressor>> {
        Ok(Box::new(ProductsRegressor { config: resolve("products", PARAMS, &DEFAULTS, params)? }))
    }

    fn load(&self, state: &State) -> Result<Box<dyn FittedRegressor>> {
        let Saved { probability, n_features, pairs } = state.parse()?;
        if pairs.iter().any(|(a, b)| *a.max(b) >= n_features) {
            return Err(Error::bad_model("a product is of a column that is not there"));
        }
        let loss = if probability { Loss::Logistic } else { Loss::Squared };
        let width = n_features.checked_add(pairs.len());
        let width = width.ok_or_else(|| Error::bad_model("a lasso of more columns than can be counted"))?;
        let lasso = Lasso::get(state, loss, width)?;
        let values = |name: &str| -> Result<Vec<f64>> {
            let values = state.f64(name, &[n_features])?.to_vec();
            if values.iter().all(|v| v.is_finite()) {
                Ok(values)
            } else {
                Err(Error::bad_model(format!("`{name}` holds values that are not finite")))
            }
        };
        let scale = Scale { mean: values("products/mean")?, inverse_sd: values("products/inverse_sd")? };
        Ok(Box::new(FittedProducts { scale, pairs, lasso }))
    }
}

#[derive(Debug)]
struct ProductsRegressor {
    config: ProductsConfig,
}

/// How columns are standardised before they are multiplied.
#[derive(Debug, Clone)]
struct Scale {
    mean: Vec<f64>,
    inverse_sd: Vec<f64>,
}

impl Scale {
    fn value(&self, j: usize, x: f64) -> f64 {
        ((x - self.mean[j]) * self.inverse_sd[j]).clamp(-FARTHEST, FARTHEST)
    }
}

/// Copies a row's values, those that are not stored as zeros.
fn copy_row(x: &Features, i: usize, into: &mut [f64]) {
    match x {
        Features::Dense(m) => into.copy_from_slice(m.row(i)),
        Features::Sparse(m) => {
            into.fill(0.0);
            let (columns, values) = m.row(i);
            columns.iter().zip(values).for_each(|(&j, v)| into[j as usize] = *v);
        }
    }
}

/// The columns to multiply and, where there are more products than wanted, those that go most with the outcome.
fn pairs(x: &Features, y: &[f64], w: &[f64], scale: &Scale, most: usize) -> Vec<(usize, usize)> {
    let (n, d, total) = (x.n_rows(), x.n_cols(), w.iter().sum::<f64>());
    let mean = y.iter().zip(w).map(|(y, w)| y * w).sum::<f64>() / total;
    let mut row = vec![0.0; d];
    let (mut slope, mut indicator) = (vec![0.0; d], vec![true; d]);
    for i in 0..n {
        copy_row(x, i, &mut row);
        for j in 0..d {
            let z = scale.value(j, row[j]);
            slope[j] += w[i] * (y[i] - mean) * z;
            indicator[j] &= row[j] == 0.0 || row[j] == 1.0;
        }
    }
    let mut factors: Vec<usize> = (0..d).filter(|&j| scale.inverse_sd[j] > 0.0).collect();
    if factors.len() > MOST_FACTORS {
        factors.sort_by(|&a, &b| slope[b].abs().total_cmp(&slope[a].abs()).then(a.cmp(&b)));
        factors.truncate(MOST_FACTORS);
        factors.sort_unstable();
    }
    let mut pairs = vec![];
    for (k, &a) in factors.iter().enumerate() {
        // The square of an indicator is a line of it.
        pairs.extend(factors[k..].iter().map(|&b| (a, b)).filter(|&(a, b)| a != b || !indicator[a]));
    }
    if pairs.len() <= most {
        return pairs;
    }
    // Weighted sums of each product, of its square, and of it times the outcome.
    let mut sums = vec![[0.0; 3]; pairs.len()];
    let mut z = vec![0.0; d];
    for i in 0..n {
        copy_row(x, i, &mut row);
        factors.iter().for_each(|&j| z[j] = scale.value(j, row[j]));
        let gap = y[i] - mean;
        for (sum, &(a, b)) in sums.iter_mut().zip(&pairs) {
            let product = z[a] * z[b];
            sum[0] += w[i] * product;
            sum[1] += w[i] * product * product;
            sum[2] += w[i] * product * gap;
        }
    }
    let strength = |k: usize| {
        let [sum, squares, with] = sums[k];
        let variance = squares - sum * sum / total;
        if variance > 1e-12 * squares { with * with / variance } else { 0.0 }
    };
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by(|&a, &b| strength(b).total_cmp(&strength(a)).then(a.cmp(&b)));
    order.truncate(most);
    order.sort_unstable();
    order.into_iter().map(|k| pairs[k]).collect()
}

impl Regressor for ProductsRegressor {
    fn fit(&self, task: &RegressionTask<'_>, ctx: &FitContext<'_>) -> Result<Box<dyn FittedRegressor>> {
        let RegressionTask { x, y, weight, groups, .. } = *task;
        refuse_missing(x, "the lasso of products")?;
        let (n, d) = (x.n_rows(), x.n_cols());
        if n == 0 || y.len() != n {
            return Err(Error::LengthMismatch { what: "outcome", expected: n, found: y.len() });
        }
        let w = weights_or_ones(weight, n);
        if w.iter().sum::<f64>().partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
            return Err(Error::unfit("all rows to learn from have weight 0"));
        }
        let Moments { mean, inverse_sd } = Moments::of(x, &w);
        let scale = Scale { mean, inverse_sd };
        let pairs = pairs(x, y, &w, &scale, self.config.most);
        let mut values = Vec::with_capacity(n * (d + pairs.len()));
        let mut row = vec![0.0; d];
        for i in 0..n {
            copy_row(x, i, &mut row);
            values.extend_from_slice(&row);
            values.extend(pairs.iter().map(|&(a, b)| scale.value(a, row[a]) * scale.value(b, row[b])));
        }
        let wider = Features::Dense(Dense::new(n, d + pairs.len(), values)?);
        let loss = match task.target {
            Target::Mean => Loss::Squared,
            Target::Probability => Loss::Logistic,
        };
        let task = LassoTask { x: &wider, y, weight, groups, loss };
        let mut lasso = Lasso::fit(&task, self.config.penalty, self.config.folds, ctx.seed, &|| ctx.check_interrupt())?;
        // Products that were left out need not be kept.
        let kept: Vec<usize> = (0..pairs.len()).filter(|&k| lasso.coef[d + k] != 0.0).collect();
        lasso.coef = (0..d).chain(kept.iter().map(|k| d + k)).map(|j| lasso.coef[j]).collect();
        Ok(Box::new(FittedProducts { scale, pairs: kept.into_iter().map(|k| pairs[k]).collect(), lasso }))
    }
}

#[derive(Debug)]
struct FittedProducts {
    scale: Scale,
    /// The columns of each product.
    pairs: Vec<(usize, usize)>,
    /// Coefficients of the columns, then of the products.
    lasso: Lasso,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    probability: bool,
    n_features: usize,
    pairs: Vec<(usize, usize)>,
}

impl FittedRegressor for FittedProducts {
    fn predict(&self, x: &Features) -> Result<Vec<f64>> {
        let d = self.scale.mean.len();
        if x.n_cols() != d {
            let message = format!("the regression was fitted on {d} feature columns, the data have {}", x.n_cols());
            return Err(Error::SchemaMismatch { message });
        }
        refuse_missing(x, "the lasso of products")?;
        let (own, products) = self.lasso.coef.split_at(d);
        let mut out = linear_predictor(x, self.lasso.intercept, own);
        let mut row = vec![0.0; d];
        for (i, score) in out.iter_mut().enumerate() {
            copy_row(x, i, &mut row);
            for (&(a, b), coef) in self.pairs.iter().zip(products) {
                *score += coef * self.scale.value(a, row[a]) * self.scale.value(b, row[b]);
            }
            if self.lasso.loss == Loss::Logistic {
                *score = sigmoid(score.clamp(-MAX_LOGIT, MAX_LOGIT));
            }
        }
        Ok(out)
    }

    fn state(&self) -> Result<State> {
        let n_features = self.scale.mean.len();
        let probability = self.lasso.loss == Loss::Logistic;
        let mut state = State::new(&Saved { probability, n_features, pairs: self.pairs.clone() })?;
        state.put_f64("products/mean", &[n_features], self.scale.mean.clone());
        state.put_f64("products/inverse_sd", &[n_features], self.scale.inverse_sd.clone());
        self.lasso.put(&mut state);
        Ok(state)
    }
}
