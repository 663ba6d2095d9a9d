import { fileURLToPath } from 'node:url'
import { assert, eventually, loadTestbed, pluginFrom } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { httpServer } from './external/support/servers.ts'
import { PROFILE } from './support/lab.ts'
import { processSuite } from './support/process-suite.ts'

const external = processSuite('driver-ran/external')
const packageDir = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url))

const POLICY = {
  spectrum: {
    license: { acknowledged: true, reference: 'L-7', holder: 'E', expires_at: '2099-01-01T00:00:00Z' },
    allow_list: [{ technology: 'lte', band: 'b7', country: 'DE' }],
  },
}

/** A plug that counts what its socket draws, on the network. */
async function plug() {
  let isOn = false
  let isBypassed = false
  let channel: number = PROFILE.channel
  const server = await httpServer(({ url }) => {
    if (url === '/on') isOn = true
    if (url === '/off') isOn = false
    return { status: 200, body: { output: isOn, apower: isOn || isBypassed ? 11 : 0, earfcn: channel } }
  })
  return {
    ...server,
    isOn: () => isOn,
    tune: (to: number) => {
      channel = to
    },
    bypass: (is: boolean) => {
      isBypassed = is
    },
  }
}

async function bed(url: string, staysOn: boolean) {
  const { startTestbed } = await loadTestbed()
  const started = await startTestbed({
    plugins: [
      await pluginFrom(import.meta.url, plugin),
      { dir: packageDir('policy') },
      { dir: packageDir('nodes') },
      { dir: packageDir('access') },
    ],
    settings: {
      server: { country: 'DE', mode: 'rf' },
      ran: {
        program: 'external',
        external: {
          poll: '1s',
          stays_on: staysOn,
          switch: {
            http: {
              ...{ on: { url: `${url}/on` }, off: { url: `${url}/off` }, power: { pointer: '/apower' } },
              channel: { pointer: '/earfcn' },
              status: { url, pointer: '/output', on: true, off: false },
            },
          },
        },
        profiles: { mast: PROFILE },
      },
    },
  })
  await started.settled()
  const policy = await started.request('PUT', '/v1/policy', { body: POLICY })
  assert.is(policy.status, 200, JSON.stringify(policy.body))
  const gate = async (): Promise<string> =>
    Object((await started.request('GET', '/v1/tx/arm')).body).transmitter
  await eventually(async () => assert.is(await gate(), 'off'))
  return {
    ...started,
    gate,
    arm: () => started.request('POST', '/v1/tx/arm', { body: { arm: true, profile_id: 'mast' } }),
  }
}

external('arms and disarms a cell that runs by itself, and says so when it comes back', async () => {
  const socket = await plug()
  const box = await bed(socket.url, true)
  try {
    const armed = await box.arm()
    assert.is(armed.status, 200, JSON.stringify(armed.body))
    await eventually(() => assert.is(socket.isOn(), true))
    await eventually(async () => assert.is(await box.gate(), 'on'))
    const disarmed = await box.request('POST', '/v1/tx/disarm')
    assert.is(disarmed.status, 200, JSON.stringify(disarmed.body))
    assert.is(socket.isOn(), false)
    assert.is(await box.gate(), 'off')
    socket.bypass(true)
    await eventually(async () => assert.is(await box.gate(), 'unconfirmed'))
    await eventually(async () => {
      const { incidents = [] } = Object((await box.request('GET', '/v1/health')).body)
      assert.ok(JSON.stringify(incidents).includes('cell_not_permitted'), JSON.stringify(incidents))
    })
    await eventually(async () => {
      const { entries } = Object((await box.request('GET', '/v1/audit?action=ran.not_permitted')).body)
      assert.match(JSON.stringify(entries), /it draws 11 W/)
    })
    assert.is((await box.arm()).status, 409)
    socket.bypass(false)
    await eventually(async () => assert.is(await box.gate(), 'off'))
  } finally {
    await box.stop()
    await socket.close()
  }
})

external('disarms by itself when the cell reports another channel than the gate has judged', async () => {
  const socket = await plug()
  const box = await bed(socket.url, true)
  const state = async () => Object((await box.request('GET', '/v1/tx/arm')).body)
  try {
    assert.is((await state()).fallback.kind, 'none')
    assert.is((await box.arm()).status, 200)
    await eventually(() => assert.is(socket.isOn(), true))
    socket.tune(PROFILE.channel + 50)
    await eventually(async () => {
      const { armed, transmitter } = await state()
      assert.equal([armed, transmitter], [false, 'off'])
    })
    assert.is(socket.isOn(), false)
    const { incidents = [] } = Object((await box.request('GET', '/v1/health')).body)
    assert.ok(JSON.stringify(incidents).includes('cell_other_channel'), JSON.stringify(incidents))
    const { entries } = Object((await box.request('GET', '/v1/audit?action=tx.auto_disarm')).body)
    assert.match(JSON.stringify(entries), /the cell reports channel/)
    const refused = await box.arm()
    assert.is(refused.status, 400)
    assert.match(JSON.stringify(refused.body), /set both the same/)
    socket.tune(PROFILE.channel)
    await eventually(async () => {
      const { incidents: left = [] } = Object((await box.request('GET', '/v1/health')).body)
      assert.not.ok(JSON.stringify(left).includes('cell_other_channel'))
    })
    assert.is((await box.arm()).status, 200)
    assert.is((await box.request('POST', '/v1/tx/disarm')).status, 200)
  } finally {
    await box.stop()
    await socket.close()
  }
})

external(
  'does not arm what would stay on when the machine fails, unless somebody has accepted it',
  async () => {
    const socket = await plug()
    const box = await bed(socket.url, false)
    try {
      const armed = await box.arm()
      assert.is(armed.status, 400)
      assert.match(JSON.stringify(armed.body), /it stays on when this machine fails/)
      const { checks } = Object((await box.request('GET', '/v1/tx/profiles/mast/dry-run')).body)
      assert.match(JSON.stringify(checks), /"check":"lease","problems":\["it stays on/)
      assert.is(socket.isOn(), false)
    } finally {
      await box.stop()
      await socket.close()
    }
  },
)

external.run()
