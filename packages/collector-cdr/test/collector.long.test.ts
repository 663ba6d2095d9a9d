import { execFileSync } from 'node:child_process'
import { chmod, copyFile, readFile, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Collector } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { fileBytes, recordBytes } from './support/encode.ts'
import { type ModelChf, type ModelOptions, modelChf } from './support/model-chf.ts'
import { hashOf, imsiOf, Ledger, makeWorld, patient, type World } from './support/world.ts'

const reading = suite('collector-cdr/collector')

const FIXTURES = join(import.meta.dirname, 'fixtures')
const RECORDED = '999990000000001'
/** Its file, as the CHF of release 4.2.2 names it. */
const NAME = 'chf-3e81e85b094027ecfe738efb14e607fef26a8f7696cfa16a7c3a6990e82f4ef2.cdr'

interface Here {
  readonly world: World
  readonly chf: ModelChf
  readonly ledger: Ledger
  readonly collector: Collector
}

/** A test in a world of its own, with a collector that is opened beforehand. */
function inWorld(title: string, work: (here: Here) => Promise<void>, options: ModelOptions = {}): void {
  reading(title, async () => {
    await using world = await makeWorld()
    const chf = modelChf(world.dir.path, () => world.clock.nowMs(), options)
    await work({ world, chf, ledger: new Ledger(), collector: world.open() })
  })
}

const report = (upBytes: number, downBytes: number, ratingGroup = 1) => ({ ratingGroup, upBytes, downBytes })

inWorld(
  'counts what a real CHF wrote, over updates, a second session and a release',
  async ({ world, ledger, collector }) => {
    const after: (readonly [number, number])[] = []
    for (const name of ['2update', '3update2', '4second_session_update', '5release_first']) {
      await copyFile(join(FIXTURES, `${name}.cdr`), join(world.dir.path, NAME))
      await ledger.round(collector)
      after.push(ledger.of(RECORDED))
    }
    // 5: ten up and twenty down came with the release; the second session's record is not shown, and was counted.
    assert.equal(after, [
      [1_000, 2_000],
      [30_001_000, 2_005],
      [30_001_007, 2_014],
      [30_001_017, 2_034],
    ])
    assert.equal(
      ledger.volumes.map(({ key }) => key),
      [1, 2, 3, 4].map(() => ({ by: 'imsi', imsi: hashOf(RECORDED), apn: 'internet' })),
    )
  },
)

inWorld(
  'counts nothing again when an older copy of a file comes back',
  async ({ world, ledger, collector }) => {
    for (const name of [
      '3update2',
      '2update',
      '3update2',
      '2update',
      '3update2',
      '5release_first',
      '2update',
    ]) {
      await copyFile(join(FIXTURES, `${name}.cdr`), join(world.dir.path, NAME))
      await ledger.round(collector)
    }
    // Of the release ten up came, and the seven of the second session were in no file.
    assert.equal(ledger.of(RECORDED), [30_001_010, 2_025])
  },
)

inWorld('counts nothing again of a run of the CHF of long ago', async ({ world, chf, ledger, collector }) => {
  let copy: Buffer | undefined
  for (let run = 0; run < 8; run += 1) {
    chf.update(chf.create(imsiOf(1)), report(10, 1))
    copy ??= await readFile(chf.fileOf(imsiOf(1)))
    await ledger.round(collector)
    await world.clock.advance(5_000)
    chf.crash()
  }
  await writeFile(chf.fileOf(imsiOf(1)), copy ?? '')
  await ledger.round(world.open())
  assert.equal(ledger.of(imsiOf(1)), [80, 8])
})

/** What was counted of a phone, by APN. */
function apnsOf({ volumes }: Ledger): Readonly<Record<string, readonly [number, number]>> {
  const sums: Record<string, readonly [number, number]> = {}
  for (const { key, upBytes, downBytes } of volumes) {
    const apn = (key.by === 'imsi' ? key.apn : undefined) ?? 'not known'
    const [up, down] = sums[apn] ?? [0, 0]
    if (upBytes + downBytes > 0) sums[apn] = [up + upBytes, down + downBytes]
  }
  return sums
}

