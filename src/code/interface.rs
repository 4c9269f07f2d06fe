//! What a module of a package imports and exports, as its text says it.

use std::collections::{BTreeMap, HashMap, HashSet};

use oxc_ast::ast::{
    BindingPattern, Declaration, ExportDefaultDeclaration, ExportDefaultDeclarationKind,
    ExportFromDeclaration, ExportNamedDeclaration, Expression, ImportDeclaration,
    ImportDeclarationSpecifier, Program, Statement,
};

use super::erase::is_erased;
use super::form::{RUNTIME_MODULE, is_function};
use super::names::Names;
use super::survey::{Faults, Survey};

/// What a module of a package can be called.
pub(super) const EXTENSIONS: [&str; 4] = [".js", ".ts", ".mjs", ".mts"];

/// What another module is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Provider {
    Module(usize),
    Runtime,
}

/// A name that a module imports.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) from: Provider,
    /// `None`: the whole module.
    pub(super) name: Option<String>,
    pub(super) local: String,
    pub(super) at: u32,
}

/// What an export stands for.
#[derive(Debug)]
pub(super) enum Target {
    /// A binding of the module, read as this expression.
    Local { expression: String, is_function: bool, assigned: bool },
    /// An export of another.
    Other { from: Provider, name: String },
    /// All of another, as an object.
    Namespace(Provider),
    /// A type, which is gone when the program runs.
    Type,
}

/// An import or re-export, which has another module run first.
#[derive(Debug)]
pub(super) struct Edge {
    pub(super) module: usize,
    pub(super) at: u32,
    /// The names that are imported: when all of them are types, the edge is none. Empty: it is one.
    pub(super) names: Vec<String>,
}

/// What a module imports and exports.
#[derive(Debug, Default)]
pub(super) struct Interface {
    pub(super) imports: Vec<Import>,
    pub(super) exports: BTreeMap<String, Target>,
    /// Where each export that stands for another module's is.
    pub(super) places: HashMap<String, u32>,
    /// What `export *` passes on.
    pub(super) stars: Vec<Provider>,
    pub(super) edges: Vec<Edge>,
}

/// Names that the statements at the top of a module declare.
#[derive(Debug, Default)]
struct Declared {
    /// Values, and whether each is a function.
    values: HashMap<String, bool>,
    /// Types, which are gone when the program runs.
    types: HashSet<String>,
}

/// Reads what a module imports and exports.
pub(super) struct Reader<'r> {
    pub(super) path: &'r str,
    /// Numbers of the package's modules, by path.
    pub(super) index: &'r HashMap<&'r str, usize>,
    pub(super) ambient: &'r [&'r str],
    pub(super) faults: &'r mut Faults,
    pub(super) survey: &'r Survey<'r>,
    pub(super) names: &'r Names,
}

