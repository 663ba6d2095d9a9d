import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, enterOwnNetwork, eventually, suite } from '@steeple/testkit'
import { OPEN } from '../harness/radio/box.ts'
import { type CwmpCell, startCwmpCell } from '../harness/radio/cwmp-cell.ts'
import { type Genieacs, needGenieacs, startGenieacs } from '../harness/radio/genieacs.ts'
import { type Service, startService } from '../harness/service.ts'

enterOwnNetwork(import.meta.filename)
needGenieacs()

/** A cell that runs by itself, and the real GenieACS between it and the gate. */
const real = suite('e2e/real-genieacs', { limitMs: 120_000 })
const folder = mkdtempSync(join(tmpdir(), 'steeple-genieacs-'))

let acs: Genieacs
let cell: CwmpCell
let service: Service

real.before(async () => {
  acs = await startGenieacs()
  cell = await startCwmpCell(acs.cwmpUrl)
  const ran = {
    program: 'external',
    external: { poll: '1s', stays_on: true, switch: { genieacs: { url: acs.url, device: cell.device } } },
    profiles: { mast: { technology: 'lte', channel: 3_350, band: 'b7', bandwidth_mhz: 5, eirp_dbm: 20 } },
  }
  const config = join(folder, 'control.yaml')
  writeFileSync(
    config,
    JSON.stringify({ server: { mode: 'rf', country: 'DE' }, hss: { driver: 'none' }, ran }),
  )
  service = await startService({ flags: ['--config', config], dataDir: join(folder, 'data') })
  assert.is((await service.request('PUT', '/v1/policy', { body: OPEN })).status, 200)
  await isOff()
})
real.after(async () => {
  await service?.stop()
  cell?.close()
  await acs?.close()
  rmSync(folder, { recursive: true, force: true })
})

const arm = () => service.request('POST', '/v1/tx/arm', { body: { arm: true, profile_id: 'mast' } })
const disarm = () => service.request('POST', '/v1/tx/disarm')

async function transmitter(is: string): Promise<void> {
  await eventually(async () => {
    const { body } = await service.request('GET', '/v1/tx/arm')
    assert.is(body.transmitter, is, JSON.stringify(body))
  }, 30_000)
}

async function healthSays(what: RegExp): Promise<void> {
  await eventually(async () => {
    const { body } = await service.request('GET', '/v1/health')
    assert.match(JSON.stringify(body), what)
  }, 30_000)
}

async function isOff(): Promise<void> {
  await transmitter('off')
  assert.is(cell.isOn, false)
}

async function isOnAir(): Promise<void> {
  const { status, body } = await arm()
  assert.is(status, 200, JSON.stringify(body))
  await eventually(() => assert.is(cell.isOn, true), 30_000)
  await transmitter('on')
}

real('turns the cell on, and says that it is off when the cell says so', async () => {
  await isOnAir()
  const { status, body } = await disarm()
  assert.is(status, 200, JSON.stringify(body))
  await isOff()
  assert.equal([await acs.list('tasks'), await acs.list('faults')], [[], []])
})

real('turns off a cell that came back by itself, although GenieACS knows it as off', async () => {
  cell.isOn = true
  await eventually(() => assert.is(cell.isOn, false), 30_000)
  await isOff()
})

real('does not call a cell off that does not come, and turns it off when it does', async () => {
  await isOnAir()
  cell.isReachable = false
  const { status, body } = await disarm()
  assert.is(status, 503, JSON.stringify(body))
  await transmitter('unconfirmed')
  assert.is(cell.isOn, true)
  await cell.comes()
  assert.is(cell.isOn, false, 'the order to turn off had waited')
  cell.isReachable = true
  await isOff()
})

real('leaves nothing in GenieACS of an order that the cell refuses', async () => {
  cell.fault = '9003'
  await arm()
  await healthSays(/refuses what GenieACS asks of it: cwmp\.9003/)
  await disarm()
  await isOff()
  cell.fault = undefined
  await eventually(async () => assert.equal([await acs.list('tasks'), await acs.list('faults')], [[], []]))
})

real('gives the cell no order to turn on that waited for the database of GenieACS', async () => {
  const before = cell.timesTurnedOn
  acs.database.freeze()
  await arm()
  await healthSays(/did not answer in time/)
  assert.is((await disarm()).status, 503)
  acs.database.thaw()
  await isOff()
  await cell.comes()
  assert.is(cell.timesTurnedOn, before)
})

real.run()
