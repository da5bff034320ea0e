//! Actions of a program that drives a session: its handle, and changes of the session's tools.

use super::driver::Driver;
use super::error::Error;
use super::relayed::is_relayed;
use super::tools;
use crate::fixture::ToolsChanged;
use crate::tool::ToolChanges;

/// The number of milliseconds of virtual time in which a session without a connection opens.
const OPENS_WITHIN_MS: usize = 50;

impl Driver<'_> {
    /// Waits for the handle of a program that does not connect. In a later process, the program
    /// takes up the session.
    pub(super) async fn hold_unconnected(&mut self) -> Result<(), Error> {
        if self.live.is_some() || self.asked_to_connect {
            return Ok(());
        }
        if self.handle_task.is_none()
            && let Some(engine) = self.serving.engine().cloned()
        {
            let session = self.session();
            let relayed = is_relayed(self.fixture);
            let reopening = async move {
                let live = engine.reopen(session).await?;
                Ok(if relayed { live.releasing() } else { live })
            };
            self.handle_task = Some(tokio::spawn(reopening));
        }
        for _ in 0..OPENS_WITHIN_MS {
            if self.handle_task.is_none() {
                break;
            }
            self.settle().await?;
        }
        Ok(())
    }

    /// Changes the tools of the session to the recorded ones.
    ///
    /// The recorded tools take part also in a play with an agent of its own. Nothing shows which of
    /// the agent's tools belong to the change.
    pub(super) fn change_tools(&mut self, it: &ToolsChanged) {
        if self.fixture.real_tools {
            return self.undone("other tools cannot be played with real ones".to_owned());
        }
        let tools = tools::on_record(&it.catalog, &it.policies, &self.prompter);
        let gone = std::mem::take(&mut self.declared);
        let gone = gone
            .into_iter()
            .filter(|name| it.catalog.get(name).is_none());
        let changes = gone.fold(ToolChanges::new().with(tools), ToolChanges::without);
        self.declared = it.catalog.tools.keys().cloned().collect();
        let policies = it.policies.clone();
        self.with_handle("other tools", move |live| async move {
            live.change_tools_on_record(changes, policies).await
        });
    }
}
