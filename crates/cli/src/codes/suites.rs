//! Mistakes in suite files and gates files.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 37] = [
    entry(
        Code::NotYaml,
        "The file is not YAML",
        "error[not-yaml]: invalid YAML: tabs disallowed within this context (block indentation)",
        "The file breaks a rule of YAML, so nobody can tell what it says. The place is where the reader noticed, and the slip \
         is often on the line before.",
        &[
            "Look at the marked line and at the one before it: a tab, a quote or bracket that is not closed, a colon or a dash without a space behind it.",
            "Put text that holds `: ` or starts with one of `* & ! % @` in quotes.",
        ],
    ),
    entry(
        Code::EmptyFile,
        "The file is empty",
        "error[empty-file]: the file is empty",
        "There is nothing in the file but white space or comments.",
        &["Write a suite, or begin with `mcptest init`.", "`mcptest schema` prints what a suite may hold."],
    ),
    entry(
        Code::YamlFeature,
        "The file uses a part of YAML that suites do not have",
        "error[yaml-feature]: a second YAML document starts here",
        "A suite is one document of plain maps, lists, texts, numbers and truth values. Tags, several documents and numbers \
         such as `.inf` could mean something else on another machine, so they are refused.",
        &[
            "Do what the hint says.",
            "Share parts with `&name`, `*name` and `<<: *name`, or split the file into several.",
        ],
    ),
    entry(
        Code::NestedTooDeep,
        "Something nests too deep",
        "error[nested-too-deep]: nested deeper than 128 levels",
        "Values are read up to 128 levels deep, so that no file can exhaust the memory.",
        &["Look for an alias that grows, or for a value that was generated.", "Write the value flatter."],
    ),
    entry(
        Code::DuplicateKey,
        "A key is given twice",
        "error[duplicate-key]: duplicate key `prompt`, first used on line 4",
        "One map has the same key two times. Most readers of YAML keep the last and drop the first without a word.",
        &["Remove one of them.", "If these are two items of a list, begin each with `- `."],
    ),
    entry(
        Code::UnknownKey,
        "A key is not known",
        "error[unknown-key]: unknown key `max_turn` in an agent test",
        "The block has no such key. A key that is ignored would be a check that never runs, so it is an error.",
        &[
            "Take the key that the hint suggests.",
            "If the key is right, it stands in the wrong block: check how far the line is indented.",
            "`mcptest explain KEY` says where a key belongs.",
        ],
    ),
    entry(
        Code::MissingKey,
        "A key is missing",
        "error[missing-key]: missing key `prompt` in an agent test: the user message",
        "The block cannot mean anything without this key.",
        &["Add the key as the hint shows it."],
    ),
    entry(
        Code::WrongType,
        "A value is of the wrong type",
        "error[wrong-type]: `runs` must be a whole number of at least 1, found a string (\"3\")",
        "The key takes another kind of value. Text is never turned into a number or a truth value by itself: `\"3\"` and `yes` \
         are texts.",
        &[
            "Write the value as the hint shows it; `mcptest explain KEY` says what the key takes.",
            "Where a number is due write the number: `${NAME}` always gives text.",
        ],
    ),
    entry(
        Code::EmptyValue,
        "A value is empty",
        "error[empty-value]: `name` is empty",
        "The key is there with nothing behind it, or with an empty text or list where that would check nothing.",
        &["Give a value, or leave the key out.", "When the value comes from a variable, see that the variable is set."],
    ),
    entry(
        Code::DuplicateName,
        "Two things have one name",
        "error[duplicate-name]: duplicate test `weather`, first used on line 2",
        "Recordings, reports and `inject:` find tests, faults and servers by their names.",
        &["Rename one of them, or remove it from the list."],
    ),
    entry(
        Code::MalformedVariable,
        "A reference to a variable cannot be read",
        "error[malformed-variable]: `${` is not closed",
        "`${` begins a reference, which goes on to the next `}` and holds a name of letters, digits and `_`.",
        &["Close it: `${NAME}` or `${NAME:-default}`.", "Write `$$` for a dollar sign."],
    ),
    entry(
        Code::SecretMadePublic,
        "A variable that holds a key is listed as public",
        "error[secret-made-public]: `MCP_TOKEN` holds a key or token and cannot be public",
        "`public:` lists variables whose values may be recorded and reported. What `bearer_token_env` and `api_key_env` name is a \
         secret in any case.",
        &["Remove it from `public:`.", "If it is no secret, pass it in `env:` or `headers:` instead."],
    ),
    entry(
        Code::VariableNotSet,
        "A variable is not set",
        "error[variable-not-set]: variable `CITTY` is not set",
        "`${NAME}` is looked up in `variables:` of the suite and then in the environment. An empty value counts as not set. In \
         `servers` and `models` it is looked up only when a run goes live, so a replay needs no keys.",
        &[
            "Set the variable, also where CI runs.",
            "Or give it a value under `variables:`, or a default: `${NAME:-default}`.",
        ],
    ),
    entry(
        Code::UnknownModel,
        "The model is not known by its name",
        "error[unknown-model]: unknown model `llama3`",
        "Names that begin with `claude-`, `gpt-`, `chatgpt-`, `o1` and the like, or `gemini-` tell whose model it is. For any \
         other name the suite has to say it.",
        &[
            "Correct the name, if it is misspelt.",
            "Or describe the model: `models: { llama3: { provider: openai, base_url: \"http://localhost:11434/v1\" } }`.",
        ],
    ),
    entry(
        Code::NoModel,
        "A test has no model, or two ways to say it",
        "error[no-model]: the test has no model",
        "A test runs on the one model in `model:`, or on each of the list in `models:`.",
        &["Add `model: NAME` or `models: [NAME, NAME]`, and keep one of the two."],
    ),
    entry(
        Code::AssertsNothing,
        "A test asserts nothing",
        "error[asserts-nothing]: the test checks nothing",
        "A test without `expect:` and without a gate passes whatever the agent does.",
        &[
            "Add a gate such as `trajectory:` with the calls that must happen, or `expect:` with assertions.",
            "`mcptest explain` lists the gates.",
        ],
    ),
    entry(
        Code::UnknownReference,
        "A server or a fault is named that the file does not have",
        "error[unknown-reference]: unknown server `wether`",
        "Tests use servers and faults by the names they have in `servers:` and `faults:` of the same file.",
        &[
            "Correct the name, or declare the server or the fault at the top of the file.",
            "A call can only be expected of a server that the test lists under `servers:`.",
        ],
    ),
    entry(
        Code::InvalidServer,
        "A server is described in a way that cannot work",
        "error[invalid-server]: server `weather` has both `command` and `url`",
        "A server is either a program that is started (`command`, with `env` and `cwd`) or an address (`url`, with `headers` and \
         `bearer_token_env`). Its name becomes part of the names of its tools, so it is lower-case letters, digits and `-`.",
        &["Keep one of the two, and only the keys that go with it."],
    ),
    entry(
        Code::InvalidModel,
        "A key of a model does not go with its provider",
        "error[invalid-model]: `base_url` cannot be used with provider `script`",
        "Scripted models take a `script` and nothing else; `api` is for models of `openai`.",
        &["Remove the key, or change `provider:`."],
    ),
    entry(
        Code::InvalidFault,
        "A fault is not described well enough",
        "error[invalid-fault]: a fault of kind `slow` needs `delay_ms`",
        "A fault needs a target, and some kinds need a number: `slow` a `delay_ms`, `recover_after` the number of `failures`.",
        &["Add or remove the key as the hint says; `mcptest explain slow` shows the kind."],
    ),
    entry(
        Code::MalformedTarget,
        "A target is not a path",
        "error[malformed-target]: invalid target `tool_calls[0.name`: column 13: expected `]`, found `.`",
        "A target is names with `.` between them, `[0]` or `[-1]` for one item of a list, `[*]` for all of them, and \
         `[\"odd key\"]` for a key with other characters. There is no `$` in front.",
        &[
            "Correct the path at the column that is named.",
            "`mcptest explain 'tool_calls[*].args'` says what a path reads.",
        ],
    ),
    entry(
        Code::UnknownTarget,
        "A target that no trace has",
        "error[unknown-target]: a trace has no field `tool_name`",
        "The `expect:` of a test reads the trace: `tool_calls`, `tool_results`, `tool_names`, `final_response` or \
         `conversation`. Metrics belong into the `expect:` of their gate.",
        &[
            "Take the name that the hint suggests; lists need an index or `[*]`.",
            "Move an assertion on a metric into the gate's own `expect:`.",
        ],
    ),
    entry(
        Code::UnknownMetric,
        "A gate has no such metric",
        "error[unknown-metric]: `golden_path` has no metric `penality`",
        "The `expect:` of a gate reads the metrics of that gate, with the name of the gate in front.",
        &["Take the metric that the hint suggests.", "`mcptest explain GATE` lists the metrics of a gate."],
    ),
    entry(
        Code::MetricIsANumber,
        "A metric is compared with something that is no number",
        "error[metric-is-a-number]: metrics are numbers: `exact: true` never matches",
        "Metrics are numbers; those that answer yes or no are 1 or 0.",
        &["Write `exact: 1` for yes and `exact: 0` for no, without quotes."],
    ),
    entry(
        Code::MalformedMatcher,
        "A matcher cannot be read",
        "error[malformed-matcher]: unknown matcher `contain`",
        "A matcher is a map with exactly one key: `exact`, `contains`, `icontains`, `contains-all`, `regex`, `schema`, `near` or `not`.",
        &[
            "Take the matcher that the hint suggests; `mcptest explain contains` says when one holds.",
            "Bounds are written as `schema: { minimum: 80 }`, a number with some play as `near: { value: 80, tolerance: 2 }`.",
            "Two things that must hold are two assertions.",
            "In the expected calls of `trajectory`, matchers belong under `args: { match: .. }`, each with its argument in front.",
        ],
    ),
    entry(
        Code::ModelGradedMatcher,
        "A matcher that asks a model",
        "error[model-graded-matcher]: `llm-judge` is not supported: a verdict never depends on a model",
        "Verdicts rest on what was recorded, so that the same recording always gives the same verdict. A model as a judge gives \
         different ones.",
        &[
            "Assert on what the agent did: `trajectory:`, or `expect:` on `tool_calls` and `tool_results`.",
            "For what the agent says about it there is `narrative:`, which compares its closing message with its calls.",
        ],
    ),
    entry(
        Code::MalformedRegex,
        "A regular expression cannot be used",
        "error[malformed-regex]: invalid regex: look-around, including look-ahead and look-behind, is not supported",
        "Patterns run in time linear in the text, whatever they are. That leaves out look-around and back references.",
        &[
            "Put `\\` before a character that is meant as itself.",
            "Say what must not be there with `not: { regex: .. }`.",
        ],
    ),
    entry(
        Code::MalformedSchema,
        "A JSON Schema cannot be used",
        "error[malformed-schema]: unknown schema keyword `minItem`",
        "A keyword that a validator does not know is ignored by the standard, and a check that is ignored passes. So every \
         keyword has to be known, but for those that begin with `x-`. References to other documents are never followed.",
        &["Take the keyword that the hint suggests.", "Copy what is referred to into the schema, under `$defs`."],
    ),
    entry(
        Code::PrefixedToolName,
        "The name of a tool carries the prefix of its server",
        "error[prefixed-tool-name]: `weather__get_forecast` has the prefix of server `weather`",
        "Models see tools as `server__tool`, so that two servers may have tools of one name. Traces and suites keep the two apart.",
        &["Write the name of the tool alone, and the server under `server:` where it matters."],
    ),
    entry(
        Code::KeyWithoutEffect,
        "A parameter does not go with the mode",
        "error[key-without-effect]: `max_extra` cannot be used with mode `strict`",
        "`strict` and `subset` allow no extra call at all, so there is nothing for `max_extra` to bound. `unordered`, `superset` \
         and `subset` take calls in any order, so there is nothing for `within_turn` to free.",
        &[
            "Use `mode: subsequence` or `unordered` with `max_extra:`, or remove `max_extra:`.",
            "Use `mode: strict` or `subsequence` with `within_turn: any_order`, or remove it.",
        ],
    ),
    entry(
        Code::InvalidIgnoreArgs,
        "`ignore_args` cannot be used so",
        "error[invalid-ignore-args]: `ignore_args` has no effect here: only `exact` and `subset` compare values",
        "`ignore_args` leaves parts of the arguments out of `exact` and `subset`. Each item is a JSON pointer such as `/request_id`.",
        &["Use it with `args: { exact: .. }` or `args: { subset: .. }`.", "Begin each pointer with `/`."],
    ),
    entry(
        Code::SelfEdge,
        "A call should come before itself",
        "error[self-edge]: an edge from `search` to itself can never hold",
        "An edge of `trajectory_axes` names two tools, and the first call of a tool has none of its own before it.",
        &["Name two different tools.", "How often a tool is called is a matter of `trajectory:` or `golden_path:`."],
    ),
    entry(
        Code::StabilityNeedsRuns,
        "`stability` over one run",
        "error[stability-needs-runs]: `stability` needs at least 2 runs",
        "`stability` compares the runs of a test, and one run has nothing to compare with.",
        &["Set `runs:` of the test to 2 or more, and record again."],
    ),
    entry(
        Code::RecoveryWithoutInject,
        "`recovery` without a fault",
        "error[recovery-without-inject]: `recovery` needs `inject`",
        "`recovery` judges what an agent does after a fault, and the test injects none.",
        &["Describe a fault under `faults:` and name it in the test: `inject: [dead-search]`."],
    ),
    entry(
        Code::ReliabilityWithoutChecks,
        "`reliability` has no per-run checks to count",
        "error[reliability-without-checks]: `reliability` has no per-run checks to count",
        "`reliability` counts how many runs pass. Something has to say of each run whether it does: `expect:`, or a gate that \
         judges single runs.",
        &[
            "Add `trajectory:`, another gate for single runs, or `expect:` beside it.",
            "With `mcptest score`, `--outcome` and `--outcome-pass` take the outcome from the records.",
        ],
    ),
    entry(
        Code::TooManyRuns,
        "More runs than can be asked for",
        "error[too-many-runs]: `runs` is 100001, more than the limit of 100000",
        "A test may have up to 100,000 runs. A thousand tell a pass rate to within about three percent.",
        &["`mcptest runs` says how many runs a pass rate needs."],
    ),
    entry(
        Code::NotOneWord,
        "A verb of `mutating_verbs` is more than one word",
        "error[not-one-word]: `check in` is not one word",
        "Claims are found by single verbs, in all their forms.",
        &["Give the base form of the verb, such as `refund`."],
    ),
];
