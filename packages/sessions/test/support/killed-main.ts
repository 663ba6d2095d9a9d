// Takes rounds over a store until it is killed: `killed-main.ts STORE BEGAN_MS [END_TICK]`. Prints a line after each round.
import {
  type CollectionConsumer,
  collectionConsumerRef,
  isServiceError,
  storeUnavailable,
} from '@steeple/contracts'
import { openDatabase } from '@steeple/store'
import { fakeContext } from '@steeple/testkit'
import { MIGRATIONS } from '../../src/migrations.ts'
import type { SessionsConfig } from '../../src/plugin.ts'
import { plugin } from '../../src/plugin.ts'
import { TABLES } from '../../src/store/tables.ts'
import { collectionsAt, START_TICK } from './moving-phones.ts'
import { START_MS } from './world.ts'

const [url = '', began = '0', end = ''] = process.argv.slice(2)
const nothing = (): void => undefined
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing }
const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
const db = await openDatabase({ url, clock, log })
await db.migrate('sessions', MIGRATIONS, TABLES)
const fake = fakeContext<SessionsConfig>({
  id: 'sessions',
  config: { source_order: ['gtpu', 'cdr'], unattributed_after: '1h' },
  db: db.scoped('sessions'),
})
await fake.clock.advance(START_MS - fake.clock.nowMs())
const { services } = await plugin.setup(fake.context)
const consumer = services?.get(collectionConsumerRef.id) as CollectionConsumer
const last = end === '' ? undefined : Number(end)
for (;;) {
  // The world goes on whether somebody looks or not.
  const tick = last ?? START_TICK + Math.floor((Date.now() - Number(began)) / 5)
  const position = await consumer.position('cdr')
  try {
    await consumer.take(collectionsAt(tick, position), new AbortController().signal)
  } catch (error) {
    // A busy store refuses a round as a whole: it is offered again.
    if (isServiceError(error) && error.code === storeUnavailable.code) continue
    throw error
  }
  process.stdout.write(`${tick}\n`)
  if (last !== undefined) break
}
await db.close()
