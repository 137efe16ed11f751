//! Distinct texts, numbered in order of first appearance. Each text is stored once, which a map from
//! text to number beside a list of texts would not do.

use std::hash::{DefaultHasher, Hash, Hasher};

/// An unused slot: no code reaches `u32::MAX`, which stands for a missing cell.
const EMPTY: Slot = Slot { tag: 0, code: u32::MAX };

/// Some bits of a text's hash beside its code, so that most mismatches are seen without touching the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    tag: u32,
    code: u32,
}

/// An open-addressing set of texts with dense codes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interner {
    levels: Vec<String>,
    slots: Vec<Slot>,
}

impl Interner {
    /// The code of `text`, a new one if it has not been seen.
    pub(crate) fn code(&mut self, text: &str) -> u32 {
        if (self.levels.len() + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        let hash = hash(text);
        let (tag, mask) = ((hash >> 32) as u32, self.slots.len() - 1);
        let mut at = hash as usize & mask;
        loop {
            match self.slots[at] {
                EMPTY => {
                    let code = self.levels.len() as u32;
                    self.slots[at] = Slot { tag, code };
                    self.levels.push(text.to_owned());
                    return code;
                }
                slot if slot.tag == tag && self.levels[slot.code as usize] == text => return slot.code,
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// How many texts there are.
    pub(crate) fn len(&self) -> usize {
        self.levels.len()
    }

    /// All texts so far, by code.
    pub(crate) fn levels(&self) -> &[String] {
        &self.levels
    }

    /// All texts, by code.
    pub(crate) fn into_levels(self) -> Vec<String> {
        self.levels
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(16);
        self.slots = vec![EMPTY; size];
        for (code, level) in self.levels.iter().enumerate() {
            let hash = hash(level);
            let mut at = hash as usize & (size - 1);
            while self.slots[at] != EMPTY {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = Slot { tag: (hash >> 32) as u32, code: code as u32 };
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
