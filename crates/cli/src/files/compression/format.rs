//! The formats of compression, by content and by name.

use std::path::Path;

/// The compression of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// The compression of a file with these first bytes.
    pub(super) fn of_content(first: &[u8]) -> Compression {
        match first {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            // A frame, and a frame to skip, with which some tools begin a file.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// The compression of a file to write, by the end of its name.
    pub(crate) fn of_name(path: &Path) -> Compression {
        let extension = path.extension().and_then(|it| it.to_str());
        match extension {
            Some("gz") => Compression::Gzip,
            Some("zst") => Compression::Zstd,
            _ => Compression::None,
        }
    }
}
