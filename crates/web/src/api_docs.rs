//! The description of the API: one `OpenAPI` document, served as JSON and as an HTML page.

mod examples;
pub(crate) mod outline;
mod schemas;

use std::{collections::BTreeMap, sync::Arc};

use askama::Template;
use axum::{
    Json,
    extract::{FromRef, State},
    response::{IntoResponse, Response},
};
use http::{Method, StatusCode};
use lodge_domain::Error;
use quick_cache::sync::Cache;
use serde_json::Value;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Components, Content, InfoBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, Response as Answer,
        Schema, ServerBuilder,
        path::Parameter,
        schema::{SchemaType, Type},
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

use self::{
    outline::{App, keys, keys_used, prose, statuses},
    schemas::{Entry, Schemas},
};
use crate::{
    context::SiteContext,
    error::{HttpResult, ProblemDetails},
    pages::{self, Navigation, Page},
    request::RequestContext,
    routes::{Routes, operations},
};

pub(crate) fn routes() -> Routes<ApiDocs> {
    Routes::default().on(Method::GET, "/api/openapi.json", openapi).on(
        Method::GET,
        "/api/docs",
        docs,
    )
}

/// The state of both routes.
#[derive(Clone)]
pub(crate) struct ApiDocs {
    site: Arc<SiteContext>,
    /// The document without `servers`, which depend on the request.
    document: Arc<OpenApi>,
    /// The rendered page by base URL. A page never changes but for its header, so each is rendered once.
    pages: Arc<Cache<String, Page>>,
}

/// Base URLs whose page is cached.
const PAGES_MAX: usize = 16;

impl ApiDocs {
    /// Merges the documents of the apps.
    pub(crate) fn new(site: Arc<SiteContext>, parts: impl IntoIterator<Item = OpenApi>) -> Self {
        let pages = Arc::new(Cache::new(PAGES_MAX));
        Self { site, document: Arc::new(whole(parts)), pages }
    }
}

impl FromRef<ApiDocs> for Arc<SiteContext> {
    fn from_ref(docs: &ApiDocs) -> Self {
        Self::clone(&docs.site)
    }
}

/// The security schemes: name and description.
const KEYS: [(&str, &str); 5] = [
    ("api_key", "An API key: `lodge_…`, created with `lodge admin key`."),
    (
        "manage_key",
        "The manage key of a link without an owner: `manage_…`, returned when the link is created.",
    ),
    ("gate", "A gate's key: `lodge_gate_…`, created with `lodge admin gate`."),
    ("bot", "A bot's key: `lodge_bot_…`, created with `lodge admin bot`."),
    ("session", "A session token: `session_…`, returned by a sign-in."),
];

fn whole(parts: impl IntoIterator<Item = OpenApi>) -> OpenApi {
    let info = InfoBuilder::new()
        .title("Lodge")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("The HTTP API of this Lodge server."));
    let mut document = OpenApiBuilder::new().info(info.build()).build();
    for part in parts {
        document.merge(part);
    }
    let has_problems = complete(&mut document);
    let described = serde_json::to_value(&document).unwrap_or_default();
    let used = keys_used(&described);
    let components = document.components.get_or_insert_with(Components::new);
    if has_problems {
        components.schemas.insert(ProblemDetails::name().into(), ProblemDetails::schema());
    }
    for (name, description) in KEYS.into_iter().filter(|(name, _)| used.contains(name)) {
        components.add_security_scheme(name, bearer(description));
    }
    document
}

/// Completes every operation: a response without a description gets the reason phrase of its status, an error without
/// a body gets problem details, and an optional parameter loses its null type. Returns whether there are problem
/// details.
fn complete(document: &mut OpenApi) -> bool {
    let mut has_problems = false;
    for operation in operations(document) {
        for (status, response) in &mut operation.responses.responses {
            if let RefOr::T(response) = response {
                has_problems |= complete_response(status, response);
            }
        }
        for parameter in operation.parameters.iter_mut().flatten() {
            if let RefOr::T(Parameter { schema: Some(RefOr::T(Schema::Object(object))), .. }) =
                parameter
                && let SchemaType::Array(types) = &mut object.schema_type
            {
                types.retain(|kind| *kind != Type::Null);
            }
        }
    }
    has_problems
}

/// Returns whether the response is an error that gets problem details.
fn complete_response(status: &str, response: &mut Answer) -> bool {
    if response.description.is_empty() {
        let status = status.parse::<StatusCode>().ok();
        let words = status.and_then(|status| status.canonical_reason());
        words.unwrap_or("A response").clone_into(&mut response.description);
    }
    let is_problem = status >= "400" && response.content.is_empty();
    if is_problem {
        let problem = Content::new(Some(Ref::from_schema_name(ProblemDetails::name())));
        response.content.insert("application/problem+json".to_owned(), problem.into());
    }
    is_problem
}

