//! What the worker answers to: HTTP, the schedule, and the request of an attempt. The classes
//! around these functions stand in `entry.js`.

use crate::api;
use crate::approvals::{self, Hands};
use crate::attempt::{self, Order};
use crate::config::Config;
use crate::error::Fault;
use crate::ledger;
use crate::packages::nested::Nested;
use crate::pages;
use crate::platform::exports::Teller;
use crate::platform::loader::Loader;
use crate::platform::workflows::{Step, Workflows};
use crate::report;
use crate::report::config::SentryConfig;
use crate::report::desk::{self, Circumstances, Desk};
use crate::runs;
use crate::sandbox::dynamic_worker::DynamicWorker;
use crate::sandbox::isolate::Isolate;
use crate::sandbox::warm_worker::{WarmWorker, Which};
use crate::schedules;
use crate::services;
use crate::store::db::Db;
use crate::tools::source::Later;
use crate::tools::{Caller, Tools, connect, vault};
use crate::workflows;
use crate::workflows::program::Maker;
use futures_util::FutureExt as _;
use js_sys::Reflect;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use worker::{Context, Env, Request, Response, event};

/// Runs once for each Wasm instance, and again after a panic made another one.
#[event(start)]
fn start() {
    report::panic::install();
}

/// Answers HTTP.
#[event(fetch)]
async fn fetch(req: Request, env: Env, ctx: Context) -> worker::Result<Response> {
    let sentry = match desk::sentry(&env) {
        Ok(config) => config,
        // Whether the deploy arrived is told whatever its variables say.
        Err(_) if req.path() == "/health" => Rc::new(SentryConfig::off()),
        Err(invalid) => return api::refusal(&invalid.into()),
    };
    report::panic::aim(&sentry);
    if let Some(response) = report::probe::answer(&req, &sentry, &ctx).boxed_local().await {
        return response;
    }
    if report::tunnel::route(&req.path()).is_some() {
        return report::tunnel::answer::answer(req, &sentry, &ctx).boxed_local().await;
    }
    api::answer(req, env, ctx).await
}

/// Once a minute, on the schedule: ends the runs whose attempt is dead, takes up those that somebody
/// decided about, keeps services at work, begins what is due, wakes the workflows that are due,
/// forgets keys that have had their time.
///
/// # Errors
///
/// When the platform hands over no environment.
#[wasm_bindgen(this)]
pub async fn sweep(this: JsValue) -> Result<JsValue, JsValue> {
    let (env, ctx) = surroundings(&this)?;
    let ctx = Rc::new(ctx);
    let desk = Rc::new(Desk::of(&env, Rc::clone(&ctx)));
    let swept = async {
        let db = Rc::new(Db::of(&env)?);
        let config = Config::of(&env)?;
        let retention_ms = config.ledger_retention_ms;
        runs::sweep(&db, &desk).await?;
        pages::forget(&db).await?;
        vault::reseal(&db, &config.secrets_keys).await?;
        let sources = connect::Hands {
            env: env.clone(),
            db: Rc::clone(&db),
            config: Rc::clone(&config),
            later: Later::of(Rc::clone(&ctx)),
        };
        let (desk, engine) = (Rc::clone(&desk), Workflows::of(&env).ok());
        let hands = Hands { ctx, db: Rc::clone(&db), config, desk, engine };
        // In order, and each by itself: one that fails, or computes for minutes, keeps none before it.
        Ok::<_, Fault>([
            services::sweep(&hands).await,
            schedules::round::sweep(&hands).await,
            workflows::reconcile::sweep(&hands).await,
            approvals::sweep(&hands).await,
            sources.sweep().await,
            ledger::prune(&db, retention_ms).await.map(|_| ()),
        ])
    }
    .await;
    let faults: Vec<Fault> = match swept {
        Ok(swept) => swept.into_iter().filter_map(Result::err).collect(),
        Err(fault) => vec![fault],
    };
    for fault in faults {
        desk.take(&fault, &Circumstances::default());
    }
    Ok(JsValue::UNDEFINED)
}

