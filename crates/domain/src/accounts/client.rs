//! The web tier's client of the accounts tier.

use std::sync::Arc;

use super::{Account, AccountId, Backend, Call, Reply, SessionDigest, SignedIn, Username};
use crate::{Error, Result};

/// A typed client of a [`Backend`]. Clones share it.
#[derive(Clone)]
pub struct AccountsClient(Arc<dyn Backend>);

impl AccountsClient {
    /// Creates a client of `backend`.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self(backend)
    }

    /// Returns the account with this number, found by its username; `None` if it was deleted. By then another account
    /// may have the name.
    pub async fn known(&self, id: AccountId, username: &str) -> Result<Option<Account>> {
        let Ok(username) = Username::parse(username) else { return Ok(None) };
        match self.user(username).await {
            Ok(account) => Ok(Some(account).filter(|account| account.id == id)),
            Err(Error::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the session of a token and its account.
    pub async fn who(&self, session: SessionDigest) -> Result<SignedIn> {
        self.find_session_since(session, None).await
    }

    pub(super) async fn call(&self, call: Call) -> Result<Reply> {
        self.0.call(call).await
    }
}

/// The error for a reply of another type than the call's.
pub(super) fn unexpected_reply() -> Error {
    Error::internal("the accounts tier sent a reply that does not match the call")
}

/// Defines an enum of calls, for each call the method of [`AccountsClient`] that sends it, and the service's
/// handler.
///
/// `client(session: …) own` lists further arguments of the methods, and the method that sends the call.
/// `server(accounts, me: …)` names the service and further inputs of the handlers. Then each call: its method, its
/// variant with the method's arguments, the type of the reply, a variant of [`Reply`], and the handler.
macro_rules! calls {
    (
        client $client:tt $ask:ident;
        server($accounts:ident $(, $me:ident: $me_type:ty)?);
        $(#[$about:meta])* pub enum $calls:ident {$(
            $(#[$doc:meta])* $visibility:vis fn $method:ident = $variant:ident
            $(($($argument:ident: $type:ty),+))?
            $({$($(#[$of_field:meta])* $field:ident: $of:ty),+ $(,)?})?
            -> $answer:ty $answered:block
        )+}
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $calls {$(
            $(#[$doc])* $variant $(($($type),+))? $({$($(#[$of_field])* $field: $of),+})?
        ),+}

        impl $crate::accounts::AccountsClient {$(
            calls! {
                @method $client $ask $(#[$doc])* $visibility fn $method(
                    $($($argument: $type,)+)? $($($field: $of,)+)?
                ) -> $answer {
                    $calls::$variant $(($($argument),+))? $({$($field),+})?
                }
            }
        )+}

        impl $calls {
            /// Runs the handler of this call.
            pub(super) async fn answered_by(
                self,
                $accounts: &$crate::accounts::Accounts,
                $($me: $me_type)?
            ) -> $crate::Result<$crate::accounts::Reply> {
                Ok(match self {$(
                    Self::$variant $(($($argument),+))? $({$($field),+})? => {
                        let answer: $answer = $answered;
                        answer.into()
                    }
                )+})
            }
        }
    };
    (
        @method ($($context:ident: $context_type:ty)?) $ask:ident
        $(#[$doc:meta])* $visibility:vis fn $method:ident($($argument:ident: $type:ty,)*) -> $answer:ty $call:block
    ) => {
        $(#[$doc])*
        $visibility async fn $method(
            &self,
            $($context: $context_type,)?
            $($argument: $type),*
        ) -> $crate::Result<$answer> {
            let reply = self.$ask($($context,)? $call).await?;
            <$answer>::try_from(reply).map_err(|_| $crate::accounts::client::unexpected_reply())
        }
    };
}

pub(super) use calls;
