//! The page of the inbox.

use std::collections::BTreeSet;

use axum::extract::OriginalUri;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use recount::control::Waiting;
use recount::session::{OnExpiry, Seq, SessionId, Timestamp};
use recount_telling::{asked, count, cut, one_line, progress, shown_args};

use super::chosen::{Chosen, cursor};
use super::waiting::{GROUPS, Group, Item, OPEN_MAX, all, grouped, is_open, page};
use crate::access::Role;
use crate::pages::denying;
use crate::pages::frame::{Frame, Page, next_page, relative, said};
use crate::pages::live::Watched;
use crate::problems::Problem;
use crate::requests::{Params, session};
use crate::routes::{Caller, Selection};

/// The width of the arguments in a row, in columns. The card has them whole.
const ARGS_COLUMNS: usize = 140;

/// Leads from the root to the inbox.
pub(crate) async fn root(OriginalUri(uri): OriginalUri) -> Response {
    // Relative to the address, which ends with or without a slash if a service mounts the router.
    let path = uri.path();
    let last = path.rsplit('/').next().unwrap_or_default();
    let to = match last {
        "" => "./inbox".to_owned(),
        last => format!("./{last}/inbox"),
    };
    let location = HeaderValue::from_str(&to).ok();
    let location = location.unwrap_or(HeaderValue::from_static("./inbox"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response()
}

/// Shows what waits for an answer.
pub(crate) async fn show(
    caller: Caller,
    frame: Frame,
    params: Params,
) -> Result<Response, Problem> {
    let chosen = Chosen::of(&params)?;
    if chosen.label_fault().is_some() {
        return Ok(not_filtered(&frame, &chosen));
    }
    let selection = selection(&chosen)?;
    // Taken before the read, so that the page hears of changes meanwhile.
    let position = caller.ledger().journal().position().await?;
    let (mut items, is_cut) = all(&caller, &selection).await?;
    let names = Names::of(&items);
    items.retain(|it| chosen.takes(it));
    let open = items.len();
    let (groups, next) = page(grouped(items), chosen.after);
    let now = caller.service.access.now();
    let next = next.map(cursor);
    let denied = denying::told(&params)?;
    let body = html! {
        @if let Some(denied) = denied { (denied) }
        (filters(&chosen, &names))
        // A part for each session, so that a text typed in one holds no other back.
        div id="waiting" data-list {
            @if is_cut {
                p.banner.ask id="waiting-cut" data-part {
                    "More than " (OPEN_MAX) " calls wait. Filter to see those of new sessions."
                }
            }
            @if groups.is_empty() { (empty(&chosen)) }
            @for group in &groups { (shown(&caller, &frame, group, now)) }
            div id="waiting-more" data-part {
                @if next.is_some() {
                    p.quiet {
                        (GROUPS) " sessions in this page, " (count(open as u64, "call")) " in all"
                    }
                }
                (next_page(chosen.parameters(), next.as_deref()))
            }
        }
    };
    let page = Page::new("Inbox", body).count(open);
    Ok(frame.page(page.live(&Watched::Pending, position)))
}

/// The page with the fault of a filter at its field. A list that ignores a filter would show calls
/// of others as those that were chosen.
fn not_filtered(frame: &Frame, chosen: &Chosen) -> Response {
    let body = html! {
        (filters(chosen, &Names::of(&[])))
        div.card { p { "No call is listed, because a filter is not understood." } }
    };
    frame.page_with(StatusCode::UNPROCESSABLE_ENTITY, Page::new("Inbox", body))
}

fn selection(chosen: &Chosen) -> Result<Selection, Problem> {
    let label = chosen.label.split_once(':');
    Ok(Selection {
        agent: Some(chosen.agent.clone()).filter(|it| !it.is_empty()),
        labels: label
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into_iter()
            .collect(),
        session: match chosen.session.as_str() {
            "" => None,
            id => Some(session(id)?),
        },
    })
}

/// The names that the filters propose.
struct Names {
    agents: BTreeSet<String>,
    tools: BTreeSet<String>,
    labels: BTreeSet<String>,
}

impl Names {
    /// The maximum number of proposals for one filter.
    const MAX: usize = 200;

    fn of(items: &[Item]) -> Names {
        let mut names = Names {
            agents: BTreeSet::new(),
            tools: BTreeSet::new(),
            labels: BTreeSet::new(),
        };
        for item in items {
            put(&mut names.agents, item.agent().to_owned());
            put(&mut names.tools, item.tool().to_owned());
            for (name, value) in item.labels() {
                put(&mut names.labels, format!("{name}:{value}"));
            }
        }
        names
    }
}

fn put(names: &mut BTreeSet<String>, name: String) {
    // A name with characters that are not seen cannot be proposed as it is.
    if names.len() < Names::MAX && one_line(&name) == name {
        names.insert(name);
    }
}

fn filters(chosen: &Chosen, names: &Names) -> Markup {
    html! {
        form.filters method="get" role="search" aria-label="Filter the inbox" {
            (filter("agent", "Agent", &chosen.agent, &names.agents, None))
            (filter("tool", "Tool", &chosen.tool, &names.tools, None))
            (filter(
                "label",
                "Label (NAME:VALUE)",
                &chosen.label,
                &names.labels,
                chosen.label_fault(),
            ))
            label.check {
                input type="checkbox" name="mine" value="yes" checked[chosen.mine];
                "Mine to decide"
            }
            @if !chosen.session.is_empty() {
                input type="hidden" name="session" value=(chosen.session);
            }
            button { "Filter" }
            @if chosen.is_narrow() { a href="inbox" { "Show all" } }
        }
    }
}

fn filter(
    name: &str,
    label: &str,
    value: &str,
    names: &BTreeSet<String>,
    fault: Option<&str>,
) -> Markup {
    let (id, list) = (format!("filter-{name}"), format!("known-{name}"));
    let described = fault.map(|_| format!("fault-{name}"));
    html! {
        div.wrong[fault.is_some()] {
            label for=(id) { (label) }
            input id=(id) name=(name) value=(value) list=(list) autocomplete="off"
                aria-invalid=[fault.map(|_| "true")] aria-describedby=[described.as_deref()];
            @if let Some(fault) = fault {
                p.fault id={ "fault-" (name) } { (fault) }
            }
            datalist id=(list) {
                @for name in names { option value=(name) {} }
            }
        }
    }
}

fn empty(chosen: &Chosen) -> Markup {
    html! {
        div.card id="waiting-none" data-part {
            @if chosen.is_narrow() {
                p { "No call waits that fits the filters." }
            } @else {
                p { "No call waits for an answer." }
                p.quiet { "The page shows the next one by itself." }
            }
        }
    }
}

fn shown(caller: &Caller, frame: &Frame, group: &Group, now: Timestamp) -> Markup {
    let Some(first) = group.items.first() else {
        return Markup::default();
    };
    let asked = group.items.iter().filter_map(|it| match &it.waiting {
        Waiting::Confirmation(it) => is_open(it, now).then_some(it.request),
        Waiting::Paused(_) => None,
    });
    let asked: Vec<Seq> = asked.collect();
    let may_deny = caller.principal.role_in(first.agent(), first.labels()) >= Some(Role::Approver);
    let id = group.session;
    html! {
        section.card id={ "in-" (id) } data-part aria-labelledby={ "of-" (id) } {
            h2 id={ "of-" (id) } {
                @match first.agent() {
                    "" => { "Session that cannot be read here" },
                    agent => (said(agent)),
                }
                @if let Some(id) = first.external_id() { ", " (said(id)) }
            }
            p.quiet {
                @for (name, value) in first.labels() {
                    span.badge { (said(name)) "=" (said(value)) } " "
                }
                "session " code { (id) }
            }
            ul.rows {
                @for item in &group.items { (row(frame, item, now)) }
            }
            @if may_deny && asked.len() > 1 { (deny_all(frame, id, &asked)) }
        }
    }
}

/// The form that denies the requests of a session that the page shows.
fn deny_all(frame: &Frame, session: SessionId, shown: &[Seq]) -> Markup {
    let reason = html! {
        label for={ "reason-" (session) } { "Reason (the model is told)" }
        input id={ "reason-" (session) } name="reason" maxlength="2000";
    };
    html! {
        details id={ "deny-" (session) } {
            summary { "Deny all" }
            (denying::form(frame, session, shown, "inbox", &reason))
        }
    }
}

fn row(frame: &Frame, item: &Item, now: Timestamp) -> Markup {
    let (session, call) = item.place();
    html! {
        li.row {
            @match &item.waiting {
                Waiting::Confirmation(it) => {
                    a.what href=(frame.links().card(session, call)) {
                        @if it.sealed { "A call that cannot be read here" }
                        @else { strong { (said(&it.tool)) } ": " (said(asked(it))) }
                    }
                    @if !it.sealed { (brief(shown_args(it).as_str())) }
                    p.quiet {
                        "Asked " (relative(it.requested_at, now))
                        @if let Some(at) = it.expires_at {
                            @if at <= now { ", " span.bad { "expired" } }
                            @else {
                                @match it.on_expiry {
                                    OnExpiry::Deny => ", expires ",
                                    OnExpiry::Allow => ", runs without an answer ",
                                }
                                span.ask { (relative(at, now)) }
                            }
                        }
                        @if let Some(needs) = &it.needs {
                            ". " (said(&progress(Some(needs), it.missing())))
                        }
                        @if it.model_lost_interest { ". The model has cancelled the call." }
                        @if item.is_held { " " span.badge.bad { "paused" } }
                        @if item.is_mine { " " span.badge.ask { "yours to decide" } }
                    }
                },
                Waiting::Paused(it) => {
                    a.what href=(frame.links().card(session, call)) {
                        strong { (said(&it.tool)) } ": waits for its result from outside"
                    }
                    (brief(it.args.as_str()))
                    p.quiet { "Since " (relative(it.since, now)) }
                },
            }
        }
    }
}

/// The beginning of the arguments.
fn brief(args: &str) -> Markup {
    html! { p.json { (said(&cut(args, ARGS_COLUMNS))) } }
}
