//! Roles and encoder on small tables, where every number can be checked by hand.
#![allow(clippy::unwrap_used)]

use paretau_core::{ColumnKind, Csr, Dense, Features, Handles};
use paretau_data::{
    ColumnData, Encoder, EncoderPolicy, Kind, Numbers, RoleSpec, SparseBlock, Table, TableColumn, Text, arms_of,
    assign, assign_all_arms,
};

fn number(name: &str, values: &[f64]) -> TableColumn {
    TableColumn::number(name, values.to_vec())
}

fn text(name: &str, cells: &[&str]) -> TableColumn {
    TableColumn::text(name, Text::from_cells(cells.iter().map(|c| Some(*c).filter(|c| !c.is_empty()))))
}

fn names(encoder: &Encoder) -> Vec<&str> {
    encoder.columns().iter().map(|c| c.name.as_str()).collect()
}

fn fit(table: &Table, policy: EncoderPolicy) -> Encoder {
    Encoder::fit(table, &policy, &(0..table.n_rows()).collect::<Vec<_>>()).unwrap()
}

fn rows(x: &Features) -> Vec<Vec<f64>> {
    (0..x.n_rows())
        .map(|i| {
            let mut out = vec![0.0; x.n_cols()];
            x.copy_row(i, &mut out);
            out
        })
        .collect()
}

const NAN: f64 = f64::NAN;

#[test]
fn missing_numbers_get_the_training_median_and_a_mark() {
    let table = Table::new(vec![number("a", &[1.0, NAN, 3.0, 8.0]), number("b", &[1.0, 2.0, 3.0, 5.0])]).unwrap();
    let encoder = Encoder::fit(&table, &EncoderPolicy::default(), &[0, 1, 2]).unwrap();
    assert_eq!(names(&encoder), ["a", "a__missing", "b"]);
    let (x, report) = encoder.transform(&table).unwrap();
    assert_eq!(rows(&x)[1], [2.0, 1.0, 2.0], "the median of rows 1 to 3, not of all");
    assert_eq!(report.imputed["a"], 1);
    // Missing at prediction only: filled in and counted, without a mark.
    let later = Table::new(vec![number("b", &[NAN]), number("a", &[7.0]), number("c", &[0.0])]).unwrap();
    let (x, report) = encoder.transform(&later).unwrap();
    assert_eq!(rows(&x), [[7.0, 0.0, 2.0]], "columns are found by name, whatever their order");
    assert_eq!((report.imputed["b"], report.extra.as_slice()), (1, &["c".to_owned()][..]));
    assert_eq!(report.notes().len(), 2);
    let raw = fit(&table, EncoderPolicy { missing: true, ..EncoderPolicy::default() });
    assert_eq!(names(&raw), ["a", "b"]);
    assert!(raw.transform(&table).unwrap().0.has_missing());
}

