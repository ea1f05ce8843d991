//! The model of one run: a script, or a provider within the budget.

use mcptest_core::diag::RunError;
use mcptest_core::eval::ExtractionMode;
use mcptest_core::json::excerpt;
use mcptest_core::redact::Redactor;
use mcptest_core::trace::{Price, Role, Tokens, Trace, cost};
use serde_json::{Value, json};

use crate::agent::{Agent, Reply};
use crate::budget::Spent;
use crate::catalog::Catalog;
use crate::executor::{RunProgress, Starting};
use crate::live::Request;
use crate::provider::script::Player;
use crate::provider::{Access, Client, ModelRequest};

/// Most tokens of an advisory answer.
const ADVICE_TOKENS: u64 = 300;

#[derive(Clone)]
pub(crate) enum ModelSource<'a> {
    Script(Player<'a>),
    Provider { client: &'a Client, access: &'a Access, price: Option<Price> },
}

/// The model of one run.
pub(crate) struct Model<'a> {
    request: &'a Request<'a>,
    source: ModelSource<'a>,
    /// The name of the run, for progress.
    name: String,
    spent: Spent,
}

impl<'a> Model<'a> {
    pub(crate) fn new(request: &'a Request<'a>) -> Self {
        let name = request.cell.row_name(request.runs, Some(request.run), None);
        Self { request, source: request.source.clone(), name, spent: Spent::default() }
    }

    /// The next reply; `None` if the budget does not allow it.
    pub(crate) async fn reply(&mut self, agent: &Agent<'_>, catalog: &Catalog) -> Result<Option<Reply>, RunError> {
        let test = self.request.cell.test;
        let (client, access, price) = match &mut self.source {
            ModelSource::Script(player) => {
                let reply = player.reply(catalog, agent.results());
                return reply.map(Some).map_err(|error| RunError::from(&error));
            }
            ModelSource::Provider { client, access, price } => (*client, *access, *price),
        };
        let question = ModelRequest {
            system: test.system.as_deref(),
            prompt: &test.prompt,
            exchanges: agent.exchanges(),
            tools: catalog.offered(),
            max_tokens: test.max_tokens,
            temperature: test.temperature,
        };
        let now = self.now(agent.exchanges().len() + 1, agent.results().len());
        let watch = self.request.on_progress;
        let notice = |notice: &str| watch(&RunProgress { notice: Some(notice), ..now });
        let reply = self.ask(client, access, price, &question, &notice).await?;
        if let Some(reply) = &reply {
            self.count(&reply.tokens, price);
        }
        Ok(reply)
    }

    /// The model's own review of its final message, if the test requests it. It is recorded and shown, never judged, so a
    /// failure here does not fail the run.
    pub(crate) async fn advise(&mut self, trace: &Trace) -> Option<Value> {
        let narrative = self.request.cell.test.gates.narrative.as_ref();
        let wanted = narrative.is_some_and(|narrative| narrative.mode() == ExtractionMode::LlmAssisted);
        let ModelSource::Provider { client, access, price } = &self.source else { return None };
        let (client, access, price) = (*client, *access, *price);
        if !wanted {
            return None;
        }
        let prompt = advisory_question(trace, self.request.redactor);
        let question = ModelRequest {
            system: None,
            prompt: &prompt,
            exchanges: &[],
            tools: &[],
            max_tokens: ADVICE_TOKENS,
            temperature: None,
        };
        let calls = trace.tool_calls.as_ref().map_or(0, Vec::len);
        let turns = trace.conversation.turns.iter().flatten().filter(|turn| turn.role == Role::Assistant).count();
        let (now, watch) = (self.now(turns + 1, calls), self.request.on_progress);
        let notice = |notice: &str| watch(&RunProgress { notice: Some(notice), ..now });
        let reply = match self.ask(client, access, price, &question, &notice).await {
            Ok(reply) => reply?,
            Err(RunError { message, .. }) => {
                notice(&format!("the advisory request failed: {message}"));
                return None;
            }
        };
        Some(json!({ "question": prompt, "answer": reply.texts.join("\n") }))
    }

