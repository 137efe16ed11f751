//! Latent Dirichlet allocation of a bag of words, by online variational Bayes (Hoffman, Blei and Bach 2010): every topic
//! has a Dirichlet distribution over words, every document one over topics; documents are explained given the topics,
//! a batch at a time, and after each batch the topics move towards what would explain all documents as this batch says.
//!
//! On the newspaper articles of `news.rs`'s test it gives effects that spread more than averages over the draws of a Gibbs
//! sampler did, nearer to those of the original News archive.

use paretau_core::{Csr, Error, Result, Seed};
use paretau_kernels::numeric::dot;
use rayon::prelude::*;

use super::digamma::digamma;
use super::draws::ln_gamma_variate;

/// How topics are found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lda {
    /// Topics.
    topics: usize,
    /// Passes over all documents.
    sweeps: usize,
    /// Documents of a batch.
    batch: usize,
}

/// Prior weight of every word in a topic, as Griffiths and Steyvers (2004) have it; of the values tried, 0.004 to 0.1, the one whose
/// effects on real articles spread most like the archive's. All topics together have weight one in a document.
const WORD_PRIOR: f64 = 0.1;
/// Documents of a batch, unless a test asks for others.
const BATCH: usize = 128;
/// A batch counts `(DELAY + its number)^-FORGETTING` in the topics, so that the first ones do not decide.
const DELAY: f64 = 10.0;
const FORGETTING: f64 = 0.7;
/// A document is explained when its topics' weights move by less than this on average, or after so many steps.
const CLOSE: f64 = 1e-3;
const STEPS: usize = 100;
/// Shape of the gamma distribution with mean 1 that topics start from: nearly alike, but not quite.
const START: f64 = 100.0;

impl Lda {
    pub(super) fn new(topics: usize, sweeps: usize) -> Self {
        Self { topics, sweeps, batch: BATCH }
    }
}

/// Topic proportions of every document. The seed starts the topics; threads share the documents of a batch, whose words are
/// counted in the documents' order.
pub(super) fn proportions(words: &Csr, lda: Lda, seed: Seed) -> Result<Vec<Vec<f64>>> {
    for i in 0..words.n_rows() {
        let (columns, values) = words.row(i);
        for (&word, &count) in columns.iter().zip(values) {
            if !(count >= 0.0 && count.fract() == 0.0 && count < 1e6) {
                let message = format!("document {}, word {}: {count} is not a count of words", i + 1, word + 1);
                return Err(Error::unfit(message));
            }
        }
    }
    let mut rng = seed.named("topics").rng();
    let start = (0..words.n_cols() * lda.topics).map(|_| ln_gamma_variate(START, &mut rng).exp() / START).collect();
    let mut topics = Topics::new(start, lda.topics);
    topics.learn(words, lda);
    Ok((0..words.n_rows()).into_par_iter().map(|i| topics.explain(words.row(i)).proportions()).collect())
}

/// What is known of the topics.
struct Topics {
    k: usize,
    /// Prior weight of every topic in a document.
    prior: f64,
    /// Dirichlet weights, a row of topics for each word.
    weights: Vec<f64>,
    /// `exp E[log p(word | topic)]` under these weights, in the same order.
    likelihood: Vec<f64>,
}

/// What a document's topics are thought to be.
struct Explained {
    /// Dirichlet weights of its topics.
    weights: Vec<f64>,
    /// `exp E[log p(topic | document)]` under these weights.
    likelihood: Vec<f64>,
}

impl Explained {
    fn new(weights: Vec<f64>) -> Self {
        let mut out = Self { likelihood: vec![0.0; weights.len()], weights };
        out.expect();
        out
    }

    fn expect(&mut self) {
        let whole = digamma(self.weights.iter().sum());
        for (p, weight) in self.likelihood.iter_mut().zip(&self.weights) {
            *p = (digamma(*weight) - whole).exp();
        }
    }

    fn proportions(self) -> Vec<f64> {
        let total: f64 = self.weights.iter().sum();
        self.weights.into_iter().map(|weight| weight / total).collect()
    }
}

