//! `/mcp`: the platform's side of the MCP endpoint. What is said, and in which order it is
//! checked, is [`crate::mcp`]'s.

use super::streaming::{self, Framing, RunAnswer};
use super::{App, auth, body, internal, ledger, mcp_answers};
use crate::approvals::{self, Wait};
use crate::attempt::Order;
use crate::auth::Principal;
use crate::error::{Code, Fault};
use crate::mcp::{
    Access, Answer, Ask, Call, Change, Endpoint, Guide, Head, Headers as McpHeaders, PackageInvoke,
    Read, Refused, Reply, Returned, ScheduleChange, States, Stream, Tool, ToolAnswer, ToolOutcome,
    Word,
};
use crate::packages::{self, Invocation, Target};
use crate::platform::clock::now_ms;
use crate::platform::exports::Told;
use crate::platform::random;
use crate::rollback;
use crate::run::surface::Surface;
use crate::runs::{self, RunRequest};
use crate::schedules::{self, Begun};
use crate::store::sources as table;
use crate::store::{policies, states};
use crate::tools;
use futures_util::FutureExt as _;
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
    let states = app.config.signing_key.clone().map(|key| States {
        key,
        principal: principal.name.clone(),
        now: now_ms(),
    });
    let admitted = admitted.knowing(states.clone());
    // One byte more than is read: a longer body is refused by the same check as any other.
    let most = admitted.body_bytes().saturating_add(1);
    let body = match body::bytes(&mut req, most).await {
        Ok(body) => body,
        Err(fault) if fault.code == Code::BodyTooLarge => vec![b' '; most],
        Err(fault) => return Err(fault),
    };
    match admitted.read(&body) {
        Read::Answer(answer) => respond(answer),
        Read::List(list) => respond(list.answer(&guide(app, &principal.name).boxed_local().await?)),
        Read::Call(call) => {
            let asker = Asker::of(states, &call);
            run_tool(app, &principal, *call, asker, super::origin(&req)).await
        }
    }
}

/// Where work goes that takes longer than the budget of `execute`.
const LONGER_WORK: &str = "Longer work, and work that waits for hours or for people, goes to \
     workflow_create({ code, params }), or from a program to workflows.create({ code, params }); follow \
     it with workflow_run_list and run_get.";

/// What the descriptions say of this deployment, and of what the principal has connected: nothing
/// that its policy hides.
async fn guide(app: &App, principal: &str) -> Result<Guide, Fault> {
    let policy = policies::of(&app.db, principal).await?;
    let built_in = tools::built_in(&policy).map(str::to_owned).collect();
    let mut sources = app.config.tools_service.iter().cloned().collect::<Vec<String>>();
    sources.extend(table::names(&app.db, principal).await?);
    // A source of which every tool is hidden is hidden, too.
    sources.retain(|source| !policy.hides(&format!("{source}.*")));
    let budget_ms = app.config.budget_ms(Surface::Execute);
    let longer_work = app.has_workflows().then(|| LONGER_WORK.to_owned());
    Ok(Guide { built_in, sources, longer_work, budget_ms })
}

async fn run_tool(
    app: &App,
    principal: &Principal,
    call: Call,
    asker: Option<Asker>,
    origin: String,
) -> Result<Response, Fault> {
    let target = match &call.tool {
        Tool::PackageInvoke(invoke) => Some(Target::read(&invoke.name)),
        Tool::ServiceStart(start) => Some(Target::read(&start.name)),
        Tool::ServiceStop(service) => Some(Target::read(service)),
        _ => None,
    };
    let scope = match &target {
        Some(Ok(target)) => target.scope(),
        Some(Err(fault)) => return respond(call.reply.answer(&Err(fault.clone()))),
        None => call.tool.scope().to_owned(),
    };
    if !principal.may(&scope) {
        return respond(call.reply.missing_scope(&scope));
    }
    if let Some(returned) = call.returned {
        return go_on(app, principal, returned, asker, call.reply).boxed_local().await;
    }
    match call.tool {
        Tool::Execute(execute) => {
            let request = RunRequest {
                code: execute.code,
                params: execute.params,
                budget_ms: execute.budget_ms.map(Into::into),
                label: execute.label,
                limits: None,
            };
            let wanted = ledger::Wanted::of_run(&request);
            let claim = execute.idempotency_key.map(|key| wanted.under("idempotencyKey", key));
            let name = &principal.name;
            let order = claim.transpose().and_then(|claim| {
                let order = runs::order(&app.config, name, Surface::Execute, request, now_ms())?;
                Ok(Order { claim, ..order })
            });
            match order {
                Ok(order) => open(app, Order { origin, ..order }, asker, call.reply).await,
                Err(fault) => respond(call.reply.answer(&Err(fault))),
            }
        }
        Tool::PackageInvoke(invoke) => {
            let Some(Ok(target)) = target else {
                return Err(internal("an invocation without a target"));
            };
            match invocation(app, &principal.name, &target, invoke).boxed_local().await {
                Ok(order) => open(app, Order { origin, ..order }, asker, call.reply).await,
                Err(fault) => respond(call.reply.answer(&Err(fault))),
            }
        }
        Tool::Resume(id) => {
            let wait = Wait::at_most(approvals::RESUME_WAIT_MS);
            let came = approvals::resume(app.hands(), principal.name.clone(), id, None, wait);
            answered(streaming::look(came).await, None, call.reply, None)
        }
        Tool::RunRollback(id) => {
            let (db, config, name) = (&app.db, &app.config, &principal.name);
            let order = rollback::order(db, config, name, &id, now_ms());
            match order.boxed_local().await {
                Ok(order) => open(app, Order { origin, ..order }, asker, call.reply).await,
                Err(fault) => respond(call.reply.answer(&Err(fault))),
            }
        }
        Tool::ScheduleChange(ScheduleChange { name, change: Change::Run }) => {
            let hands = app.hands();
            let begun = schedules::run_now(&hands, &principal.name, &name, &origin);
            match begun.boxed_local().await {
                Ok(Begun::Run(order)) => open(app, *order, asker, call.reply).await,
                Ok(Begun::Workflow(text)) => respond(call.reply.answer(&look(text))),
                Err(fault) => respond(call.reply.answer(&Err(fault))),
            }
        }
        tool => {
            let answered = mcp_answers::of(app, principal, tool, &origin).boxed_local().await;
            respond(call.reply.answer(&answered.and_then(look)))
        }
    }
}

