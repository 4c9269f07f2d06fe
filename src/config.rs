//! Every variable and secret, typed, checked once. Each error names the variable.

use crate::error::{Code, Fault};
use crate::mcp::Origins;
use crate::run::surface::Surface;
use crate::signing::SigningKey;
use crate::store::permits::Permits;
use crate::tools::egress::HostRules;
use crate::tools::secret::Keyring;
use std::cell::OnceCell;
use std::rc::Rc;

thread_local! {
    /// Read once an isolate: its variables are those of its version of the worker, for good.
    static KEPT: OnceCell<Rc<Config>> = const { OnceCell::new() };
}

/// A day: as long as a client that queues its work offline goes on trying.
const LEDGER_RETENTION_MS: u64 = 86_400_000;

/// Below the patience of most clients, which is a minute.
const HOLD_MS: u64 = 50_000;

/// A year.
const MAX_LEDGER_RETENTION_MS: u64 = 31_536_000_000;

/// Ten seconds: parking and running again costs a fraction of a second.
const PARK_MS: u64 = 10_000;

/// Less than the budget of a workflow's segment, which a sleep that does not park uses up.
const MAX_PARK_MS: u64 = 240_000;

/// A year: the longest sleep of the engine.
const MAX_LIFE_MS: u64 = 31_536_000_000;

/// The configuration of this deployment.
#[derive(Debug, Clone)]
pub struct Config {
    /// `HOLDFAST_ADMIN_TOKEN`: the token of whoever runs the deployment. `None`: only tokens of
    /// the database count.
    pub admin_token: Option<String>,
    /// `HOLDFAST_SIGNING_KEY`: signs what people and clients carry. `None`: nothing is signed, so MCP
    /// clients are not asked to come back.
    pub signing_key: Option<SigningKey>,
    /// `HOLDFAST_HTTP_HOSTS`: where `http.fetch` may go; nowhere by default.
    pub http_hosts: HostRules,
    /// `HOLDFAST_SOURCE_HOSTS`: where sources may be; `public`, which is the default, stands for https to
    /// every public host. An address of this machine or its network has to be named.
    pub source_hosts: HostRules,
    /// `HOLDFAST_SECRETS_KEY`: what seals secrets, 64 hex digits. Several are separated by commas: the
    /// first seals, the others still open what was sealed before.
    pub secrets_keys: Keyring,
    /// `HOLDFAST_ALLOWED_ORIGINS`: origins of browser pages that may call `/mcp`, separated by
    /// commas; the word `loopback`, for development, stands for pages of this machine.
    pub allowed_origins: Origins,
    /// `HOLDFAST_GUARD`: `on` (default) or `off`. Off where the platform enforces CPU time.
    pub guard: bool,
    /// `HOLDFAST_TOOLS_SERVICE`: name of a service binding whose methods are tools.
    pub tools_service: Option<String>,
    /// `HOLDFAST_SERVICES`: names of service bindings that sources may have, separated by commas.
    pub services: Vec<String>,
    /// `COMMIT_SHA` of what is deployed; `dev` for a local build.
    pub commit_sha: String,
    /// `HOLDFAST_PERMITS`, `HOLDFAST_PERMITS_PRINCIPAL`, `HOLDFAST_LINE`: attempts at once in all
    /// and of one principal, and places in a principal's line.
    pub permits: Permits,
    /// `HOLDFAST_PERMIT_WAIT_MS`: how long a run may wait in line.
    pub permit_wait_ms: u64,
    /// `HOLDFAST_LEDGER_RETENTION_MS`: how long an idempotency key is kept after its request.
    pub ledger_retention_ms: u64,
    /// `HOLDFAST_HOLD_MS`: how long a live sandbox is kept for people at most, when a caller asks for
    /// it.
    pub hold_ms: u64,
    /// `HOLDFAST_PARK_MS`: the longest sleep of a workflow that is its program's own time; a longer one
    /// parks it.
    pub park_ms: u64,
    /// `HOLDFAST_WORKFLOWS_ACTIVE`, `HOLDFAST_WORKFLOW_LIFE_MS`, `HOLDFAST_WORKFLOW_BACK_OFF_MS`: how
    /// many workflows of a principal may be at work or wait, how long one may live, and how long after
    /// its first failure a segment is made again.
    pub workflows: Durable,
    budgets: [(Surface, u64); 4],
}

