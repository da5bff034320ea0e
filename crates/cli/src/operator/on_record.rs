//! What a command has put on record for a call, and when the model hears of it.

use serde_json::Value;

use crate::failures::failure::Failure;
use crate::terminal::screen::Screen;
use crate::terminal::style::Tone;
use crate::text::one_line::one_line;
use recount::control::OnRecord;

/// Shows it, as JSON or in words: by whose process, where a running service has done it. That it cannot be shown does not undo it.
pub(crate) fn show(
    answered: &OnRecord,
    json: Option<Value>,
    text: &str,
    service: Option<u32>,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let shown = match json {
        Some(json) => screen.json(&json),
        None => tell(text, service, screen),
    };
    shown
        .and_then(|()| screen.flush())
        .map_err(|failure| failure.behind_record(answered))
}

fn tell(text: &str, service: Option<u32>, screen: &mut Screen) -> Result<(), Failure> {
    screen.toned(Tone::Good, &one_line(text))?;
    screen.line(&match service {
        Some(pid) => format!("On record through the running service (pid {pid})."),
        None => "The model is told when the session is next served.".to_owned(),
    })
}
