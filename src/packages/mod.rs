//! Packages: saved, versioned programs with named exports.
//!
//! Every surface (HTTP, MCP, a program) comes through here: [`save`] prepares a version once,
//! [`order`] makes an invocation of an export, its parameters held against the export's schema before
//! anything runs. [`nested`] is how a program invokes one.

pub mod known;
pub mod nested;

use crate::attempt::driver::AMBIENT;
use crate::attempt::{Order, PackageOrder, Wanted};
use crate::code;
use crate::config::Config;
use crate::error::{Code, Fault};
use crate::ledger::request;
use crate::platform::clock::now_ms;
use crate::platform::random;
use crate::run::end::Place;
use crate::run::limits::Limits;
use crate::run::surface::Surface;
use crate::runs::{self, RunRequest, present};
use crate::sandbox::warm_worker::Which;
use crate::services;
use crate::store::db::Db;
use crate::store::ledger::Claim;
use crate::store::packages::{self as table, Version};
use crate::tools::schema;
use futures_util::FutureExt as _;
use known::Known;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::rc::Rc;

/// All texts of a package, in bytes: as much as one program may have.
const MAX_SOURCE_BYTES: usize = 262_144;

/// A description, in bytes: a paragraph that models read.
const MAX_DESCRIPTION_BYTES: usize = 2_000;

/// A name, of a package or an export, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// Services of one package.
const MAX_SERVICES: usize = 16;

/// How long a service has to end when it is asked to, in milliseconds.
const GRACE_MS: u64 = 10_000;

/// The longest that it may ask for: a stretch ends in good order a minute before its ceiling.
const MAX_GRACE_MS: u64 = 50_000;

/// The most packages, or versions, of one page.
const MAX_PAGE: u64 = 100;

/// A version to save.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PackageRequest {
    modules: BTreeMap<String, String>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    exports: BTreeMap<String, Export>,
    #[serde(default)]
    services: BTreeMap<String, Service>,
    budget_ms: Option<Value>,
    limits: Option<Value>,
}

/// What is known of an export.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Export {
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
}

/// What is declared of a service.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Service {
    /// The export that is kept at work; the service's own name without.
    #[serde(skip_serializing_if = "Option::is_none")]
    export: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// How long it has to end when it is asked to.
    #[serde(skip_serializing_if = "Option::is_none")]
    grace_ms: Option<Value>,
}

/// A service as it is begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// The export.
    pub export: String,
    /// How long it has to end when it is asked to.
    pub grace_ms: u64,
}

/// An export to invoke.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Invocation {
    /// Its parameters; `{}` without. `null` is a value.
    #[serde(deserialize_with = "present")]
    pub params: Option<Box<RawValue>>,
    /// A version in place of the one that the name points at.
    pub version: Option<u64>,
    /// A budget below the package's.
    pub budget_ms: Option<Value>,
    /// The caller's own name for the run.
    pub label: Option<String>,
    /// Limits below the package's.
    pub limits: Option<Value>,
}

impl Invocation {
    /// The claim of this invocation under a key. The version that a name points at is no part of it:
    /// what is repeated after a roll-out is still the same request.
    ///
    /// # Errors
    ///
    /// A key that is none.
    pub fn claim(&self, target: &Target, field: &str, key: String) -> Result<Claim, Fault> {
        crate::ledger::key::check(field, &key)?;
        let params = self.params.as_deref();
        let request = json!({
            "params": if params.is_none() { json!({}) } else { request::part(params) },
            "version": self.version,
            "budgetMs": self.budget_ms,
            "label": self.label,
            "limits": self.limits,
        });
        Ok(Claim { target: target.to_string(), key, request_hash: request::hash(&request) })
    }
}

/// The export that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The package.
    pub name: String,
    /// The export.
    pub export: String,
}

impl Target {
    /// Reads `name/export`; a name alone means its default export.
    ///
    /// # Errors
    ///
    /// `package_not_found` for what cannot be a package's name, alike for an export's.
    pub fn read(text: &str) -> Result<Self, Fault> {
        let (name, export) = text.split_once('/').unwrap_or((text, "default"));
        Self::of(name, export)
    }

