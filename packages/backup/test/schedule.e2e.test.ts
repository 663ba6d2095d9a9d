import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, eventually, fakeClock, loadTestbed, pluginFrom, suite } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { takenAt } from '../src/take.ts'

const test = suite('scheduled backups')

const HOUR_MS = 3_600_000
/** What the testbed calls its node. */
const NODE = 'testbed'

test('one is taken when it is due, readable by its owner alone, and the oldest beyond keep goes', async () => {
  const { startTestbed } = await loadTestbed()
  const clock = fakeClock()
  const bed = await startTestbed({
    plugins: [await pluginFrom(import.meta.url, plugin)],
    config: { backup: { schedule: '1h', keep: 2 } },
    clock,
  })
  const folder = join(bed.dataDir, 'backups')
  const names = async (): Promise<readonly string[]> => (await readdir(folder).catch(() => [])).toSorted()
  try {
    const seen = new Set<string>()
    for (let round = 1; round <= 4; round++) {
      const before = seen.size
      await eventually(async () => {
        // It looks once a minute: a look that finds nothing due changes nothing.
        await clock.advance(70_000)
        for (const name of await names()) if (takenAt(name, NODE) !== undefined) seen.add(name)
        assert.ok(seen.size > before, 'none was taken')
      })
      await eventually(async () => {
        const now = await names()
        assert.ok(
          now.every((name) => takenAt(name, NODE) !== undefined),
          now.join(),
        )
        assert.ok(now.length <= 2, now.join())
      })
      await clock.advance(HOUR_MS)
    }
    const [newest = ''] = (await names()).toReversed()
    assert.is((await stat(join(folder, newest))).mode & 0o777, 0o600)
  } finally {
    await bed.stop()
  }
})

test('the name of a backup says when it was taken', async () => {
  assert.is(takenAt('svc-backup-box-20261122T181349Z.tar.gz.enc', 'box'), Date.UTC(2026, 10, 22, 18, 13, 49))
  for (const name of [
    'x.tar.gz',
    'svc-backup-box.tar.gz',
    'svc-backup-box-20261122T181349Z.tar.gz.part',
    'svc-backup-box-2-20261122T181349Z.tar.gz',
    'svc-backup-other-20261122T181349Z.tar.gz',
  ])
    assert.is(takenAt(name, 'box'), undefined)
})

test.run()