impl Reader<'_> {
    pub(super) fn read(&mut self, program: &Program<'_>) -> Interface {
        let mut read = Interface::default();
        let mut known = Declared::default();
        for statement in &program.body {
            known.statement(statement);
            if !is_erased(statement) {
                self.imports(statement, &mut read);
            }
        }
        for statement in &program.body {
            self.exports(statement, &known, &mut read);
        }
        read
    }

    /// The module behind `specifier`.
    fn resolve(&mut self, specifier: &str, at: u32) -> Option<Provider> {
        if specifier == RUNTIME_MODULE {
            return Some(Provider::Runtime);
        }
        if !specifier.starts_with("./") && !specifier.starts_with("../") {
            self.faults.add(
                at,
                format!("import of \"{specifier}\": a package can import its own modules by relative path, and \"{RUNTIME_MODULE}\""),
            );
            return None;
        }
        let mut parts: Vec<&str> = self.path.split('/').collect();
        parts.pop();
        for part in specifier.split('/') {
            match part {
                "." | "" => {}
                ".." => {
                    if parts.pop().is_none() {
                        self.faults
                            .add(at, format!("import of \"{specifier}\": it leaves the package"));
                        return None;
                    }
                }
                part => parts.push(part),
            }
        }
        let path = parts.join("/");
        let stem = path.strip_suffix(".js").map(|stem| format!("{stem}.ts"));
        let module_stem = path.strip_suffix(".mjs").map(|stem| format!("{stem}.mts"));
        let candidates = std::iter::once(path.clone())
            .chain(EXTENSIONS.iter().map(|extension| format!("{path}{extension}")))
            .chain(stem)
            .chain(module_stem)
            .chain(EXTENSIONS.iter().map(|extension| {
                let slash = if path.is_empty() { "" } else { "/" };
                format!("{path}{slash}index{extension}")
            }));
        for candidate in candidates {
            if let Some(number) = self.index.get(candidate.as_str()) {
                return Some(Provider::Module(*number));
            }
        }
        self.faults
            .add(at, format!("import of \"{specifier}\": the package has no module \"{path}\""));
        None
    }

    fn runtime_name(&mut self, name: &str, at: u32) {
        if !self.ambient.contains(&name) {
            let names = self.ambient.join(", ");
            self.faults.add(
                at,
                format!(
                    "import of `{name}`: \"{RUNTIME_MODULE}\" has no such name; it has {names}"
                ),
            );
        }
    }

    /// What a statement imports, and which module it has run first.
    fn imports(&mut self, statement: &Statement<'_>, read: &mut Interface) {
        match statement {
            Statement::ImportDeclaration(it) => self.import(it, read),
            Statement::ExportFromDeclaration(it) => {
                if let Some(Provider::Module(module)) =
                    self.resolve(&it.source.value, it.span.start)
                {
                    let values = it.specifiers.iter().filter(|it| !it.export_kind.is_type());
                    let names = values.map(|it| it.local.name().to_string()).collect();
                    read.edges.push(Edge { module, at: it.span.start, names });
                }
            }
            Statement::ExportAllDeclaration(it) => {
                if let Some(Provider::Module(module)) =
                    self.resolve(&it.source.value, it.span.start)
                {
                    read.edges.push(Edge { module, at: it.span.start, names: Vec::new() });
                }
            }
            _ => {}
        }
    }

    fn import(&mut self, it: &ImportDeclaration<'_>, read: &mut Interface) {
        if it.phase.is_some() {
            self.faults.add(it.span.start, "import with a phase is not supported");
        }
        let Some(from) = self.resolve(&it.source.value, it.span.start) else { return };
        let mut names = Vec::new();
        for specifier in it.specifiers.iter().flatten() {
            let (name, local, at) = match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(it) if it.import_kind.is_type() => {
                    continue;
                }
                ImportDeclarationSpecifier::ImportSpecifier(it) => {
                    (Some(it.imported.name().to_string()), &it.local, it.span.start)
                }
                ImportDeclarationSpecifier::ImportDefaultSpecifier(it) => {
                    (Some("default".to_owned()), &it.local, it.span.start)
                }
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(it) => {
                    (None, &it.local, it.span.start)
                }
            };
            // The runtime's default is the runtime.
            let name = name.filter(|name| from != Provider::Runtime || name != "default");
            if let Some(name) = name.as_ref().filter(|_| from == Provider::Runtime) {
                self.runtime_name(name, at);
            }
            names.push(name.clone().unwrap_or_default());
            read.imports.push(Import { from, name, local: local.name.to_string(), at });
        }
        if let Provider::Module(module) = from {
            read.edges.push(Edge { module, at: it.span.start, names });
        }
    }

    /// What a statement exports.
    fn exports(&mut self, statement: &Statement<'_>, known: &Declared, read: &mut Interface) {
        match statement {
            Statement::ExportDeclaration(it) => {
                let mut own = Declared::default();
                own.declaration(&it.declaration, is_erased(statement));
                for name in own.values.into_keys() {
                    let target = self.local(&name, known);
                    read.exports.insert(name, target);
                }
                for name in own.types {
                    read.exports.entry(name).or_insert(Target::Type);
                }
            }
            Statement::ExportNamedDeclaration(it) => self.export_named(it, known, read),
            Statement::ExportFromDeclaration(it) => self.export_from(it, read),
            Statement::ExportAllDeclaration(it) if !it.export_kind.is_type() => {
                let Some(from) = self.resolve(&it.source.value, it.span.start) else { return };
                match &it.exported {
                    Some(name) => {
                        read.exports.insert(name.name().to_string(), Target::Namespace(from));
                    }
                    None => read.stars.push(from),
                }
            }
            Statement::ExportDefaultDeclaration(it) => {
                if let Some(target) = self.export_default(it, known) {
                    read.exports.insert("default".to_owned(), target);
                }
            }
            Statement::TSExportAssignment(it) => {
                self.faults.add(it.span.start, "export = is not supported; write `export default`");
            }
            Statement::TSNamespaceExportDeclaration(it) => {
                self.faults.add(it.span.start, "export as namespace is not supported");
            }
            _ => {}
        }
    }

    /// A binding of the module.
    fn local(&self, name: &str, known: &Declared) -> Target {
        Target::Local {
            expression: name.to_owned(),
            is_function: known.values.get(name).copied().unwrap_or(false),
            assigned: self.survey.calls.is_assigned(name),
        }
    }

    fn export_named(
        &mut self,
        it: &ExportNamedDeclaration<'_>,
        known: &Declared,
        read: &mut Interface,
    ) {
        let imported: HashMap<&str, &Import> =
            read.imports.iter().map(|import| (import.local.as_str(), import)).collect();
        let mut found = Vec::new();
        for specifier in &it.specifiers {
            let name = specifier.local.name();
            let is_type = it.export_kind.is_type() || specifier.export_kind.is_type();
            let target = match imported.get(name.as_str()) {
                _ if is_type => Target::Type,
                Some(import) => match &import.name {
                    Some(name) => Target::Other { from: import.from, name: name.clone() },
                    None => Target::Namespace(import.from),
                },
                None if known.values.contains_key(name.as_str()) => self.local(&name, known),
                None if known.types.contains(name.as_str()) => Target::Type,
                None => {
                    let what = format!("export of `{name}`: the module has no such name");
                    self.faults.add(specifier.span.start, what);
                    continue;
                }
            };
            found.push((specifier.exported.name().to_string(), target, specifier.span.start));
        }
        for (name, target, at) in found {
            read.places.insert(name.clone(), at);
            read.exports.insert(name, target);
        }
    }

    fn export_from(&mut self, it: &ExportFromDeclaration<'_>, read: &mut Interface) {
        let from = if it.export_kind.is_type() {
            None
        } else {
            let Some(from) = self.resolve(&it.source.value, it.span.start) else { return };
            Some(from)
        };
        for specifier in &it.specifiers {
            let name = specifier.local.name().to_string();
            let at = specifier.span.start;
            let target = match from.filter(|_| !specifier.export_kind.is_type()) {
                None => Target::Type,
                Some(Provider::Runtime) if name == "default" => {
                    Target::Namespace(Provider::Runtime)
                }
                Some(from) => {
                    if from == Provider::Runtime {
                        self.runtime_name(&name, at);
                    }
                    Target::Other { from, name }
                }
            };
            let exported = specifier.exported.name().to_string();
            read.places.insert(exported.clone(), at);
            read.exports.insert(exported, target);
        }
    }

    fn export_default(
        &self,
        it: &ExportDefaultDeclaration<'_>,
        known: &Declared,
    ) -> Option<Target> {
        let own = |is_function| Target::Local {
            expression: self.names.default(),
            is_function,
            assigned: false,
        };
        Some(match &it.declaration {
            ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => Target::Type,
            ExportDefaultDeclarationKind::FunctionDeclaration(it) => {
                // An overload is followed by what it describes.
                it.body.as_ref()?;
                it.id.as_ref().map_or_else(|| own(true), |id| self.local(&id.name, known))
            }
            ExportDefaultDeclarationKind::ClassDeclaration(it) => {
                it.id.as_ref().map_or_else(|| own(false), |id| self.local(&id.name, known))
            }
            declaration => own(declaration.as_expression().is_some_and(|it| match it {
                Expression::Identifier(it) => known.values.get(it.name.as_str()) == Some(&true),
                other => is_function(other),
            })),
        })
    }
}

