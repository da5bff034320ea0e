//! The calls that wait, grouped by session, the group that expires first at the top.

use std::collections::BTreeMap;

use recount::control::Waiting;
use recount::ledger::{ListedPause, PendingConfirmation};
use recount::session::{Seq, SessionId, Timestamp};

use crate::access::Role;
use crate::problems::Problem;
use crate::routes::{Caller, Selection, every};

/// The maximum number of open items that one page sorts. Beyond, the newest sessions are left out.
pub(super) const OPEN_MAX: usize = 5_000;

/// The number of groups in a page.
pub(super) const GROUPS: usize = 50;

/// A call that waits.
pub(super) struct Item {
    pub(super) waiting: Waiting,
    /// True if the person may answer it.
    pub(super) is_mine: bool,
    /// True if a pause holds the call.
    pub(super) is_held: bool,
}

/// The calls of one session that wait.
pub(super) struct Group {
    pub(super) session: SessionId,
    pub(super) items: Vec<Item>,
    /// The first expiry among them, and the time since which the first one waits.
    order: (Timestamp, Timestamp),
}

impl Item {
    /// The session and the call.
    pub(super) fn place(&self) -> (SessionId, Seq) {
        match &self.waiting {
            Waiting::Confirmation(it) => (it.session, it.call),
            Waiting::Paused(it) => (it.session, it.call),
        }
    }

    pub(super) fn tool(&self) -> &str {
        match &self.waiting {
            Waiting::Confirmation(it) => &it.tool,
            Waiting::Paused(it) => &it.tool,
        }
    }

    pub(super) fn agent(&self) -> &str {
        match &self.waiting {
            Waiting::Confirmation(it) => &it.agent,
            Waiting::Paused(it) => &it.agent,
        }
    }

    /// The labels of the session.
    pub(super) fn labels(&self) -> &BTreeMap<String, String> {
        match &self.waiting {
            Waiting::Confirmation(it) => &it.labels,
            Waiting::Paused(it) => &it.labels,
        }
    }

    pub(super) fn external_id(&self) -> Option<&str> {
        match &self.waiting {
            Waiting::Confirmation(it) => it.external_id.as_deref(),
            Waiting::Paused(it) => it.external_id.as_deref(),
        }
    }

    /// The time since which the call waits.
    pub(super) fn since(&self) -> Timestamp {
        match &self.waiting {
            Waiting::Confirmation(it) => it.requested_at,
            Waiting::Paused(it) => it.since,
        }
    }

    /// The time at which a missing answer counts as a no. The end of time without one.
    fn expires(&self) -> Timestamp {
        match &self.waiting {
            Waiting::Confirmation(it) => it.expires_at.unwrap_or(Timestamp(i64::MAX)),
            Waiting::Paused(_) => Timestamp(i64::MAX),
        }
    }
}

/// True if an answer to the request still counts.
pub(crate) fn is_open(it: &PendingConfirmation, now: Timestamp) -> bool {
    it.expires_at.is_none_or(|at| now < at)
}

/// True if the caller may say yes to the request, and has not done so yet.
///
/// The engine decides. This is the same check beforehand, so that the page offers no answer that
/// would be refused.
pub(crate) fn is_mine(caller: &Caller, it: &PendingConfirmation) -> bool {
    let role = match it.sealed {
        true => caller.principal.role_over_everything(),
        false => caller.principal.role_in(&it.agent, &it.labels),
    };
    if role < Some(Role::Approver) {
        return false;
    }
    let Some(needs) = &it.needs else { return true };
    let actor = caller.actor();
    let Ok(person) = needs.admit(&actor, false) else {
        return false;
    };
    let mut given = it.approvals.iter();
    !given.any(|it| it.by.person().as_ref() == Some(&person))
}

/// Returns what waits in the selected sessions, and true if there is more than one page can sort.
pub(super) async fn all(
    caller: &Caller,
    selection: &Selection,
) -> Result<(Vec<Item>, bool), Problem> {
    let (waiting, more) = every(caller, selection, OPEN_MAX).await?;
    let pauses = caller.ledger().pauses().await?;
    let items = waiting.into_iter().map(|waiting| {
        let is_mine = match &waiting {
            Waiting::Confirmation(it) => is_mine(caller, it),
            Waiting::Paused(it) => {
                caller.principal.role_in(&it.agent, &it.labels) >= Some(Role::Operator)
            }
        };
        let is_held = is_held(&waiting, &pauses);
        Item {
            waiting,
            is_mine,
            is_held,
        }
    });
    Ok((items.collect(), more))
}

/// True if one of the pauses holds the call. A call that waits for its result has started.
fn is_held(waiting: &Waiting, pauses: &[ListedPause]) -> bool {
    match waiting {
        Waiting::Confirmation(it) => pauses
            .iter()
            .any(|pause| pause.holds(it.session, &it.agent, Some(&it.tool))),
        Waiting::Paused(_) => false,
    }
}

/// Groups the items by session. The first group has the request that expires first; groups without
/// an expiry follow, the longest wait first.
pub(super) fn grouped(items: Vec<Item>) -> Vec<Group> {
    let mut groups: BTreeMap<SessionId, Vec<Item>> = BTreeMap::new();
    for item in items {
        groups.entry(item.place().0).or_default().push(item);
    }
    let groups = groups.into_iter().map(|(session, mut items)| {
        items.sort_by_key(|it| (it.expires(), it.since(), it.place()));
        let expires = items.iter().map(Item::expires).min();
        let since = items.iter().map(Item::since).min();
        let never = Timestamp(i64::MAX);
        Group {
            session,
            items,
            order: (expires.unwrap_or(never), since.unwrap_or(never)),
        }
    });
    let mut groups: Vec<Group> = groups.collect();
    groups.sort_by_key(Group::key);
    groups
}

impl Group {
    /// The place of the group in the inbox.
    pub(super) fn key(&self) -> (Timestamp, Timestamp, SessionId) {
        (self.order.0, self.order.1, self.session)
    }
}

/// Returns one page of the groups after a place, and the place of the last one if more follow.
///
/// The place of a group moves with its requests, so an answer between two pages skips no group
/// that waits as before.
pub(super) fn page(
    groups: Vec<Group>,
    after: Option<(Timestamp, Timestamp, SessionId)>,
) -> (Vec<Group>, Option<(Timestamp, Timestamp, SessionId)>) {
    let mut rest = groups.into_iter();
    let mut groups: Vec<Group> = rest
        .by_ref()
        .filter(|it| after.is_none_or(|after| after < it.key()))
        .take(GROUPS + 1)
        .collect();
    let more = groups.len() > GROUPS;
    groups.truncate(GROUPS);
    let last = groups.last().filter(|_| more).map(Group::key);
    (groups, last)
}
