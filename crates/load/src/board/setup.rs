//! The accounts that post and listen, and the requests before the run.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::plan::BoardPlan;
use crate::engine::client::Answered;
use crate::engine::control::Control;

/// The largest accepted token file, in bytes.
const TOKENS_BYTES_MAX: u64 = 64 << 20;

/// The paths for sign-up and sign-in.
const SIGN_UP_PATH: &str = "/api/accounts";
const SIGN_IN_PATH: &str = "/api/session";

fn name(plan: &BoardPlan, number: usize) -> String {
    format!("{}-{number}", plan.args.accounts_prefix)
}

/// Posts the credentials of all accounts to `path`, some at a time. Returns the response bodies; fails if a
/// status is not in `fine`.
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
                "{post} was rate-limited (429): raise the server's limits, or run this from the server's own machine"
            ),
            401 if path == SIGN_IN_PATH => bail!(
                "account {name} exists with another password; set --password or another --accounts-prefix"
            ),
            _ => bail!("{post} returned {status}"),
        }
    };
    (0..).zip(answers).map(body).collect()
}

#[derive(Deserialize)]
struct Session {
    token: String,
}

/// Returns a token of each account: from the `--tokens` file, or from new sessions.
pub(crate) fn tokens(plan: &BoardPlan, control: &Control) -> Result<Vec<String>> {
    let kept = plan.args.tokens.as_deref().map(|path| read(path, plan.args.users)).transpose()?;
    if let Some(tokens) = kept.flatten() {
        return Ok(tokens);
    }
    // A name that is taken is from an earlier run; if not, signing in with this password fails below.
    ask(plan, control, SIGN_UP_PATH, &[200, 201, 409]).context("cannot create the accounts")?;
    let sessions =
        ask(plan, control, SIGN_IN_PATH, &[200, 201]).context("cannot sign the accounts in")?;
    let token = |body: Vec<u8>| {
        let session: Session =
            serde_json::from_slice(&body).context("the response to a sign-in has no token")?;
        let is_fine = session.token.bytes().all(|byte| byte.is_ascii_graphic());
        ensure!(is_fine, "the response to a sign-in has a token that is not printable ASCII");
        Ok(session.token)
    };
    let tokens = sessions.into_iter().map(token).collect::<Result<Vec<_>>>()?;
    if let Some(path) = &plan.args.tokens {
        write(path, &tokens).with_context(|| format!("--tokens {}", path.display()))?;
    }
    Ok(tokens)
}

/// Reads `wanted` tokens; `None` if the file has fewer or does not exist.
fn read(path: &Path, wanted: u32) -> Result<Option<Vec<String>>> {
    let named = || format!("--tokens {}", path.display());
    let Ok(about) = fs::metadata(path) else { return Ok(None) };
    ensure!(about.len() <= TOKENS_BYTES_MAX, "{} is larger than 64 MiB", named());
    let text = fs::read_to_string(path).with_context(named)?;
    let tokens: Vec<String> = text.lines().take(wanted as usize).map(str::to_owned).collect();
    let is_token =
        |line: &String| !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_graphic());
    ensure!(tokens.iter().all(is_token), "{} must have one token a line", named());
    Ok((tokens.len() == wanted as usize).then_some(tokens))
}

fn write(path: &Path, tokens: &[String]) -> Result<()> {
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all((tokens.join("\n") + "\n").as_bytes())?;
    Ok(())
}

/// Returns the cursor after the channel's newest event. The streams start there, so that a stream that is cut
/// before its first event misses none.
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
        "{} returned 401: the sessions have ended; delete the --tokens file",
        named()
    );
    ensure!(status == 200, "{} returned {status}", named());
    let page: Page =
        serde_json::from_slice(&body).with_context(|| format!("{} returned no cursor", named()))?;
    let is_fine = page.cursor.bytes().all(|byte| byte.is_ascii_digit() || b":,".contains(&byte));
    ensure!(is_fine, "{} returned the malformed cursor {:?}", named(), page.cursor);
    Ok(page.cursor)
}
