//! A reader of a file, compressed or not.

use std::io::{self, BufRead, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;

use super::Compression;
use super::zstd_frames::ZstdFrames;

/// The content of a file, decompressed as it is read.
///
/// A compressed file that is cut off has an error of the kind `UnexpectedEof`, and a damaged one
/// `InvalidData`. Errors of the disk keep their kinds.
pub(crate) enum Decompressed<R: BufRead> {
    Plain(R),
    Gzip(MultiGzDecoder<R>),
    Zstd(Box<ZstdFrames<R>>),
}

impl<R: BufRead> Decompressed<R> {
    /// The content of a file that begins here.
    pub(crate) fn of(mut file: R) -> io::Result<Decompressed<R>> {
        Ok(match Compression::of_content(file.fill_buf()?) {
            Compression::None => Decompressed::Plain(file),
            Compression::Gzip => Decompressed::Gzip(MultiGzDecoder::new(file)),
            Compression::Zstd => Decompressed::Zstd(Box::new(ZstdFrames::of(file))),
        })
    }
}

impl<R: BufRead> Read for Decompressed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Decompressed::Plain(file) => file.read(into),
            Decompressed::Gzip(decoder) => decoder.read(into).map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => cut_off(),
                ErrorKind::InvalidInput | ErrorKind::InvalidData => damaged("gzip", &error),
                _ => error,
            }),
            Decompressed::Zstd(frames) => frames.read(into),
        }
    }
}

/// The error of a compressed file without its end.
pub(super) fn cut_off() -> io::Error {
    io::Error::new(
        ErrorKind::UnexpectedEof,
        "the compressed file is cut off here",
    )
}

/// The error of a compressed file that cannot be decompressed.
pub(super) fn damaged(format: &str, error: &dyn std::fmt::Display) -> io::Error {
    let what = format!("the compressed file is damaged here ({format}: {error})");
    io::Error::new(ErrorKind::InvalidData, what)
}
