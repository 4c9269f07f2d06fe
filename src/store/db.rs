//! The database: prepared statements, one transaction a batch, errors without JavaScript.

use crate::error::{Code, Fault};
use serde::Deserialize;
use wasm_bindgen::JsValue;
use worker::{D1Database, D1PreparedStatement, D1Result};

/// The database could not be read or written. The text is for the log, never for an answer.
#[derive(Debug, Clone)]
pub struct StoreError(pub String);

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        let message = "The database could not be read or written; nothing was run.";
        Self::new(Code::StorageUnavailable, message).caused_by(error.0)
    }
}

impl From<worker::Error> for StoreError {
    fn from(error: worker::Error) -> Self {
        // Not `{error}` of a D1Error: its Display takes the cause for a string, and the conversion
        // ends the instance without a word.
        match error {
            worker::Error::D1(error) => Self(error.cause()),
            other => Self(other.to_string()),
        }
    }
}

/// A value bound to a statement.
#[derive(Debug, Clone)]
pub enum Param {
    /// TEXT.
    Text(String),
    /// INTEGER, up to 2⁵³.
    Int(u64),
    /// NULL.
    Null,
}

impl From<&str> for Param {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Param {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Param {
    fn from(number: u64) -> Self {
        Self::Int(number)
    }
}

impl<T: Into<Self>> From<Option<T>> for Param {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A statement with its values, not yet sent.
#[derive(Debug, Clone)]
pub struct Statement {
    sql: &'static str,
    params: Vec<Param>,
}

/// Makes a statement: `sql!("DELETE FROM t WHERE id = ?1", id)`.
#[macro_export]
macro_rules! sql {
    ($sql:expr $(, $param:expr)* $(,)?) => {
        $crate::store::db::Statement::new($sql, vec![$($crate::store::db::Param::from($param)),*])
    };
}

impl Statement {
    /// A statement of ours with its values in order.
    #[must_use]
    pub const fn new(sql: &'static str, params: Vec<Param>) -> Self {
        Self { sql, params }
    }

    /// Bytes of text that it carries: the most a batch may weigh is bounded by it.
    #[must_use]
    pub fn weight(&self) -> usize {
        let text = |param: &Param| match param {
            Param::Text(text) => text.len(),
            Param::Int(_) | Param::Null => 8,
        };
        self.params.iter().map(text).fold(self.sql.len(), usize::saturating_add)
    }
}

/// The largest value that a row may hold here. D1 refuses a row over 2,000,000 bytes, and only in
/// production; a row of ours holds one large value and little besides.
const MAX_VALUE_BYTES: usize = 1_900_000;

/// The binding `DB`.
#[derive(Debug)]
pub struct Db {
    binding: D1Database,
}

impl Db {
    /// The database of this deployment.
    ///
    /// # Errors
    ///
    /// `configuration_invalid` when there is no binding `DB`.
    pub fn of(env: &worker::Env) -> Result<Self, Fault> {
        let binding = env.d1("DB").map_err(|_| {
            Fault::new(Code::ConfigurationInvalid, "DB: the binding of the D1 database is missing.")
        })?;
        Ok(Self { binding })
    }

    /// Runs one statement; how many rows it changed.
    ///
    /// # Errors
    ///
    /// When D1 refuses it or cannot be reached.
    pub async fn run(&self, statement: &Statement) -> Result<u64, StoreError> {
        changes(&self.prepare(statement)?.run().await?)
    }

    /// Runs statements in one transaction; how many rows each changed.
    ///
    /// # Errors
    ///
    /// When one fails; then none has had an effect.
    pub async fn batch(&self, statements: &[Statement]) -> Result<Vec<u64>, StoreError> {
        let prepared = statements.iter().map(|statement| self.prepare(statement));
        let prepared = prepared.collect::<Result<Vec<_>, _>>()?;
        let results = self.binding.batch(prepared).await?;
        results.iter().map(changes).collect()
    }

    /// The first row, if there is one.
    ///
    /// # Errors
    ///
    /// When D1 refuses it, or the row is not of the form `T`.
    pub async fn first<T>(&self, statement: &Statement) -> Result<Option<T>, StoreError>
    where
        T: for<'a> Deserialize<'a>,
    {
        Ok(self.prepare(statement)?.first::<T>(None).await?)
    }

    /// All rows. The statement bounds their number.
    ///
    /// # Errors
    ///
    /// As [`Db::first`].
    pub async fn all<T>(&self, statement: &Statement) -> Result<Vec<T>, StoreError>
    where
        T: for<'a> Deserialize<'a>,
    {
        Ok(self.prepare(statement)?.all().await?.results::<T>()?)
    }

    fn prepare(&self, statement: &Statement) -> Result<D1PreparedStatement, StoreError> {
        let values: Vec<JsValue> = statement.params.iter().map(to_js).collect::<Result<_, _>>()?;
        Ok(self.binding.prepare(statement.sql).bind(&values)?)
    }
}

fn to_js(param: &Param) -> Result<JsValue, StoreError> {
    match param {
        Param::Text(text) if text.len() > MAX_VALUE_BYTES => {
            Err(StoreError(format!("a value of {} bytes does not fit a row", text.len())))
        }
        Param::Text(text) => Ok(JsValue::from_str(text)),
        Param::Int(number) => {
            #[expect(
                clippy::as_conversions,
                clippy::cast_precision_loss,
                reason = "times and counts are below 2^53; D1 takes numbers as doubles only"
            )]
            let number = *number as f64;
            Ok(JsValue::from_f64(number))
        }
        Param::Null => Ok(JsValue::NULL),
    }
}

fn changes(result: &D1Result) -> Result<u64, StoreError> {
    let changes = result.meta()?.and_then(|meta| meta.changes).unwrap_or(0);
    Ok(u64::try_from(changes).unwrap_or(u64::MAX))
}
