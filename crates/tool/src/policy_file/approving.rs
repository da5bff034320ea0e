//! The keys of a policy file that say who may approve, and their values.

use std::collections::BTreeSet;

use recount_session::{Approvers, Person, QUORUM_MAX};
use serde_json::{Map, Value, json};

use super::keys::{FLAG, Key, Misread, count, names, or_false, unless_false};
use crate::typed::found::found;

/// The entries of `approvers`.
const ENTRIES: [&str; 3] = ["roles", "groups", "names"];

pub(super) const APPROVERS: Key = Key {
    name: "approvers",
    expected: "{ roles = [\"finance\"], groups = [], names = [\"os_user:ada\"] }, or false",
    about: "The people who may answer: the holders of a role, the members of a group, or persons, \
            each as issuer:name. One match suffices. false: every answer counts.",
    schema: approvers_schema,
    read: |value, to| {
        let read = unless_false(value, approvers)?;
        to.approvers = Some(read.into_iter().collect());
        Ok(())
    },
};

pub(super) const NOT_REQUESTER: Key = Key {
    name: "not_requester",
    expected: FLAG,
    about: "The requester of the call may not approve it.",
    schema: || json!({"type": "boolean"}),
    read: |value, to| {
        to.not_requester = Some(value.as_bool().ok_or(Misread::Other)?);
        Ok(())
    },
};

pub(super) const QUORUM: Key = Key {
    name: "quorum",
    expected: "a whole number from 1 to 16, or false",
    about: "The number of persons who must approve; automatic answers do not count. false: any one \
            answer decides.",
    schema: || or_false(json!({"type": "integer", "minimum": 1, "maximum": QUORUM_MAX})),
    read: |value, to| {
        let within = |it: &Value| match count(it)? {
            persons @ 1..=QUORUM_MAX => Ok(persons),
            _ => Err(Misread::Other),
        };
        to.quorum = Some(unless_false(value, within)?);
        Ok(())
    },
};

fn approvers_schema() -> Value {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let person = json!({
        "anyOf": [
            {"type": "string", "pattern": "^.+:.+$"},
            {
                "type": "object",
                "properties": {"issuer": {"type": "string"}, "subject": {"type": "string"}},
                "required": ["issuer", "subject"],
                "additionalProperties": false,
            },
        ],
    });
    or_false(json!({
        "type": "object",
        "properties": {
            "roles": texts,
            "groups": texts,
            "names": {"type": "array", "items": person},
        },
        "additionalProperties": false,
        "minProperties": 1,
    }))
}

fn approvers(value: &Value) -> Result<Approvers, Misread> {
    let table = value.as_object().ok_or(Misread::Other)?;
    if let Some(key) = table.keys().find(|it| !ENTRIES.contains(&it.as_str())) {
        let known = ENTRIES.join(", ");
        return Err(Misread::Because(format!(
            "expected the keys {known}, found {key:?}"
        )));
    }
    let texts = |key: &str| match table.get(key) {
        None => Ok(BTreeSet::new()),
        Some(list) => names(list).ok_or_else(|| {
            Misread::Because(format!("expected a list of {key}, found {}", found(list)))
        }),
    };
    let read = Approvers {
        roles: texts("roles")?,
        groups: texts("groups")?,
        names: persons(table)?,
    };
    if read.is_empty() {
        let why = "expected at least one role, group or name, found none, so no person may answer";
        return Err(Misread::Because(why.to_owned()));
    }
    if read.have_blank_entry() {
        let why = "expected roles, groups and names that are not blank, found a blank one";
        return Err(Misread::Because(why.to_owned()));
    }
    Ok(read)
}

fn persons(table: &Map<String, Value>) -> Result<BTreeSet<Person>, Misread> {
    let person = |it: &Value| match it {
        Value::String(text) => {
            let read = text.parse::<Person>();
            read.map_err(|bare| Misread::Because(bare.to_string()))
        }
        Value::Object(fields) if fields.len() == 2 => {
            serde_json::from_value(it.clone()).map_err(|error| {
                Misread::Because(format!("expected an issuer and a subject: {error}"))
            })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(Misread::Because(format!(
                "expected a name such as \"os_user:ada\", found {}",
                found(it)
            )))
        }
    };
    match table.get("names") {
        None => Ok(BTreeSet::new()),
        Some(Value::Array(list)) => list.iter().map(person).collect(),
        Some(other) => Err(Misread::Because(format!(
            "expected a list of names, found {}",
            found(other)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use recount_session::{Approvers, Person};
    use serde_json::{Value, json};

    use crate::policy_file::keys;

    fn read(entry: Value) -> Result<recount_session::ToolPolicyChanges, String> {
        let fields = entry.as_object().cloned().unwrap_or_default();
        let (changes, mistakes) = keys::read(&fields);
        match mistakes.into_iter().next() {
            None => Ok(changes),
            Some((key, why)) => Err(format!("{key}: {why}")),
        }
    }

    #[test]
    fn people_are_read_with_their_issuers() {
        let changes = read(json!({
            "approvers": {
                "roles": ["finance"],
                "names": ["os_user:ada", {"issuer": "https://a.example", "subject": "b:c"}],
            },
            "not_requester": true,
            "quorum": 2,
        }));
        let names = [
            Person::os_user("ada"),
            Person::of("https://a.example", "b:c"),
        ];
        let people = Approvers::roles(["finance"]).or(Approvers::names(names));
        let changes = changes.unwrap_or_default();
        assert_eq!(changes.approvers, Some([people].into()));
        assert_eq!(changes.not_requester, Some(true));
        assert_eq!(changes.quorum, Some(Some(2)));
    }

    #[test]
    fn false_removes_the_terms() {
        let changes = read(json!({"approvers": false, "not_requester": false, "quorum": false}));
        let changes = changes.unwrap_or_default();
        assert_eq!(changes.approvers, Some(BTreeSet::new()));
        assert_eq!(changes.not_requester, Some(false));
        assert_eq!(changes.quorum, Some(None));
    }

    #[test]
    fn invalid_people_and_numbers_are_mistakes() {
        for (entry, says) in [
            (json!({"approvers": {"names": ["ada"]}}), "found \"ada\""),
            (
                json!({"approvers": {"names": [{"subject": "ada"}]}}),
                "such as",
            ),
            (
                json!({"approvers": {"names": "os_user:ada"}}),
                "a list of names",
            ),
            (json!({"approvers": {"role": ["a"]}}), "found \"role\""),
            (json!({"approvers": {"roles": "a"}}), "a list of roles"),
            (json!({"approvers": {}}), "no person may answer"),
            (json!({"approvers": {"roles": ["a", ""]}}), "a blank one"),
            (json!({"approvers": {"groups": [" "]}}), "a blank one"),
            (
                json!({"approvers": {"names": [{"issuer": "", "subject": "ada"}]}}),
                "a blank one",
            ),
            (json!({"approvers": true}), "roles"),
            (json!({"not_requester": "yes"}), "true or false"),
            (json!({"quorum": 0}), "from 1 to 16"),
            (json!({"quorum": 17}), "from 1 to 16"),
            (json!({"quorum": -1}), "from 1 to 16"),
            (json!({"quorum": true}), "from 1 to 16"),
        ] {
            let read = read(entry.clone());
            assert!(
                read.as_ref().is_err_and(|it| it.contains(says)),
                "{entry}: {read:?}"
            );
        }
    }
}
