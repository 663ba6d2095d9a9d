import type { Subscriber } from '@steeple/contracts'
import { Int32 } from 'bson'
import type { Doc } from '../links/document-link.ts'
import { docOf } from './same.ts'

/** How a release spells its authentication documents: `v3` up to 3.4, `v4` from 4.0 on. */
export type Spelling = 'v3' | 'v4'

/** The spelling of a release such as `4.2.3`. */
export function spellingOf(release: string): Spelling {
  return release.startsWith('3.') ? 'v3' : 'v4'
}

/** The words for keys that one release has and the other stumbles over or does not know. */
export const KEY_FIELDS: Readonly<Record<Spelling, readonly string[]>> = {
  v3: ['permanentKey', 'opc', 'milenage'],
  v4: ['encPermanentKey', 'encOpcKey', 'encTopcKey'],
}

/** Keys in the words of a release. Up to 3.4 the UDM refuses everybody without `milenage`, used or not. */
export function keyFields({ ki, opc }: Pick<Subscriber, 'ki' | 'opc'>, spelling: Spelling): Doc {
  const [k, op] = [Buffer.from(ki).toString('hex'), Buffer.from(opc).toString('hex')]
  if (spelling === 'v4') return { encPermanentKey: k, encOpcKey: op }
  const plain = { encryptionKey: new Int32(0), encryptionAlgorithm: new Int32(0) }
  return {
    permanentKey: { permanentKeyValue: k, ...plain },
    opc: { opcValue: op, ...plain },
    milenage: { op: { opValue: '', ...plain } },
  }
}

/** 48 bits as 12 hex digits. */
export function sqnText(sqn: bigint): string {
  return sqn.toString(16).padStart(12, '0')
}

/** The digits of a stored SQN however it is spelled; undefined when the core could not read any. */
export function heldSqn(held: unknown): string | undefined {
  const text = typeof held === 'string' ? held : docOf(held).sqn
  return typeof text === 'string' && /^[0-9a-fA-F]+$/.test(text) ? text : undefined
}

/** A SQN in the words of a release: what stands there when that will do, else the same number, else `first`. */
export function sqnField(held: unknown, first: bigint, spelling: Spelling): unknown {
  const digits = heldSqn(held)
  const isReadable = digits !== undefined && (typeof held === 'string') === (spelling === 'v3')
  if (isReadable) return held
  // The UDM takes the last 12 digits and fills up what is missing.
  const sqn = digits === undefined ? sqnText(first) : digits.slice(-12).padStart(12, '0')
  return spelling === 'v4' ? { sqnScheme: 'GENERAL', sqn } : sqn
}
