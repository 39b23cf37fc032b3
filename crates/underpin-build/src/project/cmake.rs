//! CMake, in a folder of results beside the sources. A toolchain file of ours names the compilers.
//!
//! Arguments after `--` go to the configure step (`-DNAME=VALUE`). Unless they say otherwise it is a release, and
//! libraries of a static program are archives, even those that the project calls `SHARED`.

use super::{Context, Planned, listed, shared};
use crate::tool::Tool;
use crate::{BuildError, Step};
use std::fmt::Write as _;
use std::path::Path;

/// The file that marks such a project.
pub const MARK: &str = "CMakeLists.txt";

/// Whether C++ is one of its languages: `project()` names it, or names none, which means C and C++, and there are C++
/// files.
pub fn needs_cxx(folder: &Path) -> bool {
    let text = without_comments(&shared::text(&folder.join(MARK)));
    let calls = |name: &str| calls(&text, name);
    let has = |words: &str, word: &str| words.split_whitespace().any(|one| one == word);
    if calls("enable_language").iter().any(|words| has(words, "CXX")) {
        return true;
    }
    let Some(project) = calls("project").into_iter().next() else { return shared::has_cxx(folder) };
    let names_none =
        !has(&project, "LANGUAGES") && !has(&project, "C") && !has(&project, "CXX") && !has(&project, "NONE");
    has(&project, "CXX") || (names_none && shared::has_cxx(folder))
}

/// The name in `project()`.
pub fn name(folder: &Path) -> Option<String> {
    let text = without_comments(&shared::text(&folder.join(MARK)));
    let first = calls(&text, "project").into_iter().next()?;
    Some(first.split_whitespace().next()?.trim_matches('"').to_owned())
}

fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split('#').next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The arguments of every call of a command; CMake takes its name in any case.
fn calls(text: &str, name: &str) -> Vec<String> {
    let lower = text.to_ascii_lowercase();
    let mut found = Vec::new();
    for (at, _) in lower.match_indices(name) {
        let before = lower.get(..at).and_then(|before| before.chars().next_back());
        let rest = text.get(at + name.len()..).unwrap_or_default().trim_start();
        let is_word = before.is_some_and(|char| char.is_alphanumeric() || char == '_');
        if let (false, Some((arguments, _))) = (is_word, rest.strip_prefix('(').and_then(|rest| rest.split_once(')'))) {
            found.push(arguments.to_owned());
        }
    }
    found
}

