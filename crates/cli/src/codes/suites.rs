//! Mistakes in suite files and gates files.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 39] = [
    entry(
        Code::NotYaml,
        "The file is not YAML",
        "error[not-yaml]: invalid YAML: tabs disallowed within this context (block indentation)",
        "The file is not valid YAML. The message shows where the parser noticed; the mistake is often on the line before.",
        &[
            "Check the marked line and the one before it: a tab, an unclosed quote or bracket, or a colon or dash without a \
             space after it.",
            "Quote text that contains `: ` or starts with one of `* & ! % @`.",
        ],
    ),
    entry(
        Code::EmptyFile,
        "The file is empty",
        "error[empty-file]: the file is empty",
        "The file has only white space or comments.",
        &["Write a suite, or start with `mcptest init`.", "`mcptest schema` prints the JSON Schema of suites."],
    ),
    entry(
        Code::YamlFeature,
        "The file uses an unsupported YAML feature",
        "error[yaml-feature]: a second YAML document starts here",
        "A suite is one document of plain maps, lists, strings, numbers and booleans. Tags, multiple documents and numbers \
         such as `.inf` are not portable, so they are errors.",
        &["Follow the hint.", "Share parts with `&name`, `*name` and `<<: *name`, or split the file into several."],
    ),
    entry(
        Code::NestedTooDeep,
        "A value is nested too deep",
        "error[nested-too-deep]: nested deeper than 128 levels",
        "Values may be nested up to 128 levels, so that no file can exhaust the memory.",
        &["Check for an alias that grows, or a generated value.", "Flatten the value."],
    ),
    entry(
        Code::DuplicateKey,
        "A key is duplicated",
        "error[duplicate-key]: duplicate key `prompt`, first used on line 4",
        "A map has the same key twice. Most YAML parsers silently keep the last one.",
        &["Remove one of them.", "If these are two items of a list, start each with `- `."],
    ),
    entry(
        Code::UnknownKey,
        "A key is unknown",
        "error[unknown-key]: unknown key `max_turn` in an agent test",
        "The block has no such key. An ignored key would be a check that never runs, so it is an error.",
        &[
            "Use the key that the hint suggests.",
            "If the key is spelled correctly, it is in the wrong block: check the indentation.",
            "`mcptest explain KEY` says where a key belongs.",
        ],
    ),
    entry(
        Code::MissingKey,
        "A key is missing",
        "error[missing-key]: missing key `prompt` in an agent test: the user message",
        "The block requires this key.",
        &["Add the key as the hint shows it."],
    ),
    entry(
        Code::WrongType,
        "A value has the wrong type",
        "error[wrong-type]: `runs` must be a whole number of at least 1 or a map (runs), found a string (\"3\")",
        "The key takes another type of value. Strings are not converted to numbers or booleans: `\"3\"` and `yes` are strings.",
        &[
            "Write the value as the hint shows; `mcptest explain KEY` says what the key takes.",
            "Write numbers literally: `${NAME}` is always a string.",
        ],
    ),
    entry(
        Code::EmptyValue,
        "A value is empty",
        "error[empty-value]: `name` is empty",
        "The key has no value, or an empty string or list that would check nothing.",
        &["Add a value, or remove the key.", "If the value comes from a variable, check that the variable is set."],
    ),
    entry(
        Code::DuplicateName,
        "Two entries have the same name",
        "error[duplicate-name]: duplicate test `weather`, first used on line 2",
        "Recordings, reports and `inject:` identify tests, faults and servers by name.",
        &["Rename one of them, or remove it from the list."],
    ),
    entry(
        Code::MalformedVariable,
        "A variable reference is malformed",
        "error[malformed-variable]: `${` is not closed",
        "`${` starts a reference, which ends at the next `}` and contains a name of letters, digits and `_`.",
        &["Close it: `${NAME}` or `${NAME:-default}`.", "Write `$$` for a dollar sign."],
    ),
    entry(
        Code::SecretMadePublic,
        "A secret is listed as public",
        "error[secret-made-public]: `MCP_TOKEN` contains a key or token and cannot be public",
        "`public:` lists variables whose values may be recorded and reported. The variables of `bearer_token_env` and \
         `api_key_env` are always secrets.",
        &["Remove it from `public:`.", "If it is not a secret, pass it in `env:` or `headers:` instead."],
    ),
    entry(
        Code::VariableNotSet,
        "A variable is not set",
        "error[variable-not-set]: variable `CITTY` is not set",
        "`${NAME}` is looked up in `variables:` of the suite and then in the environment. An empty value counts as not set. In \
         `servers` and `models` it is only looked up for live runs, so a replay needs no keys.",
        &["Set the variable, in CI as well.", "Or set it under `variables:`, or write a default: `${NAME:-default}`."],
    ),
    entry(
        Code::UnknownModel,
        "The model is unknown",
        "error[unknown-model]: unknown model `llama3`",
        "The provider follows from names that start with `claude-`, `gpt-`, `chatgpt-`, `o1` and the like, or `gemini-`. Any \
         other model must be declared in the suite.",
        &[
            "Fix the name if it is misspelled.",
            "Or declare the model: `models: { llama3: { provider: openai, base_url: \"http://localhost:11434/v1\" } }`.",
        ],
    ),
    entry(
        Code::NoModel,
        "A test has no model, or both `model` and `models`",
        "error[no-model]: the test has no model",
        "A test runs on the model in `model:`, or on each model in `models:`.",
        &["Add either `model: NAME` or `models: [NAME, NAME]`."],
    ),
    entry(
        Code::AssertsNothing,
        "A test checks nothing",
        "error[asserts-nothing]: the test checks nothing",
        "A test without `expect:` and without a gate would always pass.",
        &[
            "Add a gate such as `trajectory:` with the required calls, or `expect:` with assertions.",
            "`mcptest explain` lists the gates.",
        ],
    ),
    entry(
        Code::UnknownReference,
        "A server or fault is not declared",
        "error[unknown-reference]: unknown server `wether`",
        "Tests refer to servers and faults by their names in `servers:` and `faults:` of the same file.",
        &[
            "Fix the name, or declare the server or fault at the top of the file.",
            "An expected call must use a server that the test lists under `servers:`.",
        ],
    ),
    entry(
        Code::InvalidServer,
        "A server is invalid",
        "error[invalid-server]: server `weather` has both `command` and `url`",
        "A server is either a program (`command`, with `env` and `cwd`) or an address (`url`, with `headers` and \
         `bearer_token_env`). Its name becomes part of the tool names that models see, so it has only lowercase letters, \
         digits and `-`.",
        &["Keep one of the two, and only the keys that belong to it."],
    ),
    entry(
        Code::InvalidModel,
        "A key does not apply to the provider of the model",
        "error[invalid-model]: `base_url` cannot be used with provider `script`",
        "Models with `provider: script` take a `script` and nothing else; `api` is for `openai`.",
        &["Remove the key, or change `provider:`."],
    ),
    entry(
        Code::InvalidProgram,
        "A program cannot be used as it is written",
        "error[invalid-program]: `input` cannot be `pipe`: expected stdin, arg or env:NAME",
        "`programs:` says how mcptest starts an agent of your own, hands over the prompt and finds the answer. A value there has the \
         wrong form, two keys exclude each other, or a test of a program has a key that only models have.",
        &["Change or remove the key as the hint says; `mcptest explain programs` lists what each key takes."],
    ),
    entry(
        Code::InvalidFault,
        "A fault is incomplete",
        "error[invalid-fault]: a fault of kind `slow` needs `delay_ms`",
        "A fault needs a target. Some kinds need a number: `slow` needs `delay_ms`, and `recover_after` needs `failures`.",
        &["Add or remove the key as the hint says; `mcptest explain slow` describes the kind."],
    ),
    entry(
        Code::MalformedTarget,
        "A target is malformed",
        "error[malformed-target]: invalid target `tool_calls[0.name`: column 13: expected `]`, found `.`",
        "A target consists of names separated by `.`, `[0]` or `[-1]` for one item of a list, `[*]` for all items, and `[\"odd \
         key\"]` for a key with other characters. There is no leading `$`.",
        &["Fix the path at the column in the message.", "`mcptest explain 'tool_calls[*].args'` describes a path."],
    ),
    entry(
        Code::UnknownTarget,
        "A target does not exist in traces",
        "error[unknown-target]: a trace has no field `tool_name`",
        "The `expect:` of a test reads the trace: `tool_calls`, `tool_results`, `tool_names`, `final_response` or \
         `conversation`. Metrics belong in the `expect:` of their gate.",
        &[
            "Use the name that the hint suggests; lists need an index or `[*]`.",
            "Move an assertion on a metric into the gate's own `expect:`.",
        ],
    ),
    entry(
        Code::UnknownMetric,
        "A gate has no such metric",
        "error[unknown-metric]: `golden_path` has no metric `penality`",
        "The `expect:` of a gate reads the metrics of that gate, with the name of the gate as a prefix.",
        &["Use the metric that the hint suggests.", "`mcptest explain GATE` lists the metrics of a gate."],
    ),
    entry(
        Code::MetricIsANumber,
        "A metric is compared with something that is not a number",
        "error[metric-is-a-number]: metrics are numbers: `exact: true` never matches",
        "Metrics are numbers. Flags are 1 or 0.",
        &["Write `exact: 1` for yes and `exact: 0` for no, without quotes."],
    ),
    entry(
        Code::MalformedMatcher,
        "A matcher is malformed",
        "error[malformed-matcher]: unknown matcher `contain`",
        "A matcher is a map with exactly one key: `exact`, `contains`, `icontains`, `contains-all`, `regex`, `schema`, `near` or `not`.",
        &[
            "Use the matcher that the hint suggests; `mcptest explain contains` describes one.",
            "Write bounds as `schema: { minimum: 80 }`, and a tolerance as `near: { value: 80, tolerance: 2 }`.",
            "For two conditions, write two assertions.",
            "In the expected calls of `trajectory`, matchers go under `args: { match: .. }`, by argument.",
        ],
    ),
    entry(
        Code::ModelGradedMatcher,
        "A matcher needs a model",
        "error[model-graded-matcher]: `llm-judge` is not supported: a verdict never depends on a model",
        "Verdicts depend only on what was recorded, so the same recording always gives the same verdict. A model as a judge \
         does not.",
        &[
            "Assert on what the agent did: `trajectory:`, or `expect:` on `tool_calls` and `tool_results`.",
            "To check what the agent says about it, use `narrative:`, which compares the final message with the calls.",
        ],
    ),
    entry(
        Code::MalformedRegex,
        "A regular expression is invalid",
        "error[malformed-regex]: invalid regex: look-around, including look-ahead and look-behind, is not supported",
        "Patterns run in linear time, so look-around and backreferences are not supported.",
        &["Escape special characters with `\\`.", "To exclude something, use `not: { regex: .. }`."],
    ),
    entry(
        Code::MalformedSchema,
        "A JSON Schema is invalid",
        "error[malformed-schema]: unknown schema keyword `minItem`",
        "By the standard, validators ignore unknown keywords, and an ignored check passes. So every keyword must be known, \
         except those that start with `x-`. References to other documents are never followed.",
        &["Use the keyword that the hint suggests.", "Copy the referenced schema into this one, under `$defs`."],
    ),
    entry(
        Code::PrefixedToolName,
        "A tool name has the prefix of its server",
        "error[prefixed-tool-name]: `weather__get_forecast` has the prefix of server `weather`",
        "Models see tools as `server__tool`, so that two servers may have tools with the same name. Traces and suites keep \
         server and tool separate.",
        &["Write the tool name alone, and the server under `server:` if it matters."],
    ),
    entry(
        Code::KeyWithoutEffect,
        "A parameter does not apply to the mode",
        "error[key-without-effect]: `max_extra` cannot be used with mode `strict`",
        "`strict` and `subset` allow no extra calls, so `max_extra` has no effect. `unordered`, `superset` and `subset` accept \
         any order, so `within_turn` has no effect.",
        &[
            "Use `mode: subsequence` or `unordered` with `max_extra:`, or remove `max_extra:`.",
            "Use `mode: strict` or `subsequence` with `within_turn: any_order`, or remove it.",
        ],
    ),
    entry(
        Code::InvalidIgnoreArgs,
        "`ignore_args` is invalid",
        "error[invalid-ignore-args]: `ignore_args` has no effect here: only `exact` and `subset` compare values",
        "`ignore_args` excludes parts of the arguments from `exact` and `subset`. Each item is a JSON pointer such as \
         `/request_id`.",
        &["Use it with `args: { exact: .. }` or `args: { subset: .. }`.", "Start each pointer with `/`."],
    ),
    entry(
        Code::SelfEdge,
        "An edge leads from a tool to itself",
        "error[self-edge]: an edge from `search` to itself can never be satisfied",
        "An edge of `trajectory_axes` names two tools. The first call of a tool can never come after another call of the same \
         tool.",
        &["Name two different tools.", "To limit how often a tool is called, use `trajectory:` or `golden_path:`."],
    ),
    entry(
        Code::StabilityNeedsRuns,
        "`stability` has only one run",
        "error[stability-needs-runs]: `stability` needs at least 2 runs",
        "`stability` compares the runs of a test, so it needs at least two.",
        &["Set `runs:` of the test to 2 or more, and re-record."],
    ),
    entry(
        Code::RecoveryWithoutInject,
        "`recovery` has no fault",
        "error[recovery-without-inject]: `recovery` needs `inject`",
        "`recovery` judges how an agent handles faults, and the test injects none.",
        &["Declare a fault under `faults:` and name it in the test: `inject: [dead-search]`."],
    ),
    entry(
        Code::ReliabilityWithoutChecks,
        "`reliability` has no per-run checks to count",
        "error[reliability-without-checks]: `reliability` has no per-run checks to count",
        "`reliability` counts how many runs pass. The test needs checks that judge each run: `expect:`, or a gate for single \
         runs.",
        &[
            "Add `trajectory:`, another gate for single runs, or `expect:`.",
            "With `mcptest score`, `--outcome` and `--outcome-pass` read the outcome from the records.",
        ],
    ),
    entry(
        Code::TooManyRuns,
        "There are too many runs",
        "error[too-many-runs]: `runs` is 100001, more than the limit of 100000",
        "A test may have up to 100,000 runs. A thousand runs determine a pass rate to within about three percent.",
        &["`mcptest runs` shows how many runs a pass rate needs."],
    ),
    entry(
        Code::InvalidRuns,
        "Runs cannot stop early like this",
        "error[invalid-runs]: `stop: settled` needs a `reliability` gate with `at_least`",
        "`runs: { min, max, stop: settled }` runs a test until its runs show or refute the pass rate that `reliability` asks \
         for in `at_least`, or until there are `max` of them.",
        &[
            "Set the rate to prove: `reliability: { at_least: 0.9 }`.",
            "Or write `runs` as a number.",
            "`min` cannot be more than `max`.",
        ],
    ),
    entry(
        Code::NotOneWord,
        "A verb of `mutating_verbs` is more than one word",
        "error[not-one-word]: `check in` is not one word",
        "The gate finds claims by single verbs, in all their forms.",
        &["Give the base form of the verb, such as `refund`."],
    ),
];
