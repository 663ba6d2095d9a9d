import { fileURLToPath } from 'node:url'
import { usageLedgerRef } from '@steeple/contracts'
import {
  assert,
  eventually,
  loadTestbed,
  pluginFrom,
  rounds,
  seededDraw,
  suite,
  tempDir,
  testSeed,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { modelChf } from './support/model-chf.ts'
import { hashOf, imsiOf } from './support/world.ts'

const unloading = suite('collector-cdr/unload')
const CHANGES = rounds(10)
const PHONES = [1, 2, 3, 4, 5, 6, 7, 8]

unloading('loses and doubles no octet while it is unloaded and loaded and the files grow', async () => {
  const seed = testSeed()
  process.stdout.write(`# seed ${seed}\n`)
  const draw = seededDraw(seed)
  const dir = await tempDir()
  const { startTestbed } = await loadTestbed()
  const inline = await pluginFrom(import.meta.url, plugin)
  const built = (name: string): { readonly dir: string } => ({
    dir: fileURLToPath(new URL(`../../${name}`, import.meta.url)),
  })
  const bed = await startTestbed({
    plugins: [built('sessions'), built('collectors'), inline],
    settings: {
      core: 'core_b',
      core_b: { cdr_dir: dir.path },
      collector: { enabled: true, interval: '20ms' },
    },
  })
  const chf = modelChf(dir.path, Date.now)
  const sent = new Map<string, number>()
  const open = new Map<string, string>()
  let isOver = false
  const moveData = async (): Promise<void> => {
    while (!isOver) {
      const imsi = imsiOf(1 + draw(PHONES.length))
      const session = open.get(imsi) ?? chf.create(imsi)
      open.set(imsi, session)
      const octets = 1 + draw(1_000)
      chf.update(session, { ratingGroup: 1, upBytes: octets, downBytes: octets * 3 })
      if (draw(8) === 0) open.delete(imsi)
      sent.set(imsi, (sent.get(imsi) ?? 0) + octets)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const change = async (): Promise<void> => {
    for (let number = 1; number <= CHANGES; number += 1) {
      const polls = (): Promise<boolean> => counted().then((now) => now > before)
      const before = await counted()
      await bed.unload('collector-cdr')
      await bed.load({ ...inline, version: `0.1.${number}` })
      // It is taken away in the middle of its work, and not while it has had none.
      await eventually(polls)
    }
    isOver = true
  }
  const counted = async (): Promise<number> => {
    const ledger = bed.service(usageLedgerRef)
    assert.ok(ledger !== undefined)
    let all = 0
    for (const number of PHONES) {
      const total = await ledger.totals(hashOf(imsiOf(number)), 0, Number.MAX_SAFE_INTEGER)
      all += total.upBytes
    }
    return all
  }
  try {
    await Promise.all([moveData(), change()])
    const truth = [...sent.values()].reduce((all, octets) => all + octets, 0)
    await eventually(async () => (await counted()) >= truth)
    for (const [imsi, octets] of sent) {
      const total = await bed.service(usageLedgerRef)?.totals(hashOf(imsi), 0, Number.MAX_SAFE_INTEGER)
      assert.equal([total?.upBytes, total?.downBytes], [octets, octets * 3], imsi.slice(-2))
    }
  } finally {
    isOver = true
    await bed.stop()
    await dir.remove()
  }
})

unloading.run()
