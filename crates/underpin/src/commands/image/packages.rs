//! `underpin image build --libc`: recipes become packages, and packages an image.

use super::build;
use super::tools::{LIBRARY, Toolbox, UNWINDER};
use crate::cli::{CompilerName, ImageBuildArgs, LibcName};
use crate::exit::Exit;
use crate::plan::{BuiltPackages, ImageBuildPlan, image_store};
use crate::progress::Progress;
use crate::screen::Screen;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use underpin_image::image::{Locked, ManifestChange, ManifestPackage, ManifestSource};
use underpin_image::layer::Layers;
use underpin_image::package::{Event, Package, build_all, compiler_recipes, kept_root};
use underpin_image::recipe::{Given, Origin, RecipeError, Resolved, Source, System};
use underpin_image::sources::LayerFiles;
use underpin_image::store::{Access, Store};
use underpin_image::{Image, Target};
use underpin_report::document::image::{ImageBuildDocument, ImagePackage};
use underpin_report::text;

/// What was asked for by name.
struct Wanted {
    target: Target,
    libc: LibcName,
    /// The packages of the image itself, in their order.
    names: Vec<Given<String>>,
    /// Those, and what every image of this C library has.
    all: Vec<Given<String>>,
    /// All of them and what they need.
    recipes: Vec<Resolved>,
    command: Option<Given<String>>,
    /// What the layers are made of.
    files: LayerFiles,
}

/// Builds packages and an image of them, or shows what would be built.
///
/// # Errors
/// If a recipe is wrong, or something cannot be fetched, built or written.
pub fn run(args: ImageBuildArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
    let Some(libc) = args.libc else { bail!("--libc is missing") };
    let files = LayerFiles::read(&args.layer)?;
    let layers = Layers::of(files.layers())?;
    let toolbox = Toolbox::new(libc, args.target.as_deref(), args.toolchain, &layers)?;
    let mut wanted = Wanted::new(&args.programs, &layers, files, libc, &toolbox)?;
    if args.dry_run {
        let document = planned(&wanted, &args);
        if args.display.json {
            screen.json(&document)?;
        } else {
            screen.show(&text::image_build(&document, &screen.view(args.display.verbose)));
        }
        return Ok(Exit::Fine);
    }
    let store = image_store()?;
    let access = if args.offline { Access::Offline } else { Access::Online };
    let packages = wanted.packages(&layers, &toolbox, &store, access)?;
    let built = wanted.rooted(&packages, &toolbox, &store)?;
    build::run(&ImageBuildPlan::new(args, Some(built))?, screen)
}

/// Packages of an image for one C library, fetched and built, of which images with further programs can be made.
pub struct Prepared {
    toolbox: Toolbox,
    wanted: Wanted,
    packages: Vec<Package>,
    store: Store,
}

impl Prepared {
    /// Fetches and builds what is not in the store.
    ///
    /// # Errors
    /// If a recipe is wrong, or something cannot be fetched or built.
    pub fn new(
        names: &[PathBuf],
        layers: &[PathBuf],
        libc: LibcName,
        target: Target,
        toolchain: Option<CompilerName>,
        access: Access,
    ) -> anyhow::Result<Prepared> {
        let files = LayerFiles::read(layers)?;
        let layers = Layers::of(files.layers())?;
        let toolbox = Toolbox::new(libc, Some(target.name()), toolchain, &layers)?;
        let mut wanted = Wanted::new(names, &layers, files, libc, &toolbox)?;
        let store = image_store()?;
        let packages = wanted.packages(&layers, &toolbox, &store, access)?;
        Ok(Prepared { toolbox, wanted, packages, store })
    }

    /// An image of the packages and further programs, with the kernel of a lock if one is given.
    ///
    /// # Errors
    /// If something cannot be fetched, read or written.
    pub fn image(&self, args: ImageBuildArgs, programs: &[PathBuf], lock: Option<Locked>) -> anyhow::Result<Image> {
        let mut built = self.wanted.rooted(&self.packages, &self.toolbox, &self.store)?;
        built.programs.extend(programs.iter().cloned());
        let mut plan = ImageBuildPlan::new(args, Some(built))?;
        plan.locked = lock.unwrap_or(plan.locked);
        Ok(build::machine(&plan)?.1.image)
    }
}

