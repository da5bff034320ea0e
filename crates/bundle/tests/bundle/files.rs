//! The files of a bundle in memory, to injure them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use recount_journal::Hash;

pub(crate) const MANIFEST: &str = "MANIFEST.sha256";
pub(crate) const RECORDS: &str = "records.jsonl";

#[derive(Clone)]
pub(crate) struct Files(pub(crate) BTreeMap<String, Vec<u8>>);

impl Files {
    pub(crate) fn read(folder: &Path) -> Files {
        let mut files = Files(BTreeMap::new());
        files.add(folder, "");
        files
    }

    fn add(&mut self, folder: &Path, prefix: &str) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
            if path.is_dir() {
                self.add(&path, &format!("{name}/"));
            } else {
                self.0.insert(name, fs::read(&path).unwrap());
            }
        }
    }

    pub(crate) fn write(&self, folder: &Path) {
        for (name, content) in &self.0 {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

    pub(crate) fn lines(&self) -> Vec<Vec<u8>> {
        let lines = self.0[RECORDS].split_inclusive(|it| *it == b'\n');
        lines.map(<[u8]>::to_vec).collect()
    }

    pub(crate) fn put_lines(&mut self, lines: &[Vec<u8>]) {
        self.0.insert(RECORDS.to_owned(), lines.concat());
    }

    /// The names that begin with `prefix`.
    pub(crate) fn names(&self, prefix: &str) -> Vec<String> {
        let names = self.0.keys().filter(|it| it.starts_with(prefix));
        names.cloned().collect()
    }

    /// Makes the manifest anew, as a forger does.
    pub(crate) fn list(&mut self) {
        self.0.remove(MANIFEST);
        let line = |(name, content): (&String, &Vec<u8>)| {
            format!("{}  {name}\n", Hash::of_object(content))
        };
        let manifest: String = self.0.iter().map(line).collect();
        self.0.insert(MANIFEST.to_owned(), manifest.into_bytes());
    }
}
