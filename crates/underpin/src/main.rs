//! The binary: arguments become a plan, the plan calls the libraries, the result is rendered.
//!
//! The only crate that prints, colours, reads its arguments or exits. How a file is read and a library is found is left
//! to the libraries; `object` combines their parts for one file.

mod acting;
mod cargo;
mod cli;
mod commands;
mod contents;
mod doctor;
mod exit;
mod export;
mod fusion;
mod gain;
mod input;
mod linked;
mod mallocs;
mod object;
mod packaged;
mod plan;
mod progress;
mod screen;
mod tool_terminal;
mod trial;
mod variants;
mod welcome;

use cli::{Cli, Color, Verb};
use exit::Exit;
use screen::Screen;
use std::process::ExitCode;
// In a static program built by cargo alone, these functions copy memory instead of musl's; releases are built by
// `underpin build`, which links in both them and an allocator.
use underpin_overlay as _;

fn main() -> ExitCode {
    let line = cargo::subcommand(std::env::args_os().collect());
    // Before anything else: a build starts this binary hundreds of times.
    if let Some(code) = acting::instead(&line) {
        return code;
    }
    if line.len() < 2 {
        let mut screen = Screen::new(Color::Auto);
        screen.show(&welcome::screen());
        return exit::code(screen.finish().map(|()| Exit::Fine));
    }
    let cli = match Cli::of(&line) {
        Ok(cli) => cli,
        Err(refusal) => return exit::refuse(&refusal, &line),
    };
    let mut screen = Screen::new(cli.color());
    if let Some(error) = cargo::leave() {
        return exit::code(Err(error));
    }
    exit::code(run(cli.verb, &mut screen).and_then(|exit| screen.finish().map(|()| exit)))
}

/// Arguments, plan, command: one line per verb.
fn run(verb: Verb, screen: &mut Screen) -> anyhow::Result<Exit> {
    match verb {
        Verb::Survey(args) => commands::survey::run(plan::SurveyPlan::new(args, asked_to_run())?, screen),
        Verb::Tree(args) => commands::tree::run(plan::TreePlan::new(args)?, screen),
        Verb::Check(args) if packaged::is_set(&args.program) => {
            commands::tags::run(&plan::TagsPlan::new(args)?, screen)
        }
        Verb::Check(args) => commands::check::run(plan::CheckPlan::new(args)?, screen),
        Verb::Trace(args) => commands::trace::run(plan::TracePlan::new(args)?, screen),
        Verb::Storm(args) if args.print_fs => commands::storm::print_file_systems(screen),
        Verb::Storm(args) => commands::storm::run(plan::StormPlan::new(*args, asked_to_run())?, screen),
        Verb::Bundle(args) => commands::bundle::run(&plan::BundleCommand::new(args)?, screen),
        Verb::Build(args) => commands::build::supervised(*args, screen),
        Verb::Image(args) => commands::image::supervised(args, screen),
        Verb::Bind(args) => commands::bind::run(plan::BindRequest::new(args)?, screen),
        Verb::Unbind(args) => commands::unbind::run(plan::UnbindPlan::new(args)?, screen),
        Verb::Verify(args) => commands::verify::run(plan::VerifyPlan::new(args)?, screen),
        Verb::Bench(args) => commands::bench::supervised(*args, screen),
        Verb::Report(args) => commands::bench::report(plan::ReportPlan::new(args), screen),
        Verb::Run(args) => commands::run::run(plan::RunPlan::new(args), screen),
        Verb::Doctor(args) => commands::doctor::run(&args, screen),
        Verb::Generate(args) => commands::generate::run(&args, screen),
    }
}

/// Whether the command line has a `--`: clap does not distinguish an empty list after it from no list.
fn asked_to_run() -> bool {
    std::env::args_os().any(|argument| argument == "--")
}
