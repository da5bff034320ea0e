//! A full and a read-only disk: a service continues once there is room, and commands report the
//! disk and never a damaged journal.

#![cfg(target_os = "linux")]

use std::process::{Command, Output};

use crate::program::Bench;

/// Runs shell commands with a disk of some MiB at `small`, in a mount namespace of their own.
///
/// Returns `None` if the system does not allow this user to mount a disk.
fn on_small_disk(bench: &Bench, mebibytes: u32, commands: &str) -> Option<Output> {
    std::fs::create_dir_all(bench.path("small")).unwrap();
    let mount = format!("mount -t tmpfs -o size={mebibytes}m,mode=700 tmpfs small");
    // The superuser mounts directly, other users in a user namespace.
    for unshare in [["--mount"].as_slice(), &["--mount", "--map-root-user"]] {
        let run = |script: &str| {
            Command::new("unshare")
                .args(unshare)
                .args(["sh", "-c", script])
                .current_dir(bench.path("."))
                .env("RECOUNT", env!("CARGO_BIN_EXE_recount"))
                .env("RECOUNT_LOG", "warn")
                .output()
        };
        if run(&mount).is_ok_and(|it| it.status.success()) {
            return run(&format!("set -u; {mount}; {commands}")).ok();
        }
    }
    println!("not looked at: the system does not allow mounting a small disk");
    None
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The exit code and the error code of each command, as `NAME CODE error[…]` lines.
const SHOW: &str = r#"
show() {
    "$RECOUNT" "$@" >out 2>err; code=$?
    echo "$1 $code $(grep -o 'error\[[a-z-]*\]' err | head -n 1)"
}
"#;

const SCRIPT: &str = r#"
{"on": {"text": "fill"}, "send": [{"call": [{"id": "f1", "name": "fill", "args": {}}]}]}
{"on": {"responses_to": ["f1"]}, "send": [{"say": "It is full."}]}
"#;

/// A tool that fills the disk and returns more than the reserved space of the log.
const TOOLS: &str = r#"
[[tool]]
name = "fill"
description = "Fills the disk"
command = ["sh", "-c", """
cat >/dev/null
dd if=/dev/zero of=small/fill bs=64k 2>/dev/null
printf '{"filled":"%0600000d"}' 0
"""]
parameters = { type = "object" }
"#;

#[test]
fn service_continues_once_the_disk_has_room() {
    let bench = Bench::new();
    let (_simulator, url) = bench.simulate(SCRIPT);
    bench.write("tools.toml", TOOLS);
    let commands = format!(
        r#"
        mkfifo told
        run="run --journal small/j --tools tools.toml --endpoint {url}"
        "$RECOUNT" $run --text fill >ran 2>told &
        {{ grep -m 1 "waits for room"; echo "full"; rm small/fill; cat >&2; }} <told
        wait $!; echo "run $?"
        cat ran
        "$RECOUNT" verify small/j; echo "verify $?"
        "#
    );
    let Some(output) = on_small_disk(&bench, 8, &commands) else {
        return;
    };
    let out = text(&output.stdout);
    let all = format!("{out}\n{}", text(&output.stderr));
    for told in [
        "full\n",
        "It is full.",
        "run 0\n",
        "Consistent journal",
        "verify 0\n",
    ] {
        assert!(out.contains(told), "expected {told:?} in {all}");
    }
    assert_eq!(out.matches("fill started").count(), 1, "{all}");
}

/// The commands that read and answer, each with its exit code.
const COMMANDS: &str = r#"
session() { grep -o '"session":"[0-9a-f-]*"' | head -n 1 | cut -d '"' -f 4; }
id=$("$RECOUNT" sessions demo --json | session)
all() {
    for command in "pending small/j" "sessions small/j" "log small/j $id" "approve small/j 0123" \
        "cancel small/j $id 1" "verify small/j" "replay small/j" "export small/j" \
        "repair small/j --dry-run"
    do show $command; done
}
"#;

#[test]
fn full_and_read_only_disks_are_no_damage() {
    let bench = Bench::with_demo();
    let commands = format!(
        r#"{SHOW}{COMMANDS}
        cp -r demo small/j
        dd if=/dev/zero of=small/fill bs=4k 2>/dev/null
        all
        # After a close, and after a kill, which leaves no note of a close.
        rm -f small/j/CLOSED
        all
        rm small/fill
        echo "after"; all
        mount -o remount,ro small
        echo "read-only"; all
        "#
    );
    let Some(output) = on_small_disk(&bench, 4, &commands) else {
        return;
    };
    let out = text(&output.stdout);
    let all = format!("{out}\n{}", text(&output.stderr));
    let (full, rest) = out.split_once("after\n").expect(&all);
    let (after, read_only) = rest.split_once("read-only\n").expect(&all);
    assert_eq!(
        (full.lines().count(), read_only.lines().count()),
        (18, 9),
        "{all}"
    );
    for line in full.lines() {
        let (name, told) = line.split_once(' ').unwrap();
        let expected = match name {
            // They read the log without the index.
            "verify" | "repair" => "0 ",
            _ => "1 error[no-space]",
        };
        assert_eq!(told, expected, "{line} in {all}");
    }
    for line in after.lines() {
        let (name, told) = line.split_once(' ').unwrap();
        let expected = match name {
            "approve" => "1 error[unknown-request]",
            "cancel" => "3 error[unknown-call]",
            _ => "0 ",
        };
        assert_eq!(told, expected, "{line} in {all}");
    }
    for line in read_only.lines() {
        // Commands that only read work on a copy.
        let (name, told) = line.split_once(' ').unwrap();
        let writes = ["approve", "cancel", "close", "repair", "run"].contains(&name);
        let may_be = told == "1 error[read-only]" || (told == "0 " && !writes);
        assert!(may_be, "{line} in {all}");
    }
}

/// Every writing command keeps the free space that is set in the environment.
#[test]
fn floor_is_set_by_the_environment() {
    let bench = Bench::with_demo();
    let commands = format!(
        r#"{SHOW}
        cp -r demo small/j
        approve() {{ show approve small/j 0123; cat err; }}
        approve
        RECOUNT_SPACE_FLOOR=8000000 approve
        RECOUNT_SPACE_FLOOR=0 approve
        RECOUNT_SPACE_FLOOR=1MiB approve
        "#
    );
    let Some(output) = on_small_disk(&bench, 4, &commands) else {
        return;
    };
    let out = text(&output.stdout);
    let codes: Vec<&str> = out.lines().filter(|it| it.starts_with("approve")).collect();
    assert_eq!(
        codes,
        [
            "approve 1 error[unknown-request]",
            "approve 1 error[no-space]",
            "approve 1 error[unknown-request]",
            "approve 2 error[bad-request]",
        ],
        "{out}\n{}",
        text(&output.stderr)
    );
    assert!(out.contains("8000000 are to stay free"), "{out}");
    assert!(
        out.contains("expected a number of bytes, found \"1MiB\""),
        "{out}"
    );
}
