//! underpin started under the name of a compiler or linker, from a folder that `build` made: it becomes the real tool.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use underpin_build::tool::{
    Compiler, FOLDER_VARIABLE, Invocation, LINKER_VARIABLE, PLAN_FILE, Strict, Surroundings, Tool, ToolPlan, apart,
    invoke, response_file,
};
use underpin_elf::FileSource;

/// The exit status for a command that is not found, as shells have it.
const NOT_STARTED: u8 = 127;

/// The exit code if this process was started as a tool and could not become it; `None` if it was not started as one.
pub fn instead(line: &[OsString]) -> Option<ExitCode> {
    let name = Path::new(line.first()?);
    let tool = Tool::of_name(name.file_name()?)?;
    let folder = folder(name)?;
    let plan = fs::read(folder.join(PLAN_FILE)).ok()?;
    Some(become_tool(tool, &folder, &plan, line.get(1..).unwrap_or_default()))
}

/// The folder with the plan: beside the name that this process was started by, or where the build says.
fn folder(name: &Path) -> Option<PathBuf> {
    let beside = name.parent().filter(|folder| !folder.as_os_str().is_empty());
    let by_name = beside.filter(|folder| folder.join(PLAN_FILE).is_file()).map(Path::to_owned);
    // An SDK has a copy of this program beside its plan, and links to that in other folders.
    let of_sdk =
        || env::current_exe().ok()?.parent().filter(|folder| folder.join(PLAN_FILE).is_file()).map(Path::to_owned);
    by_name.or_else(of_sdk).or_else(|| env::var_os(FOLDER_VARIABLE).map(PathBuf::from))
}

fn become_tool(tool: Tool, folder: &Path, plan: &[u8], arguments: &[OsString]) -> ExitCode {
    let refused = |reason: &dyn std::fmt::Display| {
        crate::screen::note(reason);
        ExitCode::from(NOT_STARTED)
    };
    let plan: ToolPlan = match serde_json::from_slice(plan) {
        Ok(plan) => ToolPlan::placed(plan, folder.parent().unwrap_or(folder)),
        Err(error) => return refused(&format!("{}: {error}", folder.join(PLAN_FILE).display())),
    };
    let linker = env::var_os(LINKER_VARIABLE);
    let cxx_library = |compiler: &Compiler| cxx_library(compiler, folder);
    let around = Surroundings {
        folder,
        linker: linker.as_deref(),
        variable: &|name| env::var_os(name),
        response: &response,
        is_fixed: &is_fixed,
        cxx_library: &cxx_library,
    };
    let mut calls = apart(&plan, tool, arguments, &response).unwrap_or_else(|| vec![arguments.to_vec()]);
    let last = calls.pop().unwrap_or_default();
    for arguments in calls {
        let status = match command(&plan, tool, &arguments, around) {
            Ok((mut command, _)) => command.status(),
            Err(error) => return refused(&error),
        };
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => return code(status),
            Err(error) => return refused(&error),
        }
    }
    let (mut command, watches) = match command(&plan, tool, &last, around) {
        Ok(command) => command,
        Err(error) => return refused(&error),
    };
    if let (true, Some(strict)) = (watches, &plan.strict) {
        return watched(command, &plan, strict, folder).unwrap_or_else(|error| refused(&error));
    }
    let error = command.exec();
    refused(&format!("cannot start {}: {error}", command.get_program().display()))
}

/// The command of one call, and whether the files of its link are to be looked at afterwards.
fn command(
    plan: &ToolPlan,
    tool: Tool,
    arguments: &[OsString],
    around: Surroundings<'_>,
) -> Result<(Command, bool), Box<dyn std::error::Error>> {
    let invocation = invoke(plan, tool, arguments, around)?;
    if let Some(remark) = &invocation.remark {
        crate::screen::note(remark);
    }
    let mut command = Command::new(&invocation.program);
    match in_file(&invocation, around.folder) {
        Ok(Some(word)) => command.args(&invocation.arguments[..invocation.first]).arg(word),
        Ok(None) => command.args(&invocation.arguments),
        Err(error) => return Err(format!("cannot write into {}: {error}", around.folder.display()).into()),
    };
    command.envs(invocation.environment);
    Ok((command, invocation.watched))
}