    /// The export of a package.
    ///
    /// # Errors
    ///
    /// As [`Target::read`].
    pub fn of(name: &str, export: &str) -> Result<Self, Fault> {
        if !is_name(name) {
            return Err(not_found(name));
        }
        if export.is_empty()
            || export.len() > MAX_NAME_BYTES
            || export.chars().any(char::is_control)
        {
            return Err(no_export(name, "export of this name", &[]));
        }
        Ok(Self { name: name.to_owned(), export: export.to_owned() })
    }

    /// The scope that a token needs for it.
    #[must_use]
    pub fn scope(&self) -> String {
        format!("invoke:{}/{}", self.name, self.export)
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.name, self.export)
    }
}

/// Whether a text can be a package's name: what a path, a scope and a model can write.
#[must_use]
pub fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// Reads the number of a version.
///
/// # Errors
///
/// `invalid_request` for what is no number.
pub fn version_number(text: &str) -> Result<u64, Fault> {
    let number = text.parse::<u32>();
    number.map(u64::from).map_err(|_| Fault::invalid("version", "must be a whole number"))
}

/// One module as the sandbox loads it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Module {
    /// Its name in the isolate.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Saves a version and points the name at it; the version as it is told.
///
/// # Errors
///
/// Bad input, each with its place; the database. Then nothing is stored.
pub async fn save(
    db: &Db,
    config: &Config,
    principal: &str,
    name: &str,
    request: PackageRequest,
) -> Result<String, Fault> {
    if !is_name(name) {
        let what =
            format!("must have 1 to {MAX_NAME_BYTES} letters, digits, dashes or underscores");
        return Err(Fault::invalid("name", what));
    }
    if request.description.len() > MAX_DESCRIPTION_BYTES {
        return Err(Fault::invalid(
            "description",
            format!("is over {MAX_DESCRIPTION_BYTES} bytes"),
        ));
    }
    let bytes = request.modules.values().map(String::len).fold(0, usize::saturating_add);
    if bytes > MAX_SOURCE_BYTES {
        let message =
            format!("The modules are {bytes} bytes, over the limit of {MAX_SOURCE_BYTES}.");
        let fault = Fault::new(Code::BodyTooLarge, message);
        return Err(fault.with("field", "modules").with("limit", MAX_SOURCE_BYTES));
    }
    let mut limits = limits_of(config, Surface::Invocation, None);
    let budget_ms = budget(&mut limits, request.budget_ms.as_ref())?;
    if let Some(wanted) = &request.limits {
        limits.lower(wanted)?;
    }
    let options = code::Options { guard: config.guard, ambient: AMBIENT };
    let prepared = code::prepare_package(&request.modules, &options).map_err(refused)?;
    let mut exports = request.exports;
    check_schemas(&exports)?;
    let known: Vec<&str> = prepared.exports.iter().map(|export| export.name.as_str()).collect();
    if let Some(unknown) = exports.keys().find(|name| !known.contains(&name.as_str())) {
        let shown: String = unknown.chars().take(MAX_NAME_BYTES).collect();
        let what = format!("is no export of the modules; they have {}", list_of(&known));
        return Err(Fault::invalid(&format!("exports.{shown}"), what));
    }
    if known.is_empty() {
        return Err(Fault::invalid("modules", "export nothing that could be invoked"));
    }
    check_services(&request.services, &prepared.exports)?;
    for name in known {
        exports.entry(name.to_owned()).or_default();
    }
    let modules: Vec<Module> = prepared
        .modules
        .into_iter()
        .map(|module| Module { name: module.name, text: module.text })
        .collect();
    let json = |value: Result<String, serde_json::Error>| {
        value.map_err(|error| Fault::internal("none", error.to_string()))
    };
    let modules = json(serde_json::to_string(&modules))?;
    let saving = table::Saving {
        principal,
        name,
        description: &request.description,
        exports: &json(serde_json::to_string(&exports))?,
        services: &json(serde_json::to_string(&request.services))?,
        budget_ms,
        limits: &request.limits.map_or_else(|| "{}".to_owned(), |limits| limits.to_string()),
        warnings: &json(serde_json::to_string(&prepared.warnings))?,
        hash: &crate::hex::encode(&Sha256::digest(modules.as_bytes())),
        sources: &json(serde_json::to_string(&request.modules))?,
        modules: &modules,
        now: now_ms(),
    };
    let version = table::save(db, &saving).await?;
    let found = table::find(db, principal, name, Some(version)).await?;
    found.map(|found| view(&found).to_string()).ok_or_else(|| not_found(name))
}

