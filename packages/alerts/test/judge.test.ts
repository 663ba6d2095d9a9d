import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ComponentHealth, nodeIdentityRef } from '@steeple/contracts'
import { assert, fakeContext, memoryDb, suite, tempDir } from '@steeple/testkit'
import type { AlertsConfig } from '../src/config.ts'
import { alertMetrics } from '../src/metrics.ts'
import { MIGRATIONS } from '../src/migrations.ts'
import { numberText } from '../src/rules/thresholds.ts'
import { webhookHealth } from '../src/webhooks/health.ts'
import { targetsOf } from '../src/webhooks/target.ts'
import { SECRET } from './support/receiver.ts'

const judged = suite('alerts/judge')

const CONFIG: AlertsConfig = {
  enabled: true,
  rules: [],
  webhooks: [],
  disabled_rules: [],
  interval: '5s',
  retention: '90d',
}

judged('says at once which receiver nothing can be sent to, and why', async () => {
  await using folder = await tempDir()
  const file = (name: string): string => join(folder.path, name)
  const write = (name: string, text: string): Promise<void> => writeFile(file(name), text, { mode: 0o600 })
  await write('secret', SECRET)
  await write('open', SECRET)
  await chmod(file('open'), 0o644)
  await write('no-ca', 'nothing')
  await write('no-header', 'a\u0001b')
  const base = { url: 'https://hooks.example.org/', secret_file: file('secret') }
  const cases: readonly (readonly [object, RegExp | undefined])[] = [
    [{}, undefined],
    [{ url: 'https://169.254.169.254/' }, /169\.254\.169\.254 is link-local/],
    [{ url: 'https://2852039166/', allow_private: true }, /169\.254\.169\.254 is link-local/],
    [{ url: 'https://[fe80::1]/', allow_private: true }, /fe80::1 is link-local/],
    [{ url: 'https://10.0.0.1/' }, /allow_private: true lets it be one/],
    [{ url: 'http://1.1.1.1/', allow_private: true }, /use https:/],
    [{ url: 'http://hooks.example.org/' }, /use https:.*allow_private: true/],
    [{ url: 'http://hooks.local/', allow_private: true }, undefined],
    [{ secret_file: file('none') }, /none cannot be read: ENOENT/],
    [{ secret_file: file('open') }, /chmod 600/],
    [{ authorization_file: file('no-header') }, /holds no value of a header/],
    [{ ca_file: file('no-ca') }, /holds no certificate in PEM/],
    [{ ca_file: file('none') }, /none cannot be read: ENOENT/],
  ]
  const db = memoryDb(MIGRATIONS)
  const services = new Map<string, object>([[nodeIdentityRef.id, { nodeId: 'n', name: 'north' }]])
  const { context } = fakeContext({ id: 'alerts', config: CONFIG, db, services })
  const targets = targetsOf(cases.map(([more], index) => ({ ...base, name: `t${index}`, ...more })))
  const metrics = alertMetrics(context.metrics)
  const health = await webhookHealth({
    context,
    metrics,
    watches: [],
    names: () => new Set(),
    unsent: new Map(),
    targets: async () => targets,
  })
  const of = (index: number): ComponentHealth | undefined => health[index]
  cases.forEach(([more, why], index) => {
    const what = JSON.stringify(more)
    assert.is(of(index)?.status, why === undefined ? 'ok' : 'degraded', what)
    if (why !== undefined) assert.match(of(index)?.detail ?? '', why, what)
  })
  db.close()
})

judged('writes numbers as people read them', () => {
  assert.equal([11, 0.1, 1 / 3, 1_795_383_860.118, 99_999.96, -250_000.4, Number.NaN].map(numberText), [
    '11',
    '0.1',
    '0.333333',
    '1795383860',
    '100000',
    '-250000',
    'NaN',
  ])
})

judged.run()
