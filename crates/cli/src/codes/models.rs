//! Models that cannot be called, their keys, what they cost, and scripts that replace them.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 19] = [
    entry(
        Code::NoKey,
        "A model needs an API key",
        "model `claude-sonnet-4-5` needs an API key, but ANTHROPIC_API_KEY and ANTHROPIC_AUTH_TOKEN are not set",
        "`--record` and `--live` call the model, and its provider requires a key. Replays need none.",
        &[
            "Set the variable in the message, or choose another one with `api_key_env:` of the model.",
            "If the server does not check the key, set any value.",
            "To replay existing recordings, omit `--record` and `--live`.",
        ],
    ),
    entry(
        Code::BadKey,
        "An API key has invalid characters",
        "model `m`: the value of ANTHROPIC_API_KEY contains characters that are not allowed in a header",
        "The value has a line break or another character that cannot be in a key. This happens if it is read from a file.",
        &["Set the variable again, without line breaks."],
    ),
    entry(
        Code::BadBaseUrl,
        "The address of a model is invalid",
        "model `m`: `base_url` is not a valid URL: relative URL without a base",
        "The address must be a full URL without a user or password.",
        &["Write it as `https://host/path`; put keys into the variable of `api_key_env:`."],
    ),
    entry(
        Code::ModelUnreachable,
        "A model cannot be reached",
        "model `m` at http://127.0.0.1:1/v1/messages: connection failed: Connection refused (os error 111) (4 attempts)",
        "Nothing answers at the address: the server is not running, the network or a proxy blocks it, or `base_url:` is wrong.",
        &["Start the server, or fix `base_url:`.", "Check the network, the proxy and the system certificates."],
    ),
    entry(
        Code::KeyRejected,
        "The provider rejects the API key",
        "model `m` at http://127.0.0.1:1/v1/messages: HTTP 401: bad key",
        "The key is wrong or expired, or it may not use this model.",
        &["Check the variable that the hint names, and the permissions of the key."],
    ),
    entry(
        Code::ModelNotFound,
        "The provider does not have the model",
        "model `m` at http://127.0.0.1:1/v1/messages: HTTP 404: no such model",
        "The provider does not know the model name, or the path of the address is wrong. `base_url:` ends with `/v1` for \
         `openai`, and without it for `anthropic`.",
        &["Check `model:` and `base_url:`."],
    ),
    entry(
        Code::ModelOverloaded,
        "The provider is overloaded or down",
        "model `m` at http://127.0.0.1:1/v1/messages: HTTP 500: on fire (4 attempts)",
        "The request failed four times, with increasing delays.",
        &["Try again later, or with fewer runs at once: `--jobs 1`.", "Finished recordings are kept; only the rest must be recorded."],
    ),
    entry(
        Code::RequestRejected,
        "The provider rejects the request",
        "model `m` at http://127.0.0.1:1/v1/messages: HTTP 400: temperature is not supported",
        "The model does not accept a part of the request: `temperature`, `max_tokens`, or the schema of a tool.",
        &["Fix what the response names.", "Most current models reject `temperature:`."],
    ),
    entry(
        Code::ModelRedirect,
        "The provider redirects the request",
        "model `m` at http://127.0.0.1:1/v1/messages: HTTP 301 redirects to http://elsewhere.test/; redirects are not followed",
        "A redirect would send the API key to an address that is not in the suite.",
        &["If you trust the new address, set `base_url:` to it."],
    ),
    entry(
        Code::UnreadableReply,
        "The response of a model cannot be read",
        "model `m` at http://127.0.0.1:1/v1/messages: cannot read the response: it is not JSON (line 1, column 1: expected value)",
        "The response does not match the API. It often comes from a proxy, a web page or another API.",
        &["Check that `base_url:` is the address of a server with the API that the hint names.", "For OpenAI, choose the API with `api: chat` or `api: responses`."],
    ),
    entry(
        Code::ModelTimeout,
        "A model does not answer in time",
        "model `m` at https://api.example.test/v1/messages: no complete response within 600 s (4 attempts)",
        "The provider accepted the request but did not finish its response.",
        &["Try again.", "Reduce the work: a lower `max_tokens:`, fewer tools, a shorter prompt."],
    )
    .unprovoked("it takes minutes; the tests of the clients do it with a short limit"),
    entry(
        Code::ReplyCutOff,
        "A model did not finish its reply",
        "model `m` at http://127.0.0.1:1/v1/messages: the reply ended with `tired`",
        "The provider ended the reply for a reason that is neither completion, a limit nor a refusal, so what the model would \
         have done is unknown.",
        &["Re-record.", "If it happens again, check what the provider says about the reason."],
    ),
    entry(
        Code::BudgetExceeded,
        "The budget stopped the run",
        "note: stopped by the budget: 0 tokens spent, and the next request might exceed it",
        "`--max-tokens-total` or `--max-cost` was reached. Every request reserves the longest reply that `max_tokens:` allows, \
         so the limit is never exceeded. The rest is skipped, and the exit code is 2.",
        &["Raise the limit, lower `max_tokens:` of the tests, or select fewer tests.", "Finished recordings are kept."],
    ),
    entry(
        Code::NoPrice,
        "A cost limit needs prices",
        "error[no-price]: --max-cost needs the price of model `claude-sonnet-4-5` in key.yml",
        "Prices change and differ by contract, so they must be in the suite.",
        &["Add `price: { input: 3, output: 15 }` to the model under `models:`, for a million tokens each.", "Or limit tokens with `--max-tokens-total`."],
    ),
    entry(
        Code::ScriptTooShort,
        "A script ends too early",
        "the script of run 1 has 1 turns, but the model was called once more",
        "The last turn of the script has calls, and the model is called again after them.",
        &["End the script with a turn that has text and no calls."],
    ),
    entry(
        Code::AmbiguousTool,
        "A script calls a tool that several servers have",
        "the script calls `search`, which several servers have: desk, shop",
        "The name of the tool alone is ambiguous.",
        &["Add `server:` to the call in the script."],
    ),
    entry(
        Code::ScriptReference,
        "A script refers to a result that does not exist",
        "the script refers to an earlier result: `results[4].x` is not there: no index 4 in a list of 0",
        "`${results[i].path}` reads result i, counted from 0 over all calls of the run. There is no such result, or it has no \
         such part.",
        &["Check the result: `mcptest cassette show`, or the evidence in a report.", "Fix the index or the path."],
    ),
    entry(
        Code::ScriptUnusable,
        "A script cannot be used",
        "the script has errors",
        "The file in `script:` has errors, which are below the message.",
        &["`mcptest validate FILE` shows all of them; the file is documented in `docs/script.md`."],
    ),
    entry(
        Code::ServerNeedsInput,
        "A server asked for input",
        "the server asked for input (`input_required`), which mcptest declines",
        "The tool wants a person to decide, or continues after its answer. Neither can be replayed, so the call is recorded as \
         failed.",
        &["Use a mode of the server that does not ask, or test the agent with the failure."],
    )
    .unprovoked("it takes a server that asks back; the tests of replies have one"),
];
