//! Which rows each member of an ensemble holds out: a window that moves round, so that five members with a fifth each hold out
//! every row once.

use paretau_core::Seed;

/// Rows to learn from and rows to stop by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrainValid {
    pub(crate) train: Vec<usize>,
    pub(crate) valid: Vec<usize>,
}

/// The parts of every member. Groups are never split; without groups, windows are cut within arms.
pub(crate) fn windows(t: &[u8], groups: Option<&[u32]>, share: f64, (members, seed): (usize, Seed)) -> Vec<TrainValid> {
    let n = t.len();
    let units: Vec<Vec<Vec<usize>>> = match groups {
        None => [0, 1].map(|arm| (0..n).filter(|&i| t[i] == arm).map(|i| vec![i]).collect()).to_vec(),
        Some(groups) => {
            let mut by_group = std::collections::BTreeMap::<u32, Vec<usize>>::new();
            groups.iter().enumerate().for_each(|(i, g)| by_group.entry(*g).or_default().push(i));
            vec![by_group.into_values().collect()]
        }
    };
    let mut orders = units;
    for (index, order) in orders.iter_mut().enumerate() {
        seed.named("windows").indexed(index as u64).rng().shuffle(order);
    }
    (0..members).map(|member| window(&orders, share, member, n)).collect()
}

fn window(orders: &[Vec<Vec<usize>>], share: f64, member: usize, n: usize) -> TrainValid {
    let mut held = vec![false; n];
    for order in orders {
        let total = order.len();
        if total < 2 || share <= 0.0 {
            continue;
        }
        // Both ends rounded from their exact places, so that windows neither overlap nor leave gaps when they need not.
        let place = |window: usize| (total as f64 * share * window as f64).round() as usize;
        let (start, length) = (place(member), (place(member + 1) - place(member)).clamp(1, total - 1));
        for place in start..start + length {
            order[place % total].iter().for_each(|&i| held[i] = true);
        }
    }
    let (valid, train) = (0..n).partition(|&i| held[i]);
    TrainValid { train, valid }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_fifths_hold_out_every_row_once() {
        let n = 103;
        let t: Vec<u8> = (0..n).map(|i| u8::from(i % 3 == 0)).collect();
        let parts = windows(&t, None, 0.2, (5, Seed(1)));
        let mut seen = vec![0; n];
        for part in &parts {
            part.valid.iter().for_each(|&i| seen[i] += 1);
            assert_eq!(part.train.len() + part.valid.len(), n);
        }
        assert!(seen.iter().all(|&s| s == 1), "{seen:?}");
        let groups: Vec<u32> = (0..n as u32).map(|i| i / 10).collect();
        for part in windows(&t, Some(&groups), 0.2, (3, Seed(1))) {
            assert!(part.valid.iter().all(|&i| part.train.iter().all(|&j| groups[i] != groups[j])));
        }
    }
}
