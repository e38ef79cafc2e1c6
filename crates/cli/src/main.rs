//! The command line: flags in, answers out. The only part that prints and ends the process.

mod chart;
mod explain;
mod flags;
mod fleet;
mod html;
mod json;
mod page;
mod paint;
mod profile;
mod progress;
mod test_command;
mod text;

use clap::{CommandFactory, Parser};
use ergodic_driver::{
    BadModel, CheckError, CheckOptions, Diagnostic, Model, Report, Saved, SimulationReport,
    TraceStep, Verdict, WalkObserver, audit_reduction, audit_symmetry, check, load, load_text,
    render, resume, simulate,
};
use flags::{
    CheckArgs, Cli, Command, FormatArg, IrArgs, OutputArgs, ResumeArgs, RulesArg, SimulateArgs,
    TraceArg,
};
use paint::Paint;
use progress::{Interrupt, Line, interrupt};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use text::Style;

/// Exit codes, fixed for scripts.
mod exit {
    pub const HOLDS: u8 = 0;
    pub const VIOLATED: u8 = 1;
    pub const INCOMPLETE: u8 = 2;
    pub const BAD_INPUT: u8 = 3;
    pub const INTERNAL: u8 = 4;
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(mut error) => {
            flags::fleet::name_variable(&mut error);
            let code = if error.use_stderr() { exit::BAD_INPUT } else { exit::HOLDS };
            // A closed pipe is the reader's choice.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    ExitCode::from(match cli.command {
        Command::Check(args) => check_command(&args),
        Command::Resume(args) => resume_command(&args),
        Command::Simulate(args) => simulate_command(&args),
        Command::Profile(args) => profile::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Serve(args) => fleet::serve_command(&args),
        Command::Work(args) => fleet::work_command(&args),
        Command::Keep(args) => fleet::keep_command(&args),
        Command::Jobs(args) => fleet::jobs_command(&args),
        Command::Cancel(args) => fleet::cancel_command(&args),
        Command::Test(args) => test_command::run(&args),
        Command::Ir(args) => ir_command(&args),
        Command::Man => man_command(),
        Command::Completions { shell } => {
            let mut out = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "ergodic", &mut out);
            print(&String::from_utf8_lossy(&out));
            exit::HOLDS
        }
    })
}

/// Writes to standard output. A closed pipe is the reader's choice and no error.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

/// Writes a message to standard error.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", text.trim_end());
}

/// Writes to a file, or to standard output if there is none; says so if that is not possible.
pub(crate) fn deliver(text: &str, file: Option<&Path>, what: &str) -> bool {
    let Some(path) = file else {
        print(text);
        return true;
    };
    let written = std::fs::write(path, text);
    if let Err(error) = &written {
        complain(&format!("error: cannot write the {what} to {}: {error}", path.display()));
    }
    written.is_ok()
}

fn check_command(args: &CheckArgs) -> u8 {
    let model = match load(&args.path, &args.explore.model.load_options()) {
        Ok(model) => model,
        Err(bad) => return bad_model(&args.path, &bad, &args.output),
    };
    warn(&model, &model.warnings, &args.output);
    let mut options = args.explore.check_options();
    options.traces = args.trace != TraceArg::Off;
    options.graph.clone_from(&args.graph);
    options.short.seed = args.seed;
    options.checkpoint.clone_from(&args.checkpoint);
    options.checkpoint_every = args.checkpoint_every;
    if args.audit_symmetry {
        return audit_command(&model, &options, &args.output);
    }
    if args.audit_reduction {
        return audit_reduction_command(&model, &options, &args.output);
    }
    let mut line = Line::new(shows_progress(args), interrupt(), options.max_states);
    let result = check(&model, &options, &mut line);
    line.clear();
    show(&model, result, args.trace, args.rules, &args.output)
}

/// Shows what a run came to; returns the exit code.
fn show(
    model: &Model,
    result: Result<Report, CheckError>,
    trace: TraceArg,
    rules: RulesArg,
    output: &OutputArgs,
) -> u8 {
    let report = match result {
        Ok(report) => report,
        Err(error) => return failed(model, &error, output),
    };
    print(&match output.format {
        FormatArg::Text => {
            let style = Style { trace, rules, paint: Paint::for_stdout(output.color) };
            text::report(model, &report, style)
        }
        FormatArg::Json => {
            format!("{:#}\n", json::report(model, &report, trace != TraceArg::Off))
        }
    });
    warn(model, &report.warnings, output);
    match report.verdict {
        Verdict::Holds(_) => exit::HOLDS,
        Verdict::Violated => exit::VIOLATED,
        Verdict::Incomplete(_) => exit::INCOMPLETE,
    }
}

