//! Where the fused library of a program is: `.underpin/fused-PROGRAM/NUMBER/` beside the program, with the file, a folder
//! of links to it, and a list of what is in it (SPDX). A number is used once for as long as its folder is there, so what a running or replaced program names is
//! never changed.

use super::running;
use crate::screen;
use anyhow::{Context, ensure};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use underpin_elf::{Elf, FileSource};
use underpin_fuse::{Fused, Names, note};
use underpin_rewrite::plan::{FARMS, FUSED};

/// The folder of links in that of a fusion.
const LINKS: &str = "links";

/// The folder of one fusion.
#[derive(Clone)]
pub struct Place {
    folder: PathBuf,
    file: PathBuf,
}

impl Place {
    /// Where the library is that a program names first, if it is a merged one.
    pub fn of(program: &Path) -> Option<Place> {
        Place::at(&file_of(program)?)
    }

    /// The first that is free beside a program.
    ///
    /// # Errors
    /// If its path cannot be written into a search path.
    pub fn next_of(program: &Path) -> anyhow::Result<Place> {
        let parent = program.parent().context("no folder")?;
        Place::next_in(&parent.join(FARMS), program)
    }

    /// The first that is free for a program in a folder.
    ///
    /// # Errors
    /// If its path cannot be written into a search path.
    pub fn next_in(folder: &Path, program: &Path) -> anyhow::Result<Place> {
        let of = |text: &OsStr| text.to_str().map(str::to_owned).context("its path is not UTF-8");
        let (parent, name) = (of(folder.as_os_str())?, of(program.file_name().context("no name")?)?);
        // A colon or semicolon would end the folder's name in a search path, a dollar sign begin a token.
        ensure!(
            !parent.contains([':', '$', ';']) && !name.contains([':', '$', ';']),
            "its path has one of : $ ; in it"
        );
        let all = Path::new(&parent).join(format!("{FUSED}{name}"));
        let free = (1_u32..).map(|number| all.join(number.to_string())).find(|folder| !folder.exists());
        let folder = free.context("no number is free")?;
        Ok(Place { file: folder.join(format!("{name}.fused.so")), folder })
    }

    /// The fused library.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The list of what is in it (SPDX), beside it.
    pub fn list(&self) -> PathBuf {
        self.file.with_extension("spdx.json")
    }

    /// The real paths of the programs that were to use the file when it was written, each ended by a zero byte; only beside
    /// the file of a group.
    fn users(&self) -> PathBuf {
        self.file.with_extension("programs")
    }

    /// What the program starts with for its modules, beside the file; only if it was fused with those.
    fn start(&self) -> PathBuf {
        self.file.with_extension("modules.json")
    }

    /// The content of that file.
    pub(super) fn start_list(&self) -> Option<Vec<u8>> {
        fs::read(self.start()).ok()
    }

    /// A file that is there if the folder was left for a process that runs with the file, and nothing else needs it.
    pub(super) fn mark(&self) -> PathBuf {
        self.file.with_extension("left")
    }

    /// The folder of all fusions of a program that are beside it.
    pub(super) fn all_of(program: &Path) -> Option<PathBuf> {
        let name = [FUSED.as_bytes(), program.file_name()?.as_bytes()].concat();
        Some(program.parent()?.join(FARMS).join(OsStr::from_bytes(&name)))
    }

    /// The folder that this fusion is in, with others of the same program or group.
    pub(super) fn all(&self) -> Option<&Path> {
        self.folder.parent()
    }

    /// The fusion in a folder that was left for a process; `None` if it is none.
    pub(super) fn marked(folder: &Path) -> Option<Place> {
        let files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
        let mark = files.into_iter().find(|file| file.extension() == Some(OsStr::new("left")))?;
        Place::at(&mark.with_extension("so"))
    }

