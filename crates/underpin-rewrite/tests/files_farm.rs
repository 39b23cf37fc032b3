//! Farms on disk: whole or not at all, and no other directory is touched.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

use std::fs;
use std::path::Path;
use underpin_rewrite::files::{FarmError, FarmMade, farm_at, make_farm, remove_farm};
use underpin_rewrite::plan::{Farm, FarmLink};
use underpin_test_support::Fixture;

fn farm(directory: &Path, links: &[(&str, &str)]) -> Farm {
    let link = |(name, target): &(&str, &str)| FarmLink { name: (*name).into(), target: (*target).into() };
    Farm {
        directory: directory.to_str().unwrap().into(),
        users: vec!["/bin/prog".into()],
        relative: false,
        links: links.iter().map(link).collect(),
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_farm_is_made_renewed_and_removed() {
    let dir = Fixture::new();
    let place = dir.join("farms/prog");
    let first = farm(&place, &[("liba.so", "/opt/a/liba.so"), ("libb.so", "../../b/libb.so")]);
    assert_eq!(make_farm(&first).unwrap(), FarmMade::New);
    assert_eq!(fs::read_link(place.join("libb.so")).unwrap(), Path::new("../../b/libb.so"));
    assert_eq!(farm_at(&place), Some(first.clone()));
    assert_eq!(make_farm(&first).unwrap(), FarmMade::Already);
    let second = farm(&place, &[("libc.so", "/opt/c/libc.so")]);
    assert_eq!(make_farm(&second).unwrap(), FarmMade::Renewed);
    assert_eq!(names(&place), [".underpin-farm.json", "libc.so"]);
    assert_eq!(names(&dir.join("farms")), ["prog"], "nothing is left beside it");
    assert!(remove_farm(&place).unwrap());
    assert!(!remove_farm(&place).unwrap());
    assert_eq!(names(&dir.join("farms")), Vec::<String>::new());
}

#[test]
fn what_was_not_made_here_is_left_alone() {
    let dir = Fixture::new();
    dir.write("mine/notes", "important");
    let mine = dir.join("mine");
    assert!(matches!(make_farm(&farm(&mine, &[("liba.so", "/a")])), Err(FarmError::InTheWay { .. })));
    assert!(matches!(remove_farm(&mine), Err(FarmError::InTheWay { .. })));
    let place = dir.join("farm");
    make_farm(&farm(&place, &[("liba.so", "/a")])).unwrap();
    dir.write("farm/notes", "put there by the user");
    assert!(matches!(remove_farm(&place), Err(FarmError::InTheWay { .. })));
    assert_eq!(names(&place), [".underpin-farm.json", "liba.so", "notes"]);
}

#[test]
fn a_renewed_farm_keeps_what_somebody_else_put_there() {
    let dir = Fixture::new();
    let place = dir.join("farm");
    make_farm(&farm(&place, &[("liba.so", "/a")])).unwrap();
    dir.write("farm/notes", "put there by the user");
    assert!(matches!(make_farm(&farm(&place, &[("libb.so", "/b")])), Err(FarmError::InTheWay { .. })));
    assert_eq!(fs::read_to_string(place.join("notes")).unwrap(), "put there by the user");
}

#[test]
fn a_link_cannot_leave_its_farm() {
    let dir = Fixture::new();
    for name in ["", ".", "..", "../liba.so", "/liba.so", ".underpin-farm.json"] {
        let error = make_farm(&farm(&dir.join("farm"), &[(name, "/a")])).unwrap_err();
        assert!(matches!(error, FarmError::Name { .. }), "{name}: {error}");
        assert_eq!(names(dir.path()), Vec::<String>::new(), "{name}");
    }
}
