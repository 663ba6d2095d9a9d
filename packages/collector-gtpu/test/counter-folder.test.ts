import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { counterFolder, sweepCounterFolders } from '../src/plugin.ts'

const folders = suite('collector-gtpu/counter-folder')
const DAY_MS = 86_400_000

/** A place in memory, a data directory and the folder of its counters, into which nothing was written for so long. */
async function world(
  unwrittenMs: number,
  body: (place: string, dataDir: string, folder: string) => void,
): Promise<void> {
  await using root = await tempDir()
  const [place, dataDir] = [join(root.path, 'run'), join(root.path, 'data')]
  for (const path of [place, dataDir]) mkdirSync(path)
  const folder = counterFolder(dataDir, 'pcap', [place])
  writeFileSync(join(folder, 'counters-0'), 'x')
  const at = (Date.now() - unwrittenMs) / 1_000
  for (const name of readdirSync(folder)) utimesSync(join(folder, name), at, at)
  body(place, dataDir, folder)
}

folders('removes those of services whose data directory is gone, after a day', async () => {
  await world(2 * DAY_MS, (place, dataDir, folder) => {
    assert.is(sweepCounterFolders(Date.now(), [place]), 0, 'its service may come back')
    rmSync(dataDir, { recursive: true })
    assert.is(sweepCounterFolders(Date.now(), [join(place, 'none'), place]), 1)
    assert.not.ok(existsSync(folder))
  })
  await world(DAY_MS / 2, (place, dataDir, folder) => {
    rmSync(dataDir, { recursive: true })
    assert.is(sweepCounterFolders(Date.now(), [place]), 0, 'its disk may be away for a moment')
    assert.ok(existsSync(folder))
  })
})

folders('leaves alone what is not known to be such a folder', async () => {
  await world(2 * DAY_MS, (place, dataDir, folder) => {
    rmSync(dataDir, { recursive: true })
    chmodSync(folder, 0o755)
    assert.is(sweepCounterFolders(Date.now(), [place]), 0, 'others may write there')
    chmodSync(folder, 0o700)
    rmSync(join(folder, 'data-dir'))
    assert.is(sweepCounterFolders(Date.now() + 3 * DAY_MS, [place]), 0, 'nobody knows whose it is')
    mkdirSync(join(place, 'steeple_other'), { mode: 0o700 })
    assert.is(sweepCounterFolders(Date.now() + 3 * DAY_MS, [place]), 0)
  })
})

folders('gives one service the same folder again, and each driver its own', async () => {
  await world(0, (place, dataDir, folder) => {
    assert.is(counterFolder(dataDir, 'pcap', [place]), folder)
    assert.is.not(counterFolder(dataDir, 'file', [place]), folder)
    assert.is.not(counterFolder(`${dataDir}2`, 'pcap', [place]), folder)
    chmodSync(folder, 0o777)
    assert.throws(() => counterFolder(dataDir, 'pcap', [place]), /belongs to somebody else/)
  })
})

folders.run()
