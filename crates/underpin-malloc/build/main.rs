//! Compiles the allocators' bundled C and C++ sources to objects and lists them for `include!`: shared ones to preload
//! here, relocatable ones to link in by linkable.rs.
//!
//! One object to preload serves glibc and musl: it is linked without any C library's symbol versions, needs only `libc.so.6` by
//! name (which musl's loader takes for itself), and brings what the two define differently (native/compat.c).
//! `UNDERPIN_ALLOCATORS` chooses which to build (a list, or `none`); one that is left out is listed with the reason.

#![allow(clippy::print_stdout, reason = "a build script talks to cargo on standard output")]

mod linkable;
mod mimalloc;
mod recipe;
mod sources;
mod tools;

use recipe::Recipe;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tools::{Failure, Tools};

fn main() {
    for path in ["build", "native"] {
        println!("cargo::rerun-if-changed={path}");
    }
    if let Err(failure) = build() {
        println!("cargo::error={}", failure.to_string().replace('\n', "; "));
    }
}

fn build() -> Result<(), Failure> {
    let tools = Tools::new()?;
    let chosen = Choice::from_environment();
    let sources = sources::locate(&tools.manifest)?;
    let mut listing = String::from("&[\n");
    for recipe in Recipe::ALL {
        let source = sources.of(recipe)?;
        let outcome = if chosen.wants(recipe) { recipe.build(&tools, &source) } else { Err(chosen.refusal()) };
        match outcome {
            Ok(built) => list(&mut listing, &tools, recipe, &source, Ok(&built))?,
            Err(reason) if recipe.may_be_absent() || !chosen.wants(recipe) => {
                if chosen.wants(recipe) {
                    underpin_build_support::again_after_installation();
                }
                list(&mut listing, &tools, recipe, &source, Err(&reason))?;
            }
            Err(reason) => return Err(reason.about(recipe.name())),
        }
    }
    listing.push_str("]\n");
    let companion = tools.compile_c("companion.c", "companion.o", &[])?;
    let companion = tools.link(&tools.out.join("companion.so"), &[companion], "companion.map")?;
    tools.write("on_board.rs", &listing)?;
    tools.write("companion.rs", &object("companion", &companion)?)?;
    linkable::build(&tools, &chosen, &sources)
}

/// One entry of the list, as Rust source.
fn list(
    into: &mut String,
    tools: &Tools,
    recipe: Recipe,
    source: &Source,
    built: Result<&PathBuf, &Failure>,
) -> Result<(), Failure> {
    let object = match built {
        Ok(built) => format!("Ok({})", object(recipe.name(), built)?),
        Err(reason) => format!("Err({:?})", reason.to_string()),
    };
    let (version, settings, options) = (&source.version, recipe.settings(tools), recipe.options(&source.folder)?);
    let entry = format!(
        "OnBoard {{ kind: AllocatorKind::{recipe:?}, version: {version:?}, settings: {settings:?}, \
         options: &{options:?}, object: {object} }},\n"
    );
    into.write_str(&entry).map_err(|error| Failure(error.to_string()))
}

fn object(name: &str, path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure(format!("{}: {error}", path.display())))?;
    let digest = Sha256::digest(&bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    Ok(format!("Object {{ name: {name:?}, sha256: {digest:?}, bytes: include_bytes!({path:?}) }}"))
}

/// Which allocators `UNDERPIN_ALLOCATORS` asks for.
struct Choice(Option<String>);

impl Choice {
    fn from_environment() -> Choice {
        println!("cargo::rerun-if-env-changed=UNDERPIN_ALLOCATORS");
        Choice(std::env::var("UNDERPIN_ALLOCATORS").ok().filter(|list| !list.is_empty()))
    }

    fn wants(&self, recipe: Recipe) -> bool {
        self.0.as_ref().is_none_or(|list| list.split(',').any(|name| name.trim() == recipe.name()))
    }

    fn refusal(&self) -> Failure {
        Failure(format!("underpin was built with UNDERPIN_ALLOCATORS={}", self.0.as_deref().unwrap_or_default()))
    }
}

/// The folder of one allocator's sources, and its version.
struct Source {
    folder: PathBuf,
    version: String,
}
