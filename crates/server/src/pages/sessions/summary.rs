//! The top of the page of a session: what it is, its pauses, its standing leaves, its checks.

use maud::{Markup, html};
use recount::ledger::{LeaveInForce, ListedPause};
use recount::session::{PauseScope, Timestamp};
use recount_telling::{acted, bound_words};

use super::list::badges;
use crate::access::Role;
use crate::pages::frame::{Frame, moment, relative, said};
use crate::routes::sessions::ListedSession;

/// A session with what its page says above the timeline.
pub(super) struct Summary {
    pub(super) session: ListedSession,
    pub(super) leaves: Vec<LeaveInForce>,
    /// The role of the viewer, by which the page offers changes.
    pub(super) role: Option<Role>,
    /// True for the pauses that the viewer may end.
    pub(super) now: Timestamp,
}

impl Summary {
    pub(super) fn markup(&self, frame: &Frame) -> Markup {
        html! {
            (self.facts())
            (self.pauses(frame))
            (self.leaves(frame))
        }
    }

    fn facts(&self) -> Markup {
        let it = &self.session.summary;
        html! {
            p { (badges(&self.session)) " " code { (it.id.to_string()) } }
            dl.facts {
                @if let Some(id) = &it.external_id { dt { "External id" } dd { (said(id)) } }
                @if let Some(person) = &it.on_behalf_of {
                    dt { "On behalf of" } dd { (said(person)) }
                }
                @for (name, value) in &it.labels { dt { (said(name)) } dd { (said(value)) } }
                dt { "Opened" } dd { (moment(it.opened_at)) }
                dt { "Last record" }
                dd { (moment(it.last_at)) ", " (relative(it.last_at, self.now)) }
                dt { "Records" } dd { (it.records) }
            }
        }
    }

    fn pauses(&self, frame: &Frame) -> Markup {
        let may = self.role >= Some(Role::Operator) && !self.session.closed;
        let paused_here = self.session.paused.iter().any(is_of_session);
        html! {
            @for pause in &self.session.paused {
                div.banner.bad { (self.pause(frame, pause, may)) }
            }
            @if may && !paused_here {
                details id="pause" {
                    summary { "Pause this session" }
                    (frame.form(&self.act("pause"), html! {
                        p.quiet { "Nothing in it starts until the pause ends." }
                        label for="pause-reason" { "Reason" }
                        input id="pause-reason" name="reason";
                        label.check {
                            input type="checkbox" name="cancel_running" value="true";
                            "Cancel the calls that run"
                        }
                        p { button.stop { "Pause" } }
                    }))
                }
            }
        }
    }

    fn pause(&self, frame: &Frame, it: &ListedPause, may: bool) -> Markup {
        html! {
            p {
                strong {
                    "Paused: "
                    @match &it.pause.scope {
                        PauseScope::Session => "this session",
                        PauseScope::Tool(tool) => { "the tool " (said(tool)) },
                        PauseScope::Agent(agent) => { "the agent " (said(agent)) },
                        PauseScope::Everything => "everything",
                    }
                }
                ", " (said(&acted("by", &it.pause.by))) ", " (moment(it.pause.since))
            }
            @if let Some(reason) = &it.pause.reason { p { "Reason: " (said(reason)) } }
            @if may && is_of_session(it) {
                (frame.form(&self.act("unpause"), html! { button { "End the pause" } }))
            }
        }
    }

    fn leaves(&self, frame: &Frame) -> Markup {
        let may = self.role >= Some(Role::Approver);
        if self.leaves.is_empty() {
            return Markup::default();
        }
        html! {
            h2 { "Standing leaves" }
            @for it in &self.leaves {
                div.card {
                    p {
                        strong { (said(&it.tool)) } " is allowed " (bound_words(it.allow_for))
                        ", " (it.used) " used"
                    }
                    p.quiet {
                        "Given "
                        @for by in &it.by { (said(&acted("by", by))) ", " }
                        (moment(it.since)) ", "
                        a href=(frame.links().record(it.session, it.leave)) { "record " (it.leave) }
                    }
                    @if may {
                        (frame.form(&self.act(&format!("leaves/{}/revoke", it.leave)), html! {
                            button.stop { "Revoke" }
                        }))
                    }
                }
            }
        }
    }

    fn act(&self, act: &str) -> String {
        format!("sessions/{}/{act}", self.session.summary.id)
    }
}

/// True for a pause that the session's own record began.
fn is_of_session(it: &ListedPause) -> bool {
    match it.pause.scope {
        PauseScope::Session => it.session.is_some(),
        PauseScope::Tool(_) | PauseScope::Agent(_) | PauseScope::Everything => false,
    }
}