/// A package that cannot be saved, as its author is told.
fn refused(refusal: code::PackageRefusal) -> Fault {
    let fault = Fault::new(Code::InvalidRequest, refusal.to_string()).with("field", "modules");
    placed(fault, refusal).with_next_step(
        "Nothing was saved. Correct the place that the message names and save it again.",
    )
}

/// What the engine refused when it loaded a version, at its place in the sources; `None` when that
/// is no syntax error. The parser leaves some errors to the engine, such as a name that is declared
/// twice.
///
/// # Errors
///
/// The database.
pub async fn refused_by_engine(db: &Db, which: &Which, said: &str) -> Result<Option<Fault>, Fault> {
    let prepared = prepared_again(db, which).await?;
    let refusal = prepared.and_then(|prepared| prepared.refusal_from_engine(said));
    Ok(refusal.map(|refusal| {
        let fault = Fault::new(Code::SyntaxRefused, refusal.to_string());
        placed(fault, refusal).with_next_step(
            "Nothing ran. Correct the place that the message names and save it again.",
        )
    }))
}

/// Where a place in a module of a version's sandbox is in its sources. `None` also where they cannot
/// be read: an error without its place is told all the same.
pub async fn place_in(
    db: &Db,
    which: &Which,
    module: &str,
    line: u32,
    column: u32,
) -> Option<Place> {
    let prepared = prepared_again(db, which).await.ok()??;
    let (file, at) = prepared.position(module, line, column)?;
    Some(Place { file: Some(file.to_owned()), line: at.line, column: at.column })
}

/// A version prepared from its sources once more, for what is not kept of it: where things are.
async fn prepared_again(db: &Db, which: &Which) -> Result<Option<code::PreparedPackage>, Fault> {
    let Which { principal, name, version, guard, .. } = which;
    let sources = table::text(db, principal, name, *version, "sources").await?;
    let Some(sources) = sources.and_then(|text| serde_json::from_str(&text).ok()) else {
        return Ok(None);
    };
    let options = code::Options { guard: *guard, ambient: AMBIENT };
    Ok(code::prepare_package(&sources, &options).ok())
}

/// The file, line and column of a refusal, for a program to read.
fn placed(fault: Fault, refusal: code::PackageRefusal) -> Fault {
    let fault = match &refusal.path {
        path if path.is_empty() => fault,
        path => fault.with("file", path.as_str()),
    };
    let fault = match refusal.refusal.place {
        Some(place) => fault.with("line", place.line).with("column", place.column),
        None => fault,
    };
    match refusal.refusal.excerpt {
        Some(excerpt) => fault.with("excerpt", excerpt),
        None => fault,
    }
}

fn check_schemas(exports: &BTreeMap<String, Export>) -> Result<(), Fault> {
    for (name, export) in exports {
        for (part, schema) in [("params", &export.params), ("result", &export.result)] {
            let Some(schema) = schema else { continue };
            let path = format!("exports.{name}.{part}");
            if schema.to_string().len() > schema::MAX_BYTES {
                return Err(Fault::invalid(&path, format!("is over {} bytes", schema::MAX_BYTES)));
            }
            if let Err(problem) = schema::check(schema, &path) {
                return Err(Fault::invalid(&problem.path, problem.what));
            }
        }
    }
    Ok(())
}