    /// Notes the programs that are to use the file, beside those of its group that do.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_users(&self, programs: &[PathBuf]) -> anyhow::Result<()> {
        let others = self.group().map(|(_, others)| others).unwrap_or_default();
        let all: BTreeSet<&PathBuf> = programs.iter().chain(&others).collect();
        let list: Vec<u8> = all.into_iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
        fs::write(self.users(), list).with_context(|| format!("{} cannot be written", self.users().display()))
    }

    fn read_users(&self) -> Vec<PathBuf> {
        let list = fs::read(self.users()).unwrap_or_default();
        let paths = list.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect()
    }

    /// The folder and the programs of the group whose file it is, as far as they still name it; `None` if it is of one program.
    pub fn group(&self) -> Option<(PathBuf, Vec<PathBuf>)> {
        let mut users = self.read_users();
        users.retain(|program| file_of(program).as_ref() == Some(&self.file));
        let folder = self.folder.ancestors().nth(3)?.to_owned();
        (!users.is_empty()).then_some((folder, users))
    }

    /// Whether it is in a folder of fusions in this one.
    pub fn is_in(&self, folder: &Path) -> bool {
        self.folder.ancestors().nth(3) == Some(folder)
    }

    fn links(&self) -> PathBuf {
        self.folder.join(LINKS)
    }

    /// The file as its links name it. The loader opens each of them, and a client of a file server that remembers no names
    /// asks for every folder of an absolute path: 9 more requests for each of 180 libraries in a tree of Spack.
    fn target(&self) -> PathBuf {
        Path::new("..").join(self.file.file_name().unwrap_or_default())
    }

    /// Whether a link is one to the file; earlier versions wrote its whole path.
    fn leads_here(&self, link: &Path) -> bool {
        fs::read_link(link).is_ok_and(|target| target == self.target() || target == self.file)
    }

    /// What keeps a member's name from leading to the file when something is opened by it; `None` if nothing does.
    pub(super) fn lost_name(&self, members: &[note::Merged]) -> Option<String> {
        let file = fs::File::open(&self.file).ok()?;
        let dynamic = Elf::read(&FileSource::new(file).ok()?).ok()?.dynamic?;
        let again =
            "a library that is opened by its name is loaded a second time; `underpin bind --fuse` makes it anew";
        let links = self.links();
        let first = dynamic.rpath.as_deref().and_then(|list| list.split(|byte| *byte == b':').next());
        if first != Some(links.as_os_str().as_bytes()) {
            return Some(format!("{} does not search its links any more: {again}", self.file.display()));
        }
        let names = members.iter().map(|member| &member.soname);
        let names = names.filter(|name| !name.is_empty() && !name.contains(&b'/'));
        let mut lost = names.map(|name| links.join(OsStr::from_bytes(name))).filter(|link| !self.leads_here(link));
        Some(format!("{} does not lead to the merged file: {again}", lost.next()?.display()))
    }

    /// What the file is called and how it is reached.
    pub fn names(&self) -> Names {
        Names {
            soname: self.file.file_name().unwrap_or_default().as_bytes().into(),
            links: self.links().as_os_str().as_bytes().into(),
            only_links: false,
        }
    }

    /// Writes links and file, the list of what is in it, and what the program starts with for its modules.
    ///
    /// # Errors
    /// If one cannot be written; nothing is left then.
    pub fn write(&self, fused: &Fused, list: &[u8], start: Option<&[u8]>) -> anyhow::Result<()> {
        let failed = || format!("{} cannot be written", self.folder.display());
        fs::create_dir_all(self.folder.parent().unwrap_or(&self.folder)).with_context(failed)?;
        // Fails if another underpin has taken the number meanwhile, whose files are not to be removed then.
        fs::create_dir(&self.folder).with_context(failed)?;
        let written = self.fill(fused, list, start).with_context(failed);
        if written.is_err() {
            self.remove();
        }
        written
    }

    fn fill(&self, fused: &Fused, list: &[u8], start: Option<&[u8]>) -> io::Result<()> {
        let links = self.links();
        fs::create_dir(&links)?;
        let target = self.target();
        for name in &fused.links {
            symlink(&target, links.join(OsStr::from_bytes(name)))?;
        }
        fs::write(self.list(), list)?;
        start.map_or(Ok(()), |start| fs::write(self.start(), start))?;
        let mut file = fs::File::create_new(&self.file)?;
        file.write_all(&fused.bytes)?;
        file.set_permissions(fs::Permissions::from_mode(0o755))?;
        file.sync_all()?;
        fs::File::open(&self.folder)?.sync_all()
    }

    /// Whether these links and this file are here, whole.
    pub fn holds(&self, fused: &Fused) -> bool {
        let leads = |name: &bstr::BString| self.leads_here(&self.links().join(OsStr::from_bytes(name)));
        let has_length = |file: &fs::Metadata| file.is_file() && file.len() == fused.bytes.len() as u64;
        fs::symlink_metadata(&self.file).is_ok_and(|file| has_length(&file))
            && fused.links.iter().all(leads)
            && fs::read(&self.file).is_ok_and(|bytes| bytes == fused.bytes)
    }

    /// Removes what [`Place::write`] makes, whatever was done to the file since, and nothing else: a folder in which
    /// something else is stays.
    pub fn remove(&self) {
        for entry in fs::read_dir(self.links()).into_iter().flatten().flatten() {
            if self.leads_here(&entry.path()) {
                let _ = fs::remove_file(entry.path());
            }
        }
        let _ = fs::remove_dir(self.links());
        let _ = fs::remove_file(self.list());
        let _ = fs::remove_file(self.start());
        let _ = fs::remove_file(self.users());
        let _ = fs::remove_file(&self.file);
        let _ = fs::remove_file(self.mark());
        // Each only if it is empty.
        let above = self.folder.ancestors().take(3);
        above.for_each(|folder| drop(fs::remove_dir(folder)));
    }

    /// Removes it unless a program of its group, or of the folder that it is in, names the file.
    pub fn remove_if_unused(&self) {
        if self.named_by(self.folder.ancestors().nth(3)).is_none() {
            running::remove(self);
        }
    }

    /// A program of its group or in a folder that names the file.
    fn named_by(&self, folder: Option<&Path>) -> Option<PathBuf> {
        let beside = folder.into_iter().flat_map(fs::read_dir).flatten().flatten().map(|entry| entry.path());
        let files = self.read_users().into_iter().chain(beside);
        // A FIFO would wait for a writer.
        let mut files = files.filter(|file| fs::metadata(file).is_ok_and(|status| status.is_file()));
        files.find(|file| file_of(file).as_ref() == Some(&self.file))
    }

    /// The place of a fused library by its path; `None` if it is not one of ours.
    pub(super) fn at(file: &Path) -> Option<Place> {
        let folder = file.parent()?;
        let all = folder.parent()?;
        let ours = all.file_name()?.as_bytes().starts_with(FUSED.as_bytes()) && all.parent()?.ends_with(FARMS);
        ours.then(|| Place { folder: folder.to_owned(), file: file.to_owned() })
    }
}