inWorld(
  'adds up what a CHF before 1.2.3 writes of two sessions into one record, each under its APN',
  async ({ world, chf, ledger }) => {
    const [internet, iot] = [chf.create(imsiOf(1), 'internet'), chf.create(imsiOf(1), 'iot.example')]
    chf.update(internet, report(1_000_000, 5_000_000, 3))
    chf.update(iot, report(400_000, 2_000_000, 4))
    await ledger.round(world.open())
    chf.release(internet, report(1, 1, 3))
    await ledger.round(world.open())
    chf.update(iot, report(10, 20, 4))
    await ledger.round(world.open())
    assert.equal(ledger.of(imsiOf(1)), [1_400_011, 7_000_021])
    assert.equal(apnsOf(ledger), { internet: [1_000_001, 5_000_001], 'iot.example': [400_010, 2_000_020] })
    assert.not.ok(ledger.isIncomplete(imsiOf(1)))
  },
  { names: 'supi' },
)

inWorld(
  'leaves the APN open where such a record does not tell it',
  async ({ world, chf, ledger }) => {
    const [internet] = [chf.create(imsiOf(1), 'internet'), chf.create(imsiOf(1), 'ims')]
    // One of the two is silent, and nothing says which.
    chf.update(internet, report(1_000, 5_000, 3))
    await ledger.round(world.open())
    assert.equal(apnsOf(ledger), { 'not known': [1_000, 5_000] })
    // It was the first: its record gets what it reports last.
    chf.release(internet, report(1, 1, 3))
    await ledger.round(world.open())
    assert.equal(apnsOf(ledger), { 'not known': [1_000, 5_000], internet: [1, 1] })
  },
  { names: 'supi' },
)

inWorld(
  'takes a file that shows the released session alone for what it is',
  async ({ world, chf, ledger }) => {
    const [internet, iot] = [chf.create(imsiOf(1), 'internet'), chf.create(imsiOf(1), 'iot.example')]
    chf.update(internet, report(1_000_000, 5_000_000, 3))
    chf.update(iot, report(400_000, 2_000_000, 4))
    chf.release(iot, report(0, 0, 4))
    await ledger.round(world.open())
    assert.equal(ledger.of(imsiOf(1)), [1_400_000, 7_000_000])
    assert.equal(Object.keys(apnsOf(ledger)), ['not known'])
  },
  { names: 'supi' },
)

inWorld(
  'counts partial records of online charging, and volumes that a real SMF cut to 32 bits',
  async ({ chf, ledger, collector }) => {
    for (const name of ['p1', 'p2']) {
      await copyFile(join(FIXTURES, `${name}.cdr`), chf.fileOf('999990000000010'))
      await ledger.round(collector)
    }
    assert.equal(ledger.of('999990000000010'), [100 + 3_000_000_000, 200 + 5])
  },
)

for (const names of ['digest', 'supi'] as const)
  inWorld(
    `reads files under the name by ${names}`,
    async ({ world, chf, ledger }) => {
      chf.update(chf.create(imsiOf(1)), report(1, 2))
      await ledger.round(world.open())
      assert.equal(ledger.of(imsiOf(1)), [1, 2])
    },
    { names },
  )

inWorld(
  'counts on from where it was when it or the CHF comes back, in any order',
  async ({ world, chf, ledger }) => {
    const first = chf.create(imsiOf(1))
    chf.update(first, report(100, 1_000))
    await ledger.round(world.open())
    await ledger.round(world.open())
    assert.equal(ledger.of(imsiOf(1)), [100, 1_000])
    await world.clock.advance(5_000)
    chf.crash()
    await ledger.round(world.open())
    const second = chf.create(imsiOf(1))
    assert.is(second, first)
    chf.update(second, report(100, 1_000))
    await ledger.round(world.open())
    assert.equal(ledger.of(imsiOf(1)), [200, 2_000])
  },
)

