//! The warning about gated tools that run without approval.

use crate::session::Gates;
use crate::session::policy::PolicySet;

/// Returns the gates of an agent whose calls cannot wait for an approver. A program that declares
/// gates expects them to hold, so the log warns.
pub(super) fn unanswerable(agent: &str, policies: &PolicySet) -> Gates {
    let gated = policies.tools.iter().filter(|(_, policy)| policy.confirm);
    let gated: Vec<&str> = gated.map(|(name, _)| name.as_str()).collect();
    if !gated.is_empty() {
        let tools = gated.join(", ");
        tracing::warn!(
            agent,
            tools,
            "gated tools run WITHOUT being approved: no durable journal and no \
             confirmation provider; give one of them, or say .strict()"
        );
    }
    Gates::waived("no durable journal and no confirmation provider")
}

#[cfg(all(test, feature = "programs"))]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;
    use crate::session::policy::ToolPolicy;

    #[test]
    fn warning_names_agent_and_gated_tools() {
        let written = tempfile::NamedTempFile::new().unwrap();
        let writer = written.reopen().unwrap();
        let subscriber = tracing_subscriber::fmt().with_writer(writer);
        let gated = PolicySet {
            tools: [
                ("pay".to_owned(), ToolPolicy::gate("Pay?")),
                ("look".to_owned(), ToolPolicy::default()),
            ]
            .into(),
            ..PolicySet::default()
        };
        tracing::subscriber::with_default(subscriber.finish(), || {
            unanswerable("quiet", &PolicySet::default());
            unanswerable("shop", &gated);
        });
        let told = std::fs::read_to_string(written.path()).unwrap();
        assert_eq!(told.lines().count(), 1, "{told}");
        for words in ["WARN", "shop", "pay", "WITHOUT being approved"] {
            assert!(told.contains(words), "{told}");
        }
        assert!(!told.contains("look"), "{told}");
    }
}