/// What a package declares as services must be functions that it exports.
fn check_services(
    services: &BTreeMap<String, Service>,
    exports: &[code::Export],
) -> Result<(), Fault> {
    if services.len() > MAX_SERVICES {
        return Err(Fault::invalid("services", format!("are over {MAX_SERVICES}")));
    }
    for (name, service) in services {
        let shown: String = name.chars().take(MAX_NAME_BYTES).collect();
        let path = format!("services.{shown}");
        if !is_name(name) {
            let what = format!(
                "is no name: it must have 1 to {MAX_NAME_BYTES} letters, digits, dashes or \
                 underscores"
            );
            return Err(Fault::invalid(&path, what));
        }
        let export = service.export.as_ref().unwrap_or(name);
        if !exports.iter().any(|known| known.name == *export && known.is_function) {
            let functions = exports.iter().filter(|export| export.is_function);
            let known: Vec<&str> = functions.map(|export| export.name.as_str()).collect();
            let has = if known.is_empty() { "none".to_owned() } else { list_of(&known) };
            let what = format!("must name an exported function; the modules export {has}");
            return Err(Fault::invalid(&format!("{path}.export"), what));
        }
        if service.description.as_ref().is_some_and(|text| text.len() > MAX_DESCRIPTION_BYTES) {
            let what = format!("is over {MAX_DESCRIPTION_BYTES} bytes");
            return Err(Fault::invalid(&format!("{path}.description"), what));
        }
        let grace_ms = service.grace_ms.as_ref().map(Value::as_u64);
        if grace_ms.is_some_and(|ms| !ms.is_some_and(|ms| (1..=MAX_GRACE_MS).contains(&ms))) {
            let what = format!("must be a whole number of milliseconds from 1 to {MAX_GRACE_MS}");
            return Err(Fault::invalid(&format!("{path}.graceMs"), what));
        }
    }
    Ok(())
}

/// What a package declares of one of its services; `target` names it in an export's place.
///
/// # Errors
///
/// No such package, version or service; the database.
pub async fn service(
    db: &Db,
    principal: &str,
    target: &Target,
    version: Option<u64>,
) -> Result<Declared, Fault> {
    let Target { name, export: service } = target;
    let found = version_of(db, principal, name, version).await?;
    let mut services: BTreeMap<String, Service> =
        serde_json::from_str(&found.services).unwrap_or_default();
    let Some(meant) = services.remove(service) else {
        let known: Vec<&str> = services.keys().map(String::as_str).collect();
        let has = if known.is_empty() { "none".to_owned() } else { list_of(&known) };
        let message =
            format!("The package {name} declares no service {service}; it declares {has}.");
        let fault = Fault::new(Code::ServiceNotFound, message);
        return Err(fault.with("package", name.as_str()).with("known", known));
    };
    Ok(Declared {
        export: meant.export.unwrap_or_else(|| service.clone()),
        grace_ms: meant.grace_ms.as_ref().and_then(Value::as_u64).unwrap_or(GRACE_MS),
    })
}

fn limits_of(config: &Config, surface: Surface, version: Option<&Version>) -> Limits {
    let most = config.budget_ms(surface);
    let budget = version.and_then(|version| version.budget_ms).map_or(most, |own| own.min(most));
    let mut limits = Limits::of(surface).with_budget(budget);
    if let Some(version) = version
        && let Ok(own) = serde_json::from_str(&version.limits)
    {
        // They were lower when they were saved; where a deployment has lowered its own since, those hold.
        let _ = limits.lower(&own);
    }
    limits
}

/// Lowers the budget to `wanted`; `None` without.
fn budget(limits: &mut Limits, wanted: Option<&Value>) -> Result<Option<u64>, Fault> {
    let most = limits.budget_ms;
    match wanted.map(|wanted| (wanted, wanted.as_u64())) {
        None => Ok(None),
        Some((_, Some(ms))) if (1..=most).contains(&ms) => {
            *limits = limits.clone().with_budget(ms);
            Ok(Some(ms))
        }
        Some(_) => {
            let what = format!("must be a whole number of milliseconds from 1 to {most}");
            Err(Fault::invalid("budgetMs", what).with("limit", most))
        }
    }
}

