import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { coreDriverRef, healthBoardRef, type Imsi } from '@steeple/contracts'
import {
  assert,
  eventually,
  loadTestbed,
  patient,
  pluginFrom,
  suite,
  type Testbed,
  tempDir,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { DESIRED } from './support/desired.ts'
import { phone } from './support/phones.ts'
import { type StandInCore, standInCore } from './support/stand-in-core.ts'

const pluginTests = suite('driver-core-a/plugin')
const SECRET = 'hunter2hunter2'

let bed: Testbed
let core: StandInCore
let folder: Awaited<ReturnType<typeof tempDir>>

pluginTests.before(async () => {
  const { startTestbed } = await loadTestbed()
  core = await standInCore()
  core.phones.push(phone(1), phone(2))
  folder = await tempDir()
  await mkdir(join(folder.path, 'core'))
  bed = await startTestbed({
    plugins: [await pluginFrom(import.meta.url, plugin)],
    settings: {
      // The driver's own word wins over the collector's, which a build may lack.
      collector: { mme_url: 'http://127.0.0.1:1', smf_url: core.url('smf') },
      core_a: { config_dir: join(folder.path, 'core'), mme_url: core.url('mme') },
      hss: { mongo_url: `mongodb://core:${SECRET}@127.0.0.1/open5gs` },
    },
  })
  await bed.settled()
})
pluginTests.after(async () => {
  await bed?.stop()
  await core?.close()
  await folder?.remove()
})

pluginTests('loads for core_a, provides the driver, and says in health what it sees', async () => {
  const driver = bed.service(coreDriverRef)
  assert.ok(driver !== undefined)
  await eventually(async () => assert.is((await driver?.observe(patient()))?.attachedUes, 2))
  await eventually(() => {
    const components = bed.service(healthBoardRef)?.components() ?? []
    const seen = components.find(({ name }) => name.endsWith('.daemons'))
    assert.is(seen?.status, 'ok')
    assert.is(seen?.detail, '1 base station, 2 phones attached (epc)')
    // The service asks for health every 5 s.
  })
})

pluginTests('says in health that the core serves another network', async () => {
  core.plmn = '00101'
  await eventually(() => {
    const components = bed.service(healthBoardRef)?.components() ?? []
    const seen = components.find(({ name }) => name.endsWith('.daemons'))
    assert.is(
      seen?.detail,
      '0 base stations, 0 phones attached; 1 base station and 2 phones of another network (001-01) (epc)',
    )
    assert.is(seen?.status, 'degraded')
    // The core is looked at every 10 s, and health every 5 s.
  })
  core.plmn = '99999'
})

pluginTests('plans what it would write and to whom, without the password, and writes nothing', async () => {
  const driver = bed.service(coreDriverRef)
  assert.ok(driver?.plan !== undefined)
  const plan = await driver?.plan?.(await driver.render(DESIRED), patient())
  const text = JSON.stringify(plan)
  for (const path of ['mme.yaml', 'freeDiameter/hss.conf', 'pcrf.yaml']) assert.match(text, `"${path}"`)
  assert.not.match(text, SECRET)
  assert.equal(await readdir(join(folder.path, 'core')), [])
})

pluginTests('counts kicks and names no subscriber', async () => {
  const stranger = '001010000000001' as Imsi // 15 digits
  assert.is(await bed.service(coreDriverRef)?.kick(stranger, patient()), 'not_attached')
  const { body } = await bed.request('GET', '/metrics')
  assert.match(String(body), /svc_driver_core_a_kicks_total\{result="not_attached"\} 1/)
  assert.match(String(body), /svc_driver_core_a_daemon_up\{daemon="mme"\} 1/)
  assert.not.match(String(body), stranger)
})

pluginTests.run()
