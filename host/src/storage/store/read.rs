//! Reading an object as a file: by blocks, the next of which is on its way while one is looked at.

use std::collections::VecDeque;
use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::mpsc;

use bytes::Bytes;
use object_store::Error;
use object_store::GetOptions;
use object_store::ObjectStore;
use object_store::Result;
use object_store::path::Path;

use super::waiting::broken;
use super::waiting::threads;
use super::waiting::wait;

/// Bytes of a block.
const BLOCK_BYTES: u64 = 4 << 20;
/// Blocks that are kept: a row group is read column by column, and its columns share blocks.
const BLOCKS_MAX: usize = 12;

/// An object that is open for reading. Copies share what was read, each with a place of its own.
#[derive(Debug, Clone)]
pub struct StoreRead {
    object: Arc<Object>,
    position: u64,
}

#[derive(Debug)]
struct Object {
    store: Arc<dyn ObjectStore>,
    key: Path,
    size: u64,
    e_tag: Option<String>,
    blocks: Mutex<Blocks>,
}

#[derive(Debug, Default)]
struct Blocks {
    /// By number, the one used last at the end.
    kept: VecDeque<(u64, Bytes)>,
    coming: Option<(u64, mpsc::Receiver<Result<Bytes>>)>,
}

impl StoreRead {
    pub(super) fn new(
        store: Arc<dyn ObjectStore>,
        key: Path,
        size: u64,
        e_tag: Option<String>,
    ) -> Self {
        let object = Object { store, key, size, e_tag, blocks: Mutex::default() };
        Self { object: Arc::new(object), position: 0 }
    }

    /// Bytes of the object.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.object.size
    }

    /// The same object from a place on.
    #[must_use]
    pub fn at(&self, position: u64) -> Self {
        Self { object: Arc::clone(&self.object), position }
    }

    /// So many bytes from a place on.
    ///
    /// # Errors
    /// Where the object has fewer, cannot be read, or is another one by now.
    pub fn bytes(&self, start: u64, length: u64) -> io::Result<Bytes> {
        let end = start.checked_add(length).filter(|end| *end <= self.object.size);
        let Some(end) = end else {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the object ends before that",
            ));
        };
        // Columns of a row group are longer than a block, and each of them is asked for once.
        if length > BLOCK_BYTES {
            return self.object.fetch(start, end).map_err(wrong);
        }
        let mut read = self.at(start);
        let mut bytes = Vec::new();
        Read::by_ref(&mut read).take(length).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }
}

impl Object {
    fn request(&self, start: u64, end: u64) -> impl Future<Output = Result<Bytes>> + Send + use<> {
        let (store, key) = (Arc::clone(&self.store), self.key.clone());
        let options =
            GetOptions::new().with_range(Some(start..end)).with_if_match(self.e_tag.clone());
        async move {
            let bytes = store.get_opts(&key, options).await?.bytes().await?;
            if bytes.len() as u64 == end - start {
                Ok(bytes)
            } else {
                Err(broken(format!("{} bytes came where {} are", bytes.len(), end - start)))
            }
        }
    }

    fn fetch(&self, start: u64, end: u64) -> Result<Bytes> {
        wait(self.request(start, end))
    }

    fn range(&self, block: u64) -> (u64, u64) {
        let start = block * BLOCK_BYTES;
        (start, (start + BLOCK_BYTES).min(self.size))
    }

    fn block(&self, block: u64) -> Result<Bytes> {
        let mut blocks = self.blocks();
        if let Some(place) = blocks.kept.iter().position(|(number, _)| *number == block) {
            let found = blocks.kept.remove(place);
            blocks.kept.extend(found.clone());
            if let Some((_, bytes)) = found {
                return Ok(bytes);
            }
        }
        let follows = blocks.kept.back().is_some_and(|(last, _)| last + 1 == block);
        let bytes = match blocks.coming.take() {
            Some((number, coming)) if number == block => {
                coming.recv().unwrap_or_else(|_| Err(broken("a request stopped".to_owned())))?
            }
            // Nobody goes on from there any more.
            _ => {
                let (start, end) = self.range(block);
                self.fetch(start, end)?
            }
        };
        blocks.kept.push_back((block, bytes.clone()));
        if blocks.kept.len() > BLOCKS_MAX {
            blocks.kept.pop_front();
        }
        let (start, end) = self.range(block + 1);
        let is_wanted = (follows || block == 0) && start < end;
        if is_wanted
            && blocks.coming.is_none()
            && blocks.kept.iter().all(|(at, _)| *at != block + 1)
        {
            let (tell, told) = mpsc::sync_channel(1);
            let request = self.request(start, end);
            threads()?.spawn(async move {
                // The reader may have gone.
                let _ = tell.send(request.await);
            });
            blocks.coming = Some((block + 1, told));
        }
        Ok(bytes)
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for StoreRead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.object.size || buffer.is_empty() {
            return Ok(0);
        }
        let block = self.position / BLOCK_BYTES;
        let bytes = self.object.block(block).map_err(wrong)?;
        let from = usize::try_from(self.position - block * BLOCK_BYTES).unwrap_or(usize::MAX);
        let rest = bytes.get(from..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.position += length as u64;
        Ok(length)
    }
}

impl Seek for StoreRead {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(back) => self.object.size.checked_add_signed(back),
            SeekFrom::Current(on) => self.position.checked_add_signed(on),
        };
        let before = || io::Error::new(io::ErrorKind::InvalidInput, "a place before the object");
        self.position = position.ok_or_else(before)?;
        Ok(self.position)
    }
}

fn wrong(error: Error) -> io::Error {
    let kind = match &error {
        Error::NotFound { .. } => io::ErrorKind::NotFound,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            io::ErrorKind::PermissionDenied
        }
        Error::Precondition { .. } => {
            let what =
                "it has changed since it was listed; start the run again when it is complete";
            return io::Error::new(io::ErrorKind::InvalidData, what);
        }
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}
