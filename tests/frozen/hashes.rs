//! The stored bytes of policy sets and catalogs, and every hash that names or binds one.
//!
//! Examples are written in their stored form, so they do not depend on the shape of the types.

use std::fmt::Write as _;

use recount::session::catalog::{contract_hash, declaration_hash};
use recount::session::{Catalog, ObjectHash, PolicySet, ToolDeclaration, ToolPolicy};

use crate::pinned::assert_pinned;

/// A policy set with every member.
const POLICIES: &str = r#"{
"tools": {
  "pay": {
    "timeout_ms": 10000,
    "cache": {"max_age_ms": 60000},
    "confirm": {
      "hint": "Pay this?", "expires_after_ms": 600000,
      "when": {"or": [{"compares": ["args:cents", ">", 1000]}, {"not": {"exists": "vip"}}]},
      "asks_program": true,
      "payload": {"type": "object", "required": ["ticket"]},
      "edits": "approved_anew", "keeps_reason": true
    },
    "acknowledgement": {"say": "A colleague decides; go on."},
    "repeats": "pending_ticket",
    "in_doubt": "retry",
    "withdraw_on_cancel": true,
    "interim_status": true,
    "progress": "told",
    "background": {"scheduling": "INTERRUPT"},
    "retry": {"attempts_max": 3, "backoff_ms": 200},
    "limits": {"per_session": 10, "per_minute": 3},
    "phases": ["settle", "negotiate"],
    "when": {"and": [{"is_true": "verified"}, {"equals": ["plan", "monthly"]}]}
  },
  "ship": {"cache": {}, "confirm": {"edits": "allowed"}, "in_doubt": "ask"}
},
"running_max": 4,
"calls_per_message_max": 128,
"open_calls_max": 1000,
"timeout_ms": 30000,
"response": "envelope",
"acknowledges": true,
"on_settled": "connect",
"hooks": {"on_tool_call": true, "before_tool_response": true},
"phases": [
  {"name": "negotiate", "instruction": "Agree on a plan.", "tools": ["pay"],
   "transitions": [{"to": "settle", "when": {"is_true": "agreed"}}]},
  {"name": "settle"}
]}"#;

/// A catalog with every member.
const CATALOG: &str = r#"{"tools": {
"pay": {
  "name": "pay", "description": "Pays, in \"cents\"",
  "parameters": {
    "title": "Pay", "type": "object", "description": "The order",
    "properties": {"cents": {"type": "integer", "description": "How much", "default": 1,
      "examples": [4200], "minimum": 9007199254740993}, "to": {"type": "string", "$comment": "x"}},
    "required": ["cents"]
  },
  "behavior": "non_blocking", "kind": "long_running",
  "secret": ["/card/number"], "category": "action",
  "definition": {"server": "bank", "tool": {"name": "pay"}},
  "implementation": {"program": "./pay.sh", "files": {"./pay.sh": "9f86d0"}},
  "inner": true
},
"clerk": {"name": "clerk", "description": "", "kind": "agent", "agent": {"tools": ["pay", "look"]}},
"search": {"name": "search", "description": "", "kind": "server_side",
  "server_side": {"googleSearch": {}}},
"look": {"name": "look", "description": "", "kind": "streaming", "behavior": "blocking"},
"hear": {"name": "hear", "description": "", "kind": "input_streaming"},
"plain": {"name": "plain", "description": ""}
}}"#;

fn object(text: &mut String, name: &str, bytes: &[u8]) {
    let shown = String::from_utf8_lossy(bytes);
    let hash = ObjectHash::of(bytes);
    writeln!(text, "{name} {hash}\n{shown}").unwrap();
}

#[test]
fn policy_sets_are_stored_and_named_as_they_were() {
    let mut text = String::new();
    let rich = PolicySet::from_bytes(POLICIES.as_bytes()).unwrap();
    for (name, set) in [("rich", rich), ("minimal", PolicySet::default())] {
        assert_eq!(set.hash(), ObjectHash::of(&set.to_bytes()));
        object(&mut text, name, &set.to_bytes());
    }
    assert_pinned("policy_sets.txt", &text);
}

#[test]
fn catalogs_are_stored_and_named_as_they_were() {
    let mut text = String::new();
    let rich = Catalog::from_bytes(CATALOG.as_bytes()).unwrap();
    for (name, catalog) in [("rich", rich), ("minimal", Catalog::default())] {
        assert_eq!(catalog.hash(), ObjectHash::of(&catalog.to_bytes()));
        object(&mut text, name, &catalog.to_bytes());
    }
    assert_pinned("catalogs.txt", &text);
}

/// Every tool under every policy, and variants of each with one member left out.
#[test]
fn contracts_and_declarations_are_named_as_they_were() {
    let catalog = Catalog::from_bytes(CATALOG.as_bytes()).unwrap();
    let set = PolicySet::from_bytes(POLICIES.as_bytes()).unwrap();
    let mut text = String::new();
    let mut line = |name: &str, tool: &ToolDeclaration, policy: &ToolPolicy| {
        let (contract, declaration) = (contract_hash(tool, policy), declaration_hash(tool, policy));
        writeln!(text, "{name}\n  {contract} {declaration}").unwrap();
    };
    for tool in catalog.tools.values() {
        for policy in ["pay", "ship", "none"] {
            let name = format!("{} under the policy of {policy}", tool.name);
            line(&name, tool, set.of(policy));
        }
    }
    let (pay, policy) = (catalog.get("pay").unwrap(), set.of("pay"));
    for (field, tool) in without_each(pay) {
        line(&format!("pay without {field}"), &tool, policy);
    }
    for (field, policy) in without_each(policy) {
        line(
            &format!("pay under its policy without {field}"),
            pay,
            &policy,
        );
    }
    assert_pinned("contracts.txt", &text);
}

/// The value without each optional member of its stored form in turn.
///
/// Members of the value itself are left out, and those of its gate.
fn without_each<T>(value: &T) -> Vec<(String, T)>
where
    T: serde::Serialize + serde::de::DeserializeOwned,
{
    let stored = serde_json::to_value(value).unwrap();
    let mut paths = Vec::new();
    for (key, inner) in stored.as_object().unwrap() {
        paths.push(vec![key.as_str()]);
        let gate = inner.as_object().filter(|_| key == "confirm");
        let inner = gate.into_iter().flatten();
        paths.extend(inner.map(|(field, _)| vec![key.as_str(), field]));
    }
    let without = |path: &Vec<&str>| {
        let mut left = stored.clone();
        let (last, parents) = path.split_last()?;
        let parent = parents
            .iter()
            .try_fold(&mut left, |it, key| it.get_mut(*key))?;
        parent.as_object_mut()?.remove(*last);
        Some((path.join("."), serde_json::from_value(left).ok()?))
    };
    paths.iter().filter_map(without).collect()
}
