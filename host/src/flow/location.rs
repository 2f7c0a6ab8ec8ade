//! Where the data of a flow is: on a disk, in an object store, or with a server.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde::Serializer;

use super::disk::physical;
use super::sensitive::Sensitive;
use super::store::StoreKind;
use super::store::StoreOption;
use super::store::StoreSettings;

/// Where a file, a folder or a pattern of files is, or who has the rows instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// On a disk: absolute, or relative to the working folder.
    Disk(PathBuf),
    /// In an object store.
    Store(StoreLocation),
    /// With the server of a database, as messages show it: there are no files.
    Server(String),
}

/// A place in an object store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreLocation {
    /// Whose protocol the store speaks.
    pub kind: StoreKind,
    /// The bucket or container.
    pub bucket: String,
    /// The place in it, parts separated by `/`, none of them empty; nothing for the whole bucket.
    pub key: String,
    /// How to get in.
    pub settings: Arc<StoreSettings>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(path) => path.display().fmt(f),
            Self::Store(place) => place.fmt(f),
            Self::Server(server) => server.fmt(f),
        }
    }
}

impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, bucket, key, settings: _ } = self;
        write!(f, "{}://{bucket}{}{key}", kind.scheme(), if key.is_empty() { "" } else { "/" })
    }
}

impl Serialize for Location {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Location {
    /// The path that messages and records show.
    #[must_use]
    pub fn shown(&self) -> PathBuf {
        match self {
            Self::Disk(path) => path.clone(),
            Self::Store(place) => PathBuf::from(place.to_string()),
            Self::Server(server) => PathBuf::from(server),
        }
    }

    /// A place below this one; `inner` has its parts between `/`. Nothing is below a server.
    #[must_use]
    pub fn join(&self, inner: &str) -> Self {
        match self {
            Self::Disk(path) => Self::Disk(path.join(inner)),
            Self::Store(place) => {
                let parts = [place.key.as_str(), inner];
                let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                Self::Store(StoreLocation { key: parts.join("/"), ..place.clone() })
            }
            Self::Server(_) => self.clone(),
        }
    }

    /// The place itself, for comparing and not for showing: links of what exists on a disk are resolved, and buckets of one name
    /// are told apart by whose they are.
    pub(super) fn physical(&self) -> PathBuf {
        match self {
            Self::Disk(path) => physical(path),
            Self::Store(place) => {
                let option = |option| place.settings.options.get(&option).map(Sensitive::reveal);
                let service = [StoreOption::Endpoint, StoreOption::AccountName];
                let service: Vec<_> = service.into_iter().filter_map(option).collect();
                PathBuf::from(format!("{}/{place}", service.join("/")))
            }
            Self::Server(server) => PathBuf::from(server),
        }
    }
}
