//! One package: from the store if it is there, else built in a work folder and moved into the store.

use super::log::Log;
use super::steps::{Build, is_empty};
use super::{Package, Record, Tools, stage, unpack};
use crate::recipe::{RecipeError, Resolved, Source, System};
use crate::store::{Access, Store, settle};
use crate::{ImageError, lock};
use std::fs::{self, File};
use std::path::Path;
use underpin_build::WorkLock;

const RECORD: &str = "package.json";
const STAGE: &str = "root";
/// Enough of a key for a name that a person reads.
pub(super) const SHORT: usize = 12;

/// What a build is given besides recipe and tools.
pub(super) struct How<'a> {
    /// The sources, if they are files.
    pub(super) fetched: Option<&'a Path>,
    /// How many commands may run at once.
    pub(super) jobs: usize,
    /// Whether Cargo may fetch crates.
    pub(super) access: Access,
}

/// The package of a key, if it was built.
pub(super) fn there(store: &Store, recipe: &Resolved, key: &str) -> Option<Package> {
    let folder = store.folder().join("built").join(key);
    let record = serde_json::from_slice(&fs::read(folder.join(RECORD)).ok()?).ok()?;
    Some(Package { recipe: recipe.clone(), key: key.to_owned(), stage: folder.join(STAGE), record, cached: true })
}

/// Builds a package whose sources are there. `needs`: all that it needs, directly or not.
pub(super) fn build(
    store: &Store,
    recipe: &Resolved,
    key: &str,
    needs: &[&Package],
    tools: &Tools,
    how: &How<'_>,
) -> Result<Package, ImageError> {
    let name = format!("{}-{}", recipe.name, &key[..SHORT]);
    let _lock = lock(store, &name)?;
    if let Some(package) = there(store, recipe, key) {
        return Ok(package);
    }
    let work = store.folder().join("work").join(&name);
    remove(&work)?;
    fs::create_dir_all(&work).map_err(ImageError::io(&work))?;
    let log = Log { recipe: &recipe.name, path: work.join("log") };
    let result = work.join("result");
    let mut build = Build {
        recipe,
        tools,
        log: &log,
        source: work.join("source"),
        sysroot: work.join("sysroot"),
        stage: result.join(STAGE),
        jobs: how.jobs,
        access: how.access,
        seconds: Vec::new(),
    };
    build.step("unpack", |build| {
        unpack::unpack(recipe, how.fetched, &build.source, &log)?;
        unpack::change(recipe, &build.source)?;
        stage::sysroot(needs, &build.sysroot)
    })?;
    fs::create_dir_all(&build.stage).map_err(ImageError::io(&build.stage))?;
    build.run()?;
    if let (Source::Deb { .. }, System::None) = (&recipe.source.value, recipe.system.value) {
        fs::remove_dir(&build.stage).map_err(ImageError::io(&build.stage))?;
        fs::rename(&build.source, &build.stage).map_err(ImageError::io(&build.stage))?;
    }
    stage::fill(recipe, &build.source, &build.stage)?;
    if is_empty(&build.stage) {
        return Err(RecipeError::of(&recipe.version.origin, format!("{} installed nothing", recipe.name)).into());
    }
    let record =
        Record { name: recipe.name.clone(), version: recipe.version.value.clone(), seconds: build.seconds.clone() };
    let text = serde_json::to_vec_pretty(&record).unwrap_or_default();
    fs::write(result.join(RECORD), text).map_err(ImageError::io(result.join(RECORD)))?;
    let place = store.folder().join("built").join(key);
    remove(&place)?;
    sync(&result)?;
    settle(&result, &place)?;
    remove(&work)?;
    Ok(Package { recipe: recipe.clone(), key: key.to_owned(), stage: place.join(STAGE), record, cached: false })
}

/// Everything that was written, before the name says that it is whole.
pub(super) fn sync(folder: &Path) -> Result<(), ImageError> {
    let file = File::open(folder).map_err(ImageError::io(folder))?;
    rustix::fs::syncfs(&file).map_err(|error| ImageError::io(folder)(error.into()))
}

/// A folder and all in it, if it is there.
pub(super) fn remove(folder: &Path) -> Result<(), ImageError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(ImageError::Io { path: folder.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

/// Held while a package or a root is made: a second run waits, and finds it there.
pub(super) fn lock(store: &Store, name: &str) -> Result<WorkLock, ImageError> {
    lock::take(&store.folder().join("work").join(format!("{name}.lock")))
}
