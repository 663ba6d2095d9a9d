import type { ClientConfig, CustomTypesConfig } from 'pg'

/** The server ends a statement after this; the client gives the connection up a little later. */
export const STATEMENT_LIMIT_MS = 5_000
const CLIENT_GRACE_MS = 3_000
const CONNECT_LIMIT_MS = 5_000
/** A frozen instance must not hold the writers' lock for ever. */
const IDLE_TRANSACTION_LIMIT_MS = 30_000

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
  mode: 'read' | 'write',
  types: CustomTypesConfig,
): ClientConfig {
  const target = new URL(url)
  const own = mode === 'read' ? '-c default_transaction_read_only=on' : '-c synchronous_commit=on'
  target.searchParams.set('options', `${target.searchParams.get('options') ?? ''} ${own}`.trim())
  return {
    connectionString: target.href,
    types,
    application_name: `svc ${mode}`,
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    keepAlive: true,
    statement_timeout: STATEMENT_LIMIT_MS,
    query_timeout: clientLimitMs(STATEMENT_LIMIT_MS),
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_LIMIT_MS,
  }
}

/** How long the client waits for a statement that the server may take `limitMs` for. */
export function clientLimitMs(limitMs: number): number {
  return limitMs + CLIENT_GRACE_MS
}
