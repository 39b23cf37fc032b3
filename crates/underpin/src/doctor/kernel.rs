//! What the kernel and the processors permit: tracing, counters, steady clocks.

use super::{Host, broken, good, missing};
use underpin_report::document::doctor::{DoctorItem, State, Topic};
use underpin_resolve::Processor;
use underpin_sys::{PerfProbe, PtraceProbe};

/// Bit of CAP_SYS_PTRACE in the capability masks of `/proc/self/status`.
const CAP_SYS_PTRACE: u64 = 1 << 19;

/// Whether this process has CAP_SYS_PTRACE.
pub(super) fn may_trace_anything(host: &Host) -> bool {
    let status = host.read("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & CAP_SYS_PTRACE != 0)
}

/// Whether the effective user is 0.
pub(super) fn is_administrator(host: &Host) -> bool {
    let status = host.read("/proc/self/status").unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    users.and_then(|users| users.split_ascii_whitespace().nth(1)) == Some("0")
}

/// Kernel, processors, address space randomisation.
pub(super) fn machine(host: &Host) -> Vec<DoctorItem> {
    let topic = Topic::Machine;
    let kernel = host.read("/proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".to_owned());
    let mut items = vec![good(topic, "kernel", format!("Linux {kernel} on {}", std::env::consts::ARCH))];
    items.push(processors(host));
    if host.trial.is_some() && cfg!(target_arch = "x86_64") {
        items.push(good(topic, "processor level", Processor::native().level.to_string()));
    }
    items.push(match host.read("/proc/sys/kernel/randomize_va_space").as_deref() {
        Some("0") => missing(
            topic,
            "address space randomisation",
            "off",
            "addresses repeat from run to run, so a layout that is fast or slow by luck stays so",
            Some(host.as_root("sysctl kernel.randomize_va_space=2")),
        ),
        Some(level) => good(topic, "address space randomisation", format!("on (level {level})")),
        None => good(topic, "address space randomisation", "not told by this kernel"),
    });
    items
}

fn processors(host: &Host) -> DoctorItem {
    let usable = std::thread::available_parallelism().map_or(0, usize::from);
    let cpuinfo = host.read("/proc/cpuinfo").unwrap_or_default();
    let online = cpuinfo.lines().filter(|line| line.starts_with("processor")).count().max(usable);
    let model =
        cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':')).map(|(_, name)| name.trim());
    let of = if online > usable { format!(" of {online}") } else { String::new() };
    let model = model.map_or_else(String::new, |model| format!(" ({model})"));
    good(Topic::Machine, "processors", format!("{usable}{of} usable{model}"))
}

/// ptrace, and what a sandbox may forbid.
pub(super) fn tracing(host: &Host) -> Vec<DoctorItem> {
    let (topic, name) = (Topic::Tracing, "ptrace scope");
    let effect = "`underpin trace`, `survey -- ARGS` and `tree --check` cannot watch a program";
    let fix = |level: &str| host.as_root(&format!("sysctl kernel.yama.ptrace_scope={level}"));
    let scope = match host.read("/proc/sys/kernel/yama/ptrace_scope").as_deref() {
        None => good(topic, name, "no Yama: a parent may trace its child"),
        Some("0") => good(topic, name, "0: any process of the same user"),
        Some("1") => good(topic, name, "1: a parent may trace its child"),
        Some("2") if host.may_trace => good(topic, name, "2: administrators only, which this process is"),
        Some("2") => broken(missing(topic, name, "2: administrators only", effect, Some(fix("1")))),
        Some(level) => {
            let after = "after a restart, since level 3 holds until then";
            broken(missing(topic, name, format!("{level}: nobody"), effect, Some(format!("{} {after}", fix("1")))))
        }
    };
    let trial = host.trial.as_ref().map(|trial| tried(&trial.ptrace));
    [Some(scope), Some(sandbox(host)), trial].into_iter().flatten().collect()
}

