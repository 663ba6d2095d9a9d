import { type CollectionConsumer, collectionConsumerRef, usageLedgerRef } from '@steeple/contracts'
import { assert, loadTestbed, pluginFrom, suite } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { ANN, charged, collection, reading, START_MS, sighting } from './support/world.ts'

const reload = suite('sessions/reload', { limitMs: 600_000 })
const ROUNDS = 60

reload('loses no octet while another copy takes its place again and again', async () => {
  const { startTestbed } = await loadTestbed()
  const inline = await pluginFrom(import.meta.url, plugin)
  const bed = await startTestbed({ plugins: [inline] })
  let isOver = false
  const upgrades = async (): Promise<number> => {
    let number = 0
    while (!isOver) await bed.load({ ...inline, version: `0.1.${++number}` })
    return number
  }
  const rounds = async (): Promise<void> => {
    let position = 0
    for (let round = 1; round <= ROUNDS; ) {
      const consumer: CollectionConsumer | undefined = bed.service(collectionConsumerRef)
      const stored = Number((await consumer?.position('cdr').catch(() => undefined)) ?? position)
      const toMs = START_MS + round * 1_000
      const records = charged(10 * (round - stored), START_MS + stored * 1_000, toMs, {
        key: { by: 'imsi', imsi: ANN, apn: 'ims' },
      })
      const given = new Map([
        ['mme', collection({ sightings: [sighting()] })],
        ['gtpu', collection({ volumes: [reading(round * 100, toMs)] })],
        ['cdr', collection({ volumes: [records], position: String(round) })],
      ])
      // As the owner of polls: what was not taken is asked for again.
      const isTaken = await consumer?.take(given, new AbortController().signal).then(
        () => true,
        () => false,
      )
      if (isTaken === true) {
        position = round
        round += 1
      }
    }
    isOver = true
  }
  try {
    const [count] = await Promise.all([upgrades(), rounds()])
    assert.ok(count > 1)
    const totals = await bed.service(usageLedgerRef)?.totals(ANN, 0, START_MS * 2)
    assert.equal(
      [totals?.upBytes, totals?.bySource.get('gtpu')?.upBytes, totals?.bySource.get('cdr')?.upBytes],
      [ROUNDS * 110, ROUNDS * 100, ROUNDS * 10],
    )
    const { body } = await bed.request('GET', '/v1/sessions')
    assert.is((body as { readonly sessions: readonly object[] }).sessions.length, 1)
  } finally {
    isOver = true
    await bed.stop()
  }
})

reload.run()
