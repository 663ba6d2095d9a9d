import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { collectorConformance, fakeClock, tempDir } from '@steeple/testkit'
import { fileCollector } from '../src/collector.ts'

collectorConformance('sample-plugin', async () => {
  const folder = await tempDir()
  const file = join(folder.path, 'usage.json')
  const core = { boot: 1, up: 0, down: 0 }
  const write = (): Promise<void> => {
    const session = {
      id: '1',
      imsi: '999990000000001',
      apn: 'internet',
      up_bytes: core.up,
      down_bytes: core.down,
    }
    return writeFile(file, JSON.stringify({ boot: String(core.boot), sessions: [session] }))
  }
  const open = () => fileCollector({ source: 'sample-plugin', file, clock: fakeClock() })
  await write()
  return {
    collector: open(),
    traffic: async (upBytes, downBytes) => {
      core.up += upBytes
      core.down += downBytes
      await write()
    },
    restartCore: async () => {
      Object.assign(core, { boot: core.boot + 1, up: 0, down: 0 })
      await write()
    },
    reopen: async () => open(),
    world: () => readFile(file, 'utf8'),
    close: () => folder.remove(),
  }
})
