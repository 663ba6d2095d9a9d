import { assert, rounds, suite } from '@steeple/testkit'
import type { Euicc } from '@steeple/virtual-euicc'
import fc from 'fast-check'
import { HELD } from '../src/store/rows.ts'
import { type Fields, type Handset, handset } from './support/handset.ts'
import { ADDRESS, type TestCode, type World, world } from './support/world.ts'

const model = suite('esim-smdp/sessions-model')
const PHONES = 4
const CODES = 3

/** One session of a phone: the last answer of each step, and the requests that it has sent. */
interface Session {
  readonly phone: Handset
  readonly eid: string
  token: string | undefined
  answer: Fields | undefined
  stage: number
}
/** What every download must hold to. */
interface Run {
  readonly all: World
  readonly euiccs: readonly Euicc[]
  readonly codes: readonly TestCode[]
  readonly sessions: Session[]
  /** Requests as they were sent, to send them again. */
  readonly sent: { readonly name: string; readonly body: Fields }[]
  /** To whom the profile of a code was delivered. */
  readonly delivered: Map<string, Set<string>>
}
type Step = (run: Run) => Promise<void>

async function send(run: Run, name: string, body: Fields): Promise<Fields | undefined> {
  const answer = await run.all.call(name, body)
  // A session that was over by a clock that is put back later is not over then: what was refused so may yet be the first one.
  if (answer.code !== '8.10.1/3.9') run.sent.push({ name, body })
  assert.ok(answer.status === 200 || answer.status === 204)
  return answer.code === 'ok' ? (answer.body as Fields) : undefined
}

const pick = <T>(from: readonly T[], at: number): T | undefined =>
  from.length === 0 ? undefined : from[at % from.length]

/** One of those that have come so far. */
const waiting = (run: Run, stage: number, at: number): Session | undefined =>
  pick(
    run.sessions.filter((session) => session.stage === stage && session.answer !== undefined),
    at,
  )

/** The same eUICC in several sessions at a time: each has a copy of its memory. */
const begin =
  (at: number): Step =>
  async (run) => {
    const euicc = pick(run.euiccs, at)
    if (euicc === undefined) return
    const phone = handset(run.all.euicc(at % PHONES), ADDRESS)
    const answer = await send(run, 'initiateAuthentication', phone.initiate())
    if (answer !== undefined) run.sessions.push({ phone, eid: euicc.eid, token: undefined, answer, stage: 1 })
  }
const authenticate =
  (at: number, of: number): Step =>
  async (run) => {
    const [session, code] = [waiting(run, 1, at), pick(run.codes, of)]
    if (session?.answer === undefined || code === undefined) return
    const answer = await send(
      run,
      'authenticateClient',
      session.phone.authenticate(session.answer, code.matchingId),
    )
    Object.assign(session, { answer, stage: 2, token: code.token })
  }
const fetchPackage =
  (at: number, confirmation: string): Step =>
  async (run) => {
    const session = waiting(run, 2, at)
    if (session?.answer === undefined || session.token === undefined) return
    const request = session.phone.prepare(session.answer, confirmation)
    const answer = await send(run, 'getBoundProfilePackage', request)
    Object.assign(session, { answer, stage: 3 })
    if (answer === undefined) return
    const to = run.delivered.get(session.token) ?? new Set()
    run.delivered.set(session.token, to.add(session.eid))
    assert.ok(to.size === 1, 'a profile was delivered to two')
  }
const install =
  (at: number): Step =>
  async (run) => {
    const session = waiting(run, 3, at)
    if (session?.answer === undefined) return
    for (const notice of session.phone.install(session.answer)) await send(run, 'handleNotification', notice)
    const [profile] = session.phone.euicc.profiles()
    // The profile that came is the one of its code and of no other.
    const code = run.codes.find(({ token }) => token === session.token)
    assert.is(profile?.imsi, `99970${String(Number.parseInt(code?.hash ?? '', 16)).padStart(10, '0')}`)
    session.stage = 4
  }
const cancel =
  (at: number, reason: number): Step =>
  async (run) => {
    const session = pick(run.sessions, at)
    if (session?.answer === undefined || session.stage < 2) return
    await send(run, 'cancelSession', session.phone.cancel(session.answer, reason))
    session.stage = 5
  }
const again =
  (at: number): Step =>
  async (run) => {
    const request = pick(run.sent, at)
    if (request === undefined) return
    const before = await run.all.call(request.name, request.body)
    // Only the first call of a session can be made twice: it begins another one.
    if (request.name === 'authenticateClient' || request.name === 'getBoundProfilePackage')
      assert.is(before.code, '8.10.1/3.9')
  }
const time =
  (ms: number): Step =>
  async (run) =>
    void (await run.all.clock.advance(ms))
const jump =
  (ms: number): Step =>
  async (run) =>
    run.all.clock.jump(run.all.clock.nowMs() + ms)

const at = fc.nat(50)
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: at.map(begin) },
  { weight: 6, arbitrary: fc.tuple(at, at).map(([one, of]) => authenticate(one, of)) },
  {
    weight: 6,
    arbitrary: fc
      .tuple(at, fc.constantFrom('1', '1', '1', '2'))
      .map(([one, code]) => fetchPackage(one, code)),
  },
  { weight: 4, arbitrary: at.map(install) },
  { weight: 1, arbitrary: fc.tuple(at, fc.constantFrom(0, 1, 2, 5)).map(([one, why]) => cancel(one, why)) },
  { weight: 3, arbitrary: at.map(again) },
  { weight: 2, arbitrary: fc.nat(100_000).map(time) },
  { weight: 1, arbitrary: fc.integer({ min: -3_600_000, max: 600_000 }).map(jump) },
)

async function held(run: Run): Promise<void> {
  const rows = await HELD.select(run.all.fake.context.db, '')
  const holders = new Map<string, Set<string>>()
  for (const row of rows) holders.set(row.hash, (holders.get(row.hash) ?? new Set()).add(row.eid_hash))
  for (const to of holders.values()) assert.is(to.size, 1, 'one SIM is on two devices')
  for (const { token } of run.codes) {
    const row = await run.all.row({ token })
    assert.is(row.downloads > 0, run.delivered.has(token), 'what is stored is what was delivered')
  }
}

model('never gives one profile to two devices, nor one code two profiles, in whatever order', async () => {
  const all = fc.array(steps, { minLength: 60, maxLength: 120 })
  await fc.assert(
    fc.asyncProperty(all, fc.boolean(), async (plan, single_use) => {
      await using scene = await world({ config: { single_use, max_confirmation_attempts: 5 } })
      const codes = [await scene.issue(1), await scene.issue(2, { confirmation: '1' })]
      // The third is for the SIM of the first.
      codes.push(await scene.issue(1, { row: { token: 'token-of-the-same' } }))
      assert.is(codes.length, CODES)
      const euiccs = Array.from({ length: PHONES }, (_, number) => scene.euicc(number))
      const run: Run = { all: scene, euiccs, codes, sessions: [], sent: [], delivered: new Map() }
      for (const step of plan) await step(run)
      await held(run)
    }),
    { numRuns: rounds(8) },
  )
})

model.run()
