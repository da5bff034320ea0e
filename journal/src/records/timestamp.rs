//! The text form of a time: `2026-11-20T14:03:07.112345Z`, always 27 bytes, microseconds and UTC.

use chrono::{DateTime, Datelike, NaiveDate, Timelike};

/// The first microsecond of the year 0 and the last of the year 9999: the range of four digits.
const RANGE_US: (i64, i64) = (-62_167_219_200_000_000, 253_402_300_799_999_999);

/// Clamps a time to the range that four digits of a year can express.
pub(crate) fn drawn(at_us: i64) -> i64 {
    at_us.clamp(RANGE_US.0, RANGE_US.1)
}

/// Writes a time, clamped as by [drawn].
pub(crate) fn write(out: &mut Vec<u8>, at_us: i64) {
    // The naive form avoids adding the zone offset again for each field.
    let at = DateTime::from_timestamp_micros(drawn(at_us)).unwrap_or_default();
    let at = at.naive_utc();
    let year = u32::try_from(at.year()).unwrap_or_default();
    let (hour, minute, second, micros) =
        (at.hour(), at.minute(), at.second(), at.nanosecond() / 1_000);
    let mut text = *b"0000-00-00T00:00:00.000000Z";
    let mut put = |place: std::ops::Range<usize>, mut number: u32| {
        for digit in text.get_mut(place).unwrap_or_default().iter_mut().rev() {
            *digit = b'0' + u8::try_from(number % 10).unwrap_or_default();
            number /= 10;
        }
    };
    put(0..4, year);
    put(5..7, at.month());
    put(8..10, at.day());
    put(11..13, hour);
    put(14..16, minute);
    put(17..19, second);
    put(20..26, micros);
    out.extend_from_slice(&text);
}

/// Reads exactly what [`write()`] writes.
pub(crate) fn read(text: &str) -> Option<i64> {
    let bytes: &[u8; 27] = text.as_bytes().try_into().ok()?;
    let [
        y1,
        y2,
        y3,
        y4,
        b'-',
        o1,
        o2,
        b'-',
        d1,
        d2,
        b'T',
        h1,
        h2,
        b':',
        m1,
        m2,
        b':',
        s1,
        s2,
        b'.',
        u1,
        u2,
        u3,
        u4,
        u5,
        u6,
        b'Z',
    ] = bytes
    else {
        return None;
    };
    let number = |digits: &[&u8]| {
        digits.iter().try_fold(0_u32, |sum, digit| {
            digit
                .is_ascii_digit()
                .then(|| sum * 10 + u32::from(**digit - b'0'))
        })
    };
    let year = i32::try_from(number(&[y1, y2, y3, y4])?).ok()?;
    let date = NaiveDate::from_ymd_opt(year, number(&[o1, o2])?, number(&[d1, d2])?)?;
    let micros = number(&[u1, u2, u3, u4, u5, u6])?;
    let at = date.and_hms_micro_opt(
        number(&[h1, h2])?,
        number(&[m1, m2])?,
        number(&[s1, s2])?,
        micros,
    )?;
    Some(at.and_utc().timestamp_micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for at_us in [0, 1_795_183_387_112_345, -1, RANGE_US.0, RANGE_US.1] {
            let mut text = Vec::new();
            write(&mut text, at_us);
            assert_eq!(str::from_utf8(&text).ok().and_then(read), Some(at_us));
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            "2026-11-20T14:03:07Z",
            "2026-11-20 14:03:07.112345Z",
            "2026-13-20T14:03:07.112345Z",
            "2026-11-20T14:03:07.112345+",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
