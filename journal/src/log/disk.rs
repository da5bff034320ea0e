//! The few file operations the log needs, so that tests can stand in for the disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// A flat directory of files.
pub trait Disk: Send + Sync + 'static {
    /// Opens a file for reading and writing; with `create` it is made when it is not there.
    ///
    /// # Errors
    /// Whatever the system says, `NotFound` for a file that is not there.
    fn open(&self, name: &str, create: bool) -> io::Result<Box<dyn DiskFile>>;

    /// The names of all files, in order.
    ///
    /// # Errors
    /// Whatever the system says.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Makes created, renamed and removed names durable.
    ///
    /// # Errors
    /// Whatever the system says.
    fn sync_names(&self) -> io::Result<()>;
}

/// One open file.
pub trait DiskFile: Send {
    /// Its length.
    ///
    /// # Errors
    /// Whatever the system says.
    fn length(&mut self) -> io::Result<u64>;

    /// Fills the whole buffer from an offset.
    ///
    /// # Errors
    /// Whatever the system says, `UnexpectedEof` when the file ends before the buffer does.
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes all bytes at an offset, growing the file where needed.
    ///
    /// # Errors
    /// Whatever the system says.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the file.
    ///
    /// # Errors
    /// Whatever the system says.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Makes written content and length durable.
    ///
    /// # Errors
    /// Whatever the system says.
    fn sync(&mut self) -> io::Result<()>;
}

/// A directory of the file system.
#[derive(Clone, Debug)]
pub struct RealDisk {
    directory: PathBuf,
}

impl RealDisk {
    /// Uses a directory, which is made on first need.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }
}

impl Disk for RealDisk {
    fn open(&self, name: &str, create: bool) -> io::Result<Box<dyn DiskFile>> {
        if create {
            fs::create_dir_all(&self.directory)?;
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(create)
            .truncate(false)
            .open(self.directory.join(name))?;
        Ok(Box::new(file))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        match fs::read_dir(&self.directory) {
            Ok(entries) => {
                for entry in entries {
                    names.push(entry?.file_name().to_string_lossy().into_owned());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        names.sort_unstable();
        Ok(names)
    }

    fn sync_names(&self) -> io::Result<()> {
        sync_directory(&self.directory)?;
        self.directory.parent().map_or(Ok(()), sync_directory)
    }
}

/// Makes the names in a directory durable, where the system knows such a thing.
pub(crate) fn sync_directory(directory: &std::path::Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(directory)?.sync_all()
    } else {
        Ok(())
    }
}

impl DiskFile for File {
    fn length(&mut self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(offset))?;
        self.read_exact(into)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(offset))?;
        self.write_all(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}
