//! Latent Dirichlet allocation of a bag of words, by collapsed Gibbs sampling (Griffiths and Steyvers 2004): each
//! word of each document has a topic, redrawn from its distribution given all others; the documents' proportions are
//! averages over the later sweeps.
//!
//! How common each topic is, and how many topics a document mixes, is learnt from the corpus: the prior of a
//! document's topics has a weight of its own for every topic, found by Minka's (2000) fixed point between the sweeps,
//! while the prior of a topic's words stays the same for all words (Wallach, Mimno and McCallum 2009). With one weight
//! for all topics the sampler would cut what most articles share into many topics of about equal frequency.

use paretau_core::{Csr, Error, Result, Rng, Seed};

/// How topics are found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lda {
    /// Topics.
    topics: usize,
    /// Sweeps over all words.
    sweeps: usize,
    /// The first sweep after which the prior of the topics is learnt.
    learn_from: usize,
}

/// Prior weight of every word in a topic.
const WORD_PRIOR: f64 = 0.1;
/// Prior weight of all topics together in a document, before it is learnt.
const TOPIC_PRIOR: f64 = 5.0;
/// The least weight of a topic: one that lost its last word may still come back.
const LEAST_WEIGHT: f64 = 1e-5;
/// Sweeps before the prior is learnt, since the first topics are drawn evenly.
const LEARN_FROM: usize = 10;
/// Steps of the fixed point after a sweep. The next sweep goes on from where they end.
const STEPS: usize = 5;
/// Share of the sweeps that are forgotten because the start still shows.
const BURN_IN: f64 = 0.5;

impl Lda {
    pub(super) fn new(topics: usize, sweeps: usize) -> Self {
        Self { topics, sweeps, learn_from: LEARN_FROM }
    }
}

/// Topic proportions of every document.
pub(super) fn proportions(words: &Csr, lda: Lda, seed: Seed) -> Result<Vec<Vec<f64>>> {
    let mut rng = seed.named("topics").rng();
    let mut sampler = Sampler::start(words, lda.topics, &mut rng)?;
    let mut sums = vec![vec![0.0; lda.topics]; words.n_rows()];
    let first_kept = (lda.sweeps as f64 * BURN_IN) as usize;
    for sweep in 0..lda.sweeps {
        sampler.sweep(&mut rng);
        if sweep >= lda.learn_from {
            sampler.learn_prior();
        }
        if sweep >= first_kept {
            sampler.add_proportions(&mut sums);
        }
    }
    for row in &mut sums {
        let total: f64 = row.iter().sum();
        row.iter_mut().for_each(|sum| *sum /= total);
    }
    Ok(sums)
}

/// The words of all documents with their present topics, and how many there are of each. Counts are kept as floats,
/// which hold them exactly, so that the inner loop converts nothing.
struct Sampler {
    /// Words one by one, as document after document has them.
    words: Vec<u32>,
    /// Where each document's words start, and where the last one's end.
    starts: Vec<usize>,
    /// The present topic of each word.
    topic_of: Vec<u32>,
    /// Words by document and topic.
    in_document: Vec<f64>,
    /// Appearances by word of the vocabulary and topic.
    in_word: Vec<f64>,
    /// Words by topic.
    in_topic: Vec<f64>,
    /// Prior weight of each topic in a document.
    prior: Vec<f64>,
    /// Prior weight of all words of the vocabulary together.
    vocabulary_prior: f64,
}