/// Makes an attempt; the answer is the response as it is stored, JSON text.
///
/// # Errors
///
/// When the platform hands over no environment. What goes wrong after that is in the text.
#[wasm_bindgen(this, js_name = startAttempt)]
pub async fn start_attempt(
    this: JsValue,
    order: String,
    aborted: js_sys::Function,
    told: JsValue,
) -> Result<JsValue, JsValue> {
    let (env, ctx) = surroundings(&this)?;
    let ctx = Rc::new(ctx);
    let desk = Rc::new(Desk::of(&env, Rc::clone(&ctx)));
    let answer = make_attempt(&env, ctx, &desk, &order, (aborted, Teller::of(told))).await;
    if let Err(fault) = &answer {
        desk.take(fault, &Circumstances::default());
    }
    Ok(JsValue::from(runs::pack(answer)))
}

/// Drives an instance of the engine of durable runs.
///
/// # Errors
///
/// What tells the engine that the run has failed.
#[wasm_bindgen(this, js_name = runWorkflow)]
pub async fn run_workflow(this: JsValue, id: String, step: JsValue) -> Result<JsValue, JsValue> {
    let (env, ctx) = surroundings(&this)?;
    let ctx = Rc::new(ctx);
    let desk = Rc::new(Desk::of(&env, Rc::clone(&ctx)));
    let hands = || -> Result<Hands, Fault> {
        let (db, config) = (Rc::new(Db::of(&env)?), Config::of(&env)?);
        let (ctx, desk, engine) = (Rc::clone(&ctx), Rc::clone(&desk), Workflows::of(&env).ok());
        Ok(Hands { ctx, db, config, desk, engine })
    };
    let hands = match hands() {
        Ok(hands) => Rc::new(hands),
        Err(fault) => {
            desk.take(&fault, &Circumstances { surface: Some("workflow"), run: Some(&id) });
            return Err(JsValue::from(fault.message));
        }
    };
    workflows::segments::drive(hands, &Step::new(step), &id).await?;
    Ok(JsValue::UNDEFINED)
}

/// `env` and `ctx` of the entrypoint that was called.
fn surroundings(entrypoint: &JsValue) -> Result<(Env, Context), JsValue> {
    let env: Env = Reflect::get(entrypoint, &"env".into())?.unchecked_into();
    let ctx: worker::worker_sys::Context =
        Reflect::get(entrypoint, &"ctx".into())?.unchecked_into();
    Ok((env, Context::new(ctx)))
}

async fn make_attempt(
    env: &Env,
    ctx: Rc<Context>,
    desk: &Rc<Desk>,
    order: &str,
    (aborted, teller): (js_sys::Function, Option<Teller>),
) -> Result<String, Fault> {
    let order: Order = serde_json::from_str(order)
        .map_err(|error| Fault::internal("none", format!("the order cannot be read: {error}")))?;
    let config = Config::of(env)?;
    let db = Rc::new(Db::of(env)?);
    let caller = Caller {
        principal: order.principal.clone(),
        run_id: order.run_id.clone(),
        label: order.label.clone(),
        answer_bytes: order.limits.answer_bytes,
        call_ms: order.limits.dispatch_ms,
    };
    let hands = Hands {
        ctx: Rc::clone(&ctx),
        db: Rc::clone(&db),
        config: Rc::clone(&config),
        desk: Rc::clone(desk),
        engine: Workflows::of(env).ok(),
    };
    let nested = Nested::new(hands.clone(), &order);
    let maker = Maker {
        hands,
        principal: order.principal.clone(),
        run_id: order.run_id.clone(),
        origin: order.origin.clone(),
    };
    let tools = Tools::new(env, ctx, Rc::clone(&db), Rc::clone(&config), caller)?
        .telling(teller)
        .with_packages(nested)
        .with_workflows(maker);
    let loader = Loader::of(env).map_err(|thrown| {
        Fault::new(
            crate::error::Code::ConfigurationInvalid,
            "LOADER: the binding of the Worker Loader is missing; it needs the Workers Paid plan.",
        )
        .caused_by(thrown.to_string())
    })?;
    let sandbox = match &order.package {
        None => Isolate::Fresh(DynamicWorker::new(loader)),
        Some(package) => {
            let which = Which {
                principal: order.principal.clone(),
                name: package.name.clone(),
                version: package.version,
                hash: package.hash.clone(),
                guard: config.guard,
                deploy: config.commit_sha.clone(),
            };
            Isolate::Warm(WarmWorker::new(loader, Rc::clone(&db), which))
        }
    };
    attempt::run(order, db, tools, &config, desk, &sandbox, aborted).await
}
