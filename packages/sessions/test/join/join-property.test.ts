import type { ImsiHash, SessionSighting } from '@steeple/contracts'
import { assert, rounds, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { charged, reading, sessionsWorld, sighting } from '../support/world.ts'

const property = suite('sessions/join/property', { limitMs: 600_000 })
const ROUNDS = 8
const PHONES = 4
const SKEW_MS = 200_000

/** A session as it really was: from one round up to before another one. */
interface Real {
  readonly phone: number
  readonly from: number
  readonly to: number
  readonly address: string
}

/** For each phone, what it does in each round: 0 nothing, else the session with that number of its own (they only grow). */
const world = fc.array(
  fc.array(fc.constantFrom('stay', 'stay', 'attach', 'leave'), { minLength: ROUNDS, maxLength: ROUNDS }),
  { minLength: PHONES, maxLength: PHONES },
)

/** Phones come back with the address that they had. */
function realSessions(doings: readonly (readonly string[])[]): readonly Real[] {
  return doings.flatMap((doing, phone) => {
    const own: { from: number; to: number }[] = []
    doing.forEach((what, round) => {
      const last = own.at(-1)
      const isOn = last !== undefined && last.to === ROUNDS
      if (isOn && what !== 'stay') last.to = round
      if (what === 'attach') own.push({ from: round, to: ROUNDS })
    })
    return own.map((span) => ({ phone, ...span, address: `10.45.0.${phone}` }))
  })
}

function seenBy(
  source: string,
  all: readonly Real[],
  round: number,
  startMs: number,
): readonly SessionSighting[] {
  return all
    .filter(({ from, to }) => from <= round && round < to)
    .map(({ phone, from, address }) =>
      sighting({
        imsi: `${phone}`.repeat(12) as ImsiHash,
        reference: `${source}-${phone}-${from}`,
        address,
        startedAtMs: source === 'mme' ? startMs + from * 15_000 : undefined,
        seenAtMs: startMs + round * 15_000 + (source === 'mme' ? 0 : SKEW_MS),
      }),
    )
}

property(
  'makes one record of each real session, though one source is a round behind and lists in any order',
  async () => {
    await fc.assert(
      fc.asyncProperty(world, fc.boolean(), async (doings, isReversed) => {
        const all = realSessions(doings)
        const bed = await sessionsWorld()
        const startMs = bed.fake.clock.nowMs()
        for (let round = 0; round < ROUNDS + 2; round++) {
          const mme = round < ROUNDS ? seenBy('mme', all, round, startMs) : []
          const smf = seenBy('smf', all, round - 1, startMs)
          const lists = { mme: { sightings: mme }, smf: { sightings: smf } }
          const reversed = { smf: { sightings: smf.toReversed() }, mme: { sightings: mme.toReversed() } }
          await bed.round(isReversed ? reversed : lists)
        }
        const rows = await bed.sessions()
        const found = rows.map(({ imsi, started_at_ms: atMs }) => `${imsi[0]} ${(atMs - startMs) / 15_000}`)
        const real = all.map(({ phone, from }) => `${phone} ${from}`)
        assert.equal(found.toSorted(), real.toSorted())
        assert.ok(rows.every(({ state }) => state === 'ended'))
        await bed.fake.dispose()
        bed.db.close()
      }),
      { numRuns: rounds(20) },
    )
  },
)

property(
  'keeps the same rows whether it remembers the rounds before or reads them again each time',
  async () => {
    const tables = ['session', 'link', 'counter', 'held', 'ledger', 'source', 'round']
    await fc.assert(
      fc.asyncProperty(world, async (doings) => {
        const all = realSessions(doings)
        const runs: (readonly unknown[])[] = []
        for (const isRestarted of [false, true]) {
          let bed = await sessionsWorld()
          const startMs = bed.fake.clock.nowMs()
          for (let round = 0; round < ROUNDS + 1; round++) {
            const atMs = startMs + (round + 1) * 15_000
            // The tap sees all addresses, of whom nobody may be known yet.
            const volumes = Array.from({ length: PHONES }, (_, phone) =>
              reading(round * (phone + 1), atMs, {
                key: { by: 'address', address: `10.45.0.${phone}` },
                count: { counter: `10.45.0.${phone}`, generation: 'g1' },
              }),
            )
            const records = charged(round, atMs - 15_000, atMs, {
              key: { by: 'imsi', imsi: `1`.repeat(12) as ImsiHash },
            })
            await bed.round({
              mme: { sightings: round < ROUNDS ? seenBy('mme', all, round, startMs) : [] },
              gtpu: { isWhole: false, volumes },
              cdr: { isWhole: false, volumes: [records], position: `${round}` },
            })
            if (isRestarted) bed = await bed.restarted()
          }
          runs.push(
            await Promise.all(
              tables.map((table) => bed.db.all(`select * from sessions_${table} order by 1, 2, 3`)),
            ),
          )
          await bed.fake.dispose()
          bed.db.close()
        }
        assert.equal(runs[1], runs[0])
      }),
      { numRuns: rounds(8) },
    )
  },
)

property.run()
