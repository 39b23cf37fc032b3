//! The machine that figures belong to. No name of it and nothing that tells who owns it.

use serde::{Deserialize, Serialize};
use std::fs::read_to_string;

/// What is known of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's model; empty where it does not say.
    pub processor: String,
    /// Processors that this process may use.
    pub processors: usize,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Release of the kernel.
    pub kernel: String,
    /// The distribution, in words.
    pub system: String,
    /// The frequency governor, where there is one.
    pub governor: Option<String>,
    /// Whether addresses are randomised.
    pub aslr: bool,
    /// Load average of the last minute at the start, in hundredths.
    pub load_hundredths: Option<u64>,
}

impl Machine {
    /// This machine.
    #[must_use]
    pub fn here() -> Machine {
        let aslr = underpin_sys::aslr();
        Machine {
            processor: processor_model(),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: field("/proc/meminfo", "MemTotal:", ':')
                .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)),
            kernel: read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
            system: field("/etc/os-release", "PRETTY_NAME", '=').unwrap_or_default().trim_matches('"').to_owned(),
            governor: underpin_sys::cpu_governor(),
            aslr: aslr.setting.unwrap_or(0) > 0 && !aslr.off_for_us,
            load_hundredths: load_hundredths(),
        }
    }
}

fn processor_model() -> String {
    let names = ["model name", "Model", "uarch", "cpu model"];
    names.into_iter().find_map(|name| field("/proc/cpuinfo", name, ':')).unwrap_or_default()
}

/// The value of the first line that begins with a name.
fn field(path: &str, name: &str, separator: char) -> Option<String> {
    let text = read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(separator)?.1.trim().to_owned())
}

/// The load average of the last minute.
pub(crate) fn load_hundredths() -> Option<u64> {
    let text = read_to_string("/proc/loadavg").ok()?;
    let load: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some((load * 100.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_kernel_and_memory() {
        let machine = Machine::here();
        let uname = std::process::Command::new("uname").arg("-r").output().unwrap();
        assert_eq!(machine.kernel, String::from_utf8_lossy(&uname.stdout).trim());
        assert!(machine.processors >= 1 && machine.memory_bytes.unwrap() > 1 << 20);
    }
}
