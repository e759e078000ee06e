//! What the web tier asks of the accounts tier, as functions.

use std::sync::Arc;

use super::{Backend, Call, Reply};
use crate::{Error, Result};

/// Asks a [`Backend`]. Clones ask the same.
#[derive(Clone)]
pub struct AccountsClient(Arc<dyn Backend>);

impl AccountsClient {
    /// Asks `backend`.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self(backend)
    }

    pub(super) async fn ask(&self, call: Call) -> Result<Reply> {
        self.0.call(call).await
    }
}

/// A reply to another call than was made.
pub(super) fn mixed_up() -> Error {
    Error::internal("the accounts tier answered something else than was asked")
}

/// Defines an enum of calls, and for each of them the method of [`AccountsClient`] that makes it and how the service
/// answers it.
///
/// `client(session: …) own` are the further arguments of the methods, and by which method they ask.
/// `server(accounts, me: …)` names the service and what else the answers need. Then each call: its method, its variant
/// with the method's arguments, the type of the answer, a variant of [`Reply`], and the answer itself.
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
            /// Has the service answer.
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
            <$answer>::try_from(reply).map_err(|_| $crate::accounts::client::mixed_up())
        }
    };
}

pub(super) use calls;
