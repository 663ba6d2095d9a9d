import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  assert,
  eventually,
  loadTestbed,
  pluginFrom,
  stretched,
  suite,
  type TempDir,
  type Testbed,
  tempDir,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { GOOD, nowMs, PROFILE, readSamples, standInFiles } from './support/lab.ts'
import { recordingPath } from './support/recordings.ts'

const http = suite('driver-ran/http')
const packageDir = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url))

let bed: Testbed
let folder: TempDir
let radio: ReturnType<typeof standInFiles>

http.before(
  async () => {
    folder = await tempDir()
    radio = standInFiles(folder.path)
    radio.play(GOOD)
    const { startTestbed } = await loadTestbed()
    bed = await startTestbed({
      plugins: [
        await pluginFrom(import.meta.url, plugin),
        { dir: packageDir('policy') },
        { dir: packageDir('nodes') },
        { dir: packageDir('access') },
      ],
      settings: {
        server: { country: 'DE', mode: 'rf' },
        ran: {
          binary: radio.binary,
          device_name: 'uhd',
          device_args: `serial=${join(folder.path, 'x').slice(-12).replaceAll('/', '_')}`,
          profiles: { mast: PROFILE },
        },
      },
    })
    await bed.settled()
  },
  { limitMs: 360_000 },
)
http.after(
  async () => {
    await bed?.stop()
    await folder?.remove()
  },
  { limitMs: 360_000 },
)

async function status(): Promise<Readonly<Record<string, unknown>>> {
  const answer = await bed.request('GET', '/v1/status')
  assert.is(answer.status, 200, JSON.stringify(answer.body))
  return answer.body as Readonly<Record<string, unknown>>
}

http('stays quiet until TX is armed', async () => {
  const { enb } = await status()
  assert.equal(enb, { connected: false, mode: 'lte', s1_setup: false, known: true, other_networks: [] })
  assert.equal(readSamples(radio.samples), [])
})

http(
  'goes on air by arming, shows S1 in the status and the state, and is off when the disarm is answered',
  async () => {
    const policy = await bed.request('PUT', '/v1/policy', {
      body: {
        spectrum: {
          license: {
            acknowledged: true,
            reference: 'L-7',
            holder: 'Example',
            expires_at: '2099-01-01T00:00:00Z',
          },
          allow_list: [{ technology: 'lte', band: 'b7', country: 'DE' }],
        },
      },
    })
    assert.is(policy.status, 200, JSON.stringify(policy.body))
    const armed = await bed.request('POST', '/v1/tx/arm', { body: { arm: true, profile_id: 'mast' } })
    assert.is(armed.status, 200, JSON.stringify(armed.body))
    await eventually(async () => {
      const { enb, state } = await status()
      assert.equal(enb, { connected: true, mode: 'lte', s1_setup: true, known: true, other_networks: [] })
      assert.is(state, 'on-air')
      return true
    })
    await eventually(async () => {
      const health = await bed.request('GET', '/v1/health')
      assert.match(JSON.stringify(health.body), /on air at 2680 MHz, connected to the core, 0 phones/)
      return true
    })

    const askedMs = nowMs()
    const disarmed = await bed.request('POST', '/v1/tx/disarm')
    const answeredMs = nowMs()
    assert.is(disarmed.status, 200, JSON.stringify(disarmed.body))
    const sent = readSamples(radio.samples)
    assert.ok((sent.at(-1)?.atMs ?? 0) - askedMs < stretched(1_000))
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    assert.is(readSamples(radio.samples).filter(({ atMs }) => atMs > answeredMs).length, 0)
    await eventually(async () => (await status()).state === 'registered')
  },
  { limitMs: 360_000 },
)

http(
  'degrades the node while S1 is lost, and lets it be on air again when S1 is back',
  async () => {
    const says = join(folder.path, 'says')
    writeFileSync(says, '')
    radio.play({ ...GOOD, says })
    const armed = await bed.request('POST', '/v1/tx/arm', { body: { arm: true, profile_id: 'mast' } })
    assert.is(armed.status, 200, JSON.stringify(armed.body))
    const seen = (isConnected: boolean, state: string, detail: RegExp): Promise<unknown> =>
      eventually(async () => {
        const now = await status()
        assert.equal(now.enb, {
          connected: isConnected,
          mode: 'lte',
          s1_setup: isConnected,
          known: true,
          other_networks: [],
        })
        assert.is(now.state, state)
        assert.match(JSON.stringify(now.components), detail)
        return true
      })
    await seen(true, 'on-air', /is on air at 2680 MHz, connected/)
    appendFileSync(says, 'Restarting S1 connection\n')
    await seen(false, 'degraded', /on air at 2680 MHz without core: Restarting S1 connection/)
    appendFileSync(
      says,
      '2026-11-20T13:10:07.148661 [S1AP   ] [I] Proc "MME Connection" - S1Setup procedure completed successfully\n',
    )
    await seen(true, 'on-air', /is on air at 2680 MHz, connected/)
    assert.is((await bed.request('POST', '/v1/tx/disarm')).status, 200)
  },
  { limitMs: 360_000 },
)

http('tells its metrics by state, and counts what started and ended', async () => {
  const { body } = await bed.request('GET', '/metrics')
  assert.match(String(body), /svc_driver_ran_starts_total 2/)
  assert.match(String(body), /svc_driver_ran_exits_total\{class="stopped"\} 2/)
  assert.match(String(body), /svc_driver_ran_state\{state="s1_up"\} [01]/)
})

http(
  'tries a refused radio once more when a person disarms and arms',
  async () => {
    const arm = (): Promise<{ readonly status: number }> =>
      bed.request('POST', '/v1/tx/arm', { body: { arm: true, profile_id: 'mast' } })
    const shows = (detail: RegExp): Promise<unknown> =>
      eventually(async () => assert.match(JSON.stringify((await status()).components), detail))
    radio.play({ recording: recordingPath('bad_unknown_key'), exit: { atMs: 60, code: 255 } })
    assert.is((await arm()).status, 200)
    await shows(/is not started: srsenb refuses its configuration/)
    radio.play(GOOD)
    assert.is((await bed.request('POST', '/v1/tx/disarm')).status, 200)
    assert.is((await arm()).status, 200)
    await shows(/radio with profile mast is on air at 2680 MHz, connected/)
    assert.is((await bed.request('POST', '/v1/tx/disarm')).status, 200)
    await shows(/off: TX is not armed/)
  },
  { limitMs: 360_000 },
)

http.run()