impl Topics {
    fn new(weights: Vec<f64>, k: usize) -> Self {
        let mut out = Self { k, prior: 1.0 / k as f64, likelihood: vec![0.0; weights.len()], weights };
        out.expect();
        out
    }

    fn expect(&mut self) {
        let k = self.k;
        let mut totals = vec![0.0; k];
        for row in self.weights.chunks(k) {
            totals.iter_mut().zip(row).for_each(|(total, weight)| *total += weight);
        }
        let wholes: Vec<f64> = totals.into_iter().map(digamma).collect();
        self.likelihood.par_chunks_mut(k).zip(self.weights.par_chunks(k)).with_min_len(64).for_each(|(out, row)| {
            for ((p, weight), whole) in out.iter_mut().zip(row).zip(&wholes) {
                *p = (digamma(*weight) - whole).exp();
            }
        });
    }

    fn of_word(&self, word: u32) -> &[f64] {
        &self.likelihood[word as usize * self.k..][..self.k]
    }

    /// The topics of a document: its words are shared out among topics, which changes its topics, until neither moves.
    fn explain(&self, (words, counts): (&[u32], &[f64])) -> Explained {
        let mut document = Explained::new(vec![1.0; self.k]);
        let mut sums = vec![0.0; self.k];
        for _ in 0..STEPS {
            sums.fill(0.0);
            for (&word, count) in words.iter().zip(counts) {
                let of_word = self.of_word(word);
                let share = count / (dot(&document.likelihood, of_word) + f64::EPSILON);
                sums.iter_mut().zip(of_word).for_each(|(sum, p)| *sum += share * p);
            }
            let mut moved = 0.0;
            for ((weight, p), sum) in document.weights.iter_mut().zip(&document.likelihood).zip(&sums) {
                let new = self.prior + p * sum;
                moved += (new - *weight).abs();
                *weight = new;
            }
            document.expect();
            if moved < CLOSE * self.k as f64 {
                break;
            }
        }
        document
    }

