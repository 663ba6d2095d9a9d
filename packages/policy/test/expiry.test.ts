import { assert, eventually, fakeClock, loadTestbed, pluginFrom, suite } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { OPEN_POLICY, PROFILES } from './support/world.ts'

const expiry = suite('policy/expiry')

const HOUR_MS = 3_600_000
const SOON_MS = 4_000

expiry('disarms at the millisecond at which the license expires, under the real reconciler', async () => {
  const { startTestbed } = await loadTestbed()
  const clock = fakeClock(Date.now())
  await using bed = await startTestbed({
    plugins: [await pluginFrom(import.meta.url, plugin)],
    settings: { server: { country: 'DE' }, ran: { profiles: PROFILES } },
    clock,
  })
  await bed.settled()
  const expiresMs = clock.nowMs() + HOUR_MS
  const expires_at = new Date(expiresMs).toISOString()
  const { allow_list, license } = OPEN_POLICY.spectrum
  const body = { spectrum: { allow_list, license: { ...license, expires_at } } }
  assert.is((await bed.request('PUT', '/v1/policy', { body })).status, 200)
  const armed = await bed.request('POST', '/v1/tx/arm', { body: { arm: true, profile_id: 'b3-lab' } })
  assert.is(armed.status, 200)
  await clock.advance(HOUR_MS - SOON_MS)
  await bed.settled()
  // A look while the clock stands still: time that jumps during a look would count as time that the look took.
  assert.is((await bed.request('PUT', '/v1/policy', { body: {} })).status, 200)
  await bed.settled()
  await clock.advance(SOON_MS - 1)
  assert.match(JSON.stringify((await bed.request('GET', '/v1/tx/arm')).body), /"armed":true/)
  await clock.advance(1)
  await eventually(async () => {
    const { body: state } = await bed.request('GET', '/v1/tx/arm')
    return JSON.stringify(state).includes('"armed":false')
  })
  const entry = (await bed.audit()).find(({ action }) => action === 'tx.auto_disarm')
  assert.is(entry?.atMs, expiresMs)
})

expiry.run()