/// Makes an invocation of an export an order; its parameters fit.
///
/// # Errors
///
/// No such package, version or export; parameters that do not fit, each with its path; the database.
pub async fn order(
    db: &Db,
    config: &Config,
    principal: &str,
    target: &Target,
    (surface, invocation): (Surface, Invocation),
    arrived_at: u64,
) -> Result<Order, Fault> {
    let version = version_of(db, principal, &target.name, invocation.version).await?;
    let known = Rc::new(Known::of(version)?);
    if invocation.version.is_none() {
        known::remember(principal, &known);
    }
    order_of(config, principal, target, &known, (surface, &invocation), arrived_at)
}

/// The same, without a look at the database where this isolate remembers the package. Such an order goes
/// through [`ledger::start`](crate::ledger::start), which makes another where the package has moved on.
///
/// # Errors
///
/// As [`order`].
pub async fn order_by_memory(
    db: &Db,
    config: &Config,
    principal: &str,
    target: &Target,
    (surface, invocation): (Surface, Invocation),
    arrived_at: u64,
) -> Result<Order, Fault> {
    if invocation.version.is_none()
        && let Some(known) = known::recall(principal, &target.name)
        && let Ok(order) =
            order_of(config, principal, target, &known, (surface, &invocation), arrived_at)
    {
        let Invocation { budget_ms, limits, .. } = invocation;
        let remembered = Some(Wanted { budget_ms, limits });
        let package = order.package.map(|package| PackageOrder { remembered, ..package });
        return Ok(Order { package, ..order });
    }
    order(db, config, principal, target, (surface, invocation), arrived_at).boxed_local().await
}

/// Makes an order anew whose package has moved on since it was remembered.
///
/// # Errors
///
/// As [`order`].
pub async fn order_again(db: &Db, config: &Config, old: &Order) -> Result<Order, Fault> {
    let Some(package) = &old.package else {
        return Err(Fault::internal(&old.run_id, "no package"));
    };
    let target = Target { name: package.name.clone(), export: package.export.clone() };
    let Wanted { budget_ms, limits } = package.remembered.clone().unwrap_or_default();
    let (params, label) = (Some(old.params.clone()), old.label.clone());
    let invocation = Invocation { params, version: None, budget_ms, label, limits };
    let wanted = (old.surface, invocation);
    let fresh = order(db, config, &old.principal, &target, wanted, old.arrived_at).await?;
    Ok(Order {
        run_id: old.run_id.clone(),
        claim: old.claim.clone(),
        parent: old.parent.clone(),
        origin: old.origin.clone(),
        hold_ms: old.hold_ms,
        ..fresh
    })
}

fn order_of(
    config: &Config,
    principal: &str,
    target: &Target,
    Known { version, exports }: &Known,
    (surface, invocation): (Surface, &Invocation),
    arrived_at: u64,
) -> Result<Order, Fault> {
    let Target { name, export } = target;
    let Some(meant) = exports.get(export) else {
        let known: Vec<&str> = exports.keys().map(String::as_str).collect();
        return Err(no_export(name, &format!("export {export}"), &known));
    };
    if let Some(schema) = &meant.params {
        let params = invocation.params.as_deref().map_or("{}", RawValue::get);
        let params: Value = serde_json::from_str(params)
            .map_err(|error| Fault::invalid("params", format!("cannot be read ({error})")))?;
        let problems = schema::validate(schema, &params, "params");
        if let Some(first) = problems.first() {
            let all: Vec<Value> = problems
                .iter()
                .map(|problem| json!({ "path": problem.path, "what": problem.what }))
                .collect();
            let fault = Fault::invalid(&first.path, &first.what);
            return Err(fault.with("problems", all).with("schema", schema.clone()));
        }
    }
    let mut limits = limits_of(config, surface, Some(version));
    budget(&mut limits, invocation.budget_ms.as_ref())?;
    if let Some(wanted) = &invocation.limits {
        limits.lower(wanted)?;
    }
    let request = RunRequest {
        code: format!("{name}@{}/{export}", version.version),
        params: invocation.params.clone(),
        budget_ms: None,
        label: invocation.label.clone(),
        limits: None,
    };
    let order = runs::order(config, principal, surface, request, arrived_at)?;
    let package = PackageOrder {
        name: name.clone(),
        version: version.version,
        export: export.clone(),
        hash: version.hash.clone(),
        result: meant.result.clone(),
        remembered: None,
    };
    Ok(Order { limits, package: Some(package), ..order })
}