impl Sampler {
    /// Every word with a topic drawn evenly.
    fn start(counts: &Csr, k: usize, rng: &mut Rng) -> Result<Self> {
        let (n, d) = (counts.n_rows(), counts.n_cols());
        let (mut words, mut starts) = (vec![], vec![0]);
        for i in 0..n {
            let (columns, values) = counts.row(i);
            for (&word, &count) in columns.iter().zip(values) {
                if !(count >= 0.0 && count.fract() == 0.0 && count < 1e6) {
                    let message = format!("document {}, word {}: {count} is not a count of words", i + 1, word + 1);
                    return Err(Error::unfit(message));
                }
                words.extend(std::iter::repeat_n(word, count as usize));
            }
            starts.push(words.len());
        }
        let mut sampler = Self {
            topic_of: words.iter().map(|_| rng.below(k) as u32).collect(),
            words,
            starts,
            in_document: vec![0.0; n * k],
            in_word: vec![0.0; d * k],
            in_topic: vec![0.0; k],
            prior: vec![TOPIC_PRIOR / k as f64; k],
            vocabulary_prior: WORD_PRIOR * d as f64,
        };
        for (i, of_document) in sampler.in_document.chunks_mut(k).enumerate() {
            for at in sampler.starts[i]..sampler.starts[i + 1] {
                let (word, topic) = (sampler.words[at] as usize, sampler.topic_of[at] as usize);
                of_document[topic] += 1.0;
                sampler.in_word[word * k + topic] += 1.0;
                sampler.in_topic[topic] += 1.0;
            }
        }
        Ok(sampler)
    }

    /// Redraws the topic of every word once.
    fn sweep(&mut self, rng: &mut Rng) {
        let k = self.prior.len();
        // A topic's weight is (in document + prior) / (in topic + vocabulary's prior) · (in word + word's prior). The
        // first part differs between the words of a document only where a count has just changed.
        let mut first_part = vec![0.0; k];
        let mut weights = vec![0.0; k];
        for (i, of_document) in self.in_document.chunks_mut(k).enumerate() {
            let (prior, in_topic, vocabulary_prior) = (&self.prior, &mut self.in_topic, self.vocabulary_prior);
            let part = |of_document: &[f64], in_topic: &[f64], topic: usize| {
                (of_document[topic] + prior[topic]) / (in_topic[topic] + vocabulary_prior)
            };
            for (topic, first) in first_part.iter_mut().enumerate() {
                *first = part(of_document, in_topic, topic);
            }
            for at in self.starts[i]..self.starts[i + 1] {
                let old = self.topic_of[at] as usize;
                let of_word = &mut self.in_word[self.words[at] as usize * k..][..k];
                of_document[old] -= 1.0;
                of_word[old] -= 1.0;
                in_topic[old] -= 1.0;
                first_part[old] = part(of_document, in_topic, old);
                for ((weight, first), count) in weights.iter_mut().zip(&first_part).zip(&*of_word) {
                    *weight = first * (count + WORD_PRIOR);
                }
                let new = draw(&weights, rng);
                of_document[new] += 1.0;
                of_word[new] += 1.0;
                in_topic[new] += 1.0;
                first_part[new] = part(of_document, in_topic, new);
                self.topic_of[at] = new as u32;
            }
        }
    }

    /// Moves the prior of the topics towards the one under which the documents' present topics are likeliest: weights
    /// `a_k` become `a_k · Σ_documents (ψ(n_k + a_k) - ψ(a_k)) / Σ_documents (ψ(n + a) - ψ(a))`, `a` their sum. Since
    /// `ψ(n + a) - ψ(a) = Σ_{c < n} 1/(c + a)`, only the numbers of documents with more than c words are needed.
    fn learn_prior(&mut self) {
        let k = self.prior.len();
        let lengths = self.starts.windows(2).map(|ends| ends[1] - ends[0]);
        let longer = numbers_above(lengths);
        if longer.is_empty() {
            return;
        }
        let more: Vec<Vec<f64>> = (0..k)
            .map(|topic| numbers_above(self.in_document.iter().skip(topic).step_by(k).map(|&count| count as usize)))
            .collect();
        let difference = |numbers: &[f64], weight: f64| -> f64 {
            numbers.iter().enumerate().map(|(c, number)| number / (c as f64 + weight)).sum()
        };
        for _ in 0..STEPS {
            let whole = difference(&longer, self.prior.iter().sum());
            for (weight, more) in self.prior.iter_mut().zip(&more) {
                *weight = (*weight * difference(more, *weight) / whole).max(LEAST_WEIGHT);
            }
        }
    }

