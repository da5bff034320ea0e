//! The paths of pieces: JSONPaths (RFC 9535) that name one value.

/// The maximum number of steps. Deeper arguments are not recorded.
const STEPS_MAX: usize = 64;

/// A step from a value into one of its parts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Step {
    /// A member of an object.
    Member(String),
    /// An item of a list.
    Item(usize),
}

/// Parses a path such as `$.a['b c'][0]`.
pub(super) fn steps(path: &str) -> Result<Vec<Step>, String> {
    let mut rest = path
        .strip_prefix('$')
        .ok_or("expected a path that begins with `$`")?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (step, after) = step(rest)?;
        steps.push(step);
        rest = after;
        if steps.len() > STEPS_MAX {
            return Err(format!("expected at most {STEPS_MAX} steps"));
        }
    }
    Ok(steps)
}

fn step(path: &str) -> Result<(Step, &str), String> {
    if let Some(rest) = path.strip_prefix('.') {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let is_plain = |c: char| c.is_alphanumeric() || !c.is_ascii() || "_-".contains(c);
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err("expected the name of a member after `.`".to_owned());
        }
        return Ok((Step::Member(name.to_owned()), after));
    }
    let odd = || "expected `.name`, `['name']` or `[index]`".to_owned();
    let rest = path.strip_prefix('[').ok_or_else(odd)?.trim_start();
    let (step, rest) = match rest.chars().next() {
        Some(quote @ ('\'' | '"')) => {
            let (name, rest) = quoted(rest.get(1..).unwrap_or_default(), quote)?;
            (Step::Member(name), rest)
        }
        Some('0'..='9') => {
            let end = rest.find(|c: char| !c.is_ascii_digit());
            let (digits, rest) = rest.split_at(end.unwrap_or(rest.len()));
            (Step::Item(digits.parse().map_err(|_| odd())?), rest)
        }
        Some(_) | None => return Err(odd()),
    };
    let rest = rest.trim_start().strip_prefix(']').ok_or_else(odd)?;
    Ok((step, rest))
}

/// Parses up to the closing quote. The text is parsed as a JSON string, whose escapes lack only
/// `\'`.
fn quoted(text: &str, quote: char) -> Result<(String, &str), String> {
    let mut json = String::from('"');
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c == quote => {
                json.push('"');
                let name = serde_json::from_str(&json);
                let name = name.map_err(|_| "expected a name with JSON's escapes".to_owned())?;
                let rest = text.get(at + c.len_utf8()..).unwrap_or_default();
                return Ok((name, rest));
            }
            '"' => json.push_str("\\\""),
            '\\' => match chars.next() {
                Some((_, '\'')) => json.push('\''),
                Some((_, escaped)) => json.extend(['\\', escaped]),
                None => break,
            },
            _ => json.push(c),
        }
    }
    Err("expected a closing quote".to_owned())
}