/// Fetches and builds what is not in the store, with progress.
///
/// # Errors
/// As for [`build_all`].
pub fn packages(
    recipes: &[Resolved],
    toolbox: &Toolbox,
    store: &Store,
    access: Access,
) -> anyhow::Result<Vec<Package>> {
    std::fs::create_dir_all(store.folder()).with_context(|| store.folder().display().to_string())?;
    let tools = toolbox.ready(recipes, store, access)?;
    let progress = Progress::words();
    let tell = |event: Event<'_>| match event {
        Event::Fetching(name) => progress.say(format!("fetching {name} ...")),
        Event::Building(name, left) => progress.say(format!("building {name} ({left} left) ...")),
        Event::Done(_) => {}
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let packages = build_all(store, recipes, &tools, access, processors, &tell)?;
    progress.clear();
    Ok(packages)
}

impl Wanted {
    fn new(
        given: &[PathBuf],
        layers: &Layers,
        files: LayerFiles,
        libc: LibcName,
        toolbox: &Toolbox,
    ) -> anyhow::Result<Wanted> {
        let (mut names, mut command) = (Vec::new(), None);
        for name in given {
            let name = name.display().to_string();
            match layers.image(&name) {
                Some(image) => {
                    names.extend(image.packages.iter().cloned());
                    command = command.or_else(|| image.command.clone());
                }
                None if layers.recipe(&name).is_none() => {
                    return Err(RecipeError::Unknown { name, by: None }.into());
                }
                None => names.push(of_command_line(&name)),
            }
        }
        let mut all = names.clone();
        if libc == LibcName::Glibc {
            anyhow::ensure!(
                layers.recipe(LIBRARY).is_some(),
                "no layer has a recipe `{LIBRARY}`, so recipes are built with --libc musl; --layer names a folder with one"
            );
            all.push(of_command_line(LIBRARY));
        }
        let mut recipes = layers.closure(&all, &toolbox.selection)?;
        let is_of_rust = recipes.iter().any(|recipe| recipe.system.value == System::Cargo);
        if libc == LibcName::Glibc && is_of_rust && layers.recipe(UNWINDER).is_some() {
            all.push(of_command_line(UNWINDER));
            recipes = layers.closure(&all, &toolbox.selection)?;
        }
        Ok(Wanted { target: toolbox.target, libc, names, all, recipes, command, files })
    }

    /// Fetches and builds all of them, and then the compiler's own libraries that the results turn out to load. With musl those are
    /// linked in.
    fn packages(
        &mut self,
        layers: &Layers,
        toolbox: &Toolbox,
        store: &Store,
        access: Access,
    ) -> anyhow::Result<Vec<Package>> {
        let made = packages(&self.recipes, toolbox, store, access)?;
        if self.libc != LibcName::Glibc {
            return Ok(made);
        }
        // The C library is most of what is there, and loads none of them.
        let others: Vec<&Package> = made.iter().filter(|package| package.recipe.name != LIBRARY).collect();
        let found = compiler_recipes(&others)?;
        let known = found.into_iter().filter(|name| layers.recipe(name).is_some());
        let more: Vec<Given<String>> = known.map(of_command_line).collect();
        if more.is_empty() {
            return Ok(made);
        }
        self.all.extend(more);
        self.recipes = layers.closure(&self.all, &toolbox.selection)?;
        packages(&self.recipes, toolbox, store, access)
    }

    /// The root file system, and what the image and its documents say about it.
    fn rooted(&self, packages: &[Package], toolbox: &Toolbox, store: &Store) -> anyhow::Result<BuiltPackages> {
        let of = |name: &Given<String>| packages.iter().find(|package| package.recipe.name == name.value);
        let mut in_image: Vec<&Package> = Vec::new();
        for package in self.names.iter().filter_map(of) {
            if !in_image.iter().any(|known| known.key == package.key) {
                in_image.push(package);
            }
        }
        // What was built for others is there for their loaders: an image has those of its files that its programs need.
        let needed: Vec<&Package> =
            packages.iter().filter(|package| !in_image.iter().any(|known| known.key == package.key)).collect();
        let (rooted, folder) = kept_root(store, &in_image, &needed)?;
        let (all, rest) = (folder.join("all"), folder.join("rest"));
        for program in &rooted.programs {
            let owner = rooted.owners.get(program).map_or("", String::as_str);
            // A library of a recipe may bring an allocator.
            let recipes = packages.iter().map(|package| package.recipe.name.as_str());
            toolbox.confirm(&all.join(program), owner, &recipes.collect::<Vec<_>>())?;
        }
        let command = self.command.as_ref().map(|command| {
            let path = Path::new(command.value.trim_start_matches('/'));
            if rooted.owners.contains_key(path) {
                return Ok(Path::new("/").join(path));
            }
            let reason = format!("no package of the image has `{}`, which it is to start", command.value);
            Err(RecipeError::At { file: command.origin.file.clone(), line: command.origin.line, reason })
        });
        let version = |name: &str| packages.iter().find(|package| package.recipe.name == name);
        let version = |name: &str| version(name).map_or("", |package| package.recipe.version.value.as_str());
        Ok(BuiltPackages {
            programs: rooted.programs.iter().map(|path| all.join(path)).collect(),
            owners: rooted
                .owners
                .into_iter()
                .map(|(path, name)| (path, format!("{name} {}", version(&name))))
                .collect(),
            sysroot: all,
            needed: needed.into_iter().map(|package| (package.stage.clone(), words(package))).collect(),
            rest,
            command: command.transpose()?,
            manifest: packages.iter().map(|package| self.manifest(package)).collect(),
            packages: packages.iter().map(|package| listed(&package.recipe, Some(package))).collect(),
        })
    }

