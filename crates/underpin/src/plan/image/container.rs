//! What `underpin image build --target oci` puts around its programs: the application, its interpreter's library, the allocator,
//! and how all of it starts.

use super::{PATH, environment, ruby};
use crate::cli::ImageBuildArgs;
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use underpin_image::oci::{self, Config, Form, Output, Settings};
use underpin_image::plan::{ACCOUNT, Because, Included, LayerPer, Plan, Source, Surroundings};
use underpin_malloc::{Choice, Inherit, Malloc, Program, Store, prepare};

/// Where an application is.
pub(super) const APP: &str = "/app";
/// What underpin itself adds.
pub(super) const OWN: &str = "/usr/lib/underpin";

/// What is known of a container before its programs are looked at.
pub(super) struct Contents {
    pub included: Vec<Included>,
    pub surroundings: Surroundings,
    pub remarks: Vec<String>,
    /// Arguments of the first program that always come first.
    arguments: Vec<String>,
    directory: String,
    labels: BTreeMap<String, String>,
}

impl Contents {
    /// The programs are files of this machine. May run an interpreter that is among them, to ask for its folders.
    pub fn new(args: &ImageBuildArgs, programs: &[PathBuf], sysroot: Option<&Path>) -> anyhow::Result<Contents> {
        if args.kernel.is_some() || args.update || args.offline && args.fips.is_none() {
            bail!("a container has no kernel: --kernel, --update and --offline are for machines (--target qemu-...)");
        }
        if args.format.is_some() || args.size.is_some() {
            bail!("a container has no disk: --format and --size are for machines (--target qemu-...)");
        }
        let user = args.user.clone().unwrap_or_else(|| ACCOUNT.to_string());
        if user.is_empty() {
            bail!("--user: expected UID, UID:GID or a name; root is 0");
        }
        let given: Vec<OsString> = args.env.iter().map(OsString::from).collect();
        let variables = environment(&given, &[("PATH", PATH)])?.into_iter();
        let text = |word: OsString| word.to_string_lossy().into_owned();
        let without = args.without.iter().map(|name| (*name).into()).collect();
        let surroundings = Surroundings {
            user,
            environment: variables.map(|(name, value)| (text(name), text(value))).collect(),
            without,
        };
        let mut contents = Contents {
            included: Vec::new(),
            surroundings,
            remarks: Vec::new(),
            arguments: Vec::new(),
            directory: "/".to_owned(),
            labels: BTreeMap::new(),
        };
        if let Some(app) = &args.app {
            contents.application(app, args, programs, sysroot)?;
        }
        if let (Some(malloc), Some(program)) = (&args.malloc, programs.first()) {
            contents.allocator(malloc, program)?;
        }
        if let Some(file) = &args.fips {
            let found = super::fips::set_up(file.as_deref(), args, sysroot)?;
            contents.included.extend(found.provider.files);
            contents.included.extend(programs.iter().any(|program| ruby::is_ruby(program)).then(ruby::fips));
            contents.labels.extend(found.labels);
            contents.remarks.push(found.remark);
        }
        Ok(contents)
    }

    fn application(
        &mut self,
        app: &Path,
        args: &ImageBuildArgs,
        programs: &[PathBuf],
        sysroot: Option<&Path>,
    ) -> anyhow::Result<()> {
        let folder = app.canonicalize().with_context(|| format!("--app {}", app.display()))?;
        if !folder.is_dir() {
            bail!("--app {}: not a folder", app.display());
        }
        self.included.push(Included {
            from: Source::Host(folder.clone()),
            to: APP.into(),
            because: Because::Application,
        });
        APP.clone_into(&mut self.directory);
        let Some(interpreter) = programs.first().filter(|program| ruby::is_ruby(program)) else { return Ok(()) };
        if sysroot.is_some() {
            self.remarks.push(
                "Ruby of a --root is not asked for its library: name its folders with --include, and those of its gems"
                    .to_owned(),
            );
            return Ok(());
        }
        let found = ruby::ask(interpreter, &folder, args.command.get(1..).unwrap_or_default())?;
        self.included.extend(found.included());
        self.arguments.extend(found.arguments());
        self.labels.extend(found.labels());
        for (name, value) in found.variables() {
            let path = self.surroundings.environment.iter_mut().find(|(known, _)| *known == name);
            match path {
                Some((_, known)) if name == "PATH" => *known = format!("{value}:{known}"),
                Some(_) => {}
                None => self.surroundings.environment.push((name, value)),
            }
        }
        Ok(())
    }

