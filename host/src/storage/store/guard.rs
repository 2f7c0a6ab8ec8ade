//! A store whose errors tell no secrets, and whose requests run on the threads of stores, whoever asks.

use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::FutureExt;
use futures::StreamExt;
use futures::TryStreamExt;
use futures::stream;
use futures::stream::BoxStream;
use object_store::CopyOptions;
use object_store::Error;
use object_store::GetOptions;
use object_store::GetResult;
use object_store::GetResultPayload;
use object_store::ListResult;
use object_store::MultipartUpload;
use object_store::ObjectMeta;
use object_store::ObjectStore;
use object_store::PutMultipartOptions;
use object_store::PutOptions;
use object_store::PutPayload;
use object_store::PutResult;
use object_store::Result;
use object_store::UploadPart;
use object_store::client::HttpError;
use object_store::client::HttpErrorKind;
use object_store::path::Path;

use super::waiting::broken;
use super::waiting::threads;
use crate::flow::Sensitive;

/// How often a listing is asked for.
const ASKED_MAX: usize = 3;

/// The store, and what its errors must not tell.
#[derive(Clone)]
pub(super) struct Guarded {
    inner: Arc<dyn ObjectStore>,
    secrets: Arc<[Sensitive]>,
}

impl Guarded {
    pub(super) fn new(inner: Arc<dyn ObjectStore>, secrets: Vec<Sensitive>) -> Self {
        Self { inner, secrets: secrets.into() }
    }

    /// The same for a listing, whose answer may end too early: the client does not ask again by itself.
    async fn ask<T, F>(&self, work: impl Fn(Arc<dyn ObjectStore>) -> F + Send) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        for _ in 1..ASKED_MAX {
            let work = work(Arc::clone(&self.inner));
            // Judged before it is put into other words.
            let done = self
                .run(async move {
                    match work.await {
                        Err(error) if is_cut(&error) => Ok(None),
                        other => other.map(Some),
                    }
                })
                .await?;
            if let Some(done) = done {
                return Ok(done);
            }
        }
        self.run(work(Arc::clone(&self.inner))).await
    }

    /// A whole listing, asked for so.
    fn listed(
        &self,
        list: impl Fn(&dyn ObjectStore) -> BoxStream<'static, Result<ObjectMeta>>
        + Send
        + Sync
        + 'static,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let store = self.clone();
        let found = async move {
            let found: Result<Vec<_>> = store.ask(|inner| list(inner.as_ref()).try_collect()).await;
            found.map_or_else(|error| vec![Err(error)], |found| found.into_iter().map(Ok).collect())
        };
        found.map(stream::iter).flatten_stream().boxed()
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let done = threads()?.spawn(work).await;
        done.unwrap_or_else(|error| Err(broken(format!("a request stopped: {error}"))))
            .map_err(|error| self.redacted(error))
    }

    /// The same kind of error, in words without secrets.
    fn redacted(&self, error: Error) -> Error {
        let words = |source: &dyn fmt::Display| {
            Sensitive::redact_all(&self.secrets, &source.to_string()).into()
        };
        if has_no_answer(&error) {
            let said = Sensitive::redact_all(&self.secrets, &error.to_string());
            return Error::Generic { store: "object store", source: Unanswered(said).into() };
        }
        match error {
            Error::Generic { store, source } if is_closed(source.as_ref()) => {
                let said = Sensitive::redact_all(&self.secrets, &source.to_string());
                Error::Generic { store, source: Closed(said).into() }
            }
            Error::NotFound { path, source } => Error::NotFound { path, source: words(&source) },
            Error::AlreadyExists { path, source } => {
                Error::AlreadyExists { path, source: words(&source) }
            }
            Error::Precondition { path, source } => {
                Error::Precondition { path, source: words(&source) }
            }
            Error::NotModified { path, source } => {
                Error::NotModified { path, source: words(&source) }
            }
            Error::PermissionDenied { path, source } => {
                Error::PermissionDenied { path, source: words(&source) }
            }
            Error::Unauthenticated { path, source } => {
                Error::Unauthenticated { path, source: words(&source) }
            }
            Error::NotSupported { source } => Error::NotSupported { source: words(&source) },
            Error::Generic { store, source } => Error::Generic { store, source: words(&source) },
            other @ (Error::InvalidPath { .. } | Error::NotImplemented { .. }) => other,
            other => Error::Generic { store: "object store", source: words(&other) },
        }
    }
}

/// Whether an answer began well and did not come to its end.
fn is_cut(error: &Error) -> bool {
    let Error::Generic { source, .. } = error else { return false };
    source.source().is_some_and(|cause| cause.is::<HttpError>())
}

