import { isServiceError, type Reply, type Role } from '@steeple/contracts'
import { assert, fakeClock, fakeContext, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { createSessionAuthenticator } from '../src/authenticator.ts'
import { createJwts } from '../src/people/jwt.ts'
import { SESSIONS } from '../src/people/session-store.ts'
import {
  createRefreshTokens,
  createSessions,
  SESSION_IDLE_MS,
  SESSION_LIFE_MS,
} from '../src/people/sessions.ts'
import { eraseUser } from '../src/people/user-life.ts'
import { USERS, type UserRow } from '../src/people/user-store.ts'
import { tokenDb, UNBOUND } from './helpers.ts'
import { testKeys } from './people-helpers.ts'
import { fakeRequest } from './people-request.ts'

const machine = suite('access/session machine')
const STARTED_MS = Date.UTC(2026, 5, 1)
const HOUR_MS = 3_600_000

/** One step of somebody, by the numbers of users, sessions and exchanges so far (taken modulo). */
type Step =
  | { readonly do: 'open'; readonly user: number }
  | { readonly do: 'refresh'; readonly session: number; readonly back: number }
  | { readonly do: 'end'; readonly session: number }
  | { readonly do: 'roles'; readonly user: number; readonly role: Role }
  | { readonly do: 'remove'; readonly user: number }
  | { readonly do: 'wait'; readonly hours: number }

/** A session as it should be. */
interface Expected {
  readonly userId: string
  /** Every refresh token that it had, oldest first. */
  readonly refreshTokens: string[]
  readonly jwts: { readonly token: string; readonly untilMs: number }[]
  readonly openedMs: number
  usedMs: number
  isEnded: boolean
}

const small = fc.nat({ max: 7 })
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('open' as const), user: small }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('refresh' as const),
      session: small,
      back: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat({ max: 3 })),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('end' as const), session: small }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('roles' as const),
      user: small,
      role: fc.constantFrom<Role>('viewer', 'operator', 'admin'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), user: small }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('wait' as const), hours: fc.integer({ min: 0, max: 30 }) }),
  },
)

function userRow(id: string): UserRow {
  return {
    id,
    name: `name-${id}`,
    name_key: `name-${id}`,
    roles: '["viewer"]',
    password_hash: '',
    created_at_ms: 0,
    created_by: '{}',
    last_login_at_ms: null,
  }
}

/** The sessions of the package over a store in memory. */
async function world() {
  const db = tokenDb()
  const clock = fakeClock(STARTED_MS)
  const { context } = fakeContext({ config: {}, db, clock, id: 'access' })
  const keys = testKeys()
  const jwts = createJwts(keys, 'svc:test')
  const authenticator = createSessionAuthenticator({
    ...UNBOUND,
    reader: db,
    clock,
    jwts,
    mayCache: () => true,
  })
  const { forget } = authenticator
  const sessions = createSessions({ context, jwts, refreshTokens: createRefreshTokens(keys), forget })
  for (const id of ['0', '1', '2']) await db.write((tx) => USERS.insert(tx, userRow(id)))
  const request = fakeRequest(db, {})
  return { db, clock, sessions, authenticator, request }
}

type World = Awaited<ReturnType<typeof world>>

function shown(reply: Reply): { readonly refresh: string; readonly jwt: string; readonly untilMs: number } {
  const refresh = /svc_refresh=([^;]+)/.exec(reply.headers?.['Set-Cookie'] ?? '')?.[1] ?? ''
  const body = reply.body as { readonly token: string; readonly expires_at: string }
  return { refresh, jwt: body.token, untilMs: Date.parse(body.expires_at) }
}

async function codeOf<T>(work: Promise<T>): Promise<T | string> {
  return work.catch((error: unknown) => (isServiceError(error) ? error.code : String(error)))
}

/** Ends what time has ended. */
function age(expected: readonly Expected[], nowMs: number): void {
  for (const session of expected) {
    const isOver = nowMs - session.openedMs >= SESSION_LIFE_MS || nowMs - session.usedMs >= SESSION_IDLE_MS
    if (isOver) session.isEnded = true
  }
}

async function open(at: World, model: Expected[], userId: string): Promise<void> {
  const user = await USERS.find(at.db, { id: userId })
  if (user === undefined) return
  const { refresh, jwt, untilMs } = shown(await at.sessions.open(at.request, { user, method: 'password' }))
  const nowMs = at.clock.nowMs()
  const jwts = [{ token: jwt, untilMs }]
  model.push({ userId, refreshTokens: [refresh], jwts, openedMs: nowMs, usedMs: nowMs, isEnded: false })
}

