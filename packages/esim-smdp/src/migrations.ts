import type { Migration } from '@steeple/contracts'

/** Tables of this plugin; see README. */
export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_esim',
    up: [
      `create table esim_smdp_code (
        token text primary key,
        hash text not null,
        state text not null,
        matching_mac bytea not null,
        matching_sealed bytea not null,
        confirmation_sealed bytea,
        iccid_mac bytea not null,
        iccid_last4 text not null,
        eid_hash text,
        eid_last4 text,
        smdp_address text not null,
        single_use integer not null,
        attempts integer not null,
        confirmation_attempts integer not null,
        downloads integer not null,
        last_error text,
        batch_id text,
        created_at_ms bigint not null,
        expires_at_ms bigint not null,
        changed_at_ms bigint not null,
        row_sum bigint not null
      )`,
      'create unique index esim_smdp_code_matching on esim_smdp_code (matching_mac)',
      'create index esim_smdp_code_hash on esim_smdp_code (hash)',
      'create index esim_smdp_code_iccid on esim_smdp_code (iccid_mac)',
      'create index esim_smdp_code_eid on esim_smdp_code (eid_hash, state)',
      'create index esim_smdp_code_expiry on esim_smdp_code (state, expires_at_ms)',
      'create index esim_smdp_code_batch on esim_smdp_code (batch_id)',
      'create index esim_smdp_code_time on esim_smdp_code (created_at_ms, token)',
      `create table esim_smdp_session (
        tid text primary key,
        step text not null,
        ci_pkid text not null,
        peer text not null,
        svn bytea not null,
        identity text not null,
        euicc_challenge bytea not null,
        server_challenge bytea not null,
        token text,
        eid_hash text,
        eid_sealed bytea,
        euicc_key bytea,
        signature2 bytea,
        created_at_ms bigint not null,
        expires_at_ms bigint not null,
        row_sum bigint not null
      )`,
      'create index esim_smdp_session_expiry on esim_smdp_session (expires_at_ms)',
      'create index esim_smdp_session_step on esim_smdp_session (step, created_at_ms)',
      'create index esim_smdp_session_peer on esim_smdp_session (peer, step, created_at_ms)',
      `create table esim_smdp_euicc (
        eid_hash text primary key,
        eid_sealed bytea not null,
        eid_last4 text not null,
        failures integer not null,
        failures_from_ms bigint not null,
        locked_until_ms bigint,
        first_seen_ms bigint not null,
        last_seen_ms bigint not null,
        row_sum bigint not null
      )`,
      'create index esim_smdp_euicc_seen on esim_smdp_euicc (last_seen_ms)',
      `create table esim_smdp_held (
        eid_hash text not null,
        token text not null,
        hash text not null,
        state text not null,
        seq bigint not null,
        delivered_at_ms bigint,
        installed_at_ms bigint,
        enabled_at_ms bigint,
        disabled_at_ms bigint,
        deleted_at_ms bigint,
        row_sum bigint not null,
        primary key (eid_hash, token)
      )`,
      'create index esim_smdp_held_token on esim_smdp_held (token)',
      'create index esim_smdp_held_hash on esim_smdp_held (hash)',
      `create table esim_smdp_notice (
        eid_hash text not null,
        seq bigint not null,
        event text not null,
        token text,
        detail text,
        received_at_ms bigint not null,
        row_sum bigint not null,
        primary key (eid_hash, seq)
      )`,
      `create table esim_smdp_cert (
        id text primary key,
        role text not null,
        ci_pkid text not null,
        curve text not null,
        owner text not null,
        der bytea not null,
        key_sealed bytea,
        not_before_ms bigint not null,
        not_after_ms bigint not null,
        added_at_ms bigint not null,
        row_sum bigint not null
      )`,
      'create index esim_smdp_cert_role on esim_smdp_cert (role, ci_pkid)',
      `create table esim_smdp_key (
        id text primary key,
        key_sealed bytea not null,
        row_sum bigint not null
      )`,
    ],
  },
  {
    id: '0002_es2plus',
    up: [
      `create table esim_smdp_order (
        token text primary key,
        owner text not null,
        profile_type text not null,
        created_at_ms bigint not null,
        row_sum bigint not null
      )`,
      'create index esim_smdp_order_owner on esim_smdp_order (owner, created_at_ms)',
      `create table esim_smdp_call (
        id text primary key,
        answer_sealed bytea not null,
        at_ms bigint not null,
        row_sum bigint not null
      )`,
      'create index esim_smdp_call_time on esim_smdp_call (at_ms)',
      `create table esim_smdp_progress (
        id text primary key,
        token text not null,
        eid_hash text,
        point integer not null,
        is_ok integer not null,
        subject_code text,
        reason_code text,
        message text,
        result_sealed bytea,
        at_ms bigint not null,
        failures integer not null,
        next_at_ms bigint not null,
        row_sum bigint not null
      )`,
      'create index esim_smdp_progress_due on esim_smdp_progress (next_at_ms)',
      'create index esim_smdp_progress_time on esim_smdp_progress (at_ms)',
    ],
  },
  {
    id: '0003_dropped_certs',
    up: [
      `create table esim_smdp_dropped (
        id text primary key,
        at_ms bigint not null,
        row_sum bigint not null
      )`,
    ],
  },
  {
    id: '0004_revoked_certs',
    up: [
      `create table esim_smdp_revoked (
        id text primary key,
        source text not null,
        at_ms bigint not null,
        row_sum bigint not null
      )`,
    ],
  },
  {
    id: '0005_sessions_from_their_claim',
    // Of sessions that no eUICC has claimed nothing is kept any more, whatever network they come from.
    up: ['drop index if exists esim_smdp_session_peer'],
  },
  {
    id: '0006_euiccs_by_authority',
    up: [
      'alter table esim_smdp_euicc add column authority text',
      'alter table esim_smdp_euicc add column profile_version text',
    ],
  },
  {
    id: '0007_providers',
    up: [
      `create table esim_smdp_provider (
        id text primary key,
        name text not null,
        url text not null,
        requester text not null,
        profile_type text not null,
        ca text not null,
        cert text not null,
        key_sealed bytea,
        order_key text not null,
        notify_hash text,
        created_at_ms bigint not null,
        changed_at_ms bigint not null,
        row_sum bigint not null
      )`,
      `create table esim_smdp_provided (
        token text primary key,
        provider text not null,
        step text not null,
        confirmation_sealed bytea,
        cancel text not null,
        cancel_failures integer not null,
        cancel_next_at_ms bigint not null,
        row_sum bigint not null
      )`,
      'create index esim_smdp_provided_provider on esim_smdp_provided (provider)',
      'create index esim_smdp_provided_cancel on esim_smdp_provided (cancel, cancel_next_at_ms)',
    ],
  },
  {
    id: '0008_provider_client',
    up: ['alter table esim_smdp_provider add column notify_subject text'],
  },
]