/// Read after each `project()` of a static build.
///
/// A library that a project names `SHARED` heeds no option, and its programs (often its tests) cannot be linked. CMake
/// makes an archive of it if the system has no shared libraries (property `TARGET_SUPPORTS_SHARED_LIBS`). Two
/// libraries, one of each kind, often have one name: then both would write the same archive, so the second goes to a
/// folder of its own.
const STATIC_LIBRARIES: &str = r#"# Written by underpin.
set_property(GLOBAL PROPERTY TARGET_SUPPORTS_SHARED_LIBS FALSE)
if(NOT COMMAND underpin_archives AND NOT CMAKE_VERSION VERSION_LESS 3.19)
  # The project's own may be those of ten years ago; they are the project's again at the end of this file.
  cmake_policy(VERSION 3.19)
  function(underpin_archives folder)
    get_property(folders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
    foreach(below IN LISTS folders)
      underpin_archives("${below}")
    endforeach()
    get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
    get_property(place DIRECTORY "${folder}" PROPERTY BINARY_DIR)
    foreach(target IN LISTS targets)
      get_target_property(type ${target} TYPE)
      if(NOT type STREQUAL "STATIC_LIBRARY")
        continue()
      endif()
      set(name ${target})
      set(where ${place})
      foreach(property OUTPUT_NAME ARCHIVE_OUTPUT_NAME)
        get_target_property(value ${target} ${property})
        if(value)
          set(name ${value})
        endif()
      endforeach()
      get_target_property(value ${target} ARCHIVE_OUTPUT_DIRECTORY)
      if(value)
        set(where ${value})
      endif()
      get_property(taken GLOBAL PROPERTY UNDERPIN_ARCHIVES)
      if("${where}/${name}" IN_LIST taken)
        set_target_properties(${target} PROPERTIES ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/underpin/${target}")
      endif()
      set_property(GLOBAL APPEND PROPERTY UNDERPIN_ARCHIVES "${where}/${name}")
    endforeach()
  endfunction()
  cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL underpin_archives "${CMAKE_SOURCE_DIR}")
endif()
"#;

/// The commands.
pub fn plan(folder: &Path, context: &Context<'_>) -> Result<Planned, BuildError> {
    let cmake = shared::program(&["cmake"], "cmake")?;
    let (folder, copy) = shared::copied(folder, context);
    let kind = if copy.is_some() { "cmake-copy" } else { "cmake" };
    let results = shared::folder(context, kind, &[shared::text(&folder.join(MARK))]);
    let file = context.work.join("toolchain.cmake");
    let text = |path: &Path| path.display().to_string();
    let says = |name: &str| context.words.iter().any(|word| word.contains(name));
    let mut arguments = vec!["-S".to_owned(), text(&folder), "-B".to_owned(), text(&results)];
    arguments.push(format!("-DCMAKE_TOOLCHAIN_FILE={}", text(&file)));
    if !says("CMAKE_BUILD_TYPE") {
        arguments.push("-DCMAKE_BUILD_TYPE=Release".to_owned());
    }
    if context.spec.linkage.is_static() && !says("BUILD_SHARED_LIBS") {
        arguments.push("-DBUILD_SHARED_LIBS=OFF".to_owned());
    }
    let (words, users) = without_toolchain_file(context.words);
    let mut files = vec![(file, toolchain_file(&folder, context, users.as_deref()))];
    if context.spec.linkage.is_static() && !says("CMAKE_PROJECT_INCLUDE") {
        let file = context.work.join("static.cmake");
        arguments.push(format!("-DCMAKE_PROJECT_INCLUDE={}", text(&file)));
        files.push((file, STATIC_LIBRARIES.to_owned()));
    }
    if shared::find("make").is_none() && std::env::var_os("CMAKE_GENERATOR").is_none() {
        shared::program(&["ninja"], "ninja-build")?;
        arguments.extend(["-G".to_owned(), "Ninja".to_owned()]);
    }
    arguments.extend(words);
    let variables = shared::around(context);
    let configure = Step::new("configure", cmake.clone(), arguments, context.work).with(variables.clone());
    let build = vec!["--build".to_owned(), text(&results), "--parallel".to_owned(), shared::jobs()];
    let build = Step::new("build", cmake, build, context.work).with(variables).makes(results.clone());
    let query = results.join(listed::cmake::QUERY);
    let folders = query.parent().map(Path::to_owned).into_iter().collect();
    files.push((query, String::new()));
    Ok(Planned { steps: vec![configure, build], copy, files, folders, ..Planned::default() })
}

/// The user's arguments without a toolchain file, which ours includes: CMake reads only one.
fn without_toolchain_file(words: &[String]) -> (Vec<String>, Option<String>) {
    const NAME: &str = "-DCMAKE_TOOLCHAIN_FILE";
    let of_variable = |word: &str| {
        let rest = word.strip_prefix(NAME).filter(|rest| rest.starts_with(['=', ':']))?;
        Some(rest.split_once('=')?.1.to_owned())
    };
    let mut file = std::env::var("CMAKE_TOOLCHAIN_FILE").ok().filter(|file| !file.is_empty());
    let (mut kept, mut words) = (Vec::new(), words.iter());
    while let Some(word) = words.next() {
        if word == "--toolchain" {
            file = words.next().cloned();
        } else if let Some(found) = word.strip_prefix("--toolchain=").map(str::to_owned).or_else(|| of_variable(word)) {
            file = Some(found);
        } else {
            kept.push(word.clone());
        }
    }
    (kept, file)
}

/// What CMake has to know about the compilers. Not in environment variables: only a file can declare a cross build, and
/// `try_compile` reads it too.
fn toolchain_file(folder: &Path, context: &Context<'_>, users: Option<&str>) -> String {
    let quoted = |text: &str| format!("[==[{text}]==]");
    let mut text = String::from("# Written by underpin.\n");
    if let Some(users) = users {
        // What follows wins: the compilers are ours, all else is the user's.
        let here = context.places.current.join(users);
        let file = if here.is_file() { here } else { folder.join(users) };
        let _ = writeln!(text, "include({})", quoted(&file.display().to_string()));
    }
    let mut set = |name: &str, value: &str| {
        let _ = writeln!(text, "set({name} {})", quoted(value));
    };
    let toolchain = context.toolchain;
    set("CMAKE_C_COMPILER", &context.tool(Tool::Cc));
    set("CMAKE_ASM_COMPILER", &context.tool(Tool::Cc));
    if toolchain.cxx.is_some() {
        set("CMAKE_CXX_COMPILER", &context.tool(Tool::Cxx));
    } else {
        // `project(x)` without a language means C++ too, and none of its files is C++.
        set("CMAKE_CXX_COMPILER", &context.tool(Tool::Cc));
        set("CMAKE_CXX_COMPILER_WORKS", "1");
    }
    for (name, tool, is_there) in
        [("AR", Tool::Ar, !toolchain.ar.is_empty()), ("RANLIB", Tool::Ranlib, !toolchain.ranlib.is_empty())]
    {
        if is_there {
            for of in ["CMAKE", "CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER"] {
                set(&format!("{of}_{name}"), &context.tool(tool));
            }
        }
    }
    if !shared::starts_here(context) {
        set("CMAKE_SYSTEM_NAME", "Linux");
        set("CMAKE_SYSTEM_PROCESSOR", context.spec.processor.name());
        if let Some(words) = shared::emulator(context.spec) {
            set("CMAKE_CROSSCOMPILING_EMULATOR", &words.join(";"));
        }
    }
    if !context.spec.uses_machines_libraries() {
        // Libraries below /usr are this machine's, for its own C library.
        let root = shared::empty_root(context);
        let own = folder.display().to_string();
        let _ = writeln!(
            text,
            "list(APPEND CMAKE_FIND_ROOT_PATH {} {} ${{CMAKE_PREFIX_PATH}} ${{CMAKE_BINARY_DIR}})",
            quoted(&root),
            quoted(&own)
        );
        for what in ["LIBRARY", "INCLUDE", "PACKAGE"] {
            let _ = writeln!(text, "set(CMAKE_FIND_ROOT_PATH_MODE_{what} ONLY)");
        }
        text.push_str("set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::without_toolchain_file;

    #[test]
    fn a_toolchain_file_of_the_users_is_found_in_each_of_cmakes_spellings() {
        let of = |text: &str| {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            let (kept, file) = without_toolchain_file(&words);
            (kept.join(" "), file)
        };
        for text in [
            "-DA=1 -DCMAKE_TOOLCHAIN_FILE=/t.cmake",
            "-DCMAKE_TOOLCHAIN_FILE:FILEPATH=/t.cmake -DA=1",
            "--toolchain /t.cmake -DA=1",
            "-DA=1 --toolchain=/t.cmake",
        ] {
            assert_eq!(of(text), ("-DA=1".to_owned(), Some("/t.cmake".to_owned())), "{text}");
        }
        assert_eq!(of("-DCMAKE_TOOLCHAIN_FILES=x").0, "-DCMAKE_TOOLCHAIN_FILES=x");
    }
}
