import {
  clockJudgeRef,
  type Imsi,
  type ServiceError,
  subscribersRef,
  systemPrincipal,
} from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'
import {
  assert,
  bodyOf,
  codeOf,
  eventually,
  type FakeClock,
  fakeClock,
  loadTestbed,
  pluginFrom,
  suite,
  type Testbed,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import type { SimBody } from './support/answers.ts'

const expiry = suite('sims/expiry')

const DAY = 86_400_000
const IMSIS = ['999990000000001', '999990000000002', '999990000000003'].map((imsi) => imsi as Imsi)
const [ISSUED, , SUSPENDED] = IMSIS.map((imsi) => imsiHash(imsi))

interface Box {
  readonly clock: FakeClock
  readonly bed: Testbed
  states(): Promise<readonly string[]>
  /** Lets the time go until the SIMs are so. */
  become(states: readonly string[]): Promise<void>
}

/** A SIM that lives a year in each state that can expire. */
async function withSims(work: (box: Box) => Promise<void>): Promise<void> {
  const { startTestbed } = await loadTestbed()
  const clock = fakeClock()
  const bed = await startTestbed({ plugins: [await pluginFrom(import.meta.url, plugin)], clock })
  const show = async (imsi: Imsi): Promise<SimBody> =>
    bodyOf(await bed.request('GET', `/v1/sims/${imsiHash(imsi)}`))
  const states = async (): Promise<readonly string[]> => {
    const sims = await Promise.all(IMSIS.map(show))
    return sims.map(({ state, suspend_reason }) => `${state}${suspend_reason ?? ''}`)
  }
  try {
    for (const imsi of IMSIS) bodyOf(await bed.request('POST', '/v1/sims', { body: { imsi } }), 201)
    bodyOf(await bed.request('POST', `/v1/sims/${SUSPENDED}/suspend`))
    await work({
      clock,
      bed,
      states,
      become: (wanted) =>
        eventually(async () => {
          await clock.advance(2_500)
          assert.equal(await states(), wanted)
        }),
    })
  } finally {
    await bed.stop()
  }
}

const AS_ISSUED = ['issued', 'issued', 'suspendedoperator']
const EXPIRED = ['expired', 'expired', 'expired']

expiry(
  'is put off for many at once, never brought forward, and gives expired SIMs back what they were',
  async () => {
    await withSims(async ({ clock, bed, states, become }) => {
      const until = (days: number): string => new Date(clock.nowMs() + days * DAY).toISOString()
      const extend = async (expires_at: string) => {
        const body = { action: 'extend', expires_at, ids: [ISSUED, SUSPENDED] }
        return await bed.request('POST', '/v1/sims/bulk', { body })
      }
      const ends = async (): Promise<string> =>
        bodyOf<SimBody>(await bed.request('GET', `/v1/sims/${ISSUED}`)).expires_at
      assert.is(bodyOf<{ unchanged: number }>(await extend(until(1))).unchanged, 2)
      await bed.service(clockJudgeRef)?.confirm()
      clock.jump(clock.nowMs() + 366 * DAY)
      await bed.service(clockJudgeRef)?.confirm()
      await become(EXPIRED)
      assert.is(codeOf(await extend(until(-1)), 400), 'validation_failed')
      const later = until(365)
      assert.is(bodyOf<{ changed: number }>(await extend(later)).changed, 2)
      assert.equal(await states(), ['issued', 'expired', 'suspendedoperator'])
      assert.is(Date.parse(await ends()), Date.parse(later))
      assert.match(JSON.stringify(await bed.audit()), `"expires_at":"${later}"`)
      bodyOf(await bed.request('POST', `/v1/sims/${ISSUED}/revoke`))
      assert.is(bodyOf<{ failed: number }>(await extend(until(400))).failed, 1)
    })
  },
  { limitMs: 120_000 },
)

expiry('leaves no suspension to be lifted of a SIM that has expired, and says so', async () => {
  await withSims(async ({ clock, bed, become }) => {
    const [hash, by] = [imsiHash('999990000000001' as Imsi), systemPrincipal('fairuse')]
    await bed.service(subscribersRef)?.suspend(hash, 'quota', by)
    clock.jump(clock.nowMs() + 366 * DAY)
    await bed.service(clockJudgeRef)?.confirm()
    await become(EXPIRED)
    for (const reason of ['quota', 'policy'] as const) {
      const error = await bed
        .service(subscribersRef)
        ?.resume(hash, reason, by)
        .then(
          () => undefined,
          (refusal: ServiceError) => refusal,
        )
      assert.is(error?.code, 'sim_state_conflict')
    }
  })
})

expiry('lets nothing expire by a clock that leapt, and everything once it is confirmed', async () => {
  await withSims(async ({ clock, bed, states, become }) => {
    await clock.advance(6_000)
    clock.jump(clock.nowMs() + 800 * DAY)
    await clock.advance(60_000)
    assert.equal(await states(), AS_ISSUED)
    const issued = bodyOf<{ first: { expires_at: string } }>(
      await bed.request('POST', '/v1/sims', { body: { expires_in: '1d' } }),
      201,
    )
    assert.ok(Date.parse(issued.first.expires_at) < Date.UTC(2026, 0, 3), 'counted by the service time')
    await bed.service(clockJudgeRef)?.confirm()
    await become(EXPIRED)
    await clock.advance(60_000)
    assert.equal(await states(), EXPIRED)
  })
})

expiry('gives back what a wrong clock has expired, as it was', async () => {
  await withSims(async ({ clock, bed, states, become }) => {
    const rightMs = clock.nowMs()
    clock.jump(rightMs + 800 * DAY)
    await bed.service(clockJudgeRef)?.confirm()
    await become(EXPIRED)
    clock.jump(rightMs)
    await clock.advance(6_000)
    assert.equal(await states(), EXPIRED, 'a clock that is set back is not believed either')
    await bed.service(clockJudgeRef)?.confirm()
    await become(AS_ISSUED)
    const audit = await bed.audit()
    assert.ok(audit.some(({ action, target }) => action === 'sim.unexpire' && target === ISSUED))
    bodyOf(await bed.request('POST', `/v1/sims/${SUSPENDED}/resume`))
    assert.equal(await states(), ['issued', 'issued', 'issued'])
  })
})

expiry.run()
