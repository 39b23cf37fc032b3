//! What the packages of the workspace may never depend on, by cargo's own account.

use crate::run;
use std::collections::BTreeSet;
use std::process::Command;

/// The packages that a package is built with: what `cargo tree` lists for normal and build dependencies of this machine.
fn built_with(package: &str) -> BTreeSet<String> {
    tree(package, &["--prefix", "none", "--format", "{p}"])
        .lines()
        .filter_map(|line| line.split(' ').next())
        .map(str::to_owned)
        .collect()
}

fn tree(package: &str, arguments: &[&str]) -> String {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.args(["tree", "--offline", "--locked", "--edges", "normal,build", "--package", package]).args(arguments);
    let output = command.current_dir(run::workspace()).output().expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Package, and what must not be among the packages that it is built with.
const NEVER: &[(&str, &[&str])] = &[
    ("underpin", &["foolsgold", "foolsgold-core", "foolsgold-server", "foolsgold-ruby", "mruby", "hyper", "rustls"]),
    ("underpin", &["underpin-slowfs", "underpin-spacktree", "underpin-test-support"]),
    ("foolsgold-server", &["mruby", "foolsgold-ruby", "foolsgold"]),
    ("foolsgold-ruby", &["mio", "socket2", "hyper", "hyper-util", "rustls", "tokio-rustls", "listenfd"]),
    ("foolsgold-ruby", &["foolsgold-server", "foolsgold"]),
    ("foolsgold-core", &["mruby", "foolsgold-ruby", "foolsgold-server", "mio", "socket2", "hyper"]),
    ("foolsgold", &["underpin", "underpin-slowfs", "underpin-spacktree", "underpin-test-support"]),
];

#[test]
fn no_package_is_built_with_what_it_must_not_know() {
    for (package, forbidden) in NEVER {
        let packages = built_with(package);
        assert!(packages.contains(*package), "{package}: {packages:?}");
        let found: Vec<_> = forbidden.iter().filter(|name| packages.contains(**name)).collect();
        assert!(found.is_empty(), "{package} is built with {found:?}");
    }
}

#[test]
fn the_ruby_runtime_names_no_tokio_and_its_channels_bring_no_sockets() {
    let direct = tree("foolsgold-ruby", &["--depth", "1", "--prefix", "none", "--format", "{p}"]);
    assert!(direct.contains("foolsgold-core v") && !direct.contains("tokio v"), "{direct}");
    let features = tree("foolsgold-ruby", &["--prefix", "none", "--format", "{p}: {f}"]);
    let tokio = features.lines().find(|line| line.starts_with("tokio v")).expect("the channels of foolsgold-core");
    let enabled: Vec<_> = tokio.rsplit(": ").next().unwrap_or_default().split(',').collect();
    assert_eq!(enabled, ["sync"], "{tokio}");
}
