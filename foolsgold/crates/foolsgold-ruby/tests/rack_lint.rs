//! Rack::Lint from Debian's ruby-rack package, loaded by the interpreter, finds nothing wrong with what foolsgold
//! provides.

mod support;

use foolsgold_core::work::Mode;
use std::path::PathBuf;
use support::{Stage, get, request};
use underpin_test_support::skip;

/// The file of the installed package, whatever its version.
fn debians_lint() -> Option<String> {
    let gems = std::fs::read_dir("/usr/share/rubygems-integration/all/gems").ok()?;
    let mut folders: Vec<PathBuf> = gems.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders.iter().rev().find_map(|folder| std::fs::read_to_string(folder.join("lib/rack/lint.rb")).ok())
}

#[test]
fn the_lint_of_rack_2_accepts_the_environment_and_the_answers_of_every_mode() {
    let Some(lint) = debians_lint() else {
        skip("Debian's ruby-rack is not on this machine");
        return;
    };
    let rackup = r#"
        require "rack"
        require "set"
        require_relative "debian_lint"
        use Rack::Lint
        use Rack::Head
        use Rack::Lint
        run lambda { |env|
          raise "not Debian's" unless Rack::Lint.instance_method(:check_env)
          case env["PATH_INFO"]
          when "/read" then [200, { "content-type" => "text/plain" }, [env["rack.input"].read]]
          when "/none" then [204, {}, []]
          when "/bad" then [200, { "content-type" => 5 }, []]
          else [200, { "content-type" => "text/plain", "content-length" => "2" }, [env["REQUEST_METHOD"] == "HEAD" ? "" : "ok"]]
          end
        }
    "#;
    for mode in [Mode::SharedNothing, Mode::Prefork, Mode::Fresh] {
        let mut stage = Stage::with_files(&[("config.ru", rackup), ("debian_lint.rb", &lint)], mode);
        let answer = stage.ask(get("/?a=b"));
        assert_eq!((answer.status, answer.text().as_str()), (200, "ok"), "{mode:?}: {}", stage.log());
        assert_eq!(stage.ask(request("POST", "/read", b"body")).text(), "body", "{mode:?}: {}", stage.log());
        assert_eq!(stage.ask(get("/none")).status, 204, "{mode:?}: {}", stage.log());
        assert_eq!(stage.ask(request("HEAD", "/", b"")).status, 200, "{mode:?}: {}", stage.log());
        assert_eq!(stage.ask(get("/bad")).status, 500);
        assert!(stage.log().contains("LintError"), "{}", stage.log());
    }
}
