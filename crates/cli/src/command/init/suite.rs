//! Suites and scripts as text, with comments.

use serde_json::Value;

use super::gates::Settled;
use super::yaml::{self, Dollar};

/// A reply of the scripted model.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Turn {
    pub(super) text: Option<String>,
    pub(super) calls: Vec<Call>,
    /// Why it ends, if it is not complete.
    pub(super) stop: Option<&'static str>,
}

/// A call of the scripted model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) args: Value,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Script {
    pub(super) about: Vec<String>,
    pub(super) turns: Vec<Turn>,
    /// Input and output tokens of the whole run.
    pub(super) tokens: Option<(u64, u64)>,
}

impl Script {
    pub(super) fn text(&self) -> String {
        let mut out: String = self.about.iter().map(|line| yaml::comment(0, line)).collect();
        out.push_str("script: 1\nruns:\n  - turns:\n");
        for (at, turn) in self.turns.iter().enumerate() {
            let mut lines = Vec::new();
            // The text of a turn is not a template: a dollar sign is literal.
            lines.extend(turn.text.as_ref().map(|text| format!("text: {}", yaml::text(text, Dollar::Plain))));
            match turn.calls.as_slice() {
                [] => {}
                [only] => lines.push(format!("calls: [{}]", only.text())),
                many => {
                    lines.push("calls:".to_owned());
                    lines.extend(many.iter().map(|call| format!("  - {}", call.text())));
                }
            }
            if let Some((input, output)) = self.tokens {
                // Every reply needs counts, or the run has none: the others are zero.
                let (input, output) = if at == 0 { (input, output) } else { (0, 0) };
                lines.push(format!("usage: {{ input: {input}, output: {output} }}"));
            }
            lines.extend(turn.stop.map(|stop| format!("stop: {stop}")));
            for (at, line) in lines.iter().enumerate() {
                out.push_str(&format!("      {} {line}\n", if at == 0 { '-' } else { ' ' }));
            }
        }
        out
    }
}

impl Call {
    fn text(&self) -> String {
        let Self { tool, args } = self;
        format!("{{ tool: {}, args: {} }}", yaml::text(tool, Dollar::Plain), yaml::value(args, Dollar::Sign))
    }
}

/// A suite with one server, one scripted model and one test.
#[derive(Debug, Clone)]
pub(super) struct Suite {
    pub(super) about: Vec<String>,
    pub(super) server: String,
    /// The file that the mock serves.
    pub(super) tools: &'static str,
    pub(super) about_server: Vec<String>,
    /// Lines for the real server.
    pub(super) real: Vec<String>,
    pub(super) test: &'static str,
    /// A comment about the prompt.
    pub(super) about_prompt: Option<String>,
    pub(super) prompt: String,
    /// `max_turns`, if the default is too low, and why.
    pub(super) max_turns: Option<(usize, &'static str)>,
    pub(super) gates: Vec<Settled>,
}

impl Suite {
    /// Which gates pass, and which are omitted.
    pub(super) fn gates_in_words(&self) -> Vec<String> {
        let (mut passed, mut left_out) = (Vec::new(), Vec::new());
        for gate in &self.gates {
            match gate {
                Settled::Passed { gate, .. } => passed.push(*gate),
                Settled::LeftOut { gate, .. } => left_out.push(*gate),
            }
        }
        let mut line = format!("It passes: {}.", passed.join(", "));
        if !left_out.is_empty() {
            line.push_str(&format!("\nOmitted: {}; the suite says why.", left_out.join(", ")));
        }
        vec![line]
    }

    pub(super) fn text(&self) -> String {
        let mut out: String = self.about.iter().map(|line| yaml::comment(0, line)).collect();
        out.push_str("\nservers:\n");
        out.extend(self.about_server.iter().map(|line| yaml::comment(2, line)));
        // A server name needs no quoting.
        out.push_str(&format!("  {}:\n", self.server));
        out.push_str(&format!("    command: [mcptest, mock, --tools-from, \"${{SUITE_DIR}}/{}\"]\n", self.tools));
        out.extend(self.real.iter().map(|line| format!("    # {line}\n")));
        out.push_str("\nmodels:\n");
        out.push_str(MODELS);
        out.push_str("\nagents:\n");
        out.push_str(&format!("  - name: {}\n", self.test));
        out.push_str("    model: stand-in # change this line first\n");
        out.push_str(&format!("    servers: [{}]\n", self.server));
        out.extend(self.about_prompt.as_ref().map(|about| yaml::comment(4, about)));
        out.push_str(&format!("    prompt: {}\n", yaml::text(&self.prompt, Dollar::Sign)));
        if let Some((most, why)) = self.max_turns {
            out.push_str(&format!("    max_turns: {most} # {why}\n"));
        }
        for gate in &self.gates {
            out.push_str(&gate.text());
        }
        out.push_str(MORE);
        out
    }
}

const MODELS: &str =
    "  # A script that replaces a model. A real model needs no entry here: write its name in the test, such
  # as `model: claude-sonnet-4-5`, set its key (ANTHROPIC_API_KEY), and record it once with
  # `mcptest run --record`. From then on, `mcptest run` replays the recording.
  stand-in: { provider: script, script: mcptest/script.yml }
";

const MORE: &str = "
# Next: `mcptest explain trajectory` explains a gate, `mcptest validate .` checks these files, and
# `mcptest schema` prints the schema for your editor.
";
