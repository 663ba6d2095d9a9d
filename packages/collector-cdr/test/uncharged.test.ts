import type { Imsi } from '@steeple/contracts'
import type { ChargingRun, Free5gcOam } from '@steeple/southbound'
import { assert, suite } from '@steeple/testkit'
import { hashOf, imsiOf, Ledger, makeWorld, type World } from './support/world.ts'

const uncharged = suite('collector-cdr/uncharged')

/** A core with phones that have one session each, and a CHF. */
class Core {
  readonly sessions = new Map<string, number>()
  run: ChargingRun | undefined = { run: 'first', isOlderThanSessions: false }
  isSilent = false
  lost: readonly Imsi[] = []
  readonly oam: Free5gcOam = {
    registrations: async () => {
      if (this.isSilent) throw new Error('the AMF cannot be asked')
      const registrations = [...this.sessions].map(([ref, phone]) => ({
        imsi: imsiOf(phone) as Imsi, // 15 digits
        plmn: undefined,
        isConnected: true,
        sessions: [{ ref, dnn: 'internet' }],
      }))
      return { registrations, askedMs: 0 }
    },
    session: async () => undefined,
    charging: async () => this.run,
    uncharged: (phones) => {
      this.lost = phones
    },
  }
}

async function withCore(work: (core: Core, ledger: Ledger, world: World) => Promise<void>): Promise<void> {
  const world = await makeWorld()
  const core = new Core()
  world.oam = core.oam
  try {
    await work(core, new Ledger(), world)
  } finally {
    await world.close()
  }
}

uncharged('tells of sessions that a CHF has forgotten which started again, until they begin again', () =>
  withCore(async (core, ledger, world) => {
    core.sessions.set('a', 1).set('b', 2)
    await ledger.round(world.open())
    assert.equal(core.lost, [])
    core.run = { run: 'second', isOlderThanSessions: false }
    await world.clock.advance(15_000)
    const { volumes } = await ledger.round(world.open())
    assert.equal(core.lost, [imsiOf(1), imsiOf(2)])
    assert.equal(
      volumes.map(({ key, upBytes, downBytes, isIncomplete }) => [key, upBytes, downBytes, isIncomplete]),
      [1, 2].map((phone) => [{ by: 'imsi', imsi: hashOf(imsiOf(phone)), apn: 'internet' }, 0, 0, true]),
    )
    // One begins again, and so does the service.
    core.sessions.delete('a')
    core.sessions.set('c', 1)
    await world.clock.advance(15_000)
    await ledger.round(world.open())
    assert.equal(core.lost, [imsiOf(2)])
    core.sessions.delete('b')
    await ledger.round(world.open())
    assert.equal(core.lost, [])
  }),
)

uncharged('tells of sessions that began while there was no CHF, and not of those before and after', () =>
  withCore(async (core, ledger, world) => {
    const collector = world.open()
    core.sessions.set('a', 1)
    await ledger.round(collector)
    core.run = { run: undefined, isOlderThanSessions: false }
    core.sessions.set('b', 2)
    await ledger.round(collector)
    // The one of before may come back as it was: its registration had gone alone.
    assert.equal(core.lost, [imsiOf(2)])
    core.run = { run: 'first', isOlderThanSessions: false }
    core.sessions.set('c', 3)
    await ledger.round(collector)
    assert.equal(core.lost, [imsiOf(2)])
  }),
)

uncharged('takes all sessions for charged where the SMF has started after the CHF', () =>
  withCore(async (core, ledger, world) => {
    const collector = world.open()
    core.sessions.set('a', 1)
    await ledger.round(collector)
    core.run = { run: 'second', isOlderThanSessions: true }
    core.sessions.set('b', 2)
    await ledger.round(collector)
    assert.equal([core.lost, ledger.isIncomplete(imsiOf(1))], [[], false])
  }),
)

uncharged(
  'goes on telling each minute while sessions are lost, and keeps that while nobody can be asked',
  () =>
    withCore(async (core, ledger, world) => {
      const collector = world.open()
      core.sessions.set('a', 1)
      await ledger.round(collector)
      core.run = { run: 'second', isOlderThanSessions: false }
      const told: number[] = []
      for (let look = 0; look < 5; look += 1) {
        await world.clock.advance(30_000)
        core.isSilent = look === 1
        told.push((await ledger.round(collector)).volumes.length)
      }
      assert.equal(told, [1, 0, 1, 0, 1])
      assert.equal(core.lost, [imsiOf(1)])
    }),
)

uncharged('knows nothing of sessions where nobody can tell how the CHF runs', () =>
  withCore(async (core, ledger, world) => {
    core.run = undefined
    core.sessions.set('a', 1)
    await ledger.round(world.open())
    world.oam = undefined
    await ledger.round(world.open())
    assert.equal([core.lost, ledger.volumes], [[], []])
  }),
)

uncharged.run()
