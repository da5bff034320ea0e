//! The few file operations that the log needs, as traits, so that tests can replace the disk.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::private;
use super::private::private;

/// A flat directory of files.
pub trait Disk: Send + Sync + 'static {
    /// Opens a file for reading and writing. With `create`, a missing file is created.
    ///
    /// # Errors
    /// The error of the operating system; `NotFound` for a missing file.
    fn open(&self, name: &str, create: bool) -> io::Result<Box<dyn DiskFile>>;

    /// Returns the names of all files, sorted.
    ///
    /// # Errors
    /// The error of the operating system.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Renames a file, and replaces the file that had the new name. Open files stay valid.
    ///
    /// # Errors
    /// The error of the operating system; `NotFound` for a missing file.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// The error of the operating system; `NotFound` for a missing file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes created, renamed and removed names durable.
    ///
    /// # Errors
    /// The error of the operating system.
    fn sync_names(&self) -> io::Result<()>;

    /// The number of bytes that can still be written; `u64::MAX` if unknown.
    ///
    /// # Errors
    /// The error of the operating system.
    fn free_space(&self) -> io::Result<u64>;

    /// The total size of the disk in bytes, used and free; `u64::MAX` if unknown.
    ///
    /// # Errors
    /// The error of the operating system.
    fn total_space(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    /// Returns the identity of the file that has a name now, or of the directory for `None`. The
    /// default returns `None`: a log that is moved, replaced or removed while it is open then stays
    /// unnoticed.
    ///
    /// # Errors
    /// The error of the operating system; `NotFound` for a missing file.
    fn identity(&self, name: Option<&str>) -> io::Result<Option<Identity>> {
        let _ = name;
        Ok(None)
    }
}

/// The identity of a file or directory on this machine, under any name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Identity {
    /// The device of the file.
    pub device: u64,
    /// The inode number on that device.
    pub inode: u64,
}

/// One open file.
pub trait DiskFile: Send {
    /// Returns the length.
    ///
    /// # Errors
    /// The error of the operating system.
    fn length(&mut self) -> io::Result<u64>;

    /// Fills the whole buffer from an offset.
    ///
    /// # Errors
    /// The error of the operating system; `UnexpectedEof` if the file is too short.
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes all bytes at an offset, and grows the file if needed.
    ///
    /// # Errors
    /// The error of the operating system.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the file to a length.
    ///
    /// # Errors
    /// The error of the operating system.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Makes the written content and the length durable.
    ///
    /// # Errors
    /// The error of the operating system.
    fn sync(&mut self) -> io::Result<()>;

    /// Returns the identity, as [`Disk::identity`] does for a name.
    ///
    /// # Errors
    /// The error of the operating system.
    fn identity(&mut self) -> io::Result<Option<Identity>> {
        Ok(None)
    }
}

/// A directory of the file system.
///
/// ```
/// use recount_journal::disk::{Disk, RealDisk};
/// # let directory = tempfile::tempdir().unwrap();
/// let disk = RealDisk::new(directory.path().join("log"));
/// disk.open("draft", true)?.write_at(0, b"hello")?;
/// disk.rename("draft", "final")?;
/// disk.sync_names()?;
/// assert_eq!(disk.list()?, ["final"]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RealDisk {
    directory: PathBuf,
    /// True if files are also opened for writing.
    writes: bool,
}

impl RealDisk {
    /// Uses a directory, which is created when it is first needed.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            writes: true,
        }
    }

    /// Uses a directory for reading only. The file system may be read-only.
    pub(crate) fn reading(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            writes: false,
        }
    }
}

impl RealDisk {
    /// The directory, or its nearest existing ancestor.
    fn place(&self) -> &Path {
        let place = self.directory.ancestors().find(|place| place.exists());
        place.unwrap_or(Path::new("."))
    }
}

