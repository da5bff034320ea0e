//! The denial of the calls of a session that a person has seen, and the count of them afterwards.

use std::collections::BTreeSet;

use axum::response::Response;
use maud::{Markup, html};
use recount::session::{Seq, SessionId};
use recount_telling::count;

use super::frame::{Form, Frame, is_page};
use super::inbox::is_open;
use crate::access::Role;
use crate::problems::{Code, Problem};
use crate::requests::{InPath, Params, session};
use crate::routes::{Caller, denied_all};

/// The field with the requests that the page has shown.
const SEEN: &str = "seen";

/// The numbers of a denial, as parameters of the page that follows.
const DENIED: &str = "denied";
const ASKED: &str = "asked";
const NEWER: &str = "newer";

/// A form that denies these requests of a session, and none that was asked since.
pub(super) fn form(
    frame: &Frame,
    session: SessionId,
    seen: &[Seq],
    next: &str,
    reason: &Markup,
) -> Markup {
    let seqs: Vec<String> = seen.iter().map(|it| it.0.to_string()).collect();
    let fields = html! {
        (reason)
        input type="hidden" name=(SEEN) value=(seqs.join(" "));
        input type="hidden" name="next" value=(next);
        p { button.stop { "Deny these " (count(seen.len(), "call")) } }
    };
    frame.form(&format!("sessions/{session}/deny-all"), fields)
}

/// Denies the requests that the form names, each on its own.
///
/// One that was asked after the page was made stays open: the person has not seen it.
pub(crate) async fn deny_all(
    caller: Caller,
    frame: Frame,
    InPath(id): InPath<String>,
    form: Form,
) -> Result<Response, Problem> {
    form.only(&["reason", "next", SEEN])?;
    let id = session(&id)?;
    caller.session(id, Role::Approver).await?;
    let next = form.one("next")?.filter(|it| is_page(it));
    let next = next.unwrap_or("inbox");
    let reason = form.one("reason")?.map(str::to_owned);
    let seen = seen(&form)?;
    let denied = denied_all(&caller, id, reason, |it| seen.contains(&it.request)).await?;
    let now = caller.service.access.now();
    let open = caller.ledger().pending_in(id).await?;
    let newer = open
        .iter()
        .filter(|it| is_open(it, now) && !seen.contains(&it.request));
    let (denied, asked, newer) = (denied.on_record(), seen.len(), newer.count());
    let separator = if next.contains('?') { '&' } else { '?' };
    let numbers = format!("{DENIED}={denied}&{ASKED}={asked}&{NEWER}={newer}");
    frame.see_other(&format!("{next}{separator}{numbers}"))
}

fn seen(form: &Form) -> Result<BTreeSet<Seq>, Problem> {
    let text = form.one(SEEN)?.unwrap_or_default();
    let seqs = text.split_whitespace().map(|it| it.parse().map(Seq));
    let seqs: Result<BTreeSet<Seq>, _> = seqs.collect();
    seqs.ok().filter(|it| !it.is_empty()).ok_or_else(|| {
        let detail = format!("{SEEN}: expected the numbers of requests, found {text:?}");
        Problem::new(Code::BadRequest, detail)
    })
}

/// The sentence about a denial, on the page to which it has led.
pub(super) fn told(params: &Params) -> Result<Option<Markup>, Problem> {
    let number = |name| params.parsed::<usize>(name, "a number");
    let (Some(denied), Some(asked)) = (number(DENIED)?, number(ASKED)?) else {
        return Ok(None);
    };
    let newer = number(NEWER)?.unwrap_or_default();
    Ok(Some(html! {
        div.banner id="denied" role="status" {
            p {
                @if denied == asked {
                    (was(denied)) " denied."
                } @else {
                    (denied) " of " (count(asked, "call")) " could be denied. "
                    "The others were decided before, or their cards say why not."
                }
                @match newer {
                    0 => {},
                    1 => { " 1 newer call of the session waits." },
                    more => { " " (more) " newer calls of the session wait." },
                }
            }
        }
    }))
}

fn was(calls: usize) -> String {
    let verb = if calls == 1 { "was" } else { "were" };
    format!("{} {verb}", count(calls, "call"))
}
