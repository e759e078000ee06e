//! The overview of what moderators and admins can manage.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use http::{Method, StatusCode};
use lodge_domain::accounts::Role;

use super::{
    Staff,
    sections::{Entry, Section},
};
use crate::{context::SiteContext, error::HttpResult, pages, routes::Routes};

#[derive(Template)]
#[template(path = "admin/overview.html")]
struct OverviewPage<'a> {
    sections: &'a [Section],
    role: Role,
}

impl OverviewPage<'_> {
    /// Iterates over the pages of a section that the role may open.
    fn entries(&self, section: &Section) -> impl Iterator<Item = &'static Entry> + use<> {
        let role = self.role;
        section.entries.iter().filter(move |entry| entry.least <= role)
    }
}

/// The route of the overview, on sites with accounts.
pub(crate) fn routes() -> Routes<Arc<SiteContext>> {
    Routes::default().on(Method::GET, "/admin", show)
}

/// `GET /admin`.
async fn show(State(site): State<Arc<SiteContext>>, Staff(me): Staff) -> HttpResult {
    let page = OverviewPage { sections: &site.admin, role: me.role };
    pages::page(&site, StatusCode::OK, &page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{accounts, board, links, pages::check, rides};

    #[test]
    fn the_overview_shows_only_what_the_role_may_open() {
        let sections = [accounts::ADMIN, links::ADMIN, board::ADMIN, rides::ADMIN];
        let shown = |role| {
            let html = check::rendered(&OverviewPage { sections: &sections, role });
            ["/admin/accounts", "/board/-/reports", "/admin/keys", "/admin/webhooks"]
                .map(|path| html.contains(&format!("href=\"{path}\"")))
        };
        assert_eq!(shown(Role::Admin), [true; 4]);
        assert_eq!(shown(Role::Moderator), [true, true, false, false]);
    }
}
