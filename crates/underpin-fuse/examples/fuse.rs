//! Fuses the libraries of a program for a trial: `cargo run --example fuse -- PROGRAM FOLDER` leaves `fused.so`, `links/` and a
//! copy of the program that uses them in the folder. The program itself stays as it is.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "an example shows what it found")]

use bstr::{BString, ByteSlice};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use underpin_fuse::{Closure, Content, Names};
use underpin_resolve::{Depth, Environment, HostRoot, Resolver};
use underpin_rewrite::{Edits, Rename, RewriteOptions};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().unwrap();
    let folder = PathBuf::from(arguments.next().unwrap());
    let root = HostRoot::new();
    let resolved = Resolver::new(&root, Environment::empty()).resolve(program.as_str().into(), Depth::Paths).unwrap();
    let contents: Vec<Content> = resolved
        .objects
        .iter()
        .map(|object| {
            let path = object.path.to_path().unwrap();
            let meta = std::fs::metadata(path).unwrap();
            Content { bytes: std::fs::read(path).unwrap(), modified: meta.mtime() * 1_000_000_000 + meta.mtime_nsec() }
        })
        .collect();
    let closure = Closure::new(&resolved, &contents);
    let plan = match underpin_fuse::plan(&closure) {
        Ok(plan) => plan,
        Err(refusal) => {
            println!("refused: {refusal}");
            std::process::exit(3);
        }
    };
    for kept in &plan.kept {
        println!("kept {}: {}", closure.objects[kept.object].path, kept.because);
    }
    let links = folder.join("links");
    std::fs::create_dir_all(&links).unwrap();
    let names = Names { soname: "underpin-fused.so".into(), links: links.to_str().unwrap().into(), only_links: false };
    let fused = match underpin_fuse::fuse(&closure, &plan, &names) {
        Ok(fused) => fused,
        Err(refusal) => {
            println!("refused: {refusal}");
            std::process::exit(3);
        }
    };
    let file = folder.join("fused.so");
    std::fs::write(&file, &fused.bytes).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    for name in &fused.links {
        let link = links.join(name.to_path().unwrap());
        let _ = std::fs::remove_file(&link);
        symlink(&file, &link).unwrap();
    }
    let mut needed: Vec<BString> = vec![file.to_str().unwrap().into()];
    needed.extend(fused.program_needs.iter().cloned());
    let renames = fused.renames(&needed[0]).into_iter().map(|(from, to)| Rename { from, to }).collect();
    let edits = Edits { needed: Some(needed), renames, ..Edits::default() };
    let rewrite = underpin_rewrite::rewrite(&contents[0].bytes, &edits, &RewriteOptions::default()).unwrap();
    let copy = folder.join(PathBuf::from(&program).file_name().unwrap());
    std::fs::write(&copy, rewrite.apply(&contents[0].bytes)).unwrap();
    std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o755)).unwrap();
    let text: Vec<String> = fused
        .bindings
        .iter()
        .map(|binding| {
            let path = |index: usize| closure.objects[index].path.clone();
            let to = binding.to.map(path).unwrap_or_default();
            format!("{}\t{}\t{}\t{}", path(binding.from), to, binding.name, binding.version)
        })
        .collect();
    std::fs::write(folder.join("bindings"), text.join("\n")).unwrap();
    println!("{} members, {} MiB", plan.members.len(), fused.bytes.len() >> 20);
}