    /// Passes over the documents in batches.
    fn learn(&mut self, words: &Csr, lda: Lda) {
        let (n, k) = (words.n_rows(), self.k);
        let mut number = 0.0;
        for _ in 0..lda.sweeps {
            for first in (0..n).step_by(lda.batch) {
                let batch = first..n.min(first + lda.batch);
                let explained: Vec<Explained> =
                    batch.clone().into_par_iter().map(|i| self.explain(words.row(i))).collect();
                // Expected counts of each word in each topic, without the factor that all documents share.
                let mut counts = vec![0.0; self.weights.len()];
                for (i, document) in batch.clone().zip(&explained) {
                    let (columns, values) = words.row(i);
                    for (&word, count) in columns.iter().zip(values) {
                        let share = count / (dot(&document.likelihood, self.of_word(word)) + f64::EPSILON);
                        let of_word = &mut counts[word as usize * k..][..k];
                        of_word.iter_mut().zip(&document.likelihood).for_each(|(sum, p)| *sum += share * p);
                    }
                }
                number += 1.0;
                let step = (DELAY + number).powf(-FORGETTING);
                let scale = n as f64 / batch.len() as f64;
                for ((weight, p), count) in self.weights.iter_mut().zip(&self.likelihood).zip(&counts) {
                    *weight += step * (WORD_PRIOR + scale * count * p - *weight);
                }
                self.expect();
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::draws::{cumulate, dirichlet, pick};
    use super::*;

    fn bag(documents: &[Vec<f64>]) -> Csr {
        let (mut indptr, mut indices, mut values) = (vec![0], vec![], vec![]);
        for counts in documents {
            for (word, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
                indices.push(word as u32);
                values.push(count);
            }
            indptr.push(indices.len());
        }
        Csr::new(documents.len(), documents[0].len(), indptr, indices, values).unwrap()
    }

    /// The same start, documents and batches as scikit-learn had must end in the same topics and proportions.
    #[test]
    fn topics_and_proportions_are_those_of_scikit_learn() {
        let golden: serde_json::Value =
            serde_json::from_str(include_str!("../../../../testdata/golden/lda.json")).unwrap();
        let matrix = |name: &str| -> Vec<Vec<f64>> { serde_json::from_value(golden[name].clone()).unwrap() };
        let (start, words) = (matrix("start"), bag(&matrix("counts")));
        let (k, d) = (start.len(), start[0].len());
        let by_word =
            |topics: &[Vec<f64>]| -> Vec<f64> { (0..d).flat_map(|w| topics.iter().map(move |t| t[w])).collect() };
        let mut topics = Topics::new(by_word(&start), k);
        let number = |name: &str| golden[name].as_u64().unwrap() as usize;
        topics.learn(&words, Lda { topics: k, sweeps: number("sweeps"), batch: number("batch") });
        // Its digamma function is off by some 1e-9 near 6, which batches of steps make more of.
        for (ours, theirs) in topics.weights.iter().zip(by_word(&matrix("topics"))) {
            assert!((ours - theirs).abs() < 1e-7 * (1.0 + theirs), "{ours} is not {theirs}");
        }
        for (i, theirs) in matrix("proportions").iter().enumerate() {
            let ours = topics.explain(words.row(i)).proportions();
            for (a, b) in ours.iter().zip(theirs) {
                assert!((a - b).abs() < 1e-7, "document {i}: {ours:?} are not {theirs:?}");
            }
        }
    }

    /// Documents about one of three subjects with words of their own: the topics found must tell them apart.
    #[test]
    fn separate_subjects_become_separate_topics() {
        let mut rng = Seed(3).rng();
        let documents: Vec<Vec<f64>> = (0..90)
            .map(|i| {
                let mut counts = vec![0.0; 60];
                (0..40).for_each(|_| counts[(i % 3) * 20 + rng.below(20)] += 1.0);
                counts
            })
            .collect();
        let z = proportions(&bag(&documents), Lda { batch: 30, ..Lda::new(3, 20) }, Seed(1)).unwrap();
        let main = |z: &[f64]| (0..3).max_by(|&a, &b| z[a].total_cmp(&z[b])).unwrap();
        let topics: Vec<usize> = (0..3).map(|subject| main(&z[subject])).collect();
        assert_eq!(topics.iter().collect::<std::collections::BTreeSet<_>>().len(), 3);
        for (i, z) in z.iter().enumerate() {
            assert_eq!(main(z), topics[i % 3], "document {i}");
            assert!(z[main(z)] > 0.8, "document {i}: {z:?}");
        }
    }

    #[test]
    fn proportions_sum_to_one_whatever_the_threads_and_the_document() {
        let mut rng = Seed(4).rng();
        let topics: Vec<Vec<f64>> = (0..4).map(|_| cumulate(&dirichlet(&[0.1; 40], &mut rng))).collect();
        let mut documents: Vec<Vec<f64>> = (0..50)
            .map(|_| {
                let z = cumulate(&dirichlet(&[1.0, 0.5, 0.1, 0.1], &mut rng));
                let mut counts = vec![0.0; 40];
                (0..30).for_each(|_| counts[pick(&topics[pick(&z, &mut rng)], &mut rng)] += 1.0);
                counts
            })
            .collect();
        // A last document without words: nothing speaks for any topic.
        documents.push(vec![0.0; 40]);
        let words = bag(&documents);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| proportions(&words, Lda { batch: 16, ..Lda::new(4, 5) }, Seed(9)).unwrap())
        };
        let z = run(1);
        assert_eq!(z, run(4));
        assert!(z.iter().all(|z| (z.iter().sum::<f64>() - 1.0).abs() < 1e-12 && z.iter().all(|p| *p > 0.0)));
        assert_eq!(z[50], [0.25; 4]);
        assert_ne!(z, proportions(&words, Lda { batch: 16, ..Lda::new(4, 5) }, Seed(10)).unwrap());
    }

    #[test]
    fn half_a_word_is_refused() {
        let words = Csr::new(1, 2, vec![0, 1], vec![1], vec![0.5]).unwrap();
        let error = proportions(&words, Lda::new(2, 2), Seed(0)).unwrap_err().to_string();
        assert!(error.contains("document 1, word 2"), "{error}");
    }
}