/// Goes on with a run that was saved.
fn resume_command(args: &ResumeArgs) -> u8 {
    let saved = match Saved::open(&args.path) {
        Ok(saved) => saved,
        Err(why) => {
            complain(&format!("error: {why}"));
            return exit::BAD_INPUT;
        }
    };
    let model = match load_text(&saved.name, saved.text.clone(), &saved.load) {
        Ok(model) => model,
        Err(bad) => return bad_model(Path::new(&saved.name), &bad, &args.output),
    };
    warn(&model, &model.warnings, &args.output);
    let options = args.check_options(&saved.check);
    let visible = !args.no_progress && std::io::stderr().is_terminal();
    let mut line = Line::new(visible, interrupt(), options.max_states);
    let result = resume(&model, &options, &saved, &mut line);
    line.clear();
    show(&model, result, args.trace, args.rules, &args.output)
}

/// Explores with and without reduction and tells whether they agree.
fn audit_command(model: &Model, options: &CheckOptions, output: &OutputArgs) -> u8 {
    let name = &model.name;
    let mut warnings = Vec::new();
    let audited = audit_symmetry(model, options, &mut warnings);
    warn(model, &warnings, output);
    let Some(audit) = audited else {
        print(&format!("{name}: no scalarset that can be reduced\n"));
        return exit::HOLDS;
    };
    let (plain, orbits, reduced) = (
        text::thousands(audit.plain),
        text::thousands(audit.orbits),
        text::thousands(audit.reduced),
    );
    let verdict = if audit.same_verdict { "the verdicts agree" } else { "the verdicts DIFFER" };
    let scope = if audit.complete { "" } else { "; the counts are of runs that ended early" };
    print(&format!(
        "{name}: {plain} states in {orbits} orbits; {reduced} states with reduction; {verdict}{scope}\n"
    ));
    match (audit.passed(), audit.cut) {
        (false, _) => exit::INTERNAL,
        (true, true) => exit::INCOMPLETE,
        (true, false) => exit::HOLDS,
    }
}

/// Explores with and without what leaves out transitions and tells whether they agree.
fn audit_reduction_command(model: &Model, options: &CheckOptions, output: &OutputArgs) -> u8 {
    let audit = match audit_reduction(model, options, &mut ergodic_driver::Unobserved) {
        Ok(audit) => audit,
        Err(error) => return failed(model, &error, output),
    };
    let counts = |report: &Report| {
        let (states, transitions) = (report.stats.states, report.stats.transitions);
        format!(
            "{} states and {} transitions",
            text::thousands(states),
            text::thousands(transitions)
        )
    };
    let verdict = match (audit.cut(), audit.same_verdict()) {
        (true, _) => "a limit ended one of the runs",
        (false, true) => "the verdicts agree",
        (false, false) => "the verdicts DIFFER",
    };
    let scope = if audit.complete() { "" } else { "; the counts are of runs that ended early" };
    print(&format!(
        "{}: {}; {} with reduction; {verdict}{scope}\n",
        model.name,
        counts(&audit.full),
        counts(&audit.reduced)
    ));
    match (audit.passed(), audit.cut()) {
        (false, _) => exit::INTERNAL,
        (true, true) => exit::INCOMPLETE,
        (true, false) => exit::HOLDS,
    }
}

fn shows_progress(args: &CheckArgs) -> bool {
    !args.no_progress && std::io::stderr().is_terminal()
}

fn bad_model(path: &Path, bad: &BadModel, output: &OutputArgs) -> u8 {
    match output.format {
        FormatArg::Json => {
            let name = path.display().to_string();
            print(&format!("{:#}\n", json::errors(&name, &bad.sources, &bad.diagnostics)));
        }
        FormatArg::Text => {
            let paint = Paint::for_stderr(output.color);
            for diagnostic in &bad.diagnostics {
                complain(&render(diagnostic, &bad.sources, paint.on));
                complain("");
            }
            let errors = bad.diagnostics.iter().filter(|d| d.is_error()).count();
            let plural = if errors == 1 { "" } else { "s" };
            complain(&format!("{}: not checked, {errors} error{plural}", path.display()));
        }
    }
    exit::BAD_INPUT
}

