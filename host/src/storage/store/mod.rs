//! Object stores: opened by their settings, then used as a disk is: a call waits for its answer. The only place, beside Delta's
//! log, that names `object_store`.

mod build;
mod chain;
mod guard;
mod many;
mod profile;
mod read;
mod sections;
mod upload;
mod waiting;

use std::path::Path as FilePath;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use chrono::DateTime;
use chrono::Utc;
use futures::TryStreamExt;
use object_store::Error;
use object_store::ObjectMeta;
use object_store::ObjectStore;
use object_store::ObjectStoreExt;
use object_store::PutPayload;
use object_store::path::Path;

use super::Cause;
use super::DataPlace;
use super::StorageError;
use crate::flow::StoreLocation;

use self::build::Unusable;

pub use self::guard::is_unanswered;
pub use self::many::Created;
pub use self::read::StoreRead;
pub use self::waiting::wait;

/// A place in a store that is open: an object, or what is below a key.
#[derive(Debug, Clone)]
pub struct StoreAddress {
    store: Arc<dyn ObjectStore>,
    /// Of the whole store, as its URLs begin: `s3://bucket`.
    root: Arc<str>,
    key: Path,
    shown: PathBuf,
}

/// What a store says of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectFacts {
    /// Its key below the place that was listed, or nothing for the place itself.
    pub below: String,
    /// Bytes.
    pub size: u64,
    /// When it was written.
    pub modified: DateTime<Utc>,
    /// What tells its contents from others of that key, where the store has it.
    pub e_tag: Option<String>,
}

impl StoreAddress {
    /// Opens the store of a place. No request is made yet.
    ///
    /// # Errors
    /// Where its settings cannot be used, and where the key is none.
    pub fn open(location: &StoreLocation) -> Result<Self, StorageError> {
        let shown = PathBuf::from(location.to_string());
        let wrong = |Unusable { what, hint }| {
            StorageError::data(&shown, DataPlace::default(), what).hint(hint)
        };
        let store = build::store(location).map_err(|Unusable { what, hint }| {
            wrong(Unusable { what: format!("the store cannot be opened: {what}"), hint })
        })?;
        let key = Path::parse(&location.key)
            .map_err(|error| wrong(Unusable::from(Error::InvalidPath { source: error })))?;
        let root = StoreLocation { key: String::new(), ..location.clone() }.to_string();
        Ok(Self { store: Arc::new(store), root: Arc::from(root), key, shown })
    }

    /// As messages show it.
    #[must_use]
    pub fn shown(&self) -> &FilePath {
        &self.shown
    }

