//! The accounts that post and listen, and what is asked before the run.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::plan::BoardPlan;
use crate::engine::client::Answered;
use crate::engine::control::Control;

/// The most bytes of tokens that are read.
const TOKENS_BYTES_MAX: u64 = 64 << 20;

/// Where accounts are made, and where they sign in.
const SIGN_UP_PATH: &str = "/api/accounts";
const SIGN_IN_PATH: &str = "/api/session";

fn name(plan: &BoardPlan, number: usize) -> String {
    format!("{}-{number}", plan.args.accounts_prefix)
}

/// Posts the credentials of all accounts there, some at a time; the bodies of the answers, each with one of
/// these statuses.
fn ask(plan: &BoardPlan, control: &Control, path: &str, fine: &[u16]) -> Result<Vec<Vec<u8>>> {
    let credentials = |number: usize, request: &mut Vec<u8>| {
        let name = name(plan, number);
        plan.site(0).credentials(path, &name, &plan.args.password, request);
    };
    let post = |number| format!("POST {path} for {}", name(plan, number));
    let answers = plan.client.answers(control, plan.args.users as usize, credentials, post)?;
    let body = |(number, (status, body)): (usize, Answered)| {
        let (post, name) = (post(number), name(plan, number));
        match status {
            _ if fine.contains(&status) => Ok(body),
            429 => bail!(
                "{post} is refused by a limit (429): raise the server's limits, or make the accounts from its own machine"
            ),
            401 if path == SIGN_IN_PATH => bail!(
                "{name} is there with another password; say --password, or another --accounts-prefix"
            ),
            _ => bail!("{post} answers {status}"),
        }
    };
    (0..).zip(answers).map(body).collect()
}

#[derive(Deserialize)]
struct Session {
    token: String,
}

/// A token of each account: those of the file, or new ones.
pub(crate) fn tokens(plan: &BoardPlan, control: &Control) -> Result<Vec<String>> {
    let kept = plan.args.tokens.as_deref().map(|path| read(path, plan.args.users)).transpose()?;
    if let Some(tokens) = kept.flatten() {
        return Ok(tokens);
    }
    // A name that is taken is one of an earlier run, or somebody's whose password is another one.
    ask(plan, control, SIGN_UP_PATH, &[200, 201, 409]).context("cannot make the accounts")?;
    let sessions =
        ask(plan, control, SIGN_IN_PATH, &[200, 201]).context("cannot sign the accounts in")?;
    let token = |body: Vec<u8>| {
        let session: Session =
            serde_json::from_slice(&body).context("a sign-in is answered without a token")?;
        let is_fine = session.token.bytes().all(|byte| byte.is_ascii_graphic());
        ensure!(is_fine, "a token is not printable");
        Ok(session.token)
    };
    let tokens = sessions.into_iter().map(token).collect::<Result<Vec<_>>>()?;
    if let Some(path) = &plan.args.tokens {
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
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all((tokens.join("\n") + "\n").as_bytes())?;
    Ok(())
}

/// What a reader has who has everything of the channel that there is now: the streams begin there, so that
/// one that is cut before its first event loses none.
pub(crate) fn start(plan: &BoardPlan, control: &Control, token: &str) -> Result<String> {
    #[derive(Deserialize)]
    struct Page {
        cursor: String,
    }
    let newest = |_, request: &mut Vec<u8>| plan.site(0).newest(token, request);
    let named = || format!("GET /api/board/{}/events", plan.args.channel);
    let mut answers = plan.client.answers(control, 1, newest, |_| named())?;
    let (status, body) = answers.pop().unwrap_or_default();
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