inWorld(
  'knows when octets moved where the clock of the machine is years behind',
  async ({ world, chf, ledger, collector }) => {
    const session = chf.create(imsiOf(1))
    const spans: (readonly [number, number])[] = []
    const looks: number[] = []
    for (const octets of [1, 2, 3]) {
      chf.update(session, report(octets, octets))
      // A box without a clock of its own, before it has heard of the time: the service knows better.
      await utimes(chf.fileOf(imsiOf(1)), 1_000, 1_000)
      looks.push(world.clock.nowMs())
      const { volumes } = await ledger.round(collector)
      spans.push(...volumes.map(({ fromMs, toMs }) => [fromMs, toMs] as const))
      await world.clock.advance(15_000)
    }
    assert.equal(ledger.of(imsiOf(1)), [6, 6])
    // Not before the look that did not show it, at the latest at that which does.
    for (const [index, [fromMs, toMs]] of spans.entries())
      if (index > 0) {
        assert.ok(toMs >= (looks[index - 1] ?? 0) && toMs <= (looks[index] ?? 0), `${index}: ${toMs}`)
        assert.ok(fromMs < toMs)
      }
    assert.is(spans.length, 3)
  },
)

for (const fixedId of [undefined, 'one id for ever'])
  inWorld(
    `tells another run with ${fixedId ?? 'an id of its own'}, and that something may be missing`,
    async ({ world, chf, ledger, collector }) => {
      chf.update(chf.create(imsiOf(1)), report(7, 7))
      await ledger.round(collector)
      await world.clock.advance(15_000)
      chf.crash()
      chf.update(chf.create(imsiOf(1)), report(7, 7))
      await ledger.round(collector)
      assert.equal(ledger.of(imsiOf(1)), [14, 14])
      assert.ok(ledger.isIncomplete(imsiOf(1)))
    },
    fixedId === undefined ? {} : { fixedId },
  )

inWorld(
  'takes nothing for missing when the CHF had come back before the last look',
  async ({ world, chf, ledger, collector }) => {
    chf.update(chf.create(imsiOf(1)), report(7, 7))
    await ledger.round(collector)
    await world.clock.advance(15_000)
    chf.crash()
    const session = chf.create(imsiOf(1))
    await world.clock.advance(15_000)
    await ledger.round(collector)
    chf.update(session, report(1, 1))
    await ledger.round(collector)
    assert.equal(ledger.of(imsiOf(1)), [8, 8])
    assert.not.ok(ledger.isIncomplete(imsiOf(1)))
  },
)

inWorld(
  'remembers that a record was hidden when it may have grown, until its run ends',
  async ({ world, chf, ledger, collector }) => {
    const [first, second] = [chf.create(imsiOf(1)), chf.create(imsiOf(1))]
    chf.update(first, report(1, 1))
    await ledger.round(collector)
    chf.update(first, report(2, 2))
    chf.release(second, report(4, 4))
    await ledger.round(collector)
    assert.equal(ledger.of(imsiOf(1)), [5, 5])
    assert.not.ok(ledger.isIncomplete(imsiOf(1)))
    await world.clock.advance(15_000)
    chf.crash()
    const third = chf.create(imsiOf(1))
    await world.clock.advance(15_000)
    await ledger.round(collector)
    chf.update(third, report(8, 8))
    await ledger.round(collector)
    assert.equal(ledger.of(imsiOf(1)), [13, 13])
    assert.ok(ledger.isIncomplete(imsiOf(1)))
  },
)

inWorld(
  'counts what two CHFs write that take turns in one directory',
  async ({ world, chf, ledger, collector }) => {
    const other = modelChf(world.dir.path, () => world.clock.nowMs(), { fixedId: 'the other' })
    const [one, two] = [chf.create(imsiOf(1)), other.create(imsiOf(1))]
    for (const bytes of [1, 2, 4]) {
      chf.update(one, report(bytes, 0))
      await ledger.round(collector)
      other.update(two, report(0, bytes))
      await ledger.round(collector)
    }
    assert.equal(ledger.of(imsiOf(1)), [7, 7])
  },
)

