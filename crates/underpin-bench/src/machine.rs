//! The machine that figures were measured on, without its name or anything that identifies its owner.

use serde::{Deserialize, Serialize};
use std::fs::read_to_string;

/// What is known of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's model; empty if unknown.
    pub processor: String,
    /// Processors that this process may use.
    pub processors: usize,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Release of the kernel.
    pub kernel: String,
    /// The distribution, as os-release(5) names it.
    pub system: String,
    /// The frequency governor, if there is one.
    pub governor: Option<String>,
    /// Whether addresses are randomised.
    pub aslr: bool,
    /// Load average of the last minute at the start, in hundredths.
    pub load_hundredths: Option<u64>,
}

impl Machine {
    /// Whether the load before the start exceeded its number of processors.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.load_hundredths.is_some_and(|hundredths| hundredths as f64 > 100.0 * self.processors as f64)
    }

    /// Why figures of this machine and of another one cannot be compared, a clause for each difference; empty if they
    /// are alike. Memory may differ by the little that a kernel keeps for itself.
    #[must_use]
    pub fn differs_from(&self, other: &Machine) -> Vec<String> {
        let size =
            |machine: &Machine| machine.memory_bytes.map_or_else(String::new, |bytes| format!("{} MiB", bytes >> 20));
        let alike = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => a.abs_diff(b) <= a.max(b) / 50,
            _ => true,
        };
        let pairs = [
            ("processor", self.processor.clone(), other.processor.clone()),
            ("processors", self.processors.to_string(), other.processors.to_string()),
            ("kernel", self.kernel.clone(), other.kernel.clone()),
        ];
        let memory = (!alike(self.memory_bytes, other.memory_bytes)).then(|| ("memory", size(self), size(other)));
        let differing = pairs.into_iter().filter(|(_, one, two)| one != two).chain(memory);
        differing.map(|(what, one, two)| format!("{what} {two} then, {one} now")).collect()
    }

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
