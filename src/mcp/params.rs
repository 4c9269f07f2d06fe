//! The parameters of a request, each member left as raw JSON until somebody wants it, and what
//! `_meta` says.

use super::id::is_integer;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What `params` is.
#[derive(Debug, Default)]
pub(super) enum Params<'a> {
    /// An object. Absent and null count as an empty one.
    Object(Box<Members<'a>>),
    /// Something else, which no method of ours takes.
    #[default]
    Other,
}

/// The members that some method looks at; all others are ignored. A member that is there with
/// the value null is `Some`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Members<'a> {
    #[serde(borrow, rename = "_meta", default, deserialize_with = "present")]
    meta_raw: Option<&'a RawValue>,
    /// `_meta`, read when it is an object.
    #[serde(skip)]
    pub(super) meta: Option<MetaMembers<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) uri: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) cursor: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) protocol_version: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) request_state: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) input_responses: Option<&'a RawValue>,
}

/// The members of `_meta`. `clientInfo` is not among them: a client's word about itself decides
/// nothing.
#[derive(Debug, Default, Deserialize)]
pub(super) struct MetaMembers<'a> {
    #[serde(
        borrow,
        rename = "io.modelcontextprotocol/protocolVersion",
        default,
        deserialize_with = "present"
    )]
    pub(super) protocol_version: Option<&'a RawValue>,
    #[serde(
        borrow,
        rename = "io.modelcontextprotocol/clientCapabilities",
        default,
        deserialize_with = "present"
    )]
    pub(super) client_capabilities: Option<&'a RawValue>,
    #[serde(borrow, rename = "progressToken", default, deserialize_with = "present")]
    progress_token: Option<&'a RawValue>,
}

impl<'a> Params<'a> {
    /// Reads `params`.
    ///
    /// # Errors
    ///
    /// When a member that is looked at stands there twice: whoever checked one of them and
    /// whoever used the other would speak of different requests.
    pub(super) fn read(raw: Option<&'a RawValue>) -> Result<Self, serde_json::Error> {
        let raw = match raw.map(RawValue::get) {
            None | Some("null") => "{}",
            // A derived type would take a list for its members in order.
            Some(text) if !text.starts_with('{') => return Ok(Self::Other),
            Some(text) => text,
        };
        let mut members: Box<Members<'a>> = serde_json::from_str(raw)?;
        if let Some(meta) = members.meta_raw.map(RawValue::get).filter(|meta| meta.starts_with('{'))
        {
            members.meta = Some(serde_json::from_str(meta)?);
        }
        Ok(Self::Object(members))
    }

    /// Whether the request claims to be of the modern era.
    pub(super) fn claims(&self) -> bool {
        self.meta().is_some_and(|meta| meta.protocol_version.is_some())
    }

    /// `_meta`, when it is an object.
    pub(super) fn meta(&self) -> Option<&MetaMembers<'a>> {
        match self {
            Self::Object(members) => members.meta.as_ref(),
            Self::Other => None,
        }
    }

    /// `_meta.progressToken`, when it is a string or an integer, as it was written.
    pub(super) fn progress_token(&self) -> Option<Box<RawValue>> {
        let token = self.meta()?.progress_token?;
        (token.get().starts_with('"') || is_integer(token.get())).then(|| token.to_owned())
    }
}

/// What the client of one modern request can do. Legacy requests say nothing: whatever was
/// declared in `initialize` is not known to a server without sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Can show a form: `elicitation: {}` or `elicitation.form`.
    pub elicitation_form: bool,
    /// Can open an address for the person: `elicitation.url`.
    pub elicitation_url: bool,
    /// Speaks the tasks extension.
    pub tasks: bool,
}

impl Capabilities {
    /// Reads `clientCapabilities`; `None` unless it is an object.
    pub(super) fn read(raw: &RawValue) -> Option<Self> {
        let declared: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(raw.get()).ok()?;
        let elicitation = declared.get("elicitation").and_then(serde_json::Value::as_object);
        let url = elicitation
            .is_some_and(|modes| modes.get("url").is_some_and(serde_json::Value::is_object));
        let form = elicitation.is_some_and(|modes| modes.is_empty() || modes.contains_key("form"));
        let tasks = declared
            .get("extensions")
            .and_then(|extensions| extensions.get("io.modelcontextprotocol/tasks"))
            .is_some_and(serde_json::Value::is_object);
        Some(Self { elicitation_form: form, elicitation_url: url, tasks })
    }
}

/// The text in `raw`; `None` when it is not a string.
pub(super) fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    /// Borrows where the string has no escapes.
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str::<Text<'_>>(raw.get()).ok().map(|text| text.0)
}

/// A member that is there, null included: `Option` alone takes null for absent.
pub(super) fn present<'de, D>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error>
where
    D: Deserializer<'de>,
{
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::{Capabilities, Params};
    use serde_json::value::RawValue;

    #[test]
    fn a_claim_is_the_key_whatever_its_value() {
        let cases = [
            (r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#, true),
            (r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":null}}"#, true),
            (r#"{"_meta":{"io.modelcontextprotocol\/protocolVersion":7}}"#, true),
            (r#"{"_meta":{}}"#, false),
            (r#"{"_meta":{"progressToken":1}}"#, false),
            (r#"{"_meta":null}"#, false),
            (r#"{"_meta":["io.modelcontextprotocol/protocolVersion"]}"#, false),
            (r#"["2026-07-28"]"#, false),
            ("null", false),
            ("7", false),
        ];
        for (text, expected) in cases {
            let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
            assert_eq!(Params::read(Some(&raw)).unwrap().claims(), expected, "{text}");
        }
    }

    #[test]
    fn a_progress_token_is_a_string_or_an_integer() {
        let cases = [("\"p\"", true), ("7", true), ("1.5", false), ("null", false), ("{}", false)];
        for (token, expected) in cases {
            let text = format!(r#"{{"_meta":{{"progressToken":{token}}}}}"#);
            let raw: Box<RawValue> = serde_json::from_str(&text).unwrap();
            let params = Params::read(Some(&raw)).unwrap();
            assert_eq!(params.progress_token().is_some(), expected, "{token}");
        }
    }

    #[test]
    fn an_empty_elicitation_means_forms_and_not_addresses() {
        let cases = [
            (r"{}", Some((false, false, false))),
            (r#"{"elicitation":{}}"#, Some((true, false, false))),
            (r#"{"elicitation":{"form":{}}}"#, Some((true, false, false))),
            (r#"{"elicitation":{"url":{}}}"#, Some((false, true, false))),
            (r#"{"elicitation":{"form":{},"url":{}}}"#, Some((true, true, false))),
            (r#"{"elicitation":{"url":null}}"#, Some((false, false, false))),
            (r#"{"elicitation":null}"#, Some((false, false, false))),
            (r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#, Some((false, false, true))),
            ("[]", None),
            ("null", None),
            ("\"x\"", None),
        ];
        for (text, expected) in cases {
            let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
            let read =
                Capabilities::read(&raw).map(|c| (c.elicitation_form, c.elicitation_url, c.tasks));
            assert_eq!(read, expected, "{text}");
        }
    }
}
