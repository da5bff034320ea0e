//! Has the linker strip the program of a release build.
//!
//! The release profile says `strip = true`. Cargo drops that for a package with settings of its
//! own, as this one has for a short build, and a package cannot repeat it. Cargo 1.95 then strips
//! debug information alone. An installation with `cargo install` has no profile of the workspace
//! at all.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|it| it == value);
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo::rustc-link-arg-bins=-Wl,--strip-all");
    }
}