    async fn ask(
        &self,
        client: &Client,
        access: &Access,
        price: Option<Price>,
        question: &ModelRequest<'_>,
        notice: &(dyn Fn(&str) + Sync),
    ) -> Result<Option<Reply>, RunError> {
        let body = access.body(question);
        let reserved = self.request.budget.reserve(body.len(), question.max_tokens, price).await;
        let Some(reserved) = reserved else { return Ok(None) };
        match client.send(access, question, &body, notice).await {
            Ok(reply) => {
                reserved.settle(&reply.tokens);
                Ok(Some(reply))
            }
            Err(error) => {
                if error.problem.may_have_cost() {
                    // How much is unknown.
                    reserved.settle(&Tokens::default());
                }
                Err(RunError::from(&error))
            }
        }
    }

    fn count(&mut self, tokens: &Tokens, price: Option<Price>) {
        self.spent.tokens = self.spent.tokens.saturating_add(tokens.spent().unwrap_or(0));
        if let (Some(price), Some(read), Some(written)) = (price, tokens.input, tokens.output) {
            self.spent.cost += cost(read, written, price);
        }
    }

    /// Reports the progress of the run.
    pub(crate) fn report_progress(&self, agent: &Agent<'_>) {
        (self.request.on_progress)(&self.now(agent.exchanges().len() + 1, agent.results().len()));
    }

    /// Reports the servers that the run waits for.
    pub(crate) fn starting(&self, starting: Starting<'_>) {
        (self.request.on_progress)(&RunProgress { starting: Some(starting), ..self.now(0, 0) });
    }

    /// Reports a note before the first turn.
    pub(crate) fn note(&self, note: &str) {
        (self.request.on_progress)(&RunProgress { notice: Some(note), ..self.now(0, 0) });
    }

    fn now(&self, turn: usize, calls: usize) -> RunProgress<'_> {
        let priced = matches!(self.source, ModelSource::Provider { price: Some(_), .. });
        RunProgress {
            name: &self.name,
            turn,
            calls,
            tokens: (self.spent.tokens > 0).then_some(self.spent.tokens),
            cost: priced.then_some(self.spent.cost),
            notice: None,
            starting: None,
            is_over: false,
        }
    }
}

impl Drop for Model<'_> {
    fn drop(&mut self) {
        (self.request.on_progress)(&RunProgress { is_over: true, ..self.now(0, 0) });
    }
}

/// The advisory question: does the message claim what the calls do not show?
fn advisory_question(trace: &Trace, redactor: &Redactor) -> String {
    let calls = trace.tool_calls.as_deref().unwrap_or(&[]);
    let mut list = String::new();
    for (at, call) in calls.iter().enumerate() {
        let failed = trace.result(at).and_then(mcptest_core::trace::ToolResult::failed) == Some(true);
        // Redact before cutting: a cut secret would not be found.
        let args = call.args.clone().map(|args| excerpt(&redactor.value(args), 200)).unwrap_or_default();
        list.push_str(&format!("- {} {args}{}\n", call.name, if failed { " (failed)" } else { "" }));
    }
    if list.is_empty() {
        list.push_str("(none)\n");
    }
    let message = redactor.text(trace.final_response.as_deref().unwrap_or(""));
    format!(
        "An agent made these tool calls:\n{list}\nIt then closed with this message:\n{message}\n\nIn at most three sentences: \
         which actions does the message claim that no successful call shows? Answer \"none\" if there is none."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advisory_request_has_no_secret_and_no_part_of_one() {
        let redactor = Redactor::new([("TOKEN".to_owned(), "plainsecretvalue".to_owned())]);
        let long = format!("{}plainsecretvalue", "x".repeat(185));
        let trace = json!({
            "final_response": "Sent plainsecretvalue.",
            "tool_calls": [{ "name": "send", "args": { "a": long } }, { "name": "list" }],
            "tool_results": [{ "is_error": true, "content": [] }, null],
        });
        let shown = "x".repeat(185);
        let expected = format!(
            "An agent made these tool calls:\n- send {{\"a\":\"{shown}[redacted… (failed)\n- list \n\nIt then closed with this \
             message:\nSent [redacted:TOKEN].\n\nIn at most three sentences: which actions does the message claim that no \
             successful call shows? Answer \"none\" if there is none."
        );
        assert_eq!(advisory_question(&Trace::from_envelope(&trace).unwrap(), &redactor), expected);
    }
}
