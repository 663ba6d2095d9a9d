import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { needChf, type Octets, type RealChf, startChf, startNrf } from './support/real-chf.ts'
import { imsiOf, Ledger, makeWorld } from './support/world.ts'

needChf()
const real = suite('collector-cdr/real-chf')
const systemClock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
const SIMS = [1, 2, 3].map(imsiOf)

/** What one report says; the third is more than an INTEGER of three octets holds. */
const octetsOf = (round: number, sim: number): Octets => ({
  up: 1_000 * (round + 1) + sim,
  down: round === 2 ? 1_900_000_000 : 7 + sim,
})

real('counts what the charging requests say of several sessions, over the end of the CHF too', async () => {
  const [world, own, nrf] = await Promise.all([makeWorld(), tempDir(), startNrf()])
  const collector = world.open(systemClock)
  const ledger = new Ledger()
  const truth = new Map(SIMS.map((imsi) => [imsi, [0, 0] as readonly [number, number]]))
  /** What the next request may take off the disk was counted before it. */
  const isCounted = async (imsi: string, { up, down }: Octets): Promise<void> => {
    const [upBefore = 0, downBefore = 0] = truth.get(imsi) ?? []
    truth.set(imsi, [upBefore + up, downBefore + down])
    await eventually(async () => {
      await ledger.round(collector)
      for (const [sim, sums] of truth) assert.equal(ledger.of(sim), sums)
    })
  }
  const live = async (chf: RealChf): Promise<void> => {
    const names = await Promise.all(SIMS.map((imsi) => chf.create(imsi, 1)))
    const second = await chf.create(SIMS[0] ?? '', 2)
    for (let round = 0; round < 4; round += 1)
      for (const [sim, imsi] of SIMS.entries()) {
        const octets = octetsOf(round, sim)
        await chf.report(names[sim] ?? '', imsi, octets)
        await isCounted(imsi, octets)
      }
    await chf.report(second, SIMS[0] ?? '', octetsOf(0, 0))
    await isCounted(SIMS[0] ?? '', octetsOf(0, 0))
    for (const [sim, imsi] of SIMS.slice(0, 2).entries()) {
      await chf.release(names[sim] ?? '', imsi, octetsOf(1, sim))
      await isCounted(imsi, octetsOf(1, sim))
    }
  }
  try {
    for (const signal of ['SIGKILL', 'SIGTERM', 'SIGKILL'] as const) {
      const chf = await startChf(own.path, world.dir.path)
      try {
        await live(chf)
      } finally {
        await chf.kill(signal)
      }
    }
    await ledger.round(world.open(systemClock))
    for (const [sim, sums] of truth) assert.equal(ledger.of(sim), sums)
  } finally {
    nrf.close()
    await own.remove()
    await world.close()
  }
})

real.run()
