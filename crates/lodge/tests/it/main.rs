//! Tests of Lodge's promises, on the real binary with real sockets and a real data folder. Each test is
//! named after the promise that it checks.

#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests fail by panicking")]

mod account_pages;
mod accounts;
mod admin_pages;
mod api;
mod api_docs;
mod backup;
mod bad_input;
mod blocklist;
mod board;
mod board_crash;
mod board_hooks;
mod board_pages;
mod board_pictures;
mod board_stream;
mod breached;
mod checking;
mod clicks;
mod client;
mod closed_pipe;
mod concurrent_repeats;
mod crash;
mod cross_site;
mod endings;
mod first_run;
mod forgeries;
mod gates;
mod generated_client;
mod idempotency;
mod installed;
mod limits;
mod linking;
mod links_search;
mod manage_keys;
mod metrics;
mod modes;
mod old_clients;
mod one_click;
mod overload;
mod owners;
mod pages;
mod passes;
mod pictures;
mod provider;
mod providers;
mod proxies;
mod redirects;
mod replays;
mod revocation;
mod rides;
mod rides_batches;
mod rides_crash;
mod rides_export;
mod rides_live;
mod rides_pages;
mod rides_rebuild;
mod rides_search;
mod rides_voided;
mod secrecy;
mod seeding;
mod server;
mod setup;
mod site_look;
mod staff;
mod starting;
mod stopping;
mod tiers;
mod timeouts;
mod transfer;
mod usernames;

// Helpers that nearly every test uses.
use accounts::PASSWORD;
use client::{HttpConnection, Request, Response, assert_fields, between, each};
use server::{CommandOutput, DEADLINE, Lodge, Process, Server, eventually, eventually_true, text};
