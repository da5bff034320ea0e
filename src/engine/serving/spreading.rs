//! The spread of sessions over the processes that could adopt them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use recount_journal::{Error, Sharing};
use tokio::time::{Instant, timeout};

use crate::engine::agents::prepared::Prepared;
use crate::session::SessionId;

/// The time for which a session is left to the process that has more room for it. That one may have
/// neither its agent nor its key, or hang.
const LEFT_FOR: Duration = Duration::from_millis(250);

/// The sessions of this look and of the one before that were left to other processes, since when.
#[derive(Default)]
pub(super) struct LeftToOthers {
    before: HashMap<SessionId, Instant>,
    now: HashMap<SessionId, Instant>,
}

impl LeftToOthers {
    /// Waits until there is news of other processes, or until a session was left for long enough.
    pub(super) async fn news(&self, sharing: &dyn Sharing, seen: u64) -> u64 {
        let news = sharing.changed(seen);
        if self.now.is_empty() {
            return news.await;
        }
        timeout(LEFT_FOR, news).await.unwrap_or(seen)
    }

    /// Begins a look from the first session on.
    pub(super) fn begin_look(&mut self) {
        self.before = std::mem::take(&mut self.now);
    }

    /// Leaves sessions out that another process should adopt, unless it had time to.
    pub(super) async fn leave_out(
        &mut self,
        sharing: &dyn Sharing,
        found: Vec<(SessionId, Arc<Prepared>)>,
    ) -> Result<Vec<(SessionId, Arc<Prepared>)>, Error> {
        let now = Instant::now();
        let new = found.iter().map(|(session, _)| *session);
        let new = new.filter(|session| !self.before.contains_key(session));
        let new: Vec<_> = new.map(|session| session.0).collect();
        let share = match new.is_empty() {
            true => Vec::new(),
            false => sharing.share(new).await?,
        };
        let (mut taken, is_own) = (Vec::new(), |it: &SessionId| share.contains(&it.0));
        for (session, agent) in found {
            let since = self.before.get(&session).copied();
            let is_due = since.is_some_and(|it| now.duration_since(it) >= LEFT_FOR);
            if is_due || (since.is_none() && is_own(&session)) {
                taken.push((session, agent));
            } else {
                self.now.insert(session, since.unwrap_or(now));
            }
        }
        Ok(taken)
    }
}
