import {
  assert,
  eventually,
  type FakeClock,
  fakeClock,
  loadTestbed,
  pluginFrom,
  suite,
  type Testbed,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'

const clockRoutes = suite('nodes/clock-routes')

const DAY = 86_400_000
const START = Date.UTC(2026, 0, 1)

interface ClockBody {
  readonly status: string
  readonly machine_time: string
  readonly service_time: string
  readonly doubt: string | null
}

async function withBed(work: (bed: Testbed, clock: FakeClock) => Promise<void>): Promise<void> {
  const { startTestbed } = await loadTestbed()
  const clock = fakeClock(START)
  const bed = await startTestbed({ plugins: [await pluginFrom(import.meta.url, plugin)], clock })
  try {
    await work(bed, clock)
  } finally {
    await bed.stop()
  }
}

const look = async (bed: Testbed): Promise<ClockBody> => {
  const { status, body } = await bed.request('GET', '/v1/clock')
  assert.is(status, 200)
  return body as ClockBody
}

clockRoutes('says that a clock that leapt is in doubt, and takes a confirmation', async () => {
  await withBed(async (bed, clock) => {
    assert.is((await look(bed)).status, 'plausible')
    clock.jump(START + 800 * DAY)
    const doubted = await look(bed)
    assert.is(doubted.status, 'in_doubt')
    assert.match(doubted.machine_time, /^2028-03-11T00:0/)
    // Time of the test goes on, as long as the machine takes.
    assert.match(doubted.service_time, /^2026-01-01T00:0/)
    assert.match(doubted.doubt ?? '', /800 days ahead/)
    const { status, body } = await bed.request('POST', '/v1/clock/confirm', { body: {} })
    assert.is(status, 200)
    assert.equal([(body as ClockBody).status, (body as ClockBody).doubt], ['plausible', null])
    assert.match((await look(bed)).service_time, /^2028-03-11T00:0/)
    const [entry] = (await bed.audit()).filter(({ action }) => action === 'clock.confirm')
    assert.match(JSON.stringify(entry?.detail), /"machine":"2028-03-11T00:0.*"service":"2026-01-01T00:0/)
  })
})

clockRoutes('refuses a confirmation of another time than the machine has', async () => {
  await withBed(async (bed, clock) => {
    clock.jump(START + 800 * DAY)
    const { status, body } = await bed.request('POST', '/v1/clock/confirm', {
      body: { time: '2026-01-01T00:05:00Z' },
    })
    assert.is(status, 400)
    assert.match(JSON.stringify(body), /more than a minute off the machine's clock, which says 2028-03-11/)
    assert.is((await look(bed)).status, 'in_doubt')
  })
})

clockRoutes('shows the doubt among the components of the health', async () => {
  await withBed(async (bed, clock) => {
    await clock.advance(6_000)
    clock.jump(START + 800 * DAY)
    await eventually(async () => {
      await clock.advance(6_000)
      const { body } = await bed.request('GET', '/v1/health')
      const { components } = body as {
        components: readonly { name: string; status: string; detail: string }[]
      }
      const found = components.find(({ name }) => name === 'clock')
      assert.is(found?.status, 'degraded')
      assert.match(found?.detail ?? '', /nothing expires.* svc clock confirm/)
    })
  })
})

clockRoutes.run()
