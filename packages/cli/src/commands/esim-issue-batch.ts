import { setTimeout as delay } from 'node:timers/promises'
import { isObject, type Json, type RestClient } from '../client/rest-client.ts'
import { CommandError, failure } from '../command-error.ts'
import type { Terminal } from '../terminal.ts'

/** What was issued for a batch, and why no more was. */
export interface BatchIssued {
  /** The answers as one: the codes of all, and how many SIMs are left. */
  readonly answer: Json
  /** Undefined when no SIM is left. */
  readonly stopped: CommandError | undefined
}

const MS_PER_S = 1_000

/**
 * Has codes issued until every SIM of a batch has one. The service answers in parts, each durable when it is answered, so
 * what was issued is given back also when a later part is refused. `isPatient`: a refusal that says until when is waited
 * for. Throws a `CommandError` when the first part is refused already.
 */
export async function issueBatch(
  terminal: Terminal,
  client: RestClient,
  body: object,
  isPatient: boolean,
): Promise<BatchIssued> {
  const parts: Json[] = []
  while (parts.length === 0 || isMore(parts.at(-1)?.remaining)) {
    const part = await refusable(client.change('POST', '/v1/esim/issue', body))
    if (!(part instanceof CommandError)) parts.push(part.body)
    else if (isPatient && part.retryAfterS !== undefined) await patience(terminal, part.retryAfterS, parts)
    else if (parts.length === 0) throw part
    else return { answer: joined(parts), stopped: howToGoOn(part, parts.at(-1)?.remaining) }
  }
  return { answer: joined(parts), stopped: undefined }
}

async function refusable<Value>(answer: Promise<Value>): Promise<Value | CommandError> {
  return await answer.catch((error: unknown) => {
    if (error instanceof CommandError) return error
    throw error
  })
}

async function patience(terminal: Terminal, waitS: number, parts: readonly Json[]): Promise<void> {
  // A service that says "at once" is not asked in a loop.
  const seconds = Math.max(1, waitS)
  terminal.err(`${codesOf(parts).length} issued; the limit sim_issue is reached, waiting ${seconds} s.\n`)
  await delay(seconds * MS_PER_S)
}

function howToGoOn(error: CommandError, remaining: unknown): CommandError {
  const when = error.retryAfterS === undefined ? '' : ` in ${error.retryAfterS} s`
  return failure(error.code, error.message, {
    details: error.details,
    requestId: error.requestId,
    hint: `the codes above are issued; ${String(remaining)} SIMs are left: the same command takes them up${when}, with --wait by itself`,
    cause: error,
  })
}

function isMore(remaining: unknown): boolean {
  return typeof remaining === 'number' && remaining > 0
}

function codesOf(parts: readonly Json[]): readonly Json[] {
  // A part of one SIM is answered as one code and as a list.
  return parts.flatMap((part) => (Array.isArray(part.codes) ? part.codes.filter(isObject) : []))
}

function joined(parts: readonly Json[]): Json {
  const [first] = parts
  return { ...first, codes: codesOf(parts), remaining: parts.at(-1)?.remaining }
}
