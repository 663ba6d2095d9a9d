import { createHmac, createSecretKey, randomUUID, timingSafeEqual } from 'node:crypto'
import {
  type Context,
  type MutationTx,
  type Reply,
  type Request,
  type SessionKeys,
  timestampFromMs,
  unauthenticated,
} from '@steeple/contracts'
import { endOverSessions, endSession } from '../derived/end-derived.ts'
import { JWT_LIFE_MS, type Jwts } from './jwt.ts'
import { type LoginMethod, SESSIONS, type SessionRow } from './session-store.ts'
import { principalOf, rolesOfUser, USERS, type UserRow } from './user-store.ts'

/** How long a session lasts, however much it is used. */
export const SESSION_LIFE_MS: number = 7 * 86_400_000
/** A session that was not refreshed for so long is over. */
export const SESSION_IDLE_MS: number = 86_400_000
const MAX_AGENT_CHARS = 200

/** What a login is made of, once it is known to be good. */
interface Entry {
  readonly user: UserRow
  readonly method: LoginMethod
  /** Uses up what proved it, in the transaction that opens the session. Throws `login_failed` when it was used before. */
  readonly claim?: (tx: MutationTx) => Promise<void>
  /** The session whose link has opened it, and when that ends at the latest. */
  readonly parent?: { readonly source: string; readonly expiresAtMs: number }
}

/** Opens, continues and ends the sessions of people. */
export interface Sessions {
  /** Answers a login: 200 with a JWT, and the refresh cookie. The request's one mutation. */
  open(request: Request, entry: Entry): Promise<Reply>
  /** Answers a refresh: another JWT, another cookie. Throws `unauthenticated`; a token that was used before ends it all. */
  refresh(
    request: Pick<Request, 'header' | 'peerAddress' | 'proxy'>,
    token: string | undefined,
  ): Promise<Reply>
  /** The session that a refresh token is or was of; undefined when it has ended. */
  of(token: string | undefined): Promise<SessionRow | undefined>
  /** The `Set-Cookie` that makes a browser forget its refresh token. */
  readonly farewell: string
}

interface SessionParts {
  readonly context: Pick<Context, 'db' | 'clock' | 'settings' | 'mutate' | 'log'>
  readonly jwts: Jwts
  readonly refreshTokens: RefreshTokens
  /** To be called when a session or a user has lost something. */
  forget(): void
}

/** How an exchange ended: it went on, it was an old token, or there is no such session. */
type Exchange =
  | { readonly kind: 'next'; readonly session: SessionRow; readonly user: UserRow }
  | { readonly kind: 'reuse'; readonly session: SessionRow; readonly user: UserRow }
  | { readonly kind: 'none' }

/** Sessions over the store. */
export function createSessions(parts: SessionParts): Sessions {
  const { context, jwts, refreshTokens } = parts
  const { db, clock } = context
  const isSecure = (proxy: Request['proxy']): boolean => context.settings.tls.enabled || proxy?.isTls === true
  const replyFor = async (
    { proxy }: Pick<Request, 'proxy'>,
    session: SessionRow,
    user: UserRow,
  ): Promise<Reply> => {
    const nowMs = clock.nowMs()
    const roles = rolesOfUser(user)
    const expiresAtMs = wholeSeconds(Math.min(nowMs + JWT_LIFE_MS, session.expires_at_ms))
    const token = await jwts.sign({ userId: user.id, sessionId: session.id, expiresAtMs }, roles, nowMs)
    const refresh = refreshTokens.make({ sessionId: session.id, generation: session.generation })
    return {
      status: 200,
      sealed: true,
      headers: { 'Set-Cookie': refreshCookie(refresh, session.expires_at_ms - nowMs, isSecure(proxy)) },
      body: { token, token_type: 'Bearer', expires_at: timestampFromMs(expiresAtMs), roles },
    }
  }
  return {
    open: async (request, { user, method, claim, parent }) => {
      const nowMs = clock.nowMs()
      const session = newSession(request, user, { method, ...(parent && { parent }) }, nowMs)
      const reply = await replyFor(request, session, user)
      return request.mutate(session.id, async (tx) => {
        await claim?.(tx)
        // It may have been removed while its password was checked.
        const now = await USERS.find(tx, { id: user.id })
        if (now === undefined) throw unauthenticated('the user was removed; ask an admin to add it')
        await endOverSessions(tx, nowMs, nowMs - SESSION_IDLE_MS)
        await USERS.put(tx, { ...now, last_login_at_ms: nowMs })
        await SESSIONS.insert(tx, session)
        tx.audit({
          principal: principalOf(now),
          detail: { user: user.name, method, address: session.address },
        })
        return reply
      })
    },
    refresh: async (request, token) => {
      const found = await exchange(parts, token, request.peerAddress)
      if (found.kind === 'none') throw unauthenticated('the session is over; log in again')
      const { session, user } = found
      if (found.kind === 'next') return replyFor(request, session, user)
      await context.mutate(principalOf(user), 'auth.reuse', session.id, async (tx) => {
        await endSession(tx, session.id, context.clock.nowMs())
        tx.audit({ detail: { user: user.name, address: request.peerAddress } })
        tx.afterCommit(parts.forget)
      })
      context.log.warn({ user: user.id, session: session.id }, 'a used refresh token ended its session')
      throw unauthenticated('the session is over; log in again')
    },
    of: async (token) => {
      const claim = token === undefined ? undefined : refreshTokens.read(token)
      return claim === undefined ? undefined : SESSIONS.find(db, { id: claim.sessionId })
    },
    get farewell() {
      return refreshCookie('', 0, context.settings.tls.enabled)
    },
  }
}