/// The result of tracing a shell.
fn tried(probe: &PtraceProbe) -> DoctorItem {
    let (topic, name) = (Topic::Tracing, "tracing a child");
    match probe {
        PtraceProbe::Works(cost) => {
            let median = cost.median.as_secs_f64() * 1e6;
            good(topic, name, format!("works; a stop takes {median:.1} µs (median of {})", cost.stops))
        }
        PtraceProbe::Denied(denied) => broken(missing(topic, name, "refused", &denied.to_string(), None)),
        PtraceProbe::Failed(reason) => broken(missing(topic, name, "failed", reason, None)),
    }
}

/// A seccomp filter on this process may refuse ptrace; only trying it shows whether it does.
fn sandbox(host: &Host) -> DoctorItem {
    let status = host.read("/proc/self/status").unwrap_or_default();
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:")).map(str::trim);
    match mode {
        Some("2") => missing(
            Topic::Tracing,
            "seccomp filter",
            "over this process",
            "a container's filter may refuse ptrace; if it does, `trace` says so",
            Some("docker run --cap-add SYS_PTRACE --security-opt seccomp=unconfined IMAGE".to_owned()),
        ),
        _ => good(Topic::Tracing, "seccomp filter", "none over this process"),
    }
}

/// Counters and steady clocks.
pub(super) fn measuring(host: &Host) -> Vec<DoctorItem> {
    vec![perf_level(host), counters(host), governor(host), load(host)]
}

fn perf_level(host: &Host) -> DoctorItem {
    let (topic, name) = (Topic::Measuring, "perf level");
    let Some(level) = host.read("/proc/sys/kernel/perf_event_paranoid") else {
        let effect = "this kernel was built without performance events";
        return missing(topic, name, "absent", effect, None);
    };
    match level.parse::<i32>() {
        Ok(value) if value > 2 && !host.administrator => {
            let effect = "no counters at all, not even those of the kernel's own software events";
            missing(topic, name, level, effect, Some(host.as_root("sysctl kernel.perf_event_paranoid=2")))
        }
        _ => good(topic, name, level),
    }
}

/// Counters that could be opened, and those that the processor (or the virtual machine) does not have.
fn counters(host: &Host) -> DoctorItem {
    let (topic, name) = (Topic::Measuring, "hardware counters");
    let probes = host.trial.as_ref().map_or(&[][..], |trial| &trial.counters);
    let names = |wanted: fn(PerfProbe) -> bool| {
        let names: Vec<&str> =
            probes.iter().filter(|probe| wanted(probe.answer)).map(|probe| probe.counter.name()).collect();
        names.join(", ")
    };
    let working = names(|answer| answer == PerfProbe::Works);
    let denied = names(|answer| matches!(answer, PerfProbe::Denied { .. }));
    match (probes.is_empty(), working.is_empty(), denied.is_empty()) {
        (true, ..) => good(topic, name, "not tried"),
        (_, false, _) => good(topic, name, working),
        (_, _, false) => {
            let fix = host.as_root("sysctl kernel.perf_event_paranoid=2");
            missing(topic, name, "refused", "cycles and instructions cannot be counted", Some(fix))
        }
        _ => {
            let effect = "cycles, instructions and cache misses cannot be counted; usual in a virtual machine";
            missing(topic, name, "none", effect, None)
        }
    }
}

fn governor(host: &Host) -> DoctorItem {
    let (topic, name) = (Topic::Measuring, "frequency governor");
    match host.read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") {
        Some(governor) if governor != "performance" => missing(
            topic,
            name,
            governor,
            "the clock follows the load, so short runs are measured at changing speeds",
            Some(host.as_root("cpupower frequency-set --governor performance")),
        ),
        Some(governor) => good(topic, name, governor),
        None => good(topic, name, "not in this system's hands"),
    }
}

/// Other work makes figures unsteady: more runnable tasks than half the processors deserve a warning.
fn load(host: &Host) -> DoctorItem {
    let average = host.read("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    let usable = std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64);
    let item = good(Topic::Measuring, "load", average.map_or("not told".to_owned(), |load| format!("{load:.2}")));
    if average.is_some_and(|load| load > usable / 2.0) {
        let effect = "other work is running: times will be unsteady".to_owned();
        return DoctorItem { state: State::Limited, effect: Some(effect), ..item };
    }
    item
}