    /// Adds the documents' expected proportions given the present topics.
    fn add_proportions(&self, sums: &mut [Vec<f64>]) {
        let whole: f64 = self.prior.iter().sum();
        for (i, (row, counts)) in sums.iter_mut().zip(self.in_document.chunks(self.prior.len())).enumerate() {
            let length = (self.starts[i + 1] - self.starts[i]) as f64 + whole;
            for ((sum, count), prior) in row.iter_mut().zip(counts).zip(&self.prior) {
                *sum += (count + prior) / length;
            }
        }
    }
}

/// An index drawn in proportion to its weight.
fn draw(weights: &[f64], rng: &mut Rng) -> usize {
    // Four sums that do not wait for each other.
    let (quads, rest) = weights.as_chunks::<4>();
    let sums = quads.iter().fold([0.0; 4], |s, q| [s[0] + q[0], s[1] + q[1], s[2] + q[2], s[3] + q[3]]);
    let mut left = rng.uniform() * (sums.iter().sum::<f64>() + rest.iter().sum::<f64>());
    for (index, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return index;
        }
    }
    weights.len() - 1
}

/// At c: how many of the values are larger than c; up to the largest value.
fn numbers_above(values: impl Iterator<Item = usize>) -> Vec<f64> {
    let mut numbers: Vec<f64> = vec![];
    for value in values.filter(|value| *value > 0) {
        if numbers.len() < value {
            numbers.resize(value, 0.0);
        }
        numbers[value - 1] += 1.0;
    }
    for c in (1..numbers.len()).rev() {
        numbers[c - 1] += numbers[c];
    }
    numbers
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::draws::{cumulate, dirichlet, pick};
    use super::*;

    /// Documents about one of three subjects with words of their own: the topics found must tell them apart.
    #[test]
    fn separate_subjects_become_separate_topics() {
        let (n, per_subject) = (90, 20_u32);
        let mut rng = Seed(3).rng();
        let (mut indptr, mut indices, mut values) = (vec![0], vec![], vec![]);
        for i in 0..n {
            let mut counts = [0.0; 60];
            for _ in 0..40 {
                counts[(i % 3) * per_subject as usize + rng.below(per_subject as usize)] += 1.0;
            }
            for (word, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
                indices.push(word as u32);
                values.push(count);
            }
            indptr.push(indices.len());
        }
        let words = Csr::new(n, 60, indptr, indices, values).unwrap();
        let z = proportions(&words, Lda::new(3, 60), Seed(1)).unwrap();
        let main = |z: &[f64]| (0..3).max_by(|&a, &b| z[a].total_cmp(&z[b])).unwrap();
        let topics: Vec<usize> = (0..3).map(|subject| main(&z[subject])).collect();
        assert_eq!(topics.iter().collect::<std::collections::BTreeSet<_>>().len(), 3);
        for (i, z) in z.iter().enumerate() {
            assert!((z.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            assert_eq!(main(z), topics[i % 3], "document {i}");
            assert!(z[main(z)] > 0.8, "document {i}: {z:?}");
        }
    }

    /// Documents of given topic weights, whose topics use overlapping words; and their true mean proportions.
    fn corpus(weights: &[f64], n: usize, length: usize, d: usize, seed: Seed) -> (Csr, Vec<f64>) {
        let mut rng = seed.rng();
        let topics: Vec<Vec<f64>> = weights.iter().map(|_| cumulate(&dirichlet(&vec![0.1; d], &mut rng))).collect();
        let (mut indptr, mut indices, mut values) = (vec![0], vec![], vec![]);
        let mut mean = vec![0.0; weights.len()];
        for _ in 0..n {
            let z = dirichlet(weights, &mut rng);
            mean.iter_mut().zip(&z).for_each(|(m, p)| *m += p / n as f64);
            let z = cumulate(&z);
            let mut counts = vec![0.0; d];
            for _ in 0..length {
                counts[pick(&topics[pick(&z, &mut rng)], &mut rng)] += 1.0;
            }
            for (word, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
                indices.push(word as u32);
                values.push(count);
            }
            indptr.push(indices.len());
        }
        (Csr::new(n, d, indptr, indices, values).unwrap(), mean)
    }

    /// Frequencies of the topics, the commonest first.
    fn frequencies(z: &[Vec<f64>]) -> Vec<f64> {
        let k = z[0].len();
        let mut mean: Vec<f64> = (0..k).map(|topic| z.iter().map(|z| z[topic]).sum::<f64>() / z.len() as f64).collect();
        mean.sort_by(|a, b| b.total_cmp(a));
        mean
    }

    /// One topic is in every document and the others get rarer and rarer. The learnt prior finds their frequencies; one
    /// weight for all topics shares the common topic's words out.
    #[test]
    fn unequal_frequencies_are_found_by_the_learnt_prior_alone() {
        let weights: Vec<f64> = (0..12).map(|topic| 2.0 * 0.6_f64.powi(topic)).collect();
        let (words, mut truth) = corpus(&weights, 400, 80, 300, Seed(5));
        truth.sort_by(|a, b| b.total_cmp(a));
        // Fewer sweeps leave the common topic in two halves at some seeds.
        let learnt = Lda::new(12, 1_000);
        let misplaced = |lda: Lda| {
            let found = frequencies(&proportions(&words, lda, Seed(2)).unwrap());
            found.iter().zip(&truth).map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0
        };
        let (with, without) = (misplaced(learnt), misplaced(Lda { learn_from: usize::MAX, ..learnt }));
        assert!(with < 0.03, "share {with} of the words in topics of another frequency");
        assert!(without > 0.3, "share {without}");
    }

    #[test]
    fn proportions_sum_to_one_whatever_the_thread_and_the_document() {
        let (words, _) = corpus(&[1.0, 0.5, 0.1, 0.1], 50, 30, 40, Seed(4));
        // A last document without words: its topics are as everywhere.
        let mut indptr = words.indptr().to_vec();
        indptr.push(words.values().len());
        let words = Csr::new(51, 40, indptr, words.indices().to_vec(), words.values().to_vec()).unwrap();
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| proportions(&words, Lda::new(4, 40), Seed(9)).unwrap())
        };
        let z = run(1);
        assert_eq!(z, run(4));
        assert!(z.iter().all(|z| (z.iter().sum::<f64>() - 1.0).abs() < 1e-12 && z.iter().all(|p| *p > 0.0)));
        assert_ne!(z, proportions(&words, Lda::new(4, 40), Seed(10)).unwrap());
    }

    /// The fixed point rests where the derivative of the documents' likelihood is nil, found here by central differences
    /// of the logarithm of `Π_documents Γ(a)/Γ(n + a) Π_k Γ(n_k + a_k)/Γ(a_k)`.
    #[test]
    fn the_learnt_prior_is_the_likeliest() {
        let (words, _) = corpus(&[1.0, 0.5, 0.2], 80, 25, 30, Seed(6));
        let mut rng = Seed(1).rng();
        let mut sampler = Sampler::start(&words, 3, &mut rng).unwrap();
        (0..20).for_each(|_| sampler.sweep(&mut rng));
        (0..2_000).for_each(|_| sampler.learn_prior());
        let rising = |a: f64, n: f64| (0..n as usize).map(|c| (c as f64 + a).ln()).sum::<f64>();
        let likelihood = |prior: &[f64]| -> f64 {
            let of_document = |counts: &[f64]| {
                let topics: f64 = counts.iter().zip(prior).map(|(n, a)| rising(*a, *n)).sum();
                topics - rising(prior.iter().sum(), counts.iter().sum())
            };
            sampler.in_document.chunks(3).map(of_document).sum()
        };
        for topic in 0..3 {
            let at = |factor: f64| {
                let mut prior = sampler.prior.clone();
                prior[topic] *= factor;
                likelihood(&prior)
            };
            let slope = (at(1.0 + 1e-4) - at(1.0 - 1e-4)) / 2e-4;
            assert!(slope.abs() < 1e-3, "{slope} at {:?}", sampler.prior);
            assert!(at(1.1) < at(1.0) && at(0.9) < at(1.0));
        }
    }

    #[test]
    fn half_a_word_is_refused() {
        let words = Csr::new(1, 2, vec![0, 1], vec![1], vec![0.5]).unwrap();
        let error = proportions(&words, Lda::new(2, 2), Seed(0)).unwrap_err().to_string();
        assert!(error.contains("document 1, word 2"), "{error}");
    }
}
