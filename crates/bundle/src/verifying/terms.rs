//! The policies and contracts of a bundle.

use std::collections::BTreeSet;
use std::io;

use recount_journal::Hash;

use super::records::Records;
use super::source::Source;

/// True if the file has policies or contracts.
pub(super) fn is_one(name: &str) -> bool {
    name.starts_with("policies/") || name.starts_with("contracts/")
}

/// Checks that the files of policies and contracts are the objects that the shown records name.
pub(super) fn check(
    source: &mut Source,
    names: &[String],
    records: &Records,
) -> io::Result<Vec<String>> {
    let (mut findings, mut found) = (Vec::new(), BTreeSet::new());
    for name in names.iter().filter(|it| is_one(it)) {
        let hash = Hash::of_object(&source.read(name)?);
        let stem = name.rsplit('/').next().and_then(|it| it.split('.').next());
        if stem != Some(hash.to_string().as_str()) {
            findings.push(format!("{name}: its content has the hash {hash}"));
        }
        if !records.named.contains(&hash) {
            findings.push(format!("{name}: no record that is shown names it"));
        }
        found.insert(hash);
    }
    let missing = records.named.union(&records.objects);
    for hash in missing.filter(|it| !found.contains(it)) {
        findings.push(format!("the policies or contracts {hash} are missing"));
    }
    Ok(findings)
}