/// The limits of durable runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durable {
    /// Workflows of a principal that have not ended.
    pub active: u64,
    /// The life time of one, in milliseconds.
    pub life_ms: u64,
    /// The first back-off, in milliseconds.
    pub back_off_ms: u64,
}

impl Config {
    /// Reads the environment.
    ///
    /// # Errors
    ///
    /// `configuration_invalid`, naming the variable, what is wrong and the right form.
    pub fn of(env: &worker::Env) -> Result<Rc<Self>, Fault> {
        if let Some(kept) = KEPT.with(|kept| kept.get().cloned()) {
            return Ok(kept);
        }
        let read = Rc::new(Self::read(|name| env.var(name).ok().map(|value| value.to_string()))?);
        Ok(KEPT.with(|kept| Rc::clone(kept.get_or_init(|| read))))
    }

    /// Reads the configuration from a lookup of variables. An empty value counts as absent.
    ///
    /// # Errors
    ///
    /// As [`Config::of`].
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, Fault> {
        let lookup = |name: &str| lookup(name).filter(|value| !value.trim().is_empty());
        let admin_token = lookup("HOLDFAST_ADMIN_TOKEN");
        if admin_token.as_deref().is_some_and(|token| token.len() < 16) {
            return Err(wrong("HOLDFAST_ADMIN_TOKEN", "must have at least 16 characters"));
        }
        let signing_key = match lookup("HOLDFAST_SIGNING_KEY") {
            Some(key) if key.len() < 32 => {
                return Err(wrong("HOLDFAST_SIGNING_KEY", "must have at least 32 characters"));
            }
            key => key.map(|key| SigningKey::new(key.as_bytes())),
        };
        let http_hosts = HostRules::parse(lookup("HOLDFAST_HTTP_HOSTS").as_deref().unwrap_or(""))
            .map_err(|what| wrong("HOLDFAST_HTTP_HOSTS", &what))?;
        let source_hosts = lookup("HOLDFAST_SOURCE_HOSTS").unwrap_or_default();
        let source_hosts = HostRules::parse_for_sources(&source_hosts)
            .map_err(|what| wrong("HOLDFAST_SOURCE_HOSTS", &what))?;
        let secrets_keys = match lookup("HOLDFAST_SECRETS_KEY") {
            Some(keys) => {
                Keyring::parse(&keys).map_err(|what| wrong("HOLDFAST_SECRETS_KEY", &what))?
            }
            None => Keyring::default(),
        };
        let guard = match lookup("HOLDFAST_GUARD").as_deref() {
            None | Some("on") => true,
            Some("off") => false,
            Some(_) => return Err(wrong("HOLDFAST_GUARD", "must be on or off")),
        };
        let origins = lookup("HOLDFAST_ALLOWED_ORIGINS").unwrap_or_default();
        let allowed_origins = Origins::parse(&origins).map_err(|entry| {
            let what = format!("{entry:?} is no origin; write https://app.example.com or loopback");
            wrong("HOLDFAST_ALLOWED_ORIGINS", &what)
        })?;
        let budget = |surface: Surface, name: &str| -> Result<(Surface, u64), Fault> {
            let most = surface.budget_ms();
            match lookup(name) {
                None => Ok((surface, most)),
                Some(text) => match text.trim().parse::<u64>() {
                    Ok(ms) if (1..=most).contains(&ms) => Ok((surface, ms)),
                    _ => Err(wrong(name, &format!("must be milliseconds from 1 to {most}"))),
                },
            }
        };
        let count = |name: &str, default: u64, most: u64| -> Result<u64, Fault> {
            match lookup(name) {
                None => Ok(default),
                Some(text) => match text.trim().parse::<u64>() {
                    Ok(count) if (1..=most).contains(&count) => Ok(count),
                    _ => Err(wrong(name, &format!("must be a whole number from 1 to {most}"))),
                },
            }
        };
        let all = count("HOLDFAST_PERMITS", 64, 10_000)?;
        let permits = Permits {
            all,
            principal: count("HOLDFAST_PERMITS_PRINCIPAL", 32, 10_000)?.min(all),
            line: count("HOLDFAST_LINE", 8, 1_000)?,
        };
        Ok(Self {
            permits,
            permit_wait_ms: count("HOLDFAST_PERMIT_WAIT_MS", 60_000, 600_000)?,
            ledger_retention_ms: count(
                "HOLDFAST_LEDGER_RETENTION_MS",
                LEDGER_RETENTION_MS,
                MAX_LEDGER_RETENTION_MS,
            )?,
            hold_ms: count("HOLDFAST_HOLD_MS", HOLD_MS, 600_000)?,
            park_ms: count("HOLDFAST_PARK_MS", PARK_MS, MAX_PARK_MS)?,
            workflows: Durable {
                active: count("HOLDFAST_WORKFLOWS_ACTIVE", 200, 100_000)?,
                life_ms: count("HOLDFAST_WORKFLOW_LIFE_MS", MAX_LIFE_MS, MAX_LIFE_MS)?,
                back_off_ms: count("HOLDFAST_WORKFLOW_BACK_OFF_MS", 10_000, 3_600_000)?,
            },
            admin_token,
            signing_key,
            http_hosts,
            source_hosts,
            secrets_keys,
            allowed_origins,
            guard,
            tools_service: lookup("HOLDFAST_TOOLS_SERVICE"),
            services: names(&lookup("HOLDFAST_SERVICES").unwrap_or_default()),
            commit_sha: lookup("COMMIT_SHA").unwrap_or_else(|| "dev".to_owned()),
            budgets: [
                budget(Surface::Execute, "HOLDFAST_BUDGET_EXECUTE_MS")?,
                budget(Surface::Invocation, "HOLDFAST_BUDGET_INVOCATION_MS")?,
                budget(Surface::Workflow, "HOLDFAST_BUDGET_WORKFLOW_MS")?,
                budget(Surface::Service, "HOLDFAST_BUDGET_SERVICE_MS")?,
            ],
        })
    }

