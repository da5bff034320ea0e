//! The description of the machine, and the directory of the bench.

use std::fs;

use tempfile::TempDir;

/// An empty directory next to cargo's build output, so on a disk and not in memory. Removed on
/// drop.
pub(crate) fn scratch() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a scratch directory")
}

/// One line about processors, kernel, file system and load.
pub(crate) fn describe() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown processor", |(_, model)| model.trim());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = read("/proc/loadavg");
    let load = load.split(' ').next().unwrap_or_default();
    let mounts = read("/proc/mounts");
    let filesystem = mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            Some((words.next()?, words.next()?))
        })
        .filter(|(at, _)| env!("CARGO_TARGET_TMPDIR").starts_with(at))
        .max_by_key(|(at, _)| at.len())
        .map_or("unknown file system", |(_, kind)| kind);
    let kernel = read("/proc/sys/kernel/osrelease");
    let kernel = kernel.trim();
    format!("{cores} x {model}, Linux {kernel}, {filesystem}, load average {load} at the start")
}
