import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { alertsWitness, patiently } from '../harness/alerts-witness.ts'
import { startedProcesses } from '../harness/service.ts'
import { fakedClock } from '../harness/shifted-clock.ts'
import { startWebhookReceiver } from '../harness/webhook-receiver.ts'

/*
 * The machine's own clock leaps, as the kernel and every program on it see it: somebody is told, by a message of the right
 * time, once; and told again when the clock is right.
 */
const clocks = suite('e2e/alerts-clock', { limitMs: 900_000 })
const DAY_S = 86_400
const AHEAD_DAYS = 800

clocks('tell of a clock that leaps ahead, and of its end, by a message of the right time', async () => {
  await using dir = await tempDir()
  const processes = startedProcesses()
  const secret = join(dir.path, 'secret')
  const receiver = await startWebhookReceiver(secret, () => 'take')
  try {
    const clock = fakedClock(dir.path)
    const config = join(dir.path, 'control.yaml')
    const webhooks = [{ name: 'ops', url: receiver.url, secret_file: secret, allow_private: true }]
    // JSON is YAML.
    writeFileSync(
      config,
      JSON.stringify({ hss: { driver: 'none' }, alerts: { enabled: true, interval: '1s', webhooks } }),
    )
    const service = await processes.start({
      dataDir: join(dir.path, 'data'),
      flags: ['--config', config],
      env: clock.env(),
    })
    const status = async (): Promise<string> => (await service.request('GET', '/v1/clock')).body.status
    const seen = alertsWitness((path) => service.request('GET', path), receiver)
    assert.not.equal(await status(), 'in_doubt')

    clock.shift(AHEAD_DAYS * DAY_S)
    const skew = await seen.fires('clock_skew', 'clock')
    assert.match(skew.message, /the clock of this machine is not believed: .*800 days ahead/)
    assert.ok(Math.abs((skew.value ?? 0) - AHEAD_DAYS * DAY_S) < DAY_S, String(skew.value))
    // Nothing else fires by that clock: no certificate has ended.
    const others = (await seen.alerts()).filter(({ rule }) => rule.startsWith('certificate_'))
    assert.equal(others, [])

    clock.shift(0)
    await patiently(async () => assert.not.equal(await status(), 'in_doubt'))
    await seen.ends(skew)
    assert.is(receiver.forged, 0)
    for (const { body, payload } of receiver.deliveries) {
      if (payload.data.id !== skew.id) continue
      const { timestamp } = JSON.parse(body)
      assert.ok(Math.abs(Date.parse(timestamp) - Date.now()) < DAY_S * 1_000, timestamp)
    }
    assert.is(await service.stop(), 0)
  } finally {
    processes.endAll()
    await receiver.close()
  }
})

clocks.run()
