//! Mini-batches, stratified by arm: every batch has rows of both arms in the sample's shares, control rows first.

use paretau_core::Seed;

/// The rows of one step.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// Rows of the sample, those of the control arm first.
    pub rows: Vec<usize>,
    /// How many of them are controls.
    pub n0: usize,
    /// What a row of each arm counts for, so that an arm that got more rows than its share does not weigh more.
    pub share: [f64; 2],
    /// Key of the step's randomness.
    pub key: u64,
}

/// Deals the training rows of both arms into batches, anew every epoch, as a function of seed and epoch alone.
#[derive(Debug, Clone)]
pub struct Batches {
    arms: [Vec<usize>; 2],
    order: [Vec<usize>; 2],
    seed: Seed,
    count: usize,
}

impl Batches {
    /// Batches of about `size` of the given rows.
    pub fn new(t: &[u8], rows: &[usize], size: usize, seed: Seed) -> Self {
        let arms = [0, 1].map(|arm| rows.iter().copied().filter(|&i| t[i] == arm).collect::<Vec<_>>());
        let count = rows.len().div_ceil(size.max(2)).max(1);
        Self { order: arms.clone(), arms, seed: seed.named("batches"), count }
    }

    /// Batches in an epoch.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The largest number of rows that a batch can have.
    pub fn largest(&self) -> usize {
        self.arms.iter().map(|a| a.len().div_ceil(self.count).max(1)).sum()
    }

    /// Deals the cards of an epoch.
    pub fn shuffle(&mut self, epoch: u64) {
        for (arm, order) in self.order.iter_mut().enumerate() {
            order.copy_from_slice(&self.arms[arm]);
            self.seed.indexed(epoch).indexed(arm as u64).rng().shuffle(order);
        }
    }

    /// The `index`-th batch of the epoch that was dealt last.
    pub fn take(&self, index: usize, key: u64, batch: &mut Batch) {
        batch.rows.clear();
        batch.key = key;
        let n: usize = self.arms.iter().map(Vec::len).sum();
        let mut taken = [0; 2];
        for (arm, order) in self.order.iter().enumerate() {
            let (from, to) = (order.len() * index / self.count, order.len() * (index + 1) / self.count);
            if to > from {
                batch.rows.extend_from_slice(&order[from..to]);
            } else if !order.is_empty() {
                // Fewer rows than batches: each serves several times.
                batch.rows.push(order[index % order.len()]);
            }
            taken[arm] = to.saturating_sub(from).max(usize::from(!order.is_empty()));
        }
        batch.n0 = taken[0];
        let size = (taken[0] + taken[1]) as f64;
        for arm in 0..2 {
            let expected = self.arms[arm].len() as f64 / n.max(1) as f64 * size;
            batch.share[arm] = if taken[arm] == 0 { 1.0 } else { expected / taken[arm] as f64 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_sees_every_row_once_and_every_batch_both_arms() {
        let t: Vec<u8> = (0..103).map(|i| u8::from(i % 4 == 0)).collect();
        let rows: Vec<usize> = (0..103).collect();
        let mut batches = Batches::new(&t, &rows, 20, Seed(1));
        batches.shuffle(3);
        let (mut batch, mut seen) = (Batch::default(), vec![0; 103]);
        for index in 0..batches.count() {
            batches.take(index, 0, &mut batch);
            assert!(batch.rows.len() <= batches.largest());
            assert!(batch.rows[..batch.n0].iter().all(|&i| t[i] == 0) && batch.n0 > 0);
            assert!(batch.rows[batch.n0..].iter().all(|&i| t[i] == 1) && batch.n0 < batch.rows.len());
            batch.rows.iter().for_each(|&i| seen[i] += 1);
        }
        assert!(seen.iter().all(|&s| s == 1));
    }

    #[test]
    fn a_tiny_arm_is_in_every_batch_without_weighing_more() {
        let t: Vec<u8> = (0..1000).map(|i| u8::from(i < 3)).collect();
        let rows: Vec<usize> = (0..1000).collect();
        let mut batches = Batches::new(&t, &rows, 100, Seed(1));
        batches.shuffle(0);
        let mut batch = Batch::default();
        for index in 0..batches.count() {
            batches.take(index, 0, &mut batch);
            let treated = batch.rows.len() - batch.n0;
            assert_eq!(treated, 1);
            let mass = treated as f64 * batch.share[1] / batch.rows.len() as f64;
            assert!((mass - 0.003).abs() < 1e-12);
        }
    }
}