/// A version of a package: the one that its name points at, or `wanted`.
async fn version_of(
    db: &Db,
    principal: &str,
    name: &str,
    wanted: Option<u64>,
) -> Result<Version, Fault> {
    if let Some(found) = table::find(db, principal, name, wanted).await? {
        return Ok(found);
    }
    let Some(wanted) = wanted else { return Err(not_found(name)) };
    let current = table::find(db, principal, name, None).await?.ok_or_else(|| not_found(name))?;
    let has = format!("version {}", current.version);
    Err(no_export(name, &format!("version {wanted}"), &[has.as_str()]))
}

fn exports_of(version: &Version) -> Result<BTreeMap<String, Export>, Fault> {
    serde_json::from_str(&version.exports).map_err(|error| {
        let correlation = random::hex::<8>().unwrap_or_else(|_| "none".to_owned());
        Fault::internal(&correlation, format!("the exports of {}: {error}", version.name))
    })
}

/// A package, or one of its versions, with its sources.
///
/// # Errors
///
/// No such package or version; the database.
pub async fn get(
    db: &Db,
    principal: &str,
    name: &str,
    version: Option<u64>,
) -> Result<String, Fault> {
    let Some(found) = table::find(db, principal, name, version).await? else {
        return Err(match version {
            Some(wanted) if table::find(db, principal, name, None).await?.is_some() => {
                no_export(name, &format!("version {wanted}"), &[])
            }
            _ => not_found(name),
        });
    };
    let sources = table::text(db, principal, name, found.version, "sources").await?;
    let sources: Value =
        sources.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null);
    let mut shown = view(&found);
    if let Some(shown) = shown.as_object_mut() {
        shown.insert("modules".to_owned(), sources);
    }
    Ok(shown.to_string())
}

/// A principal's packages by name: `{packages: [...], nextCursor?}`.
///
/// # Errors
///
/// A bad page; the database.
pub async fn list(
    db: &Db,
    principal: &str,
    limit: Option<&str>,
    cursor: Option<&str>,
) -> Result<String, Fault> {
    let limit = page(limit)?;
    if cursor.is_some_and(|cursor| !is_name(cursor)) {
        return Err(bad_cursor());
    }
    let after = cursor.unwrap_or_default();
    let found = table::list(db, principal, after, limit.saturating_add(1)).await?;
    Ok(paged("packages", found, limit, |last| json!(last.name)))
}

/// The versions of a package, newest first: `{versions: [...], nextCursor?}`.
///
/// # Errors
///
/// No such package; a bad page; the database.
pub async fn versions(
    db: &Db,
    principal: &str,
    name: &str,
    limit: Option<&str>,
    cursor: Option<&str>,
) -> Result<String, Fault> {
    let limit = page(limit)?;
    let before = match cursor.map(str::parse::<u32>) {
        None => u32::MAX,
        Some(Ok(before)) => before,
        Some(Err(_)) => return Err(bad_cursor()),
    };
    if table::find(db, principal, name, None).await?.is_none() {
        return Err(not_found(name));
    }
    let more = limit.saturating_add(1);
    let found = table::versions(db, principal, name, before.into(), more).await?;
    Ok(paged("versions", found, limit, |last| json!(last.version.to_string())))
}

fn page(limit: Option<&str>) -> Result<u64, Fault> {
    match limit.map(str::parse::<u64>) {
        None => Ok(20),
        Some(Ok(limit)) if (1..=MAX_PAGE).contains(&limit) => Ok(limit),
        Some(_) => Err(Fault::invalid("limit", format!("must be from 1 to {MAX_PAGE}"))),
    }
}

