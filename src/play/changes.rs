//! Changes of the session's tools, performed again with the recorded tools.

use super::driver::Driver;
use super::tools;
use crate::fixture::ToolsChanged;
use crate::tool::ToolChanges;

impl Driver<'_> {
    /// Changes the tools of the session to the recorded ones.
    ///
    /// The tools of the program that plays are not known to belong to the change, so the recorded
    /// tools take part also in a play with an agent of its own.
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
