//! The addresses of databases on command lines and in configurations. No server is needed.

use crate::comparing::imported;
use crate::program::Bench;

/// An address with a password, at a port where nothing listens.
const ADDRESS: &str = "postgres://ada:sesame@127.0.0.1:1/journal";

/// Checks that a run of a command with an address fails, and that it does not show the password.
fn fails(bench: &Bench, command: &str, exit: i32, words: &[&str]) {
    let run = bench.run(command).ends_with(exit);
    assert!(
        !run.err.contains("sesame") && run.out.is_empty(),
        "{run:#?}"
    );
    run.prints_error(words);
}

#[cfg(not(feature = "postgres"))]
#[test]
fn program_without_the_feature_names_it() {
    let bench = Bench::new();
    for command in ["sessions", "verify", "repair"] {
        fails(
            &bench,
            &format!("{command} {ADDRESS}"),
            2,
            &["error[no-postgres]", "feature `postgres`"],
        );
    }
}

#[cfg(feature = "postgres")]
#[test]
fn commands_for_files_refuse_a_database() {
    let bench = Bench::new();
    for (command, instead) in [
        (format!("repair {ADDRESS}"), "`recount verify ADDRESS`"),
        (format!("compact {ADDRESS}"), "VACUUM"),
        (format!("backup {ADDRESS} copy"), "pg_dump"),
        (format!("backup j {ADDRESS}"), "pg_dump"),
        (format!("restore {ADDRESS} j"), "its own tools"),
        (format!("restore copy {ADDRESS}"), "its own tools"),
        (format!("reads {ADDRESS}"), "recount-state/journal.access"),
    ] {
        let expected = "found the database postgres://ada@127.0.0.1:1/journal";
        fails(
            &bench,
            &command,
            2,
            &["error[not-for-databases]", expected, instead],
        );
    }
}

#[cfg(feature = "postgres")]
#[test]
fn unreachable_server_is_named_without_password() {
    let bench = Bench::new();
    for command in ["sessions", "verify", "pending", "export"] {
        let words = ["error[io]: postgres://ada@127.0.0.1:1/journal: failed to connect"];
        fails(&bench, &format!("{command} {ADDRESS}"), 1, &words);
    }
}

#[cfg(feature = "postgres")]
#[test]
fn wrong_address_is_refused_without_its_text() {
    let bench = Bench::new();
    let command = format!("sessions {ADDRESS}?schema=No");
    fails(
        &bench,
        &command,
        2,
        &[
            "error[bad-address]",
            "expected a schema of at most 55 lower-case letters",
            "found \"No\"",
        ],
    );
    let command = format!("sessions {ADDRESS}?sslmode=sesame");
    fails(
        &bench,
        &command,
        2,
        &["the address of the database is wrong"],
    );
    for (address, told) in [
        ("postgres:/ada:sesame@h/d", "two slashes"),
        ("postgresql:ada:sesame", "two slashes"),
        ("POSTGRES://ada:open@sesame@h/d", "%40"),
        ("postgres://ada:sesame@h/d?sslmode=prefer", "verify-full"),
        (
            "postgres://ada@h/d?schema=s?password=sesame",
            "divided by &",
        ),
        ("Postgres:///d?password=sesame", "names no host"),
    ] {
        let words = ["error[bad-address]", told];
        fails(&bench, &format!("sessions {address}"), 2, &words);
    }
}

/// The variables count as for the programs of PostgreSQL, and only where the address says nothing.
#[cfg(feature = "postgres")]
#[test]
fn environment_asks_for_encryption() {
    let bench = Bench::new();
    for (address, told) in [
        (ADDRESS.to_owned(), "sslrootcert \"/nowhere/ca.pem\""),
        (format!("{ADDRESS}?sslmode=disable"), "Connection refused"),
    ] {
        let mut command = bench.command(&format!("sessions {address}"));
        command.env("PGSSLMODE", "verify-full");
        command.env("PGSSLROOTCERT", "/nowhere/ca.pem");
        let output = command.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(told), "{error}");
        assert_eq!(output.status.code(), Some(1));
    }
    let mut command = bench.command(&format!("sessions {ADDRESS}"));
    let output = command.env("PGSSLMODE", "verify-ful").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "a typo does not turn it off");
}

/// An address stands where a file or an id should.
#[test]
fn misplaced_address_is_shown_without_its_password() {
    let bench = Bench::new();
    imported(&bench, "approved");
    for address in [ADDRESS, "Postgres:/ada:open@sesame@h/d"] {
        let id = format!("log approved {address}");
        fails(&bench, &id, 2, &["error[not-an-id]", ":***@"]);
        let out = format!("export approved --out {address}");
        fails(&bench, &out, 1, &["error[io]", ":***@"]);
    }
}

#[test]
fn message_about_the_command_line_hides_passwords() {
    let bench = Bench::new();
    let command = format!("sessions journal {ADDRESS}");
    let words = [
        "unexpected argument",
        "postgres://ada:***@127.0.0.1:1/journal",
    ];
    fails(&bench, &command, 2, &words);
}

#[cfg(feature = "serve")]
#[test]
fn configuration_has_no_password() {
    let bench = Bench::new();
    let check = |text: &str, words: &[&str]| {
        bench.write("recount.toml", text);
        fails(&bench, "check", 2, words);
    };
    let words = ["recount.toml:1:11: journal: ", "journal_env"];
    #[cfg(feature = "postgres")]
    check(&format!("journal = \"{ADDRESS}\""), &words);
    #[cfg(not(feature = "postgres"))]
    check(
        &format!("journal = \"{ADDRESS}\""),
        &[words[0], "the feature `postgres`"],
    );
    check(
        "journal_env = \"GONE\"",
        &["journal_env: expected a variable"],
    );
    let two = "journal = \"j\"\njournal_env = \"GONE\"";
    check(
        two,
        &["journal_env: expected one of journal, journal_env and journal_file"],
    );
    check(
        "[postgres]\nnodes = \"a\"",
        &["postgres.nodes: unknown key; did you mean \"node\"?"],
    );
    bench.write("address", "elsewhere");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(bench.path("address"), mode).unwrap();
        };
        mode(0o644);
        let words = ["journal_file: ", "every user can use the database"];
        check("journal_file = \"address\"", &words);
        mode(0o600);
    }
    check(
        "journal_file = \"address\"",
        &["expected an address as postgres://…, found a path"],
    );
}

#[cfg(all(feature = "postgres", feature = "serve"))]
#[test]
fn check_needs_no_server() {
    let bench = Bench::new();
    bench.write(
        "recount.toml",
        "journal_env = \"JOURNAL\"\n[postgres]\nnode = \"a\"\nlease = \"3s\"\nstate = \"own\"\n\
         allow_lossy = [\"fsync = off\"]\n",
    );
    let mut check = bench.command("check");
    let output = check.env("JOURNAL", ADDRESS).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(!bench.path("own").exists(), "a check makes nothing");
    let mut serve = bench.command("serve --listen 127.0.0.1:0");
    let output = serve.env("JOURNAL", ADDRESS).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.starts_with("error[io]: postgres://ada@127.0.0.1:1/journal: "),
        "{told}"
    );
    assert!(!told.contains("sesame"), "{told}");
    bench
        .run(&format!("reload {ADDRESS}"))
        .fails(2, "not-for-databases")
        .prints_error(&["SIGHUP"]);
}
