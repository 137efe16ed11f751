//! Latent Dirichlet allocation of a bag of words, by collapsed Gibbs sampling (Griffiths and Steyvers 2004): each
//! word of each document has a topic, redrawn from its distribution given all others; the documents' proportions are
//! averages over the later sweeps.

use paretau_core::{Csr, Error, Result, Seed};

/// How topics are found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lda {
    /// Topics.
    pub(super) topics: usize,
    /// Sweeps over all words.
    pub(super) sweeps: usize,
}

/// Prior weight of every word in a topic.
const WORD_PRIOR: f64 = 0.1;
/// Prior weight of all topics together in a document.
const TOPIC_PRIOR: f64 = 5.0;
/// Share of the sweeps that are forgotten because the start still shows.
const BURN_IN: f64 = 0.5;

/// Topic proportions of every document.
pub(super) fn proportions(words: &Csr, lda: Lda, seed: Seed) -> Result<Vec<Vec<f64>>> {
    let (n, d, k) = (words.n_rows(), words.n_cols(), lda.topics);
    let mut tokens: Vec<(u32, u32)> = vec![];
    for i in 0..n {
        let (columns, counts) = words.row(i);
        for (&word, &count) in columns.iter().zip(counts) {
            if !(count >= 0.0 && count.fract() == 0.0 && count < 1e6) {
                let message = format!("document {}, word {}: {count} is not a count of words", i + 1, word + 1);
                return Err(Error::unfit(message));
            }
            tokens.extend(std::iter::repeat_n((i as u32, word), count as usize));
        }
    }
    let mut rng = seed.named("topics").rng();
    let mut topic: Vec<u32> = tokens.iter().map(|_| rng.below(k) as u32).collect();
    let mut of_document = vec![0_u32; n * k];
    let mut of_word = vec![0_u32; d * k];
    let mut of_topic = vec![0_u32; k];
    for (&(i, word), &t) in tokens.iter().zip(&topic) {
        of_document[i as usize * k + t as usize] += 1;
        of_word[word as usize * k + t as usize] += 1;
        of_topic[t as usize] += 1;
    }
    let alpha = TOPIC_PRIOR / k as f64;
    let mut sums = vec![0.0_f64; n * k];
    let mut cumulated = vec![0.0; k];
    let first_kept = (lda.sweeps as f64 * BURN_IN) as usize;
    for sweep in 0..lda.sweeps {
        for (&(i, word), t) in tokens.iter().zip(&mut topic) {
            let (row, column) = (i as usize * k, word as usize * k);
            let old = *t as usize;
            of_document[row + old] -= 1;
            of_word[column + old] -= 1;
            of_topic[old] -= 1;
            let mut total = 0.0;
            for (c, sum) in cumulated.iter_mut().enumerate() {
                let in_document = f64::from(of_document[row + c]) + alpha;
                let in_topic =
                    (f64::from(of_word[column + c]) + WORD_PRIOR) / (f64::from(of_topic[c]) + WORD_PRIOR * d as f64);
                total += in_document * in_topic;
                *sum = total;
            }
            let at = rng.uniform() * total;
            let new = cumulated.partition_point(|sum| *sum <= at).min(k - 1);
            of_document[row + new] += 1;
            of_word[column + new] += 1;
            of_topic[new] += 1;
            *t = new as u32;
        }
        if sweep >= first_kept {
            sums.iter_mut().zip(&of_document).for_each(|(sum, count)| *sum += f64::from(*count) + alpha);
        }
    }
    Ok(sums
        .chunks(k)
        .map(|row| {
            let total: f64 = row.iter().sum();
            row.iter().map(|sum| sum / total).collect()
        })
        .collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
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
        let z = proportions(&words, Lda { topics: 3, sweeps: 60 }, Seed(1)).unwrap();
        let main = |z: &[f64]| (0..3).max_by(|&a, &b| z[a].total_cmp(&z[b])).unwrap();
        let topics: Vec<usize> = (0..3).map(|subject| main(&z[subject])).collect();
        assert_eq!(topics.iter().collect::<std::collections::BTreeSet<_>>().len(), 3);
        for (i, z) in z.iter().enumerate() {
            assert!((z.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            assert_eq!(main(z), topics[i % 3], "document {i}");
            assert!(z[main(z)] > 0.8, "document {i}: {z:?}");
        }
    }

    #[test]
    fn half_a_word_is_refused() {
        let words = Csr::new(1, 2, vec![0, 1], vec![1], vec![0.5]).unwrap();
        let error = proportions(&words, Lda { topics: 2, sweeps: 2 }, Seed(0)).unwrap_err().to_string();
        assert!(error.contains("document 1, word 2"), "{error}");
    }
}