#[test]
fn text_becomes_indicators_with_rare_levels_pooled() {
    let mut cells = vec!["red"; 60];
    cells.extend(vec!["blue"; 50]);
    cells.extend(vec!["green"; 40]);
    cells.extend(["pink", "grey", ""]);
    let table = Table::new(vec![text("c", &cells)]).unwrap();
    let encoder = fit(&table, EncoderPolicy::default());
    assert_eq!(names(&encoder), ["c=blue", "c=green", "c=red", "c=other", "c__missing"]);
    let later = Table::new(vec![text("c", &["red", "pink", "never seen", ""])]).unwrap();
    let (x, report) = encoder.transform(&later).unwrap();
    assert_eq!(rows(&x)[0], [0.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(rows(&x)[1], [0.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(rows(&x)[2], rows(&x)[1]);
    assert_eq!(rows(&x)[3], [0.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!(report.unseen["c"], 2);
    let codes = fit(&table, EncoderPolicy::from(Handles { categories: true, missing: true, ..Handles::default() }));
    assert_eq!(codes.columns()[0].kind, ColumnKind::Categorical { levels: 4 });
    let got: Vec<f64> = rows(&codes.transform(&later).unwrap().0).concat();
    assert!(got[..3] == [2.0, 3.0, 3.0] && got[3].is_nan(), "{got:?}");
    let no_gaps = fit(&table, EncoderPolicy::from(Handles { categories: true, ..Handles::default() }));
    assert_eq!(rows(&no_gaps.transform(&later).unwrap().0).concat(), [2.0, 3.0, 3.0, 4.0]);
}

#[test]
fn two_levels_make_one_column_and_unseen_ones_none() {
    let table = Table::new(vec![text("s", &["f", "m", "f", "m", "m"])]).unwrap();
    let encoder = fit(&table, EncoderPolicy::default());
    assert_eq!(names(&encoder), ["s=m"]);
    let (x, report) = encoder.transform(&Table::new(vec![text("s", &["m", "f", "x", ""])]).unwrap()).unwrap();
    assert_eq!(rows(&x).concat(), [1.0, 0.0, 0.0, 0.0]);
    assert_eq!((report.unseen["s"], report.imputed["s"]), (1, 1));
}

#[test]
fn many_levels_are_coded_by_frequency_without_the_outcome() {
    let cells: Vec<String> = (0..1000).map(|i| format!("town {}", if i % 7 == 1 { 0 } else { i % 30 })).collect();
    let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
    let table = Table::new(vec![text("town", &cells), number("z", &(0..1000).map(f64::from).collect::<Vec<_>>())]);
    let table = table.unwrap();
    let encoder = fit(&table, EncoderPolicy::default());
    assert_eq!(names(&encoder), ["town__frequency", "z"]);
    let share = cells.iter().filter(|c| **c == cells[1]).count() as f64 / 1000.0;
    assert_eq!(rows(&encoder.transform(&table).unwrap().0)[1][0], share);
    assert!(encoder.notes()[0].contains("frequent"));
    // An identifier says nothing: all its levels are rare, and the column is dropped with a note.
    let ids: Vec<String> = (0..50).map(|i| format!("id{i}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let table = Table::new(vec![text("id", &ids), number("z", &(0..50).map(f64::from).collect::<Vec<_>>())]).unwrap();
    let encoder = fit(&table, EncoderPolicy::default());
    assert_eq!(names(&encoder), ["z"]);
    assert!(encoder.notes().iter().any(|n| n.contains("unique")), "{:?}", encoder.notes());
}

#[test]
fn constant_and_repeated_columns_go() {
    let table = Table::new(vec![
        number("a", &[1.0, 2.0, 3.0]),
        number("k", &[5.0, 5.0, 5.0]),
        number("copy", &[1.0, 2.0, 3.0]),
        number("gone", &[NAN, NAN, NAN]),
        number("negative", &[-1.0, -2.0, -3.0]),
    ])
    .unwrap();
    let encoder = fit(&table, EncoderPolicy::default());
    assert_eq!(names(&encoder), ["a", "negative"]);
    assert!(encoder.notes()[0].contains("k, gone") && encoder.notes()[1].contains("copy"), "{:?}", encoder.notes());
    // Dropped columns need not be there later.
    let fields: Vec<String> = encoder.fields().into_iter().map(|f| f.name).collect();
    assert_eq!(fields, ["a", "negative"]);
    let later = Table::new(vec![number("a", &[4.0]), number("negative", &[0.0])]).unwrap();
    assert_eq!(rows(&encoder.transform(&later).unwrap().0), [[4.0, 0.0]]);
}

#[test]
fn an_encoder_comes_back_from_json() {
    let table = Table::new(vec![
        number("a", &[0.1 + 0.2, NAN, 3.0, 8.0]),
        text("c", &["u", "v", "u", "v"]),
        TableColumn::date("d", vec![1.0, 2.0, 3.5, 9.0]),
    ])
    .unwrap();
    for policy in [EncoderPolicy::default(), EncoderPolicy { missing: true, categories: true, ..Default::default() }] {
        let encoder = fit(&table, policy);
        let back: Encoder = serde_json::from_str(&serde_json::to_string(&encoder).unwrap()).unwrap();
        assert_eq!(encoder, back);
        assert_eq!(encoder.transform(&table).unwrap().1, back.transform(&table).unwrap().1);
        assert_eq!(back.fields()[2].kind, Kind::Date);
    }
}

fn sparse_table() -> Table {
    let csr = Csr::new(3, 3, vec![0, 2, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0]).unwrap();
    Table::new(vec![number("t", &[0.0, 1.0, 1.0]), number("y", &[1.0, 2.0, 4.0]), number("age", &[3.0, 4.0, 5.0])])
        .unwrap()
        .with_sparse(SparseBlock::numbered(csr))
        .unwrap()
}

#[test]
fn sparse_blocks_stay_sparse_for_those_who_take_them() {
    let assigned = assign(sparse_table(), &RoleSpec::new("t", "y")).unwrap();
    assert_eq!(assigned.feature_names(), ["age", "x1", "x2", "x3"]);
    let dense = fit(&assigned.features, EncoderPolicy::default());
    let sparse = fit(&assigned.features, EncoderPolicy { sparse: true, ..EncoderPolicy::default() });
    let want = vec![vec![3.0, 1.0, 0.0, 2.0], vec![4.0, 0.0, 0.0, 0.0], vec![5.0, 0.0, 3.0, 0.0]];
    let (x, _) = dense.transform(&assigned.features).unwrap();
    assert!(matches!(x, Features::Dense(_)));
    assert_eq!(rows(&x), want);
    let (x, _) = sparse.transform(&assigned.features).unwrap();
    assert!(matches!(x, Features::Sparse(_)));
    assert_eq!(rows(&x), want);
    // A block whose last columns never occur is narrower; one with unknown columns is wider; both fit.
    for d in [2_usize, 5] {
        let csr = Csr::new(1, d, vec![0, 1], vec![d as u32 - 1], vec![9.0]).unwrap();
        let table = Table::new(vec![number("age", &[1.0])]).unwrap().with_sparse(SparseBlock::numbered(csr)).unwrap();
        let (x, report) = sparse.transform(&table).unwrap();
        assert_eq!(rows(&x), [if d == 2 { [1.0, 0.0, 9.0, 0.0] } else { [1.0, 0.0, 0.0, 0.0] }]);
        assert_eq!(report.extra.len(), d.saturating_sub(3));
    }
    // The same names as ordinary columns fit as well.
    let (x, _) = sparse.transform(&assigned.features.clone().densified().unwrap()).unwrap();
    assert_eq!(rows(&x), want);
    let some = RoleSpec { features: Some(vec!["x1".into(), "x3".into()]), ..RoleSpec::new("t", "y") };
    let part = assign(sparse_table(), &some).unwrap();
    assert_eq!(part.feature_names(), ["x1", "x3"]);
    assert_eq!(
        rows(&fit(&part.features, EncoderPolicy::default()).transform(&part.features).unwrap().0)[0],
        [1.0, 2.0]
    );
}

#[test]
fn roles_take_the_truth_out_and_rows_with_gaps() {
    let table = Table::new(vec![
        text("t", &["yes", "no", "yes", "", "no"]),
        number("Y", &[1.0, 2.0, NAN, 4.0, 5.0]),
        number("mu0", &[1.0; 5]),
        number("mu1", &[2.0; 5]),
        number("E", &[0.5; 5]),
        number("x", &[1.0, 2.0, 3.0, 4.0, 5.0]),
        number("w", &[1.0; 5]),
        text("who", &["a", "b", "c", "d", "e"]),
        number("site", &[9.0, 4.0, 4.0, 4.0, 4.0]),
    ])
    .unwrap();
    let spec = RoleSpec {
        truth: Some(("mu0".into(), "mu1".into())),
        weight: Some("w".into()),
        id: Some("who".into()),
        group: Some("site".into()),
        ..RoleSpec::new("t", "Y")
    };
    let a = assign(table.clone(), &spec).unwrap();
    assert_eq!(
        (a.rows.as_slice(), a.t.as_slice(), a.y.as_slice()),
        (&[0, 1, 4][..], &[1, 0, 0][..], &[1.0, 2.0, 5.0][..])
    );
    assert_eq!(a.feature_names(), ["x"]);
    assert_eq!(a.groups.as_deref(), Some(&[1, 0, 0][..]));
    assert_eq!(a.id.as_ref().unwrap().cell(2).as_deref(), Some("e"));
    assert_eq!(a.arms, ["no", "yes"]);
    assert_eq!(a.rows_left_out, 2);
    assert!(a.notes.iter().any(|n| n.contains("truth") && n.contains('E')), "{:?}", a.notes);
    assert_eq!(a.oracle.as_ref().unwrap().tau(), [1.0; 3]);
    let encoder = fit(&a.features, EncoderPolicy::default());
    let (x, _) = encoder.transform(&a.features).unwrap();
    let design = a.design(x, encoder.columns().to_vec()).unwrap();
    assert!(design.weight().is_some() && design.groups().is_some());
    // Named, the truth is a feature like any other; a pattern does not name it.
    let named = RoleSpec { features: Some(vec!["x".into(), "E".into()]), ..spec.clone() };
    assert_eq!(assign(table.clone(), &named).unwrap().feature_names(), ["E", "x"]);
    let pattern = RoleSpec { features: Some(vec!["*".into()]), ..spec };
    assert_eq!(assign(table, &pattern).unwrap().feature_names(), ["x"]);
}

#[test]
fn treatments_have_many_spellings() {
    for (cells, treated, control, want) in [
        (["0", "1", "0", "1"], None, None, [0, 1, 0, 1]),
        (["FALSE", "TRUE", "FALSE", "TRUE"], None, None, [0, 1, 0, 1]),
        (["Yes", "No", "No", "Yes"], None, None, [1, 0, 0, 1]),
        (["control", "treated", "control", "treated"], None, None, [0, 1, 0, 1]),
        (["drug", "placebo", "drug", "placebo"], Some("drug"), None, [1, 0, 1, 0]),
        (["1", "2", "1", "2"], Some("2"), Some("1"), [0, 1, 0, 1]),
    ] {
        let numeric: Option<Vec<f64>> = cells.iter().map(|c| c.parse().ok()).collect();
        let column = numeric.map_or_else(|| text("t", &cells), |v| number("t", &v));
        let table = Table::new(vec![column, number("y", &[1.0, 2.0, 3.0, 4.0]), number("x", &[1.0, 5.0, 2.0, 3.0])]);
        let spec = RoleSpec {
            treated_value: treated.map(str::to_owned),
            control_value: control.map(str::to_owned),
            ..RoleSpec::new("t", "y")
        };
        assert_eq!(assign(table.unwrap(), &spec).unwrap().t, want, "{cells:?}");
    }
}

#[test]
fn several_arms_are_told_by_their_control() {
    let cells = ["b", "placebo", "a", "b", "c"];
    let named = |control: Option<&str>, cells: &[&str]| {
        let numeric: Option<Vec<f64>> = cells.iter().map(|c| c.parse().ok()).collect();
        let column = numeric.map_or_else(|| text("t", cells), |v| number("t", &v));
        let y: Vec<f64> = (0..cells.len()).map(|i| i as f64).collect();
        let table = Table::new(vec![column, number("y", &y), number("x", &y)]).unwrap();
        assign_all_arms(table, &RoleSpec { control_value: control.map(str::to_owned), ..RoleSpec::new("t", "y") })
    };
    let all = named(None, &cells).unwrap();
    assert_eq!(all.arms, ["placebo", "a", "b", "c"]);
    assert_eq!(all.t, [2, 0, 1, 2, 3]);
    let by_flag = named(Some("b"), &cells).unwrap();
    assert_eq!(by_flag.arms, ["b", "a", "c", "placebo"]);
    assert_eq!(named(None, &["10", "0", "9", "0"]).unwrap().t, [2, 0, 1, 0]);
    let error = named(None, &["a", "b", "c"]).unwrap_err().to_string();
    assert!(error.contains("--control-value") && error.contains("`a` (1 row)"), "{error}");
    // Two values are two arms, several asked for or not.
    assert_eq!(named(None, &["no", "yes", "no"]).unwrap().t, [0, 1, 0]);
    assert!(named(None, &["a", "a"]).unwrap_err().to_string().contains("both arms"));

    let pair = all.pair(2);
    assert_eq!(
        (pair.t.clone(), pair.rows.clone(), pair.y.clone()),
        (vec![1, 0, 1], vec![0, 1, 3], vec![0.0, 1.0, 3.0])
    );
    assert_eq!(pair.arms, ["placebo", "b"]);
    assert_eq!((pair.features.n_rows(), pair.rows_left_out), (3, 2));
}

#[test]
fn arms_of_new_rows_are_found_however_they_are_spelled() {
    let numbered = ["0", "1"];
    let cells = text("t", &["1", "1.0", "TRUE", "0", "0.00", "false", "", "2", "yes"]);
    let want = [Some(1), Some(1), Some(1), Some(0), Some(0), Some(0), None, None, None];
    assert_eq!(arms_of(&cells, &numbered), want);
    assert_eq!(arms_of(&number("t", &[1.0, 0.0, -0.0, 2.0, NAN]), &numbered), [Some(1), Some(0), Some(0), None, None]);
    let named = ["placebo", "drug"];
    assert_eq!(arms_of(&text("t", &["drug", "placebo", "Drug ", ""]), &named), [Some(1), Some(0), Some(1), None]);
    let by_day = ["2020-01-01", "2020-01-02"];
    assert_eq!(arms_of(&TableColumn::date("t", vec![18_263.0, 18_262.0, NAN]), &by_day), [Some(1), Some(0), None]);
}

#[test]
fn dates_are_days_and_gaps_are_marked() {
    let table = Table::new(vec![TableColumn::date("since", vec![10.0, 20.0, NAN, 40.0])]).unwrap();
    let encoder = fit(&table, EncoderPolicy::default());
    assert_eq!(names(&encoder), ["since", "since__missing"]);
    assert_eq!(rows(&encoder.transform(&table).unwrap().0)[2], [20.0, 1.0]);
    assert_eq!(encoder.fields()[0].kind, Kind::Date);
}

#[test]
fn medians_come_back_to_the_last_bit() {
    let mut rng = paretau_core::Seed(5).rng();
    for _ in 0..500 {
        let values = [rng.normal() * 1e5, NAN, rng.normal(), rng.uniform() * 1e-7];
        let table = Table::new(vec![number("a", &values)]).unwrap();
        let encoder = fit(&table, EncoderPolicy::default());
        let back: Encoder = serde_json::from_str(&serde_json::to_string(&encoder).unwrap()).unwrap();
        assert_eq!(rows(&encoder.transform(&table).unwrap().0), rows(&back.transform(&table).unwrap().0));
    }
}

#[test]
fn a_sparse_file_cannot_ask_for_more_memory_than_there_is() {
    let n = 2_000_000_usize;
    let csr = Csr::new(n, 3_000, (0..=n).collect(), vec![0; n], vec![1.0; n]).unwrap();
    let table = Table::default().with_sparse(SparseBlock::numbered(csr)).unwrap();
    let encoder = fit(&table, EncoderPolicy::default());
    assert!(encoder.transform(&table).unwrap_err().to_string().contains("sparse features"));
}

#[test]
fn tables_know_where_their_rows_came_from() {
    let mut table = Table::new(vec![number("a", &[1.0, 2.0, 3.0])]).unwrap();
    table.source.path = Some("f.csv".into());
    table.source.first_line = Some(2);
    let message = table.select(&[2, 0]).select(&[0]).error(Some("a"), Some(0), "is odd").to_string();
    assert_eq!(message, "f.csv, column `a`, row 3 (line 4): is odd");
    assert!(matches!(table.columns()[0].data, ColumnData::Number(_)));
}

/// Columns of a matrix, with a last one of the table's own.
fn of_matrix(values: Vec<f64>) -> (Dense, Table) {
    let matrix = Dense::new(values.len() / 2, 2, values).unwrap();
    let column = |j: usize| TableColumn::of_numbers(["a", "b"][j], Numbers::of_matrix(matrix.clone(), j));
    let own = TableColumn::number("own", vec![1.0; matrix.n_rows()]);
    let table = Table::new(vec![column(0), column(1), own]).unwrap();
    (matrix, table)
}

/// The columns `a` and `b` encoded.
fn encoded(table: &Table, missing: bool) -> Features {
    let features = Table::new(table.columns()[..2].to_vec()).unwrap();
    let policy = EncoderPolicy { missing, ..EncoderPolicy::default() };
    let rows: Vec<usize> = (0..table.n_rows()).collect();
    Encoder::fit(&features, &policy, &rows).unwrap().transform(&features).unwrap().0
}

#[test]
fn numbers_of_a_matrix_are_encoded_where_they_lie() {
    let (matrix, table) = of_matrix(vec![1.0, 6.0, 2.0, 5.0, 3.0, 4.5]);
    let Features::Dense(x) = encoded(&table, false) else { panic!("dense rows") };
    assert!(x.is_shared_with(&matrix));
    // Chosen rows of it are one matrix, too.
    let part = table.select(&[2, 0]);
    let Features::Dense(x) = encoded(&part, false) else { panic!("dense rows") };
    assert_eq!(x.values(), [3.0, 4.5, 1.0, 6.0]);
    let ColumnData::Number(a) = &part.columns()[0].data else { panic!("numbers") };
    assert_eq!(a.iter().copied().collect::<Vec<_>>(), [3.0, 1.0]);
    assert_eq!(*a, Numbers::from(vec![3.0, 1.0]));
    assert_eq!((a[1], a.len(), a.contiguous().into_owned()), (1.0, 2, vec![3.0, 1.0]));
}

#[test]
fn gaps_of_a_matrix_are_filled_in_a_copy() {
    let (matrix, table) = of_matrix(vec![1.0, 6.0, f64::NAN, 5.0, 3.0, 4.5]);
    let Features::Dense(x) = encoded(&table, true) else { panic!("dense rows") };
    assert!(x.is_shared_with(&matrix), "whoever takes gaps reads them where they lie");
    let Features::Dense(x) = encoded(&table, false) else { panic!("dense rows") };
    assert_eq!(x.values(), [1.0, 0.0, 6.0, 2.0, 1.0, 5.0, 3.0, 0.0, 4.5]);
}
