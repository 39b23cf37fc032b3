//! The variants of `underpin bench`: every allocator combined with every state of binding and every `--variant`.

use super::parameters::{ParameterSet, fill};
use crate::cli::{BenchArgs, BindState};
use crate::variants::{self, Binding, Build, BuiltProgram, Commit};
use anyhow::{Context, bail};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use underpin_bench::{CommandLine, Followed, Proof, Shell, Variant};
use underpin_malloc::Choice;
use underpin_resolve::Environment;
use underpin_sys::{RawPid, Tracee, find_program};

/// The name of a command under none of the variants that others run under.
const AS_IT_IS: &str = "as it is";

/// What varies, apart from commands and parameters.
#[derive(Debug)]
pub struct Dimensions<'a> {
    /// `--variant`, the plain one first.
    named: Vec<Variant>,
    /// `--malloc`; `None` means that the allocator is not changed. Never empty.
    allocators: Vec<Option<underpin_malloc::Malloc>>,
    /// `--bind`; empty if it was not given.
    binding: Vec<BindState>,
    /// `--build` without `--commits`; empty if it was not given.
    builds: &'a [Build],
}

impl<'a> Dimensions<'a> {
    /// The dimensions for one value of each parameter, at one commit.
    ///
    /// # Errors
    /// If a variant cannot be read.
    pub fn new(
        args: &BenchArgs,
        set: &ParameterSet,
        commit: Option<&Commit>,
        builds: &'a [Build],
    ) -> anyhow::Result<Dimensions<'a>> {
        let mut plain = plain(&args.env, set)?;
        plain.changes.extend(commit.into_iter().flat_map(|commit| commit.changes.clone()));
        let mut named = vec![plain.clone()];
        for text in &args.variant {
            named.push(from_text(&fill(text, set), &plain)?);
        }
        let mut allocators: Vec<_> = args.malloc.iter().flat_map(|list| list.0.iter().cloned()).map(Some).collect();
        let is_plain = |one: &underpin_malloc::Malloc| one.choice == Choice::System && one.settings.is_empty();
        if matches!(allocators.as_slice(), [Some(only)] if !is_plain(only)) || allocators.is_empty() {
            allocators.insert(0, None);
        }
        let mut binding = args.bind.clone();
        if let [BindState::After | BindState::Fused] = binding[..] {
            binding.insert(0, BindState::Before);
        }
        Ok(Dimensions { named, allocators, binding, builds })
    }

    /// Every variant of a command, the reference first.
    ///
    /// # Errors
    /// If the command cannot run under one of them.
    pub fn of(&self, command: &CommandLine) -> anyhow::Result<Vec<Variant>> {
        let states = self.programs(command)?;
        let mut all = Vec::new();
        for named in &self.named {
            for state in &states {
                for allocator in &self.allocators {
                    all.push(one(command, named, state, allocator.as_ref())?);
                }
            }
        }
        if all.len() > 1 {
            all.iter_mut().filter(|one| one.name.is_empty()).for_each(|one| one.name = AS_IT_IS.to_owned());
        }
        Ok(all)
    }

    /// What runs in place of the program: each build of it, or each state of binding.
    fn programs(&self, command: &CommandLine) -> anyhow::Result<Vec<State>> {
        let word = command.words().first().map(OsString::as_os_str).unwrap_or_default();
        if !self.builds.is_empty() {
            return self.builds.iter().map(|build| State::built(build, Path::new(word))).collect();
        }
        if self.binding.is_empty() {
            return Ok(vec![State { word: None, instead: None }]);
        }
        let path = std::env::var_os("PATH");
        let program = find_program(&command.from_here(word), path.as_deref())?;
        let environment = Environment::inherited();
        let binding = Binding::of(&program, &environment);
        let state = |state: &BindState| {
            let (word, instead): (_, Option<(PathBuf, Arc<dyn Proof>)>) = match state {
                BindState::Before => {
                    ("before", binding.before()?.map(|copy| (copy.path().to_owned(), Arc::new(copy) as Arc<_>)))
                }
                BindState::After => {
                    let copy = binding.after()?;
                    ("after", Some((copy.path().to_owned(), Arc::new(copy))))
                }
                BindState::Fused => {
                    let copy = variants::fused_copy(&program, &environment)?;
                    ("fused", Some((copy.path().to_owned(), Arc::new(copy))))
                }
            };
            Ok(State { word: Some(word.to_owned()), instead })
        };
        self.binding.iter().map(state).collect()
    }
}

