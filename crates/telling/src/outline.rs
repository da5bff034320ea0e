//! JSON for people: on one line if it fits, otherwise with a line for each member, indented by
//! depth.

use serde_json::value::RawValue;

use crate::text::{COLUMNS, age, one_line, width};
use recount::replay::Tree;
use recount::session::Timestamp;

/// The members of an object as lines of at most [`COLUMNS`] columns, indented by `indent` spaces.
///
/// Empty members and those named in `left_out` are left out.
pub fn outline(value: &RawValue, indent: usize, left_out: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    match Tree::of(value) {
        Tree::Members(members) => {
            let is_shown = |(name, value): &&(String, &RawValue)| {
                !left_out.contains(&name.as_str()) && !matches!(value.get(), "{}" | "[]")
            };
            let members: Vec<_> = members.iter().filter(is_shown).collect();
            let column = members.iter().map(|(name, _)| width(name));
            let column = column.max().unwrap_or_default().min(NAME_COLUMNS);
            for (name, value) in members {
                member(&mut lines, indent, column, name, value);
            }
        }
        Tree::Elements(elements) => {
            let element = |it: &RawValue| format!("{:indent$}- {}", "", one_line(it.get()));
            lines.extend(elements.into_iter().map(element));
        }
        Tree::Leaf => lines.push(format!("{:indent$}{}", "", leaf("", value.get()))),
    }
    lines
}

/// The maximum width of the column of names.
const NAME_COLUMNS: usize = 16;

fn member(lines: &mut Vec<String>, indent: usize, column: usize, name: &str, value: &RawValue) {
    let shown = one_line(name);
    let lead = format!("{:indent$}{shown:column$}  ", "");
    match Tree::of(value) {
        Tree::Leaf => lines.push(format!("{lead}{}", leaf(name, value.get()))),
        Tree::Members(_) | Tree::Elements(_) => {
            let text = one_line(value.get());
            if width(&lead) + width(&text) <= COLUMNS {
                lines.push(format!("{lead}{text}"));
            } else {
                lines.push(format!("{:indent$}{shown}", ""));
                lines.extend(outline(value, indent + 2, &[]));
            }
        }
    }
}

/// A string without its quotes, a time with its date, any other value as it is.
fn leaf(name: &str, text: &str) -> String {
    if let Ok(words) = serde_json::from_str::<String>(text) {
        return one_line(&words).into_owned();
    }
    match text.parse().map(Timestamp) {
        Ok(at) if name.ends_with("_us") => format!("{text}  ({})", age::moment(at)),
        Ok(_) | Err(_) => text.to_owned(),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn value_has_one_line_if_it_fits() {
        let long = "x".repeat(60);
        let call = format!(r#"{{"args":{{"n":1.00}},"hint":"{long}\n"}}"#);
        let text = format!(
            r#"{{"head":9,"at_us":1500000,"none":{{}},"call":{call},"left":1,"owed":[{{"a":1}}]}}"#
        );
        let value: &RawValue = serde_json::from_str(&text).unwrap();
        assert_eq!(
            outline(value, 2, &["left"]),
            [
                "  head   9".to_owned(),
                "  at_us  1500000  (1970-01-01 00:00:01 UTC)".to_owned(),
                "  call".to_owned(),
                "    args  {\"n\":1.00}".to_owned(),
                format!("    hint  {long}\\n"),
                "  owed   [{\"a\":1}]".to_owned(),
            ]
        );
    }
}
