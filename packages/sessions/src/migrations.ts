import type { Migration } from '@steeple/contracts'

/** The schema of sessions, of what sources say of them, and of the usage ledger. */
export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_session',
    up: [
      `create table sessions_session (
        id bigint primary key,
        imsi text not null,
        apn text not null,
        plmn text,
        address text,
        prefix text,
        technology text not null,
        cell text,
        state text not null,
        is_live integer not null,
        source text not null,
        started_at_ms bigint not null,
        since_ms bigint not null,
        ended_at_ms bigint,
        volumes text not null,
        row_sum bigint not null
      )`,
      'create index sessions_session_live on sessions_session (is_live, id)',
      'create index sessions_session_imsi on sessions_session (imsi, is_live, id)',
      'create index sessions_session_apn on sessions_session (apn, is_live, id)',
      'create index sessions_session_technology on sessions_session (technology, is_live, id)',
      'create index sessions_session_address on sessions_session (address, id)',
      'create index sessions_session_prefix on sessions_session (prefix, id)',
      'create index sessions_session_ended on sessions_session (ended_at_ms)',
      `create table sessions_link (
        source text not null,
        reference text not null,
        session_id bigint not null,
        is_live integer not null,
        state text not null,
        technology text not null,
        cell text,
        started_at_ms bigint,
        row_sum bigint not null,
        primary key (source, reference)
      )`,
      'create index sessions_link_session on sessions_link (session_id)',
      'create index sessions_link_live on sessions_link (is_live)',
      `create table sessions_counter (
        source text not null,
        counter text not null,
        generation text not null,
        up_bytes bigint not null,
        down_bytes bigint not null,
        to_ms bigint not null,
        row_sum bigint not null,
        primary key (source, counter, generation)
      )`,
      'create index sessions_counter_age on sessions_counter (to_ms)',
      `create table sessions_held (
        source text not null,
        whose text not null,
        from_ms bigint not null,
        to_ms bigint not null,
        up_bytes bigint not null,
        down_bytes bigint not null,
        is_incomplete integer not null,
        held_at_ms bigint not null,
        row_sum bigint not null,
        primary key (source, whose, from_ms, to_ms)
      )`,
      `create table sessions_source (
        source text primary key,
        position text,
        at_ms bigint not null,
        until_ms bigint,
        row_sum bigint not null
      )`,
      `create table sessions_round (
        id integer primary key,
        round bigint not null,
        next_session bigint not null,
        row_sum bigint not null
      )`,
      `create table sessions_ledger (
        imsi text not null,
        hour_ms bigint not null,
        source text not null,
        up_bytes bigint not null,
        down_bytes bigint not null,
        counted_up bigint not null,
        counted_down bigint not null,
        is_incomplete integer not null,
        counted_incomplete integer not null,
        is_open integer not null,
        spans text,
        row_sum bigint not null,
        primary key (imsi, hour_ms, source)
      )`,
      // All that a series reads: rows of one subscriber lie far apart.
      `create index sessions_ledger_counted on sessions_ledger
        (imsi, hour_ms, counted_up, counted_down, counted_incomplete)`,
      'create index sessions_ledger_open on sessions_ledger (is_open, hour_ms)',
    ],
  },
  {
    id: '0002_ledger_hours',
    up: [
      // All that a look at everybody reads, of the hours that it is about.
      `create index sessions_ledger_hours on sessions_ledger
        (hour_ms, imsi, counted_up, counted_down, counted_incomplete)`,
    ],
  },
]
