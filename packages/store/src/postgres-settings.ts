import type { ClientConfig, CustomTypesConfig } from 'pg'

/** The server ends a statement after this; the client gives the connection up a little later. */
export const STATEMENT_LIMIT_MS = 5_000
const CLIENT_GRACE_MS = 3_000
/** For a read this is also the wait for one of the readers. */
const CONNECT_LIMIT_MS = 5_000
/** A server that takes writes again is found out soon after. */
const RECONNECT_LIMIT_MS = 2_000
/** A frozen instance must not hold the writers' lock for long; longer than a job may wait for something else. */
const IDLE_TRANSACTION_LIMIT_MS = 6_000
/** What a lease is renewed by must fail long before the lease ends. */
const SIDE_LIMIT_MS = 1_500

/** A statement of a copy of the whole store, and a pause in it (the other end of the copy is a disk). */
const COPY_LIMIT_MS = 120_000

/** Object ids of types, https://github.com/postgres/postgres/blob/REL_15_STABLE/src/include/catalog/pg_type.dat */
const INT8 = 20
const NUMERIC = 1700

/** Integers of 64 bits and sums of them as numbers: the store holds nothing above 2^53. */
export function numbersOf(types: {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => unknown
}): CustomTypesConfig {
  return {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      oid === INT8 || oid === NUMERIC ? Number : types.getTypeParser(oid, format),
  } as CustomTypesConfig // pg declares one overload for each type id
}

/** Connection settings for `mode`. `url` may carry its own `options`; ours are added. */
export function postgresSettings(
  url: string,
  mode: 'read' | 'write' | 'side' | 'copy' | 'load',
  types: CustomTypesConfig,
): ClientConfig {
  const target = new URL(url)
  const own =
    mode === 'read' || mode === 'copy' ? '-c default_transaction_read_only=on' : '-c synchronous_commit=on'
  target.searchParams.set('options', `${target.searchParams.get('options') ?? ''} ${own}`.trim())
  const isLong = mode === 'copy' || mode === 'load'
  const limitMs = mode === 'side' ? SIDE_LIMIT_MS : isLong ? COPY_LIMIT_MS : STATEMENT_LIMIT_MS
  return {
    connectionString: target.href,
    types,
    application_name: `svc ${mode}`,
    connectionTimeoutMillis: mode === 'read' ? CONNECT_LIMIT_MS : RECONNECT_LIMIT_MS,
    keepAlive: true,
    statement_timeout: limitMs,
    query_timeout: mode === 'side' ? limitMs : clientLimitMs(limitMs),
    idle_in_transaction_session_timeout: isLong ? COPY_LIMIT_MS : IDLE_TRANSACTION_LIMIT_MS,
  }
}

/** How long the client waits for a statement that the server may take `limitMs` for. */
export function clientLimitMs(limitMs: number): number {
  return limitMs + CLIENT_GRACE_MS
}
