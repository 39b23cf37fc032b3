//! What this machine permits: facts from /proc, /sys and the file system, and the command that enables what is missing.
//!
//! Reads below a root folder and a list of program directories, so that tests can describe a machine in a few files.
//! Changes nothing. On the real machine it also tries what no setting shows: it traces `sh -c :` and opens counters.

mod builds;
mod kernel;
mod packages;
mod tools;

use packages::PackageManager;
use std::fs;
use std::path::{Path, PathBuf};
use underpin_report::DoctorDocument;
use underpin_report::document::doctor::{DoctorItem, State, Topic};
use underpin_sys::{CounterProbe, PtraceProbe, hardware_counters, ptrace_probe};

/// The machine to examine.
#[derive(Debug)]
pub struct Host {
    root: PathBuf,
    program_dirs: Vec<PathBuf>,
    /// CAP_SYS_PTRACE.
    may_trace: bool,
    /// User 0: commands that fix something need no `sudo`.
    administrator: bool,
    packages: Option<PackageManager>,
    /// Results of trying things out; only the machine that this process runs on can be tried.
    trial: Option<Trial>,
}

/// Results of trying things out, where reading a setting is not enough.
#[derive(Debug)]
struct Trial {
    ptrace: PtraceProbe,
    counters: Vec<CounterProbe>,
}

impl Host {
    /// This machine.
    pub fn this() -> Host {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut host = Host::below(Path::new("/"), std::env::split_paths(&path).collect());
        host.trial = Some(Trial { ptrace: ptrace_probe(), counters: hardware_counters() });
        host
    }

    /// A machine below a folder, with these directories of programs.
    pub fn below(root: &Path, program_dirs: Vec<PathBuf>) -> Host {
        let mut host = Host {
            root: root.to_owned(),
            program_dirs,
            may_trace: false,
            administrator: false,
            packages: None,
            trial: None,
        };
        host.may_trace = kernel::may_trace_anything(&host);
        host.administrator = kernel::is_administrator(&host);
        host.packages = PackageManager::of(&host);
        host
    }

    /// Examines everything.
    pub fn examine(&self) -> DoctorDocument {
        let items = kernel::machine(self)
            .into_iter()
            .chain(kernel::tracing(self))
            .chain(kernel::measuring(self))
            .chain(tools::loaders(self))
            .chain(tools::compilers(self))
            // Compilers are run to identify them, which only works on this machine.
            .chain(if self.trial.is_some() { builds::targets(self) } else { Vec::new() })
            .chain(tools::emulators(self))
            .chain(tools::machines(self))
            .collect();
        DoctorDocument::new(env!("CARGO_PKG_VERSION"), items)
    }

    /// Examines what `underpin build` needs, and nothing else.
    pub fn toolchains(&self) -> DoctorDocument {
        DoctorDocument::new(env!("CARGO_PKG_VERSION"), builds::targets(self))
    }

    /// A path of the examined machine, as a path here.
    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The text of a small file, without the white space around it.
    fn read(&self, path: &str) -> Option<String> {
        Some(fs::read_to_string(self.path(path)).ok()?.trim().to_owned())
    }

    /// The file that a program's name leads to, links resolved.
    fn program(&self, name: &str) -> Option<PathBuf> {
        let found = self.program_dirs.iter().map(|dir| dir.join(name)).find(|path| path.is_file())?;
        Some(found.canonicalize().unwrap_or(found))
    }

    /// A command line, with `sudo` if this user needs it.
    fn as_root(&self, command: &str) -> String {
        if self.administrator { command.to_owned() } else { format!("sudo {command}") }
    }

    /// The command that installs something, if the machine's package manager is known.
    fn install(&self, what: packages::Package) -> Option<String> {
        self.packages.map(|manager| self.as_root(&manager.install(what)))
    }
}

/// Whether a verb cannot work on this machine.
pub fn is_broken(document: &DoctorDocument) -> bool {
    document.count(State::Broken) > 0
}

/// A fact that is fine.
fn good(topic: Topic, name: &str, value: impl Into<String>) -> DoctorItem {
    DoctorItem { topic, name: name.to_owned(), state: State::Good, value: value.into(), effect: None, fix: None }
}

