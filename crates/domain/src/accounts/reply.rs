//! What is answered to a call.

use serde::{Deserialize, Serialize};

use super::{
    Account, AccountId, Changed, Departure, Export, FreshSession, LinkedIdentity, PictureId,
    Provider, Session, SignedIn, Welcome,
};
use crate::{Done, secret::Hidden};

/// Defines [`Reply`], each variant of it from and to the type of what it holds: fields become a tuple, and no field ().
macro_rules! replies {
    ($(#[$about:meta])* pub enum Reply {$(
        $(#[$doc:meta])* $variant:ident
        $(($type:ty))?
        $({$($(#[$of_field:meta])* $field:ident: $of:ty),+ $(,)?})?
    ),+ $(,)?}) => {
        $(#[$about])*
        pub enum Reply {$(
            $(#[$doc])* $variant $(($type))? $({$($(#[$of_field])* $field: $of),+})?
        ),+}

        $(replies!(@convert $variant $(($type))? $({$($field: $of),+})?);)+
    };
    (@convert $variant:ident ($type:ty)) => {
        replies!(@convert $type, held, Reply::$variant(held));
    };
    (@convert $variant:ident) => {
        replies!(@convert (), (), Reply::$variant);
    };
    (@convert $variant:ident {$field:ident: $type:ty}) => {
        replies!(@convert $type, $field, Reply::$variant { $field });
    };
    (@convert $variant:ident {$($field:ident: $type:ty),+}) => {
        replies!(@convert ($($type),+), ($($field),+), Reply::$variant {$($field),+});
    };
    (@convert $type:ty, $held:tt, $($reply:tt)+) => {
        impl From<$type> for Reply {
            fn from($held: $type) -> Self {
                $($reply)+
            }
        }

        impl TryFrom<Reply> for $type {
            type Error = ();
            fn try_from(reply: Reply) -> Result<Self, ()> {
                if let $($reply)+ = reply { Ok($held) } else { Err(()) }
            }
        }
    };
}

replies! {
    /// What came of a call that was not refused.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Reply {
        /// It is done.
        Done,
        /// The account that was made; none if the name is taken.
        SignedUp(Done<Option<Account>>),
        /// The session that began.
        SignedIn(FreshSession),
        /// Who is signed in.
        Who(SignedIn),
        /// The account.
        Account(Account),
        /// The sessions, newest first.
        Sessions(Vec<Session>),
        /// What has changed.
        Changed(Changed),
        /// All that is kept.
        Export(Box<Export>),
        /// The accounts, in the order of their names.
        Accounts(Vec<Account>),
        /// The one-time code.
        Code(Hidden),
        /// The providers, in the order in which they are shown.
        Providers(Vec<Provider>),
        /// Where somebody goes.
        Departed(Departure),
        /// How somebody is received.
        Arrived(Welcome),
        /// The identities that open the account.
        Identities(Vec<LinkedIdentity>),
        /// The account with its new picture.
        PictureSet {
            /// The account.
            account: Account,
            /// The picture that it had before.
            former: Option<PictureId>,
        },
        /// The pictures that are somebody's.
        Pictured(Vec<PictureId>),
        /// The account is deleted.
        Deleted {
            /// The picture that it had.
            picture: Option<PictureId>,
        },
        /// The accounts that are there.
        Existing(Vec<AccountId>),
    }
}
