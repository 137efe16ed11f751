//! Distinct texts, numbered in order of first appearance. Each text is stored once, which a map from
//! text to number beside a list of texts would not do.

use std::hash::{DefaultHasher, Hash, Hasher};

const EMPTY: u32 = u32::MAX;

/// An open-addressing set of texts with dense codes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interner {
    levels: Vec<String>,
    slots: Vec<u32>,
}

impl Interner {
    /// The code of `text`, a new one if it has not been seen.
    pub(crate) fn code(&mut self, text: &str) -> u32 {
        if (self.levels.len() + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        let mut slot = hash(text) as usize & (self.slots.len() - 1);
        loop {
            match self.slots[slot] {
                EMPTY => {
                    let code = self.levels.len() as u32;
                    self.slots[slot] = code;
                    self.levels.push(text.to_owned());
                    return code;
                }
                code if self.levels[code as usize] == text => return code,
                _ => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
    }

    /// All texts, by code.
    pub(crate) fn into_levels(self) -> Vec<String> {
        self.levels
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(16);
        self.slots = vec![EMPTY; size];
        for (code, level) in self.levels.iter().enumerate() {
            let mut slot = hash(level) as usize & (size - 1);
            while self.slots[slot] != EMPTY {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = code as u32;
        }
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_dense_and_stable() {
        let mut interner = Interner::default();
        for round in 0..2 {
            for i in 0..1000_u32 {
                assert_eq!(interner.code(&format!("level {i}")), i, "round {round}");
            }
        }
        assert_eq!(interner.into_levels().len(), 1000);
    }
}
