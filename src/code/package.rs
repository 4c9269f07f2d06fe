//! Packages: several modules that import each other, made into modules that one isolate runs.
//!
//! Each becomes a factory of the same form as a lone program, a file of its own so that its lines are
//! its author's, and `program.js` links them: it runs them in the order of their imports, for every
//! invocation anew, and gives the export that was asked for. `docs/sandbox.md` has the texts.
//!
//! An import is a constant that the imported module has filled before. Only what the exporting module
//! assigns to after its declaration is live: there each assignment tells the importers.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::fmt::Write as _;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    BindingPattern, Declaration, ExportDefaultDeclarationKind, Expression,
    ImportDeclarationSpecifier, Program, Statement,
};

use super::edits::{Edits, Map, offset};
use super::erase::{Erase, is_erased};
use super::form::{Context, RUNTIME_MODULE, is_function};
use super::guard::{Guard, Texts};
use super::live::Live;
use super::names::Names;
use super::position::Position;
use super::recover::{self, Tree};
use super::refusal::{Refusal, engine};
use super::survey::{Faults, Survey};
use super::{Options, opening};

/// Modules of one package: the walk over their imports calls itself for each.
const MOST_MODULES: usize = 256;

/// What a module of a package can be called.
const EXTENSIONS: [&str; 4] = [".js", ".ts", ".mjs", ".mts"];

/// A package that can be loaded.
#[derive(Debug, Clone)]
pub struct PreparedPackage {
    /// `program.js`, and the modules it links.
    pub modules: Vec<PackageModule>,
    /// What can be invoked, by name.
    pub exports: Vec<Export>,
    /// What its author should know.
    pub warnings: Vec<String>,
}

/// One file of a package's isolate.
#[derive(Debug, Clone)]
pub struct PackageModule {
    /// Its name in the isolate, which stacks show: `program.js`, or `package/` and the path.
    pub name: String,
    /// Its text.
    pub text: String,
    origin: Option<Origin>,
}

/// Where a module comes from; `program.js` comes from nowhere.
#[derive(Debug, Clone)]
struct Origin {
    path: String,
    source: String,
    map: Map,
}

/// An export of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Its name; `default` for the default export.
    pub name: String,
    /// Whether it is a function, as far as the form of the text tells.
    pub is_function: bool,
}

/// A package that cannot be run as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageRefusal {
    /// The module; empty when it is none of them alone.
    pub path: String,
    /// What is wrong with it.
    pub refusal: Refusal,
}

impl fmt::Display for PackageRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            self.refusal.fmt(f)
        } else {
            write!(f, "{}: {}", self.path, self.refusal)
        }
    }
}

impl std::error::Error for PackageRefusal {}

impl PreparedPackage {
    /// Where a position of the isolate's module `name`, as V8's stacks give them, is in the package.
    #[must_use]
    pub fn position(&self, name: &str, line: u32, column: u32) -> Option<(&str, Position)> {
        let module = self.modules.iter().find(|module| module.name == name)?;
        let origin = module.origin.as_ref()?;
        let at = Position { line, column };
        Some((&origin.path, origin.map.position(&module.text, &origin.source, at)?))
    }

    /// The refusal behind what the platform says when it cannot load the isolate; `None` when that
    /// is no syntax error.
    #[must_use]
    pub fn refusal_from_engine(&self, message: &str) -> Option<PackageRefusal> {
        let said = engine(message)?;
        let place = said.place.as_ref().and_then(|(name, at)| {
            let module = self.modules.iter().find(|module| module.name == *name)?;
            let origin = module.origin.as_ref()?;
            let at = origin.map.source(at.offset(&module.text)?)?;
            Some((origin, at))
        });
        Some(match place {
            Some((origin, at)) => PackageRefusal {
                path: origin.path.clone(),
                refusal: Refusal::at(&origin.source, at, said.what),
            },
            None => {
                PackageRefusal { path: String::new(), refusal: Refusal::without_place(said.what) }
            }
        })
    }
}

