import { computed, type ReadonlySignal, signal } from '@preact/signals'
import { createClient, type Problem } from '@steeple/client'
import { inTurn } from './in-turn.ts'

/** What a role may be asked for. */
export type Role = 'viewer' | 'operator' | 'sim:issuer' | 'sim:admin' | 'admin'

export interface Me {
  /** `user` for a person, `token`, `admin-env`. */
  readonly kind: string
  readonly name: string
  readonly roles: readonly string[]
}

/** `asking` until the first answer; `out` before anybody has signed in; `ended` when somebody was. */
type State = 'asking' | 'out' | 'in' | 'ended'

export interface Entry {
  readonly token: string
  readonly expires_at: string | null
}

const state = signal<State>('asking')
const who = signal<Me | undefined>(undefined)
const refusal = signal<Problem | undefined>(undefined)

/** Whether somebody is signed in. */
export const signedIn: ReadonlySignal<State> = computed(() => state.value)

/** Why what the browser shows by itself opens nothing any more; undefined for sessions, which just end. */
export const certificateProblem: ReadonlySignal<Problem | undefined> = computed(() => refusal.value)

/** Who is signed in; undefined when nobody is. */
export const me: ReadonlySignal<Me | undefined> = computed(() => who.value)

/** Whether who is signed in may do what asks for a role. */
export function may(role: Role): boolean {
  return who.value?.roles.includes(role) === true
}

/** In this tab alone: a token that was pasted, which outlives a reload. */
const TAB_TOKEN = 'steeple.token'
/** That there is a cookie to go on with: no script can see it. */
const HAS_SESSION = 'steeple.session'
const RENEW_BEFORE_MS = 60_000
const LEAST_WAIT_MS = 5_000

const UNAUTHENTICATED = 401

let token: string | undefined
let isAsking = false
let renewal: Promise<string | undefined> | undefined
let timer: ReturnType<typeof setTimeout> | undefined

/** The token for the next request; after a refusal another one, if there is one. */
export function currentToken(refused: string | undefined): Promise<string | undefined> | string | undefined {
  if (refused === undefined || refused !== token) return token
  return renew()
}

/**
 * Something was refused for who asked. Whoever is here by a certificate alone has no token to ask for another one: whether the
 * browser's certificate still opens anything is asked instead, and when it does not, this is over.
 */
export function withoutToken(): void {
  if (token !== undefined || state.peek() !== 'in' || isAsking) return
  isAsking = true
  void createClient({ url: '' })
    .get('/v1/auth/me')
    .then((answer) => {
      isAsking = false
      if (answer.ok || answer.error.status !== UNAUTHENTICATED || token !== undefined) return
      refusal.value = answer.error
      end()
    })
}

/** Goes on with what this browser has: a token of the tab, the cookie of a session, or a certificate, which it shows by itself over TLS. */
export async function resume(): Promise<void> {
  addEventListener('storage', ({ key, newValue }) => {
    // Somebody has signed in in another tab: the cookie is of this one too, where its session has ended.
    if (key === HAS_SESSION && newValue !== null && state.peek() === 'ended') void renew()
  })
  const pasted = sessionStorage.getItem(TAB_TOKEN)
  if (pasted !== null) token = pasted
  else if (localStorage.getItem(HAS_SESSION) !== null) await renew()
  const maybeKnown = token !== undefined || location.protocol === 'https:'
  if (!maybeKnown || (await introduce()) !== undefined) state.value = 'out'
}

/** Takes the answer of a login: a session, which goes on by its cookie. Gives why it opens nothing. */
export async function enter(entry: Entry): Promise<Problem | undefined> {
  localStorage.setItem(HAS_SESSION, '1')
  sessionStorage.removeItem(TAB_TOKEN)
  take(entry)
  return introduce()
}

/** A link that opens the console has this behind #: it is sent to nobody, and taken out of the address at once. */
const LINK = /^#(svcl_[A-Za-z0-9_-]{43})$/
/** Tokens that are no session: they cannot go on by a cookie. */
const TOKEN = /^svc_/

