import { createHash } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Imsi, ImsiHash } from '@steeple/contracts'
import { type BegunSession, collectorConformance, fakeClock, tempDir } from '@steeple/testkit'
import { fileCollector } from '../src/collector.ts'

/** A core that writes its counters to the file. */
function fileCore(file: string, nowMs: () => number) {
  const imsis = Array.from({ length: 6 }, (_, at) => `99999000000000${at + 1}` as Imsi)
  const sessions = new Map<ImsiHash, Record<string, string | number>>()
  let boot = 1
  let last = 0
  const write = (): Promise<void> =>
    writeFile(file, JSON.stringify({ boot: `${boot}`, sessions: [...sessions.values()] }))
  const open = (imsi: string, address: string): BegunSession => {
    last += 1
    const hash = createHash('sha256').update(imsi).digest('hex').slice(0, 12) as ImsiHash
    const row = { id: `${last}`, imsi, apn: 'internet', address, started_at_ms: nowMs() }
    sessions.set(hash, { ...row, up_bytes: 0, down_bytes: 0 })
    return { imsi: hash, apn: 'internet', address, prefix: undefined }
  }
  const begin = async (): Promise<BegunSession> => {
    const session = open(imsis[last] ?? '', `10.45.0.${last + 2}`)
    await write()
    return session
  }
  return {
    imsis,
    begin,
    end: async ({ imsi }: BegunSession) => {
      sessions.delete(imsi)
      await write()
    },
    move: async ({ imsi }: BegunSession, up: number, down: number) => {
      const row = sessions.get(imsi)
      if (row === undefined) throw new Error('it has no session')
      sessions.set(imsi, {
        ...row,
        up_bytes: Number(row.up_bytes) + up,
        down_bytes: Number(row.down_bytes) + down,
      })
      await write()
    },
    restart: async (returning: readonly BegunSession[]) => {
      boot += 1
      const rows = new Map(sessions)
      sessions.clear()
      for (const { imsi, address } of returning) open(`${rows.get(imsi)?.imsi}`, address ?? '')
      await write()
    },
  }
}

collectorConformance('sample-plugin', async () => {
  const folder = await tempDir()
  const file = join(folder.path, 'usage.json')
  const clock = fakeClock()
  const core = fileCore(file, clock.nowMs)
  const phones = [await core.begin(), await core.begin()] as const
  const open = () => fileCollector({ source: 'sample-plugin', file, clock })
  return {
    collector: open(),
    clock,
    imsis: core.imsis,
    sessions: core,
    traffic: { phones, move: core.move },
    restartCore: () => core.restart(phones),
    reopen: async () => open(),
    fallSilent: () => rm(file),
    world: () => readFile(file, 'utf8'),
    close: () => folder.remove(),
  }
})