/// Makes modules of the package whose texts are `modules`, by path.
///
/// The entry, whose exports are the package's, is the only module, or `index` or `main` at the top
/// or in `src`.
///
/// # Errors
///
/// [`PackageRefusal`] for the first module, in the order of the paths, that cannot be run; for an
/// import of something that is not there; for modules that import each other in a circle.
pub fn prepare_package(
    modules: &BTreeMap<String, String>,
    options: &Options,
) -> Result<PreparedPackage, PackageRefusal> {
    let sources = sources(modules)?;
    let allocators: Vec<Allocator> = sources.iter().map(|_| Allocator::default()).collect();
    let entry = entry(&sources)?;
    let index: HashMap<&str, usize> =
        sources.iter().enumerate().map(|(number, (path, _))| (path.as_str(), number)).collect();
    let mut units = Vec::with_capacity(sources.len());
    for (allocator, (path, source)) in allocators.iter().zip(&sources) {
        units.push(Unit::read(allocator, path, source, &index, options)?);
    }
    let package = Package { units, options };
    let order = package.order(entry)?;
    package.check_imports()?;

    let mut written = vec![linker(&package.units, &order, entry)];
    for number in 0..package.units.len() {
        let module = package.write(number)?;
        if order.contains(&number) {
            written.push(module);
        }
    }
    let mut exports = Vec::new();
    for name in package.names(entry, &mut HashSet::new()) {
        if let Found::Value { is_function, .. } = package.find(entry, &name, &mut Vec::new()) {
            exports.push(Export { name, is_function });
        }
    }
    let warnings = (0..package.units.len())
        .filter(|number| !order.contains(number))
        .filter_map(|number| package.units.get(number))
        .map(|unit| format!("{} is not imported by the entry, and never runs.", unit.path))
        .collect();
    Ok(PreparedPackage { modules: written, exports, warnings })
}

fn refuse(path: &str, what: impl fmt::Display) -> PackageRefusal {
    PackageRefusal { path: path.to_owned(), refusal: Refusal::without_place(what) }
}

/// The modules, by paths without a leading `./`.
fn sources(modules: &BTreeMap<String, String>) -> Result<Vec<(String, &str)>, PackageRefusal> {
    if modules.is_empty() {
        return Err(refuse("", "a package needs at least one module"));
    }
    if modules.len() > MOST_MODULES {
        let message =
            format!("a package has at most {MOST_MODULES} modules; this one has {}", modules.len());
        return Err(refuse("", message));
    }
    let mut sources: Vec<(String, &str)> = Vec::with_capacity(modules.len());
    for (path, source) in modules {
        let name = path.strip_prefix("./").unwrap_or(path);
        let well_formed = name.split('/').all(|part| !matches!(part, "" | "." | ".."))
            && !name.contains(['\\', '"', '\'', '?', '#', '%', ':'])
            && !name.contains(char::is_control);
        if !well_formed || !EXTENSIONS.iter().any(|extension| name.ends_with(extension)) {
            return Err(refuse(
                path,
                "a module's name is a path in the package that ends with .js, .ts, .mjs or .mts",
            ));
        }
        if sources.iter().any(|(other, _)| other == name) {
            return Err(refuse(path, "two modules have this name"));
        }
        sources.push((name.to_owned(), source.strip_prefix('\u{feff}').unwrap_or(source)));
    }
    Ok(sources)
}

/// The number of the module whose exports are the package's.
fn entry(sources: &[(String, &str)]) -> Result<usize, PackageRefusal> {
    if sources.len() == 1 {
        return Ok(0);
    }
    for stem in ["index", "main", "src/index", "src/main"] {
        for extension in EXTENSIONS {
            let name = format!("{stem}{extension}");
            if let Some(number) = sources.iter().position(|(path, _)| *path == name) {
                return Ok(number);
            }
        }
    }
    Err(refuse(
        "",
        "a package of several modules needs an entry: call it index or main (.js, .ts, .mjs or .mts)",
    ))
}

/// What another module is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Module(usize),
    Runtime,
}

/// A name that a module imports.
#[derive(Debug)]
struct Import {
    from: From,
    /// `None`: the whole module.
    name: Option<String>,
    local: String,
    at: u32,
}

/// What an export stands for.
#[derive(Debug)]
enum Target {
    /// A binding of the module, read as this expression.
    Local { expression: String, is_function: bool, assigned: bool },
    /// An export of another.
    Other { from: From, name: String },
    /// All of another, as an object.
    Namespace(From),
    /// A type, which is gone when the program runs.
    Type,
}

