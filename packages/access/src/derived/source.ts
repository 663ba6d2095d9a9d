import { expandRoles, type Principal, type Reader } from '@steeple/contracts'
import { CERTIFICATES } from '../certificates/certificate-store.ts'
import { SESSIONS } from '../people/session-store.ts'
import { isOver } from '../people/sessions.ts'
import { principalOf, USERS } from '../people/user-store.ts'
import { rolesNow } from '../token-owner.ts'
import { TOKENS } from '../token-store.ts'
import { split } from './parent.ts'

/** Links of links of links: nobody needs more. */
const MOST_GENERATIONS = 8

/** What sources are looked up with. */
interface SourceParts {
  readonly reader: Reader
  readonly nowMs: number
  /** Tells the environment's token from another one: what was derived from one that was exchanged has ended. */
  readonly environment: string
}

/** Who a source stands for now; undefined when it has ended. `maker`: what a part of this service was when it made the link. */
export async function sourceNow(
  parts: SourceParts,
  source: string,
  maker?: Principal,
  generation = 0,
): Promise<Principal | undefined> {
  const [kind, id] = split(source)
  if (generation > MOST_GENERATIONS) return undefined
  if (kind === 'system') return maker
  if (kind === 'environment') {
    const roles = expandRoles(['admin'])
    return id === parts.environment ? (maker ?? { kind: 'admin-env', id, name: id, roles }) : undefined
  }
  const found = await LOOK[kind]?.(parts, id)
  if (found === undefined) return undefined
  const isAlive = found.parent === null || (await sourceNow(parts, found.parent, undefined, generation + 1))
  return isAlive ? found.principal : undefined
}

/** Whether what a credential is bound to is alive. */
export async function isBoundAlive(parts: SourceParts, parent: string | null): Promise<boolean> {
  if (parent === null || parent.startsWith('system:')) return true
  return (await sourceNow(parts, parent)) !== undefined
}

type Look = (
  parts: SourceParts,
  id: string,
) => Promise<{ readonly principal: Principal; readonly parent: string | null } | undefined>

const LOOK: Readonly<Record<string, Look>> = {
  session: async ({ reader, nowMs }, id) => {
    const row = await SESSIONS.find(reader, { id })
    const user =
      row === undefined || isOver(row, nowMs) ? undefined : await USERS.find(reader, { id: row.user_id })
    if (row === undefined || user === undefined) return undefined
    const { expires_at_ms: expiresAtMs, parent } = row
    return { principal: { ...principalOf(user), expiresAtMs, via: `session:${id}` }, parent }
  },
  token: async ({ reader, nowMs }, id) => {
    const row = await TOKENS.find(reader, { id })
    const roles = row?.kind === 'api' ? await rolesNow(reader, row) : undefined
    if (row === undefined || roles === undefined || roles.size === 0) return undefined
    const { expires_at_ms: endMs, parent, name } = row
    if (endMs !== null && endMs <= nowMs) return undefined
    return {
      principal: { kind: 'token', id, name, roles, ...(endMs === null ? {} : { expiresAtMs: endMs }) },
      parent,
    }
  },
  certificate: async ({ reader, nowMs }, serial) => {
    const row = await CERTIFICATES.find(reader, { serial })
    if (row === undefined || row.revoked_at_ms !== null || row.expires_at_ms <= nowMs) return undefined
    const user = await USERS.find(reader, { id: row.user_id })
    if (user === undefined) return undefined
    const { expires_at_ms: expiresAtMs, parent } = row
    return {
      principal: { ...principalOf(user), kind: 'cli', expiresAtMs, via: `certificate:${serial}` },
      parent,
    }
  },
}
