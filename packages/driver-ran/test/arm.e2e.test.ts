import { fileURLToPath } from 'node:url'
import { assert, eventually, fakeClock, loadTestbed, pluginFrom, tempDir } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { GOOD, PROFILE, readSamples, standInFiles } from './support/lab.ts'
import { processSuite } from './support/process-suite.ts'

const arm = processSuite('driver-ran/arm')
const packageDir = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url))

const POLICY = {
  spectrum: {
    license: { acknowledged: true, reference: 'L-7', holder: 'E', expires_at: '2099-01-01T00:00:00Z' },
    allow_list: [{ technology: 'lte', band: 'b7', country: 'DE' }],
  },
}

arm('starts the radio when TX is armed, without a look at the clock', async () => {
  const folder = await tempDir()
  const radio = standInFiles(folder.path)
  radio.play(GOOD)
  const { startTestbed } = await loadTestbed()
  const bed = await startTestbed({
    // Time stands still: whoever only looks now and then never looks.
    clock: fakeClock(),
    plugins: [
      await pluginFrom(import.meta.url, plugin),
      { dir: packageDir('policy') },
      { dir: packageDir('nodes') },
    ],
    settings: {
      server: { country: 'DE', mode: 'rf' },
      ran: {
        binary: radio.binary,
        device_name: 'uhd',
        device_args: 'serial=arm',
        profiles: { mast: PROFILE },
      },
    },
  })
  try {
    await bed.settled()
    const policy = await bed.request('PUT', '/v1/policy', { body: POLICY })
    assert.is(policy.status, 200, JSON.stringify(policy.body))
    const armed = await bed.request('POST', '/v1/tx/arm', { body: { arm: true, profile_id: 'mast' } })
    assert.is(armed.status, 200, JSON.stringify(armed.body))
    await eventually(() => assert.ok(readSamples(radio.samples).length > 0))
    assert.is((await bed.request('POST', '/v1/tx/disarm')).status, 200)
  } finally {
    await bed.stop()
    await folder.remove()
  }
})

arm.run()