/// The exit code of a tool that failed.
fn code(status: ExitStatus) -> ExitCode {
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// A link, and then whether what it took may be in the program.
fn watched(mut command: Command, plan: &ToolPlan, strict: &Strict, folder: &Path) -> io::Result<ExitCode> {
    let list = folder.join(format!("linked-{}", std::process::id()));
    let status = command.arg(format!("-Wl,--dependency-file={}", list.display())).status()?;
    let files = fs::read(&list).unwrap_or_default();
    let _ = fs::remove_file(&list);
    if !status.success() {
        return Ok(code(status));
    }
    if let Err(leak) = strict.linked(&files, plan.spec.libc, &|path| plan.names(path)) {
        crate::screen::note(&leak);
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// A response file (`@FILE`) with the arguments, if they came from one and are too many for a command line. It is named
/// by a hash of its content and stays with the plan: the same link writes it once.
fn in_file(invocation: &Invocation, folder: &Path) -> io::Result<Option<OsString>> {
    // The kernel takes at least this much; more depends on the stack's limit and on the variables (execve(2)).
    const MOST: usize = 128 << 10;
    let rest = invocation.arguments.get(invocation.first..).unwrap_or_default();
    if !invocation.from_file || rest.iter().map(|word| word.len() + 1 + size_of::<usize>()).sum::<usize>() <= MOST {
        return Ok(None);
    }
    let text = response_file(rest);
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let path = folder.join(format!("arguments-{:016x}", hasher.finish()));
    if fs::read(&path).ok().as_ref() != Some(&text) {
        let new = path.with_extension(std::process::id().to_string());
        fs::write(&new, &text)?;
        fs::rename(&new, &path)?;
    }
    let mut word = OsString::from("@");
    word.push(path);
    Ok(Some(word))
}

/// The archives with which zig links a C++ program, read from the verbose output of such a link. By then zig has
/// compiled them into its cache; for the first such program of a target that takes minutes.
fn cxx_library(compiler: &Compiler, folder: &Path) -> Vec<OsString> {
    let source = folder.with_file_name("empty.c");
    let made = folder.join(format!("empty-{}", std::process::id()));
    let mut command = Command::new(&compiler.program);
    command.args(&compiler.leading).args(["-static", "-v", "-x", "c++"]).arg(source).arg("-o").arg(&made);
    let output = command.stdin(Stdio::null()).output();
    // If this link failed, the real one reports it when the archives are missing.
    let _ = fs::remove_file(&made);
    let said = output.map(|output| output.stderr).unwrap_or_default();
    let words = said.split(|byte| byte.is_ascii_whitespace()).map(|word| OsStr::from_bytes(word).to_owned());
    let words: Vec<OsString> = words.collect();
    let archive = |name: &str| words.iter().find(|word| Path::new(word).file_name() == Some(OsStr::new(name))).cloned();
    ["libc++.a", "libc++abi.a"].into_iter().filter_map(archive).collect()
}

/// Whether a file is an object for a fixed address.
fn is_fixed(file: &OsStr) -> bool {
    let source = fs::File::open(file).and_then(FileSource::new);
    source.is_ok_and(|source| underpin_build::tool::is_fixed(&source))
}

/// The text of a response file; `None` if there is no such file, or it is larger than any that a linker gets.
fn response(file: &OsStr) -> Option<Vec<u8>> {
    const LARGEST: u64 = 64 << 20;
    let is_small = fs::metadata(file).is_ok_and(|data| data.is_file() && data.len() <= LARGEST);
    if is_small { fs::read(file).ok() } else { None }
}
