//! Applications in a worker, without a server: what Ruby sees of a request, and what becomes of its answer.

mod support;

use foolsgold_core::work::{Mode, RequestOutcome};
use std::time::Duration;
use support::{Stage, get, request};

#[test]
fn the_demonstration_answers_in_every_mode_and_counts_in_one_place() {
    let mut stage = Stage::demonstration();
    for (path, mode) in [("/fools-gold", Mode::SharedNothing), ("/fools-gold/prefork", Mode::Prefork)] {
        for round in 0..3 {
            let answer = stage.ask(get(path));
            assert_eq!(answer.status, 200, "{path} {round}: {}", answer.text());
            assert_eq!(answer.timings.mode, Some(mode));
            assert_eq!(answer.header("content-length"), Some(answer.body.len().to_string().as_str()));
            assert!(answer.text().contains("<html"), "{}", answer.text());
        }
    }
    let counter = stage.metrics.counter("foolsgold_total_requests", "", &[]).unwrap();
    assert_eq!(counter.get(), 6);
}

#[test]
fn the_environment_is_that_of_rack() {
    let mut stage = Stage::new(
        r##"
        run lambda { |env|
          keys = %w[REQUEST_METHOD SCRIPT_NAME PATH_INFO QUERY_STRING SERVER_NAME SERVER_PORT SERVER_PROTOCOL
                    CONTENT_TYPE HTTP_X_A HTTP_COOKIE REMOTE_ADDR rack.url_scheme]
          [200, {}, [keys.map { |key| "#{key}=#{env[key]}" }.join("\n"), "\n", env["rack.input"].read]]
        }
        "##,
    );
    let mut request = request("POST", "/a%20b/c?x=1&y", b"body");
    for (name, value) in [("content-type", "text/x"), ("x-a", "1"), ("x-a", "2"), ("cookie", "a=1"), ("cookie", "b=2")]
    {
        request.headers.append(name, value.parse().unwrap());
    }
    let answer = stage.ask(request);
    assert_eq!(
        answer.text(),
        "REQUEST_METHOD=POST\nSCRIPT_NAME=\nPATH_INFO=/a%20b/c\nQUERY_STRING=x=1&y\nSERVER_NAME=example.org\n\
         SERVER_PORT=8080\nSERVER_PROTOCOL=HTTP/1.1\nCONTENT_TYPE=text/x\nHTTP_X_A=1, 2\nHTTP_COOKIE=a=1; b=2\n\
         REMOTE_ADDR=192.0.2.7\nrack.url_scheme=http\nbody"
    );
}

#[test]
fn what_shares_nothing_leaves_nothing_and_what_shares_leaves_it() {
    let rackup = r#"
        map("/kept") { mode :prefork; run lambda { |_| $n = $n.to_i + 1; [200, {}, [$n.to_s]] } }
        run lambda { |_| $n = $n.to_i + 1; class String; def odd = 1; end; [200, {}, [$n.to_s]] }
    "#;
    let mut stage = Stage::new(rackup);
    let bodies = |stage: &mut Stage, path: &str| (0..3).map(|_| stage.ask(get(path)).text()).collect::<Vec<_>>();
    assert_eq!(bodies(&mut stage, "/"), ["1", "1", "1"]);
    assert_eq!(bodies(&mut stage, "/kept"), ["1", "2", "3"]);
}

#[test]
fn an_exception_is_a_500_whose_reason_only_a_developer_sees() {
    let rackup =
        "run lambda { |env|\n  raise ArgumentError, 'no' if env['PATH_INFO'] == '/bad'\n  [200, {}, ['ok']]\n}";
    let mut stage = Stage::new(rackup);
    let answer = stage.ask(get("/bad"));
    assert_eq!((answer.status, answer.timings.outcome), (500, RequestOutcome::Raised));
    assert!(!answer.text().contains("ArgumentError"));
    assert!(stage.log().contains("config.ru:2"), "{}", stage.log());
    assert!(stage.log().contains("no (ArgumentError)"), "{}", stage.log());
    assert_eq!(stage.ask(get("/")).text(), "ok");
}

#[test]
fn lines_of_a_logger_have_their_level_and_errors_only_their_text() {
    let rackup = "run lambda { |env| env['rack.logger'].warn('low'); env['rack.logger'] << 'plain'; env['rack.logger'].debug('x')
                  env['rack.errors'].puts('as it is'); [200, {}, []] }";
    let mut stage = Stage::new(rackup);
    assert_eq!(stage.ask(get("/")).status, 200);
    assert_eq!(stage.log(), "warn: low\ninfo: plain\nas it is\n");
}