    /// The URL of the whole store, and the store, as Delta's library wants them.
    #[must_use]
    pub fn root(&self) -> (&str, Arc<dyn ObjectStore>) {
        (&self.root, Arc::clone(&self.store))
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &str {
        self.key.as_ref()
    }

    /// A place below this one; `inner` has its parts between `/`.
    #[must_use]
    pub fn join(&self, inner: &str) -> Self {
        let key = inner.split('/').filter(|part| !part.is_empty());
        // Parts are names already; encoding them once more would name another object.
        let key = key.fold(self.key.as_ref().to_owned(), |key, part| match key.as_str() {
            "" => part.to_owned(),
            key => format!("{key}/{part}"),
        });
        let shown = PathBuf::from(format!("{}/{key}", self.root));
        let key = Path::parse(&key).unwrap_or_else(|_| Path::from(key));
        Self { key, shown, ..self.clone() }
    }

    /// The folder that this place is in; the whole store where there is none.
    #[must_use]
    pub fn above(&self) -> Self {
        self.moved(self.key().rsplit_once('/').map_or("", |(above, _)| above))
    }

    /// Another place of the same store.
    #[must_use]
    pub fn moved(&self, key: &str) -> Self {
        Self { key: Path::default(), ..self.clone() }.join(key)
    }

    /// The object of this very key; `None` where there is none.
    ///
    /// # Errors
    /// Where the store cannot be asked.
    pub fn look(&self) -> Result<Option<ObjectFacts>, StorageError> {
        let (store, key) = (Arc::clone(&self.store), self.key.clone());
        if key.as_ref().is_empty() {
            return Ok(None);
        }
        match wait(async move { store.head(&key).await }) {
            Err(Error::NotFound { .. }) => Ok(None),
            other => other
                .map(|meta| Some(facts(String::new(), meta)))
                .map_err(self.failed("look at it")),
        }
    }

    /// All objects below this key, however deep, by their keys.
    ///
    /// # Errors
    /// Where the store cannot be asked.
    pub fn list(&self) -> Result<Vec<ObjectFacts>, StorageError> {
        let (store, key) = (Arc::clone(&self.store), self.key.clone());
        let found: Result<Vec<ObjectMeta>, _> = wait(async move {
            store.list(Some(&key).filter(|key| !key.as_ref().is_empty())).try_collect().await
        });
        let found = found.map_err(self.failed("list it"))?;
        let mut found: Vec<_> = found
            .into_iter()
            .filter_map(|meta| {
                let below = self.below(&meta.location)?;
                Some(facts(below, meta))
            })
            .collect();
        found.sort_by(|a, b| a.below.cmp(&b.below));
        Ok(found)
    }

    /// The names of the objects right below this key.
    ///
    /// # Errors
    /// Where the store cannot be asked.
    pub fn names(&self) -> Result<Vec<String>, StorageError> {
        let (store, key) = (Arc::clone(&self.store), self.key.clone());
        let found = wait(async move {
            store.list_with_delimiter(Some(&key).filter(|key| !key.as_ref().is_empty())).await
        });
        let found = found.map_err(self.failed("list it"))?;
        Ok(found.objects.into_iter().filter_map(|meta| self.below(&meta.location)).collect())
    }

    /// Whether any object is below this key. None is, for all that is known, where the store does not let look.
    ///
    /// # Errors
    /// Where the store cannot be asked.
    pub fn is_folder(&self) -> Result<bool, StorageError> {
        let (store, key) = (Arc::clone(&self.store), self.key.clone());
        match wait(async move { store.list_with_delimiter(Some(&key)).await }) {
            Ok(found) => Ok(!found.objects.is_empty() || !found.common_prefixes.is_empty()),
            // Rights may be given for what is below some folder and not above it, or for objects alone.
            Err(error) if guard::is_forbidden(&error) => Ok(false),
            Err(error) => Err(self.failed("list it")(error)),
        }
    }

    /// What is behind this key in a key below it.
    fn below(&self, key: &Path) -> Option<String> {
        let rest = match self.key.as_ref() {
            "" => key.as_ref(),
            own => key.as_ref().strip_prefix(own)?.strip_prefix('/')?,
        };
        (!rest.is_empty()).then(|| rest.to_owned())
    }

    /// A whole object; `None` where there is none.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn read(&self) -> Result<Option<Bytes>, StorageError> {
        let (store, key) = (Arc::clone(&self.store), self.key.clone());
        match wait(async move { store.get(&key).await?.bytes().await }) {
            Err(Error::NotFound { .. }) => Ok(None),
            other => other.map(Some).map_err(self.failed("read it")),
        }
    }

    /// Puts an object here, in one request; one that was here is gone.
    ///
    /// # Errors
    /// Where it cannot be written, or nobody knows whether it was.
    pub fn put(&self, bytes: impl Into<Bytes>) -> Result<(), StorageError> {
        let (store, key) = (Arc::clone(&self.store), self.key.clone());
        let payload = PutPayload::from(bytes.into());
        wait(async move { store.put(&key, payload).await })
            .map(drop)
            .map_err(self.failed("write it"))
    }

    /// Puts a file's contents here; it appears whole or not at all.
    ///
    /// # Errors
    /// Where the file cannot be read or the object cannot be written.
    pub fn put_file(&self, file: &FilePath) -> Result<(), StorageError> {
        let failed = || StorageError::io(file, "read it");
        let size = std::fs::metadata(file).map_err(failed())?.len();
        if size <= upload::PART_BYTES {
            return self.put(std::fs::read(file).map_err(failed())?);
        }
        let (store, key, file) = (Arc::clone(&self.store), self.key.clone(), file.to_owned());
        wait(upload::whole(store, key, file, size)).map_err(self.failed("write it"))
    }

    /// Removes the object; nothing is an error where there is none.
    ///
    /// # Errors
    /// Where it cannot be removed.
    pub fn remove(&self) -> Result<(), StorageError> {
        let (store, key) = (Arc::clone(&self.store), self.key.clone());
        match wait(async move { store.delete(&key).await }) {
            Err(Error::NotFound { .. }) => Ok(()),
            other => other.map_err(self.failed("remove it")),
        }
    }

    /// Opens an object of this size for reading; other contents of its key than these are an error then.
    #[must_use]
    pub fn open_read(&self, size: u64, e_tag: Option<&str>) -> StoreRead {
        StoreRead::new(Arc::clone(&self.store), self.key.clone(), size, e_tag.map(str::to_owned))
    }

    fn failed(&self, doing: &'static str) -> impl FnOnce(Error) -> StorageError {
        let path = self.shown.clone();
        move |error| StorageError::Library { path, doing, source: Cause::from(error) }
    }
}

fn facts(below: String, meta: ObjectMeta) -> ObjectFacts {
    let ObjectMeta { size, last_modified, e_tag, .. } = meta;
    ObjectFacts { below, size, modified: last_modified, e_tag }
}

impl PartialEq for StoreAddress {
    fn eq(&self, other: &Self) -> bool {
        (&self.root, &self.key) == (&other.root, &other.key)
    }
}

impl Eq for StoreAddress {}
