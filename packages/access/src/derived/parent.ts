import { createHmac } from 'node:crypto'
import { type JsonSchema, objectSchema, type Principal, type SessionKeys } from '@steeple/contracts'

/*
 * What is derived from a credential is stored with it (`parent`) and ends with it: `token:<id>`, `session:<id>`,
 * `certificate:<serial>`, `environment:<print>`, `system:<part>`. The one that a request came with is looked up again at each
 * use of what was derived, and that one's own parent too.
 */

/** Of the environment's token, without telling anything of it. */
export function environmentPrint(keys: SessionKeys, token: string | undefined): string {
  if (token === undefined || token === '') return 'none'
  return createHmac('sha256', keys.derive('environment token')).update(token).digest('hex').slice(0, 16)
}

/** The credential that a principal came with. */
export function sourceOf(principal: Principal, environment: string): string {
  const { kind, id, via } = principal
  if (via !== undefined) return via
  return kind === 'admin-env' ? `environment:${environment}` : `${kind}:${id}`
}

/**
 * What a credential ends with that is made to last: null for people and the environment's administrator, who come back
 * with another credential. Contract section 13. A person with a certificate is bound to that.
 */
export function lastingParent(maker: Principal): string | null {
  return maker.kind === 'token' || maker.kind === 'cli' ? sourceOf(maker, '') : null
}

/** Kind and id of a source. */
export function split(source: string): readonly [kind: string, id: string] {
  const colon = source.indexOf(':')
  return [source.slice(0, colon), source.slice(colon + 1)]
}

/** A source as it is answered; null for none. */
export function parentRecord(parent: string | null): { readonly kind: string; readonly id: string } | null {
  if (parent === null) return null
  const [kind, id] = split(parent)
  return { kind, id }
}

export const PARENT_SCHEMA: JsonSchema = {
  ...objectSchema({ kind: { type: 'string' }, id: { type: 'string' } }, ['kind', 'id']),
  type: ['object', 'null'],
  description:
    'The credential that it ends with: token, session or certificate with its id, environment, system; more may come. Null: none.',
}
