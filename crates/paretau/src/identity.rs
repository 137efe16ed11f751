//! What a resumable job depends on, as digests of its parts: rows as read, roles, parameters, seed, version. Whoever goes
//! on with earlier work compares them first, and names what differs.

use paretau_core::{CheckpointStore, Error, Result, State, hex};
use paretau_data::{Assigned, ColumnData};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// The digest of the rows in their roles: arms, outcomes, row weights, propensities, groups and every cell of every feature
/// column in order, with the columns' names. The truth is no part of it.
pub fn rows_digest(rows: &Assigned) -> String {
    let mut digest = Sha256::new();
    let numbers = |digest: &mut Sha256, what: &str, values: &[f64]| {
        named(digest, what, values.len());
        values.iter().for_each(|value| digest.update(value.to_bits().to_le_bytes()));
    };
    named(&mut digest, "arms", rows.t.len());
    digest.update(&rows.t);
    rows.arms.iter().for_each(|arm| named(&mut digest, arm, 0));
    numbers(&mut digest, "outcome", &rows.y);
    numbers(&mut digest, "weight", rows.weight.as_deref().unwrap_or_default());
    numbers(&mut digest, "propensity", rows.propensity.as_deref().unwrap_or_default());
    for group in rows.groups.iter().flatten() {
        digest.update(group.to_le_bytes());
    }
    for column in rows.features.columns() {
        match &column.data {
            ColumnData::Number(values) => numbers(&mut digest, &column.name, &values.contiguous()),
            ColumnData::Text(text) => {
                named(&mut digest, &column.name, text.codes.len());
                // Texts, not codes: the same cells may be coded in another order.
                for i in 0..text.codes.len() {
                    match text.get(i) {
                        Some(cell) => named(&mut digest, cell, 1),
                        None => named(&mut digest, "", 0),
                    }
                }
            }
        }
    }
    if let Some(block) = rows.features.sparse() {
        block.names.iter().for_each(|name| named(&mut digest, name, 0));
        for i in 0..block.values.n_rows() {
            let (columns, values) = block.values.row(i);
            named(&mut digest, "row", columns.len());
            for (column, value) in columns.iter().zip(values) {
                digest.update(column.to_le_bytes());
                digest.update(value.to_bits().to_le_bytes());
            }
        }
    }
    hex(&digest.finalize()[..12])
}

/// The digest of a file's bytes.
pub fn file_digest(path: &std::path::Path) -> Result<String> {
    use std::io::Read as _;
    let io = |source| Error::Io { path: path.to_owned(), source };
    let mut file = std::fs::File::open(path).map_err(io)?;
    let (mut digest, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hex(&digest.finalize()[..12])),
            Ok(n) => digest.update(&buffer[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(source) => return Err(io(source)),
        }
    }
}

/// A text and a number, so that no two sequences of them give the same bytes.
fn named(digest: &mut Sha256, text: &str, count: usize) {
    digest.update((text.len() as u64).to_le_bytes());
    digest.update(text.as_bytes());
    digest.update((count as u64).to_le_bytes());
}

/// The parts in which two identities differ, in words, e.g. "the rows, the seed"; `None` when they are one.
pub fn difference(earlier: &Value, now: &Value) -> Option<String> {
    let (Some(earlier), Some(now)) = (earlier.as_object(), now.as_object()) else {
        return (earlier != now).then(|| "what it was made from".to_owned());
    };
    let missing = Value::Null;
    let names: Vec<&String> = now.keys().chain(earlier.keys().filter(|name| !now.contains_key(*name))).collect();
    let differs =
        names.into_iter().filter(|name| earlier.get(*name).unwrap_or(&missing) != now.get(*name).unwrap_or(&missing));
    let words: Vec<String> = differs.map(|name| in_words(name, earlier, now)).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn in_words(name: &str, earlier: &Map<String, Value>, now: &Map<String, Value>) -> String {
    let shown = |all: &Map<String, Value>| all.get(name).map_or("none".to_owned(), Value::to_string);
    match name {
        "rows" => "the rows of the data".to_owned(),
        "model" => "the model".to_owned(),
        "reading" => "how the cells are read".to_owned(),
        "roles" => "the columns' roles".to_owned(),
        "params" | "spec" => "the parameters".to_owned(),
        "valid_share" | "valid" => "the share of validation rows".to_owned(),
        "tune" => format!("the estimator ({} then, {} now)", shown(earlier), shown(now)),
        other => format!("the {other} ({} then, {} now)", shown(earlier), shown(now)),
    }
}

/// A store of checkpoints that adds an identity to what it saves and refuses to load what has another.
pub(crate) struct IdentifiedStore<'a> {
    pub(crate) store: &'a dyn CheckpointStore,
    pub(crate) identity: Value,
}

/// The identity's name in a checkpoint.
const KEY: &str = "identity";

impl CheckpointStore for IdentifiedStore<'_> {
    fn load(&self) -> Result<Option<State>> {
        let Some(state) = self.store.load()? else { return Ok(None) };
        let earlier = state.json.get(KEY).ok_or_else(|| Error::bad_model("the file is not a checkpoint of a fit"))?;
        match difference(earlier, &self.identity) {
            None => Ok(Some(state)),
            Some(what) => Err(Error::unfit(format!(
                "the checkpoint is of another fit: {what} differ; restore what it was, or remove the checkpoint"
            ))),
        }
    }

    fn save(&self, state: &State) -> Result<()> {
        let mut state = state.clone();
        if let Value::Object(map) = &mut state.json {
            map.insert(KEY.to_owned(), self.identity.clone());
        }
        self.store.save(&state)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use paretau_data::{RoleSpec, Table, TableColumn, assign};
    use serde_json::json;

    fn digest(columns: &[(&str, [f64; 4])]) -> String {
        let columns = columns.iter().map(|(name, cells)| TableColumn::number(*name, cells.to_vec())).collect();
        rows_digest(&assign(Table::new(columns).unwrap(), &RoleSpec::new("t", "y")).unwrap())
    }

    #[test]
    fn every_cell_and_the_order_of_rows_count() {
        let (t, y) = (("t", [0.0, 1.0, 0.0, 1.0]), ("y", [1.0, 2.0, 3.0, 4.0]));
        let whole = digest(&[t, y, ("a", [1.0, 2.0, 3.0, 4.0])]);
        assert_eq!(whole, digest(&[t, y, ("a", [1.0, 2.0, 3.0, 4.0])]));
        assert_ne!(whole, digest(&[t, y, ("a", [3.0, 2.0, 1.0, 4.0])]), "shuffled features");
        assert_ne!(whole, digest(&[t, y, ("b", [1.0, 2.0, 3.0, 4.0])]), "another name");
        assert_ne!(whole, digest(&[t, ("y", [3.0, 2.0, 1.0, 4.0]), ("a", [1.0, 2.0, 3.0, 4.0])]));
    }

    #[test]
    fn differences_are_named() {
        let one = json!({ "rows": "a", "seed": 1 });
        assert_eq!(difference(&one, &one), None);
        let words = difference(&one, &json!({ "rows": "b", "seed": 2 })).unwrap();
        assert_eq!(words, "the rows of the data, the seed (1 then, 2 now)");
    }
}
