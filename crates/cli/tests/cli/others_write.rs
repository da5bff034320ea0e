//! The address of a service is not used if another user may have written it.

#![cfg(unix)]

use std::fs::{self, Permissions};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use recount_journal::DiskJournal;

use crate::program::Bench;

/// A fake service that counts connections and closes them.
struct Impostor {
    address: SocketAddr,
    knocks: Arc<AtomicUsize>,
}

impl Impostor {
    fn listens() -> Impostor {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let knocks = Arc::<AtomicUsize>::default();
        let counted = knocks.clone();
        std::thread::spawn(move || {
            for _knock in listener.incoming() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        Impostor { address, knocks }
    }

    /// Writes its address into a journal, as a service does.
    fn plant(&self, journal: &Path) {
        let (address, secret) = (self.address, "0".repeat(64));
        let text = format!(
            r#"{{"format":"recount-control","version":2,"address":"{address}","pid":1,
                "token":"{secret}","proof":"{secret}"}}"#
        );
        let place = journal.join("CONTROL");
        fs::write(&place, text).unwrap();
        set_mode(&place, 0o600);
    }

    fn knocks(&self) -> usize {
        self.knocks.load(Ordering::SeqCst)
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

const TOOLS: &str = r#"
[[tool]]
name = "echo"
description = "Gives its arguments back"
command = ["cat"]
"#;

const COMMANDS: [&str; 2] = ["approve j/demo 0123", "pending j/demo"];

/// The journal of the demo, open in this process, with the address of the impostor.
fn planted() -> (Bench, DiskJournal, Impostor) {
    let bench = Bench::new();
    fs::create_dir(bench.path("j")).unwrap();
    bench.run("demo --approve --journal j/demo").ends_with(0);
    let held = DiskJournal::open_existing(bench.path("j/demo")).unwrap();
    let impostor = Impostor::listens();
    impostor.plant(&bench.path("j/demo"));
    (bench, held, impostor)
}

/// The address of the other tests is used if no other user can have written it.
#[test]
fn address_in_a_private_directory_is_used() {
    let (bench, _held, impostor) = planted();
    bench.run("pending j/demo").fails(1, "control");
    assert!(impostor.knocks() > 0);
}

#[test]
fn address_in_a_writable_directory_is_not_used() {
    let (bench, _held, impostor) = planted();
    set_mode(&bench.path("j/demo"), 0o1777);
    for command in COMMANDS {
        bench.run(command).fails(1, "insecure-directory");
        // The option accepts the journal, but not the address.
        let trusting = format!("{command} --insecure-directory");
        bench
            .run(&trusting)
            .fails(1, "control")
            .prints_error(&["every user can write to it"]);
    }
    assert_eq!(impostor.knocks(), 0);
}

#[test]
fn address_of_another_user_is_not_used() {
    let (bench, _held, impostor) = planted();
    let control = bench.path("j/demo/CONTROL");
    if chown(&control, Some(4_711), None).is_err() {
        println!("not looked at: only the superuser can give a file to another user");
        return;
    }
    for command in COMMANDS {
        bench
            .run(command)
            .fails(1, "insecure-directory")
            .prints_error(&["belongs to another user, 4711"]);
    }
    assert_eq!(impostor.knocks(), 0);
}

#[test]
fn address_that_is_a_link_is_not_used() {
    let (bench, _held, impostor) = planted();
    let control = bench.path("j/demo/CONTROL");
    fs::rename(&control, bench.path("planted")).unwrap();
    std::os::unix::fs::symlink(bench.path("planted"), &control).unwrap();
    for command in COMMANDS {
        bench
            .run(command)
            .fails(1, "control")
            .prints_error(&["found a symbolic link"]);
    }
    assert_eq!(impostor.knocks(), 0);
}

/// A user who can write to the parent directory can replace the journal.
#[test]
fn address_below_a_writable_directory_is_not_used() {
    let (bench, _held, impostor) = planted();
    set_mode(&bench.path("j"), 0o777);
    for command in COMMANDS {
        bench
            .run(command)
            .fails(1, "control")
            .prints_error(&["every user can replace what is in it"]);
    }
    assert_eq!(impostor.knocks(), 0);
    // In a directory such as /tmp, only the owner of an entry can replace it.
    set_mode(&bench.path("j"), 0o1777);
    bench.run("pending j/demo").fails(1, "control");
    assert!(impostor.knocks() > 0);
}

#[test]
fn key_store_that_others_can_read_is_refused() {
    let bench = Bench::new();
    let with_key = |command: &str| {
        let mut command = bench.command(command);
        command.env("RECOUNT_MASTER_KEY", "0f".repeat(32));
        let output = command.output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), told)
    };
    bench.run("demo --approve --journal demo").ends_with(0);
    let (simulator, url) = bench.simulate(r#"{"on": "otherwise", "send": [{"say": "Hello."}]}"#);
    bench.write("tools.toml", TOOLS);
    let run =
        format!("run --tools tools.toml --endpoint {url} --journal j --keys keys --text hello");
    assert_eq!(with_key(&run).0, 0);
    drop(simulator);
    assert_eq!(with_key("pending j --keys keys").0, 0);
    set_mode(&bench.path("keys/KEYS"), 0o644);
    let (code, told) = with_key("pending j --keys keys");
    assert_eq!(code, 1, "{told}");
    assert!(
        told.starts_with("error[insecure-directory]") && told.contains("every user can read it"),
        "{told}"
    );
    assert_eq!(with_key("pending j --keys keys --insecure-directory").0, 0);
}