inWorld('counts all of a poll anew that was given up half way', async ({ world, chf, ledger }) => {
  // More than are read together.
  const PHONES = 70
  for (let index = 0; index < PHONES; index += 1) chf.update(chf.create(imsiOf(index)), report(1, 1))
  let looks = 0
  const giveUp = new AbortController()
  const monotonicMs = (): number => {
    looks += 1
    if (looks === 3) giveUp.abort()
    return 0
  }
  const collector = world.open({ ...world.clock, nowMs: world.clock.nowMs, monotonicMs })
  const isGivenUp = await collector.poll(undefined, giveUp.signal).then(
    () => false,
    () => true,
  )
  assert.ok(isGivenUp)
  await ledger.round(collector)
  for (let index = 0; index < PHONES; index += 1) assert.equal(ledger.of(imsiOf(index)), [1, 1])
})

inWorld('gives again what was not counted', async ({ chf, ledger, collector }) => {
  const session = chf.create(imsiOf(1))
  chf.update(session, report(10, 20))
  await collector.poll(ledger.position, patient())
  chf.update(session, report(1, 2))
  await collector.poll(ledger.position, patient())
  await ledger.round(collector)
  assert.equal(ledger.of(imsiOf(1)), [11, 22])
  const { position } = ledger
  chf.update(session, report(100, 200))
  await ledger.round(collector)
  ledger.position = position
  ledger.sums.set(hashOf(imsiOf(1)), [11, 22])
  await ledger.round(collector)
  assert.equal(ledger.of(imsiOf(1)), [111, 222])
})

inWorld(
  'counts fragments of a long record once, though a release shows only the last',
  async ({ world, chf, ledger, collector }) => {
    const session = chf.create(imsiOf(1))
    for (let index = 0; index < 150; index += 1) {
      chf.update(session, report(1_000 + index, 5))
      if (index % 40 === 0) await ledger.round(collector)
    }
    await ledger.round(collector)
    assert.ok((chf.shown.get(imsiOf(1))?.length ?? 0) > 2)
    chf.release(session, report(7, 7))
    await ledger.round(collector)
    const whole = 150 * 1_000 + (150 * 149) / 2 + 7
    assert.equal(ledger.of(imsiOf(1)), [whole, 150 * 5 + 7])
    assert.is(chf.shown.get(imsiOf(1))?.length, 1)
    // All fragments are shown again.
    chf.update(session, report(1, 1))
    await ledger.round(world.open())
    assert.equal(ledger.of(imsiOf(1)), [whole + 1, 150 * 5 + 8])
    assert.not.ok(ledger.isIncomplete(imsiOf(1)))
  },
  { splitBytes: 2_000 },
)

inWorld(
  'says so when fragments have come and gone unseen, and counts them when they are back',
  async ({ chf, ledger, collector }) => {
    const session = chf.create(imsiOf(1))
    chf.update(session, report(1, 0))
    await ledger.round(collector)
    for (let index = 2; index < 40; index += 1) chf.update(session, report(index, 0))
    chf.release(session, report(40, 0))
    await ledger.round(collector)
    assert.ok(ledger.of(imsiOf(1))[0] < 820)
    assert.ok(ledger.isIncomplete(imsiOf(1)))
    chf.update(chf.create(imsiOf(1)), report(1_000, 0))
    await ledger.round(collector)
    assert.equal(ledger.of(imsiOf(1)), [1_820, 0])
  },
  { splitBytes: 700 },
)

inWorld('reads a record whose length has overflowed the header', async ({ world, chf, ledger }) => {
  const reports = Array.from({ length: 2_500 }, () => report(300, 300))
  const own = {
    imsi: imsiOf(1),
    writer: 'chf',
    session: 'one',
    openedMs: 1_800_000_000_000,
    dnn: 'internet',
  }
  const bodies = [
    recordBytes({ ...own, number: 1, reports }),
    recordBytes({ ...own, number: 2, reports: [report(1, 2)] }),
  ]
  assert.ok((bodies[0]?.length ?? 0) > 65_536)
  await writeFile(chf.fileOf(imsiOf(1)), fileBytes(bodies))
  await ledger.round(world.open())
  assert.equal(ledger.of(imsiOf(1)), [750_001, 750_002])
})

