//! Rows that stand in a table more than once are groups that stay together; rows that are alike by chance are not.
#![allow(clippy::unwrap_used)]

use paretau_core::Seed;
use paretau_data::{Assigned, RoleSpec, Table, TableColumn, assign};

/// A feature with so many steps per unit, treatment, a yes/no outcome.
fn people(n: usize, steps: Option<f64>) -> [Vec<f64>; 3] {
    let mut rng = Seed(5).rng();
    let x: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
    let x = x.into_iter().map(|v| steps.map_or(v, |by| (v * by).round() / by)).collect();
    let t = (0..n).map(|_| f64::from(u8::from(rng.bernoulli(0.4)))).collect();
    let y = (0..n).map(|_| f64::from(u8::from(rng.bernoulli(0.3)))).collect();
    [x, t, y]
}

fn assigned([x, t, y]: [Vec<f64>; 3], more: Option<Vec<f64>>) -> Assigned {
    let columns = [("x", x), ("t", t), ("y", y)].into_iter().map(|(name, values)| TableColumn::number(name, values));
    let more = more.map(|values| TableColumn::number("more", values));
    assign(Table::new(columns.chain(more).collect()).unwrap(), &RoleSpec::new("t", "y")).unwrap()
}

fn pick(columns: &[Vec<f64>; 3], rows: &[usize]) -> [Vec<f64>; 3] {
    columns.each_ref().map(|column| rows.iter().map(|&i| column[i]).collect())
}

#[test]
fn rows_drawn_with_replacement_are_found() {
    let once = people(300, None);
    assert!(assigned(once.clone(), None).groups.is_none());
    let mut rng = Seed(6).rng();
    let drawn: Vec<usize> = (0..300).map(|_| rng.below(300)).collect();
    let found = assigned(pick(&once, &drawn), None);
    let groups = found.groups.clone().unwrap();
    for a in 0..300 {
        for b in 0..300 {
            assert_eq!(groups[a] == groups[b], drawn[a] == drawn[b]);
        }
    }
    let mut different = drawn.clone();
    different.sort_unstable();
    different.dedup();
    let words = format!("{} of 300 rows are copies of other rows", 300 - different.len());
    assert!(found.notes.iter().any(|note| note.contains(&words)), "{:?}", found.notes);
    // A few copies are no matter, and a column that names groups has its way.
    let few: Vec<usize> = (0..300).chain([3, 8]).collect();
    assert!(assigned(pick(&once, &few), None).groups.is_none());
    let [x, t, y] = pick(&once, &drawn);
    let own: Vec<f64> = (0..300).map(|i| f64::from(i / 2)).collect();
    let columns = [("x", x), ("t", t), ("y", y), ("g", own)].map(|(name, values)| TableColumn::number(name, values));
    let roles = RoleSpec { group: Some("g".to_owned()), ..RoleSpec::new("t", "y") };
    let named = assign(Table::new(columns.into()).unwrap(), &roles).unwrap();
    assert_eq!(named.groups.unwrap()[..4], [0, 0, 1, 1]);
}

#[test]
fn people_who_happen_to_be_alike_are_not_copies() {
    // Few values; and more values of which many people share one, but not treatment and outcome.
    for steps in [1.0, 10.0, 100.0] {
        assert!(assigned(people(600, Some(steps)), None).groups.is_none(), "{steps}");
    }
    // Hardly anyone is treated and the outcome is rare: alike in nearly everything.
    let [x, mut t, mut y] = people(600, Some(5.0));
    for column in [&mut t, &mut y] {
        column.fill(0.0);
        column[0] = 1.0;
    }
    assert!(assigned([x, t, y], None).groups.is_none());
}

#[test]
fn many_people_alike_in_one_place_are_not_copies() {
    // A quarter of the rows have one amount and nothing happened to nearly all of them: each has many twins, in either arm.
    let mut rng = Seed(8).rng();
    let x: Vec<f64> = (0..800).map(|i| if i < 200 { 29.99 } else { rng.normal() }).collect();
    let t: Vec<f64> = (0..800).map(|_| f64::from(u8::from(rng.bernoulli(0.5)))).collect();
    let y: Vec<f64> = (0..800).map(|i| f64::from(u8::from(i % 90 == 0))).collect();
    assert!(assigned([x, t, y], None).groups.is_none());
}

#[test]
fn missing_cells_count() {
    let once = people(100, None);
    let twice: Vec<usize> = (0..100).chain(0..100).collect();
    let mut gaps = pick(&once, &twice)[0].clone();
    gaps[7] = f64::NAN;
    let groups = assigned(pick(&once, &twice), Some(gaps.clone())).groups.unwrap();
    assert!(groups[7] != groups[107] && groups[8] == groups[108]);
    gaps[107] = f64::NAN;
    let groups = assigned(pick(&once, &twice), Some(gaps)).groups.unwrap();
    assert_eq!(groups[7], groups[107]);
}
