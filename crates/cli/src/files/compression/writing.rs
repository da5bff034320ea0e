//! A writer of a file, compressed or not.

use std::io::{self, Write};

use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::Compression;

/// The bytes of a zstd frame, before compression. The encoder takes a whole frame at once.
const FRAME: usize = 4 << 20;

/// A writer that compresses. Without [`finish`](Compressing::finish) the file is cut off.
pub(crate) enum Compressing<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Zstd { out: W, frame: Vec<u8> },
}

impl<W: Write> Compressing<W> {
    pub(crate) fn new(how: Compression, out: W) -> Compressing<W> {
        match how {
            Compression::None => Compressing::Plain(out),
            Compression::Gzip => Compressing::Gzip(GzEncoder::new(out, Default::default())),
            Compression::Zstd => {
                let frame = Vec::new();
                Compressing::Zstd { out, frame }
            }
        }
    }

    /// Writes the end of the file.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Compressing::Plain(_) => Ok(()),
            Compressing::Gzip(encoder) => encoder.finish().map(drop),
            Compressing::Zstd { mut out, frame } => write_frame(&mut out, &frame),
        }
    }
}

impl<W: Write> Write for Compressing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Compressing::Plain(out) => out.write(bytes),
            Compressing::Gzip(encoder) => encoder.write(bytes),
            Compressing::Zstd { out, frame } => {
                if frame.len() >= FRAME {
                    write_frame(out, frame)?;
                    frame.clear();
                }
                let room = FRAME.saturating_sub(frame.len()).min(bytes.len());
                let taken = bytes.get(..room).unwrap_or(bytes);
                frame.extend_from_slice(taken);
                Ok(taken.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Compressing::Plain(out) => out.flush(),
            Compressing::Gzip(encoder) => encoder.flush(),
            // A frame for each flush would compress badly.
            Compressing::Zstd { out, .. } => out.flush(),
        }
    }
}

fn write_frame(out: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    out.write_all(&compress_to_vec(frame, CompressionLevel::Fastest))
}
