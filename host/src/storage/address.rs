//! Addresses: where a file or folder is, on a disk or in a store, open for use.

use std::fs;
use std::fs::File;
use std::io;
use std::io::BufReader;
use std::io::ErrorKind;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::path::Path;
use std::path::PathBuf;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::ChunkReader;
use parquet::file::reader::Length;

use super::StorageError;
use super::store::StoreAddress;
use super::store::StoreRead;
use crate::flow::Location;

/// A file or a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// On a disk.
    Disk(PathBuf),
    /// In an object store, where folders are no more than how names begin.
    Store(StoreAddress),
}

/// A file that is open for reading.
#[derive(Debug)]
pub enum FileRead {
    /// On a disk.
    Disk(File),
    /// In an object store.
    Store(StoreRead),
}

impl Address {
    /// Opens a place of a flow; nothing is asked of it yet.
    ///
    /// # Errors
    /// Where the settings of its store cannot be used, or nothing of files is there.
    pub fn open(location: &Location) -> Result<Self, StorageError> {
        Ok(match location {
            Location::Disk(path) => Self::Disk(path.clone()),
            Location::Store(place) => Self::Store(StoreAddress::open(place)?),
            Location::Server(server) => {
                return Err(StorageError::Missing {
                    path: PathBuf::from(server),
                    what: "a database has no files".to_owned(),
                    hint: "read it with `format: sql`".to_owned(),
                });
            }
        })
    }

    /// As messages and records show it.
    #[must_use]
    pub fn shown(&self) -> &Path {
        match self {
            Self::Disk(path) => path,
            Self::Store(place) => place.shown(),
        }
    }

    /// A place below this one; `inner` has its parts between `/`.
    #[must_use]
    pub fn join(&self, inner: &str) -> Self {
        match self {
            Self::Disk(path) => Self::Disk(path.join(inner)),
            Self::Store(place) => Self::Store(place.join(inner)),
        }
    }

    /// The whole contents of a file; `None` where there is none.
    ///
    /// # Errors
    /// Where it is there and cannot be read.
    pub fn read(&self) -> Result<Option<Bytes>, StorageError> {
        match self {
            Self::Disk(path) => match fs::read(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                other => Ok(Some(other.map_err(StorageError::io(path, "read it"))?.into())),
            },
            Self::Store(place) => place.read(),
        }
    }

    /// Opens a file for reading; `None` where there is none.
    ///
    /// # Errors
    /// Where it is there and cannot be opened.
    pub fn open_read(&self) -> Result<Option<FileRead>, StorageError> {
        match self {
            Self::Disk(path) => match File::open(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                other => {
                    other.map(FileRead::Disk).map(Some).map_err(StorageError::io(path, "open it"))
                }
            },
            Self::Store(place) => {
                let facts = place.look()?;
                Ok(facts.map(|it| FileRead::Store(place.open_read(it.size, it.e_tag.as_deref()))))
            }
        }
    }

    /// Bytes of what has this very name; `None` where nothing has.
    ///
    /// # Errors
    /// Where that cannot be found out.
    pub fn size(&self) -> Result<Option<u64>, StorageError> {
        match self {
            Self::Disk(path) => match fs::metadata(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                other => Ok(Some(other.map_err(StorageError::io(path, "look at it"))?.len())),
            },
            Self::Store(place) => Ok(place.look()?.map(|facts| facts.size)),
        }
    }

    /// The names of what is right in the folder; none where it is not there.
    ///
    /// # Errors
    /// Where it cannot be listed.
    pub fn names(&self) -> Result<Vec<String>, StorageError> {
        let path = match self {
            Self::Disk(path) => path,
            Self::Store(place) => return place.names(),
        };
        let entries = match fs::read_dir(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(StorageError::io(path, "list it"))?,
        };
        let name = |entry: io::Result<fs::DirEntry>| {
            entry.map(|entry| entry.file_name().to_str().map(str::to_owned)).transpose()
        };
        let names: Result<Vec<_>, _> = entries.filter_map(name).collect();
        names.map_err(StorageError::io(path, "list it"))
    }

    /// Removes a file; nothing is an error where none is there.
    ///
    /// # Errors
    /// Where it cannot be removed.
    pub fn remove_file(&self) -> Result<(), StorageError> {
        match self {
            Self::Disk(path) => super::sync::remove_file(path),
            Self::Store(place) => place.remove(),
        }
    }
}

impl FileRead {
    /// Another reader of the same file, with a place of its own.
    ///
    /// # Errors
    /// Where the system has no more of them.
    pub fn again(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Disk(file) => Self::Disk(file.try_clone()?),
            Self::Store(read) => Self::Store(read.clone()),
        })
    }

    /// Its bytes.
    ///
    /// # Errors
    /// Where the system does not say.
    pub fn size(&self) -> io::Result<u64> {
        match self {
            Self::Disk(file) => Ok(file.metadata()?.len()),
            Self::Store(read) => Ok(read.size()),
        }
    }
}

impl Read for FileRead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Disk(file) => file.read(buffer),
            Self::Store(read) => read.read(buffer),
        }
    }
}

impl Seek for FileRead {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Disk(file) => file.seek(to),
            Self::Store(read) => read.seek(to),
        }
    }
}

impl Length for FileRead {
    fn len(&self) -> u64 {
        self.size().unwrap_or_default()
    }
}

impl ChunkReader for FileRead {
    type T = BufReader<Self>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        match self {
            Self::Disk(file) => Ok(BufReader::new(Self::Disk(file.get_read(start)?.into_inner()))),
            Self::Store(read) => Ok(BufReader::new(Self::Store(read.at(start)))),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        match self {
            Self::Disk(file) => file.get_bytes(start, length),
            Self::Store(read) => Ok(read.bytes(start, length as u64)?),
        }
    }
}
