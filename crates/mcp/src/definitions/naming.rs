//! The names under which a model calls the tools of a server.

use std::collections::BTreeSet;

use recount_session::ObjectHash;
use recount_tool::is_name;

/// The maximum length of a name.
const NAME_MAX: usize = 64;

/// Returns a legal name for an illegal one, always the same. It has `_` for illegal characters, and
/// the start of a digest if that is not enough or the name is taken.
pub(crate) fn legal(name: &str, taken: &BTreeSet<String>) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.' | '-');
    let put = |c: char| if allowed(c) { c } else { '_' };
    let mut plain: String = name.chars().map(put).collect();
    if !plain.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        plain.insert(0, '_');
    }
    if is_name(&plain) && !taken.contains(&plain) {
        return plain;
    }
    let digest = ObjectHash::of(name.as_bytes()).to_string();
    plain.truncate(NAME_MAX - 9);
    format!("{plain}_{}", digest.get(..8).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn illegal_name_becomes_a_legal_one() {
        let taken = BTreeSet::from(["a_b".to_owned()]);
        assert_eq!(legal("list files", &taken), "list_files");
        assert_eq!(legal("123-tool", &taken), "_123-tool");
        assert_ne!(legal("a b", &taken), "a_b");
        for name in ["", "é", "a b", &"x".repeat(65), &"é".repeat(200)] {
            let alias = legal(name, &taken);
            assert!(is_name(&alias) && !taken.contains(&alias), "{alias}");
            assert_eq!(legal(name, &taken), alias);
        }
        let long = ["x".repeat(65), "x".repeat(66)];
        assert_ne!(legal(&long[0], &taken), legal(&long[1], &taken));
    }
}