/** What a link in the address has to be exchanged for; undefined when there is none. */
export function linkInAddress(): string | undefined {
  const token = LINK.exec(location.hash)?.[1]
  if (token !== undefined) history.replaceState(null, '', location.pathname + location.search)
  return token
}

/** Takes what a link was exchanged for: a session of a person, or a token for this tab. Gives why it opens nothing. */
export async function enterWithLink(entry: Entry): Promise<Problem | undefined> {
  return TOKEN.test(entry.token) ? enterWithToken(entry.token) : enter(entry)
}

/** Takes a token as it is, for this tab. Gives why it opens nothing. */
export async function enterWithToken(text: string): Promise<Problem | undefined> {
  const given = text.trim()
  const answer = await createClient({ url: '', token: given }).get('/v1/auth/me')
  if (!answer.ok) return answer.error
  token = given
  sessionStorage.setItem(TAB_TOKEN, given)
  know(answer.data)
  return undefined
}

/** Ends the session, here and at the service, and the token that a link has given; one that was pasted is good for others. */
export async function leave(): Promise<void> {
  const hadSession = localStorage.getItem(HAS_SESSION) !== null
  const own = sessionStorage.getItem(TAB_TOKEN)
  sessionStorage.removeItem(TAB_TOKEN)
  localStorage.removeItem(HAS_SESSION)
  clearTimeout(timer)
  token = undefined
  if (hadSession) await post('/v1/auth/logout').catch(() => undefined)
  if (own !== null)
    await post('/v1/auth/links/close', { authorization: `Bearer ${own}` }).catch(() => undefined)
  who.value = undefined
  state.value = 'out'
}

/** The session is over, whatever was tried: what is on the page stays, and a way in is shown before it. */
function end(): undefined {
  clearTimeout(timer)
  token = undefined
  sessionStorage.removeItem(TAB_TOKEN)
  localStorage.removeItem(HAS_SESSION)
  if (state.peek() === 'in') state.value = 'ended'
  return undefined
}

/** One renewal at a time, whoever asks for it. */
function renew(): Promise<string | undefined> {
  renewal ??= renewOnce().finally(() => {
    renewal = undefined
  })
  return renewal
}

async function renewOnce(): Promise<string | undefined> {
  if (localStorage.getItem(HAS_SESSION) === null) return end()
  const answer = await inTurn(() => post('/v1/auth/refresh')).catch(() => undefined)
  // Not reached: the session may go on well, and so does what there is.
  if (answer === undefined || answer.status >= 500 || answer.status === 429) return token
  if (!answer.ok) return end()
  take(await answer.json())
  // The browser's cookie may be of somebody else by now, who has signed in in another tab, and roles change.
  if (who.peek() !== undefined) void introduce()
  return token
}

function take({ token: next, expires_at }: Entry): void {
  token = next
  clearTimeout(timer)
  if (expires_at === null) return
  const waitMs = Date.parse(expires_at) - Date.now() - RENEW_BEFORE_MS
  timer = setTimeout(() => void renew(), Math.max(LEAST_WAIT_MS, waitMs))
}

/** Asks as whom the token speaks. Gives why it opens nothing. */
async function introduce(): Promise<Problem | undefined> {
  const answer = await createClient({ url: '', ...(token === undefined ? {} : { token }) }).get('/v1/auth/me')
  if (!answer.ok) return answer.error
  know(answer.data)
  return undefined
}

/** Who is here now. What one has read and typed is not for another: the page is loaded anew for them. */
function know(now: Me): void {
  const before = who.peek()
  if (before !== undefined && (before.kind !== now.kind || before.name !== now.name)) location.reload()
  who.value = now
  state.value = 'in'
  refusal.value = undefined
}

function post(path: string, more: Readonly<Record<string, string>> = {}): Promise<Response> {
  const headers = { 'content-type': 'application/json', ...more }
  // Outlives the page: a cookie that nobody took, of a page that was loaded again meanwhile, would end the session.
  return fetch(path, { method: 'POST', headers, body: '{}', keepalive: true })
}
