import type { Plugin } from '@steeple/contracts'
import { assert, memoryDb, suite } from '@steeple/testkit'
import { downloadProfile } from '@steeple/virtual-euicc'
import { closeCodes } from '../src/codes/restored.ts'
import { MIGRATIONS } from '../src/migrations.ts'
import { CODES, EUICCS, HELD } from '../src/store/rows.ts'
import { type World, world } from './support/world.ts'

const restored = suite('esim-smdp/restored')

type At = Parameters<NonNullable<Plugin['restored']>>[1]

/** A store that comes out of a backup of `all` as it is now, and what is closed in it. */
async function backupOf(all: World) {
  const db = memoryDb(MIGRATIONS)
  const rows = await CODES.select(all.fake.context.db, '')
  await db.write(async (tx) => {
    for (const row of rows) await CODES.insert(tx, row)
  })
  const closed: string[] = []
  const close: At['close'] = ({ kind, id }) => void closed.push(`${kind} ${id}`)
  return { db, closed, at: { takenAtMs: 0, nowMs: all.clock.nowMs(), close } }
}

async function download(all: World, activationCode: string, number: number): Promise<string> {
  const got = downloadProfile({ euicc: all.euicc(number), activationCode, transport: all.transport })
  return await got.then(
    ({ profile }) => profile.imsi,
    (error: Error) => error.message,
  )
}

restored('closes what may have been used, and knows what the present store tells', async () => {
  const all = await world()
  const [used, open] = [await all.issue(1), await all.issue(2)]
  const backup = await backupOf(all)
  await download(all, used.activationCode, 7)
  const present = { db: all.fake.context.db, reseal: (sealed: Uint8Array) => sealed }
  await backup.db.write((tx) => closeCodes(tx, { ...backup.at, present }))
  assert.equal(backup.closed, [`esim_code ${open.token}`])
  assert.is((await CODES.find(backup.db, { token: used.token }))?.state, 'installed')
  const held = await HELD.select(backup.db, '')
  assert.equal(
    held.map(({ token, state }) => [token, state]),
    [[used.token, 'installed']],
  )
  assert.is((await EUICCS.select(backup.db, '')).length, 1)
  backup.db.close()
  await all.close()
})

restored('on another node a second eUICC does not get what the first one has', async () => {
  const all = await world()
  const code = await all.issue(1)
  const backup = await backupOf(all)
  assert.match(await download(all, code.activationCode, 7), /^999/)
  await backup.db.write((tx) => closeCodes(tx, backup.at))
  assert.equal(backup.closed, [`esim_code ${code.token}`])
  const next = await world({ db: backup.db })
  next.closed.add(code.token)
  next.states.set(code.hash, 'issued')
  assert.match(await download(next, code.activationCode, 8), /8\.2.*1\.2/)
  assert.is((await next.row(code)).state, 'released')
  // Somebody has seen that nobody used it.
  next.closed.clear()
  assert.match(await download(next, code.activationCode, 8), /^999/)
  await next.close()
  backup.db.close()
  await all.close()
})

restored.run()
