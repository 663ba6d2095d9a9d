import { southboundUnavailable } from '@steeple/contracts'
import type { Doc } from '../links/document-link.ts'
import { docsOf } from '../open5gs/slices.ts'
import { parseShown } from './shown-value.ts'

/** What a listing shows. mongosh prints the first 20 documents only. */
export interface Listing {
  readonly docs: readonly Doc[]
  readonly isCut: boolean
}

/** What an `add` printed. */
export function addedBy(output: string): 'added' | 'exists' {
  if (/\bE11000\b/.test(output)) return 'exists'
  if (/\backnowledged: true\b/.test(output) && /\binsertedId: ObjectId\(/.test(output)) return 'added'
  throw unreadable('add')
}

/** How many documents a change found. */
export function matchedBy(output: string): number {
  return countIn(output, /\bmatchedCount: ([0-9]+)\b/, 'change')
}

/** How many documents a removal took away. */
export function deletedBy(output: string): number {
  return countIn(output, /\bdeletedCount: ([0-9]+)\b/, 'remove')
}

/** The documents of a listing; nothing printed means none. */
export function listedBy(output: string): Listing {
  const isCut = /^Type "it" for more/m.test(output)
  if (output.trim() === '') return { docs: [], isCut }
  const start = /^\[/m.exec(output)?.index
  const list = start === undefined ? undefined : parseShown(output.slice(start))
  if (!Array.isArray(list)) throw unreadable('list')
  return { docs: docsOf(list), isCut }
}

/** The names of the commands that a help text lists. */
export function commandsIn(help: string): ReadonlySet<string> {
  return new Set([...help.matchAll(/^\s+([a-z][a-z0-9_]*)(?: \{[^}]*\})?:/gim)].map(([, name = '']) => name))
}

function countIn(output: string, pattern: RegExp, what: string): number {
  const count = pattern.exec(output)?.[1]
  if (count === undefined) throw unreadable(what)
  return Number(count)
}

function unreadable(what: string): Error {
  return southboundUnavailable(`the output of dbctl for a ${what} says nothing that can be read; it failed`)
}
