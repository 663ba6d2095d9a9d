import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TxGate, txGateRef } from '@steeple/contracts'
import { assert, eventually, suite } from '@steeple/testkit'
import { openWorld, type World } from '../support/world.ts'

const note = suite('policy/disarm-note')
let here: World

note.before.each(async () => {
  here = await openWorld()
})
note.after.each(() => here.close())

const fileOf = (): string => join(here.dataDir, 'tx-disarm.json')
const arm = (): ReturnType<World['call']> =>
  here.call('POST', '/v1/tx/arm', { arm: true, profile_id: 'b3-lab' })

async function permitCode(): Promise<string> {
  const gate = here.instance.services?.get(txGateRef.id) as TxGate
  try {
    await gate.permit('b3-lab')
  } catch (error) {
    return String((error as { code?: unknown }).code)
  }
  return 'permitted'
}

/** Puts another thing in the place of the note. Arming makes room for it meanwhile, and nobody waits for that. */
function replaceBy(make: (path: string) => Promise<void>): (path: string) => Promise<void> {
  return async (path) => {
    await eventually(async () => {
      await rm(path, { force: true })
      await make(path)
      return true
    })
  }
}

/** What TX may do after a restart over what `spoil` has made of the note of a disarm that the store did not take. */
async function afterRestart(spoil: (path: string) => Promise<void>): Promise<string> {
  await arm()
  here.failStore(true)
  assert.is((await here.call('POST', '/v1/tx/disarm')).error, 'store_unavailable')
  await spoil(fileOf())
  here = await here.restart()
  return await permitCode()
}

note('stay off the air when the note is damaged, until somebody arms anew', async () => {
  const cut = async (path: string): Promise<void> => {
    const text = await readFile(path, 'utf8')
    await writeFile(path, text.slice(0, 20).padEnd(2_048))
  }
  assert.is(await afterRestart(cut), 'tx_gate_closed')
  await here.reconcile()
  const [interval] = await here.db.all<{ readonly ended_by: string }>(
    'select ended_by from policy_tx_interval',
  )
  assert.is(interval?.ended_by, 'system:unreadable-note')
  await eventually(async () => (await readFile(fileOf(), 'utf8')).trim() === '')
  assert.is((await arm()).status, 200)
  here = await here.restart()
  assert.is(await permitCode(), 'permitted')
})

note('stay off the air when the note cannot be read', async () => {
  assert.is(await afterRestart(replaceBy((path) => mkdir(path))), 'tx_gate_closed')
})

note('stay off the air when the note is a link, and write nothing to where it leads', async () => {
  const target = join(here.dataDir, 'another')
  await writeFile(target, 'of somebody else')
  assert.is(await afterRestart(replaceBy((path) => symlink(target, path))), 'tx_gate_closed')
  await here.reconcile()
  assert.is(await readFile(target, 'utf8'), 'of somebody else')
})

note('take a room that the machine went down over for none', async () => {
  await arm()
  await writeFile(fileOf(), Buffer.alloc(2_048))
  here = await here.restart()
  assert.is(await permitCode(), 'permitted')
})

for (const [what, disarm] of [
  ['beside the service', { intervalId: null, by: 'local:root' }],
  ['in nanoseconds', { intervalId: null, atMs: 1.8e18, by: 'a watchdog' }],
  ['as nobody can read it', 'stop'],
] as const)
  note(
    `stay off the air after a disarm ${what} although the clock was set back, until somebody arms`,
    async () => {
      await arm()
      here.fake.clock.jump(here.fake.clock.nowMs() - 3_600_000)
      await writeFile(fileOf(), JSON.stringify(disarm).padEnd(2_048))
      assert.is(await permitCode(), 'tx_gate_closed')
      await here.reconcile()
      const [interval] = await here.db.all<{ readonly ended_at_ms: number | null }>(
        'select ended_at_ms from policy_tx_interval',
      )
      assert.is.not(interval?.ended_at_ms ?? null, null, 'the store has the disarm')
      assert.is(await permitCode(), 'tx_not_armed')
      assert.is((await arm()).status, 200)
      assert.is(await permitCode(), 'permitted')
    },
  )

note.run()
