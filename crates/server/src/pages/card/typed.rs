//! The text that a person typed into a form whose answer was refused.

use crate::pages::frame::Form;

/// The fields of a refused form. A person who made a mistake corrects it, and types nothing again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Typed<'f>(Option<&'f Form>);

impl<'f> Typed<'f> {
    pub(super) fn of(form: &'f Form) -> Typed<'f> {
        Typed(Some(form))
    }

    /// The fields, if the form was sent with this button. Others of the page have the same names.
    pub(super) fn with(self, button: &str, value: &str) -> Typed<'f> {
        let sent = self.text(button) == Some(value);
        Typed(self.0.filter(|_| sent))
    }

    /// The text of a field. `None` if it was empty, or if nothing was refused.
    pub(super) fn text(self, field: &str) -> Option<&'f str> {
        self.0?.one(field).ok()?
    }

    /// True if the form was refused.
    pub(super) fn is_refused(self) -> bool {
        self.0.is_some()
    }

    /// The element that describes the mistake.
    pub(super) fn mistake(self) -> Option<&'static str> {
        self.is_refused().then_some(Typed::MISTAKE)
    }

    /// The id of the element that describes the mistake.
    pub(super) const MISTAKE: &'static str = "refused";
}
