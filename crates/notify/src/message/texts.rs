//! The texts of sinks that have no templates.

use super::template::Template;
use crate::values::{Detail, Occasion};

/// The default text of an occasion. It has as much detail as the sink.
pub(crate) fn default_text(occasion: Occasion, detail: Detail) -> Option<Template> {
    let subject = match detail {
        Detail::None => "A call",
        Detail::Names | Detail::Arguments => "{tool} of {agent}",
    };
    let arguments = match detail {
        Detail::None | Detail::Names => "",
        Detail::Arguments => " {arguments}",
    };
    let text = match occasion {
        Occasion::Asked => format!("{subject} waits for an approval.{arguments} {{link}}"),
        Occasion::Reminder => format!(
            "{subject} still waits for an approval, which expires at \
             {{expires}}.{arguments} {{link}}"
        ),
        Occasion::Escalated => {
            format!("{subject} has waited for an approval since {{since}}.{arguments} {{link}}")
        }
        Occasion::Decided => format!("{subject}: {{decision}}. {{link}}"),
        Occasion::InDoubt => {
            format!("{subject} was cut off, and its outcome is unknown.{arguments} {{link}}")
        }
        Occasion::Settled => {
            format!("{subject} ended while no client was connected: {{outcome}}. {{link}}")
        }
        Occasion::Digest => "{date}: {asked} asked, {approved} approved, {denied} denied, \
                             {expired} expired, {in_doubt} in doubt, {open} open. {link}"
            .to_owned(),
        Occasion::Test => "A test message of Recount, sent at {time}.".to_owned(),
    };
    // The tests read each of them.
    Template::parse(&text, occasion, detail).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_occasion_has_a_default_text() {
        for occasion in Occasion::ALL {
            for detail in Detail::ALL {
                assert!(
                    default_text(occasion, detail).is_some(),
                    "{occasion} {detail}"
                );
            }
        }
    }
}
