//! The originals themselves, built and run by their recipes: not part of the usual tests, since their sources are not
//! here.

use super::{OriginalSuite, Printed, Program, Recipe, Role, Run, Setting, Step};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

/// Compilers, each with the words that make its build.
const BUILDS: [(&str, &[&str]); 2] = [("gcc", &[]), ("musl-gcc", &["-static"])];

/// A command that is ended after its time.
fn limited(seconds: Duration, program: &Path, folder: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-k", "5", &seconds.as_secs().to_string()]).arg(program).current_dir(folder);
    command
}

fn build(program: &Program, compiler: &str, words: &[&str], sources: &Path, to: &Path) {
    let folder = sources.join(program.project()).parent().unwrap().to_owned();
    let beside: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let mut command = Command::new(compiler);
    command.args(words).args(["-O2", program.project()]).args(program.words(&beside));
    let done = command.arg("-o").arg(to.join(program.name)).current_dir(sources).output().unwrap();
    assert!(done.status.success(), "{}: {}", program.name, String::from_utf8_lossy(&done.stderr));
}

/// The sources in a copy, the programs and what they need in a folder beside it.
fn prepare(recipe: &Recipe, from: &Path, work: &Path, compiler: &str, words: &[&str]) -> PathBuf {
    let (sources, runs) = (work.join("sources"), work.join("runs"));
    fs::create_dir_all(&runs).unwrap();
    assert!(Command::new("cp").arg("-r").arg(from).arg(&sources).status().unwrap().success());
    for file in &recipe.written {
        let path = sources.join(file.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file.text).unwrap();
    }
    for program in &recipe.programs {
        build(program, compiler, words, &sources, &runs);
    }
    for copy in &recipe.copied {
        use std::os::unix::fs::PermissionsExt;
        let to = runs.join(copy.to);
        fs::copy(sources.join(copy.from), &to).unwrap();
        fs::set_permissions(&to, fs::Permissions::from_mode(if copy.is_executable { 0o755 } else { 0o644 })).unwrap();
    }
    for file in &recipe.work_files {
        let mut made = fs::File::create(runs.join(file.name)).unwrap();
        for _ in 0..usize::try_from(file.bytes).unwrap() / file.piece {
            made.write_all(&vec![b'u'; file.piece]).unwrap();
        }
    }
    runs
}

fn start(step: &Step, recipe: &Recipe, run: &Run, folder: &Path) -> Output {
    let mut command = limited(run.deadline, &folder.join(step.program), folder);
    command.args(&step.arguments).envs(recipe.environment.iter().copied());
    if !matches!(step.role, Role::Serves { .. }) {
        return command.output().unwrap();
    }
    // What goes to the background would keep our pipes open.
    let status = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).status().unwrap();
    Output { status, stdout: Vec::new(), stderr: Vec::new() }
}

/// Runs all steps and prints the figures; what is missing, too.
fn measure(suite: OriginalSuite, recipe: &Recipe, run: &Run, folder: &Path, build: &str) -> usize {
    if let Some((program, path)) = run.installed {
        if Path::new(path).exists() {
            println!("{build:9} {}: {path} is there already", run.name);
            return run.rows.len();
        }
        fs::copy(folder.join(program), path).unwrap();
    }
    let (mut stdout, mut stderr, mut elapsed) = (String::new(), String::new(), Duration::ZERO);
    for step in &run.steps {
        let begun = Instant::now();
        let done = start(step, recipe, run, folder);
        if let Role::Serves { ready } = step.role {
            thread::sleep(ready);
        }
        if step.role == Role::Measures {
            println!("{build:9} {:?}: {} after {:.1?}", step.program, done.status, begun.elapsed());
            elapsed += begun.elapsed();
            stdout += &String::from_utf8_lossy(&done.stdout);
            stderr += &String::from_utf8_lossy(&done.stderr);
        }
    }
    if let Some((_, path)) = run.installed {
        fs::remove_file(path).unwrap();
    }
    let readings = suite.parse(run.name, &Printed { stdout: &stdout, stderr: &stderr, elapsed });
    let readings = readings.unwrap_or_else(|error| panic!("{error}\n{stdout}\n{stderr}"));
    for (row, figure) in &readings.figures {
        println!("{build:9} {:9} {:24} {:?}", row.suite.name(), row.name, figure.amount);
    }
    for (row, reason) in &readings.refused {
        println!("{build:9} {:9} {:24} {reason}", row.suite.name(), row.name);
    }
    assert_eq!(readings.figures.len() + readings.refused.len(), run.rows.len());
    readings.refused.len()
}

/// `ORIGINALS` is a folder with the sources of some of them, each in a folder of its name. `-- --ignored --nocapture`.
#[test]
#[ignore = "needs the sources in $ORIGINALS, and minutes"]
fn the_originals_are_built_run_and_read_on_glibc_and_musl() {
    let folder = PathBuf::from(std::env::var_os("ORIGINALS").expect("ORIGINALS names a folder"));
    let only = std::env::var("ORIGINAL_RUN").unwrap_or_default();
    let work = std::env::temp_dir().join(format!("originals-{}", std::process::id()));
    let (mut tried, mut refused) = (0, 0);
    for suite in OriginalSuite::ALL {
        let from = folder.join(suite.name());
        if !from.is_dir() {
            continue;
        }
        let place = suite.recognise(&|path| from.join(path).is_file()).unwrap();
        let recipe = suite.recipe(&Setting { processors: 2, is_quick: true });
        for (compiler, words) in BUILDS {
            let runs = prepare(&recipe, &from.join(&place), &work.join(suite.name()).join(compiler), compiler, words);
            for run in recipe.runs.iter().filter(|run| run.name.contains(&only)) {
                tried += 1;
                refused += measure(suite, &recipe, run, &runs, compiler);
            }
        }
    }
    fs::remove_dir_all(&work).unwrap();
    println!("{tried} runs, {refused} rows without a figure");
    assert!(tried > 0);
}
