//! How an operation is called: what an import keeps of it.

use crate::tools::import::Server;
use serde::{Deserialize, Serialize};

/// A request, but for its arguments and its server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The method, in capitals.
    pub method: String,
    /// The path below the server's URL; `{name}` stands for a parameter.
    pub path: String,
    /// The operation's own servers; those of the document where empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<Server>,
    /// What goes into the path, the query, the headers and the cookies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
    /// What goes into the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// Media types that the operation says it answers with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepts: Vec<String>,
    /// Schemes of the credentials: any one of these sets does, all of a set are needed. An empty set
    /// does without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security: Vec<Vec<String>>,
}

/// A parameter of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parameter {
    /// The member of the argument that it is taken from.
    pub argument: String,
    /// Its name in the request.
    pub name: String,
    /// Where it goes.
    #[serde(rename = "in")]
    pub place: In,
    /// How lists and objects are written.
    pub style: Style,
    /// Whether each item, or member, stands by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub explode: bool,
    /// Whether `:/?#[]@!$&'()*+,;=` are left as they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reserved: bool,
    /// Whether its value is written as JSON.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub json: bool,
}

/// Where a parameter goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum In {
    /// Into the path.
    Path,
    /// Into the query.
    Query,
    /// Into a header.
    Header,
    /// Into the header `cookie`.
    Cookie,
}

/// How a parameter's lists and objects are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Style {
    /// `a,b`
    Simple,
    /// `.a.b`
    Label,
    /// `;name=a,b`
    Matrix,
    /// `name=a&name=b`
    Form,
    /// `name=a b`
    SpaceDelimited,
    /// `name=a|b`
    PipeDelimited,
    /// `name[member]=a`
    DeepObject,
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Body {
    /// The member of the argument that it is taken from.
    pub argument: String,
    /// Its media type.
    pub media: String,
    /// How it is written.
    pub form: Form,
    /// How its members are written, where it has some and they are not written as usual.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// As JSON.
    Json,
    /// As the fields of a form.
    Urlencoded,
    /// In parts.
    Multipart,
    /// As the text that it is.
    Text,
    /// As the bytes that they are; a text as its UTF-8.
    Binary,
}

/// How a member of a form is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Its name.
    pub name: String,
    /// The media type of its part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<String>,
    /// How its lists and objects are written; a part of a multipart body has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<Style>,
    /// Whether each item, or member, stands by itself.
    #[serde(default)]
    pub explode: bool,
}