inWorld('gives way to others while it reads a large file', async ({ world, chf, ledger }) => {
  const reports = Array.from({ length: 1_300 }, (_, index) => report(30_000_000 + index, 5))
  const own = {
    imsi: imsiOf(1),
    writer: 'chf',
    session: 'one',
    openedMs: 1_700_000_000_000,
    dnn: 'internet',
  }
  const bodies = Array.from({ length: 120 }, (_, index) => recordBytes({ ...own, number: index, reports }))
  await writeFile(chf.fileOf(imsiOf(1)), fileBytes(bodies))
  const cpuMs = (): number => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1_000
  }
  let [longest, last, isOver] = [0, cpuMs(), false]
  const look = (): void => {
    longest = Math.max(longest, cpuMs() - last)
    last = cpuMs()
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  await ledger.round(world.open())
  await new Promise(setImmediate)
  isOver = true
  assert.is(ledger.of(imsiOf(1))[1], 120 * 1_300 * 5)
  // All of it takes 150 ms and more; a collection of garbage may fall into a turn.
  assert.ok(longest < 60, `a turn took ${longest} ms of processor time`)
})

inWorld('counts traffic of single flows within that of their slice', async ({ chf, ledger, collector }) => {
  const session = chf.create(imsiOf(1))
  chf.update(session, report(50, 500, 2))
  await ledger.round(collector)
  chf.update(session, report(80, 900, 1))
  await ledger.round(collector)
  chf.update(session, report(20, 300, 3))
  chf.update(session, report(30, 100, 1))
  await ledger.round(collector)
  assert.equal(ledger.of(imsiOf(1)), [110, 1_000])
})

inWorld(
  'reports a file that stays torn, and counts all of it when it is whole',
  async ({ chf, ledger, collector }) => {
    const session = chf.create(imsiOf(1))
    chf.update(session, report(1, 1))
    await ledger.round(collector)
    chf.update(session, report(2, 2))
    const whole = await readFile(chf.fileOf(imsiOf(1)))
    await truncate(chf.fileOf(imsiOf(1)), 100)
    await ledger.round(collector)
    assert.equal(ledger.of(imsiOf(1)), [1, 1])
    assert.ok(ledger.isIncomplete(imsiOf(1)))
    const { status, detail = '' } = collector.health?.() ?? {}
    assert.is(status, 'degraded')
    const name = basename(chf.fileOf(imsiOf(1)))
    const shown = name.startsWith('chf-') ? `${name.slice(0, 9)}*.cdr` : 'one named by IMSI, imsi_sha256_12 '
    assert.ok(detail.includes(`what they add is missing (${shown}`), detail)
    assert.not.match(detail, /99970/)
    const { length } = ledger.volumes
    await ledger.round(collector)
    assert.is(ledger.volumes.length, length, 'told once')
    await truncate(chf.fileOf(imsiOf(1)), 0)
    await ledger.round(collector)
    await writeFile(chf.fileOf(imsiOf(1)), whole)
    await ledger.round(collector)
    assert.equal(ledger.of(imsiOf(1)), [3, 3])
    assert.is(collector.health?.().status, 'ok')
  },
)

inWorld('waits for a file that is being written', async ({ chf, ledger, collector }) => {
  const session = chf.create(imsiOf(1))
  chf.update(session, report(1, 1))
  const whole = await readFile(chf.fileOf(imsiOf(1)))
  await truncate(chf.fileOf(imsiOf(1)), 0)
  const round = ledger.round(collector)
  await writeFile(chf.fileOf(imsiOf(1)), whole)
  await round
  await ledger.round(collector)
  assert.equal(ledger.of(imsiOf(1)), [1, 1])
  assert.not.ok(ledger.isIncomplete(imsiOf(1)))
})

