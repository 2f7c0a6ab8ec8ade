//! Which rows share a key, for inputs of any size: keys as digests, parted by their first bits, each part in memory by itself.

use std::fs::File;
use std::io::BufWriter;
use std::io::Read as _;
use std::io::Seek as _;
use std::io::Write as _;
use std::path::PathBuf;

use crate::spool::unnamed;
use crate::storage::StorageError;

/// Parts of all keys: what has to be in memory at once at the end is one of them.
const PARTS: usize = 64;

/// The number and the length that stand before a member's order in a spill file, and the digest.
const HEAD_BYTES: usize = 16 + 8 + 4;

/// Rows by their keys' digests.
pub struct Groups {
    folder: PathBuf,
    memory_max: usize,
    memory: usize,
    rows: u64,
    parts: Vec<Part>,
}

#[derive(Default)]
struct Part {
    members: Vec<u8>,
    spilled: Option<BufWriter<File>>,
}

/// A row of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<'a> {
    /// Its number, from 0, in the order in which rows came.
    pub row: u64,
    /// What orders the rows of a group; bytes compare as the values do.
    pub order: &'a [u8],
}

impl std::fmt::Debug for Groups {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Groups").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Groups {
    /// No rows yet.
    #[must_use]
    pub fn new(folder: PathBuf, memory_max: usize) -> Self {
        let parts = (0..PARTS).map(|_| Part::default()).collect();
        Self { folder, memory_max, memory: 0, rows: 0, parts }
    }

    /// The next row: the digest of its key, and what orders it within its group.
    ///
    /// # Errors
    /// Where keys cannot be spilled.
    pub fn push(&mut self, key: u128, order: &[u8]) -> Result<(), StorageError> {
        let row = self.rows;
        self.rows += 1;
        self.push_row(row, key, order)
    }

    /// The next row, which belongs to no group.
    pub fn pass(&mut self) {
        self.rows += 1;
    }

    fn push_row(&mut self, row: u64, key: u128, order: &[u8]) -> Result<(), StorageError> {
        let part = &mut self.parts[(key >> 122) as usize];
        part.members.extend_from_slice(&key.to_le_bytes());
        part.members.extend_from_slice(&row.to_le_bytes());
        // Orders are rows' encodings, far below 4 GiB: whole batches are.
        part.members
            .extend_from_slice(&u32::try_from(order.len()).unwrap_or(u32::MAX).to_le_bytes());
        part.members.extend_from_slice(order);
        self.memory += HEAD_BYTES + order.len();
        if self.memory > self.memory_max { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> Result<(), StorageError> {
        for part in &mut self.parts {
            if part.members.is_empty() {
                continue;
            }
            let failed = || StorageError::io(&self.folder, "spill keys into it");
            let file = match &mut part.spilled {
                Some(file) => file,
                none => {
                    let file = unnamed(&self.folder)?;
                    none.insert(BufWriter::with_capacity(1 << 16, file))
                }
            };
            file.write_all(&part.members).map_err(failed())?;
            part.members = Vec::new();
        }
        self.memory = 0;
        Ok(())
    }

    /// Shows each group of two rows or more, its members by their order, then by their number.
    ///
    /// # Errors
    /// Where keys cannot be read back, or what `show` returns.
    pub fn repeated<E: From<StorageError>>(
        self,
        mut show: impl FnMut(&[Member<'_>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { folder, parts, .. } = self;
        for Part { members, spilled } in parts {
            let mut bytes = Vec::new();
            if let Some(spilled) = spilled {
                let failed = || StorageError::io(&folder, "read spilled keys");
                let mut file =
                    spilled.into_inner().map_err(|error| failed()(error.into_error()))?;
                file.rewind().map_err(failed())?;
                file.read_to_end(&mut bytes).map_err(failed())?;
            }
            bytes.extend_from_slice(&members);
            drop(members);
            let mut keyed = read(&bytes);
            keyed.sort_unstable_by_key(|(key, member)| (*key, member.order, member.row));
            for group in keyed.chunk_by(|(a, _), (b, _)| a == b).filter(|group| group.len() > 1) {
                let members: Vec<_> = group.iter().map(|(_, member)| *member).collect();
                show(&members)?;
            }
        }
        Ok(())
    }
}

fn read(mut bytes: &[u8]) -> Vec<(u128, Member<'_>)> {
    let mut members = Vec::new();
    while let Some((head, rest)) = bytes.split_at_checked(HEAD_BYTES) {
        let key = head[..16].try_into().map(u128::from_le_bytes).unwrap_or_default();
        let row = head[16..24].try_into().map(u64::from_le_bytes).unwrap_or_default();
        let length = head[24..].try_into().map(u32::from_le_bytes).unwrap_or_default();
        let (order, rest) = rest.split_at_checked(length as usize).unwrap_or((rest, &[]));
        members.push((key, Member { row, order }));
        bytes = rest;
    }
    members
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn groups_are_whole_and_ordered_whether_keys_spilled_or_not() {
        let key =
            |n: u64| u128::from(n % 1_000).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        for memory_max in [0, 4_096, 1 << 20] {
            let mut groups = Groups::new(std::env::temp_dir(), memory_max);
            for n in 0..2_500_u64 {
                // The later a row comes, the earlier it is by its order; a row in 2,500 has no key.
                match n {
                    7 => groups.pass(),
                    _ => groups.push(key(n), &(u64::MAX - n).to_be_bytes()).unwrap(),
                }
            }
            let mut shown = vec![];
            groups
                .repeated(|members| {
                    shown.push(members.iter().map(|member| member.row).collect::<Vec<_>>());
                    Ok::<_, StorageError>(())
                })
                .unwrap();
            shown.sort();
            let expected = |n: u64| {
                let rows = [n + 2_000, n + 1_000, n];
                rows.into_iter().filter(|row| *row < 2_500 && *row != 7).collect::<Vec<_>>()
            };
            let mut all: Vec<_> = (0..1_000).map(expected).collect();
            all.sort();
            assert_eq!(shown, all, "{memory_max}");
        }
    }
}
