//! How much memory there is, as far as the system tells without special rights.

use std::fs::read_to_string;

/// Most memory this process has used so far, in bytes.
pub fn peak() -> Option<u64> {
    kibibytes(&read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// Memory that this process can still get, in bytes: of the machine or of its control group.
pub fn available() -> Option<u64> {
    let machine = kibibytes(&read_to_string("/proc/meminfo").ok()?, "MemAvailable:")?;
    Some(group().map_or(machine, |group| group.min(machine)))
}

/// What the control group leaves, if there is one with a limit.
fn group() -> Option<u64> {
    let number = |path: &str| read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let limit = number("/sys/fs/cgroup/memory.max")
        .or_else(|| number("/sys/fs/cgroup/memory/memory.limit_in_bytes"))?;
    let used = number("/sys/fs/cgroup/memory.current")
        .or_else(|| number("/sys/fs/cgroup/memory/memory.usage_in_bytes"))?;
    Some(limit.saturating_sub(used))
}

fn kibibytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}
