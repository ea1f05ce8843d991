//! Models that cannot be asked, their keys, what they cost, and the scripts that stand in for them.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 19] = [
    entry(
        Code::NoKey,
        "A model needs a key",
        "model `claude-sonnet-4-5` needs an API key, but ANTHROPIC_API_KEY and ANTHROPIC_AUTH_TOKEN are not set",
        "`--record` and `--live` ask the model, and its provider wants a key. Replays need none.",
        &[
            "Set the variable that is named, or name another one with `api_key_env:` of the model.",
            "Where the server asks for no key, any value does.",
            "To judge what is recorded already, leave `--record` and `--live` out.",
        ],
    ),
    entry(
        Code::BadKey,
        "A key has characters that cannot be sent",
        "model `m`: the value of ANTHROPIC_API_KEY contains characters that are not allowed in a header",
        "The value has a line break or another character that does not belong into a key. That happens when it is read from a file.",
        &["Set the variable again, without line breaks."],
    ),
    entry(
        Code::BadBaseUrl,
        "The address of a model is none",
        "model `m`: `base_url` is not a valid URL: relative URL without a base",
        "The address has to be whole, and must not hold a user or a password.",
        &["Write it as `https://host/path`; keys go into the variable that `api_key_env:` names."],
    ),
    entry(
        Code::ModelUnreachable,
        "There is no connection to a model",
        "model `m` at http://127.0.0.1:1/v1/messages: connection failed: Connection refused (os error 111) (4 attempts)",
        "Nobody answers at the address: the server is not started, the network or a proxy is in the way, or `base_url:` is wrong.",
        &["Start the server, or correct `base_url:`.", "Check the network, the proxy, and the certificates of the system."],
    ),
    entry(
        Code::KeyRejected,
        "The provider refuses the key",
        "model `m` at http://127.0.0.1:1/v1/messages: HTTP 401: bad key",
        "The key is wrong, has expired, or may not use this model.",
        &["Check the variable that the hint names, and the rights of the key."],
    ),
    entry(
        Code::ModelNotFound,
        "The provider does not have the model",
        "model `m` at http://127.0.0.1:1/v1/messages: HTTP 404: no such model",
        "The name of the model is not known there, or the path of the address is wrong. `base_url:` ends with `/v1` for `openai`, \
         and without it for `anthropic`.",
        &["Check `model:` and `base_url:`."],
    ),
    entry(
        Code::ModelOverloaded,
        "The provider wants a pause or is down",
        "model `m` at http://127.0.0.1:1/v1/messages: HTTP 500: on fire (4 attempts)",
        "The question was asked four times, with longer and longer pauses, and always refused.",
        &["Try again later, or with fewer runs at once: `--jobs 1`.", "What was recorded before stays; only the rest has to be recorded."],
    ),
    entry(
        Code::RequestRejected,
        "The provider refuses the request",
        "model `m` at http://127.0.0.1:1/v1/messages: HTTP 400: temperature is not supported",
        "Something of the request does not suit the model: `temperature`, `max_tokens`, the schema of a tool.",
        &["Correct what the answer names.", "Most current models refuse `temperature:`."],
    ),
    entry(
        Code::ModelRedirect,
        "A model has moved",
        "model `m` at http://127.0.0.1:1/v1/messages: HTTP 301 redirects to http://elsewhere.test/; redirects are not followed",
        "A redirect would send the key to an address that nobody wrote down.",
        &["Set `base_url:` to where the model really is, if you trust that address."],
    ),
    entry(
        Code::UnreadableReply,
        "The answer of a model cannot be read",
        "model `m` at http://127.0.0.1:1/v1/messages: cannot read the response: it is not JSON (line 1, column 1: expected value)",
        "Something answered that does not speak the interface: often a proxy, a page for people, or another interface.",
        &["Check that `base_url:` is the address of a server that speaks the interface the hint names.", "Say which of OpenAI's interfaces it is with `api: chat` or `api: responses`."],
    ),
    entry(
        Code::ModelTimeout,
        "A model does not answer in time",
        "model `m` at https://api.example.test/v1/messages: no complete response within 600 s (4 attempts)",
        "The provider took the question and did not finish its answer.",
        &["Try again.", "Ask for less: a lower `max_tokens:`, fewer tools, a shorter prompt."],
    )
    .unprovoked("it takes minutes; the tests of the clients do it with a short limit"),
    entry(
        Code::ReplyCutOff,
        "A model did not finish its reply",
        "model `m` at http://127.0.0.1:1/v1/messages: the reply ended with `tired`",
        "The provider ended the reply for a reason that is neither an end, a limit nor a refusal, so what the model would have done \
         is not known.",
        &["Record again.", "If it stays so, see what the provider says about the reason."],
    ),
    entry(
        Code::BudgetExceeded,
        "The budget stopped the run",
        "note: stopped by the budget: 0 tokens spent, and the next question might exceed it",
        "`--max-tokens-total` or `--max-cost` is reached. Before a question is asked, room is kept for the longest answer that \
         `max_tokens:` allows, so the limit is never exceeded. What was not asked is skipped, and the exit code is 2.",
        &["Raise the limit, lower `max_tokens:` of the tests, or select fewer tests.", "What was recorded before stays."],
    ),
    entry(
        Code::NoPrice,
        "A limit on money needs prices",
        "error[no-price]: --max-cost needs the price of model `claude-sonnet-4-5` in key.yml",
        "Prices change and differ by contract, so the suite has to say them.",
        &["Add `price: { input: 3, output: 15 }` to the model under `models:`, for a million tokens each.", "Or limit tokens with `--max-tokens-total`."],
    ),
    entry(
        Code::ScriptTooShort,
        "A script ends too early",
        "the script of run 1 has 1 turns, but the model was called once more",
        "The last turn of the script has calls, and the model is asked again when they are answered.",
        &["End the script with a turn that has text and no calls."],
    ),
    entry(
        Code::AmbiguousTool,
        "A script calls a tool that several servers have",
        "the script calls `search`, which several servers have: desk, shop",
        "The name of the tool alone does not say which is meant.",
        &["Add `server:` to the call in the script."],
    ),
    entry(
        Code::ScriptReference,
        "A script refers to an answer that is not there",
        "the script refers to an earlier result: `results[4].x` is not there: no index 4 in a list of 0",
        "`${results[i].path}` reads answer i, counted from 0 over all calls of the run, and that has no such part.",
        &["Look at the answer: `mcptest cassette show`, or the evidence of a report.", "Correct the index or the path."],
    ),
    entry(
        Code::ScriptUnusable,
        "A script cannot be used",
        "the script has errors",
        "The file that `script:` names has mistakes, which are told below.",
        &["`mcptest validate FILE` shows them all with their places; the reference is in `docs/script.md`."],
    ),
    entry(
        Code::ServerNeedsInput,
        "A server asked back instead of answering",
        "the server asked for input (`input_required`), which mcptest declines",
        "The tool wants a person to decide, or works on after its answer. Neither can be repeated from a recording, so the call is \
         recorded as failed.",
        &["Use a mode of the server that does not ask, or test the agent with the failure."],
    )
    .unprovoked("it takes a server that asks back; the tests of replies have one"),
];
