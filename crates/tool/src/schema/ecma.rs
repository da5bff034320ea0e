//! ECMA-262 patterns that need backtracking: look-around and back references.

use fancy_regex::{Regex, RegexBuilder};

use super::arguments::{quoted, shortened};

/// The number of steps after which a match is given up. Usual patterns take far fewer; this many
/// take tens of milliseconds.
const STEPS_MAX: usize = 200_000;
/// The maximum length of the library's message about a pattern, which may quote all of it.
const WHY_CHARS_MAX: usize = 200;

/// Returns the mistake in a pattern. For one that is too large, the library only reports a failure.
fn problem(error: &fancy_regex::Error) -> String {
    if let fancy_regex::Error::CompileError(compile) = error
        && let fancy_regex::CompileError::InnerError(inner) = compile.as_ref()
        && let Some(limit) = inner.size_limit()
    {
        return format!("expected a size of at most {limit} bytes once compiled, found more");
    }
    error.to_string()
}

/// A pattern, compiled once.
pub(super) struct Pattern(Regex);

/// The outcome of a match.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Match {
    Fits,
    Misses,
    /// The match exceeded the maximum number of steps.
    GivenUp,
}

impl Pattern {
    pub(crate) fn new(source: &str) -> Result<Pattern, String> {
        let regex = RegexBuilder::new(&translated(source))
            .backtrack_limit(STEPS_MAX)
            .build();
        let regex = regex.map_err(|error| {
            let why = shortened(&problem(&error), WHY_CHARS_MAX);
            format!("invalid regex {}: {why}", quoted(source))
        })?;
        Ok(Pattern(regex))
    }

    pub(crate) fn on(&self, text: &str) -> Match {
        match self.0.is_match(text) {
            Ok(true) => Match::Fits,
            Ok(false) => Match::Misses,
            // After compilation the library has no other errors.
            Err(_) => Match::GivenUp,
        }
    }
}

/// Translates a pattern to the library's syntax. Classes such as `\d` become ASCII, and characters
/// special only in the library are escaped.
fn translated(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut letters = source.chars().peekable();
    let mut in_class = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('c') if letters.peek().is_some_and(char::is_ascii_alphabetic) => {
                    let control = letters.next().map_or(0, |it| u32::from(it) % 32);
                    out.push_str(&format!("\\x{control:02X}"));
                }
                Some('0') => out.push_str("\\x00"),
                Some(kind) => match class(kind) {
                    Some(class) => out.push_str(class),
                    None if is_plain(kind) => out.push(kind),
                    None => out.extend(['\\', kind]),
                },
                None => out.push('\\'),
            },
            '[' if in_class => out.push_str("\\["),
            '[' => {
                in_class = true;
                out.push('[');
                if letters.peek() == Some(&'^') {
                    out.extend(letters.next());
                }
                // An empty class matches nothing, and its negation matches everything.
                if letters.peek() == Some(&']') {
                    letters.next();
                    in_class = false;
                    let opposite = out.ends_with('^');
                    out.truncate(out.len() - if opposite { 2 } else { 1 });
                    out.push_str(if opposite { "(?s:.)" } else { "(?!)" });
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => out.extend(['\\', letter]),
            _ => out.push(letter),
        }
    }
    out
}

/// Returns the replacement of an ECMA-262 class, which is also valid inside another class.
fn class(kind: char) -> Option<&'static str> {
    match kind {
        'd' => Some("[0-9]"),
        'D' => Some("[^0-9]"),
        'w' => Some("[A-Za-z0-9_]"),
        'W' => Some("[^A-Za-z0-9_]"),
        's' => Some(
            r"[\t-\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}]",
        ),
        'S' => Some(
            r"[^\t-\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}]",
        ),
        _ => None,
    }
}

/// True for letters that are literal after a backslash in ECMA-262 but special in the library.
fn is_plain(letter: char) -> bool {
    matches!(
        letter,
        '/' | '"' | '\'' | '_' | '@' | '%' | ',' | ';' | ':' | '=' | '!' | '<' | '>' | '`'
    ) || matches!(
        letter,
        'a' | 'e' | 'A' | 'z' | 'Z' | 'G' | 'K' | 'h' | 'H' | 'R' | 'X' | 'Q' | 'E'
    )
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;

    fn fits(pattern: &str, text: &str) -> bool {
        Pattern::new(pattern).unwrap().on(text) == Match::Fits
    }

    #[test]
    fn look_around_and_back_references_are_known() {
        let email = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$";
        assert!(fits(email, "ada@example.com"));
        assert!(!fits(email, "ada..b@example.com") && !fits(email, ".ada@example.com"));
        assert!(fits(r"^(a|b)\1$", "aa") && !fits(r"^(a|b)\1$", "ab"));
        assert!(fits(r"(?<=\$)\d+", "$42") && !fits(r"(?<=\$)\d+", "42"));
        assert!(fits(r"^(?<x>a)\k<x>$", "aa"));
    }

    #[test]
    fn classes_are_those_of_ecma() {
        assert!(!fits(r"^(?=.)\d$", "٣") && fits(r"^(?=.)[\d-]$", "-"));
        assert!(!fits(r"^(?=.)\w$", "é") && fits(r"^(?=.)[^\w]$", "é"));
        assert!(fits(r"^(?=.)\s$", "\u{FEFF}") && fits(r"^(?=.)\S$", "a"));
        assert!(fits(r"^(?=.)[[&&]+$", "[&"));
        assert!(fits(r"^(?=[^])[^]$", "\n"));
        assert!(!fits(r"(?=.)[]", "a") && fits(r"^(?=.)\/\cJ$", "/\n"));
        assert!(fits(r"^(?=.)\u00e9$", "é"));
    }

    #[test]
    fn endless_match_is_given_up() {
        let pattern = Pattern::new(r"^(?:(?=a)a+)+$").unwrap();
        assert_eq!(pattern.on(&format!("{}b", "a".repeat(60))), Match::GivenUp);
        assert!(Pattern::new("(?=").is_err() && Pattern::new("(").is_err());
    }
}
