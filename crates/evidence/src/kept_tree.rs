//! The tree of a journal, kept in a folder beside its log, so that no one need read the whole log
//! for a root or a proof.
//!
//! The folder is a cache: everything in it follows from the log, and it may be removed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use recount_journal::tree::Frontier;
use recount_journal::{Commit, Error, FollowPlace, Hash, Journal};
use serde::{Deserialize, Serialize};

use crate::leaves::Leaves;

/// The bytes of a leaf.
const LEAF: u64 = 32;

/// The maximum length of a mark, in bytes.
const MARK_MAX: u64 = 64 << 10;

/// The bytes of leaves that wait in memory before they are written.
const WAITING: usize = 64 << 10;

/// The state of the tree after a commit, as `tree/mark` has it.
#[derive(Clone, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
struct Mark {
    /// The commit.
    place: FollowPlace,
    /// The number of leaves.
    size: u64,
    /// The roots of the full subtrees, the largest first.
    subtrees: Vec<Hash>,
}

/// The tree of a journal and its leaves in a file.
#[derive(Debug)]
pub struct KeptTree {
    /// The folder and the file of the leaves. `None` for a tree that is only in memory.
    files: Option<(PathBuf, File)>,
    waiting: Vec<u8>,
    tree: Frontier,
    place: FollowPlace,
}

impl KeptTree {
    /// Opens the folder `tree` of a journal, and creates it if there is none. A tree that is not
    /// that of the journal begins anew.
    ///
    /// # Errors
    /// [`Error::Io`]; the errors of reading the journal.
    pub async fn open(path: &Path, journal: &dyn Journal) -> Result<Self, Error> {
        let folder = path.join("tree");
        let name = folder.display().to_string();
        let kept = Self::read(folder).map_err(Error::io(format!("open {name}")))?;
        match kept.place.is_in(journal).await? {
            true => Ok(kept),
            false => kept.anew().map_err(Error::io(format!("write {name}"))),
        }
    }

    fn read(folder: PathBuf) -> io::Result<Self> {
        create(&folder)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(folder.join("leaves"))?;
        let mark = mark_in(&folder);
        let known = mark.filter(|mark| {
            let length = file.metadata().map_or(0, |it| it.len());
            mark.size.checked_mul(LEAF).is_some_and(|it| it <= length)
        });
        let mark = known.unwrap_or_default();
        let tree = Frontier::resume(mark.size, &mark.subtrees);
        let (tree, mark) = match tree {
            Some(tree) => (tree, mark),
            None => (Frontier::default(), Mark::default()),
        };
        // What follows the mark was not synced.
        file.set_len(mark.size * LEAF)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self {
            files: Some((folder, file)),
            waiting: Vec::new(),
            tree,
            place: mark.place,
        })
    }

    /// A tree that is nowhere kept, for a folder that cannot be written. It begins with the first
    /// record.
    pub fn in_memory() -> Self {
        Self {
            files: None,
            waiting: Vec::new(),
            tree: Frontier::default(),
            place: FollowPlace::default(),
        }
    }

    fn anew(mut self) -> io::Result<Self> {
        if let Some((_, file)) = &mut self.files {
            file.set_len(0)?;
            file.rewind()?;
        }
        self.waiting.clear();
        (self.tree, self.place) = (Frontier::default(), FollowPlace::default());
        Ok(self)
    }

    /// The tree up to the last taken commit.
    pub fn tree(&self) -> &Frontier {
        &self.tree
    }

    /// The position of the last taken commit.
    pub fn position(&self) -> u64 {
        self.place.position
    }

    /// Takes the records of the next commit.
    ///
    /// # Errors
    /// The leaves cannot be written.
    pub fn take(&mut self, commit: &Commit) -> io::Result<()> {
        for line in commit.appends.iter().flat_map(|(_, lines)| lines) {
            let leaf = line.leaf();
            self.tree.push(leaf);
            if self.files.is_some() {
                self.waiting.extend_from_slice(leaf.as_bytes());
            }
        }
        self.place = FollowPlace::after(commit);
        if self.waiting.len() >= WAITING {
            self.write()?;
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        if let Some((_, file)) = &mut self.files {
            file.write_all(&self.waiting)?;
        }
        self.waiting.clear();
        Ok(())
    }

    /// Syncs the leaves, and then the mark that says how many there are.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn save(&mut self) -> io::Result<()> {
        self.write()?;
        let Some((folder, file)) = &self.files else {
            return Ok(());
        };
        file.sync_data()?;
        let mark = Mark {
            place: self.place.clone(),
            size: self.tree.size(),
            subtrees: self.tree.subtrees().collect(),
        };
        let (mut draft, path) = recount_text::files::draft::beside(&folder.join("mark"))?;
        draft.write_all(&serde_json::to_vec(&mark)?)?;
        draft.sync_data()?;
        fs::rename(path, folder.join("mark"))
    }

    /// Reads all leaves of a journal, with those that are kept beside it if they are sound. It
    /// writes nothing.
    ///
    /// # Errors
    /// The errors of reading the journal.
    pub async fn leaves(path: &Path, journal: &dyn Journal) -> Result<Leaves, Error> {
        if let Some((mark, mut leaves)) = leaves_in(&path.join("tree"))
            && mark.place.is_in(journal).await?
        {
            leaves.read_after(journal, mark.place.position).await?;
            return Ok(leaves);
        }
        Leaves::of(journal).await
    }
}

/// Creates the folder, for this user alone, if there is none.
pub(crate) fn create(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn mark_in(folder: &Path) -> Option<Mark> {
    let mut text = Vec::new();
    let file = File::open(folder.join("mark")).ok()?;
    file.take(MARK_MAX).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// The leaves of a folder, if they have the root that its mark says.
fn leaves_in(folder: &Path) -> Option<(Mark, Leaves)> {
    let mark = mark_in(folder)?;
    let mut bytes = Vec::new();
    let file = File::open(folder.join("leaves")).ok()?;
    let length = mark.size.checked_mul(LEAF)?;
    file.take(length).read_to_end(&mut bytes).ok()?;
    let leaves = bytes.as_chunks::<32>().0.iter();
    let leaves: Leaves = leaves.map(|it| Hash::from_bytes(*it)).collect();
    let tree = Frontier::resume(mark.size, &mark.subtrees)?;
    (leaves.root_at(mark.size)? == tree.root()).then_some((mark, leaves))
}
