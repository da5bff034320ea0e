//! The Unix socket of a trusted reverse proxy, which no other user can open.

use std::path::Path;

use crate::config::{Mistake, ProxySettings};
use crate::failures::Failure;

#[cfg(unix)]
pub(in crate::serve) use unix::{ProxySocket, mistake};

/// Without Unix sockets there is none; the configuration says so before.
#[cfg(not(unix))]
pub(in crate::serve) enum ProxySocket {}

#[cfg(not(unix))]
impl ProxySocket {
    pub(in crate::serve) fn bind(settings: &ProxySettings) -> Result<ProxySocket, Failure> {
        Err(failed(
            &settings.socket.value,
            "this system has no Unix sockets",
        ))
    }
}

/// The reader of the settings has refused the proxy.
#[cfg(not(unix))]
pub(in crate::serve) fn mistake(_: &ProxySettings) -> Option<Mistake> {
    None
}

fn failed(path: &Path, what: impl std::fmt::Display) -> Failure {
    let path = recount_telling::shown(path);
    Failure::new("listen", format!("failed to listen on {path}: {what}"))
        .advice("give another path with socket in [access.proxy]")
}

#[cfg(unix)]
mod unix {
    use std::fs::{self, DirBuilder, Permissions};
    use std::io::{self, ErrorKind};
    use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
    use std::os::unix::net::{SocketAddr, UnixStream as BlockingStream};
    use std::path::PathBuf;

    use tokio::net::{UnixListener, UnixStream};

    use super::{Failure, Mistake, Path, ProxySettings, failed};

    /// The permissions of the socket unless the settings have others: those of its user.
    const MODE: u32 = 0o600;

    /// The name of the socket in the directory in which it is bound.
    const INSIDE: &str = "s";

    /// The mistake of a path at which there is no socket.
    const OTHER_KIND: &str = "it is another kind of file";

    /// A socket that is bound to a path. Its file is removed at the end.
    pub(in crate::serve) struct ProxySocket {
        listener: UnixListener,
        path: PathBuf,
        /// The device and the number of the file.
        file: (u64, u64),
    }

    impl ProxySocket {
        /// Binds the socket. A socket on which no process listens any more is replaced.
        pub(in crate::serve) fn bind(settings: &ProxySettings) -> Result<ProxySocket, Failure> {
            let path = &settings.socket.value;
            expect_vacant(path)?;
            let mode = settings.socket_mode.as_ref().map_or(MODE, |it| it.value);
            let bound = bind_privately(path, mode).and_then(|listener| {
                let facts = path.symlink_metadata()?;
                Ok((listener, (facts.dev(), facts.ino())))
            });
            let (listener, file) = bound.map_err(|error| failed(path, error))?;
            Ok(ProxySocket {
                listener,
                path: path.clone(),
                file,
            })
        }

        pub(in crate::serve) async fn accept(&self) -> io::Result<UnixStream> {
            self.listener.accept().await.map(|(stream, _)| stream)
        }
    }

    impl Drop for ProxySocket {
        fn drop(&mut self) {
            let facts = self.path.symlink_metadata();
            // A later service may have its socket there.
            if facts.is_ok_and(|it| (it.dev(), it.ino()) == self.file) {
                // A file that remains is replaced with the next start.
                let _ = fs::remove_file(&self.path);
            }
        }
    }

    /// The reason why no socket can be bound to the path of the settings, without binding one.
    pub(in crate::serve) fn mistake(settings: &ProxySettings) -> Option<Mistake> {
        let path = &settings.socket.value;
        let directory = directory_of(path);
        if !directory.is_dir() {
            let what = format!("there is no directory {}", directory.display());
            return Some(settings.socket.mistake(what));
        }
        // The socket is bound to the longer of these, and moved.
        let draft = draft_in(directory, 0).join(INSIDE);
        let too_long = [path, &draft]
            .into_iter()
            .find_map(|it| SocketAddr::from_pathname(it).err().map(|error| (it, error)));
        if let Some((path, error)) = too_long {
            let what = format!("{} cannot be a socket: {error}", path.display());
            return Some(settings.socket.mistake(what));
        }
        let facts = path.symlink_metadata();
        let is_other = facts.is_ok_and(|it| !it.file_type().is_socket());
        is_other.then(|| settings.socket.mistake(OTHER_KIND))
    }

    /// The directory of a path.
    fn directory_of(path: &Path) -> &Path {
        match path.parent() {
            Some(directory) if !directory.as_os_str().is_empty() => directory,
            Some(_) | None => Path::new("."),
        }
    }

    /// A directory in which a socket is bound before it is moved to its path.
    fn draft_in(directory: &Path, number: u32) -> PathBuf {
        directory.join(format!(".recount-{number:08x}"))
    }

    /// Refuses a path at which another process listens, or at which there is no socket.
    fn expect_vacant(path: &Path) -> Result<(), Failure> {
        let facts = match path.symlink_metadata() {
            Ok(facts) => facts,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(path, error)),
        };
        if !facts.file_type().is_socket() {
            return Err(failed(path, OTHER_KIND));
        }
        match BlockingStream::connect(path) {
            Ok(_) => Err(failed(path, "another process already listens there")),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
            Err(error) => Err(failed(path, error)),
        }
    }

    /// Binds a socket in a directory that no other user can enter, and moves it to its path once it
    /// has its permissions.
    fn bind_privately(path: &Path, mode: u32) -> io::Result<UnixListener> {
        let directory = private_directory(directory_of(path))?;
        let inside = directory.join(INSIDE);
        let bound = UnixListener::bind(&inside).and_then(|listener| {
            fs::set_permissions(&inside, Permissions::from_mode(mode))?;
            fs::rename(&inside, path)?;
            Ok(listener)
        });
        if bound.is_err() {
            // It may not have been created.
            let _ = fs::remove_file(&inside);
        }
        fs::remove_dir(&directory)?;
        bound
    }
    /// Creates a directory with a random name. That of a killed service stays there.
    fn private_directory(parent: &Path) -> io::Result<PathBuf> {
        loop {
            let mut random = [0; 4];
            let filled = getrandom::fill(&mut random);
            filled.map_err(|error| io::Error::other(error.to_string()))?;
            let directory = draft_in(parent, u32::from_ne_bytes(random));
            match DirBuilder::new().mode(0o700).create(&directory) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => return created.map(|()| directory),
            }
        }
    }
}
