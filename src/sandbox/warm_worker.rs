//! The sandbox of a package: a sub-worker that is kept and serves many invocations.
//!
//! Its id is the hash of all that shapes it, so whoever asks for the same gets the same, and nothing
//! of one principal reaches another. Parameters are arguments of the call and never part of it.

use super::dynamic_worker::HARNESS;
use super::{Host, Lost, Sandbox, words};
use crate::error::{Code, Fault};
use crate::packages::{Module, place_in, refused_by_engine};
use crate::platform::loader::{Loader, OwnedCode};
use crate::run::end::Place;
use crate::run::limits::Limits;
use crate::store::db::Db;
use crate::store::packages;
use futures_util::future::FutureExt as _;
use sha2::{Digest as _, Sha256};
use std::rc::Rc;

/// Whose package, and which version of it.
#[derive(Debug, Clone)]
pub struct Which {
    /// The principal.
    pub principal: String,
    /// The package.
    pub name: String,
    /// Its version.
    pub version: u64,
    /// Hash of its modules.
    pub hash: String,
    /// Whether its modules have the guard.
    pub guard: bool,
    /// What is deployed.
    pub deploy: String,
}

/// Sub-workers of one version of a package.
#[derive(Debug)]
pub struct WarmWorker {
    loader: Loader,
    db: Rc<Db>,
    which: Which,
}

impl WarmWorker {
    /// Sub-workers of `which`, made by `loader` when there is none that can serve.
    #[must_use]
    pub const fn new(loader: Loader, db: Rc<Db>, which: Which) -> Self {
        Self { loader, db, which }
    }

    /// What the engine refused, at its place in the package.
    async fn placed(&self, said: String) -> Lost {
        match refused_by_engine(&self.db, &self.which, &said).await {
            Ok(Some(fault)) => Lost::Fault(fault),
            Ok(None) | Err(_) => Lost::Refused(said),
        }
    }

    fn id(&self, limits: &Limits) -> String {
        let Which { principal, hash, deploy, .. } = &self.which;
        let mut digest = Sha256::new();
        for part in [
            principal.as_str(),
            hash.as_str(),
            deploy.as_str(),
            &harness_hash(),
            &limits.cpu_ms.to_string(),
            &limits.sub_requests.to_string(),
        ] {
            // No part has a line end: two lists of parts are never the same text.
            digest.update(part.as_bytes());
            digest.update(b"\n");
        }
        crate::hex::encode(&digest.finalize())
    }
}

/// Hash of the harness; it takes a millisecond, so it is made once an isolate.
fn harness_hash() -> String {
    static HASH: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    HASH.get_or_init(|| {
        let mut digest = Sha256::new();
        for (name, text) in HARNESS {
            digest.update(name.as_bytes());
            digest.update(text.as_bytes());
        }
        crate::hex::encode(&digest.finalize())
    })
    .clone()
}

impl Sandbox for WarmWorker {
    async fn evaluate(
        &self,
        _module: &str,
        invocation: &str,
        limits: &Limits,
        host: Host,
    ) -> Result<String, Lost> {
        let lost = |thrown: crate::platform::thrown::Thrown| {
            words::read(&thrown.message, thrown.in_sandbox, limits)
        };
        let (db, which) = (Rc::clone(&self.db), self.which.clone());
        let (cpu_ms, sub_requests) = (limits.cpu_ms, limits.sub_requests);
        let code = move || {
            let (db, which) = (Rc::clone(&db), which.clone());
            async move {
                let Which { principal, name, version, .. } = &which;
                let text = packages::text(&db, principal, name, *version, "modules").await;
                let text = text.map_err(|error| error.to_string())?;
                let text = text.ok_or("the version has been deleted")?;
                let own: Vec<Module> =
                    serde_json::from_str(&text).map_err(|error| error.to_string())?;
                let harness =
                    HARNESS.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
                let own = own.into_iter().map(|module| (module.name, module.text));
                Ok(OwnedCode { modules: harness.chain(own).collect(), cpu_ms, sub_requests })
            }
            .boxed_local()
        };
        let worker = self.loader.get(&self.id(limits), code).map_err(|thrown| {
            let message = "The sandbox could not be created: the platform refused it.";
            Lost::Fault(Fault::new(Code::CreateFailed, message).caused_by(thrown.to_string()))
        })?;
        match worker.evaluate(invocation, move |message| host(message)).await.map_err(lost) {
            Err(Lost::Refused(said)) => Err(self.placed(said).await),
            ended => ended,
        }
    }

    async fn place(&self, module: &str, line: u32, column: u32) -> Option<Place> {
        place_in(&self.db, &self.which, module, line, column).await
    }
}
