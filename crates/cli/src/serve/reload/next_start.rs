//! The changed settings that a running service does not take anew.

use crate::config::Settings;

#[derive(Default)]
struct Changes {
    lines: Vec<String>,
}

impl Changes {
    fn unless(&mut self, is_same: bool, key: &str) {
        if !is_same {
            self.lines
                .push(format!("{key}: the change is read with the next start"));
        }
    }
}

/// Lists the settings that differ from those of the start and need another one. Those that a reload
/// takes or reports by itself are not among them: policies, tokens, JWTs, the certificate, sinks.
pub(super) fn changed(started: &Settings, now: &Settings) -> Vec<String> {
    let mut it = Changes::default();
    let (access, newer) = (&started.access, &now.access);
    it.unless(started.listen == now.listen, "listen");
    it.unless(started.journal == now.journal, "journal");
    it.unless(started.postgres == now.postgres, "postgres");
    it.unless(started.keys == now.keys, "keys");
    it.unless(access.proxy == newer.proxy, "access.proxy");
    it.unless(
        access.behind_proxy == newer.behind_proxy,
        "access.behind_proxy",
    );
    it.unless(access.public_url == newer.public_url, "access.public_url");
    it.unless(started.limits == now.limits, "limits");
    it.unless(started.traces == now.traces, "traces");
    it.unless(started.reads == now.reads, "reads");
    let same = match (&started.gateway, &now.gateway) {
        (Some(started), Some(now)) => started.equals_but_for_certificate(now),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    it.unless(same, "gateway");
    for (name, agent) in &started.agents {
        match now.agents.get(name) {
            Some(newer) => it.unless(
                agent.equals_but_for_policies(newer),
                &format!("agents.{name}, but for its policies"),
            ),
            None => it.lines.push(format!(
                "agents.{name}: the agent is removed with the next start"
            )),
        }
    }
    for name in now
        .agents
        .keys()
        .filter(|name| !started.agents.contains_key(*name))
    {
        it.lines.push(format!(
            "agents.{name}: the agent is added with the next start"
        ));
    }
    it.lines
}
