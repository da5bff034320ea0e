//! The files of a bundle that exists.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use crate::writing::MANIFEST;

/// The maximum length of a file that is read into memory, in bytes. No object is longer.
const FILE_MAX: u64 = 512 << 20;

/// The beginning of a zip file.
const ZIP: &[u8; 4] = b"PK\x03\x04";

/// The files of a bundle, by their names.
pub(super) enum Source {
    Directory(BTreeMap<String, PathBuf>),
    Zip(ZipArchive<BufReader<File>>),
}

/// True if there is a bundle at the path, sound or not: a directory with files of one, or a zip
/// file.
///
/// ```
/// assert!(!recount_bundle::is_bundle("Cargo.toml".as_ref()));
/// ```
#[must_use]
pub fn is_bundle(path: &Path) -> bool {
    if path.is_dir() {
        let is_journal = path.join("JOURNAL").exists();
        let files = [MANIFEST, "bundle.json", "records.jsonl"];
        return !is_journal && files.iter().any(|it| path.join(it).exists());
    }
    let mut start = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *ZIP
}

impl Source {
    pub(super) fn open(path: &Path) -> io::Result<Source> {
        if path.is_dir() {
            let mut files = BTreeMap::new();
            add(path, "", &mut files)?;
            return Ok(Source::Directory(files));
        }
        Ok(Source::Zip(ZipArchive::new(BufReader::new(File::open(
            path,
        )?))?))
    }

    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        match self {
            Source::Directory(files) => Ok(files.keys().cloned().collect()),
            Source::Zip(zip) => {
                let names = zip.file_names().map(|it| Ok(it?.into_owned()));
                let names: Vec<String> = names.collect::<io::Result<_>>()?;
                Ok(names.into_iter().filter(|it| !it.ends_with('/')).collect())
            }
        }
    }

    /// The findings about names of a zip file that programs unpack in different ways: one name for
    /// two files, or one that leads out of the folder.
    pub(super) fn unsafe_names(&self) -> io::Result<Vec<String>> {
        let zip = match self {
            Source::Directory(_) => return Ok(Vec::new()),
            Source::Zip(zip) => zip,
        };
        let mut findings = Vec::new();
        if zip.metadata().has_duplicate_names() {
            findings.push("the zip file has two files of one name".to_owned());
        }
        for name in zip.file_names() {
            let name = name?;
            let is_odd = |part: &str| part.is_empty() || part == "." || part == "..";
            let path = name.strip_suffix('/').unwrap_or(&name);
            if path.split('/').any(is_odd) || path.contains(['\\', ':', '\0']) {
                findings.push(format!("the zip file has the unsafe name {path:?}"));
            }
        }
        Ok(findings)
    }

    /// Opens a file of the bundle.
    pub(super) fn file(&mut self, name: &str) -> io::Result<Box<dyn Read + '_>> {
        match self {
            Source::Directory(files) => {
                let path = files.get(name).ok_or(io::ErrorKind::NotFound)?;
                Ok(Box::new(File::open(path)?))
            }
            Source::Zip(zip) => Ok(Box::new(zip.by_name(name)?)),
        }
    }

    /// Reads a file of the bundle into memory.
    pub(super) fn read(&mut self, name: &str) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        self.file(name)?.take(FILE_MAX).read_to_end(&mut content)?;
        Ok(content)
    }

    pub(super) fn text(&mut self, name: &str) -> io::Result<String> {
        String::from_utf8(self.read(name)?).map_err(io::Error::other)
    }
}

/// Adds the files below a folder, with `/` between the parts of their names.
fn add(folder: &Path, prefix: &str, files: &mut BTreeMap<String, PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        match entry.file_type()?.is_dir() {
            true => add(&entry.path(), &format!("{name}/"), files)?,
            false => drop(files.insert(name, entry.path())),
        }
    }
    Ok(())
}
