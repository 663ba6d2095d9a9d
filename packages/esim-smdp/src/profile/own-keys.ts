import { createHmac, createSecretKey } from 'node:crypto'
import type { ProfileFacts } from '../parts.ts'
import { ELEMENT } from './elements.ts'
import { CODE, type Keep, type Step, withElements, withPins } from './steps.ts'
import { leaf, type Piece, partAt, withEach, withPart } from './tree.ts'

/**
 * Secrets of the template that are nobody's in particular: keys of security domains (over the air) and the second
 * administrative code. What a template has is public, so each profile gets its own, out of its Ki: whoever has that can
 * derive them again, and nobody else. ADM1 too when the SIM has none.
 */
export const withOwnKeys: Step = (elements, facts, keep) => {
  const admins = new Map([[CODE.adm2, derived(facts, keep, 'adm2', 8)] as const])
  const all = new Map<number, Uint8Array>(admins)
  if (facts.adm1.length === 0) all.set(CODE.adm1, derived(facts, keep, 'adm1', 8))
  let count = 0
  return withElements(withPins(elements, all), ELEMENT.securityDomain, (piece) =>
    withEach(piece, 0xa2, (list) =>
      withEach(list, 0x30, (key) =>
        withComponents(key, (octets) => derived(facts, keep, `key ${++count}`, octets)),
      ),
    ),
  )
}

/** KeyObject: its components are `30 { 30 { 80 type, 86 data } }`. TCA 3.3 §8.6.3. */
function withComponents(key: Piece, draw: (octets: number) => Uint8Array): Piece {
  return withEach(key, 0x30, (components) =>
    withEach(components, 0x30, (one) => {
      const octets = partAt(one, 0x86)?.value.length ?? 0
      return octets === 0 || octets > 32 ? one : withPart(one, leaf(0x86, draw(octets)))
    }),
  )
}

/** HMAC-SHA-256 under Ki of a label and the ICCID. */
function derived(facts: ProfileFacts, keep: Keep, label: string, octets: number): Uint8Array {
  // As a key object: Node takes three times as long to see that octets are none.
  const digest = createHmac('sha256', createSecretKey(facts.ki))
    .update(`steeple esim ${label} ${facts.iccid}`)
    .digest()
  return keep(digest).subarray(0, octets)
}
