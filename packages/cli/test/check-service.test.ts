import { assert, suite } from '@steeple/testkit'
import { checkService } from '../src/doctor/doctor.ts'
import { deafTerminal, fakeService } from './fake-service.ts'

const checks = suite('cli/doctor/check-service')

const terminal = deafTerminal({ SVC_TOKEN: 'svc_test' })

/** What the doctor makes of a service with these components. */
async function judged(components: readonly object[]) {
  await using service = await fakeService(() => ({ body: { status: 'ok', components } }))
  return await checkService(terminal, service.url, undefined)
}

const STORE = { name: 'store', kind: 'store', status: 'ok', detail: '' }
const TRUST = { name: 'plugins.trust', kind: 'feature', detail: 'runs without a signature: hot 1.0.0' }

for (const status of ['ok', 'degraded'])
  checks(`warns of plugins whose signature is not believed, whether that is ${status} or not`, async () => {
    const [service, plugins, ...more] = await judged([STORE, { ...TRUST, status }])
    assert.equal([service?.status, service?.detail], ['ok', '1 components are well'])
    assert.equal([plugins?.name, plugins?.status, plugins?.detail], ['plugins', 'warn', TRUST.detail])
    assert.match(plugins?.remedy ?? '', /plugins\.trust/)
    assert.equal(more, [])
  })

checks('names what is ill, beside that', async () => {
  const found = await judged([
    { ...STORE, status: 'down' },
    { ...TRUST, status: 'ok' },
  ])
  assert.equal(
    found.map(({ status }) => status),
    ['fail', 'warn'],
  )
})

checks.run()
