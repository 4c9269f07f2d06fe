//! GraphQL APIs. What a schema says is [`crate::tools::graphql`]'s; here it is asked for, and its fields are
//! called.

use super::openapi::unreadable;
use super::{Brought, Call, Listener, Reach, Source, body_of};
use crate::error::Fault;
use crate::tools::graphql;
use crate::tools::import::Plan;
use crate::tools::{answered, unfit};
use serde_json::json;
use url::Url;

/// Bytes of a schema's introspection.
const SCHEMA_BYTES: u64 = 16_777_216;

/// A GraphQL API.
#[derive(Debug, Clone, Copy)]
pub struct Graphql;

fn endpoint(reach: &Reach) -> Result<Url, Fault> {
    Url::parse(reach.url()?)
        .map_err(|error| Fault::invalid("url", format!("is not a URL ({error})")))
}

impl Source for Graphql {
    async fn import(&self, reach: &Reach) -> Result<Brought, Fault> {
        let request = graphql::introspection(&endpoint(reach)?);
        let mut answer = reach.send(request, &reach.auth(), true).await?;
        let status = answer.status;
        let body = answer.bytes(SCHEMA_BYTES).await?;
        let text = String::from_utf8_lossy(&body);
        let imported = match graphql::read(&text) {
            Ok(imported) => imported,
            Err(_) if status >= 300 => return Err(reach.status(status)),
            Err(why) => return Err(unreadable(reach, &why)),
        };
        Ok(Brought { imported, facts: json!({}), ttl_ms: None })
    }

    async fn call(
        &self,
        reach: &Reach,
        call: Call<'_>,
        told: Listener<'_>,
    ) -> Result<String, Fault> {
        let Plan::Graphql(field) = call.plan else {
            return Err(Fault::internal("plan", "a tool of another kind"));
        };
        let request = graphql::request(field, &endpoint(reach)?, call.arguments)
            .map_err(|what| unfit(call.path, what.trim_end_matches('.')))?;
        let mut answer = reach.send(request, &reach.auth(), call.repeatable).await?;
        let body = body_of(&mut answer, reach, told).await?;
        answered(call.path, graphql::answer(field, answer.with_body(&body)))
    }
}
