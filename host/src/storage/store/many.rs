//! Many objects at a time: requests that do not wait for one another.

use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream;
use object_store::Error;
use object_store::ObjectStore;
use object_store::ObjectStoreExt;
use object_store::PutMode;
use object_store::PutOptions;
use object_store::PutPayload;
use object_store::path::Path;

use super::StorageError;
use super::StoreAddress;
use super::wait;

/// Objects that are read at a time.
const READS_MAX: usize = 16;

/// How often a removal is asked for: it may be done again, and the client does not do it by itself where an answer is lost.
const REMOVALS_MAX: usize = 3;

/// What came of putting an object where none was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Created {
    /// It is there.
    Now,
    /// One is there, or is being put at this moment. It may be this one, if an answer was lost.
    Taken,
}

impl StoreAddress {
    /// Puts an object here, if there is none, in one request: of several at a time one comes first.
    ///
    /// # Errors
    /// Where it cannot be written, or nobody knows whether it was.
    pub fn create(&self, bytes: Bytes) -> Result<Created, StorageError> {
        let (store, key) = (Arc::clone(&self.store), self.key.clone());
        let (payload, options) = (PutPayload::from(bytes), PutOptions::from(PutMode::Create));
        match wait(async move { store.put_opts(&key, payload, options).await }) {
            Ok(_) => Ok(Created::Now),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(Created::Taken),
            Err(error) => Err(self.failed("write it")(error)),
        }
    }

    /// The whole objects of these names below this key, in their order; `None` where there is none.
    ///
    /// # Errors
    /// Where one cannot be read.
    pub fn read_each(&self, below: &[String]) -> Result<Vec<Option<Bytes>>, StorageError> {
        let places: Vec<Self> = below.iter().map(|name| self.join(name)).collect();
        let asked: Vec<BoxFuture<'static, _>> = places
            .iter()
            .map(|place| whole(Arc::clone(&place.store), place.key.clone()).boxed())
            .collect();
        let read = wait(async move {
            Ok(stream::iter(asked).buffered(READS_MAX).collect::<Vec<_>>().await)
        });
        let read = read.map_err(self.failed("read what is in it"))?;
        let read = places.iter().zip(read).map(|(place, read)| match read {
            Err(Error::NotFound { .. }) => Ok(None),
            other => other.map(Some).map_err(place.failed("read it")),
        });
        read.collect()
    }

    /// Removes objects of this store, all that can be; nothing is an error where one is not there.
    ///
    /// # Errors
    /// Where one may still be there.
    pub fn remove_each<'a>(
        &self,
        objects: impl IntoIterator<Item = &'a Self>,
    ) -> Result<(), StorageError> {
        let keys: Vec<Path> = objects.into_iter().map(|object| object.key.clone()).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let mut asked = 1;
        loop {
            let (store, keys) = (Arc::clone(&self.store), keys.clone());
            let gone = wait(async move {
                let keys = stream::iter(keys.into_iter().map(Ok)).boxed();
                Ok(store.delete_stream(keys).collect::<Vec<_>>().await)
            });
            let failed = match gone {
                Ok(gone) => gone.into_iter().filter_map(Result::err).find(|error| !is_gone(error)),
                Err(error) => Some(error),
            };
            match failed {
                None => return Ok(()),
                Some(error) if asked == REMOVALS_MAX => {
                    return Err(self.failed("remove replaced files from it")(error));
                }
                Some(_) => asked += 1,
            }
        }
    }
}

fn is_gone(error: &Error) -> bool {
    matches!(error, Error::NotFound { .. })
}

async fn whole(store: Arc<dyn ObjectStore>, key: Path) -> object_store::Result<Bytes> {
    store.get(&key).await?.bytes().await
}