#[test]
fn a_developer_sees_class_message_and_source_and_nothing_of_them_is_html() {
    let rackup = "# first\nrun lambda { |_|\n  raise ArgumentError, 'a <b>'\n}";
    let mut stage = Stage::of_a_developer(rackup);
    let text = stage.ask(get("/"));
    assert_eq!((text.status, text.header("content-type")), (500, Some("text/plain; charset=utf-8")));
    assert!(text.text().contains("ArgumentError: a <b>") && text.text().contains("config.ru:3"), "{}", text.text());
    let mut request = get("/");
    request.headers.insert("accept", "text/html,*/*;q=0.8".parse().unwrap());
    let page = stage.ask(request).text();
    assert!(page.contains("a &lt;b&gt;") && !page.contains("a <b>"), "{page}");
    assert!(page.contains("<li value=\"3\" class=\"here\">"), "{page}");
}

#[test]
fn an_answer_that_is_none_is_a_500_that_says_what_it_is() {
    for (answer, said) in [
        ("nil", "nil in place of [status, headers, body]"),
        ("[200, {}]", "[200, {}] in place of"),
        ("[99, {}, []]", "invalid status 99"),
        ("[200, {}, 'text']", "put a String into an Array"),
        ("[200, {}, [1]]", "the body contains 1"),
        ("[200, { \"a\" => \"x\\rSet-Cookie: y\" }, []]", "control characters"),
        ("[200, { \"a b\" => \"x\" }, []]", "invalid header name"),
    ] {
        let mut stage = Stage::new(&format!("run lambda {{ |_| {answer} }}"));
        assert_eq!(stage.ask(get("/")).status, 500, "{answer}");
        assert!(stage.log().contains(said), "{answer}: {}", stage.log());
    }
}

#[test]
fn headers_of_rack_2_and_3_come_out_as_fields() {
    let rackup = r#"run lambda { |_| [201, { "Set-Cookie" => "a=1\nb=2", "x-list" => ["p", "q"], "X-Number" => 5,
        "rack.private" => "no", "Status" => "7" }, []] }"#;
    let answer = Stage::new(rackup).ask(get("/"));
    assert_eq!(answer.status, 201);
    let fields: Vec<String> = answer.fields();
    assert_eq!(fields, ["set-cookie: a=1", "set-cookie: b=2", "x-list: p", "x-list: q", "x-number: 5"]);
}

#[test]
fn bodies_by_each_and_by_call_are_streams_and_are_closed_once() {
    let rackup = r#"
        class Each
          def each
            3.times { |n| yield "part #{n}\n" }
          end
          def close = FoolsGold::METRICS.counter("closed").inc
        end
        map("/each") { run lambda { |_| [200, {}, Each.new] } }
        map("/call") { run lambda { |_| [200, {}, lambda { |stream| stream.write("a"); stream << "b"; stream.close }] } }
    "#;
    let mut stage = Stage::new(rackup);
    assert_eq!(stage.ask(get("/each")).text(), "part 0\npart 1\npart 2\n");
    assert_eq!(stage.ask(get("/call")).text(), "ab");
    assert_eq!(stage.metrics.counter("closed", "", &[]).unwrap().get(), 1);
}

