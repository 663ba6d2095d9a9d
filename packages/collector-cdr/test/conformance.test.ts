import { readdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { parseImsi } from '@steeple/telecom'
import type { BegunSession, CollectorFixture } from '@steeple/testkit'
import { collectorConformance } from '@steeple/testkit'
import { modelChf } from './support/model-chf.ts'
import { hashOf, imsiOf, makeWorld } from './support/world.ts'

const IMSIS = [imsiOf(1), imsiOf(2)] as const

function phone(imsi: string): BegunSession {
  return { imsi: hashOf(imsi), apn: 'internet', address: undefined, prefix: undefined }
}

async function make(): Promise<CollectorFixture> {
  const world = await makeWorld()
  const { path } = world.dir
  const chf = modelChf(path, () => world.clock.nowMs(), { names: 'supi' })
  let sessions = new Map<string, string>()
  const restart = async (): Promise<void> => {
    chf.crash()
    sessions = new Map()
    await world.clock.advance(2_000)
  }
  return {
    collector: world.open(),
    clock: world.clock,
    imsis: IMSIS.flatMap((imsi) => parseImsi(imsi) ?? []),
    traffic: {
      phones: [phone(IMSIS[0]), phone(IMSIS[1])],
      move: async ({ imsi }, upBytes, downBytes) => {
        const raw = IMSIS.find((one) => hashOf(one) === imsi) ?? ''
        const session = sessions.get(raw) ?? chf.create(raw)
        sessions.set(raw, session)
        chf.update(session, { ratingGroup: 1, upBytes, downBytes })
      },
    },
    restartCore: restart,
    reopen: async () => world.open(),
    fallSilent: async () => {
      await rename(path, `${path}-away`)
    },
    world: async () => {
      const names = await readdir(path)
      const files = await Promise.all(names.toSorted().map((name) => readFile(join(path, name), 'hex')))
      return JSON.stringify([names.toSorted(), files])
    },
    close: async () => {
      await rename(`${path}-away`, path).catch(() => undefined)
      await world.close()
    },
  }
}

collectorConformance('collector-cdr', make)
