//! Files are read as they were written, and hurt ones have errors of their own.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise"
)]

use std::io::{ErrorKind, Read, Write};

use super::{Compressing, Compression, Decompressed};

const ALL: [Compression; 3] = [Compression::None, Compression::Gzip, Compression::Zstd];

/// Text of 9 MiB, which is more than a frame, that compresses well.
fn text() -> Vec<u8> {
    let lines = (0..300_000).map(|n: u64| format!("{:x} {n} a line\n", n.pow(3)));
    lines.collect::<String>().into_bytes()
}

fn compressed(how: Compression, text: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut out = Compressing::new(how, &mut file);
    for part in text.chunks(100_001) {
        out.write_all(part).unwrap();
    }
    out.finish().unwrap();
    file
}

fn read(file: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    Decompressed::of(file)?.read_to_end(&mut text)?;
    Ok(text)
}

#[test]
fn written_file_is_recognized_and_read() {
    let text = text();
    for how in ALL {
        let file = compressed(how, &text);
        assert_eq!(Compression::of_content(&file), how);
        assert!(read(&file).unwrap() == text, "{how:?}");
        assert!(how == Compression::None || file.len() < text.len() / 2);
        assert_eq!(read(&compressed(how, b"")).unwrap(), b"");
    }
}

#[test]
fn files_one_after_the_other_are_read_as_one() {
    for how in [Compression::Gzip, Compression::Zstd] {
        let both = [compressed(how, b"one, "), compressed(how, b"two")].concat();
        assert_eq!(read(&both).unwrap(), b"one, two");
    }
    let skipped = [&[0x5a, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7][..]].concat();
    let file = [skipped, compressed(Compression::Zstd, b"one")].concat();
    assert_eq!(read(&file).unwrap(), b"one");
}

#[test]
fn cut_and_altered_files_have_errors_of_their_own() {
    let text = text();
    for how in [Compression::Gzip, Compression::Zstd] {
        let file = compressed(how, &text[..70_000]);
        for cut in [5, 6, 9, 20, file.len() / 2, file.len() - 2] {
            let error = read(&file[..cut]).unwrap_err();
            assert_eq!(
                error.kind(),
                ErrorKind::UnexpectedEof,
                "{how:?} {cut} {error}"
            );
        }
        for flipped in [file.len() / 2, file.len() - 6, file.len() - 2] {
            let mut file = file.clone();
            *file.get_mut(flipped).unwrap() ^= 1;
            let altered = read(&file).map_err(|it| it.kind());
            let kinds = [ErrorKind::InvalidData, ErrorKind::UnexpectedEof];
            assert!(
                altered.is_err_and(|it| kinds.contains(&it)),
                "{how:?} {flipped}"
            );
        }
    }
}

#[test]
fn error_of_the_disk_is_not_damage() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::from(ErrorKind::PermissionDenied))
        }
    }
    for how in ALL {
        let file = compressed(how, &text()[..9000]);
        let start = file.get(..file.len() / 2).unwrap();
        let broken = std::io::BufReader::with_capacity(64, start.chain(Failing));
        let mut reader = Decompressed::of(broken).unwrap();
        let error = reader.read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{how:?}");
    }
}
