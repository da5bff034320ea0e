//! The limit for the nesting of a message.

use recount_text::json::DecodeError;

/// The number of levels of objects and lists that may follow. Values of users are not parsed and
/// may nest deeper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Levels {
    left: usize,
    max: usize,
}

impl Levels {
    /// The default limit.
    const MAX: usize = 64;

    /// The largest allowed limit, because each level uses stack space.
    const READ_MAX: usize = 256;

    pub(super) fn at_most(max: usize) -> Levels {
        let max = max.min(Levels::READ_MAX);
        Levels { left: max, max }
    }

    /// Returns the remaining levels inside one more object or list.
    pub(super) fn inside(self) -> Result<Levels, DecodeError> {
        let Levels { left, max } = self;
        let left = left.checked_sub(1).ok_or_else(|| {
            DecodeError::new(format!("at most {max} levels of objects and lists"), "more")
        })?;
        Ok(Levels { left, max })
    }
}

impl Default for Levels {
    fn default() -> Levels {
        Levels::at_most(Levels::MAX)
    }
}
