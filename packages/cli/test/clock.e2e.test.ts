import { assert, suite } from '@steeple/testkit'
import { fakeService } from './fake-service.ts'
import { svc } from './svc.ts'

const test = suite('cli/clock')

const DOUBTED = {
  status: 'in_doubt',
  machine_time: '2028-03-11T00:00:00.000Z',
  service_time: '2026-01-01T00:00:00.000Z',
  doubt: "the machine's clock says 2028-03-11T00:00:00.000Z",
}

test('shows a clock in doubt with exit code 1, and confirms it', async () => {
  await using service = await fakeService(({ method }) => ({
    body: method === 'GET' ? DOUBTED : { ...DOUBTED, status: 'plausible', doubt: null },
  }))
  const env = { SVC_URL: service.url, SVC_TOKEN: 'svc_test' }
  const shown = await svc(['clock', 'show'], { env })
  assert.is(shown.code, 1)
  assert.match(shown.out, /^status +in_doubt$/m)
  const confirmed = await svc(['clock', 'confirm', '--time', '2028-03-11T00:00:00Z'], { env })
  assert.is(confirmed.code, 0, confirmed.err)
  assert.match(confirmed.out, /^status +plausible$/m)
  const { method, path, body } = service.seen[1] ?? {}
  assert.equal([method, path], ['POST', '/v1/clock/confirm'])
  assert.equal(typeof body === 'string' ? JSON.parse(body) : body, { time: '2028-03-11T00:00:00Z' })
})

test.run()
