//! The points of a program's start: breakpoints on the loader's hook, the entry point and `main`.
//!
//! Each breakpoint is removed at its (last) hit, so that the program continues unmodified. `main` is found without
//! symbols: `_start` of every C library passes it to `__libc_start_main` as the first argument, so the program is
//! stepped from its entry point until control is transferred with an address of its own code in that register.

use crate::image::{Image, LoaderHook};
use underpin_sys::{
    BREAKPOINT, RawPid, Registers, Resume, Stop, SysError, Tracee, read_memory, wait_for, write_byte_patch,
};

/// `_start` takes 10 to 20 instructions on the architectures and C libraries in use.
const MAX_STEPS: usize = 96;
/// `RT_CONSISTENT` and `RT_ADD` of `link.h`.
const CONSISTENT: u32 = 0;
const ADD: u32 = 1;

/// What a breakpoint marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    LoaderHook(LoaderHookState),
    Entry,
    Main,
}

/// The loader's progress, as its hook shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoaderHookState {
    state: Option<u64>,
    adding: bool,
}

/// A breakpoint in the memory of the watched process.
#[derive(Clone, Debug)]
struct Breakpoint {
    address: u64,
    before: Vec<u8>,
    mark: Mark,
}

/// What a hit means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    LoaderReady,
    Entry,
    Main,
    /// The loader's hook, called for another reason.
    Nothing,
}

/// The armed breakpoints of one process.
#[derive(Debug, Default)]
pub(crate) struct Landmarks(Vec<Breakpoint>);

impl Landmarks {
    pub(crate) fn arm_entry(&mut self, task: Tracee, image: &Image) -> Result<(), SysError> {
        self.arm(task, image.entry, Mark::Entry)
    }

    pub(crate) fn arm_main(&mut self, task: Tracee, address: u64) -> Result<(), SysError> {
        self.arm(task, address, Mark::Main)
    }

    pub(crate) fn arm_loader(&mut self, task: Tracee, hook: LoaderHook) -> Result<(), SysError> {
        self.arm(task, hook.function, Mark::LoaderHook(LoaderHookState { state: hook.state, adding: false }))
    }

    fn arm(&mut self, task: Tracee, address: u64, mark: Mark) -> Result<(), SysError> {
        let before = write_byte_patch(task, address, BREAKPOINT)?;
        self.0.push(Breakpoint { address, before, mark });
        Ok(())
    }

    pub(crate) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// After an exec the memory is another program's: no breakpoint is armed any more.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }

    /// Removes all breakpoints from a process: the watched one, or a forked child's copy of its memory.
    pub(crate) fn disarm_in(&self, task: Tracee) -> Result<(), SysError> {
        self.0.iter().try_for_each(|point| write_byte_patch(task, point.address, &point.before).map(drop))
    }

    /// Handles a trap: `None` if it was not one of ours and belongs to the program.
    pub(crate) fn hit(&mut self, task: Tracee) -> Result<Option<Reached>, SysError> {
        let mut registers = task.registers()?;
        let address = registers.breakpoint_address();
        let Some(index) = self.0.iter().position(|point| point.address == address) else { return Ok(None) };
        write_byte_patch(task, address, &self.0[index].before)?;
        registers.set_pc(address);
        task.set_registers(&registers)?;
        let reached = match self.0[index].mark {
            Mark::Entry => Reached::Entry,
            Mark::Main => Reached::Main,
            Mark::LoaderHook(ref hook) => {
                let now = hook.state.map_or(Ok(CONSISTENT), |at| loader_state(task.0, at))?;
                // glibc announces that it adds objects, then that it is done; before that come audit modules.
                if now == CONSISTENT && (hook.adding || hook.state.is_none()) {
                    Reached::LoaderReady
                } else {
                    let adding = hook.adding || now == ADD;
                    let state = hook.state;
                    self.0[index].mark = Mark::LoaderHook(LoaderHookState { state, adding });
                    step_once(task)?;
                    write_byte_patch(task, address, BREAKPOINT)?;
                    return Ok(Some(Reached::Nothing));
                }
            }
        };
        self.0.remove(index);
        Ok(Some(reached))
    }
}

fn loader_state(pid: RawPid, at: u64) -> Result<u32, SysError> {
    let mut word = [0; 4];
    read_memory(pid, at, &mut word)?;
    Ok(u32::from_ne_bytes(word))
}

/// Executes the instruction under a breakpoint that has been removed. Signals that arrive first are sent again.
fn step_once(task: Tracee) -> Result<(), SysError> {
    let mut held = Vec::new();
    loop {
        task.resume(Resume::Step, 0)?;
        match wait_for(task.0)?.map(|report| report.stop) {
            Some(Stop::Signal(SIGTRAP)) => return held.into_iter().try_for_each(|signal| task.send(signal)),
            Some(Stop::Signal(signal)) => held.push(signal),
            // Ended or killed meanwhile: its end is reported only here, and it cannot be stepped any further.
            _ => return Err(SysError::gone("stepping over a breakpoint")),
        }
    }
}

/// How the search for `main` ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MainSearch {
    Found(u64),
    /// No call with an address of the program's code in the first argument: Go, or no C library.
    NoCall,
    /// Something else happened on the way; the report still has to be handled.
    Interrupted(Stop),
}

/// Steps a program from its entry point to the call that passes `main`.
pub(crate) fn find_main(task: Tracee, image: &Image) -> Result<(MainSearch, u64), SysError> {
    let mut steps = 0;
    let mut before = task.registers()?.pc();
    while steps < MAX_STEPS {
        if at_system_call(task.0, before)? {
            break;
        }
        task.resume(Resume::Step, 0)?;
        steps += 1;
        match wait_for(task.0)? {
            Some(report) if report.stop == Stop::Signal(SIGTRAP) => {}
            Some(report) => return Ok((MainSearch::Interrupted(report.stop), steps as u64)),
            None => return Ok((MainSearch::NoCall, steps as u64)),
        }
        let registers = task.registers()?;
        if let Some(main) = passes_main(&registers, before, image) {
            return Ok((MainSearch::Found(main), steps as u64));
        }
        before = registers.pc();
    }
    Ok((MainSearch::NoCall, steps as u64))
}

const SIGTRAP: i32 = 5;
/// The longest x86-64 instruction; a jump or call goes further, or backwards.
const MAX_INSTRUCTION: u64 = 15;

fn passes_main(registers: &Registers, before: u64, image: &Image) -> Option<u64> {
    let sequential = (before..=before + MAX_INSTRUCTION).contains(&registers.pc());
    let argument = registers.first_argument();
    (!sequential && argument != image.entry && image.in_text(argument)).then_some(argument)
}

/// A step over a system call would hide it from the tracer.
fn at_system_call(pid: RawPid, pc: u64) -> Result<bool, SysError> {
    const SYSTEM_CALL: &[u8] = if cfg!(target_arch = "aarch64") { &[0x01, 0x00, 0x00, 0xd4] } else { &[0x0f, 0x05] };
    let mut code = [0; 4];
    let read = read_memory(pid, pc, &mut code)?;
    Ok(code[..read].starts_with(SYSTEM_CALL))
}
