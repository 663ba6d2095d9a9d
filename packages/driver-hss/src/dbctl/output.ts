import { southboundUnavailable } from '@steeple/contracts'
import type { Doc } from '../links/document-link.ts'
import { docsOf } from '../open5gs/slices.ts'
import type { Ran } from './run-tool.ts'
import { parseShown } from './shown-value.ts'
import { failureIn, linesOf } from './words.ts'

/** What a listing shows. mongosh prints the first 20 documents only. */
export interface Listing {
  readonly docs: readonly Doc[]
  readonly isCut: boolean
}

/** What came of an `add`. */
export function addedBy(ran: Ran): 'added' | 'exists' {
  const { output, errors } = ran
  if (/\backnowledged: true\b/.test(output) && /\binsertedId: ObjectId\(/.test(output)) return 'added'
  // mongosh names it on standard error.
  if (/\bE11000\b/.test(output) || /\bE11000\b/.test(errors)) return 'exists'
  throw failureOf(ran, 'an add')
}

/** How many documents a change found. */
export function matchedBy(ran: Ran): number {
  return countIn(ran, /\bmatchedCount: ([0-9]+)\b/, 'a change')
}

/** How many documents a removal took away. */
export function deletedBy(ran: Ran): number {
  return countIn(ran, /\bdeletedCount: ([0-9]+)\b/, 'a removal')
}

/**
 * The documents of a listing. One that shows nobody counts only when the tool ended well and names no failure: mongosh
 * prints an empty line for an empty database, and nothing for one that is down.
 */
export function listedBy(ran: Ran): Listing {
  const { output } = ran
  const isCut = /^Type "it" for more/m.test(output)
  const start = /^\[/m.exec(output)?.index
  if (start !== undefined) {
    const list = parseShown(output.slice(start))
    const docs = docsOf(list)
    if (!Array.isArray(list) || docs.length !== list.length) throw failureOf(ran, 'a listing')
    if (docs.length > 0) return { docs, isCut }
  } else if (linesOf(output).length > 0) throw failureOf(ran, 'a listing')
  if (ran.code !== 0 || failureIn(ran) !== undefined) throw failureOf(ran, 'a listing')
  return { docs: [], isCut }
}

/** The names of the commands that a help text lists. Throws for a text that is none, whatever its exit code. */
export function helpBy(ran: Ran): ReadonlySet<string> {
  const commands = commandsIn(ran.output)
  // Every tool has this one. A tool that was ended may not have come to its last command.
  if (ran.code === undefined || !commands.has('add_ue_with_apn')) throw failureOf(ran, 'help')
  return commands
}

/** The names of the commands that a help text lists. */
function commandsIn(help: string): ReadonlySet<string> {
  return new Set([...help.matchAll(/^\s+([a-z][a-z0-9_]*)(?: \{[^}]*\})?:/gim)].map(([, name = '']) => name))
}

function countIn(ran: Ran, pattern: RegExp, what: string): number {
  const count = pattern.exec(ran.output)?.[1]
  if (count === undefined) throw failureOf(ran, what)
  return Number(count)
}

function failureOf(ran: Ran, what: string): Error {
  const words = failureIn(ran)
  if (words !== undefined) return southboundUnavailable(`dbctl failed: ${words}`)
  const how = ran.code === undefined ? 'it was ended' : `it ended with ${ran.code}`
  return southboundUnavailable(`the output of dbctl for ${what} says nothing that can be read; ${how}`)
}