/// A fact that is not fine: what it means, and how to fix it.
fn missing(topic: Topic, name: &str, value: impl Into<String>, effect: &str, fix: Option<String>) -> DoctorItem {
    DoctorItem { state: State::Limited, effect: Some(effect.to_owned()), fix, ..good(topic, name, value) }
}

/// Marks something missing without which a verb cannot work.
fn broken(item: DoctorItem) -> DoctorItem {
    DoctorItem { state: State::Broken, ..item }
}

#[cfg(test)]
mod tests {
    use super::*;
    use underpin_test_support::Fixture;

    fn item<'a>(diagnosis: &'a DoctorDocument, name: &str) -> &'a DoctorItem {
        diagnosis.items.iter().find(|item| item.name == name).unwrap_or_else(|| panic!("no item {name}"))
    }

    fn examine(machine: &Fixture) -> DoctorDocument {
        Host::below(machine.path(), vec![machine.join("usr/bin")]).examine()
    }

    #[test]
    fn a_forbidden_ptrace_is_broken_and_says_how_to_allow_it() {
        let machine = Fixture::new();
        machine.write("proc/sys/kernel/yama/ptrace_scope", "2\n");
        machine.write("proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
        let diagnosis = examine(&machine);
        let scope = item(&diagnosis, "ptrace scope");
        assert_eq!(scope.state, State::Broken);
        assert_eq!(scope.fix.as_deref(), Some("sudo sysctl kernel.yama.ptrace_scope=1"));
        assert!(is_broken(&diagnosis));
    }

    #[test]
    fn the_administrator_may_trace_at_scope_two_but_nobody_at_three() {
        let machine = Fixture::new();
        machine.write("proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n");
        machine.write("proc/sys/kernel/yama/ptrace_scope", "2\n");
        assert_eq!(item(&examine(&machine), "ptrace scope").state, State::Good);
        machine.write("proc/sys/kernel/yama/ptrace_scope", "3\n");
        let diagnosis = examine(&machine);
        assert_eq!(item(&diagnosis, "ptrace scope").state, State::Broken);
        assert!(item(&diagnosis, "ptrace scope").fix.as_ref().unwrap().contains("restart"), "3 holds until a restart");
    }

    #[test]
    fn a_kernel_without_yama_lets_a_parent_trace_its_child() {
        let machine = Fixture::new();
        machine.write("proc/self/status", "CapEff:\t0000000000000000\n");
        assert_eq!(item(&examine(&machine), "ptrace scope").state, State::Good);
    }

    #[test]
    fn a_missing_tool_names_the_package_of_this_distribution() {
        let machine = Fixture::new();
        machine.write("etc/os-release", "ID=alpine\n");
        let musl = examine(&machine);
        assert_eq!(item(&musl, "cc").fix.as_deref(), Some("sudo apk add gcc musl-dev"));
        machine.write("etc/os-release", "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n");
        assert_eq!(item(&examine(&machine), "cc").fix.as_deref(), Some("sudo apt-get install gcc libc6-dev"));
        machine.write("etc/os-release", "ID=unheard-of\n");
        assert_eq!(item(&examine(&machine), "cc").fix, None);
        machine.write("usr/bin/cc", "");
        assert_eq!(item(&examine(&machine), "cc").state, State::Good);
    }

    #[test]
    fn an_emulator_that_images_need_is_named_with_its_package() {
        let machine = Fixture::new();
        machine.write("etc/os-release", "ID=debian\n");
        machine.write("usr/bin/qemu-system-x86_64", "");
        let diagnosis = examine(&machine);
        assert_eq!(item(&diagnosis, "qemu-system-x86_64").state, State::Good);
        let absent = item(&diagnosis, "qemu-system-aarch64");
        assert_eq!(absent.fix.as_deref(), Some("sudo apt-get install qemu-system-arm"));
        assert!(!is_broken(&diagnosis));
    }

    #[test]
    fn a_governor_that_saves_power_is_a_limit_and_a_virtual_machine_without_one_is_not() {
        let machine = Fixture::new();
        assert_eq!(item(&examine(&machine), "frequency governor").state, State::Good);
        machine.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
        let diagnosis = examine(&machine);
        assert_eq!(item(&diagnosis, "frequency governor").state, State::Limited);
        assert!(!is_broken(&diagnosis));
    }
}
