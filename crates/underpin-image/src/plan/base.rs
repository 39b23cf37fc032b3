//! What every image has besides its programs.

use super::{ACCOUNT, Around, Because, Recipe, Surroundings};
use crate::{Entry, ImageError, Target, Tree, init};
use std::path::Path;

/// What every image has.
pub(super) fn base(recipe: &Recipe) -> Result<Tree, ImageError> {
    match &recipe.around {
        Around::Machine => machine_base(recipe.target, recipe.time),
        Around::Container(surroundings) => {
            let mut tree = common(recipe.time)?;
            container(&mut tree, surroundings)?;
            Ok(tree)
        }
    }
}

/// What a machine needs around any files: a first process of ours, and directories to mount on.
///
/// # Errors
/// If there is no first process for its processor.
pub fn machine_base(target: Target, time: u32) -> Result<Tree, ImageError> {
    let mut tree = common(time)?;
    machine(&mut tree, target.processor())?;
    Ok(tree)
}

fn common(time: u32) -> Result<Tree, ImageError> {
    let mut tree = Tree::new(time);
    tree.add("tmp", Entry::directory(0o1777))?;
    Ok(tree)
}

/// Directories to mount on, and the first process.
fn machine(tree: &mut Tree, processor: &'static str) -> Result<(), ImageError> {
    let program = init::program(processor).map_err(|reason| ImageError::NoInit { processor, reason })?;
    for (name, mode) in [("dev", 0o755), ("proc", 0o555), ("sys", 0o555), ("root", 0o700)] {
        tree.add(name, Entry::directory(mode))?;
    }
    tree.add(init::PATH, Entry::file(program, 0o755))
}

/// What programs of a machine read without being told to, unless the image has its own: who root is, and where localhost is
/// (hosts(5); without it a name server would be asked, which the guest does not have).
pub(super) fn usual_files() -> [(&'static str, Entry); 3] {
    let file = |text: &str| Entry::file(text.as_bytes().to_vec(), 0o644);
    [
        ("etc/group", file("root:x:0:\n")),
        ("etc/hosts", file("127.0.0.1\tlocalhost\n::1\tlocalhost\n")),
        ("etc/passwd", file("root:x:0:0:root:/root:/bin/sh\n")),
    ]
}

/// Accounts: programs ask who they are, and runtimes for the group of a user. A user's number gets a line of its own.
fn container(tree: &mut Tree, surroundings: &Surroundings) -> Result<(), ImageError> {
    let own = surroundings.user.split(':').map(str::parse::<u32>).collect::<Result<Vec<_>, _>>().unwrap_or_default();
    let (mut users, mut groups) = (account("root", 0, 0), group("root", 0));
    users.push_str(&account("nonroot", ACCOUNT, ACCOUNT));
    groups.push_str(&group("nonroot", ACCOUNT));
    let known = |id: &u32| *id == 0 || *id == ACCOUNT;
    if let Some(user) = own.first().filter(|user| !known(user)) {
        users.push_str(&account("app", *user, *own.get(1).unwrap_or(user)));
    }
    if let Some(own) = own.get(1).or(own.first()).filter(|group| !known(group)) {
        groups.push_str(&group("app", *own));
    }
    tree.add("etc", Entry::directory(0o755))?;
    tree.add("etc/passwd", Entry::file(users.into_bytes(), 0o644))?;
    tree.add("etc/group", Entry::file(groups.into_bytes(), 0o644))
}

fn account(name: &str, user: u32, group: u32) -> String {
    format!("{name}:x:{user}:{group}:{name}:/:/sbin/nologin\n")
}

fn group(name: &str, id: u32) -> String {
    format!("{name}:x:{id}:\n")
}

pub(super) fn usual(path: &Path) -> Because {
    if Path::new("/").join(path) == Path::new(init::PATH) { Because::Init } else { Because::Usual }
}
