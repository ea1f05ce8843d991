//! Calls of the program in shell scripts and CI files: its own parser must accept them.

use super::Problem;
use super::blocks::Block;

const PROGRAM: &str = "mcptest";

/// What the parser reports about the calls in a block.
pub(super) fn check(block: &Block) -> Vec<Problem> {
    let of_ci = match block.language.as_str() {
        "sh" => false,
        "yaml" | "groovy" => true,
        _ => return Vec::new(),
    };
    let mut problems = Vec::new();
    let mut lines = block.text.lines().zip(block.line + 1..);
    while let Some((line, number)) = lines.next() {
        let mut call = if of_ci { script_of(line) } else { line }.to_owned();
        let program = call.split_whitespace().next().unwrap_or("");
        if program.rsplit('/').next() != Some(PROGRAM) {
            continue;
        }
        while let Some(open) = call.strip_suffix('\\') {
            let (next, _) = lines.next().unwrap_or_default();
            call = format!("{open}{}", next.trim_start());
        }
        if let Err(message) = parse(&call) {
            problems.push(Problem::new(number, message));
        }
    }
    problems
}

/// The script in a line of a CI file: `- run: script`, `- script`, `sh 'script'`.
fn script_of(line: &str) -> &str {
    let mut script = line.trim();
    for before in ["- ", "run: ", "sh "] {
        script = script.strip_prefix(before).unwrap_or(script);
    }
    for quote in ['\'', '"'] {
        let inside = script.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        script = inside.unwrap_or(script);
    }
    script
}

fn parse(call: &str) -> Result<(), String> {
    let words = words(call).ok_or_else(|| format!("`{call}` has a quote that is not closed"))?;
    match mcptest::cli().try_get_matches_from(&words) {
        // Help and version are not mistakes.
        Err(error) if error.use_stderr() => {
            Err(format!("`{call}` is not a valid call\n{}", error.to_string().trim_end()))
        }
        _ => Ok(()),
    }
}

/// The words of the first command in a line of shell; `None` when a quote is open at its end.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars().peekable();
    while let Some(at) = chars.next() {
        match at {
            ' ' | '\t' => words.extend(word.take()),
            '#' if word.is_none() => break,
            '|' | '&' | ';' => break,
            '<' | '>' => {
                // In `2>` the number is not a word.
                word = word.filter(|word| !word.chars().all(|digit| digit.is_ascii_digit()));
                break;
            }
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == at => break,
                        '\\' if at == '"' => word.push(chars.next()?),
                        inside => word.push(inside),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::blocks::blocks;

    /// The lines with a problem.
    fn rejected(language: &str, text: &str) -> Vec<usize> {
        let found = blocks(&format!("```{language}\n{text}\n```\n")).unwrap();
        check(&found[0]).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn words_are_split_like_in_a_shell() {
        let split = |line: &str| words(line).unwrap();
        assert_eq!(split("mcptest run 'a b' \"c \\\" d\" e\\ f''"), ["mcptest", "run", "a b", "c \" d", "e f"]);
        assert_eq!(split("mcptest run a.yml 2>/dev/null"), ["mcptest", "run", "a.yml"]);
        assert_eq!(split("mcptest run a.yml > 2 # why"), ["mcptest", "run", "a.yml"]);
        assert_eq!(split("mcptest run a#b.yml | head -1"), ["mcptest", "run", "a#b.yml"]);
        assert_eq!(words("mcptest run 'a"), None);
    }

    #[test]
    fn a_call_that_the_program_does_not_understand_is_rejected() {
        assert_eq!(
            rejected("sh", "mcptest run a.yml\nmcptest rum a.yml\nls --nonsense\nmcptest run --nonsense"),
            [3, 5]
        );
        assert_eq!(
            rejected("sh", "mcptest run a.yml \\\n  --reporter junit=a.xml\nmcptest run a.yml \\\n  --job x"),
            [4]
        );
        assert_eq!(
            rejected("sh", "mcptest --help\nmcptest --version\nmcptest-other --x\nmcptest run 'a\nbin/mcptest rum"),
            [5, 6]
        );
    }

    #[test]
    fn calls_in_ci_files_are_checked() {
        let steps =
            "- run: mcptest run a/\n- run: mcptest rum a/\n- mcptest rum\n- \"mcptest rum\"\n- run: |\n    mcptest rum";
        assert_eq!(rejected("yaml ci", steps), [3, 4, 5, 7]);
        assert_eq!(rejected("groovy Jenkinsfile", "sh 'mcptest run a/'\nsh 'mcptest rum'\nsh \"mcptest rum\""), [3, 4]);
        assert_eq!(rejected("text", "mcptest rum"), [0; 0]);
    }
}
