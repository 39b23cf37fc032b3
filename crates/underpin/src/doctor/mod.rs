//! What this machine allows: facts read from /proc, /sys and the file system, each lack with the command that mends it.
//!
//! Reads below a root folder and a list of program directories, so that tests can describe a machine in a few files.
//! Changes nothing. On this very machine it also tries what no setting tells: it traces `sh -c :` and opens counters.

mod kernel;
mod packages;
mod tools;

use packages::PackageManager;
use schemars::JsonSchema;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use underpin_report::document::SchemaTag;
use underpin_report::{Document, Verb};
use underpin_sys::{CounterProbe, PtraceProbe, hardware_counters, ptrace_probe};

/// The machine to look at.
#[derive(Debug)]
pub struct Host {
    root: PathBuf,
    program_dirs: Vec<PathBuf>,
    /// CAP_SYS_PTRACE.
    may_trace: bool,
    /// User 0: commands that mend need no `sudo`.
    administrator: bool,
    packages: Option<PackageManager>,
    /// What trying showed; only the machine that this process runs on can be tried.
    trial: Option<Trial>,
}

/// What came of trying things out, where reading a setting is not enough.
#[derive(Debug)]
struct Trial {
    ptrace: PtraceProbe,
    counters: Vec<CounterProbe>,
}

/// Everything that was found out.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Diagnosis {
    /// Always `underpin.doctor/1`.
    pub schema: SchemaTag<Diagnosis>,
    /// Version of underpin.
    pub underpin: &'static str,
    /// One per fact, by topic.
    pub items: Vec<Item>,
}

impl Document for Diagnosis {
    const VERB: Verb = Verb::Doctor;
}

/// One fact.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Item {
    /// What it belongs to.
    pub topic: Topic,
    /// Its name.
    pub name: String,
    /// Whether it is as it should be.
    pub state: State,
    /// What was found.
    pub value: String,
    /// What that means, where it is not as it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
    /// The command that mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

/// What a fact belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// Kernel and processors.
    Machine,
    /// Watching a program with ptrace.
    Tracing,
    /// Measuring time and counters.
    Measuring,
    /// C libraries and their loaders.
    Loaders,
    /// Compilers.
    Compilers,
    /// Emulators of other machines.
    Emulators,
}

impl Topic {
    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Topic::Machine => "machine",
            Topic::Tracing => "tracing",
            Topic::Measuring => "measuring",
            Topic::Loaders => "C libraries and loaders",
            Topic::Compilers => "compilers",
            Topic::Emulators => "emulators",
        }
    }
}

/// How a fact stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// As it should be.
    Good,
    /// Something is missing or makes figures worse; every verb works.
    Limited,
    /// A verb cannot work.
    Broken,
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

    /// Looks at everything.
    pub fn examine(&self) -> Diagnosis {
        let items = kernel::machine(self)
            .into_iter()
            .chain(kernel::tracing(self))
            .chain(kernel::measuring(self))
            .chain(tools::loaders(self))
            .chain(tools::compilers(self))
            .chain(tools::emulators(self))
            .collect();
        Diagnosis { schema: SchemaTag::new(), underpin: env!("CARGO_PKG_VERSION"), items }
    }

    /// A path of the machine, as a path here.
    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The text of a small file, without the white space around it.
    fn read(&self, path: &str) -> Option<String> {
        Some(fs::read_to_string(self.path(path)).ok()?.trim().to_owned())
    }

    /// The file behind a program's name, its links followed.
    fn program(&self, name: &str) -> Option<PathBuf> {
        let found = self.program_dirs.iter().map(|dir| dir.join(name)).find(|path| path.is_file())?;
        Some(found.canonicalize().unwrap_or(found))
    }

    /// A command line, with `sudo` where this user needs it.
    fn as_root(&self, command: &str) -> String {
        if self.administrator { command.to_owned() } else { format!("sudo {command}") }
    }

    /// The command that installs something, where the machine's package manager is known.
    fn install(&self, what: packages::Package) -> Option<String> {
        self.packages.map(|manager| self.as_root(&manager.install(what)))
    }
}

impl Diagnosis {
    /// Whether a verb cannot work on this machine.
    pub fn is_broken(&self) -> bool {
        self.items.iter().any(|item| item.state == State::Broken)
    }
}

impl Item {
    /// A fact that is as it should be.
    fn good(topic: Topic, name: &str, value: impl Into<String>) -> Item {
        Item { topic, name: name.to_owned(), state: State::Good, value: value.into(), effect: None, mend: None }
    }

    /// A fact that is not: what it means, and how to mend it.
    fn lack(topic: Topic, name: &str, value: impl Into<String>, effect: &str, mend: Option<String>) -> Item {
        Item { state: State::Limited, effect: Some(effect.to_owned()), mend, ..Item::good(topic, name, value) }
    }

    /// The same, where a verb cannot work without it.
    fn broken(self) -> Item {
        Item { state: State::Broken, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use underpin_test_support::Fixture;

    fn item<'a>(diagnosis: &'a Diagnosis, name: &str) -> &'a Item {
        diagnosis.items.iter().find(|item| item.name == name).unwrap_or_else(|| panic!("no item {name}"))
    }

    fn examine(machine: &Fixture) -> Diagnosis {
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
        assert_eq!(scope.mend.as_deref(), Some("sudo sysctl kernel.yama.ptrace_scope=1"));
        assert!(diagnosis.is_broken());
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
        assert!(item(&diagnosis, "ptrace scope").mend.as_ref().unwrap().contains("restart"), "3 holds until a restart");
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
        assert_eq!(item(&musl, "cc").mend.as_deref(), Some("sudo apk add gcc musl-dev"));
        machine.write("etc/os-release", "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n");
        assert_eq!(item(&examine(&machine), "cc").mend.as_deref(), Some("sudo apt-get install gcc libc6-dev"));
        machine.write("etc/os-release", "ID=unheard-of\n");
        assert_eq!(item(&examine(&machine), "cc").mend, None);
        machine.write("usr/bin/cc", "");
        assert_eq!(item(&examine(&machine), "cc").state, State::Good);
    }

    #[test]
    fn a_governor_that_saves_power_is_a_limit_and_a_virtual_machine_without_one_is_not() {
        let machine = Fixture::new();
        assert_eq!(item(&examine(&machine), "frequency governor").state, State::Good);
        machine.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
        let diagnosis = examine(&machine);
        assert_eq!(item(&diagnosis, "frequency governor").state, State::Limited);
        assert!(!diagnosis.is_broken());
    }
}
