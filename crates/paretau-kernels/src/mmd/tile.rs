//! Blocks of rows, and the schedule in which all pairs of blocks meet.

use crate::parallel::Parallelism;

/// A block of consecutive rows of one arm, its share of the result, and what it accumulates.
#[derive(Debug, Default)]
pub(super) struct Tile<T> {
    /// Whether the rows belong to the second arm.
    pub(super) second: bool,
    /// First row within the arm.
    pub(super) start: usize,
    /// Number of rows.
    pub(super) len: usize,
    /// The rows, centred and in units of the bandwidth; the layout is the path's own.
    pub(super) z: Vec<T>,
    /// Half the squared length of each row.
    pub(super) half: Vec<T>,
    /// Accumulated forces on the rows, in the layout of `z`.
    pub(super) acc: Vec<T>,
    /// Accumulated kernel weights of the rows.
    pub(super) mass: Vec<T>,
    /// Accumulated part of the statistic.
    pub(super) value: f64,
}

/// Rows per tile: few enough tiles that a tile of kernel values stays in cache, enough that threads share the work.
pub(super) fn tile_rows(n: usize) -> usize {
    (n / 16).next_multiple_of(32).clamp(64, 256)
}

/// Lays out `n0` and `n1` rows in tiles of at most `rows` rows, reusing what `tiles` holds.
pub(super) fn lay_out<T: Default>(tiles: &mut Vec<Tile<T>>, (n0, n1): (usize, usize), rows: usize) {
    let count = n0.div_ceil(rows) + n1.div_ceil(rows);
    tiles.resize_with(count, Tile::default);
    let starts = (0..n0).step_by(rows).map(|s| (false, s, n0));
    let starts = starts.chain((0..n1).step_by(rows).map(|s| (true, s, n1)));
    for (tile, (second, start, n)) in tiles.iter_mut().zip(starts) {
        tile.second = second;
        tile.start = start;
        tile.len = rows.min(n - start);
        tile.value = 0.0;
    }
}

/// Calls `f` once for every unordered pair of different tiles.
///
/// Pairs come in rounds, as in a round-robin tournament: in a round every tile meets at most one other, so both may be
/// written without a lock, and the order in which a tile meets the others is the same for every number of threads.
pub(super) fn for_each_pair<T: Send>(
    tiles: &mut [Tile<T>],
    parallelism: Parallelism,
    f: impl Fn(&mut Tile<T>, &mut Tile<T>) + Send + Sync,
) {
    let n = tiles.len();
    // An even number of players turns around the first one; with an odd number the one in the middle sits out.
    let fixed = usize::from(n.is_multiple_of(2));
    let rounds = if n < 2 { 0 } else { n - fixed };
    for _ in 0..rounds {
        let (left, right) = tiles.split_at_mut(n / 2);
        let right = &mut right[n % 2..];
        if parallelism.is_serial(left.len()) {
            for (x, y) in left.iter_mut().zip(right.iter_mut().rev()) {
                f(x, y);
            }
        } else {
            use rayon::prelude::*;
            let pairs = left.par_iter_mut().zip(right.par_iter_mut().rev());
            pairs.with_max_len(1).for_each(|(x, y)| f(x, y));
        }
        tiles[fixed..].rotate_right(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_meets_once_and_the_tiles_end_where_they_started() {
        for n in 0..12_usize {
            let mut tiles: Vec<Tile<f64>> = Vec::new();
            lay_out(&mut tiles, (n * 3, 0), 3);
            assert_eq!(tiles.len(), n);
            let met = std::sync::Mutex::new(Vec::new());
            for_each_pair(&mut tiles, Parallelism::Rayon, |x, y| {
                let (x, y) = (x.start.min(y.start), x.start.max(y.start));
                met.lock().unwrap().push((x, y));
            });
            let mut met = met.into_inner().unwrap();
            met.sort_unstable();
            let want: Vec<_> = (0..n).flat_map(|i| (i + 1..n).map(move |j| (3 * i, 3 * j))).collect();
            assert_eq!(met, want);
            assert!(tiles.is_sorted_by_key(|t| t.start));
        }
    }
}