    /// The budget of a surface in this deployment, in milliseconds.
    #[must_use]
    pub fn budget_ms(&self, surface: Surface) -> u64 {
        let found = self.budgets.iter().find(|(of, _)| *of == surface);
        found.map_or(surface.budget_ms(), |(_, ms)| *ms)
    }
}

fn names(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn wrong(variable: &str, what: &str) -> Fault {
    Fault::new(Code::ConfigurationInvalid, format!("{variable}: {what}."))
        .with("variable", variable)
}

#[cfg(test)]
mod tests {
    //! Each variable is checked, and its error names it.

    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Config, Fault> {
        Config::read(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn without_variables_it_denies_by_default() {
        let config = read(&[]).unwrap();
        assert_eq!(config.admin_token, None);
        assert!(config.guard);
        assert_eq!(config.budget_ms(Surface::Execute), 90_000);
        assert_eq!(config.commit_sha, "dev");
        assert_eq!(config.services, Vec::<String>::new());
        let config = read(&[("HOLDFAST_SERVICES", "BILLING, CRM,")]).unwrap();
        assert_eq!(config.services, ["BILLING", "CRM"]);
    }

    #[test]
    fn a_wrong_variable_is_named() {
        for (name, value) in [
            ("HOLDFAST_ADMIN_TOKEN", "short"),
            ("HOLDFAST_SIGNING_KEY", "31 characters are one too few.."),
            ("HOLDFAST_GUARD", "maybe"),
            ("HOLDFAST_BUDGET_EXECUTE_MS", "90001"),
            ("HOLDFAST_BUDGET_EXECUTE_MS", "90s"),
            ("HOLDFAST_BUDGET_WORKFLOW_MS", "0"),
            ("HOLDFAST_HTTP_HOSTS", "http://"),
            ("HOLDFAST_SOURCE_HOSTS", "public, *"),
            ("HOLDFAST_SECRETS_KEY", "no key"),
            ("HOLDFAST_ALLOWED_ORIGINS", "*"),
            ("HOLDFAST_PERMITS", "0"),
            ("HOLDFAST_LINE", "many"),
            ("HOLDFAST_LEDGER_RETENTION_MS", "0"),
        ] {
            let fault = read(&[(name, value)]).unwrap_err();
            assert!(fault.message.starts_with(name), "{}", fault.message);
        }
    }

    #[test]
    fn a_deployment_may_lower_a_budget() {
        let config = read(&[("HOLDFAST_BUDGET_EXECUTE_MS", "2000")]).unwrap();
        assert_eq!(config.budget_ms(Surface::Execute), 2_000);
    }
}
