import { access, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { nodeIdentityRef, nodeStateRef } from '@steeple/contracts'
import { assert, type FakeClock, fakeClock, fakeContext, memoryDb, suite, tempDir } from '@steeple/testkit'
import { type BackupConfig, backupCount } from '../src/parts.ts'
import { createSchedule, type Schedule } from '../src/schedule.ts'
import { backupName, takenAt } from '../src/take.ts'
import { FACTS, smallState } from './support/state.ts'

const test = suite('the directory of scheduled backups')

const NODE = 'hill'
const HOUR_MS = 3_600_000

/** A schedule of every hour without a service around it. */
function scheduleIn(directory: string, keep: number, clock: FakeClock): Schedule {
  const config: BackupConfig = { schedule: '1h', directory, keep }
  const services = new Map<string, object>([
    [nodeIdentityRef.id, { nodeId: FACTS.nodeId, name: NODE }],
    [nodeStateRef.id, { capture: () => smallState(), stage: () => Promise.reject(new Error('not here')) }],
  ])
  const { context } = fakeContext({ config, clock, services, db: memoryDb() })
  return createSchedule({ context, count: backupCount(context.metrics) })
}

async function run(schedule: Schedule): Promise<string | undefined> {
  await schedule.run(new AbortController().signal)
  const [component] = await schedule.health()
  return component?.status === 'ok' ? undefined : component?.detail
}

test('what is not a backup of this node is neither counted nor removed; what was cut off is', async () => {
  await using dir = await tempDir()
  const clock = fakeClock()
  const foreign = [
    'svc-backup-other-20200101T000000Z.tar.gz',
    'svc-backup-hill-2-20200101T000000Z.tar.gz.enc',
    'svc-backup-hill-20200101T000000Z.tar.gz.mine',
    'svc-backup-other-20200101T000000Z.tar.gz.part',
    // By a clock that was wrong.
    'svc-backup-hill-29990101T000000Z.tar.gz',
    'family.jpg',
  ]
  const folder = 'svc-backup-hill-20200102T000000Z.tar.gz'
  const old = ['svc-backup-hill-20200101T000000Z.tar.gz', 'svc-backup-hill-20200103T000000Z.tar.gz.part']
  for (const name of [...foreign, ...old]) await writeFile(join(dir.path, name), name)
  await mkdir(join(dir.path, folder))
  const schedule = scheduleIn(dir.path, 1, clock)
  for (let round = 0; round < 3; round++) {
    assert.is(await run(schedule), undefined)
    const mine = backupName(NODE, clock.nowMs(), false)
    assert.equal((await readdir(dir.path)).toSorted(), [...foreign, folder, mine].toSorted())
    await clock.advance(HOUR_MS + 1_000)
  }
})

test('a directory that cannot be is said by health, and forgotten once it can', async () => {
  await using dir = await tempDir()
  const clock = fakeClock()
  const inTheWay = join(dir.path, 'file')
  await writeFile(inTheWay, 'no folder')
  const folder = join(inTheWay, 'backups')
  const schedule = scheduleIn(folder, 7, clock)
  assert.match((await run(schedule)) ?? '', /ENOTDIR/)
  await rm(inTheWay)
  assert.is(await run(schedule), undefined)
  const [name = '', ...more] = await readdir(folder)
  assert.equal(more, [])
  assert.is(takenAt(name, NODE), clock.nowMs())
})

test('one that cannot be taken leaves nothing and removes nothing', async () => {
  await using dir = await tempDir()
  const clock = fakeClock()
  const old = backupName(NODE, clock.nowMs() - 2 * HOUR_MS, false)
  await writeFile(join(dir.path, old), 'the one before')
  const config: BackupConfig = { schedule: '1h', directory: dir.path, keep: 1 }
  const services = new Map<string, object>([
    [nodeIdentityRef.id, { nodeId: FACTS.nodeId, name: NODE }],
    [
      nodeStateRef.id,
      {
        capture: async () => {
          const state = await smallState()
          // It is gone when it is to be packed.
          await state.release()
          return state
        },
        stage: () => Promise.reject(new Error('not here')),
      },
    ],
  ])
  const { context } = fakeContext({ config, clock, services, db: memoryDb() })
  const schedule = createSchedule({ context, count: backupCount(context.metrics) })
  assert.match((await run(schedule)) ?? '', /ENOENT/)
  await access(join(dir.path, old))
  assert.equal(await readdir(dir.path), [old])
})

test.run()