fn bearer(description: &str) -> SecurityScheme {
    SecurityScheme::Http(
        HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(description)).build(),
    )
}

/// `GET /api/openapi.json`.
async fn openapi(State(docs): State<ApiDocs>, asked: RequestContext) -> Response {
    let mut document = (*docs.document).clone();
    document.servers = Some(vec![ServerBuilder::new().url(asked.base_url).build()]);
    Json(document).into_response()
}

#[derive(Template)]
#[template(path = "api_docs.html")]
struct DocsPage<'a> {
    base_url: &'a str,
    apps: &'a Navigation,
    /// The descriptions of the keys that the document uses.
    keys: Vec<String>,
    /// The reason phrases and meanings of the statuses that the document uses.
    statuses: BTreeMap<&'a str, (&'static str, &'static str)>,
    sections: Vec<App>,
    schemas: Vec<Entry>,
}

impl<'a> DocsPage<'a> {
    fn of(document: &'a Value, apps: &'a Navigation, base_url: &'a str) -> Self {
        let schemas = Schemas::of(document);
        let sections = outline::apps(document, &schemas, base_url);
        let (keys, statuses, schemas) = (keys(document), statuses(document), schemas.entries());
        Self { base_url, apps, keys, statuses, sections, schemas }
    }
}

/// `GET /api/docs`.
async fn docs(State(docs): State<ApiDocs>, asked: RequestContext) -> HttpResult {
    let base_url = asked.base_url;
    if let Some(page) = docs.pages.get(&base_url) {
        return Ok(page.into_response());
    }
    let document = serde_json::to_value(&*docs.document).map_err(Error::internal)?;
    let page = DocsPage::of(&document, &docs.site.navigation, &base_url);
    let page = Page::new(&pages::rendered(&page, &docs.site.navigation)?);
    docs.pages.insert(base_url, page.clone());
    Ok(page.into_response())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::pages::check;

    #[test]
    fn the_page_lists_every_operation() {
        let document = serde_json::to_value(whole(crate::site::documents())).unwrap();
        let page = DocsPage::of(&document, &check::EVERYTHING, "https://go.example");
        let html = pages::rendered(&page, &check::EVERYTHING).unwrap();
        check::sound_within(&html, 190_000);
        let paths = document["paths"].as_object().unwrap();
        let operations: usize =
            paths.values().map(|methods| methods.as_object().unwrap().len()).sum();
        assert_eq!(html.matches("<details class=\"fold op\">").count(), operations);
        assert!(html.contains("https://go.example/api/links") && html.contains("PUT"));
    }

    #[test]
    fn a_schema_name_stands_for_one_schema() {
        let mut known = serde_json::Map::new();
        for document in crate::site::documents() {
            let document = serde_json::to_value(document).unwrap();
            let Some(schemas) = document["components"]["schemas"].as_object() else { continue };
            for (name, schema) in schemas {
                let other = known.insert(name.clone(), schema.clone());
                assert!(
                    other.is_none_or(|other| other == *schema),
                    "two schemas are called {name}"
                );
            }
        }
        assert!(known.len() > 20);
    }

    #[test]
    fn the_introduction_covers_only_the_enabled_apps() {
        let rides = Navigation(vec![crate::rides::MENU]);
        let of = |documents: Vec<OpenApi>, apps: &Navigation| {
            let document = serde_json::to_value(whole(documents)).unwrap();
            let page = DocsPage::of(&document, apps, "https://go.example");
            let html = pages::rendered(&page, apps).unwrap();
            html.split_once("</section>").unwrap().0.to_owned()
        };
        let alone = of(vec![crate::rides::routes().document()], &rides);
        for word in ["<code>lodge_gate_…</code>", "<code>message</code>", "keys of rides"] {
            assert!(alone.contains(word), "no {word} in {alone}");
        }
        for word in ["manage_", "session_", "admin key", "problem+json", "short", "bulk"] {
            assert!(!alone.contains(word), "{word} in {alone}");
        }
        let links = Navigation(vec![crate::links::MENU]);
        let links = of(vec![crate::links::routes().document()], &links);
        for word in ["gate", "ride"] {
            assert!(!links.contains(word), "{word} in {links}");
        }
        let all = of(crate::site::documents().into(), &check::EVERYTHING);
        for word in
            ["lodge_gate_…", "manage_…", "session_…", "problem+json", "message", "keys of rides"]
        {
            assert!(all.contains(word), "no {word} in {all}");
        }
    }

    #[test]
    fn the_page_shows_parameters_bodies_and_responses() {
        let document = serde_json::to_value(whole([crate::rides::routes().document()])).unwrap();
        let page = DocsPage::of(&document, &check::EVERYTHING, "https://go.example");
        let html = pages::rendered(&page, &check::EVERYTHING).unwrap();
        for part in [
            "or a range of days; such as <code>1-10</code>",
            "to group by: <code>season</code>, <code>resort</code>, <code>day</code>, <code>hour</code>",
            "<code>sums</code> if stored sums answered the query, else <code>rides</code>: every",
            "<code>groups[].seasonID</code>",
            "<code>leaders[].rank</code>",
            "<code>resorts[].lifts[].vertical</code>",
            "<code>since_start.in_flight</code>",
            "<code>void</code> string</dt>",
            "<code>line</code> integer, required</dt>",
            "--data-binary @-",
            "{&#34;void&#34;:&#34;gate-4-16&#34;}\nEND",
            "&#34;rank&#34;: 1",
            "<a href=\"#schema-ResponseMsg\">",
            "/<wbr>resorts/<wbr>{resortID}/<wbr>seasons<wbr>",
        ] {
            assert!(html.contains(part), "no {part} in {html}");
        }
        assert!(!html.contains('`'), "unrendered backticks");
    }

    #[test]
    fn every_operation_has_a_short_summary_and_complete_examples() {
        let document = serde_json::to_value(whole(crate::site::documents())).unwrap();
        let page = DocsPage::of(&document, &check::EVERYTHING, "https://go.example");
        let groups = page.sections.iter().flat_map(|app| &app.groups);
        for operation in groups.flat_map(|group| &group.operations) {
            let title = &operation.title;
            assert!((5..=60).contains(&title.len()) && !title.contains(['`', '.']), "{title}");
            let shown = format!("{}\n{:?}", operation.curl, operation.example);
            assert!(!shown.contains("\"…\""), "an example has no value: {shown}");
            let url = operation.curl.split('\'').nth(1).unwrap();
            assert!(!url.contains('{'), "no example for a part of {url}");
        }
        for (status, (reason, meaning)) in &page.statuses {
            assert!(!reason.is_empty() && !meaning.is_empty(), "{status} has no meaning");
        }
    }

    #[test]
    fn a_schema_of_several_operations_is_shown_once_and_linked() {
        let document = serde_json::to_value(whole(crate::site::documents())).unwrap();
        let page = DocsPage::of(&document, &check::EVERYTHING, "https://go.example");
        let html = pages::rendered(&page, &check::EVERYTHING).unwrap();
        assert_eq!(html.matches("<code>short_url</code>").count(), 1, "fields of LinkJson");
        let ids: HashSet<_> = html.split(" id=\"").skip(1).map(until_quote).collect();
        for link in html.split("href=\"#").skip(1).map(until_quote) {
            assert!(ids.contains(link), "{link} leads nowhere");
        }
    }

    fn until_quote(rest: &str) -> &str {
        rest.split('"').next().unwrap()
    }

    #[test]
    fn the_document_has_unique_operations_and_no_broken_references() {
        let document = serde_json::to_value(whole(crate::site::documents())).unwrap();
        let methods = document["paths"].as_object().unwrap().values();
        let operations: Vec<_> =
            methods.flat_map(|methods| methods.as_object().unwrap().values()).collect();
        let ids: HashSet<_> =
            operations.iter().map(|operation| &operation["operationId"]).collect();
        assert_eq!(ids.len(), operations.len(), "operation ids are unique");
        for operation in operations {
            for (status, answer) in operation["responses"].as_object().unwrap() {
                assert!(answer["description"].is_string(), "{status} of {operation}");
            }
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                assert!(!parameter["schema"].to_string().contains("null"), "{parameter}");
            }
        }
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#").skip(1) {
            let path = reference.split('"').next().unwrap();
            assert!(document.pointer(path).is_some(), "{path}");
        }
    }

    #[test]
    fn every_route_of_the_api_is_described() {
        let document = serde_json::to_value(whole(crate::site::documents())).unwrap();
        // The last is an alias of a described path.
        let undescribed = [
            "/api/docs",
            "/api/openapi.json",
            "/resorts/{resortID}/seasons/{seasonID}/days/{dayID}/skiers",
        ];
        for (method, path) in crate::site::routes()
            .into_iter()
            .filter(|(_, path)| path.starts_with("/api/") || crate::rides::owns(path))
            .filter(|(_, path)| !undescribed.contains(&path.as_str()))
        {
            let method = method.as_str().to_lowercase();
            assert!(document["paths"][&path][&method].is_object(), "{method} {path}");
        }
    }
}
