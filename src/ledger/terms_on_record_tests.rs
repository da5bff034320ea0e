//! Tests of the check of terms that records name.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::sync::Arc;

use recount_journal::seal::{KeyStore, MemoryKeyStore};
use recount_journal::{Append, Draft, Hash, Journal, MemoryJournal, Object, block_on};
use uuid::Uuid;

use super::*;
use crate::ledger::{Entry, import};
use crate::session::RULES_MIN;

const ID: SessionId = SessionId(Uuid::from_u128(38));

/// A session whose terms are the JSON texts `catalog` and `policies`.
struct Written {
    bodies: Vec<(&'static str, String)>,
    objects: Vec<Object>,
}

impl Written {
    fn attached(rules: u32, catalog: &str, policies: &str) -> Written {
        let objects: Vec<Object> = [catalog, policies]
            .map(|text| Object::new(text.as_bytes()))
            .into();
        let opened = r#"{"agent":"a","rules":1,"program":"t"}"#.to_owned();
        let (catalog, policies) = (objects[0].hash, objects[1].hash);
        let attached = format!(
            r#"{{"agent":"a","catalog":"{catalog}","policies":"{policies}","rules":{rules},"#
        ) + r#""program":"t","gates":{"enforced":true}}"#;
        let bodies = vec![("session_opened", opened), ("runner_attached", attached)];
        Written { bodies, objects }
    }

    /// A record of an unknown kind at the end.
    fn and(mut self, body: &str) -> Written {
        self.bodies.push(("model_pondered", body.to_owned()));
        self
    }

    fn ledger(self) -> Ledger {
        let journal = MemoryJournal::new();
        let (mut lines, mut prev) = (Vec::new(), Hash::ZERO);
        for ((kind, body), seq) in self.bodies.iter().zip(1..) {
            let draft = Draft {
                session: ID.0,
                seq,
                at_us: 0,
                kind,
                cause: None,
                actor: recount_journal::Actor::new("engine"),
                body,
                prev,
            };
            let line = draft.line();
            prev = line.leaf();
            lines.push(line);
        }
        let mut append = Append::new(ID.0, 0, lines);
        append.objects = self.objects;
        block_on(journal.append(append)).unwrap();
        Ledger::new(Arc::new(journal))
    }

    fn load(self) -> Result<(), Error> {
        block_on(self.ledger().load(ID)).map(drop)
    }

