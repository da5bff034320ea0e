//! Text that needs no escapes in a JSON string.

/// Returns the number of leading bytes without a quote, a backslash or a control character.
pub fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    // Subtracting one from a zero byte borrows. A borrow may also mark the next higher byte, but
    // never hides one.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut done = 0;
    for word in words {
        let word = u64::from_le_bytes(*word);
        let quote = zero(word ^ (ONES * u64::from(b'"')));
        let backslash = zero(word ^ (ONES * u64::from(b'\\')));
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        let marked = quote | backslash | control;
        if marked != 0 {
            // The lowest mark is exact, because no byte below it borrowed.
            return done + marked.trailing_zeros() as usize / 8;
        }
        done += 8;
    }
    let more = rest
        .iter()
        .position(|byte| *byte < 0x20 || *byte == b'"' || *byte == b'\\');
    done + more.unwrap_or(rest.len())
}

/// True if a text needs escapes within quotes.
pub fn needs_escapes(text: &str) -> bool {
    plain_length(text.as_bytes()) < text.len()
}

/// Appends a text as a JSON string.
pub fn quote(text: &str, out: &mut String) {
    if needs_escapes(text) {
        out.push_str(&serde_json::Value::from(text).to_string());
    } else {
        out.push('"');
        out.push_str(text);
        out.push('"');
    }
}
