//! `/mcp`: the platform's side of the MCP endpoint. What is said, and in which order it is
//! checked, is [`crate::mcp`]'s.

use super::streaming::{self, Framing, RunAnswer};
use super::{App, auth, body, internal};
use crate::approvals;
use crate::attempt::Order;
use crate::auth::Principal;
use crate::error::{Code, Fault};
use crate::mcp::{
    Access, Answer, Call, Endpoint, Guide, Head, Headers as McpHeaders, Read, Reply, Stream, Tool,
    ToolAnswer, ToolOutcome,
};
use crate::platform::clock::now_ms;
use crate::run::outcome::Status;
use crate::run::surface::Surface;
use crate::runs::{self, Page, RunRequest};
use serde::Deserialize;
use serde_json::value::RawValue;
use worker::{Headers, Request, Response};

/// Answers one request.
///
/// # Errors
///
/// When the platform cannot make a response, or the database cannot be asked who it is.
pub async fn answer(app: &App, mut req: Request) -> Result<Response, Fault> {
    let endpoint = Endpoint {
        origins: app.config.allowed_origins.clone(),
        body_bytes: body::MAX_BODY_BYTES,
        budget_ms: app.config.budget_ms(Surface::Execute),
    };
    let method = req.method().to_string();
    let path = req.path();
    let headers: McpHeaders = req.headers().into_iter().collect();
    let opened = match endpoint.open(Head { method: &method, path: &path, headers }) {
        Ok(opened) => opened,
        Err(answer) => return respond(answer),
    };
    let principal = match auth::principal(app, &req).await {
        Ok(principal) => Ok(principal),
        Err(fault) => match fault.code {
            Code::TokenMissing => Err(Access::Missing),
            Code::TokenInvalid => Err(Access::Bad),
            _ => return Err(fault),
        },
    };
    let access = principal.as_ref().err().cloned().unwrap_or(Access::Authenticated);
    let admitted = match opened.admit(&access) {
        Ok(admitted) => admitted,
        Err(answer) => return respond(answer),
    };
    let Ok(principal) = principal else {
        return Err(internal("a refused token was admitted"));
    };
    // One byte more than is read: a longer body is refused by the same check as any other.
    let most = admitted.body_bytes().saturating_add(1);
    let body = match body::bytes(&mut req, most).await {
        Ok(body) => body,
        Err(fault) if fault.code == Code::BodyTooLarge => vec![b' '; most],
        Err(fault) => return Err(fault),
    };
    match admitted.read(&body) {
        Read::Answer(answer) => respond(answer),
        Read::List(list) => respond(list.answer(&guide(app))),
        Read::Call(call) => run_tool(app, &principal, *call, super::origin(&req)).await,
    }
}

/// What the descriptions say of this deployment.
fn guide(app: &App) -> Guide {
    Guide {
        sources: app.config.tools_service.iter().cloned().collect(),
        longer_work: None,
        budget_ms: app.config.budget_ms(Surface::Execute),
    }
}

async fn run_tool(
    app: &App,
    principal: &Principal,
    call: Call,
    origin: String,
) -> Result<Response, Fault> {
    let scope = match &call.tool {
        Tool::Execute(_) | Tool::Resume(_) => "execute",
        Tool::RunGet(_) | Tool::RunList(_) => "runs",
    };
    if !principal.may(scope) {
        return respond(call.reply.missing_scope(scope));
    }
    match call.tool {
        Tool::Execute(execute) => {
            if execute.idempotency_key.is_some() {
                let message = "idempotencyKey is not available in this deployment.";
                let fault = Fault::new(Code::CapabilityMissing, message);
                return respond(call.reply.answer(&Err(fault)));
            }
            let request = RunRequest {
                code: execute.code,
                params: execute.params,
                budget_ms: execute.budget_ms.map(Into::into),
                label: execute.label,
                limits: None,
            };
            let name = &principal.name;
            let order = runs::order(&app.config, name, Surface::Execute, request, now_ms());
            match order {
                Ok(order) => open(app, Order { origin, ..order }, call.reply).await,
                Err(fault) => respond(call.reply.answer(&Err(fault))),
            }
        }
        Tool::RunGet(get) => {
            let found = runs::get(&app.db, &principal.name, &get.run_id).await;
            // Looking up a failed run is no error.
            respond(call.reply.answer(&found.and_then(|text| outcome(text, false))))
        }
        Tool::Resume(resume) => {
            let of = (principal.name.as_str(), resume.run_id.as_str());
            let wait_ms = approvals::RESUME_WAIT_MS;
            let came = approvals::resume(&app.ctx, &app.db, &app.config, of, wait_ms).await;
            respond(call.reply.answer(&tool_answer(&came)))
        }
        Tool::RunList(list) => {
            let limit = list.limit.map(|limit| limit.to_string());
            let page = Page {
                limit: limit.as_deref(),
                cursor: list.cursor.as_deref(),
                status: list.status.map(Status::as_str),
            };
            let found = runs::list(&app.db, &principal.name, &page).await;
            respond(call.reply.answer(&found.and_then(|text| outcome(text, false))))
        }
    }
}

async fn open(app: &App, order: Order, reply: Reply) -> Result<Response, Fault> {
    match streaming::run(app, order).await {
        Ok(answer) => respond(reply.answer(&tool_answer(&answer))),
        Err(open) => open.stream(SseFraming { stream: Some(reply.stream()) }),
    }
}

struct SseFraming {
    stream: Option<Stream>,
}

impl Framing for SseFraming {
    fn headers(&self) -> Vec<(String, String)> {
        let head = self.stream.as_ref().map(Stream::head);
        let headers = head.map(|head| head.headers).unwrap_or_default();
        headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn beat(&mut self, elapsed_ms: u64) -> Vec<u8> {
        self.stream.as_mut().map(|stream| stream.beat(elapsed_ms)).unwrap_or_default()
    }

    fn end(&mut self, answer: &RunAnswer) -> Vec<u8> {
        self.stream.take().map(|stream| stream.end(&tool_answer(answer))).unwrap_or_default()
    }
}

fn tool_answer(answer: &RunAnswer) -> ToolAnswer {
    #[derive(Deserialize)]
    struct Head {
        status: String,
    }
    let text = answer.clone()?;
    let status = serde_json::from_str::<Head>(&text).map(|head| head.status).unwrap_or_default();
    let failed = [Status::Failed, Status::Cancelled].iter().any(|ending| ending.as_str() == status);
    outcome(text, failed)
}

fn outcome(text: String, is_error: bool) -> ToolAnswer {
    let structured = RawValue::from_string(text).map_err(|error| internal(&error.to_string()))?;
    Ok(ToolOutcome { structured, is_error, replayed: false })
}

/// Makes an answer of the protocol a response of the platform.
///
/// # Errors
///
/// When the platform cannot make one.
pub fn respond(answer: Answer) -> Result<Response, Fault> {
    let made = || -> worker::Result<Response> {
        let headers = Headers::new();
        for (name, value) in &answer.headers {
            headers.set(name, value)?;
        }
        let response = if answer.body.is_empty() {
            Response::empty()?
        } else {
            Response::from_bytes(answer.body)?
        };
        Ok(response.with_headers(headers).with_status(answer.status))
    };
    made().map_err(|error| internal(&error.to_string()))
}