    /// The object comes into the image, and the variables that preload and set it: for the program and all that it starts.
    fn allocator(&mut self, malloc: &Malloc, program: &Path) -> anyhow::Result<()> {
        let program = Program::find(program.as_os_str(), None)?;
        let known = self.surroundings.environment.clone();
        let variable = |name: &OsStr| {
            known.iter().rfind(|(known, _)| OsStr::new(known) == name).map(|(_, value)| OsString::from(value))
        };
        let prepared = prepare(malloc, &program, &Store::usual_places(), |name| variable(OsStr::new(name)))?;
        let place = prepared.object.as_ref().map(|object| place(malloc, object));
        for (name, value) in prepared.changes(0, Inherit::Follow, false, variable) {
            let (name, mut value) = (name.to_string_lossy().into_owned(), value.unwrap_or_default());
            if let (Some(object), Some(place), "LD_PRELOAD") = (&prepared.object, &place, name.as_str()) {
                value = value.to_string_lossy().replace(&*object.to_string_lossy(), &place.to_string_lossy()).into();
            }
            self.surroundings.environment.retain(|(known, _)| *known != name);
            self.surroundings.environment.push((name, value.to_string_lossy().into_owned()));
        }
        if let (Some(object), Some(to)) = (prepared.object.clone(), place) {
            let because = Because::Included { what: format!("--malloc {}", malloc.label) };
            self.included.push(Included { from: Source::Host(object), to, because });
        }
        self.labels.insert("underpin.malloc".to_owned(), prepared.description.clone());
        self.remarks.extend(prepared.remainders());
        Ok(())
    }
}

/// A library of the system's stays where it is; any other gets a place and a name that says what it is.
fn place(malloc: &Malloc, object: &Path) -> PathBuf {
    match &malloc.choice {
        Choice::OnBoard(kind) => Path::new(OWN).join(format!("lib{}.so", kind.name())),
        _ if object.starts_with("/usr") => object.to_owned(),
        _ => Path::new(OWN).join(object.file_name().unwrap_or_default()),
    }
}

/// How an image for containers is written.
pub struct Container {
    /// What starts, and as whom.
    pub settings: Settings,
    /// How the files are divided.
    pub layer_per: LayerPer,
    /// A folder or a file.
    pub output: Output,
    /// Whether an image that is there is replaced.
    pub replace: bool,
}

impl Container {
    pub(super) fn new(args: &ImageBuildArgs, plan: &Plan, contents: Contents, time: u32) -> anyhow::Result<Container> {
        let (program, command) = started(args, plan)?;
        let program = program.to_str().with_context(|| {
            format!("{}: a container's configuration is UTF-8, which this name is not", program.display())
        })?;
        let environment = contents.surroundings.environment.iter().map(|(name, value)| format!("{name}={value}"));
        let mut entrypoint = vec![program.to_owned()];
        entrypoint.extend(contents.arguments);
        let config = Config {
            architecture: plan.target.debian().to_owned(),
            entrypoint,
            command,
            environment: environment.collect(),
            user: contents.surroundings.user,
            directory: contents.directory,
        };
        let settings = Settings { config, labels: contents.labels, tag: "latest".to_owned(), time };
        let is_file = args.output.extension() == Some(OsStr::new("tar"));
        let output = if is_file { Output::Archive } else { Output::Folder };
        Ok(Container {
            settings,
            layer_per: args.layer_per.map(LayerPer::from).unwrap_or_default(),
            output,
            replace: args.force && replaceable(&args.output)?,
        })
    }
}

/// The program that is started, and the arguments that may be replaced.
fn started(args: &ImageBuildArgs, plan: &Plan) -> anyhow::Result<(PathBuf, Vec<String>)> {
    let Some((first, rest)) = args.command.split_first() else { return Ok((plan.command.clone(), Vec::new())) };
    let name = Path::new(first);
    let is_name = name.components().count() == 1;
    let is_it = |place: &&PathBuf| *place == name || is_name && place.file_name() == name.file_name();
    let given = args.programs.iter().position(|given| given == name).and_then(|index| plan.programs.get(index));
    let Some(place) = plan.programs.iter().find(is_it).or(given) else {
        let known: Vec<String> = plan.programs.iter().map(|program| program.display().to_string()).collect();
        bail!("-- {first}: expected one of the programs of the image ({})", known.join(", "));
    };
    Ok((place.clone(), rest.to_vec()))
}

/// Whether an image is there. Anything else is the user's own, and not ours to remove.
fn replaceable(path: &Path) -> anyhow::Result<bool> {
    if path.symlink_metadata().is_err() {
        return Ok(false);
    }
    match oci::form(path) {
        Ok(Some(Form::Layout | Form::OciArchive)) => Ok(true),
        _ => bail!("{}: --force replaces only images in OCI's layout, which this is not", path.display()),
    }
}