    /// A package as the image's manifest has it.
    fn manifest(&self, package: &Package) -> ManifestPackage {
        let recipe = &package.recipe;
        let appends = recipe.appends.iter().map(|append| (append.file.display().to_string(), append.sha256.clone()));
        let patches = recipe.patches.iter().map(|patch| (patch.value.file.display().to_string(), patch.value.sha256()));
        let (from, sum) = match &recipe.source.value {
            Source::Debian { name, sha256 } => (ManifestSource::Debian(name.clone()), Some(sha256.clone())),
            Source::Deb { name, sha256 } => {
                (ManifestSource::Deb(name.clone()), sha256.get(self.target.debian()).cloned())
            }
            Source::Crate(name) => (ManifestSource::Crate(name.clone()), None),
            Source::Folder(path) => (ManifestSource::Folder(path.display().to_string()), None),
        };
        let changes = appends.chain(patches).map(|(file, sha256)| ManifestChange { file, sha256 });
        let files = recipe.files.values().filter_map(|file| self.files.with(&file.value));
        ManifestPackage {
            name: recipe.name.clone(),
            version: recipe.version.value.clone(),
            licence: recipe.licence.value.clone(),
            source: recipe.source.value.words(),
            from: Some(from),
            suite: recipe.suite.as_ref().map(|suite| suite.value.clone()),
            source_sha256: sum,
            key: package.key.clone(),
            recipe: self.files.named(&recipe.version.origin.file),
            changed_by: changes.chain(files).collect(),
        }
    }
}

/// Name and version.
fn words(package: &Package) -> String {
    format!("{} {}", package.recipe.name, package.recipe.version.value)
}

fn of_command_line(name: &str) -> Given<String> {
    let origin = Origin { layer: String::new(), file: "the command line".into(), line: 1 };
    Given { value: name.to_owned(), origin }
}

fn planned(wanted: &Wanted, args: &ImageBuildArgs) -> ImageBuildDocument {
    let command = wanted.command.as_ref().or(wanted.names.first()).map_or("", |name| name.value.as_str());
    ImageBuildDocument {
        schema: underpin_report::document::SchemaTag::new(),
        target: if args.is_container() { wanted.target.container() } else { wanted.target.name() }.to_owned(),
        folder: super::raw(&args.output),
        dry_run: true,
        unchanged: false,
        command: command.into(),
        kernel: None,
        container: None,
        initramfs_bytes: None,
        initramfs_sha256: None,
        format: (!args.is_container())
            .then(|| args.format(wanted.target))
            .flatten()
            .map(|format| format.name().to_owned()),
        disk: None,
        packages: wanted.recipes.iter().map(|recipe| listed(recipe, None)).collect(),
        files: Vec::new(),
        remarks: Vec::new(),
    }
}

fn listed(recipe: &Resolved, package: Option<&Package>) -> ImagePackage {
    let built = package.filter(|package| !package.cached);
    ImagePackage {
        name: recipe.name.clone(),
        version: recipe.version.value.clone(),
        licence: recipe.licence.value.clone(),
        source: recipe.source.value.words(),
        key: package.map(|package| package.key.clone()),
        cached: package.is_some_and(|package| package.cached),
        seconds: built.map(|package| package.record.seconds.iter().map(|(_, seconds)| seconds).sum()),
        appends: recipe.appends.iter().map(|append| append.file.display().to_string()).collect(),
    }
}
