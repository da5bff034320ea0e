//! Validation of the name that an operator claims.

/// The maximum length of a claimed name, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// Describes the fault of a claimed name. The name itself is not authenticated.
pub fn wrong_with_name(name: &str) -> Option<String> {
    if name.trim().is_empty() {
        return Some("expected the name of the approver, found none".to_owned());
    }
    let bytes = name.len();
    (bytes > NAME_BYTES_MAX)
        .then(|| format!("expected a name of at most {NAME_BYTES_MAX} bytes, found {bytes}"))
}
