//! A set of keys for as little memory as the sandbox can be asked for: the bytes one after the other, and 9 to 18 more a key.

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use wasmhost_guest::Failure;

/// Keys in the formats of [`crate::keys`].
pub(crate) struct KeySet {
    hasher: FixedState,
    bytes: Vec<u8>,
    keys: HashTable<Key>,
}

/// Where a key's bytes start. They need no end, as none is the start of another one.
#[derive(Clone, Copy)]
struct Key {
    start: u32,
    /// Kept, so that the table grows without reading any bytes.
    hash: u32,
}

impl KeySet {
    /// Empty. The seed makes keys that all fall into one place a matter of luck; it changes no answer.
    pub(crate) fn new(seed: u64) -> Self {
        Self { hasher: FixedState::with_seed(seed), bytes: Vec::new(), keys: HashTable::new() }
    }

    /// Adds a key, if it is new.
    ///
    /// # Errors
    /// More bytes of keys than 32 bits can point at.
    pub(crate) fn add(&mut self, key: &[u8]) -> Result<(), Failure> {
        let hash = self.hash(key);
        let Self { bytes, keys, .. } = self;
        let is_equal =
            |known: &Key| known.hash == hash && bytes[known.start as usize..].starts_with(key);
        let Entry::Vacant(vacant) = keys.entry(spread(hash), is_equal, |known| spread(known.hash))
        else {
            return Ok(());
        };
        let start = u32::try_from(bytes.len()).map_err(|_| {
            Failure::bad_batch("too-many-keys", "more than 4 GiB of keys in a source")
        })?;
        vacant.insert(Key { start, hash });
        bytes.extend_from_slice(key);
        Ok(())
    }

    pub(crate) fn has(&self, key: &[u8]) -> bool {
        let hash = self.hash(key);
        let is_equal =
            |known: &Key| known.hash == hash && self.bytes[known.start as usize..].starts_with(key);
        self.keys.find(spread(hash), is_equal).is_some()
    }

    fn hash(&self, key: &[u8]) -> u32 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(key);
        hasher.finish() as u32
    }
}

/// The table takes a place from a hash's low bits and a tag from its high ones.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeySet").field("keys", &self.keys.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_after_growth_and_others_are_not() {
        let mut set = KeySet::new(7);
        for number in (0..20_000_u64).step_by(2).chain((0..100).step_by(2)) {
            set.add(&number.to_le_bytes()).unwrap();
        }
        assert_eq!((set.keys.len(), set.bytes.len()), (10_000, 80_000), "each once");
        assert!((0..20_000_u64).all(|number| set.has(&number.to_le_bytes()) == (number % 2 == 0)));
    }
}
