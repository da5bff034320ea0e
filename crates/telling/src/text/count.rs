//! Numbers of things, with the plural where it is due.

/// The number and the name of a thing whose plural takes an s, such as `2 records`.
pub fn count(number: impl TryInto<u64>, thing: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{s}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_singular() {
        assert_eq!(count(1_u64, "record"), "1 record");
        assert_eq!(count(0_usize, "record"), "0 records");
    }
}