/// Warnings shown in full; of more, only the number.
const MANY_WARNINGS: usize = 10;

fn warn(model: &Model, warnings: &[Diagnostic], output: &OutputArgs) {
    if output.format != FormatArg::Text {
        return;
    }
    let paint = Paint::for_stderr(output.color);
    for warning in warnings.iter().take(MANY_WARNINGS) {
        complain(&render(warning, &model.sources, paint.on));
        complain("");
    }
    if warnings.len() > MANY_WARNINGS {
        let rest = warnings.len() - MANY_WARNINGS;
        complain(&format!("… and {rest} more warnings; --format json has them all\n"));
    }
}

/// Shows an error that is not one of the model.
pub(crate) fn refuse(model: &Model, diagnostic: Diagnostic, output: &OutputArgs) {
    match output.format {
        FormatArg::Json => {
            print(&format!("{:#}\n", json::errors(&model.name, &model.sources, &[diagnostic])));
        }
        FormatArg::Text => {
            let paint = Paint::for_stderr(output.color);
            complain(&render(&diagnostic, &model.sources, paint.on));
        }
    }
}

fn failed(model: &Model, error: &CheckError, output: &OutputArgs) -> u8 {
    refuse(model, Diagnostic::error(error.to_string()), output);
    match error {
        CheckError::Internal(_) => exit::INTERNAL,
        CheckError::Output(_) | CheckError::Options(_) => exit::BAD_INPUT,
    }
}

fn simulate_command(args: &SimulateArgs) -> u8 {
    let model = match load(&args.path, &args.model.load_options()) {
        Ok(model) => model,
        Err(bad) => return bad_model(&args.path, &bad, &args.output),
    };
    warn(&model, &model.warnings, &args.output);
    let paint = Paint::for_stdout(args.output.color);
    let style = Style { trace: args.trace, rules: RulesArg::Auto, paint };
    let verbose = args.verbose && args.output.format == FormatArg::Text;
    let mut teller = Teller { model: &model, style, verbose, walk: None, interrupt: interrupt() };
    match simulate(&model, &args.simulate_options(), &mut teller) {
        Ok(report) => {
            print(&match args.output.format {
                FormatArg::Text => simulation_text(&model, &report, args, style),
                FormatArg::Json => format!("{:#}\n", simulation_json(&model, &report, args)),
            });
            match (report.finding.is_some(), report.stopped) {
                (true, _) => exit::VIOLATED,
                (false, true) => exit::INCOMPLETE,
                (false, false) => exit::HOLDS,
            }
        }
        Err(error) => failed(&model, &error, &args.output),
    }
}

/// Tells the steps of a walk as they are taken.
struct Teller<'a> {
    model: &'a Model,
    style: Style,
    verbose: bool,
    walk: Option<u64>,
    interrupt: Interrupt,
}

impl WalkObserver for Teller<'_> {
    fn wants_steps(&self) -> bool {
        self.verbose
    }

    fn step(&mut self, walk: u64, number: u64, previous: Option<&TraceStep>, step: &TraceStep) {
        let mut out = String::new();
        if self.walk != Some(walk) {
            self.walk = Some(walk);
            out.push_str(&format!("Walk {}\n\n", walk + 1));
        }
        text::trace_step(&mut out, self.model, number as usize, previous, step, self.style);
        print(&out);
    }

    fn go_on(&mut self, _walk: u64, _steps: u64) -> bool {
        !self.interrupt.load(Ordering::Relaxed)
    }
}

