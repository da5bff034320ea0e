//! The frames of a zstd file, one after the other.

use std::error::Error;
use std::io::{self, BufRead, ErrorKind, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::reading::{cut_off, damaged};

/// The largest window that is accepted, in bytes. It is the limit of the program `zstd`, and bounds
/// the memory that a file can ask for.
const WINDOW_MAX: u64 = 128 << 20;

/// A reader of all frames of a file, with their checksums.
pub(crate) struct ZstdFrames<R> {
    file: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    pub(super) fn of(file: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_MAX);
        ZstdFrames {
            file,
            decoder,
            in_frame: false,
        }
    }

    /// Begins the next frame. Returns false at the end of the file.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.file.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.file) {
                Ok(()) => {
                    self.in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = self.file.by_ref().take(u64::from(length));
                    if io::copy(&mut skipped, &mut io::sink())? < u64::from(length) {
                        return Err(cut_off());
                    }
                }
                Err(error) => return Err(unread(&error)),
            }
        }
        Ok(false)
    }

    /// Ends a frame that was read whole.
    fn end(&mut self) -> io::Result<()> {
        self.in_frame = false;
        let decoder = &self.decoder;
        match decoder.get_checksum_from_data() {
            Some(noted) if decoder.get_calculated_checksum() != Some(noted) => {
                Err(damaged("zstd", &"the checksum differs"))
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        while self.in_frame || self.begin()? {
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                let decoded = self.decoder.decode_blocks(&mut self.file, one);
                decoded.map_err(|error| unread(&error))?;
            }
            let read = self.decoder.read(into)?;
            if read > 0 {
                return Ok(read);
            }
            self.end()?;
        }
        Ok(0)
    }
}

/// The error of a decoder: of the disk, of a file that is cut off, or of a damaged one.
fn unread(error: &FrameDecoderError) -> io::Error {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(it) = cause {
        match it.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(ErrorKind::UnexpectedEof) => return cut_off(),
            Some(kind) => return io::Error::new(kind, it.to_string()),
            None => cause = it.source(),
        }
    }
    damaged("zstd", error)
}
