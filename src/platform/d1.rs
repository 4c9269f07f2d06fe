//! The D1 binding: statements with their values out, rows back as JSON text.
//!
//! What a row means is `store/`'s. Rows come as text since the platform writes it in one call, and all
//! else is read from JSON too: one kind of reader in the worker, not two.

use super::thrown::{Thrown, required, settled};
use js_sys::{Array, JSON};
use wasm_bindgen::{JsCast as _, JsValue};

pub mod sys {
    //! The platform's shapes and nothing more: `catch` on every method, no logic.

    use js_sys::{Array, Promise};
    use wasm_bindgen::prelude::*;

    #[wasm_bindgen]
    extern "C" {
        /// The binding.
        #[derive(Debug, Clone)]
        pub type D1Database;

        /// A statement without values. Nothing is sent yet.
        #[wasm_bindgen(method, catch)]
        pub fn prepare(this: &D1Database, sql: &str) -> Result<D1PreparedStatement, JsValue>;

        /// Runs statements in one transaction; settles with an array of results.
        #[wasm_bindgen(method, catch)]
        pub fn batch(this: &D1Database, statements: &Array) -> Result<Promise, JsValue>;

        /// A statement.
        #[derive(Debug, Clone)]
        pub type D1PreparedStatement;

        /// The statement with values.
        #[wasm_bindgen(method, catch, variadic)]
        pub fn bind(
            this: &D1PreparedStatement,
            values: &Array,
        ) -> Result<D1PreparedStatement, JsValue>;

        /// Runs it; settles with a result.
        #[wasm_bindgen(method, catch)]
        pub fn all(this: &D1PreparedStatement) -> Result<Promise, JsValue>;

        /// What a statement came to.
        #[derive(Debug, Clone)]
        pub type D1Result;

        /// Its rows.
        #[wasm_bindgen(method, catch, getter)]
        pub fn results(this: &D1Result) -> Result<JsValue, JsValue>;

        /// What is told of it.
        #[wasm_bindgen(method, catch, getter)]
        pub fn meta(this: &D1Result) -> Result<D1Meta, JsValue>;

        /// What is told of a statement.
        #[derive(Debug, Clone)]
        pub type D1Meta;

        /// How many rows it changed.
        #[wasm_bindgen(method, catch, getter)]
        pub fn changes(this: &D1Meta) -> Result<Option<f64>, JsValue>;
    }
}

/// The database of this deployment.
#[derive(Debug, Clone)]
pub struct Database {
    binding: sys::D1Database,
}

/// A statement with its values, ready to be sent.
#[derive(Debug, Clone)]
pub struct Prepared(sys::D1PreparedStatement);

/// What a statement came to.
#[derive(Debug, Clone)]
pub struct Answer(sys::D1Result);

impl Database {
    /// The binding `DB`.
    ///
    /// # Errors
    ///
    /// When the deployment has none.
    pub fn of(env: &worker::Env) -> Result<Self, Thrown> {
        Ok(Self { binding: required(env.as_ref(), "DB")? })
    }

    /// A statement with its values, in order.
    ///
    /// # Errors
    ///
    /// What the platform throws.
    pub fn prepare(
        &self,
        sql: &str,
        values: impl Iterator<Item = JsValue>,
    ) -> Result<Prepared, Thrown> {
        let values: Array = values.collect();
        let bound = self.binding.prepare(sql).and_then(|statement| statement.bind(&values));
        bound.map(Prepared).map_err(|thrown| Thrown::read(&thrown))
    }

    /// Runs statements in one transaction.
    ///
    /// # Errors
    ///
    /// When one fails; then none has had an effect.
    pub async fn batch(&self, statements: &[Prepared]) -> Result<Vec<Answer>, Thrown> {
        let statements: Array = statements.iter().map(|Prepared(statement)| statement).collect();
        let settled = settled(self.binding.batch(&statements)).await?;
        Ok(settled.unchecked_into::<Array>().iter().map(Answer::of).collect())
    }
}

impl Prepared {
    /// Runs the statement.
    ///
    /// # Errors
    ///
    /// When D1 refuses it or cannot be reached.
    pub async fn all(&self) -> Result<Answer, Thrown> {
        settled(self.0.all()).await.map(Answer::of)
    }
}

impl Answer {
    fn of(value: JsValue) -> Self {
        Self(value.unchecked_into())
    }

    /// How many rows it changed.
    ///
    /// # Errors
    ///
    /// When it is of another form.
    pub fn changes(&self) -> Result<f64, Thrown> {
        let changes = self.0.meta().and_then(|meta| meta.changes());
        changes.map(Option::unwrap_or_default).map_err(|thrown| Thrown::read(&thrown))
    }

    /// Its rows: the JSON text of an array of objects.
    ///
    /// # Errors
    ///
    /// When it is of another form.
    pub fn rows(&self) -> Result<String, Thrown> {
        let text = self.0.results().and_then(|rows| {
            if rows.is_undefined() { Ok("[]".into()) } else { JSON::stringify(&rows) }
        });
        text.map(String::from).map_err(|thrown| Thrown::read(&thrown))
    }
}
