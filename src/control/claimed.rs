//! The name that whoever answers gives themselves.

/// The longest name that somebody may claim, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// What is wrong with a claimed name, in words; nothing checks whose it is.
pub fn wrong_with_name(name: &str) -> Option<String> {
    if name.trim().is_empty() {
        return Some("expected the name of whoever answers, found none".to_owned());
    }
    let bytes = name.len();
    (bytes > NAME_BYTES_MAX)
        .then(|| format!("expected a name of at most {NAME_BYTES_MAX} bytes, found {bytes}"))
}
