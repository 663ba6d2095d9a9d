import { free5gcOamRef } from '@steeple/southbound'
import { type CollectorFixture, collectorConformance, fakeContext } from '@steeple/testkit'
import { amfCollector } from '../src/plugin.ts'
import { imsiOf, modelCore } from './support/model-core.ts'

async function make(): Promise<CollectorFixture> {
  const fake = fakeContext<unknown>({ config: {}, settings: { core: 'core_b' } })
  const core = modelCore(() => fake.clock.nowMs())
  await fake.provide(free5gcOamRef, core)
  return {
    collector: amfCollector(fake.context),
    clock: fake.clock,
    imsis: [1, 2, 3, 4].map(imsiOf),
    sessions: { begin: async () => core.begin(), end: async (session) => core.end(session) },
    restartCore: async () => core.restart(),
    reopen: async () => amfCollector(fake.context),
    fallSilent: async () => {
      core.away.add('amf')
    },
    world: async () => JSON.stringify([[...core.phones], [...core.smf]]),
    close: fake.dispose,
  }
}

collectorConformance('collector-amf', make)
