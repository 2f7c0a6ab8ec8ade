//! From a key's digest to the staged rows that have it, in the order in which they came. Positions only: the digests stay where they are.

use hashbrown::HashTable;

/// No further row.
const END: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Index {
    /// The first row of each key.
    first: HashTable<u32>,
    /// The next row of the same key.
    next: Vec<u32>,
}

impl Index {
    /// Over all staged rows; row n has the digest `keys[n]`.
    pub(super) fn new(keys: &[u128]) -> Self {
        let mut first = HashTable::with_capacity(keys.len());
        let mut next = vec![END; keys.len()];
        // From the end, so that what is found first came first.
        for row in (0..u32::try_from(keys.len()).unwrap_or(END)).rev() {
            let key = keys[row as usize];
            let same = |other: &u32| keys[*other as usize] == key;
            let rehash = |other: &u32| hash(keys[*other as usize]);
            match first.entry(hash(key), same, rehash) {
                hashbrown::hash_table::Entry::Occupied(mut entry) => {
                    next[row as usize] = *entry.get();
                    *entry.get_mut() = row;
                }
                hashbrown::hash_table::Entry::Vacant(entry) => {
                    entry.insert(row);
                }
            }
        }
        Self { first, next }
    }

    /// The first row with the key.
    pub(super) fn find(&self, key: u128, keys: &[u128]) -> Option<u32> {
        self.first.find(hash(key), |row| keys[*row as usize] == key).copied()
    }

    /// All rows of a key, from its first one on.
    pub(super) fn rows(&self, first: u32) -> impl Iterator<Item = u32> {
        let next = |row: &u32| Some(self.next[*row as usize]).filter(|next| *next != END);
        std::iter::successors(Some(first), next)
    }

    /// The first row of each key, in the order in which they came.
    pub(super) fn firsts(&self) -> Vec<u32> {
        let mut firsts: Vec<_> = self.first.iter().copied().collect();
        firsts.sort_unstable();
        firsts
    }

    pub(super) fn keys(&self) -> usize {
        self.first.len()
    }
}

/// A digest's own bits are as good as any hash of them.
#[expect(clippy::cast_possible_truncation, reason = "half of the bits are enough to spread")]
fn hash(key: u128) -> u64 {
    key as u64
}
