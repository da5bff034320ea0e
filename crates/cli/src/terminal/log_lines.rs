//! The lines of the log.

use std::fmt::{self, Debug};

use recount_telling::one_line;
use tracing::field::Field;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{self, Writer};

/// The maximum number of characters of a field.
const FIELD_MAX: usize = 4_000;

/// Formats the fields of a line. Clients, models and servers have words in some of them, which must
/// neither begin a line nor move the cursor of a terminal.
pub(crate) fn fields() -> impl for<'w> FormatFields<'w> + 'static {
    format::debug_fn(field).delimited(" ")
}

fn field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> fmt::Result {
    let value = format!("{value:?}");
    let end = value.char_indices().nth(FIELD_MAX).map(|(at, _)| at);
    let shown = end.and_then(|it| value.get(..it)).unwrap_or(&value);
    if field.name() != "message" {
        write!(writer, "{}=", field.name())?;
    }
    writer.write_str(&one_line(shown))?;
    match end {
        Some(_) => writer.write_char('…'),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex, PoisonError};

    use super::*;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            log.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn words_of_others_begin_no_line_and_move_no_cursor() {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .without_time()
            .fmt_fields(fields())
            .with_writer(move || writer.clone());
        let words = "a\nERROR b\u{1b}[31m";
        tracing::subscriber::with_default(subscriber.finish(), || {
            tracing::warn!(count = 3, %words, quoted = words, "said {words}");
        });
        let bytes = log.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(
            text.contains("count=3") && !text.contains('\u{1b}'),
            "{text}"
        );
        assert!(text.contains(r"said a\nERROR b\u{1b}[31m"), "{text}");
        assert!(text.contains(r"words=a\nERROR b\u{1b}[31m"), "{text}");
    }
}
