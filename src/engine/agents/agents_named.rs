//! Checks of the tools that agents name: they exist, and agents form no cycle.

use std::collections::{BTreeMap, VecDeque};

use crate::session::Catalog;

/// Returns the mistakes in the tools that agents may call.
pub(in crate::engine) fn mistakes(catalog: &Catalog) -> Vec<String> {
    let mut mistakes = Vec::new();
    for tool in catalog.tools.values() {
        let agent = &tool.name;
        for name in tools_of(catalog, agent) {
            let what = match catalog.tools.get(name) {
                None => "is not there",
                Some(named) if named.server_side.is_some() => "is run by the service",
                Some(_) => continue,
            };
            mistakes.push(format!(
                "the agent {agent:?} may call {name:?}, which {what}"
            ));
        }
        if let Some(circle) = circle_from(catalog, agent) {
            mistakes.push(format!(
                "agents may not call each other in a circle, which nothing would end: {circle}"
            ));
        }
    }
    mistakes
}

fn tools_of<'c>(catalog: &'c Catalog, agent: &str) -> impl Iterator<Item = &'c str> {
    let agent = catalog.tools.get(agent).and_then(|it| it.agent.as_ref());
    let tools = agent.into_iter().flat_map(|it| &it.tools);
    tools.map(String::as_str)
}

/// Returns the shortest cycle whose first agent by name is `first`, so that each cycle is reported
/// once.
fn circle_from<'c>(catalog: &'c Catalog, first: &'c str) -> Option<String> {
    let mut called_by: BTreeMap<&str, &str> = BTreeMap::new();
    let mut open = VecDeque::from([first]);
    while let Some(agent) = open.pop_front() {
        for named in tools_of(catalog, agent) {
            if named == first {
                let mut circle = vec![first];
                let mut before = agent;
                while before != first {
                    circle.push(before);
                    before = called_by.get(before)?;
                }
                circle.push(first);
                let named = circle.iter().rev().map(|it| format!("{it:?}"));
                return Some(named.collect::<Vec<_>>().join(" calls "));
            }
            if named > first && !called_by.contains_key(named) {
                called_by.insert(named, agent);
                open.push_back(named);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::toolbox;

    #[test]
    fn each_cycle_of_agents_is_reported_once() {
        let tools = toolbox()
            .plain("look")
            .agent("a", ["b", "look"])
            .agent("b", ["c", "look"])
            .agent("c", ["b", "look"])
            .agent("narcissus", ["narcissus"])
            .agent("z", ["a", "c"]);
        let told = mistakes(tools.catalog());
        let circle = "agents may not call each other in a circle, which nothing would end: ";
        let expected = [
            r#""b" calls "c" calls "b""#,
            r#""narcissus" calls "narcissus""#,
        ];
        assert_eq!(told, expected.map(|it| format!("{circle}{it}")));
        let tree = toolbox().agent("a", ["b", "c"]).agent("b", ["c"]);
        assert!(mistakes(tree.agent("c", []).catalog()).is_empty());
    }
}