fn bad_cursor() -> Fault {
    Fault::invalid("cursor", "must be the nextCursor of the page before, unchanged")
}

fn paged(
    word: &str,
    mut found: Vec<Version>,
    limit: u64,
    cursor: impl Fn(&Version) -> Value,
) -> String {
    let size = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = found.len() > size;
    found.truncate(size);
    let mut out = Map::new();
    out.insert(word.to_owned(), found.iter().map(view).collect());
    if let Some(last) = found.last().filter(|_| more) {
        out.insert("nextCursor".to_owned(), cursor(last));
    }
    Value::Object(out).to_string()
}

/// Points a name at one of its versions, and tells the version.
///
/// # Errors
///
/// No such package or version; the database.
pub async fn point(db: &Db, principal: &str, name: &str, version: u64) -> Result<String, Fault> {
    table::point(db, principal, name, version, now_ms()).await?;
    let found = table::find(db, principal, name, Some(version)).await?;
    match found {
        Some(found) => Ok(view(&found).to_string()),
        None => get(db, principal, name, Some(version)).await,
    }
}

/// Deletes a package with all its versions. Their numbers are not used again.
///
/// # Errors
///
/// No such package; the database.
pub async fn delete(db: &Db, principal: &str, name: &str) -> Result<String, Fault> {
    if table::delete(db, principal, name, now_ms()).await? {
        services::package_deleted(db, principal, name).await?;
        return Ok(json!({ "name": name, "deleted": true }).to_string());
    }
    Err(not_found(name))
}

/// A version as it is told, without its sources.
fn view(version: &Version) -> Value {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    json!({
        "name": version.name,
        "version": version.version,
        "current": version.version == version.current,
        "description": version.description,
        "exports": read(&version.exports),
        "services": read(&version.services),
        "budgetMs": version.budget_ms,
        "limits": read(&version.limits),
        "warnings": read(&version.warnings),
        "hash": version.hash,
        "createdAt": version.created_at,
    })
}

fn not_found(name: &str) -> Fault {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(MAX_NAME_BYTES).collect();
    Fault::new(Code::PackageNotFound, format!("There is no package {shown}."))
        .with("package", shown)
}

fn no_export(package: &str, what: &str, known: &[&str]) -> Fault {
    let shown: String = what.chars().filter(|c| !c.is_control()).take(100).collect();
    let has = if known.is_empty() { "others".to_owned() } else { list_of(known) };
    let message = format!("The package {package} has no {shown}; it has {has}.");
    Fault::new(Code::ExportNotFound, message).with("package", package).with("known", known)
}

fn list_of(names: &[&str]) -> String {
    let mut shown: Vec<&str> = names.iter().take(20).copied().collect();
    if names.len() > shown.len() {
        shown.push("…");
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    //! Names and targets, on both sides of their rules.

    use super::*;

    #[test]
    fn a_target_is_a_name_and_an_export() {
        let read = |text: &str| Target::read(text).map(|target| target.to_string());
        assert_eq!(read("mail/send").unwrap(), "mail/send");
        assert_eq!(read("mail").unwrap(), "mail/default");
        for text in ["", "/", "a b/c", "a@1/c", "mail/", &"a".repeat(65)] {
            assert!(read(text).is_err(), "{text}");
        }
        assert_eq!(Target::read("a/b").unwrap().scope(), "invoke:a/b");
    }

    #[test]
    fn the_same_invocation_has_the_same_claim() {
        let claim = |text: &str| {
            let invocation: Invocation = serde_json::from_str(text).unwrap();
            let target = Target::read("a/b").unwrap();
            invocation.claim(&target, "key", "k".to_owned()).unwrap().request_hash
        };
        assert_eq!(claim("{}"), claim(r#"{"params":{}}"#));
        assert_eq!(claim(r#"{"params":{"a":1,"b":2}}"#), claim(r#"{"params":{"b":2,"a":1.0}}"#));
        assert_ne!(claim("{}"), claim(r#"{"params":{"a":1}}"#));
        assert_ne!(claim("{}"), claim(r#"{"version":1}"#));
    }
}