#[test]
fn what_waits_for_the_end_of_an_answer_is_called_the_last_one_first_with_what_went_wrong() {
    let rackup = r##"
        def said(env, text) = env["rack.errors"].puts("said #{text}")
        class Broken
          def each
            yield "part"
            raise IOError, "in the midst"
          end
        end
        run lambda { |env|
          path = env["PATH_INFO"]
          finished = env["rack.response_finished"]
          finished << lambda { |env, status, headers, error| said(env, "#{path} first #{status.inspect} #{headers.inspect} #{error.inspect}") }
          finished << lambda { |*| raise KeyError, "in a callable" }
          finished << lambda { |env, _status, _headers, error| said(env, "#{path} last #{error.class} #{error&.message}") }
          case path
          when "/raise" then raise ArgumentError, "no answer"
          when "/none" then nil
          when "/status" then [7, {}, []]
          when "/broken" then [200, { "x" => "y" }, Broken.new]
          else [200, { "x" => "y" }, ["fine"]]
          end
        }
    "##;
    for mode in [Mode::SharedNothing, Mode::Prefork, Mode::Fresh] {
        let mut stage = Stage::with_mode(rackup, mode);
        let mut said = |path: &str, status| {
            let before = stage.log().len();
            assert_eq!(stage.ask(get(path)).status, status);
            // The next answer arrives only when this one is finished.
            stage.ask(get("/fine"));
            let log = stage.log().split_off(before);
            assert!(log.contains("rack.response_finished: ") && log.contains("in a callable (KeyError)"), "{log}");
            let wanted = format!("said {path} ");
            let lines = log.lines().filter_map(|line| Some(line.split_once(&wanted)?.1.to_owned()));
            lines.collect::<Vec<String>>()
        };
        assert_eq!(said("/ok", 200), ["last NilClass ", r#"first 200 {"x"=>"y"} nil"#]);
        let none = ["last ArgumentError no answer", "first nil nil no answer (ArgumentError)"];
        assert_eq!(said("/raise", 500), none);
        assert!(said("/none", 500)[0].starts_with("last TypeError the application returned nil"));
        assert!(said("/status", 500)[1].starts_with("first 7 {} invalid status 7"));
        assert_eq!(
            said("/broken", 200),
            ["last IOError in the midst", r#"first 200 {"x"=>"y"} in the midst (IOError)"#]
        );
    }
}

#[test]
fn an_endless_loop_is_ended_whatever_it_rescues_and_the_next_request_is_served() {
    let rackup = r#"run lambda { |env|
        if env["PATH_INFO"] == "/loop"
          begin
            loop {}
          rescue Exception
            retry
          ensure
            loop {}
          end
        end
        [200, {}, ["ok"]]
    }"#;
    for mode in [Mode::SharedNothing, Mode::Prefork, Mode::Fresh] {
        let mut stage = Stage::with_budget(rackup, mode, Duration::from_secs(1));
        let answer = stage.ask(get("/loop"));
        assert_eq!((answer.status, answer.timings.outcome), (503, RequestOutcome::OutOfTime), "{mode:?}");
        assert_eq!(answer.header("retry-after"), Some("1"));
        assert_eq!(stage.ask(get("/")).text(), "ok");
    }
}

#[test]
fn a_request_that_takes_all_memory_is_a_500_and_the_next_is_served() {
    let rackup = r#"run lambda { |env|
        if env["PATH_INFO"] == "/much"
          list = []
          loop { list << "x" * 100_000 }
        end
        [200, {}, ["ok"]]
    }"#;
    for mode in [Mode::SharedNothing, Mode::Prefork, Mode::Fresh] {
        let mut stage = Stage::with_mode(rackup, mode);
        let answer = stage.ask(get("/much"));
        assert_eq!(
            (answer.status, answer.timings.outcome),
            (500, RequestOutcome::OutOfMemory),
            "{mode:?}: {}",
            stage.log()
        );
        assert_eq!(stage.ask(get("/")).text(), "ok");
    }
}

#[test]
fn what_is_wrong_with_a_rackup_file_is_said_with_its_place() {
    for (rackup, said) in [
        ("run lambda { |env|\n  [200, {}, [}\n", "config.ru:2"),
        (
            "run lambda { |env|\n  case env\n  in {} then 1\n  end\n}\n",
            "config.ru:3: syntax error, unexpected keyword_in, expecting keyword_when; pattern matching (case/in) is not in mruby, use case/when",
        ),
        ("raise 'not today'", "not today (RuntimeError)"),
        ("use Nothing\nrun ->(e) {}", "Nothing"),
        ("", "missing run or map statement"),
        ("require 'nowhere'", "cannot load such file -- nowhere"),
    ] {
        let refusal = Stage::refusal(rackup);
        assert!(refusal.contains(said), "{rackup}: {refusal}");
        let first = refusal.lines().next().unwrap_or_default();
        assert!(first.matches("config.ru:").count() <= 2, "the place is said once too often: {refusal}");
    }
}

#[test]
fn what_is_embedded_has_the_name_under_which_applications_see_it() {
    let mut stage = Stage::new("run lambda { |_| Rack::Utils.parse_query(5) }");
    assert_eq!(stage.ask(get("/")).status, 500);
    assert!(stage.log().contains("/foolsgold/lib/rack/"), "{}", stage.log());
}

#[test]
fn who_asks_for_a_new_interpreter_each_time_gets_it_whatever_the_rackup_file_says() {
    let rackup = "mode :prefork\nrun lambda { |_| $n = $n.to_i + 1; [200, {}, [$n.to_s]] }";
    let mut stage = Stage::with_mode(rackup, Mode::Fresh);
    for _ in 0..2 {
        let answer = stage.ask(get("/"));
        assert_eq!((answer.text().as_str(), answer.timings.mode), ("1", Some(Mode::Fresh)));
    }
}

#[test]
fn a_wrapper_of_a_body_says_itself_what_it_responds_to() {
    let rackup = r#"
        require "rack/lint"
        use Rack::Lint
        run lambda { |env| [200, { "content-type" => "text/plain" }, ["fine"]] }
    "#;
    let mut stage = Stage::new(rackup);
    let answer = stage.ask(request("OPTIONS", "*", b""));
    assert_eq!((answer.status, answer.text().as_str()), (200, "fine"), "{}", stage.log());
}