/// What a name of a module leads to.
#[derive(Debug)]
enum Found {
    Value {
        /// Reads it in any module.
        access: Access,
        is_function: bool,
    },
    Type,
    Missing,
    /// Two `export *` give the name different meanings.
    Ambiguous,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Access {
    Export { module: usize, name: String, live: bool },
    Namespace(usize),
    Runtime(String),
    RuntimeNamespace,
}

/// An import or re-export, which has another module run first.
#[derive(Debug)]
struct Edge {
    module: usize,
    at: u32,
    /// The names that are imported: when all of them are types, the edge is none. Empty: it is one.
    names: Vec<String>,
}

/// A module of the package, read.
struct Unit<'a> {
    path: &'a str,
    source: &'a str,
    tree: Tree<'a>,
    survey: Survey<'a>,
    imports: Vec<Import>,
    exports: BTreeMap<String, Target>,
    /// Where each export of another module stands.
    places: HashMap<String, u32>,
    stars: Vec<From>,
    edges: Vec<Edge>,
    names: Names,
}

impl<'a> Unit<'a> {
    fn read(
        allocator: &'a Allocator,
        path: &'a str,
        source: &'a str,
        index: &HashMap<&str, usize>,
        options: &Options,
    ) -> Result<Self, PackageRefusal> {
        let refuse = |refusal| PackageRefusal { path: path.to_owned(), refusal };
        let recovered = recover::module(allocator, source).map_err(refuse)?;
        let mut unit = Self {
            path,
            source,
            tree: recovered.tree,
            survey: recovered.survey,
            imports: Vec::new(),
            exports: BTreeMap::new(),
            places: HashMap::new(),
            stars: Vec::new(),
            edges: Vec::new(),
            names: Names::fresh(std::iter::once(source)),
        };
        let mut faults = std::mem::take(&mut unit.survey.faults);
        let mut reader = Reader { path, index, ambient: options.ambient, faults: &mut faults };
        if let Tree::Program(program) = &unit.tree {
            let read = reader.read(program, &unit.survey, &unit.names);
            (unit.imports, unit.exports, unit.places) = (read.imports, read.exports, read.places);
            (unit.stars, unit.edges) = (read.stars, read.edges);
        }
        faults.check(source).map_err(refuse)?;
        Ok(unit)
    }

    fn refuse(&self, at: u32, what: impl fmt::Display) -> PackageRefusal {
        PackageRefusal {
            path: self.path.to_owned(),
            refusal: Refusal::at(self.source, offset(at), what),
        }
    }
}

/// What a module imports and exports.
#[derive(Default)]
struct Read {
    imports: Vec<Import>,
    exports: BTreeMap<String, Target>,
    places: HashMap<String, u32>,
    stars: Vec<From>,
    edges: Vec<Edge>,
}

/// Reads what a module imports and exports.
struct Reader<'r> {
    path: &'r str,
    index: &'r HashMap<&'r str, usize>,
    ambient: &'r [&'r str],
    faults: &'r mut Faults,
}

