import type { Imsi } from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'
import { type BegunSession, type CollectorFixture, collectorConformance } from '@steeple/testkit'
import { collected } from './support/collected.ts'
import { phone } from './support/core.ts'

async function fixture(): Promise<CollectorFixture> {
  const it = await collected()
  const { core, clock } = it
  const imsis: Imsi[] = []
  const known = new Map<string, Imsi>()
  return {
    collector: it.collector,
    clock,
    imsis,
    sessions: {
      begin: async (): Promise<BegunSession> => {
        const n = imsis.length + 1
        const one = phone(n, n % 2 === 0 ? 'nr' : 'lte')
        const [{ apn, ipv4 }] = one.sessions
        imsis.push(one.imsi)
        known.set(imsiHash(one.imsi), one.imsi)
        core.attach(one)
        clock.pass(120_000)
        const prefix = `2001:db8:cafe:${(n + 1).toString(16)}::/64`
        return { imsi: imsiHash(one.imsi), apn, address: ipv4, prefix }
      },
      end: async ({ imsi }) => {
        const raw = known.get(imsi)
        if (raw !== undefined) core.detach(raw)
        clock.pass(120_000)
      },
    },
    // The SMF keeps the sessions of an MME or AMF that has forgotten its phones.
    restartCore: async () => {
      core.lists.mme = []
      core.lists.amf = []
      clock.pass(120_000)
    },
    reopen: async () => it.reopen(),
    fallSilent: async () => {
      await core.close()
      clock.pass(120_000)
    },
    world: async () => JSON.stringify(core.lists),
    close: async () => it[Symbol.asyncDispose](),
  }
}

collectorConformance('collector-mme', fixture)