/// A program in one state of binding, or built in one way.
#[derive(Debug)]
struct State {
    /// Its part of a variant's name.
    word: Option<String>,
    /// What runs in place of the program, and what proves that it ran.
    instead: Option<(PathBuf, Arc<dyn Proof>)>,
}

impl State {
    /// The result of a build for the program that a command's first word names.
    fn built(build: &Build, word: &Path) -> anyhow::Result<State> {
        let program = build.program(word).with_context(|| {
            let names: Vec<&str> = build.programs.keys().map(String::as_str).collect();
            format!("--build makes {}, and the command runs {}", names.join(", "), word.display())
        })?;
        let proof = Arc::new(BuiltProgram(program.to_owned()));
        Ok(State { word: Some(build.text.clone()), instead: Some((program.to_owned(), proof)) })
    }
}

/// A command under one value of each dimension.
fn one(
    command: &CommandLine,
    named: &Variant,
    state: &State,
    allocator: Option<&underpin_malloc::Malloc>,
) -> anyhow::Result<Variant> {
    let mut variant = named.clone();
    if let Some(allocator) = allocator {
        variant = variants::on_allocator(allocator, command, &variant)?;
    }
    if let Some((program, proof)) = &state.instead {
        variant.program = Some(program.clone());
        variant.proof = Some(both(variant.proof.take(), Arc::clone(proof)));
    }
    let allocator = allocator.map(|allocator| allocator.label.as_str());
    let words = [allocator, state.word.as_deref(), Some(named.name.as_str())];
    variant.name = words.into_iter().flatten().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ");
    Ok(variant)
}

/// Two proofs of one variant.
#[derive(Debug)]
struct Both(Arc<dyn Proof>, Arc<dyn Proof>);

impl Proof for Both {
    fn follow(&self, task: Tracee) -> Result<Followed, String> {
        self.0.follow(task)
    }

    fn took(&self, pid: RawPid) -> Result<(), String> {
        self.0.took(pid).and_then(|()| self.1.took(pid))
    }

    fn seen(&self, pid: RawPid) -> Result<(), String> {
        self.0.seen(pid).and_then(|()| self.1.seen(pid))
    }
}

/// Both proofs as one. Only the first may follow the task.
fn both(first: Option<Arc<dyn Proof>>, second: Arc<dyn Proof>) -> Arc<dyn Proof> {
    match first {
        Some(first) => Arc::new(Both(first, second)),
        None => second,
    }
}

fn plain(env: &[String], set: &ParameterSet) -> anyhow::Result<Variant> {
    let mut variant = Variant::default();
    for text in env.iter().map(|text| fill(text, set)) {
        let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            bail!("--env {text}: write --env NAME=VALUE");
        };
        variant.changes.push((name.into(), Some(value.into())));
    }
    Ok(variant)
}

/// `NAME=A=1 B=2 wrapper words`: leading assignments, then a wrapper, as env(1) reads its arguments.
fn from_text(text: &str, plain: &Variant) -> anyhow::Result<Variant> {
    let Some((name, rest)) = text.split_once('=').filter(|(name, _)| !name.trim().is_empty()) else {
        bail!("--variant {text}: write --variant 'NAME=VAR=VALUE', as in 'one-arena=MALLOC_ARENA_MAX=1'");
    };
    let mut variant = Variant { name: name.trim().to_owned(), ..plain.clone() };
    if rest.trim().is_empty() {
        bail!("--variant {text} changes nothing, and the unchanged command is compared in any case");
    }
    let words = CommandLine::parse(rest, &Shell::None)?;
    let mut words = words.words().iter().peekable();
    while let Some((name, value)) = words.peek().and_then(|word| assignment(word)) {
        variant.changes.push((name, Some(value)));
        words.next();
    }
    variant.wrapper = words.cloned().collect();
    Ok(variant)
}

fn assignment(word: &OsStr) -> Option<(OsString, OsString)> {
    let at = word.as_bytes().iter().position(|&byte| byte == b'=')?;
    let (name, value) = (&word.as_bytes()[..at], &word.as_bytes()[at + 1..]);
    let good = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    (!name.is_empty() && name.iter().all(good))
        .then(|| (OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec())))
}