inWorld(
  'follows no link, waits for no pipe, and reads nothing of another name',
  async ({ world, chf, ledger }) => {
    chf.update(chf.create(imsiOf(1)), report(1, 1))
    const file = chf.fileOf(imsiOf(1))
    const at = (name: string): string => join(world.dir.path, name)
    await copyFile(file, at('backup.cdr'))
    await copyFile(file, at('outside'))
    await rm(file)
    await symlink(at('outside'), file)
    execFileSync('mkfifo', [at(`imsi-${imsiOf(2)}.cdr`)])
    const collector = world.open()
    await ledger.round(collector)
    assert.equal(ledger.of(imsiOf(1)), [0, 0])
    const { status, detail = '' } = collector.health?.() ?? {}
    assert.is(status, 'degraded')
    assert.match(
      detail,
      /2 are links, no files, or far too large [(](chf-[0-9a-f]{5}[*][.]cdr|one named by IMSI, imsi_sha256_12 [0-9a-f]{5}[*]) and 1 more[)]/,
    )
    assert.match(detail, /1 with a name/)
    assert.not.match(detail, /99970/)
  },
)

inWorld('takes no record of another subscriber than the file is of', async ({ world, chf, ledger }) => {
  chf.update(chf.create(imsiOf(1)), report(1, 1))
  await copyFile(chf.fileOf(imsiOf(1)), chf.fileOf(imsiOf(2)))
  const collector = world.open()
  await ledger.round(collector)
  assert.equal(
    [ledger.of(imsiOf(1)), ledger.of(imsiOf(2))],
    [
      [1, 1],
      [0, 0],
    ],
  )
  assert.match(collector.health?.().detail ?? '', /1 are no charging records of their subscriber/)
})

inWorld(
  'says that something may be missing when a file goes',
  async ({ chf, ledger, collector }) => {
    chf.update(chf.create(imsiOf(1)), report(1, 1))
    await ledger.round(collector)
    chf.restart()
    await ledger.round(collector)
    assert.equal(ledger.of(imsiOf(1)), [1, 1])
    assert.ok(ledger.isIncomplete(imsiOf(1)))
  },
  { cleansUp: true },
)

inWorld('reads a file again only when it has changed', async ({ world, chf, ledger, collector }) => {
  const reads = (): number => world.metrics.value('svc_collector_cdr_reads_total', { result: 'ok' }) ?? 0
  const session = chf.create(imsiOf(1))
  chf.update(session, report(1, 1))
  chf.update(chf.create(imsiOf(2)), report(1, 1))
  for (let index = 0; index < 4; index += 1) await ledger.round(collector)
  const settled = reads()
  for (let index = 0; index < 4; index += 1) await ledger.round(collector)
  assert.is(reads(), settled)
  chf.update(session, report(1, 1))
  await ledger.round(collector)
  assert.is(reads(), settled + 1)
  assert.equal(ledger.of(imsiOf(1)), [2, 2])
})

inWorld('puts octets into the time in which they moved', async ({ world, chf, ledger, collector }) => {
  world.clock.jump(Math.floor(Date.now() / 1_000) * 1_000)
  const openedMs = world.clock.nowMs()
  const session = chf.create(imsiOf(1))
  await world.clock.advance(3_600_000)
  chf.update(session, report(1, 1))
  await ledger.round(collector)
  const [volume] = ledger.volumes
  assert.ok(volume !== undefined)
  assert.ok(Math.abs(volume.fromMs - openedMs) <= 60_000 && volume.fromMs < volume.toMs)
  assert.ok(volume.toMs <= world.clock.nowMs())
})

inWorld('says what is wrong with the directory', async ({ world, collector }) => {
  await rm(world.dir.path, { recursive: true })
  const words = async (): Promise<string> => {
    try {
      await collector.poll(undefined, patient())
    } catch (error) {
      return String(error)
    }
    return 'it did not fail'
  }
  assert.match(await words(), /core_b.cdr_dir.* does not exist; mount/)
  await writeFile(world.dir.path, '')
  assert.match(await words(), /is no directory/)
  await chmod(world.dir.path, 0o600)
})

inWorld('refuses a position that it has not written', async ({ world }) => {
  for (const position of ['', 'cdr9 1', 'cdr1 1\nnobody []']) {
    const failed = await world
      .open()
      .poll(position, patient())
      .then(
        () => false,
        (error) => error.code,
      )
    assert.is(failed, 'southbound_unavailable')
  }
})

reading.run()
