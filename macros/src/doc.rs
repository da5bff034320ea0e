//! The description of a function and the list of its arguments, from its doc comment.

use proc_macro2::Span;
use syn::{Attribute, Expr, Lit, Meta};

/// A parsed doc comment.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Doc {
    /// The text without the list of arguments.
    pub(crate) description: String,
    /// The items under `# Arguments`: name and text.
    pub(crate) arguments: Vec<(String, String)>,
}

/// Returns the text of the doc comments among some attributes, and their span.
pub(crate) fn text_of(attributes: &[Attribute]) -> (String, Option<Span>) {
    let mut lines = Vec::new();
    let mut span = None;
    for attribute in attributes.iter().filter(|it| it.path().is_ident("doc")) {
        let Meta::NameValue(meta) = &attribute.meta else {
            continue;
        };
        if let Expr::Lit(literal) = &meta.value
            && let Lit::Str(text) = &literal.lit
        {
            span = span.or(Some(text.span()));
            for line in text.value().split('\n') {
                lines.push(line.strip_prefix(' ').unwrap_or(line).to_owned());
            }
        }
    }
    (lines.join("\n").trim().to_owned(), span)
}

impl Doc {
    /// Parses the text of a doc comment.
    pub(crate) fn of(text: &str) -> Doc {
        let mut doc = Doc::default();
        let mut in_arguments = false;
        for line in text.lines() {
            if let Some(heading) = heading(line) {
                in_arguments = ["arguments", "parameters"].contains(&heading.as_str());
                if in_arguments {
                    continue;
                }
            }
            if !in_arguments {
                doc.description.push_str(line);
                doc.description.push('\n');
            } else if let Some((name, text)) = item(line) {
                doc.arguments.push((name, text));
            } else if let Some((_, text)) = doc.arguments.last_mut() {
                // An item continues on the next line.
                *text = format!("{text} {}", line.trim()).trim().to_owned();
            }
        }
        doc.description = doc.description.trim().to_owned();
        doc
    }
}

/// `# Arguments` → `arguments`
fn heading(line: &str) -> Option<String> {
    let rest = line.trim_start_matches('#');
    let is_heading = rest.len() < line.len() && rest.starts_with(' ');
    is_heading.then(|| rest.trim().trim_end_matches(':').to_lowercase())
}

/// ``* `city` - The city`` → `city`, `The city`
fn item(line: &str) -> Option<(String, String)> {
    let rest = line.trim_start();
    let rest = rest
        .strip_prefix("* ")
        .or_else(|| rest.strip_prefix("- "))?;
    let (name, text) = match rest.trim_start().strip_prefix('`') {
        Some(quoted) => quoted.split_once('`')?,
        None => rest.trim_start().split_once([' ', ':'])?,
    };
    let text = text.trim_start_matches([' ', '-', ':', '–', '—']).trim();
    Some((name.trim().to_owned(), text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_arguments_is_no_part_of_the_description() {
        let doc = Doc::of(
            "Tells the weather.\n\nFor today.\n\n# Arguments\n\n* `city` - The city,\n  or the village\n- `units`: Metric\n* days — How many\n\n# Errors\nNo such city.",
        );
        let expected = Doc {
            description: "Tells the weather.\n\nFor today.\n\n# Errors\nNo such city.".into(),
            arguments: [
                ("city", "The city, or the village"),
                ("units", "Metric"),
                ("days", "How many"),
            ]
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .into(),
        };
        assert_eq!(doc, expected);
    }

    #[test]
    fn text_without_a_list_is_the_description() {
        let text = "Sums.\n\n* not an argument\n#no heading";
        assert_eq!(Doc::of(text).description, text);
        assert_eq!(Doc::of(text).arguments, []);
    }
}
