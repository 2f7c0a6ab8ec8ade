//! Large objects, written in parts. They cost money until the object is whole or given up.

use std::fs::File;
use std::io;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use object_store::Error;
use object_store::MultipartUpload;
use object_store::ObjectStore;
use object_store::ObjectStoreExt;
use object_store::PutPayload;
use object_store::Result;
use object_store::path::Path;

/// Bytes of one part.
pub(super) const PART_BYTES: u64 = 16 << 20;
/// Parts that are on their way at a time.
const PARTS_MAX: usize = 3;

/// Puts a file's contents in the place of an object.
pub(super) async fn whole(
    store: Arc<dyn ObjectStore>,
    key: Path,
    file: PathBuf,
    size: u64,
) -> Result<()> {
    let mut upload = store.put_multipart(&key).await?;
    let done = match parts(upload.as_mut(), file).await {
        Ok(()) => upload.complete().await.map(drop),
        Err(error) => Err(error),
    };
    let Err(error) = done else { return Ok(()) };
    // An answer may have been lost: asked again, the store knows no such upload any more.
    if store.head(&key).await.is_ok_and(|meta| meta.size == size) {
        return Ok(());
    }
    // What went wrong first is what counts.
    let _ = upload.abort().await;
    Err(error)
}

async fn parts(upload: &mut dyn MultipartUpload, file: PathBuf) -> Result<()> {
    let failed =
        |error: io::Error| Error::Generic { store: "object store", source: Box::new(error) };
    let mut file = File::open(file).map_err(failed)?;
    let mut coming = FuturesUnordered::new();
    loop {
        let mut part = Vec::new();
        file.by_ref().take(PART_BYTES).read_to_end(&mut part).map_err(failed)?;
        if part.is_empty() {
            break;
        }
        if coming.len() >= PARTS_MAX
            && let Some(done) = coming.next().await
        {
            done?;
        }
        coming.push(upload.put_part(PutPayload::from(part)));
    }
    while let Some(done) = coming.next().await {
        done?;
    }
    Ok(())
}
