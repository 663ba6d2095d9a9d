import { hkdfSync } from 'node:crypto'
import type { SessionKeys } from '@steeple/contracts'
import { assert, fakeClock, memoryDb, suite } from '@steeple/testkit'
import { createNonces } from '../../src/enroll/renew-routes.ts'
import { MIGRATIONS } from '../../src/enroll/store.ts'

const nonces = suite('mesh/nonces')

function keysOf(secret: string): SessionKeys {
  return { keyId: '1', derive: (purpose) => new Uint8Array(hkdfSync('sha256', secret, '', purpose, 32)) }
}

/** Two instances of one node on one store, and another node. */
function world() {
  const clock = fakeClock(Date.UTC(2026, 5, 15, 12))
  const db = memoryDb(MIGRATIONS)
  const [a, b, other] = ['one', 'one', 'two'].map((secret) => createNonces(clock, keysOf(secret)))
  if (a === undefined || b === undefined || other === undefined) throw new Error('three are made')
  return { clock, db, a, b, other }
}

nonces('are taken by every instance, once among all of them', async () => {
  const { db, a, b, other } = world()
  const nonce = a.make()
  assert.ok(await b.isGood(db, nonce))
  assert.not(await other.isGood(db, nonce))
  assert.ok(await db.write((tx) => b.claim(tx, nonce)))
  for (const one of [a, b]) {
    assert.not(await one.isGood(db, nonce))
    assert.not(await db.write((tx) => one.claim(tx, nonce)))
  }
  assert.ok(await a.isGood(db, b.make()))
})

nonces('are good for a minute, and leave nothing behind', async () => {
  const { clock, db, a, b } = world()
  const [used, late] = [a.make(), a.make()]
  await db.write((tx) => a.claim(tx, used))
  clock.jump(clock.nowMs() + 60_000)
  assert.ok(await b.isGood(db, late))
  clock.jump(clock.nowMs() + 1)
  assert.not(await b.isGood(db, late))
  clock.jump(clock.nowMs() + 120_000)
  const last = b.make()
  await db.write((tx) => b.claim(tx, last))
  assert.is((await db.all('select name from mesh_note')).length, 1)
})

nonces('have one text each', async () => {
  const { db, a } = world()
  const nonce = a.make()
  for (const text of [`${nonce}=`, nonce.slice(0, -1), `${nonce}A`, ' ', nonce.replace(/.$/, '_')])
    if (text !== nonce) assert.not(await a.isGood(db, text), text)
})

nonces.run()
