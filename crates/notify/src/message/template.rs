//! Texts with fields, in any language.

use super::content::Content;
use super::field::{Field, KNOWN, Known, LABEL, LABELS};
use super::markup::Markup;
use crate::values::{Detail, Occasion, Zone};
use recount_telling::{cut, one_line};

/// The maximum length of a field in a text, in columns. Slack cuts messages after 40,000.
const FIELD_COLUMNS_MAX: usize = 2_000;

/// A text with fields such as `{tool}`. `{{` and `}}` stand for braces.
///
/// ```
/// use recount_notify::{Detail, Occasion, Template};
///
/// let text = "{tool} wartet auf Freigabe: {link}";
/// assert!(Template::parse(text, Occasion::Asked, Detail::Names).is_ok());
/// // Without names, a message does not have this field.
/// assert!(Template::parse(text, Occasion::Asked, Detail::None).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Field(Field),
}

/// The text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnfitTemplate {
    /// No message of the occasion has the field.
    #[error("expected one of the fields {expected}, found {{{found}}}")]
    UnknownField {
        /// The fields that a message of the occasion has.
        expected: String,
        /// The field.
        found: String,
    },
    /// The messages of the sink do not have the field.
    #[error("expected detail = \"{needed}\" for the field {{{field}}}, found \"{found}\"")]
    TooLittleDetail {
        /// The field.
        field: String,
        /// The least detail that shows it.
        needed: Detail,
        /// The detail of the sink.
        found: Detail,
    },
    /// A brace has no other one.
    #[error("expected {{field}}, or {{{{ and }}}} for braces, found a single brace")]
    Brace,
}

impl Template {
    /// Reads a template for messages of an occasion.
    ///
    /// # Errors
    /// [`UnfitTemplate`].
    pub fn parse(
        text: &str,
        occasion: Occasion,
        detail: Detail,
    ) -> Result<Template, UnfitTemplate> {
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            let (before, brace) = rest.split_at(at);
            plain.push_str(before);
            if let Some(behind) = brace.strip_prefix("{{") {
                plain.push('{');
                rest = behind;
            } else if let Some(behind) = brace.strip_prefix("}}") {
                plain.push('}');
                rest = behind;
            } else {
                let inner = brace.strip_prefix('{').ok_or(UnfitTemplate::Brace)?;
                let (name, behind) = inner.split_once('}').ok_or(UnfitTemplate::Brace)?;
                if !plain.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                }
                parts.push(Part::Field(field(name, occasion, detail)?));
                rest = behind;
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Template { parts })
    }

    /// The text of a message. Every value is on one line and escaped.
    pub(crate) fn text(&self, content: &Content, zone: &Zone, markup: Markup) -> String {
        let mut text = String::new();
        let mut is_empty = false;
        for part in &self.parts {
            match part {
                // An empty field leaves one space of the two around it.
                Part::Text(plain) if is_empty && (text.is_empty() || text.ends_with(' ')) => {
                    text.push_str(plain.strip_prefix(' ').unwrap_or(plain));
                }
                Part::Text(plain) => text.push_str(plain),
                Part::Field(field) => {
                    let value = field.value(content, zone);
                    is_empty = value.is_empty();
                    let line = one_line(&value);
                    let shown = cut(&line, FIELD_COLUMNS_MAX);
                    text.push_str(&match field.is_link() {
                        true => markup.link(&shown),
                        false => markup.value(&shown),
                    });
                }
            }
        }
        text.truncate(text.trim_end().len());
        text
    }
}

fn field(name: &str, occasion: Occasion, detail: Detail) -> Result<Field, UnfitTemplate> {
    let label = name.strip_prefix(LABEL).filter(|it| !it.is_empty());
    let known = match label {
        Some(_) => Some(&LABELS),
        None => KNOWN.iter().find(|it| it.name == name),
    };
    let Some(known) = known.filter(|it| it.is_of(occasion)) else {
        let names = KNOWN
            .iter()
            .chain([&LABELS])
            .filter(|it| it.is_of(occasion));
        let shown = |it: &Known| match it.name {
            LABEL => format!("{{{LABEL}NAME}}"),
            name => format!("{{{name}}}"),
        };
        return Err(UnfitTemplate::UnknownField {
            expected: names.map(shown).collect::<Vec<_>>().join(", "),
            found: cut(&one_line(name), 40).into_owned(),
        });
    };
    if detail < known.detail {
        return Err(UnfitTemplate::TooLittleDetail {
            field: name.to_owned(),
            needed: known.detail,
            found: detail,
        });
    }
    Ok(match label {
        Some(label) => Field::Label(label.to_owned()),
        None => Field::Named(known.name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Notice;
    use recount::session::Timestamp;
    use uuid::Uuid;

    fn content() -> Content {
        let notice = Notice::test(Uuid::from_u128(1), Timestamp(0));
        Content {
            occasion: Occasion::Asked,
            tool: Some("re\u{202e}fund\n<b>".to_owned()),
            labels: [("tenant".to_owned(), "acme".to_owned())].into(),
            arguments: Some(r#"{"order":"1001"}"#.to_owned()),
            ..Content::of(&notice)
        }
    }

    fn text(template: &str) -> String {
        let template = Template::parse(template, Occasion::Asked, Detail::Arguments).unwrap();
        template.text(&content(), &Zone::Utc, Markup::Slack)
    }

    #[test]
    fn fields_are_filled_and_escaped() {
        assert_eq!(
            text("{{{tool}}} wartet"),
            "{re\\u{202e}fund\\n&lt;b&gt;} wartet"
        );
        assert_eq!(
            text("{label.tenant} {label.none}|{arguments}"),
            "acme |{\"order\":\"1001\"}"
        );
        assert_eq!(text("{hint} a {link} b {expires}"), "a b");
        assert_eq!(text("<b>{time}</b> {link}"), "<b>1970-01-01 00:00 UTC</b>");
    }

    #[test]
    fn unfit_templates_are_refused() {
        let parse = |text: &str, occasion, detail| {
            Template::parse(text, occasion, detail)
                .unwrap_err()
                .to_string()
        };
        let error = parse("{tol}", Occasion::Asked, Detail::Names);
        assert!(
            error.contains("{tool}, ") && error.ends_with("found {tol}"),
            "{error}"
        );
        let error = parse("{by}", Occasion::Asked, Detail::Names);
        assert!(
            !error.contains("{by},"),
            "no request has an approver yet: {error}"
        );
        let error = parse("{hint}", Occasion::Asked, Detail::Names);
        assert!(
            error.starts_with("expected detail = \"arguments\""),
            "{error}"
        );
        for text in ["{", "a } b", "{tool", "{}", "{label.}"] {
            assert!(
                Template::parse(text, Occasion::Asked, Detail::Arguments).is_err(),
                "{text}"
            );
        }
    }
}
