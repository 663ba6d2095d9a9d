import { southboundUnavailable } from '@steeple/contracts'

/** One session as the core counts it, since it was set up. */
export interface CountedSession {
  /** Not used again for another session within a run of the core. */
  readonly id: string
  readonly imsi: string
  readonly apn: string
  readonly address: string
  /** Ms since the epoch. */
  readonly startedAtMs: number
  readonly upBytes: number
  readonly downBytes: number
}

/** The file: which run of the core wrote it, and its sessions. */
export interface UsageFile {
  /** Another one after each start of the core: its counters begin at 0 then. */
  readonly boot: string
  readonly sessions: readonly CountedSession[]
}

/** Parses `{boot, sessions: [{id, imsi, apn, address, started_at_ms, up_bytes, down_bytes}]}`. Throws `southbound_unavailable`, never with an IMSI. */
export function parseUsageFile(text: string): UsageFile {
  const value = parsed(text)
  if (value === undefined) throw broken('it is not JSON')
  const file = objectOf(value, 'the file')
  const sessions = file.sessions
  if (!Array.isArray(sessions)) throw broken('sessions is no list')
  return {
    boot: textOf(file.boot, 'boot'),
    sessions: sessions.map((value: unknown, index) => sessionOf(value, `sessions.${index}`)),
  }
}

function sessionOf(value: unknown, where: string): CountedSession {
  const row = objectOf(value, where)
  return {
    id: textOf(row.id, `${where}.id`),
    imsi: textOf(row.imsi, `${where}.imsi`),
    apn: textOf(row.apn, `${where}.apn`),
    address: textOf(row.address, `${where}.address`),
    startedAtMs: countOf(row.started_at_ms, `${where}.started_at_ms`),
    upBytes: countOf(row.up_bytes, `${where}.up_bytes`),
    downBytes: countOf(row.down_bytes, `${where}.down_bytes`),
  }
}

/** Undefined for what is no JSON. The parser's own message quotes the text, and that holds IMSIs. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function objectOf(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw broken(`${where} is no object`)
  return { ...value }
}

function textOf(value: unknown, where: string): string {
  if (typeof value !== 'string' || value === '') throw broken(`${where} is no text`)
  return value
}

function countOf(value: unknown, where: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw broken(`${where} is no count`)
  return value
}

function broken(what: string): Error {
  return southboundUnavailable(`the usage file is broken: ${what}`)
}
