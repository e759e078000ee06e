//! The check at the end of a row: every acknowledged account, change, ban and picture, and every ended session.

use std::{
    net::SocketAddr,
    thread::{self, ScopedJoinHandle},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use lodge_testbed::{Cluster, Kind, Member, wait_until};

use super::{
    acknowledged::{Acknowledged, EndedSession, Person, Session},
    pictures::{picture_of, smaller},
    requests::{ask_me, ask_sign_in},
};
use crate::{
    faults::workload::{Loss, SharedState},
    http::Answer,
};

/// Concurrent clients.
const CLIENTS: usize = 4;

/// How long the nodes may take to have the same data.
const EQUAL: Duration = Duration::from_secs(30);

/// Tries of a request.
const TRIES: usize = 20;

/// Counts what is lost: accounts that cannot sign in, or do not look as acknowledged, bans, pictures, and ends of
/// sessions.
pub(super) fn check(
    common: &SharedState,
    acknowledged: &Acknowledged,
    cluster: &Cluster,
) -> Result<Loss> {
    wait_until("equal data on all Galera nodes", EQUAL, || are_equal(cluster))?;
    let webs: Vec<SocketAddr> = common.webs().map(|route| route.address).collect();
    let people: Vec<_> =
        acknowledged.people.take().into_iter().zip(webs.iter().copied().cycle()).collect();
    let lost = count(&people, |(person, web)| is_lost(common, *web, person))?;
    let ended: Vec<_> = acknowledged.ended.take();
    let accepted = count(&ended, |ended| is_accepted(common, &webs, ended))?;
    let sessions: Vec<_> =
        acknowledged.sessions.take().into_iter().zip(webs.iter().copied().cycle()).collect();
    let ended_early = count(&sessions, |(session, web)| is_not_stored(common, *web, session))?;
    Ok(Loss { lost: lost + accepted + ended_early, duplicated: 0 })
}

/// Whether all Galera nodes have the same accounts and sessions.
fn are_equal(cluster: &Cluster) -> bool {
    let sums: Vec<Option<String>> = Member::of(Kind::Galera)
        .map(|node| cluster.answer_of(node, "CHECKSUM TABLE lodge.accounts, lodge.sessions"))
        .collect();
    sums.iter().all(|sum| sum.is_some() && *sum == sums[0])
}

/// Whether an acknowledged session is not among those that the store lists, whatever a cache says.
fn is_not_stored(common: &SharedState, web: SocketAddr, session: &Session) -> Result<bool> {
    let bearer = format!("Bearer {}", session.token);
    let headers = [("Authorization", bearer.as_str())];
    let ask = || common.http.send_with("GET", web, "/api/me/sessions", &headers, None);
    let answer = answered(&session.username, ask)?;
    let is_stored = answer.status == 200 && answer.body.contains("\"current\":true");
    if !is_stored {
        println!("   lost: a session of {}, {web} answers {answer:?}", session.username);
    }
    Ok(!is_stored)
}

/// Counts the items of which `holds` is true.
fn count<T: Sync>(items: &[T], holds: impl Fn(&T) -> Result<bool> + Sync) -> Result<u64> {
    let holds = &holds;
    let of_share = move |share: &[T]| share.iter().map(|item| Ok(u64::from(holds(item)?))).sum();
    let share = items.len().div_ceil(CLIENTS).max(1);
    thread::scope(|scope| {
        let shares = items.chunks(share).map(|share| scope.spawn(move || of_share(share)));
        let shares: Vec<ScopedJoinHandle<'_, Result<u64>>> = shares.collect();
        shares.into_iter().map(|share| share.join().ok().context("a check panicked")?).sum()
    })
}

/// Asks until there is an answer.
fn answered(what: &str, ask: impl Fn() -> Option<Answer>) -> Result<Answer> {
    for _ in 0..TRIES {
        match ask() {
            Some(answer) if answer.status < 500 => return Ok(answer),
            _ => thread::sleep(Duration::from_millis(200)),
        }
    }
    bail!("no answer about {what}")
}

fn is_lost(common: &SharedState, web: SocketAddr, person: &Person) -> Result<bool> {
    let what = loss(common, web, person)?;
    if let Some(what) = &what {
        println!("   lost: {what} of {person:?}");
    }
    Ok(what.is_some())
}

/// Returns what is lost of an account.
fn loss(common: &SharedState, web: SocketAddr, person: &Person) -> Result<Option<String>> {
    let (http, name) = (&common.http, &person.username);
    let session = answered(name, || ask_sign_in(http, web, person))?;
    let is_banned = session.status == 403;
    if person.is_banned.is_some_and(|banned| banned != is_banned) {
        return Ok(Some(format!("the ban: signing in answers {}", session.status)));
    }
    if is_banned {
        return Ok(None);
    }
    let Some(token) = session.text("token") else {
        return Ok(Some(format!("the account: signing in answers {}", session.status)));
    };
    let me = answered(name, || ask_me(http, web, &token))?;
    let nickname = me.text("nickname").unwrap_or_default();
    if !person.nicknames.contains(&nickname) {
        return Ok(Some(format!("the nickname: it is {nickname:?}")));
    }
    let found = picture_of(&me.body);
    let is_new = person.may_have_another && !found.is_empty();
    if !person.pictures.contains(&found) && !is_new {
        return Ok(Some(format!("the picture: it is {found:?}")));
    }
    if found.is_empty() {
        return Ok(None);
    }
    for path in [found.clone(), smaller(&found)] {
        let picture = answered(&path, || http.send("GET", web, &path))?;
        if picture.status != 200 || !picture.is_jpeg {
            return Ok(Some(format!("the picture: {path} answers {}", picture.status)));
        }
    }
    Ok(None)
}

/// Whether a web process accepts a session that has ended.
fn is_accepted(common: &SharedState, webs: &[SocketAddr], ended: &EndedSession) -> Result<bool> {
    for web in webs {
        let answer = answered("a session", || ask_me(&common.http, *web, &ended.token))?;
        if answer.status != 401 {
            println!("   {web} answers {} to a session that has ended", answer.status);
            return Ok(true);
        }
    }
    Ok(false)
}
