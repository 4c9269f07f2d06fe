//! `tools/list`.

use super::{
    answer::Answer,
    reply::Reply,
    tools::{Guide, definitions},
};
use serde_json::json;

/// How long a client may keep the list. A source that is connected shows in it, so not long.
const TTL_MS: u64 = 60 * 1_000;

/// A `tools/list` that is in order. The worker adds what it knows of the principal.
#[derive(Debug)]
pub struct List {
    pub(super) reply: Reply,
}

impl List {
    /// The list. The same for the same principal, whatever was called before.
    #[must_use]
    pub fn answer(&self, guide: &Guide) -> Answer {
        let mut result = json!({ "tools": definitions(guide) });
        if self.reply.era == super::era::Era::Modern
            && let Some(members) = result.as_object_mut()
        {
            members.insert("ttlMs".to_owned(), json!(TTL_MS));
            members.insert("cacheScope".to_owned(), json!("private"));
        }
        self.reply.result(&result)
    }
}
