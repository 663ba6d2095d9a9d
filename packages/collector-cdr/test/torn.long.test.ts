import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { assert, rounds, suite } from '@steeple/testkit'
import { cdrFolder } from '../src/folder/cdr-folder.ts'
import { octetsOf, type RewriterData } from './support/rewriter.ts'
import { imsiOf, Ledger, makeWorld, patient } from './support/world.ts'

const torn = suite('collector-cdr/torn', { limitMs: 600_000 })

/** All of them are written again with each: twice as many cost four times as much. */
const REPORTS = rounds(250)

torn(
  'counts what is exactly there when it reads while the CHF rewrites the file without a pause',
  async () => {
    const world = await makeWorld()
    const ledger = new Ledger()
    const imsi = imsiOf(1)
    const counted = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
    const workerData: RewriterData = { dir: world.dir.path, imsi, reports: REPORTS, counted }
    const chf = new Worker(join(import.meta.dirname, 'support', 'rewriter.ts'), { workerData })
    let isWriting = true
    const ended = once(chf, 'exit').then(() => {
      isWriting = false
    })
    try {
      let truth = 0
      for (let report = 1; report <= REPORTS; report += 1) truth += octetsOf(report)
      while (isWriting) {
        await ledger.round(world.open())
        assert.ok(ledger.of(imsi)[0] <= truth)
        if (ledger.volumes.length > 0) {
          Atomics.store(counted, 0, 1)
          Atomics.notify(counted, 0)
        }
        await new Promise(setImmediate)
      }
      await ended
      // The last write shows all that there ever was.
      await ledger.round(world.open())
      assert.is(ledger.of(imsi)[0], truth)
      assert.ok(ledger.volumes.length > 1)
    } finally {
      await chf.terminate()
      await world.close()
    }
  },
)

torn('has files that stay torn read last, however many there are', async () => {
  await using world = await makeWorld()
  const folder = cdrFolder(world.dir.path, world.clock)
  const nameOf = (number: number): string => `imsi-${imsiOf(number)}.cdr`
  const numbers = Array.from({ length: 200 }, (_, number) => number)
  const damaged = numbers.filter((number) => number % 2 === 0).map(nameOf)
  for (const name of numbers.map(nameOf)) await writeFile(join(world.dir.path, name), 'none')
  await folder.list(patient())
  for (const name of damaged) assert.is((await folder.read(name, patient())).state, 'torn')
  const { changed } = await folder.list(patient())
  const order = changed.flat()
  assert.is(order.length, 200)
  assert.equal(order.slice(100).toSorted(), damaged.toSorted())
})

torn.run()
