//! Where the fused library of a program is: `.underpin/fused-PROGRAM/NUMBER/` beside the program, with the file, a folder
//! of links to it, and a list of what is in it (SPDX). A number is used once for as long as its folder is there, so what a running or replaced program names is
//! never changed.

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
use underpin_fuse::{Fused, Names};
use underpin_rewrite::plan::{FARMS, FUSED};

/// The folder of links in that of a fusion.
const LINKS: &str = "links";

/// The folder of one fusion.
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

    fn links(&self) -> PathBuf {
        self.folder.join(LINKS)
    }

    /// What the file is called and how it is reached.
    pub fn names(&self) -> Names {
        Names {
            soname: self.file.file_name().unwrap_or_default().as_bytes().into(),
            links: self.links().as_os_str().as_bytes().into(),
            only_links: false,
        }
    }

    /// Writes links and file.
    ///
    /// # Errors
    /// If one cannot be written; nothing is left then.
    pub fn write(&self, fused: &Fused, list: &[u8]) -> anyhow::Result<()> {
        let failed = || format!("{} cannot be written", self.folder.display());
        fs::create_dir_all(self.folder.parent().unwrap_or(&self.folder)).with_context(failed)?;
        // Fails if another underpin has taken the number meanwhile, whose files are not to be removed then.
        fs::create_dir(&self.folder).with_context(failed)?;
        let written = self.fill(fused, list).with_context(failed);
        if written.is_err() {
            self.remove();
        }
        written
    }

    fn fill(&self, fused: &Fused, list: &[u8]) -> io::Result<()> {
        let links = self.links();
        fs::create_dir(&links)?;
        for name in &fused.links {
            symlink(&self.file, links.join(OsStr::from_bytes(name)))?;
        }
        fs::write(self.list(), list)?;
        let mut file = fs::File::create_new(&self.file)?;
        file.write_all(&fused.bytes)?;
        file.set_permissions(fs::Permissions::from_mode(0o755))?;
        file.sync_all()?;
        fs::File::open(&self.folder)?.sync_all()
    }

    /// Whether these links and this file are here, whole.
    pub fn holds(&self, fused: &Fused) -> bool {
        let leads = |name: &bstr::BString| {
            fs::read_link(self.links().join(OsStr::from_bytes(name))).is_ok_and(|target| target == self.file)
        };
        let has_length = |file: &fs::Metadata| file.is_file() && file.len() == fused.bytes.len() as u64;
        fs::symlink_metadata(&self.file).is_ok_and(|file| has_length(&file))
            && fused.links.iter().all(leads)
            && fs::read(&self.file).is_ok_and(|bytes| bytes == fused.bytes)
    }

    /// Removes what [`Place::write`] makes, whatever was done to the file since, and nothing else: a folder in which
    /// something else is stays.
    pub fn remove(&self) {
        for entry in fs::read_dir(self.links()).into_iter().flatten().flatten() {
            if fs::read_link(entry.path()).is_ok_and(|target| target == self.file) {
                let _ = fs::remove_file(entry.path());
            }
        }
        let _ = fs::remove_dir(self.links());
        let _ = fs::remove_file(self.list());
        let _ = fs::remove_file(&self.file);
        // Each only if it is empty.
        let above = self.folder.ancestors().take(3);
        above.for_each(|folder| drop(fs::remove_dir(folder)));
    }

    /// A program in a folder that names the file.
    fn named_in(&self, folder: &Path) -> Option<PathBuf> {
        let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        // A FIFO would wait for a writer.
        let mut files = files.filter(|file| fs::metadata(file).is_ok_and(|status| status.is_file()));
        files.find(|file| file_of(file).as_ref() == Some(&self.file))
    }

    /// The place of a fused library by its path; `None` if it is not one of ours.
    fn at(file: &Path) -> Option<Place> {
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
        for (program, place) in &self.0 {
            if file_of(program).as_ref() == Some(&place.file) {
                continue;
            }
            let folder = fs::canonicalize(program).ok().and_then(|path| Some(path.parent()?.to_owned()));
            // Below the folder are FARMS, one folder for the program and one for each number.
            let beside = folder.as_deref().filter(|folder| place.folder.ancestors().nth(3) == Some(*folder));
            match beside.map(|folder| place.named_in(folder)) {
                Some(None) => place.remove(),
                Some(Some(other)) => {
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