impl Reader<'_> {
    fn read(&mut self, program: &Program<'_>, survey: &Survey<'_>, names: &Names) -> Read {
        let mut read = Read::default();
        let mut values: HashMap<String, bool> = HashMap::new();
        let mut types: HashSet<String> = HashSet::new();
        for statement in &program.body {
            declared(statement, &mut values, &mut types);
            if !is_erased(statement) {
                self.import(statement, &mut read);
            }
        }
        for statement in &program.body {
            self.export(statement, survey, names, &values, &types, &mut read);
        }
        read
    }

    /// The module behind `specifier`.
    fn resolve(&mut self, specifier: &str, at: u32) -> Option<From> {
        if specifier == RUNTIME_MODULE {
            return Some(From::Runtime);
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
                return Some(From::Module(*number));
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

    fn import(&mut self, statement: &Statement<'_>, read: &mut Read) {
        match statement {
            Statement::ImportDeclaration(it) => {
                if it.phase.is_some() {
                    self.faults.add(it.span.start, "import with a phase is not supported");
                }
                let Some(from) = self.resolve(&it.source.value, it.span.start) else { return };
                let mut names = Vec::new();
                for specifier in it.specifiers.iter().flatten() {
                    let (name, local, at) = match specifier {
                        ImportDeclarationSpecifier::ImportSpecifier(it) => {
                            if it.import_kind.is_type() {
                                continue;
                            }
                            (Some(it.imported.name().to_string()), &it.local, it.span.start)
                        }
                        ImportDeclarationSpecifier::ImportDefaultSpecifier(it) => {
                            (Some("default".to_owned()), &it.local, it.span.start)
                        }
                        ImportDeclarationSpecifier::ImportNamespaceSpecifier(it) => {
                            (None, &it.local, it.span.start)
                        }
                    };
                    let name = match (from, name) {
                        // The runtime module stands for itself.
                        (From::Runtime, Some(name)) if name == "default" => None,
                        (From::Runtime, Some(name)) => {
                            self.runtime_name(&name, at);
                            Some(name)
                        }
                        (_, name) => name,
                    };
                    names.push(name.clone().unwrap_or_default());
                    read.imports.push(Import { from, name, local: local.name.to_string(), at });
                }
                if let From::Module(module) = from {
                    read.edges.push(Edge { module, at: it.span.start, names });
                }
            }
            Statement::ExportFromDeclaration(it) => {
                if let Some(From::Module(module)) = self.resolve(&it.source.value, it.span.start) {
                    let values = it.specifiers.iter().filter(|it| !it.export_kind.is_type());
                    let names = values.map(|it| it.local.name().to_string()).collect();
                    read.edges.push(Edge { module, at: it.span.start, names });
                }
            }
            Statement::ExportAllDeclaration(it) => {
                if let Some(From::Module(module)) = self.resolve(&it.source.value, it.span.start) {
                    read.edges.push(Edge { module, at: it.span.start, names: Vec::new() });
                }
            }
            _ => {}
        }
    }

    fn export(
        &mut self,
        statement: &Statement<'_>,
        survey: &Survey<'_>,
        names: &Names,
        values: &HashMap<String, bool>,
        types: &HashSet<String>,
        read: &mut Read,
    ) {
        let local = |name: &str| Target::Local {
            expression: name.to_owned(),
            is_function: values.get(name).copied().unwrap_or(false),
            assigned: survey.calls.is_assigned(name),
        };
        match statement {
            Statement::ExportDeclaration(it) => {
                let erased = is_erased(statement);
                let mut exported = HashMap::new();
                let mut gone = HashSet::new();
                declaration(&it.declaration, erased, &mut exported, &mut gone);
                for name in exported.into_keys() {
                    read.exports.insert(name.clone(), local(&name));
                }
                for name in gone {
                    read.exports.entry(name).or_insert(Target::Type);
                }
            }
            Statement::ExportNamedDeclaration(it) => {
                for specifier in &it.specifiers {
                    let name = specifier.local.name();
                    let imported = read.imports.iter().find(|import| import.local == name.as_str());
                    let target = if it.export_kind.is_type() || specifier.export_kind.is_type() {
                        Target::Type
                    } else if let Some(import) = imported {
                        match &import.name {
                            Some(name) => Target::Other { from: import.from, name: name.clone() },
                            None => Target::Namespace(import.from),
                        }
                    } else if values.contains_key(name.as_str()) {
                        local(name.as_str())
                    } else if types.contains(name.as_str()) {
                        Target::Type
                    } else {
                        self.faults.add(
                            specifier.span.start,
                            format!("export of `{name}`: the module has no such name"),
                        );
                        continue;
                    };
                    let exported = specifier.exported.name().to_string();
                    read.places.insert(exported.clone(), specifier.span.start);
                    read.exports.insert(exported, target);
                }
            }
            Statement::ExportFromDeclaration(it) => {
                if it.export_kind.is_type() {
                    for specifier in &it.specifiers {
                        read.exports.insert(specifier.exported.name().to_string(), Target::Type);
                    }
                    return;
                }
                let Some(from) = self.resolve(&it.source.value, it.span.start) else { return };
                for specifier in &it.specifiers {
                    let name = specifier.local.name().to_string();
                    let target = if specifier.export_kind.is_type() {
                        Target::Type
                    } else if from == From::Runtime {
                        self.runtime_name(&name, specifier.span.start);
                        Target::Other { from, name }
                    } else {
                        Target::Other { from, name }
                    };
                    let exported = specifier.exported.name().to_string();
                    read.places.insert(exported.clone(), specifier.span.start);
                    read.exports.insert(exported, target);
                }
            }
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
                let target = match &it.declaration {
                    ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => Target::Type,
                    ExportDefaultDeclarationKind::FunctionDeclaration(it) if it.body.is_none() => return,
                    ExportDefaultDeclarationKind::FunctionDeclaration(it) => {
                        let name = it.id.as_ref().map(|id| id.name.as_str());
                        Target::Local {
                            expression: name.map_or_else(|| names.default(), str::to_owned),
                            is_function: true,
                            assigned: name.is_some_and(|name| survey.calls.is_assigned(name)),
                        }
                    }
                    ExportDefaultDeclarationKind::ClassDeclaration(it) if let Some(id) = &it.id => {
                        local(id.name.as_str())
                    }
                    declaration => Target::Local {
                        expression: names.default(),
                        is_function: declaration.as_expression().is_some_and(|it| is_function(it)
                            || matches!(it, Expression::Identifier(it) if values.get(it.name.as_str()) == Some(&true))),
                        assigned: false,
                    },
                };
                read.exports.insert("default".to_owned(), target);
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
}

/// The names that a statement at the top declares: values, and whether each is a function; types.
fn declared(
    statement: &Statement<'_>,
    values: &mut HashMap<String, bool>,
    types: &mut HashSet<String>,
) {
    let erased = is_erased(statement);
    match statement {
        Statement::ExportDeclaration(it) => declaration(&it.declaration, erased, values, types),
        Statement::ExportDefaultDeclaration(it) => match &it.declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(it) => {
                if let Some(id) = it.id.as_ref().filter(|_| it.body.is_some()) {
                    values.insert(id.name.to_string(), true);
                }
            }
            ExportDefaultDeclarationKind::ClassDeclaration(it) => {
                if let Some(id) = &it.id {
                    values.insert(id.name.to_string(), false);
                }
            }
            ExportDefaultDeclarationKind::TSInterfaceDeclaration(it) => {
                types.insert(it.id.name.to_string());
            }
            _ => {}
        },
        Statement::ImportDeclaration(it) if erased => {
            for specifier in it.specifiers.iter().flatten() {
                types.insert(specifier.local().name.to_string());
            }
        }
        other => {
            if let Some(it) = other.as_declaration() {
                declaration(it, erased, values, types);
            }
        }
    }
}

fn declaration(
    it: &Declaration<'_>,
    erased: bool,
    values: &mut HashMap<String, bool>,
    types: &mut HashSet<String>,
) {
    let mut add = |name: &str, is_function: bool| {
        if erased {
            types.insert(name.to_owned());
        } else {
            values.insert(name.to_owned(), is_function);
        }
    };
    match it {
        Declaration::VariableDeclaration(it) => {
            for declarator in &it.declarations {
                let function = declarator.init.as_ref().is_some_and(is_function);
                bound(&declarator.id, &mut |name| add(name, function));
            }
        }
        Declaration::FunctionDeclaration(it) => {
            if let Some(id) = &it.id {
                // An overload is followed by what it describes.
                if it.body.is_some() || it.declare {
                    add(&id.name, true);
                }
            }
        }
        Declaration::ClassDeclaration(it) => {
            if let Some(id) = &it.id {
                add(&id.name, false);
            }
        }
        Declaration::TSEnumDeclaration(it) => add(&it.id.name, false),
        Declaration::TSTypeAliasDeclaration(it) => add(&it.id.name, false),
        Declaration::TSInterfaceDeclaration(it) => add(&it.id.name, false),
        Declaration::TSNamespaceDeclaration(it) => add(&it.id.name, false),
        Declaration::TSImportEqualsDeclaration(it) => add(&it.id.name, false),
        Declaration::TSExternalModuleDeclaration(_) | Declaration::TSGlobalDeclaration(_) => {}
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

struct Package<'a, 'o> {
    units: Vec<Unit<'a>>,
    options: &'o Options<'o>,
}

impl<'a> Package<'a, '_> {
    fn unit(&self, number: usize) -> Option<&Unit<'a>> {
        self.units.get(number)
    }

    /// What `name` leads to in a module. `seen` holds what is being looked up.
    fn find(&self, module: usize, name: &str, seen: &mut Vec<(usize, String)>) -> Found {
        let Some(unit) = self.unit(module) else { return Found::Missing };
        if seen.iter().any(|(at, other)| *at == module && other == name) {
            return Found::Missing;
        }
        seen.push((module, name.to_owned()));
        let found = match unit.exports.get(name) {
            Some(Target::Local { is_function, assigned, .. }) => Found::Value {
                access: Access::Export { module, name: name.to_owned(), live: *assigned },
                is_function: *is_function,
            },
            Some(Target::Other { from: From::Module(module), name }) => {
                self.find(*module, name, seen)
            }
            Some(Target::Other { from: From::Runtime, name }) => {
                Found::Value { access: Access::Runtime(name.clone()), is_function: false }
            }
            Some(Target::Namespace(from)) => Found::Value {
                access: match from {
                    From::Module(module) => Access::Namespace(*module),
                    From::Runtime => Access::RuntimeNamespace,
                },
                is_function: false,
            },
            Some(Target::Type) => Found::Type,
            None if name == "default" => Found::Missing,
            None => self.find_star(unit, name, seen),
        };
        seen.pop();
        found
    }

    fn find_star(&self, unit: &Unit<'_>, name: &str, seen: &mut Vec<(usize, String)>) -> Found {
        let mut first: Option<(Access, bool)> = None;
        let mut is_type = false;
        for from in &unit.stars {
            let found = match from {
                From::Module(module) => self.find(*module, name, seen),
                From::Runtime if self.options.ambient.contains(&name) => {
                    Found::Value { access: Access::Runtime(name.to_owned()), is_function: false }
                }
                From::Runtime => Found::Missing,
            };
            match found {
                Found::Value { access, is_function } => match &first {
                    Some((other, _)) if *other != access => return Found::Ambiguous,
                    _ => first = Some((access, is_function)),
                },
                Found::Ambiguous => return Found::Ambiguous,
                Found::Type => is_type = true,
                Found::Missing => {}
            }
        }
        match first {
            Some((access, is_function)) => Found::Value { access, is_function },
            None if is_type => Found::Type,
            None => Found::Missing,
        }
    }

    /// All names that a module may export.
    fn names(&self, module: usize, seen: &mut HashSet<usize>) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let Some(unit) = self.unit(module).filter(|_| seen.insert(module)) else { return names };
        names.extend(unit.exports.keys().cloned());
        for from in &unit.stars {
            match from {
                From::Module(module) => {
                    let mut others = self.names(*module, seen);
                    others.remove("default");
                    names.append(&mut others);
                }
                From::Runtime => {
                    names.extend(self.options.ambient.iter().map(|&name| name.to_owned()))
                }
            }
        }
        names
    }

    /// Refuses imports of what is not there.
    fn check_imports(&self) -> Result<(), PackageRefusal> {
        for (number, unit) in self.units.iter().enumerate() {
            let imports =
                unit.imports.iter().filter_map(|import| match (import.from, &import.name) {
                    (From::Module(module), Some(name)) => Some((module, name, import.at)),
                    _ => None,
                });
            let exports = unit.exports.iter().filter_map(|(exported, target)| match target {
                Target::Other { from: From::Module(module), name } => {
                    Some((*module, name, unit.places.get(exported).copied().unwrap_or(0)))
                }
                _ => None,
            });
            let mut asked: Vec<_> = imports.chain(exports).collect();
            asked.sort_by_key(|(_, _, at)| *at);
            for (module, name, at) in asked {
                let path = self.unit(module).map_or("", |unit| unit.path);
                match self.find(module, name, &mut Vec::new()) {
                    Found::Value { .. } | Found::Type => {}
                    Found::Ambiguous => {
                        return Err(unit.refuse(
                            at,
                            format!("import of `{name}`: \"{path}\" has it from two modules"),
                        ));
                    }
                    Found::Missing => {
                        let has: Vec<String> =
                            self.names(module, &mut HashSet::new()).into_iter().collect();
                        let has =
                            if has.is_empty() { "nothing".to_owned() } else { has.join(", ") };
                        return Err(unit.refuse(
                            at,
                            format!("import of `{name}`: \"{path}\" has no such export; it exports {has}"),
                        ));
                    }
                }
            }
            debug_assert!(number < self.units.len());
        }
        Ok(())
    }

    /// The modules that an edge leads to when the program runs.
    fn runs(&self, edge: &Edge) -> bool {
        edge.names.is_empty()
            || edge.names.iter().any(|name| {
                name.is_empty()
                    || !matches!(self.find(edge.module, name, &mut Vec::new()), Found::Type)
            })
    }

    /// The modules that the entry needs, each after those it imports. Circles are refused among all.
    fn order(&self, entry: usize) -> Result<Vec<usize>, PackageRefusal> {
        let mut order = Vec::new();
        let mut state = vec![Visit::New; self.units.len()];
        self.visit(entry, &mut state, &mut Vec::new(), &mut order)?;
        let needed = order.clone();
        for number in 0..self.units.len() {
            self.visit(number, &mut state, &mut Vec::new(), &mut order)?;
        }
        Ok(needed)
    }

    fn visit(
        &self,
        number: usize,
        state: &mut Vec<Visit>,
        path: &mut Vec<usize>,
        order: &mut Vec<usize>,
    ) -> Result<(), PackageRefusal> {
        let (Some(unit), Some(Visit::New)) = (self.unit(number), state.get(number).copied()) else {
            return Ok(());
        };
        if let Some(state) = state.get_mut(number) {
            *state = Visit::Open;
        }
        path.push(number);
        for edge in unit.edges.iter().filter(|edge| self.runs(edge)) {
            if state.get(edge.module) == Some(&Visit::Open) {
                let circle = path.iter().skip_while(|at| **at != edge.module).chain([&edge.module]);
                let names: Vec<&str> =
                    circle.filter_map(|at| self.unit(*at)).map(|unit| unit.path).collect();
                return Err(unit.refuse(
                    edge.at,
                    format!(
                        "import in a circle: {}; move what both need into a module of its own",
                        names.join(" → ")
                    ),
                ));
            }
            self.visit(edge.module, state, path, order)?;
        }
        path.pop();
        if let Some(state) = state.get_mut(number) {
            *state = Visit::Done;
        }
        order.push(number);
        Ok(())
    }

    /// Reads what a name stands for, inside of the module of `names`.
    fn read(names: &Names, access: &Access) -> String {
        let (modules, runtime) = (names.modules(), names.runtime());
        match access {
            Access::Export { module, name, .. } => {
                format!("{modules}[{module}].n[{}]", quoted(name))
            }
            Access::Namespace(module) => format!("{modules}[{module}].n"),
            Access::Runtime(name) => format!("{runtime}.{name}"),
            Access::RuntimeNamespace => format!("{{__proto__:null,...{runtime}}}"),
        }
    }

    /// The constants that a module's imports become.
    fn bindings(&self, unit: &Unit<'_>) -> String {
        let names = &unit.names;
        let mut out = String::new();
        for import in &unit.imports {
            let access = match (import.from, &import.name) {
                (From::Runtime, Some(name)) => Access::Runtime(name.clone()),
                (From::Runtime, None) => Access::RuntimeNamespace,
                (From::Module(module), None) => Access::Namespace(module),
                (From::Module(module), Some(name)) => {
                    match self.find(module, name, &mut Vec::new()) {
                        Found::Value { access, .. } => access,
                        _ => continue,
                    }
                }
            };
            let (local, read) = (&import.local, Self::read(names, &access));
            if let Access::Export { module, name, live: true } = &access {
                let (modules, value) = (names.modules(), names.value());
                let _ = write!(
                    out,
                    "let {local}={read};{modules}[{module}].s[{}].push({value}=>{{{local}={value}}});",
                    quoted(name)
                );
            } else {
                let _ = write!(out, "const {local}={read};");
            }
        }
        out
    }

    /// Makes a module's text.
    fn write(&self, number: usize) -> Result<PackageModule, PackageRefusal> {
        let Some(unit) = self.unit(number) else { return Err(refuse("", "no such module")) };
        let names = &unit.names;
        let texts = Texts::new(names);
        let mut faults = Faults::default();
        let mut edits = Edits::default();
        if let Tree::Program(program) = &unit.tree {
            let mut context = Context {
                names,
                ambient: self.options.ambient,
                edits: &mut edits,
                faults: &mut faults,
            };
            context.module(program);
        }
        let live: Vec<(&String, &String)> = unit
            .exports
            .iter()
            .filter_map(|(name, target)| match target {
                Target::Local { expression, assigned: true, .. } => Some((name, expression)),
                _ => None,
            })
            .collect();
        let (told, tell, value) = (names.told(), names.tell(), names.value());
        if !live.is_empty() {
            let locals = live.iter().map(|(_, local)| local.as_str()).collect();
            unit.tree.visit(&mut Live::new(&mut edits, locals, &tell));
        }
        unit.tree.visit(&mut Erase::new(unit.source, &mut edits, &mut faults));
        if self.options.guard {
            unit.tree.visit(&mut Guard::new(unit.source, &mut edits, &texts, &unit.survey.calls));
        }
        faults
            .check(unit.source)
            .map_err(|refusal| PackageRefusal { path: unit.path.to_owned(), refusal })?;

        let mut before = opening(names, self.options, Some(&names.modules()));
        before.push_str(&self.bindings(unit));
        let mut setters = "undefined".to_owned();
        if !live.is_empty() {
            let each = names.each();
            let lists: Vec<String> =
                live.iter().map(|(name, _)| format!("{}:[]", quoted(name))).collect();
            let _ = write!(
                before,
                "const {told}={{__proto__:null,{}}},{tell}={value}=>{{",
                lists.join(",")
            );
            for (name, local) in &live {
                let _ =
                    write!(before, "for(const {each} of {told}[{}]){each}({local});", quoted(name));
            }
            let _ = write!(before, "return {value}}};");
            setters = told;
        }
        let mut getters = String::new();
        for name in self.names(number, &mut HashSet::new()) {
            let read = match (unit.exports.get(&name), self.find(number, &name, &mut Vec::new())) {
                (Some(Target::Local { expression, .. }), _) => expression.clone(),
                (_, Found::Value { access, .. }) => Self::read(names, &access),
                _ => continue,
            };
            let _ = write!(getters, ",get {}(){{return {read}}}", quoted(&name));
        }
        let after = format!("\nreturn{{n:{{__proto__:null{getters}}},s:{setters}}}}}}}");
        let (text, map) = edits.apply(unit.source, &before, &after);
        let origin = Origin { path: unit.path.to_owned(), source: unit.source.to_owned(), map };
        Ok(PackageModule { name: name(unit.path), text, origin: Some(origin) })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    Open,
    Done,
}

/// What a module is called in the isolate. The platform takes text under names in `.js` only.
fn name(path: &str) -> String {
    let suffix = if path.ends_with(".js") { "" } else { ".js" };
    format!("package/{path}{suffix}")
}

/// A name as text of JavaScript.
fn quoted(name: &str) -> String {
    // What JSON escapes, JavaScript reads the same.
    serde_json::Value::from(name).to_string()
}

/// `program.js`: runs the modules and gives an export.
fn linker(units: &[Unit<'_>], order: &[usize], entry: usize) -> PackageModule {
    let mut text = String::new();
    let mut runs = String::new();
    for number in order {
        let Some(unit) = units.get(*number) else { continue };
        let _ = write!(text, "import f{number} from{};", quoted(&format!("./{}", name(unit.path))));
        let _ = write!(runs, "m[{number}]=await f{number}(guard,runtime,m)();");
    }
    let _ = write!(
        text,
        "\nexport default (guard,runtime)=>async(name)=>{{const m=[];{runs}\
         const value=m[{entry}].n[name??\"default\"];\
         return typeof value===\"function\"?value(runtime.params):value}}\n"
    );
    PackageModule { name: "program.js".to_owned(), text, origin: None }
}