async function refresh(at: World, session: Expected, back: number): Promise<void> {
  const { refreshTokens } = session
  const index = Math.max(0, refreshTokens.length - 1 - back)
  const answer = await codeOf(at.sessions.refresh(at.request, refreshTokens[index]))
  const isNewest = index === refreshTokens.length - 1
  if (session.isEnded || !isNewest) {
    assert.is(answer, 'unauthenticated')
    session.isEnded = true
    return
  }
  if (typeof answer === 'string') throw new Error(answer)
  const next = shown(answer)
  assert.not.ok(refreshTokens.includes(next.refresh))
  refreshTokens.push(next.refresh)
  session.jwts.push({ token: next.jwt, untilMs: next.untilMs })
  session.usedMs = at.clock.nowMs()
}

async function change(
  at: World,
  model: Expected[],
  step: Extract<Step, { readonly user: number }>,
  userId: string,
): Promise<void> {
  if (step.do === 'open') return open(at, model, userId)
  const user = await USERS.find(at.db, { id: userId })
  if (user === undefined) return
  if (step.do === 'roles') {
    await at.db.write((tx) => USERS.put(tx, { ...user, roles: JSON.stringify([step.role]) }))
  } else {
    await at.db.write((tx) => eraseUser(tx, userId, at.clock.nowMs()))
    for (const session of model) if (session.userId === userId) session.isEnded = true
  }
  at.authenticator.forget()
}

async function take(at: World, model: Expected[], step: Step): Promise<void> {
  if (step.do === 'wait') {
    await at.clock.advance(step.hours * HOUR_MS)
    age(model, at.clock.nowMs())
    return
  }
  if ('user' in step) return change(at, model, step, String(step.user % 3))
  const session = model[step.session % Math.max(1, model.length)]
  if (session === undefined) return
  if (step.do === 'refresh') return refresh(at, session, step.back)
  const row = await at.sessions.of(session.refreshTokens[0])
  if (row !== undefined) await at.db.write((tx) => SESSIONS.remove(tx, { id: row.id }))
  at.authenticator.forget()
  session.isEnded = true
}

/** Every JWT that was ever given opens what its user may now, or nothing. */
async function check(at: World, model: readonly Expected[]): Promise<void> {
  const nowMs = at.clock.nowMs()
  for (const session of model) {
    const user = await USERS.find(at.db, { id: session.userId })
    for (const { token, untilMs } of session.jwts) {
      const answer = await codeOf(at.authenticator.authenticate(token))
      if (untilMs <= nowMs) assert.is(answer, 'token_expired')
      else if (session.isEnded || user === undefined) assert.is(answer, undefined)
      else if (typeof answer !== 'object') assert.unreachable(`${answer}`)
      else assert.equal([answer.id, answer.roles.has(JSON.parse(user.roles)[0])], [session.userId, true])
    }
  }
}

machine('gives in every order of events exactly what is open', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { minLength: 5, maxLength: 40 }), async (steps) => {
      const at = await world()
      const model: Expected[] = []
      for (const step of steps) {
        await take(at, model, step)
        await check(at, model)
      }
      at.db.close()
    }),
    { numRuns: 100 },
  )
})

machine('takes no JWT of another key, issuer, algorithm or time', async () => {
  const keys = testKeys()
  const jwts = createJwts(keys, 'svc:here')
  const claims = { userId: 'u', sessionId: 's', expiresAtMs: STARTED_MS + 900_000 }
  const good = await jwts.sign(claims, ['viewer'], STARTED_MS)
  assert.equal(await jwts.read(good, STARTED_MS), claims)
  const [head = '', payload = '', signature = ''] = good.split('.')
  const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')
  const others = [
    await createJwts(testKeys(), 'svc:here').sign(claims, ['viewer'], STARTED_MS),
    await createJwts(keys, 'svc:there').sign(claims, ['viewer'], STARTED_MS),
    await createJwts({ ...keys, keyId: '00000002' }, 'svc:here').sign(claims, ['viewer'], STARTED_MS),
    `${none}.${payload}.`,
    `${none}.${payload}.${signature}`,
    `${head}.${payload}.${'A'.repeat(43)}`,
    `${head}.${Buffer.from('{"sub":"u","sid":"s"}').toString('base64url')}.${signature}`,
    '',
  ]
  for (const token of others) assert.is(await jwts.read(token, STARTED_MS), undefined)
  assert.is(await codeOf(jwts.read(good, claims.expiresAtMs)), 'token_expired')
  assert.is(await codeOf(createJwts(keys, 'svc:here').read(good, claims.expiresAtMs)), 'token_expired')
})

machine('reads back every refresh token that it makes, and nothing that is changed', () => {
  const tokens = createRefreshTokens(testKeys())
  fc.assert(
    fc.property(
      fc.uuid(),
      fc.integer({ min: 0, max: 2 ** 32 - 1 }),
      fc.nat({ max: 69 }),
      (sessionId, generation, at) => {
        const token = tokens.make({ sessionId, generation })
        assert.equal(tokens.read(token), { sessionId, generation })
        const place = 5 + at
        const other = token[place] === 'x' ? 'y' : 'x'
        assert.is(tokens.read(token.slice(0, place) + other + token.slice(place + 1)), undefined)
      },
    ),
  )
})

machine.run()