/// The store does not let list, or says that nothing is there, as some do instead.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Closed(String);

/// Whether a listing ended because whoever asks may not have it.
pub(super) fn is_forbidden(error: &Error) -> bool {
    let Error::Generic { source, .. } = error else { return false };
    source.is::<Closed>()
}

/// The same of an error as the client has it, by its words: it gives the answer's status to nobody, and tells it before what the store
/// says itself.
fn is_closed(error: &(dyn std::error::Error + 'static)) -> bool {
    let said = error.to_string();
    let status = said
        .strip_prefix("Error performing list request: ")
        .and_then(|said| said.split_once("Server returned non-2xx status code: "))
        .and_then(|(_, rest)| rest.get(..3));
    matches!(status, Some("401" | "403" | "404"))
}

/// The store never answered: it may have acted, may act yet, or not.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unanswered(String);

/// Whether the store may still do what it was asked for: it never answered.
#[must_use]
pub fn is_unanswered(error: &(dyn std::error::Error + 'static)) -> bool {
    causes(error).any(|error| error.is::<Unanswered>())
}

/// An error and what led to it, one after the other.
fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}

/// Whether a request went out and no answer came.
fn has_no_answer(error: &Error) -> bool {
    let Error::Generic { source, .. } = error else { return false };
    let failed = causes(source.as_ref()).find_map(|error| error.downcast_ref::<HttpError>());
    // Where no connection came about, nobody was asked.
    failed.is_some_and(|error| error.kind() != HttpErrorKind::Connect)
}

impl fmt::Debug for Guarded {
    /// What the client shows of itself has its keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guarded({self})")
    }
}

impl fmt::Display for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for Guarded {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let (inner, location) = (Arc::clone(&self.inner), location.clone());
        self.run(async move { inner.put_opts(&location, payload, options).await }).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let (inner, location) = (Arc::clone(&self.inner), location.clone());
        let upload =
            self.run(async move { inner.put_multipart_opts(&location, options).await }).await?;
        Ok(Box::new(GuardedUpload { upload, store: self.clone() }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let (inner, location) = (Arc::clone(&self.inner), location.clone());
        let is_head = options.head;
        self.run(async move {
            let found = inner.get_opts(&location, options).await?;
            let (meta, range, attributes) =
                (found.meta.clone(), found.range.clone(), found.attributes.clone());
            // What is asked for is read here: whoever asked may poll on a runtime that ends before the connection does.
            let bytes = if is_head { Bytes::new() } else { found.bytes().await? };
            let payload = GetResultPayload::Stream(stream::once(async { Ok(bytes) }).boxed());
            Ok(GetResult { payload, meta, range, attributes })
        })
        .await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let (inner, location, ranges) =
            (Arc::clone(&self.inner), location.clone(), ranges.to_vec());
        self.run(async move { inner.get_ranges(&location, &ranges).await }).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let store = self.clone();
        let gone = async move {
            let inner = Arc::clone(&store.inner);
            store
                .run(async move { Ok(inner.delete_stream(locations).collect::<Vec<_>>().await) })
                .await
                .map_or_else(
                    |error| vec![Err(error)],
                    |gone| {
                        gone.into_iter()
                            .map(|one| one.map_err(|error| store.redacted(error)))
                            .collect()
                    },
                )
        };
        gone.map(stream::iter).flatten_stream().boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let prefix = prefix.cloned();
        self.listed(move |inner| inner.list(prefix.as_ref()))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let (prefix, offset) = (prefix.cloned(), offset.clone());
        self.listed(move |inner| inner.list_with_offset(prefix.as_ref(), &offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let prefix = prefix.cloned();
        self.ask(|inner| {
            let prefix = prefix.clone();
            async move { inner.list_with_delimiter(prefix.as_ref()).await }
        })
        .await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let (inner, from, to) = (Arc::clone(&self.inner), from.clone(), to.clone());
        self.run(async move { inner.copy_opts(&from, &to, options).await }).await
    }
}

/// A large object on its way.
#[derive(Debug)]
struct GuardedUpload {
    upload: Box<dyn MultipartUpload>,
    store: Guarded,
}

#[async_trait]
impl MultipartUpload for GuardedUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (part, store) = (self.upload.put_part(data), self.store.clone());
        async move { store.run(part).await }.boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.upload.complete().await.map_err(|error| self.store.redacted(error))
    }

    async fn abort(&mut self) -> Result<()> {
        self.upload.abort().await.map_err(|error| self.store.redacted(error))
    }
}
