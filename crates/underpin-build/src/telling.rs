//! Which lines of what a build printed tell a person why it failed.

/// How our own tools begin what they refuse.
const REFUSAL: &str = "underpin: ";
/// At most so many errors are shown of what was printed before the last lines.
const FIRST_ERRORS: usize = 5;
/// Stands between them and the last lines.
const CUT: &str = "[...]";
/// Programs that are make; a level may follow in brackets.
const MAKES: [&str; 3] = ["make", "gmake", "remake"];

/// The last lines, and before them what [`unseen`] gives.
#[must_use]
pub fn telling<'l>(lines: &[&'l str], last: usize) -> Vec<&'l str> {
    let mut told = unseen(lines, last);
    if !told.is_empty() {
        told.push(CUT);
    }
    told.extend(&lines[lines.len().saturating_sub(last)..]);
    told
}

/// Why it failed, if so many last lines do not tell it: what a tool of ours refused (a configuration that tries a compiler says
/// much after that), what stopped make with the errors right before it (`make -j` ends what runs beside), or else the first errors.
#[must_use]
pub fn unseen<'l>(lines: &[&'l str], last: usize) -> Vec<&'l str> {
    let cut = lines.len().saturating_sub(last);
    let (before, last) = lines.split_at(cut);
    let is_refusal = |line: &&&str| line.trim_start().starts_with(REFUSAL);
    let refused = if last.iter().any(|line| is_refusal(&line)) { None } else { before.iter().find(is_refusal) };
    let mut told: Vec<&str> = refused.map(|line| line.trim_start()).into_iter().collect();
    told.extend(cause(lines, cut));
    told
}

/// What is before the last lines, which begin at `cut`, of what tells why.
fn cause<'l>(lines: &[&'l str], cut: usize) -> Vec<&'l str> {
    let errors = |from: usize, to: usize| (from..to).filter(|at| is_error(lines[*at])).collect::<Vec<usize>>();
    let stop = lines.iter().position(|line| stops_make(line));
    let mut told = match stop {
        Some(at) => errors(at.saturating_sub(lines.len() - cut), at),
        None => Vec::new(),
    };
    // Errors that are far from what stopped make, which named no command that failed, stopped nothing.
    let is_open = stop.is_none_or(|at| lines[at].contains("] Error "));
    if told.is_empty() && is_open && errors(cut, lines.len()).is_empty() {
        told = errors(0, cut);
        told.truncate(FIRST_ERRORS);
    }
    told.extend(stop);
    told.retain(|at| *at < cut);
    told.drain(..told.len().saturating_sub(FIRST_ERRORS + 1));
    told.into_iter().map(|at| lines[at]).collect()
}

/// Whether a line tells an error: the word begins it, or follows a place or a tool (`a.c:1:2: error: `, `ld: error: `,
/// `a.c:1:2: fatal error: `, `CMake Error: `). A line of a program's source may have the word in it, too.
fn is_error(line: &str) -> bool {
    let is_told = |at: usize| {
        let before = &line[..at];
        let before = before.strip_suffix("fatal ").or_else(|| before.strip_suffix("CMake ")).unwrap_or(before);
        before.is_empty() || before.ends_with(": ")
    };
    ["error: ", "ERROR: ", "Error: "].iter().any(|word| line.find(word).is_some_and(is_told))
}

/// Whether make says by this line that it will not go on (GNU make's manual, "Errors in Recipes": an error that is ignored has no
/// stars).
fn stops_make(line: &str) -> bool {
    let Some((program, told)) = line.split_once(": *** ") else { return false };
    let name = program.split('[').next().unwrap_or(program);
    MAKES.contains(&name) && !told.starts_with("Waiting for unfinished jobs")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: usize = 20;

    fn told(text: &str) -> Vec<&str> {
        let lines: Vec<&str> = text.lines().collect();
        let told = telling(&lines, LAST);
        let last = lines.len().min(LAST);
        assert_eq!(told[told.len() - last..], lines[lines.len() - last..]);
        told[..told.len() - last].to_vec()
    }

    #[test]
    fn errors_before_the_last_lines_are_shown_if_those_tell_none() {
        let warnings = "a.c:9:1: warning: unused\n".repeat(LAST);
        let error = "u.h:1:1: error: unknown type";
        let errors = format!("{error}\n").repeat(FIRST_ERRORS + 2);
        let shown = [&[error; FIRST_ERRORS][..], &[CUT]].concat();
        assert_eq!(told(&format!("make\n{errors}{warnings}")), shown);
        for nothing in [
            format!("{errors}{warnings}u.h:2:1: error: again\n"),
            format!("error.c\n{warnings}"),
            // As cppcheck's source has it, quoted by warnings.
            format!("  131 |   fputs(\"Internal error: signal \", output);\n{warnings}"),
            String::new(),
        ] {
            assert!(told(&nothing).is_empty(), "{nothing}");
        }
        for error in ["a.h:1:2: fatal error: b.h: no", "ld: error: c", "CMake Error: d", "m.build:1:0: ERROR: e"] {
            assert_eq!(told(&format!("{error}\n{warnings}")), [error, CUT]);
        }
    }

    #[test]
    fn what_stopped_make_is_shown_with_the_errors_right_before_it() {
        // As nmap's without liblinear: the errors of a list of dependencies stop nothing.
        let tolerated = "a.cc:1:1: fatal error: 'stddef.h' file not found\n".repeat(FIRST_ERRORS);
        let noise = "c++ -c a.cc\n".repeat(LAST);
        let stop = "make: *** No rule to make target 'liblinear/Makefile', needed by 'build-liblinear'.  Stop.";
        let waits = "make: *** Waiting for unfinished jobs....";
        assert_eq!(told(&format!("{tolerated}{noise}{stop}\n{waits}\n{noise}")), [stop, CUT]);
        // In the last lines it needs nothing before it.
        assert!(told(&format!("{tolerated}{noise}{noise}{stop}\n{waits}\n")).is_empty());
        let (error, stop) = ("a.c:1:2: error: no", "make[2]: *** [Makefile:37: a.o] Error 1");
        let others = "b.c:1:2: error: not this run\n";
        assert_eq!(told(&format!("{tolerated}{noise}{error}\n{stop}\n{noise}{others}")), [error, stop, CUT]);
        let ignored = "make: [Makefile:3: clean] Error 1 (ignored)\n";
        assert!(told(&format!("{ignored}{waits}\necho : *** a\n{noise}")).is_empty());
        assert!(told(&format!("{noise}{error}\n{stop}\n")).is_empty(), "the last lines have both");
        // Of the errors right before it the last lines have none, or there are none near.
        let few = "c++ -c a.cc\n".repeat(LAST - 2);
        assert_eq!(told(&format!("{tolerated}{noise}{error}\n{few}{stop}\n{waits}\n")), [error, CUT]);
        assert_eq!(told(&format!("{error}\n{noise}{noise}{stop}\n")), [error, CUT]);
    }

    #[test]
    fn what_our_tool_refused_is_shown_before_the_last_lines() {
        let noise = "line\n".repeat(2 * LAST);
        let refusal = "underpin: this build has no C++ compiler";
        let text = format!("configure\n    {refusal}\n{noise}");
        assert_eq!(told(&text), [refusal, CUT]);
        assert!(told(&format!("{text}{refusal}\n")).is_empty(), "once is enough");
    }
}
