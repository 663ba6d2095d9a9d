import type { Migration } from '@steeple/contracts'

/** The schema of the subscribers and of the batches they were issued in. */
export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_sim',
    up: [
      `create table sims_sim (
        hash text primary key,
        plmn text not null,
        profile text not null,
        state text not null,
        previous_state text,
        suspend_reason text,
        apns text not null,
        downlink_bps bigint not null,
        uplink_bps bigint not null,
        quota_bytes bigint,
        usage_bytes bigint not null,
        msisdn text,
        label text,
        batch_id text,
        iccid_last4 text,
        issued_at_ms bigint not null,
        expires_at_ms bigint not null,
        attached_at_ms bigint,
        swapped_at_ms bigint,
        replaces text,
        generation bigint not null,
        imsi_sealed bytea not null,
        secrets_sealed bytea not null,
        hss_status text not null,
        hss_driver text,
        hss_error text,
        hss_synced_at_ms bigint,
        hss_seq bigint not null,
        row_sum bigint not null
      )`,
      'create index sims_sim_issued on sims_sim (issued_at_ms, hash)',
      'create index sims_sim_state on sims_sim (state, issued_at_ms, hash)',
      'create index sims_sim_batch on sims_sim (batch_id, issued_at_ms, hash)',
      'create index sims_sim_label on sims_sim (label, issued_at_ms, hash)',
      'create index sims_sim_profile on sims_sim (profile, issued_at_ms, hash)',
      'create index sims_sim_expiry on sims_sim (state, expires_at_ms)',
      'create index sims_sim_hss on sims_sim (hss_status, hss_driver, state, hash)',
      `create table sims_batch (
        id text primary key,
        created_at_ms bigint not null,
        sims integer not null,
        profile text not null,
        plmn text not null,
        label text,
        key_sealed bytea not null,
        row_sum bigint not null
      )`,
      'create index sims_batch_created on sims_batch (created_at_ms, id)',
    ],
  },
  {
    id: '0002_batch_files',
    // Not in the checksum of a row: it is about the disk and is written for many batches at once.
    up: [
      'alter table sims_batch add column files_at_ms bigint',
      'create index sims_batch_files on sims_batch (files_at_ms, id)',
    ],
  },
  {
    id: '0003_last_attached',
    up: ['create index sims_sim_attached on sims_sim (attached_at_ms)'],
  },
  {
    id: '0004_iccid',
    up: ['create index sims_sim_iccid on sims_sim (iccid_last4)'],
  },
]
