//! Cookies of single links.

use axum::response::Response;
use http::{HeaderMap, header};
use lodge_domain::links::Short;

use crate::{
    cookies::{self, Cookie},
    error::Problem,
    request::RequestContext,
};

/// The cookies of one kind that a browser keeps. Cookies with the prefix `__Host-` are sent to all pages, and the head of
/// a request is limited.
const OF_A_KIND_MAX: usize = 20;

/// A kind of cookie, by the beginning of its name. The name ends in the short name of the link.
pub(super) struct LinkCookie(pub(super) &'static str);

impl LinkCookie {
    /// Returns the cookie of a link that the browser sent.
    pub(super) fn read<'a>(&self, asked: &'a RequestContext, short: &Short) -> Option<&'a str> {
        cookies::read(&asked.headers, &self.name(short, asked.over_tls()))
    }

    /// Sets the cookie of a link, and removes the oldest ones past the limit.
    pub(super) fn set(
        &self,
        asked: &RequestContext,
        short: &Short,
        (value, max_age_seconds): (&str, i64),
        response: &mut Response,
    ) -> Result<(), Problem> {
        let name = self.name(short, asked.over_tls());
        for old in self.surplus(&asked.headers, asked.over_tls(), &name) {
            put(asked, old, ("", 0), response)?;
        }
        put(asked, &name, (value, max_age_seconds), response)
    }

    /// Removes the cookie of a link.
    pub(super) fn remove(
        &self,
        asked: &RequestContext,
        short: &Short,
        response: &mut Response,
    ) -> Result<(), Problem> {
        put(asked, &self.name(short, asked.over_tls()), ("", 0), response)
    }

    fn name(&self, short: &Short, secure: bool) -> String {
        format!("{}{short}", self.beginning(secure))
    }

    fn beginning(&self, secure: bool) -> String {
        format!("{}{}_", if secure { "__Host-" } else { "" }, self.0)
    }

    /// Returns the names of the cookies that must go when this one is set. Browsers send older cookies first (RFC 6265,
    /// section 5.4).
    fn surplus<'a>(&self, headers: &'a HeaderMap, secure: bool, name: &str) -> Vec<&'a str> {
        let beginning = self.beginning(secure);
        let others = cookies::pairs(headers).map(|(other, _)| other);
        let mut others: Vec<&str> =
            others.filter(|other| other.starts_with(&beginning) && *other != name).collect();
        others.truncate((others.len() + 1).saturating_sub(OF_A_KIND_MAX));
        others
    }
}

fn put(
    asked: &RequestContext,
    name: &str,
    (value, max_age_seconds): (&str, i64),
    response: &mut Response,
) -> Result<(), Problem> {
    let cookie = Cookie { name, value, same_site: "Strict", max_age_seconds };
    response.headers_mut().append(header::SET_COOKIE, cookie.header(asked.over_tls())?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const KIND: LinkCookie = LinkCookie("lodge_manage");

    #[test]
    fn a_browser_keeps_the_newest_twenty_cookies_of_a_kind() {
        let mut headers = HeaderMap::new();
        let surplus = |headers: &HeaderMap, short: &str| -> Vec<String> {
            let name = KIND.name(&Short::parse(short).unwrap(), true);
            KIND.surplus(headers, true, &name).into_iter().map(str::to_owned).collect()
        };
        let sent: Vec<String> =
            (0..22).map(|number| format!("__Host-lodge_manage_s{number}=k")).collect();
        let others = "__Host-lodge_notice_s0=created; lodge_manage_s0=k; __Host-lodge_session=x";
        headers.insert(header::COOKIE, HeaderValue::try_from(others).unwrap());
        assert_eq!(surplus(&headers, "made"), [""; 0]);
        headers.append(header::COOKIE, HeaderValue::try_from(sent[..19].join("; ")).unwrap());
        assert_eq!(surplus(&headers, "made"), [""; 0]);
        headers.append(header::COOKIE, HeaderValue::try_from(sent[19..].join("; ")).unwrap());
        let oldest = ["s0", "s1", "s2"].map(|short| format!("__Host-lodge_manage_{short}"));
        assert_eq!(surplus(&headers, "made"), oldest);
        assert_eq!(surplus(&headers, "s21"), oldest[..2], "this one is replaced");
    }
}