/// The fused libraries that programs name, to be removed when they do not any more.
pub struct Fusions(Vec<(PathBuf, Place)>);

impl Fusions {
    /// Those that these programs name now.
    pub fn of(programs: &[PathBuf]) -> Fusions {
        let named = |path: &PathBuf| Some((path.clone(), Place::of(path)?));
        Fusions(programs.iter().filter_map(named).collect())
    }

    /// The real paths of the programs.
    pub fn programs(&self) -> BTreeSet<PathBuf> {
        self.0.iter().filter_map(|(program, _)| fs::canonicalize(program).ok()).collect()
    }

    /// Removes those that nothing names any more: neither their program nor a copy of it in the same folder. What is beside
    /// another program, of which this one is a copy, stays.
    pub fn remove_unused(&self) {
        self.remove_unnamed();
        running::remove_left(self.0.iter().filter_map(|(_, place)| Some(place.all()?.to_owned())));
    }

    /// Removes what was left beside programs for processes that have ended, whatever the programs name now.
    pub fn remove_left(programs: &[PathBuf]) {
        running::remove_left(programs.iter().filter_map(|program| Place::all_of(program)));
    }

    fn remove_unnamed(&self) {
        for (program, place) in &self.0 {
            if file_of(program).as_ref() == Some(&place.file) {
                continue;
            }
            let folder = fs::canonicalize(program).ok().and_then(|path| Some(path.parent()?.to_owned()));
            // Below the folder are FARMS, one folder for the program and one for each number.
            let beside = folder.as_deref().filter(|folder| place.is_in(folder));
            let of_group = fs::canonicalize(program).is_ok_and(|path| place.read_users().contains(&path));
            match place.named_by(beside) {
                None if beside.is_some() || of_group => running::remove(place),
                // The others of its group go on with it.
                Some(_) if of_group => {}
                Some(other) => {
                    screen::note(&format!("{}: left, {} names it", place.folder.display(), other.display()));
                }
                None => screen::note(&format!("{}: left, another program may name it", place.folder.display())),
            }
        }
    }
}

/// The fused library that a program names first; `None` if it names none.
pub fn file_of(program: &Path) -> Option<PathBuf> {
    let file = fs::File::open(program).ok().filter(|file| file.metadata().is_ok_and(|status| status.is_file()))?;
    let elf = Elf::read(&FileSource::new(file).ok()?).ok()?;
    let first = PathBuf::from(OsStr::from_bytes(elf.dynamic?.needed.first()?));
    Place::at(&first).map(|place| place.file)
}
