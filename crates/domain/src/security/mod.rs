//! The record of security events: what happened, who caused it, and from where.
//!
//! Services call [`record`] where an act succeeds or is refused. Whose act it is and where it comes from belong to
//! the request, which the edge names once by [`within`].

mod addresses;
mod context;
mod event;
mod store;

pub(crate) use self::context::carried;
pub use self::{
    addresses::Addresses,
    context::{SecurityContext, SecurityRecorder, acting_as, record, record_by, within},
    event::{NewSecurityEvent, SecurityActor, SecurityEvent, SecurityEventKind},
    store::{SECURITY_EVENTS_PER_CALL_MAX, SecurityEventQuery, SecurityEventStore},
};
