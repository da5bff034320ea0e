//! The question about a call that waits for an approver, and the arguments to decide on.

use recount::ledger::PendingConfirmation;
use recount::session::{About, Json};

/// The question of a request: its hint, or one that follows from what the request is about.
///
/// The hint is untrusted text; show it through [`one_line`](crate::one_line).
pub fn asked(it: &PendingConfirmation) -> &str {
    asked_in_words(it.about, it.hint.as_deref())
}

/// The question of a request about `about` with this hint.
pub fn asked_in_words(about: About, hint: Option<&str>) -> &str {
    match (about, hint.unwrap_or_default()) {
        (About::Gate, "") => "May it run?",
        (About::Tool, "") => "May it continue?",
        (About::Gate | About::Tool, hint) => hint,
        (About::InDoubt, _) => "It may have run already. Run it again, or settle it?",
    }
}

/// The arguments of a request, each sealed value cut to a part that distinguishes it from others.
///
/// No other value is cut: the approver must see all arguments.
pub fn shown_args(it: &PendingConfirmation) -> Json {
    let sealed = it.sealed_args.iter();
    sealed.fold(it.args.clone(), |args, at| shortened(args, at))
}

/// The arguments with one sealed value cut to a part that distinguishes it from others.
fn shortened(args: Json, pointer: &str) -> Json {
    const SHOWN: usize = "{\"$sealed\":\"v1.".len() + 8;
    let short = args.text_at(pointer).and_then(|it| it.get(..SHOWN));
    let short = short.map(|it| format!("{it}…\"}}"));
    short
        .and_then(|short| args.with_text_at(pointer, &short))
        .unwrap_or(args)
}