async fn invocation(
    app: &App,
    principal: &str,
    target: &Target,
    invoke: PackageInvoke,
) -> Result<Order, Fault> {
    let wanted = Invocation {
        params: invoke.params,
        version: invoke.version,
        budget_ms: invoke.budget_ms.map(Into::into),
        label: invoke.label,
        limits: None,
    };
    let key = invoke.idempotency_key;
    let claim = key.map(|key| wanted.claim(target, "idempotencyKey", key)).transpose()?;
    let order = packages::order_by_memory(
        &app.db,
        &app.config,
        principal,
        target,
        (Surface::Invocation, wanted),
        now_ms(),
    )
    .await?;
    Ok(Order { claim, ..order })
}

async fn open(
    app: &App,
    order: Order,
    asker: Option<Asker>,
    reply: Reply,
) -> Result<Response, Fault> {
    let heard = reply.takes_progress().then(Told::default);
    answered(streaming::run(app, order, heard.clone()).await, asker, reply, heard)
}

/// Goes on with a call whose run waited for people. What the client says decides nothing: it says
/// whether somebody looks.
async fn go_on(
    app: &App,
    principal: &Principal,
    returned: Returned,
    asker: Option<Asker>,
    reply: Reply,
) -> Result<Response, Fault> {
    let Returned { state, responses } = returned;
    if !states::take(&app.db, &state.nonce, state.expires_at).await? {
        return respond(reply.refuse_state(&Refused::Used { run: state.run }));
    }
    let (wait, asker) = match responses.word(&state.approvals) {
        Word::Opened => (Wait::for_people(approvals::RESUME_WAIT_MS), asker),
        Word::Refused => (Wait::at_most(0), None),
        Word::None => (Wait::at_most(0), asker),
    };
    let (name, known) = (principal.name.clone(), Some(state.approvals));
    let came = approvals::resume(app.hands(), name, state.run, known, wait);
    answered(streaming::look(came).await, asker, reply, None)
}

/// Answers what is there, or streams it, with what is put into `told` meanwhile.
fn answered(
    answer: Result<RunAnswer, streaming::Open>,
    asker: Option<Asker>,
    reply: Reply,
    told: Option<Told>,
) -> Result<Response, Fault> {
    match answer {
        Ok(answer) => match asker.and_then(|asker| asker.ask(&answer)) {
            Some(ask) => respond(reply.ask(&ask)),
            None => respond(reply.answer(&tool_answer(&answer))),
        },
        Err(open) => open.stream(SseFraming { stream: Some(reply.stream()), asker, told }),
    }
}

/// Asks a client that can open an address to come back to its call.
struct Asker {
    states: States,
    call: String,
    round: u32,
}

impl Asker {
    /// `None` where the client cannot, or nothing is signed here.
    fn of(states: Option<States>, call: &Call) -> Option<Self> {
        let round = call.returned.as_ref().map_or(0, |returned| returned.state.round);
        Some(Self { states: states?, call: call.hash.clone()?, round: round.saturating_add(1) })
    }

    /// What to ask, where the answer is that of a run that waits.
    fn ask(&self, answer: &RunAnswer) -> Option<Ask> {
        let text = &answer.as_ref().ok()?.text;
        // Without randomness the run is told of as to any other client.
        let nonce = random::hex::<16>().ok()?;
        Ask::about(text, &self.states, &self.call, self.round, nonce)
    }
}

struct SseFraming {
    stream: Option<Stream>,
    asker: Option<Asker>,
    told: Option<Told>,
}

impl Framing for SseFraming {
    fn headers(&self) -> Vec<(String, String)> {
        let head = self.stream.as_ref().map(Stream::head);
        let headers = head.map(|head| head.headers).unwrap_or_default();
        headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn beat(&mut self, elapsed_ms: u64) -> Vec<u8> {
        let told = self.told.as_ref().and_then(Told::take);
        let beat = self.stream.as_mut().map(|stream| stream.beat(elapsed_ms, told));
        beat.unwrap_or_default()
    }

    fn end(&mut self, answer: &RunAnswer) -> Vec<u8> {
        let Some(stream) = self.stream.take() else { return Vec::new() };
        match self.asker.as_ref().and_then(|asker| asker.ask(answer)) {
            Some(ask) => stream.ask(&ask),
            None => stream.end(&tool_answer(answer)),
        }
    }
}

fn tool_answer(answer: &RunAnswer) -> ToolAnswer {
    let answered = answer.clone()?;
    let outcome = ToolOutcome::of_run(answered.text, answered.replayed);
    outcome.map_err(|error| internal(&error.to_string()))
}

/// Looking up a failed run is no error.
fn look(text: String) -> ToolAnswer {
    ToolOutcome::of_look(text).map_err(|error| internal(&error.to_string()))
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
