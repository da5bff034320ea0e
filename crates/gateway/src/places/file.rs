//! The file of the index: lines of JSON, appended one by one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use recount::session::{SessionId, Timestamp};
use serde::{Deserialize, Serialize};

/// One entry of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The hash of the key.
    pub(super) key: [u8; 32],
    /// The session.
    pub(super) session: SessionId,
    /// The time at which the entry was put.
    pub(super) at: Timestamp,
}

/// A line as it is written.
#[derive(Serialize, Deserialize)]
struct Written {
    /// The hash of the key, as 64 hex digits.
    key: String,
    session: SessionId,
    /// Microseconds since 1970.
    at_us: Timestamp,
}

/// The open file.
#[derive(Debug)]
pub(super) struct PlacesFile {
    path: PathBuf,
    file: File,
    /// The number of lines, damaged ones included.
    lines: usize,
    /// True if the file may end in the middle of a line.
    is_torn: bool,
}

impl PlacesFile {
    /// Opens or creates the file. Returns its entries and the number of damaged lines.
    pub(super) fn open(path: PathBuf) -> io::Result<(Self, Vec<Line>, usize)> {
        let content = match fs::read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let file = private().append(true).create(true).open(&path)?;
        let read: Vec<Option<Line>> = content
            .split(|it| *it == b'\n')
            .filter(|it| !it.is_empty())
            .map(parse)
            .collect();
        let opened = Self {
            path,
            file,
            lines: read.len(),
            is_torn: !content.is_empty() && !content.ends_with(b"\n"),
        };
        let lines: Vec<Line> = read.into_iter().flatten().collect();
        let damaged = opened.lines - lines.len();
        Ok((opened, lines, damaged))
    }

    /// Returns the number of lines in the file.
    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// Appends one entry in one write.
    pub(super) fn append(&mut self, line: &Line) -> io::Result<()> {
        let mut text = String::new();
        if self.is_torn {
            // The rest of a line that was cut off stays a damaged line of its own.
            text.push('\n');
        }
        write(line, &mut text)?;
        self.is_torn = true;
        self.file.write_all(text.as_bytes())?;
        self.is_torn = false;
        self.lines += 1;
        Ok(())
    }

    /// Replaces the content. A kill at any point leaves the old file or the new one.
    pub(super) fn rewrite(&mut self, lines: impl Iterator<Item = Line>) -> io::Result<()> {
        let mut text = String::new();
        let mut count = 0;
        for line in lines {
            write(&line, &mut text)?;
            count += 1;
        }
        let draft = draft_of(&self.path);
        // A draft of a killed process is of no use.
        match fs::remove_file(&draft) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let mut file = private().append(true).create_new(true).open(&draft)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&draft, &self.path)?;
        self.file = file;
        self.lines = count;
        self.is_torn = false;
        Ok(())
    }
}

/// The name of the file while it is rewritten.
fn draft_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    path.with_file_name(name)
}

/// Options that create a file for its owner only.
fn private() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "other systems have no mode"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options
}

fn write(line: &Line, text: &mut String) -> io::Result<()> {
    let written = Written {
        key: line.key.iter().map(|it| format!("{it:02x}")).collect(),
        session: line.session,
        at_us: line.at,
    };
    text.push_str(&serde_json::to_string(&written)?);
    text.push('\n');
    Ok(())
}

fn parse(line: &[u8]) -> Option<Line> {
    let Written {
        key,
        session,
        at_us,
    } = serde_json::from_slice(line).ok()?;
    if key.len() != 64 || !key.bytes().all(|it| it.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(key.get(at..at + 2)?, 16).ok()?;
    }
    Some(Line {
        key: bytes,
        session,
        at: at_us,
    })
}