impl Disk for RealDisk {
    fn open(&self, name: &str, create: bool) -> io::Result<Box<dyn DiskFile>> {
        if create {
            private().create(&self.directory)?;
        }
        let mut options = private::options();
        options.read(true).write(self.writes);
        options.create(create).truncate(false);
        let file = private::regular(&options, &self.directory.join(name))?;
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

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.directory.join(from), self.directory.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.directory.join(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        sync_directory(&self.directory)?;
        self.directory.parent().map_or(Ok(()), sync_directory)
    }

    fn free_space(&self) -> io::Result<u64> {
        // The directory may not exist yet; the disk of its ancestor counts.
        available_bytes(self.place())
    }

    fn total_space(&self) -> io::Result<u64> {
        total_bytes(self.place())
    }

    fn identity(&self, name: Option<&str>) -> io::Result<Option<Identity>> {
        match name {
            Some(name) => identity_at(&self.directory.join(name)),
            None => identity_at(&self.directory),
        }
    }
}

/// Returns the identity of a file or directory, if the system has one.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere there is none")]
pub(crate) fn identity(facts: &fs::Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    Some(Identity {
        device: facts.dev(),
        inode: facts.ino(),
    })
}

#[cfg(not(unix))]
pub(crate) fn identity(_facts: &fs::Metadata) -> Option<Identity> {
    None
}

/// Returns the identity of a path, after symbolic links.
///
/// It does not query timestamps. If they were queried, Linux updates them at the next write of the
/// file. The sync of a commit then takes half as long again.
#[cfg(target_os = "linux")]
fn identity_at(path: &Path) -> io::Result<Option<Identity>> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, makedev, statx};
    match statx(CWD, path, AtFlags::empty(), StatxFlags::INO) {
        Ok(facts) => Ok(Some(Identity {
            device: makedev(facts.stx_dev_major, facts.stx_dev_minor),
            inode: facts.stx_ino,
        })),
        // A kernel from before 2017, or a sandbox that does not know the call.
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {
            Ok(identity(&fs::metadata(path)?))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn identity_at(path: &Path) -> io::Result<Option<Identity>> {
    Ok(identity(&fs::metadata(path)?))
}

/// Returns the bytes that an ordinary user may still write to the file system of a path.
#[cfg(unix)]
fn available_bytes(place: &Path) -> io::Result<u64> {
    let system = rustix::fs::statvfs(place)?;
    Ok(system.f_bavail.saturating_mul(system.f_frsize))
}

/// Returns the size of the file system of a path.
#[cfg(unix)]
fn total_bytes(place: &Path) -> io::Result<u64> {
    let system = rustix::fs::statvfs(place)?;
    Ok(system.f_blocks.saturating_mul(system.f_frsize))
}

#[cfg(not(unix))]
fn total_bytes(_place: &Path) -> io::Result<u64> {
    Ok(u64::MAX)
}

#[cfg(not(unix))]
fn available_bytes(_place: &Path) -> io::Result<u64> {
    Ok(u64::MAX)
}

/// Makes the names in a directory durable, if the system supports it.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
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
        positioned::read(self, offset, into)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        positioned::write(self, offset, bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn identity(&mut self) -> io::Result<Option<Identity>> {
        Ok(identity(&self.metadata()?))
    }
}

/// Positioned reads and writes: one system call instead of two.
#[cfg(unix)]
mod positioned {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::FileExt;

    pub(super) fn read(file: &File, offset: u64, into: &mut [u8]) -> io::Result<()> {
        file.read_exact_at(into, offset)
    }

    pub(super) fn write(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        file.write_all_at(bytes, offset)
    }
}

#[cfg(not(unix))]
mod positioned {
    use std::fs::File;
    use std::io::{self, Read, Seek, SeekFrom, Write};

    pub(super) fn read(mut file: &File, offset: u64, into: &mut [u8]) -> io::Result<()> {
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(into)
    }

    pub(super) fn write(mut file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn disk_for_reading_cannot_write() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a"), "abc").unwrap();
        let mut file = RealDisk::reading(directory.path())
            .open("a", false)
            .unwrap();
        let mut found = [0; 3];
        file.read_at(0, &mut found).unwrap();
        assert_eq!(&found, b"abc");
        file.write_at(0, b"x").unwrap_err();
    }

    #[test]
    fn a_file_keeps_its_content_under_another_name() {
        let directory = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(directory.path().join("deep/log"));
        assert!(disk.free_space().unwrap() > 0, "before it is made");
        let mut file = disk.open("a", true).unwrap();
        file.write_at(3, b"xyz").unwrap();
        disk.rename("a", "b").unwrap();
        file.write_at(0, b"uvw").unwrap();
        file.sync().unwrap();
        disk.sync_names().unwrap();
        let mut found = [0; 6];
        let mut again = disk.open("b", false).unwrap();
        again.read_at(0, &mut found).unwrap();
        assert_eq!((again.length().unwrap(), &found), (6, b"uvwxyz"));
        let short = again.read_at(1, &mut found).unwrap_err();
        assert_eq!(short.kind(), io::ErrorKind::UnexpectedEof);
        disk.remove("b").unwrap();
        assert!(disk.list().unwrap().is_empty());
        let gone = disk.remove("b").unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    }
}
