//! The match of tool names by pattern.

/// True if `name` matches the pattern, in which `*` matches any characters, or none.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some((_, behind)) = rest.split_once(part) else {
            return false;
        };
        rest = behind;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_stands_for_any_letters() {
        for (pattern, name) in [
            ("write_file", "write_file"),
            ("write_*", "write_file"),
            ("write_*", "write_"),
            ("*", "anything"),
            ("*_file", "write_file"),
            ("*i*i*", "write_file"),
            ("a*a", "aa"),
            ("w*_*e", "write_file"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("write", "write_file"),
            ("write_*", "writ"),
            ("*_file", "write_files"),
            ("a*a", "a"),
            ("*x*", "write_file"),
            ("", "a"),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }
}
