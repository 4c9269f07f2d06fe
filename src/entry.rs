//! What the worker answers to: HTTP, the schedule, and the request of an attempt. The classes
//! around these functions stand in `entry.js`.

use crate::api;
use crate::approvals;
use crate::attempt::{self, Order};
use crate::config::Config;
use crate::error::Fault;
use crate::platform::loader::Loader;
use crate::runs;
use crate::sandbox::dynamic_worker::DynamicWorker;
use crate::store::db::Db;
use crate::tools::{Caller, Tools};
use js_sys::Reflect;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use worker::{Context, Env, Request, Response, event};

/// Answers HTTP.
#[event(fetch)]
async fn fetch(req: Request, env: Env, ctx: Context) -> worker::Result<Response> {
    api::answer(req, env, ctx).await
}

/// Once a minute: ends the runs whose attempt is dead, takes up those that somebody decided about.
///
/// Not `#[event(scheduled)]`: the context that it is given has no exports, and an attempt is one.
///
/// # Errors
///
/// When the platform does not say where its bindings are.
#[wasm_bindgen(this, js_name = sweep)]
pub async fn sweep(this: JsValue) -> Result<(), JsValue> {
    let env: Env = Reflect::get(&this, &"env".into())?.unchecked_into();
    let ctx = Context::new(Reflect::get(&this, &"ctx".into())?.unchecked_into());
    let swept = async {
        let db = Db::of(&env)?;
        let config = Config::of(&env)?;
        runs::sweep(&db).await?;
        approvals::sweep(&ctx, &db, &config).await
    };
    if let Err(fault) = swept.await {
        worker::console_error!("sweep: {fault} ({})", fault.cause.as_deref().unwrap_or_default());
    }
    Ok(())
}

/// Makes an attempt; the answer is the response as it is stored, JSON text.
///
/// # Errors
///
/// Never in an expected way: what goes wrong is in the text.
#[wasm_bindgen(this, js_name = startAttempt)]
pub async fn start_attempt(
    this: JsValue,
    order: String,
    aborted: js_sys::Function,
) -> Result<JsValue, JsValue> {
    let env: Env = Reflect::get(&this, &"env".into())?.unchecked_into();
    Ok(JsValue::from(runs::pack(make_attempt(&env, &order, aborted).await)))
}

async fn make_attempt(env: &Env, order: &str, aborted: js_sys::Function) -> Result<String, Fault> {
    let order: Order = serde_json::from_str(order)
        .map_err(|error| Fault::internal("none", format!("the order cannot be read: {error}")))?;
    let config = Rc::new(Config::of(env)?);
    let db = Rc::new(Db::of(env)?);
    let caller = Caller {
        principal: order.principal.clone(),
        run_id: order.run_id.clone(),
        label: order.label.clone(),
        answer_bytes: order.limits.answer_bytes,
    };
    let tools = Tools::new(env, Rc::clone(&db), Rc::clone(&config), caller)?;
    let loader = Loader::of(env).map_err(|thrown| {
        Fault::new(
            crate::error::Code::ConfigurationInvalid,
            "LOADER: the binding of the Worker Loader is missing; it needs the Workers Paid plan.",
        )
        .caused_by(thrown.to_string())
    })?;
    let sandbox = DynamicWorker::new(loader);
    attempt::run(order, db, tools, &config, &sandbox, aborted).await
}
