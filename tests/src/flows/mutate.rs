//! Flow files damaged at random: reading them may fail, it may not panic.

use std::fs;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use wasmhost::flow::read;

use super::context;
use super::files;

const ROUNDS: u64 = 600;

/// What damage is made of, beside bytes of the file itself.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "'",
    "\n",
    "  ",
    "- ",
    "&a ",
    "*a",
    "<<: ",
    "{{ ",
    " }}",
    "{{ secret:x }}",
    "{{ month }}",
    "~",
    "null",
    "-1",
    "0",
    "1e400",
    "99999999999999999999",
    "true",
    "\u{0}",
    "é",
    "\u{202e}",
    "://",
    "..",
    "!tag ",
    "|\n",
    "? ",
    "%",
    "#",
    "configure: {",
    "type",
    "s3://b/k",
    "*",
    "\\",
    "\t",
];

#[test]
fn reading_never_panics_on_damaged_files() {
    let folder = tempfile::tempdir().unwrap();
    let sources: Vec<_> = files("good")
        .into_iter()
        .chain(files("bad"))
        .map(|file| (fs::read(&file).unwrap(), file))
        .collect();
    let first: u64 = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    for seed in first..first + ROUNDS {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let (bytes, original) = &sources[random.below(sources.len())];
        let damaged = damage(bytes.clone(), &mut random);
        let file = folder.path().join("flow").with_extension(original.extension().unwrap());
        fs::write(&file, damaged).unwrap();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            if let Err(problems) = read(&file, &context(&[])) {
                assert!(!problems.is_empty());
                problems.iter().for_each(|problem| drop(problem.to_string()));
            }
        }));
        assert!(outcome.is_ok(), "SEED={seed}, made of {}", original.display());
    }
}

fn damage(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(40)).min(bytes.len());
        match random.below(4) {
            0 => drop(bytes.drain(at..end)),
            1 => drop(bytes.splice(at..at, PIECES[random.below(PIECES.len())].bytes())),
            2 => {
                let copy = bytes[at..end].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.below(256) as u8;
                }
            }
        }
    }
    bytes
}

/// xorshift64: enough to scatter damage, the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}