impl Declared {
    fn add(&mut self, name: &str, erased: bool, is_function: bool) {
        if erased {
            self.types.insert(name.to_owned());
        } else {
            self.values.insert(name.to_owned(), is_function);
        }
    }

    fn statement(&mut self, statement: &Statement<'_>) {
        let erased = is_erased(statement);
        match statement {
            Statement::ExportDeclaration(it) => self.declaration(&it.declaration, erased),
            Statement::ExportDefaultDeclaration(it) => {
                let (id, is_function) = match &it.declaration {
                    ExportDefaultDeclarationKind::FunctionDeclaration(it) if it.body.is_some() => {
                        (&it.id, true)
                    }
                    ExportDefaultDeclarationKind::ClassDeclaration(it) => (&it.id, false),
                    _ => return,
                };
                if let Some(id) = id {
                    self.add(&id.name, false, is_function);
                }
            }
            Statement::ImportDeclaration(it) if erased => {
                for specifier in it.specifiers.iter().flatten() {
                    self.add(&specifier.local().name, true, false);
                }
            }
            other => {
                if let Some(it) = other.as_declaration() {
                    self.declaration(it, erased);
                }
            }
        }
    }

    fn declaration(&mut self, it: &Declaration<'_>, erased: bool) {
        match it {
            Declaration::VariableDeclaration(it) => {
                for declarator in &it.declarations {
                    let is_function = declarator.init.as_ref().is_some_and(is_function);
                    bound(&declarator.id, &mut |name| self.add(name, erased, is_function));
                }
            }
            Declaration::FunctionDeclaration(it) => {
                if let Some(id) = it.id.as_ref().filter(|_| it.body.is_some() || it.declare) {
                    self.add(&id.name, erased, true);
                }
            }
            Declaration::ClassDeclaration(it) => {
                if let Some(id) = &it.id {
                    self.add(&id.name, erased, false);
                }
            }
            Declaration::TSEnumDeclaration(it) => self.add(&it.id.name, erased, false),
            Declaration::TSTypeAliasDeclaration(it) => self.add(&it.id.name, erased, false),
            Declaration::TSInterfaceDeclaration(it) => self.add(&it.id.name, erased, false),
            Declaration::TSNamespaceDeclaration(it) => self.add(&it.id.name, erased, false),
            Declaration::TSImportEqualsDeclaration(it) => self.add(&it.id.name, erased, false),
            Declaration::TSExternalModuleDeclaration(_) | Declaration::TSGlobalDeclaration(_) => {}
        }
    }
}

/// The names that a pattern binds.
fn bound(pattern: &BindingPattern<'_>, add: &mut dyn FnMut(&str)) {
    match pattern {
        BindingPattern::BindingIdentifier(it) => add(&it.name),
        BindingPattern::AssignmentPattern(it) => bound(&it.left, add),
        BindingPattern::ObjectPattern(it) => {
            for property in &it.properties {
                bound(&property.value, add);
            }
            if let Some(rest) = &it.rest {
                bound(&rest.argument, add);
            }
        }
        BindingPattern::ArrayPattern(it) => {
            for element in it.elements.iter().flatten() {
                bound(element, add);
            }
            if let Some(rest) = &it.rest {
                bound(&rest.argument, add);
            }
        }
    }
}
