import { assert, eventually, suite } from '@steeple/testkit'
import { isAlive, profile, radioFixture } from './radio-fixture.ts'

const supervision = suite('sample-plugin/supervision')
const patient = new AbortController().signal

supervision('brings a radio back that was killed', async () => {
  const { driver, state, supervise } = radioFixture()
  state.isArmed = true
  await driver.start(profile, patient)
  const [first = 0] = state.pids
  process.kill(first, 'SIGKILL')
  await eventually(async () => (await driver.observe(patient)).pid === undefined)
  await supervise(patient)
  assert.is(state.pids.length, 2)
  assert.ok(isAlive(state.pids[1] ?? 0))
  await driver.stop(patient)
  assert.not.ok(state.pids.some(isAlive))
})

supervision('leaves a killed radio off the air when TX is not armed any more', async () => {
  const { driver, state, supervise } = radioFixture()
  state.isArmed = true
  await driver.start(profile, patient)
  state.isArmed = false
  process.kill(state.pids[0] ?? 0, 'SIGKILL')
  await eventually(async () => (await driver.observe(patient)).pid === undefined)
  await supervise(patient).then(
    () => assert.unreachable('the gate must be asked'),
    (error: unknown) => assert.is((error as { readonly code?: string }).code, 'tx_not_armed'),
  )
  assert.is(state.pids.length, 1)
  await driver.stop(patient)
})

supervision.run()
