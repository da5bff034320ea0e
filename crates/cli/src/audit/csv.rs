//! The report for spreadsheets, as the library writes it.

use std::io::Write;

use crate::failures::Failure;
use crate::terminal::Screen;
use recount::audit::{Csv, Report};
use recount_telling::escaped;

/// Prints a line for each call, and one for each session that is not shown.
pub(super) fn print(report: &Report, screen: &mut Screen) -> Result<(), Failure> {
    let format = format();
    let mut text = format.heading();
    for call in &report.calls {
        text.push_str(&format.call(call));
    }
    for session in &report.unread {
        text.push_str(&format.unread(session));
    }
    screen
        .writer()
        .write_all(text.as_bytes())
        .map_err(|error| Failure::io("write to standard output", &error))
}

fn format() -> Csv {
    Csv::new(escaped)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use recount::audit::COLUMNS;

    fn cell(text: &str) -> String {
        format().cell(text)
    }

    #[test]
    fn every_column_is_documented() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let docs = std::fs::read_to_string(root.join("docs/command-line.md")).unwrap();
        let mut columns = COLUMNS.to_vec();
        columns.retain(|it| !docs.contains(&format!("\n| `{it}` | ")));
        assert!(
            columns.is_empty(),
            "not in docs/command-line.md: {columns:?}"
        );
    }

    #[test]
    fn no_cell_begins_like_a_formula() {
        for (text, safe) in [
            ("=1+2", "\"'=1+2\""),
            ("+cmd|' /C calc'!A0", "\"'+cmd|' /C calc'!A0\""),
            ("-2+3", "\"'-2+3\""),
            ("-plain", "\"'-plain\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            (" =1", "\"' =1\""),
            ("\u{a0}=1", "\"\\u00a0=1\""),
            ("＝1", "\"'＝1\""),
            ("=\"a\",\"b\"", "\"'=\"\"a\"\",\"\"b\"\"\""),
        ] {
            assert_eq!(cell(text), safe, "{text:?}");
        }
    }

    /// The cells of a line in a spreadsheet that divides at this character.
    fn divided_at(line: &str, divider: char) -> Vec<String> {
        let (mut cells, mut cell, mut quoted, mut begins) = (vec![], String::new(), false, true);
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' if begins => quoted = true,
                '"' if quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
                '"' if quoted => quoted = false,
                c if c == divider && !quoted => {
                    cells.push(std::mem::take(&mut cell));
                    begins = true;
                    continue;
                }
                c => cell.push(c),
            }
            begins = false;
        }
        cells.push(cell);
        cells
    }

    #[test]
    fn no_divided_cell_begins_like_a_formula() {
        for evil in [
            "a;=1+1",
            "=1;=1+1",
            "a; \t=1",
            "a;\"=1+1",
            "a; \"\" +1",
            "a;;@SUM(A1)",
            "a|=1",
            "a\t=1",
            "a\n=1",
            "a\r\n=1",
            "a;\u{feff}=1",
            "a;",
            "{\"a\":\";=1\"}",
        ] {
            let line = format().line(["0199-session", evil, "=2", evil].into_iter());
            let line = line.strip_suffix("\r\n").unwrap();
            for divider in [',', ';', '|', '\t', '\n', '\r'] {
                for cell in divided_at(line, divider) {
                    let begins = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
                    let is_formula = cell.trim_start().starts_with(begins);
                    assert!(!is_formula, "{evil:?} at {divider:?}: {cell:?}");
                }
            }
        }
        assert_eq!(cell("a;=1"), "\"a;'=1\"");
        assert_eq!(cell("a; b"), "\"a; b\"");
    }

    #[test]
    fn cell_is_one_line_without_control_characters() {
        assert_eq!(
            cell("a\r\n\u{1b}[2J\u{202e}b"),
            r#""a\r\n\u001b[2J\u202eb""#
        );
    }

    #[test]
    fn cells_are_quoted_by_rfc_4180() {
        assert_eq!(cell("returned"), "returned");
        assert_eq!(
            cell("2026-11-20T14:03:07.112345Z"),
            "2026-11-20T14:03:07.112345Z"
        );
        assert_eq!(cell(""), "");
        assert_eq!(cell("a,b"), "\"a,b\"");
        assert_eq!(cell(r#"{"a":"b"}"#), r#""{""a"":""b""}""#);
        assert_eq!(format().line(["a", "=b"].into_iter()), "a,\"'=b\"\r\n");
    }
}
