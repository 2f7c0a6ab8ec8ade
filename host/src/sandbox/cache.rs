//! Machine code of components, kept between runs: compiling takes seconds, loading some milliseconds.
//!
//! Machine code runs with the host's rights, so a file is used only if this user alone can write it and its code is
//! authenticated with a key that only this user can read. Anything else is compiled anew. A cache that cannot be used costs time
//! and nothing else, so its failures are not errors.

use std::fs;
use std::fs::File;
use std::hash::DefaultHasher;
use std::hash::Hash as _;
use std::hash::Hasher as _;
use std::io;
use std::io::Read as _;
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use hmac::Hmac;
use hmac::Mac as _;
use sha2::Sha256;
use wasmtime::Engine;
use wasmtime::component::Component;

const KEY_BYTES: usize = 32;

/// A folder of machine code that only this user can write.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
    key: [u8; KEY_BYTES],
}

impl Cache {
    /// The cache in `folder`, made if it is not there. `None` where it cannot be trusted or used.
    #[must_use]
    pub fn open(folder: &Path) -> Option<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).ok()?;
        if !is_ours(&fs::metadata(folder).ok()?) {
            return None;
        }
        let key = key(&folder.join("key")).ok()?;
        Some(Self { folder: folder.to_owned(), key })
    }

    /// The code of a component for this engine, if it is here and authentic.
    pub(super) fn get(&self, engine: &Engine, digest: &str) -> Option<Component> {
        let path = self.path(engine, digest)?;
        let mut file = File::open(&path).ok()?;
        if !is_ours(&file.metadata().ok()?) {
            return None;
        }
        let mut code = Vec::new();
        file.read_to_end(&mut code).ok()?;
        let tag = fs::read(path.with_extension("tag")).ok()?;
        self.mac(&path, &code)?.verify_slice(&tag).ok()?;
        // SAFETY: these very bytes were authenticated with a key that only this user can read; they are what `put` serialised. They
        // are not mapped from the file: between the check and the mapping, whoever owns a folder above could put another one there.
        unsafe { Component::deserialize(engine, &code) }.ok()
    }

    /// Keeps the code of a component. Another process may do the same at once: each file appears whole.
    pub(super) fn put(&self, engine: &Engine, digest: &str, component: &Component) {
        let (Some(path), Ok(code)) = (self.path(engine, digest), component.serialize()) else {
            return;
        };
        let Some(tag) = self.mac(&path, &code).map(|mac| mac.finalize().into_bytes()) else {
            return;
        };
        // The tag first: code without its tag is not used, a tag without its code does no harm.
        if write(&path.with_extension("tag"), &tag).is_ok() {
            let _ = write(&path, &code);
        }
    }

    fn path(&self, engine: &Engine, digest: &str) -> Option<PathBuf> {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let plain = digest.strip_prefix("sha256:")?;
        Some(self.folder.join(format!("{plain}-{:016x}.code", hasher.finish())))
    }

    /// Over name and content, so that no file can stand in for another.
    fn mac(&self, path: &Path, code: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        mac.update(path.file_name()?.as_encoded_bytes());
        mac.update(&[0]);
        mac.update(code);
        Some(mac)
    }
}

/// Whether only this user can write it.
fn is_ours(facts: &fs::Metadata) -> bool {
    facts.uid() == rustix::process::geteuid().as_raw() && facts.mode() & 0o022 == 0
}

/// The key; made on first use.
fn key(path: &Path) -> io::Result<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    match File::open(path) {
        Ok(mut file) => {
            let facts = file.metadata()?;
            if !is_ours(&facts) || facts.mode() & 0o077 != 0 {
                return Err(io::Error::from(io::ErrorKind::PermissionDenied));
            }
            file.read_exact(&mut key)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            File::open("/dev/urandom")?.read_exact(&mut key)?;
            write(path, &key)?;
            // Where another process was faster, its key is the one that counts.
            File::open(path)?.read_exact(&mut key)?;
        }
        Err(error) => return Err(error),
    }
    Ok(key)
}

/// A file that appears whole, readable by this user alone.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static UNFINISHED: AtomicU64 = AtomicU64::new(0);
    let number = UNFINISHED.fetch_add(1, Ordering::Relaxed);
    let unfinished = path.with_extension(format!("{}-{number}.tmp", std::process::id()));
    let mut file =
        File::options().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&unfinished, path)
}
