//! Why there is no image, or no result of one.

use std::io;
use std::path::PathBuf;

/// One sentence each: what failed, on what, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// A name that no image can have.
    #[error("`{}`: {reason}", path.display())]
    Name {
        /// The path in the image, as it was given.
        path: PathBuf,
        /// What is wrong with it, and what is expected.
        reason: &'static str,
    },
    /// A container image that cannot be run.
    #[error("{}: {reason}", path.display())]
    Container {
        /// The image.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// A FIPS provider that cannot be put into an image.
    #[error("--fips: {}: {reason}", path.display())]
    Fips {
        /// The module.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// Two entries of one name.
    #[error("`/{}` is in the image already: remove one of the two", path.display())]
    Duplicate {
        /// The path in the image.
        path: PathBuf,
    },
    /// Something below what is not a directory.
    #[error("`/{}` cannot be added: `/{}` is {found}, not a directory", path.display(), parent.display())]
    NotDirectory {
        /// The path in the image.
        path: PathBuf,
        /// What was expected to be a directory.
        parent: PathBuf,
        /// What it is instead.
        found: &'static str,
    },
    /// A file of the host that no image can hold.
    #[error("{}: {found} cannot be put into an image: leave it out", path.display())]
    Kind {
        /// The file of the host.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// A file that was written to while the image was made.
    #[error("{}: it had {expected} bytes and now has {found}: build again when nothing writes to it", path.display())]
    Changed {
        /// The file of the host.
        path: PathBuf,
        /// Its size when it was added.
        expected: u64,
        /// Its size now.
        found: u64,
    },
    /// A value that a format cannot hold.
    #[error("{what} is {value}, and {format} has at most {limit}")]
    Limit {
        /// What of which entry.
        what: String,
        /// How much.
        value: u64,
        /// The format.
        format: &'static str,
        /// Its limit.
        limit: u64,
    },
    /// A disk with less room than the files need.
    #[error("the files do not fit: a disk for them has at least {needed} MiB, and {given} MiB were asked for")]
    TooSmall {
        /// Enough.
        needed: u64,
        /// What was asked for.
        given: u64,
    },
    /// Bytes of a format that are not what the format says.
    #[error("{}: byte {offset}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is wrong, and what is expected.
        reason: String,
    },
    /// A variable that is not a time.
    #[error("SOURCE_DATE_EPOCH is `{0}`: expected seconds since 1970, from 0 to 4294967295")]
    Epoch(String),
    /// Nothing to run.
    #[error("an image needs a program: name one")]
    NoProgram,
    /// A file that no loader starts.
    #[error("{reason}")]
    NotProgram {
        /// Which, and why.
        reason: String,
    },
    /// For another processor than the image.
    #[error("{}: a program for {found}, which {target} cannot run: build it for that processor, or choose another --target", path.display())]
    WrongMachine {
        /// The program.
        path: PathBuf,
        /// Its processor.
        found: &'static str,
        /// The image's target.
        target: &'static str,
    },
    /// The loader will not find all that it needs.
    #[error("{} would not start: {reason}", path.display())]
    NotClosed {
        /// The program.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// The guest's first process is not on board.
    #[error("images for {processor} cannot be made by this underpin: {reason}")]
    NoInit {
        /// The processor.
        processor: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// What is not an image is in the way.
    #[error("{} is not empty and holds no image: choose another folder with -o", folder.display())]
    NotImage {
        /// The folder.
        folder: PathBuf,
    },
    /// What is not the sources of an image is in the way.
    #[error("{} is not empty and holds no sources of an image: choose another folder with -o", folder.display())]
    NotSources {
        /// The folder.
        folder: PathBuf,
    },
    /// A layer is not what an image was built with.
    #[error(
        "{}, which {package} of the image was built with, is in no layer as it was then: name its layer with --layer, \
         or build the image again",
        file.display()
    )]
    OtherLayer {
        /// The file, as it was named then.
        file: PathBuf,
        /// The package.
        package: String,
    },
    /// An image that cannot be used.
    #[error("{}: {reason}: build the image again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The emulator is not installed.
    #[error("{program}, which starts images for {target}, is not installed: `apt-get install {package}`")]
    NoEmulator {
        /// The program.
        program: &'static str,
        /// Debian's package.
        package: &'static str,
        /// For which target.
        target: &'static str,
    },
    /// The emulator, or what came through it, is not as expected.
    #[error("{}: {reason}", path.display())]
    Emulator {
        /// The program.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The emulator is too old for a board.
    #[error(
        "{} is QEMU {version}, and {board}, on which images for {target} are started, is there from {since} on: \
         Debian 13 has it, and Debian 12 with `apt-get install -t bookworm-backports qemu-system-arm`",
        path.display()
    )]
    NoBoard {
        /// The program.
        path: PathBuf,
        /// Its version.
        version: String,
        /// QEMU's name of the board.
        board: &'static str,
        /// The first version that has it.
        since: u32,
        /// For which target.
        target: &'static str,
    },
    /// Debian's archive cannot be used.
    #[error("Debian's archive cannot be used: {reason}")]
    NoApt {
        /// Why, and what to do.
        reason: String,
    },
    /// The network was not to be used.
    #[error("{what} has not been fetched yet, and --offline forbids it: run this once without --offline")]
    Offline {
        /// What.
        what: String,
    },
    /// The archive has a newer version instead.
    #[error("Debian {suite} no longer has {what}, which the lock names: `underpin image build --update` takes today's")]
    Gone {
        /// Package and version.
        what: String,
        /// The release.
        suite: String,
    },
    /// The archive has a newer version of a source package.
    #[error(
        "Debian {suite} no longer has the sources of {what}: `underpin image update` shows today's version for the recipe"
    )]
    GoneSource {
        /// Package and version.
        what: String,
        /// The release.
        suite: String,
        /// What it has instead.
        today: String,
    },
    /// A recipe or layer that cannot be used.
    #[error(transparent)]
    Recipe(#[from] crate::recipe::RecipeError),
    /// A command of a package's build failed.
    #[error("building {recipe} failed: `{command}` {how}; the log is {}{}", log.display(), last.iter().map(|line| format!("\n  {line}")).collect::<String>())]
    Build {
        /// The recipe.
        recipe: String,
        /// The command.
        command: String,
        /// How it ended.
        how: String,
        /// Everything that it printed.
        log: PathBuf,
        /// The end of that.
        last: Vec<String>,
    },
    /// Other bytes than the index or the lock says.
    #[error("{what}: its SHA-256 is {found}, and {expected} was expected: it was not kept")]
    Checksum {
        /// What was fetched.
        what: String,
        /// By the lock or the index.
        expected: String,
        /// Of what came.
        found: String,
    },
    /// A package without what it should hold.
    #[error("{}: {what}", path.display())]
    Unpack {
        /// The package.
        path: PathBuf,
        /// What is missing or failed.
        what: String,
    },
    /// Another run holds the lock of something for too long.
    #[error(
        "{}: waited {seconds} s for {holder}, which works there: end it and try again, or use another store \
         (XDG_CACHE_HOME)", path.display()
    )]
    Locked {
        /// The locked file.
        path: PathBuf,
        /// How long it was waited for.
        seconds: u64,
        /// Who holds it.
        holder: underpin_build::Holder,
    },
    /// This process was asked to end.
    #[error("interrupted")]
    Interrupted,
    /// It cannot be started or waited for.
    #[error(transparent)]
    Launch(#[from] underpin_sys::LaunchError),
    /// What the guest sent has no place to go.
    #[error("what the guest sent cannot be passed on: {source}")]
    PassOn {
        /// Why.
        source: io::Error,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl ImageError {
    /// For `map_err`.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> ImageError {
        let path = path.into();
        move |source| ImageError::Io { path, source }
    }
}