fn simulation_text(
    model: &Model,
    report: &SimulationReport,
    args: &SimulateArgs,
    style: Style,
) -> String {
    let verdict = match &report.finding {
        Some(finding) => format!("{} – {}", style.paint.bad("violated"), finding.title()),
        None if report.stopped => {
            format!("{} – stopped early; nothing went wrong so far", style.paint.warn("incomplete"))
        }
        None => "nothing went wrong on the way (a walk proves nothing; `ergodic check` does)"
            .to_string(),
    };
    let mut out = format!("{}: {verdict}\n", model.name);
    if let Some(finding) = &report.finding {
        // A walk that was told step by step need not be told again.
        let trace = if args.verbose { TraceArg::Off } else { style.trace };
        text::finding(&mut out, model, finding, Style { trace, ..style });
    }
    out.push_str(&format!(
        "\n  walks        {:<22}steps         {} in all, longest {}\n  seed         {:<22}time          {:.3} s\n",
        text::thousands(report.walks),
        text::thousands(report.steps),
        text::thousands(report.longest),
        args.seed,
        report.elapsed.as_secs_f64(),
    ));
    if report.stuck > 0 {
        out.push_str(&format!("  {} walk(s) ended where no rule is enabled\n", report.stuck));
    }
    let never = report.rules.iter().filter(|rule| rule.fired == 0).count();
    if never > 0 {
        out.push_str(&format!("  {never} of {} rules did not fire\n", report.rules.len()));
    }
    out
}

fn simulation_json(
    model: &Model,
    report: &SimulationReport,
    args: &SimulateArgs,
) -> serde_json::Value {
    let finding =
        report.finding.as_ref().map(|f| json::finding(model, f, args.trace != TraceArg::Off));
    let verdict = match (&finding, report.stopped) {
        (Some(_), _) => "violated",
        (None, true) => "incomplete",
        (None, false) => "nothing-found",
    };
    serde_json::json!({
        "version": json::VERSION,
        "tool": concat!("ergodic ", env!("CARGO_PKG_VERSION")),
        "model": model.name,
        "verdict": verdict,
        "seed": args.seed,
        "walks": report.walks,
        "steps": report.steps,
        "longest": report.longest,
        "stuck": report.stuck,
        "seconds": report.elapsed.as_secs_f64(),
        "rules": report.rules.iter().map(|r| serde_json::json!({
            "name": r.name, "instances": r.instances, "fired": r.fired,
        })).collect::<Vec<_>>(),
        "violation": finding,
    })
}

fn ir_command(args: &IrArgs) -> u8 {
    match load(&args.path, &args.model.load_options()) {
        Ok(model) => {
            print(&ergodic_driver::program_text(&model));
            exit::HOLDS
        }
        Err(bad) => {
            for diagnostic in &bad.diagnostics {
                complain(&render(diagnostic, &bad.sources, false));
            }
            exit::BAD_INPUT
        }
    }
}

fn shown_commands(of: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    of.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

/// A command is a section of the one page, so its own sections go one level down.
fn man_section(out: &mut Vec<u8>, command: &clap::Command, title: &str) -> std::io::Result<()> {
    let page = clap_mangen::Man::new(command.clone());
    let mut part = Vec::new();
    page.render_synopsis_section(&mut part)?;
    page.render_description_section(&mut part)?;
    if command.get_arguments().next().is_some() {
        page.render_options_section(&mut part)?;
    }
    let part = String::from_utf8_lossy(&part).replace(".SH ", ".SS ");
    writeln!(out, ".SH \"COMMAND: {title}\"\n{part}")
}

/// One page: what it is, then each command with its options, then the exit codes.
fn man_page(out: &mut Vec<u8>) -> std::io::Result<()> {
    let mut command = Cli::command();
    command.build();
    let page = clap_mangen::Man::new(command.clone());
    page.render_title(out)?;
    page.render_name_section(out)?;
    page.render_synopsis_section(out)?;
    page.render_description_section(out)?;
    for sub in shown_commands(&command) {
        man_section(out, sub, &sub.get_name().to_uppercase())?;
        for topic in shown_commands(sub) {
            let title = format!("{} {}", sub.get_name(), topic.get_name()).to_uppercase();
            man_section(out, topic, &title)?;
        }
    }
    writeln!(out, ".SH \"EXIT STATUS\"\n{}", flags::EXIT_CODES)?;
    page.render_version_section(out)
}

fn man_command() -> u8 {
    let mut out = Vec::new();
    match man_page(&mut out) {
        Ok(()) => {
            print(&String::from_utf8_lossy(&out));
            exit::HOLDS
        }
        Err(error) => {
            complain(&format!("cannot make the man page: {error}"));
            exit::INTERNAL
        }
    }
}
