//! The check at the end of a row: every acknowledged account, change, ban and picture, and every ended session.

use std::{
    net::SocketAddr,
    thread::{self, ScopedJoinHandle},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};

use super::{
    acknowledged::{Acknowledged, EndedSession, Person},
    painter::picture_of,
    requests::{ask_me, ask_sign_in},
};
use crate::{
    faults::workload::{Loss, SharedState},
    http::Answer,
};

/// Concurrent clients.
const CLIENTS: usize = 4;

/// Tries of a request.
const TRIES: usize = 20;

/// Counts what is lost: accounts that cannot sign in, or do not look as acknowledged, bans, pictures, and ends of
/// sessions.
pub(super) fn check(common: &SharedState, acknowledged: &Acknowledged) -> Result<Loss> {
    let webs: Vec<SocketAddr> = common.webs().map(|route| route.address).collect();
    let people: Vec<_> =
        acknowledged.people.take().into_iter().zip(webs.iter().copied().cycle()).collect();
    let lost = count(&people, |(person, web)| is_lost(common, *web, person))?;
    let ended: Vec<_> = acknowledged.ended.take();
    let accepted = count(&ended, |ended| is_accepted(common, &webs, ended))?;
    Ok(Loss { lost: lost + accepted, duplicated: 0 })
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
    if person.picture.is_some() && person.picture != found {
        return Ok(Some(format!("the picture: it is {found:?}")));
    }
    let Some(path) = found.filter(|path| !path.is_empty()) else { return Ok(None) };
    let picture = answered(&path, || http.send("GET", web, &path))?;
    Ok((picture.status != 200).then(|| format!("the picture answers {}", picture.status)))
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