/** Takes a refresh token, and makes the session's next. */
function exchange(
  { context: { db, clock }, refreshTokens }: SessionParts,
  token: string | undefined,
  address: string,
): Promise<Exchange> {
  const claim = token === undefined ? undefined : refreshTokens.read(token)
  if (claim === undefined) return Promise.resolve({ kind: 'none' })
  return db.write(async (tx) => {
    const session = await SESSIONS.find(tx, { id: claim.sessionId })
    const user = session === undefined ? undefined : await USERS.find(tx, { id: session.user_id })
    if (session === undefined || user === undefined) return { kind: 'none' }
    const nowMs = clock.nowMs()
    if (isOver(session, nowMs)) return { kind: 'none' }
    if (claim.generation !== session.generation) return { kind: 'reuse', session, user }
    const next = { ...session, generation: session.generation + 1, used_at_ms: nowMs, address }
    await SESSIONS.put(tx, next)
    return { kind: 'next', session: next, user }
  })
}

/** Whether a session has ended by its age or for want of use. */
export function isOver(session: SessionRow, nowMs: number): boolean {
  return session.expires_at_ms <= nowMs || session.used_at_ms <= nowMs - SESSION_IDLE_MS
}

function newSession(
  request: Pick<Request, 'header' | 'peerAddress'>,
  user: UserRow,
  { method, parent }: Pick<Entry, 'method' | 'parent'>,
  nowMs: number,
): SessionRow {
  return {
    id: randomUUID(),
    user_id: user.id,
    method,
    generation: 0,
    created_at_ms: nowMs,
    used_at_ms: nowMs,
    expires_at_ms: Math.min(nowMs + SESSION_LIFE_MS, parent?.expiresAtMs ?? Number.POSITIVE_INFINITY),
    address: request.peerAddress,
    agent: agentOf(request.header('user-agent') ?? ''),
    parent: parent?.source ?? null,
  }
}

/** What both dialects store as it is, and a terminal shows. */
function agentOf(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, MAX_AGENT_CHARS)
}

/** A JWT counts seconds. RFC 7519 §2. */
function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000
}

const NAME = 'svc_refresh'
/** The routes that take it; no other request carries it. */
const PATH = '/v1/auth'

/**
 * The `Set-Cookie` of a refresh token, or the one that takes it away. RFC 6265 §5.
 *
 * No script reads it, no page of another site sends it, and over TLS it goes nowhere else.
 */
function refreshCookie(token: string, livesMs: number, isSecure: boolean): string {
  const age = Math.max(0, Math.floor(livesMs / 1_000))
  const parts = [`${NAME}=${token}`, `Path=${PATH}`, 'HttpOnly', 'SameSite=Strict', `Max-Age=${age}`]
  return [...parts, ...(isSecure ? ['Secure'] : [])].join('; ')
}

/** The refresh token that a request carries. */
export function refreshTokenOf(request: Pick<Request, 'header'>): string | undefined {
  for (const pair of (request.header('cookie') ?? '').split(';')) {
    const [name, value] = pair.split('=', 2)
    if (name?.trim() === NAME) return value?.trim()
  }
  return undefined
}

/** Which exchange of which session a refresh token is for. */
interface RefreshClaim {
  readonly sessionId: string
  readonly generation: number
}

/**
 * Refresh tokens: the session, the number of the exchange, and an HMAC over both.
 *
 * Nothing of them is stored. A token of an earlier exchange is told from a forgery by its HMAC alone, however old it
 * is: only who once had it can end the session with it.
 */
interface RefreshTokens {
  make(claim: RefreshClaim): string
  /** Undefined for what was never made here. */
  read(token: string): RefreshClaim | undefined
}

const ID_BYTES = 16
const GENERATION_BYTES = 4
const MAC_BYTES = 32
const FORM = /^svcr_([\w-]{70})$/

/** Opens the key of refresh tokens. */
export function createRefreshTokens(keys: SessionKeys): RefreshTokens {
  const bytes = Buffer.from(keys.derive('refresh token'))
  const key = createSecretKey(bytes)
  bytes.fill(0)
  const macOf = (head: Uint8Array): Buffer => createHmac('sha256', key).update(head).digest()
  return {
    make: ({ sessionId, generation }) => {
      const head = Buffer.alloc(ID_BYTES + GENERATION_BYTES)
      head.write(sessionId.replaceAll('-', ''), 'hex')
      head.writeUInt32BE(generation, ID_BYTES)
      return `svcr_${Buffer.concat([head, macOf(head)]).toString('base64url')}`
    },
    read: (token) => {
      const [, text] = FORM.exec(token) ?? []
      if (text === undefined) return undefined
      const octets = Buffer.from(text, 'base64url')
      const head = octets.subarray(0, ID_BYTES + GENERATION_BYTES)
      const mac = octets.subarray(head.length)
      // The last character holds fewer bits than it could: one token has one spelling.
      if (mac.length !== MAC_BYTES || octets.toString('base64url') !== text) return undefined
      if (!timingSafeEqual(mac, macOf(head))) return undefined
      return {
        sessionId: uuidFrom(head.toString('hex', 0, ID_BYTES)),
        generation: head.readUInt32BE(ID_BYTES),
      }
    },
  }
}

function uuidFrom(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