    /// Imports the records into a journal on the disk.
    fn import(self) -> Result<(), Error> {
        let ledger = self.ledger();
        let mut export = Vec::new();
        block_on(recount_journal::export(
            ledger.journal().as_ref(),
            None,
            &mut export,
        ))
        .unwrap();
        let dir = tempfile::tempdir().unwrap();
        import(&export[..], dir.path().join("journal"), None).map(drop)
    }
}

const CATALOG: &str = r#"{"tools":{"pay":{"description":"","name":"pay"}}}"#;
const POLICIES: &str = r#"{"tools":{"pay":{"confirm":{}}}}"#;
const MISSPELT: &str = r#"{"tools":{"pay":{"confirm":{},"quorun":2}}}"#;

/// The object and the field of an error.
fn unknown_field(told: Result<(), Error>) -> (ObjectHash, String) {
    match told {
        Err(Error::UnknownField {
            session: ID,
            seq: Seq(2),
            object,
            field,
        }) => (object, field),
        other => panic!("{other:?}"),
    }
}

#[test]
fn unknown_field_of_policies_is_refused_from_rules_2_on() {
    let expected = || {
        (
            ObjectHash::of(MISSPELT.as_bytes()),
            "/tools/pay/quorun".to_owned(),
        )
    };
    let misspelt = |rules| Written::attached(rules, CATALOG, MISSPELT);
    assert_eq!(unknown_field(misspelt(2).load()), expected());
    assert_eq!(unknown_field(misspelt(2).import()), expected());
    assert!(misspelt(RULES_MIN).load().is_ok());
    assert!(misspelt(RULES_MIN).import().is_ok());
    let known = |rules| Written::attached(rules, CATALOG, POLICIES);
    assert!(known(2).load().is_ok() && known(2).import().is_ok());
}

#[test]
fn unknown_field_of_a_catalog_is_refused_from_rules_2_on() {
    let misspelt = r#"{"tools":{"pay":{"description":"","knid":"client","name":"pay"}}}"#;
    let expected = || {
        (
            ObjectHash::of(misspelt.as_bytes()),
            "/tools/pay/knid".to_owned(),
        )
    };
    let written = |rules| Written::attached(rules, misspelt, POLICIES);
    assert_eq!(unknown_field(written(2).load()), expected());
    assert_eq!(unknown_field(written(2).import()), expected());
    assert!(written(RULES_MIN).load().is_ok());
}

#[test]
fn catalog_in_the_place_of_policies_is_refused() {
    let written = || Written::attached(2, CATALOG, CATALOG);
    let expected = || {
        (
            ObjectHash::of(CATALOG.as_bytes()),
            "/tools/pay/description".to_owned(),
        )
    };
    assert_eq!(unknown_field(written().load()), expected());
    assert_eq!(unknown_field(written().import()), expected());
    let none = || Written::attached(2, r#"{"tools":{"pay":{}}}"#, POLICIES);
    let missing = |told: Result<(), Error>| matches!(told, Err(Error::MissingObject { .. }));
    assert!(missing(none().load()) && missing(none().import()));
}

#[test]
fn explicit_default_is_no_unknown_field_under_rules_2() {
    let explicit = r#"{"acknowledges":false,"tools":{"pay":{"cache":null,"confirm":{}}}}"#;
    assert!(Written::attached(2, CATALOG, explicit).load().is_ok());
}

#[test]
fn session_of_newer_rules_is_not_imported() {
    let told = Written::attached(RULES + 1, CATALOG, POLICIES).import();
    assert!(
        matches!(told, Err(Error::NewerRules { seq: Seq(2), rules, .. }) if rules == RULES + 1),
        "{told:?}"
    );
}

#[test]
fn only_a_number_beyond_the_known_rules_is_newer() {
    let newer = [
        (r#"{"rules":3}"#, Some(3)),
        (r#"{"rules":99999999999}"#, Some(u32::MAX)),
        (r#"{"rules":2}"#, None),
        (r#"{"rules":null}"#, None),
        (r#"{"rules":["three"]}"#, None),
        (r#"{"body":{"rules":3}}"#, None),
        (r#"7"#, None),
    ];
    assert_eq!(RULES, 2);
    for (body, rules) in newer {
        assert_eq!(newer_rules_in(body), rules, "{body}");
    }
}

#[test]
fn unknown_kind_of_newer_rules_is_never_passed_over() {
    let skipping = |body: &str| {
        let written = Written::attached(RULES_MIN, CATALOG, POLICIES).and(body);
        let ledger = written
            .ledger()
            .unknown_kinds(crate::ledger::UnknownKinds::Skip);
        let entries = block_on(ledger.entries(ID, Seq(3), 1)).unwrap();
        let skipped = entries
            .first()
            .is_some_and(|it: &Entry| ledger.passes_over(it));
        (skipped, block_on(ledger.load(ID)).map(drop))
    };
    for body in [r#"{"about":"life"}"#, r#"{"rules":2}"#] {
        let (skipped, loaded) = skipping(body);
        assert!(skipped && loaded.is_ok(), "{body}");
    }
    let (skipped, loaded) = skipping(r#"{"rules":3}"#);
    assert!(!skipped);
    assert!(
        matches!(
            loaded,
            Err(Error::NewerRules {
                seq: Seq(3),
                rules: 3,
                ..
            })
        ),
        "{loaded:?}"
    );
}

#[test]
fn unknown_field_of_a_sealed_object_is_refused() {
    let keys = Arc::new(MemoryKeyStore::default());
    let key = block_on(keys.create_key(ID.0)).unwrap();
    let sealed = |policies: &str| {
        let mut written = Written::attached(2, CATALOG, POLICIES);
        let object = key.seal_object(policies.as_bytes()).unwrap();
        let attached = &mut written.bodies[1].1;
        *attached = attached.replace(
            &written.objects[1].hash.to_string(),
            &object.hash.to_string(),
        );
        written.objects[1] = object;
        let ledger = written.ledger();
        let mut export = Vec::new();
        let out = recount_journal::export(ledger.journal().as_ref(), None, &mut export);
        block_on(out).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let imported = import(&export[..], dir.path().join("journal"), Some(keys.as_ref()));
        let loaded = block_on(ledger.with_keys(keys.clone()).load(ID));
        (loaded.map(drop), imported.map(drop))
    };
    let (loaded, imported) = sealed(POLICIES);
    assert!(
        loaded.is_ok() && imported.is_ok(),
        "{loaded:?} {imported:?}"
    );
    let (loaded, imported) = sealed(MISSPELT);
    assert_eq!(unknown_field(loaded).1, "/tools/pay/quorun");
    assert_eq!(unknown_field(imported).1, "/tools/pay/quorun");
}
