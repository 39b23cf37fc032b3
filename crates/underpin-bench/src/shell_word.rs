//! Words as a POSIX shell takes them.

/// Characters other than letters and digits that are special to no shell, anywhere in a word.
const PLAIN: &str = "/._-+=:,@%^";

/// A word as a POSIX shell takes it, quoted only if it has to be. Every such shell reads exactly the same text.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let plain = |ch: char| ch.is_alphanumeric() || PLAIN.contains(ch);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::shell_word;
    use proptest::prelude::*;
    use std::process::Command;

    /// Text with every character that means something to a shell.
    fn text() -> impl Strategy<Value = String> {
        let special =
            prop::sample::select("'\"\\$`!#&|;<>(){}[]*?~=^%+-.,:/@ \t\n\r\u{e9}\u{7f}".chars().collect::<Vec<_>>());
        let one = prop_oneof![4 => special, 1 => any::<char>().prop_filter("no C string has it", |ch| *ch != '\0')];
        prop::collection::vec(one, 0..24).prop_map(|all| all.into_iter().collect())
    }

    /// What a shell makes of words, each with a NUL behind it.
    fn read_by(shell: &str, script: &str) -> Option<Vec<u8>> {
        let output = Command::new(shell).args(["-c", script]).output().ok()?;
        assert!(output.status.success(), "{shell}: {script:?}: {}", String::from_utf8_lossy(&output.stderr));
        Some(output.stdout)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_shell_reads_the_very_text_again(words in prop::collection::vec(text(), 1..6)) {
            let quoted: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
            let expected: Vec<u8> = words.iter().flat_map(|word| word.bytes().chain([0])).collect();
            let given = format!("printf '%s\\0' {}", quoted.join(" "));
            let set = format!("export A={}; sh -c 'printf \"%s\\0\" \"$A\"'", quoted[0]);
            let one: Vec<u8> = words[0].bytes().chain([0]).collect();
            // sh is the oracle, and bash too if it is installed.
            for shell in ["sh", "bash"] {
                if let Some(read) = read_by(shell, &given) {
                    prop_assert_eq!(&read, &expected, "{}: {}", shell, given);
                }
                if let Some(read) = read_by(shell, &set) {
                    prop_assert_eq!(&read, &one, "{}: {}", shell, set);
                }
            }
        }
    }

    #[test]
    fn a_word_that_needs_no_quotes_has_none() {
        for word in ["/a/b-1.so", "--host=aarch64-linux-gnu", "a@1.2,b:c", "HEAD^", "é"] {
            assert_eq!(shell_word(word), word);
        }
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }
}
