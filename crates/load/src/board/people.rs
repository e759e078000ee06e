//! The accounts that post and listen, and what is asked before the run.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::plan::BoardPlan;
use crate::batch::{Batch, Reply, Verdict, run_batch};
use crate::control::Control;

/// The most bytes of tokens that are read.
const TOKENS_BYTES_MAX: u64 = 64 << 20;

/// What is asked for an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    SignUp,
    SignIn,
}

impl Wish {
    fn path(self) -> &'static str {
        match self {
            Self::SignUp => "/api/accounts",
            Self::SignIn => "/api/session",
        }
    }
}

/// The same wish for every account.
struct Asking {
    plan: Arc<BoardPlan>,
    wish: Wish,
    begun: u32,
    answers: Vec<Option<(u16, Vec<u8>)>>,
}

impl Batch for Asking {
    fn next(&mut self, request: &mut Vec<u8>) -> Option<u64> {
        let number = self.begun;
        let name = (number < self.plan.users).then(|| name(&self.plan, number))?;
        self.plan.site(0).credentials(self.wish.path(), &name, &self.plan.password, request);
        self.begun += 1;
        Some(number.into())
    }

    fn judge(&mut self, number: u64, reply: Reply<'_>, last: bool) -> Verdict {
        let Reply::Answer { status, body, .. } = reply else { return Verdict::Again };
        if matches!(status, 429 | 500..) && !last {
            return Verdict::Again;
        }
        if let Some(answer) = self.answers.get_mut(usize::try_from(number).unwrap_or(usize::MAX)) {
            *answer = Some((status, body.to_vec()));
        }
        Verdict::Settled
    }
}

fn name(plan: &BoardPlan, number: u32) -> String {
    format!("{}-{number}", plan.accounts_prefix)
}

/// Asks it for all accounts, some at a time; the bodies of the answers, each with one of these statuses.
fn ask(plan: &Arc<BoardPlan>, control: &Control, wish: Wish, fine: &[u16]) -> Result<Vec<Vec<u8>>> {
    let answers = vec![None; plan.users as usize];
    let asking = Asking { plan: Arc::clone(plan), wish, begun: 0, answers };
    let answers = run_batch(plan.sending(), control, asking)?.answers;
    ensure!(!control.stopped(), "stopped before the first message");
    let body = |(number, answer): (u32, Option<(u16, Vec<u8>)>)| {
        let (path, name) = (wish.path(), name(plan, number));
        match answer {
            None => bail!("POST {path} for {name} gets no answer, again and again"),
            Some((status, body)) if fine.contains(&status) => Ok(body),
            Some((429, _)) => bail!(
                "POST {path} for {name} is refused by a limit (429): raise the server's limits, or make the accounts from its own machine"
            ),
            Some((401, _)) if wish == Wish::SignIn => bail!(
                "{name} is there with another password; say --password, or another --accounts-prefix"
            ),
            Some((status, _)) => bail!("POST {path} for {name} answers {status}"),
        }
    };
    (0..).zip(answers).map(body).collect()
}

#[derive(Deserialize)]
struct Session {
    token: String,
}

/// A token of each account: those of the file, or new ones.
pub(crate) fn tokens(plan: &Arc<BoardPlan>, control: &Control) -> Result<Vec<String>> {
    let kept = plan.tokens.as_deref().map(|path| read(path, plan.users)).transpose()?;
    if let Some(tokens) = kept.flatten() {
        return Ok(tokens);
    }
    // A name that is taken is one of an earlier run, or somebody's whose password is another one.
    ask(plan, control, Wish::SignUp, &[200, 201, 409]).context("cannot make the accounts")?;
    let sessions =
        ask(plan, control, Wish::SignIn, &[200, 201]).context("cannot sign the accounts in")?;
    let token = |body: Vec<u8>| {
        let session: Session =
            serde_json::from_slice(&body).context("a sign-in is answered without a token")?;
        let is_fine = session.token.bytes().all(|byte| byte.is_ascii_graphic());
        ensure!(is_fine, "a token is not printable");
        Ok(session.token)
    };
    let tokens = sessions.into_iter().map(token).collect::<Result<Vec<_>>>()?;
    if let Some(path) = &plan.tokens {
        write(path, &tokens).with_context(|| format!("--tokens {}", path.display()))?;
    }
    Ok(tokens)
}

/// As many as are wanted; `None` if there are fewer, or no file.
fn read(path: &Path, wanted: u32) -> Result<Option<Vec<String>>> {
    let named = || format!("--tokens {}", path.display());
    let Ok(about) = fs::metadata(path) else { return Ok(None) };
    ensure!(about.len() <= TOKENS_BYTES_MAX, "{} has more than 64 MiB", named());
    let text = fs::read_to_string(path).with_context(named)?;
    let tokens: Vec<String> = text.lines().take(wanted as usize).map(str::to_owned).collect();
    let is_token =
        |line: &String| !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_graphic());
    ensure!(tokens.iter().all(is_token), "{} must hold a token on each line", named());
    Ok((tokens.len() == wanted as usize).then_some(tokens))
}

fn write(path: &Path, tokens: &[String]) -> Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all((tokens.join("\n") + "\n").as_bytes())?;
    Ok(())
}

struct Newest {
    request: Option<Vec<u8>>,
    answer: Option<(u16, Vec<u8>)>,
}

impl Batch for Newest {
    fn next(&mut self, request: &mut Vec<u8>) -> Option<u64> {
        request.clone_from(&self.request.take()?);
        Some(0)
    }

    fn judge(&mut self, _number: u64, reply: Reply<'_>, last: bool) -> Verdict {
        let Reply::Answer { status, body, .. } = reply else { return Verdict::Again };
        if matches!(status, 429 | 500..) && !last {
            return Verdict::Again;
        }
        self.answer = Some((status, body.to_vec()));
        Verdict::Settled
    }
}

/// What a reader has who has everything of the channel that there is now: the streams begin there, so that
/// one that is cut before its first event loses none.
pub(crate) fn start(plan: &Arc<BoardPlan>, control: &Control, token: &str) -> Result<String> {
    #[derive(Deserialize)]
    struct Page {
        cursor: String,
    }
    let mut request = Vec::new();
    plan.site(0).newest(token, &mut request);
    let newest = Newest { request: Some(request), answer: None };
    let named = || format!("GET /api/board/{}/events", plan.channel);
    let (status, body) = run_batch(plan.sending(), control, newest)?
        .answer
        .with_context(|| format!("{} gets no answer, again and again", named()))?;
    ensure!(
        status != 401,
        "{} answers 401: the sessions have ended; remove the file of --tokens",
        named()
    );
    ensure!(status == 200, "{} answers {status}", named());
    let page: Page =
        serde_json::from_slice(&body).with_context(|| format!("{} has no cursor", named()))?;
    let is_fine = page.cursor.bytes().all(|byte| byte.is_ascii_digit() || b":,".contains(&byte));
    ensure!(is_fine, "{} has the cursor {:?}", named(), page.cursor);
    Ok(page.cursor)
}
