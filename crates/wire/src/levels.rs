//! How deep a message may nest.

use recount_text::json::DecodeError;

/// Levels of objects and lists that may still follow. What users put into a message is not looked
/// into and may go deeper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Levels {
    left: usize,
    max: usize,
}

impl Levels {
    /// Where nothing else is said.
    const MAX: usize = 64;

    /// No limit may be set above this one: each level takes room on the stack.
    const READ_MAX: usize = 256;

    pub(super) fn at_most(max: usize) -> Levels {
        let max = max.min(Levels::READ_MAX);
        Levels { left: max, max }
    }

    /// What is left inside one more.
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
