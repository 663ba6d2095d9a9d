import { readdirSync, readFileSync } from 'node:fs'
import type { PlacedDesired } from '@steeple/southbound'
import { assert, suite } from '@steeple/testkit'
import type { RenderSettings } from '../../src/render/core-plan.ts'
import { renderCore } from '../../src/render/render.ts'
import { desiredWith, settingsWith } from '../support/desired.ts'

const golden = suite('driver-core-b/render golden files')

/** A network with everything that can be set, on the release before callbacks and metrics. */
const LARGE: readonly [PlacedDesired, RenderSettings] = [
  desiredWith({
    plmn: { mcc: '001', mnc: '010' },
    tac: 0x1e3,
    apns: ['internet', 'iot.example', '0x10'],
    maxUes: 1000,
    addresses: {
      amf: 'amf.free5gc.org',
      n2: '10.100.200.16',
      smf: 'smf.free5gc.org',
      n4: '10.100.200.17',
      upf: 'upf.free5gc.org',
      n3: '10.100.201.8',
      nrf: 'nrf.free5gc.org',
      dns: '10.100.200.1',
      mongo: 'db',
    },
  }),
  settingsWith({
    hss: { mongo_url: 'mongodb://core:word@127.0.0.1:27018/subscribers?authSource=admin' },
    core_b: {
      subnet: '10.128.0.0/12',
      slices: [{ sst: 1, sd: '010203' }, { sst: 128 }],
      release: '4.0.1',
      oauth: false,
      charging: false,
    },
  }),
]

const CASES: Readonly<Record<string, readonly [PlacedDesired, RenderSettings]>> = {
  stock: [desiredWith(), settingsWith()],
  large: LARGE,
}

for (const [name, [desired, settings]] of Object.entries(CASES)) {
  golden(`renders the files of the ${name} network as they were reviewed`, async () => {
    const folder = new URL(`../golden/${name}/`, import.meta.url)
    const { files } = renderCore(desired, settings)
    assert.equal([...files.keys()].toSorted(), readdirSync(folder).toSorted())
    for (const [file, text] of files) {
      assert.fixture(text, readFileSync(new URL(file, folder), 'utf8'), file)
    }
  })
}

golden.run()
