import { type CoreAttaches, type CoreDriver, coreDriverRef } from '@steeple/contracts'
import { imsiHash, parseImsi } from '@steeple/telecom'
import { assert, type FakeMetrics, fakeContext, fakeCore, memoryDb, suite } from '@steeple/testkit'
import { attachCount } from '../src/attach/attach-watch.ts'
import { MIGRATIONS } from '../src/migrations.ts'
import type { SimsParts } from '../src/parts.ts'
import { simCounters } from '../src/states/change.ts'

const count = suite('sims/attach-count')
const never = new AbortController().signal
const imsi = (n: number) => parseImsi(`99999000000000${n}`)!

/** A core that writes each attach down, and a store that outlives the service. */
async function world() {
  const db = memoryDb(MIGRATIONS)
  for (const n of [1, 2])
    await db.write((tx) =>
      tx.run(
        `insert into sims_sim (hash, plmn, profile, state, apns, downlink_bps, uplink_bps, usage_bytes, issued_at_ms,
          expires_at_ms, generation, imsi_sealed, secrets_sealed, hss_status, hss_seq, row_sum)
          values (:hash, :plmn, 'p', 'in-use', '[]', 1, 1, 0, 1, 1, 1, x'00', x'00', 'synced', 1, 1)`,
        { hash: imsiHash(imsi(n)), plmn: n === 1 ? '999-99' : '001-01' },
      ),
    )
  const written: number[] = []
  const mood = { tells: 'each' as 'each' | 'none' | 'away' | 'nothing yet' }
  const core: CoreDriver = {
    ...fakeCore(),
    attaches: async (position): Promise<CoreAttaches | undefined> => {
      if (mood.tells === 'away') throw new Error('its log cannot be read')
      if (mood.tells === 'none') return undefined
      const from = position === undefined ? written.length : Number(position)
      const isTelling = mood.tells !== 'nothing yet'
      const imsis = isTelling ? written.slice(from).map(imsi) : []
      return { imsis, isTelling, position: String(written.length), isWhole: true }
    },
  }
  /** A service that has started anew. */
  const start = (): {
    look(): Promise<boolean>
    value(plmn: string): number | undefined
    metrics: FakeMetrics
  } => {
    const services = new Map<string, object>([[coreDriverRef.id, core]])
    const { context, metrics } = fakeContext({ id: 'sims', config: {}, db, services })
    // The count needs no more of them.
    const parts = { context, counters: simCounters(metrics, '999-99') } as unknown as SimsParts
    const attaches = attachCount(parts)
    return {
      look: () => attaches(never),
      value: (plmn) => metrics.value('svc_attach_total', { plmn }),
      metrics,
    }
  }
  return { written, mood, start }
}

count('counts each attach that the core tells of, two of one phone between two looks as two', async () => {
  const { written, start } = await world()
  written.push(1)
  const service = start()
  // It begins where it is: who looks counts this once more.
  assert.is(await service.look(), false)
  written.push(1, 1, 2, 9)
  assert.is(await service.look(), true)
  assert.is(await service.look(), true)
  assert.equal([service.value('999-99'), service.value('001-01')], [2, 1])
  assert.is(service.metrics.value('svc_sims_attaches_told', {}), 1)
})

count(
  'counts what was written while the service was down, once, and goes on from what it had counted',
  async () => {
    const { written, start } = await world()
    await start().look()
    written.push(1)
    await start().look()
    written.push(1, 1)
    const service = start()
    await service.look()
    assert.is(service.value('999-99'), 3)
    await service.look()
    assert.is(service.value('999-99'), 3)
  },
)

count(
  'counts what it could not hear when it hears it, and lets looks count where nothing tells',
  async () => {
    const { written, mood, start } = await world()
    const service = start()
    mood.tells = 'none'
    assert.is(await service.look(), false)
    assert.is(service.metrics.value('svc_sims_attaches_told', {}), 0)
    mood.tells = 'away'
    assert.is(await service.look(), false)
    mood.tells = 'each'
    await service.look()
    mood.tells = 'away'
    written.push(1)
    assert.is(await service.look(), true)
    mood.tells = 'each'
    assert.is(await service.look(), true)
    assert.is(service.value('999-99'), 1)
    // Another configuration: its log is not known any more, and begins anew when it is.
    mood.tells = 'none'
    assert.is(await service.look(), false)
    written.push(1)
    mood.tells = 'each'
    assert.is(await service.look(), false)
    assert.is(service.value('999-99'), 1)
  },
)

count('lets looks count until the core has shown that it writes of each, and counts from there', async () => {
  const { written, mood, start } = await world()
  const service = start()
  mood.tells = 'nothing yet'
  assert.is(await service.look(), false)
  assert.is(await service.look(), false)
  assert.is(service.metrics.value('svc_sims_attaches_told', {}), 0)
  // The first thing that it writes is of an attach.
  written.push(1)
  mood.tells = 'each'
  assert.is(await service.look(), true)
  assert.is(service.value('999-99'), 1)
})

count('counts once where two instances heard the same', async () => {
  const { written, start } = await world()
  await start().look()
  written.push(1)
  const [one, other] = [start(), start()]
  await Promise.all([one.look(), other.look()])
  await one.look()
  assert.is(one.value('999-99'), 1)
})

count.run()
