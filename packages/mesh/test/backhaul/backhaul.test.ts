import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ComponentHealth, type Plugin, routesIn } from '@steeple/contracts'
import {
  assert,
  eventually,
  type FakeClock,
  fakeClock,
  letTimePass,
  loadTestbed,
  pluginFrom,
  suite,
  tempDir,
} from '@steeple/testkit'
import { backhaul, monthOf, type Uplink, uplinkNames, uplinkOf } from '../../src/backhaul/backhaul.ts'
import { BACKHAUL_MIGRATIONS, MONTHS, UPLINKS } from '../../src/backhaul/store.ts'
import type { PeeringConfig } from '../../src/config.ts'

const way = suite('mesh/backhaul')

const ROUTES = routesIn(
  [
    'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT',
    'wan0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0',
    'lte0\t00000000\t010200C0\t0003\t0\t0\t9\t00000000\t0\t0\t0',
    'mesh0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0',
    'ogstun\t00002D0A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0',
  ].join('\n'),
  '',
)
const MINUTE_MS = 60_000

interface Month {
  readonly month: string
  readonly received_bytes: number
  readonly sent_bytes: number
  readonly total_bytes: number
  readonly from: string
  readonly until: string
}
interface World {
  readonly clock: FakeClock
  /** What the kernel has counted. */
  readonly counters: Map<string, Omit<Uplink, 'name'>>
  health(): Promise<readonly ComponentHealth[]>
  /** Once counters were looked at again. */
  months(query?: string): Promise<readonly Month[]>
  body(): Promise<Readonly<Record<string, unknown>>>
}

/** A machine with two ways out, and the one of the mesh, half an hour before a month ends at its place. */
async function world(use: (at: World) => Promise<void>, config: object = {}): Promise<void> {
  const { startTestbed } = await loadTestbed()
  const clock = fakeClock(Date.UTC(2026, 9, 31, 22, 30))
  const stopClock = letTimePass(clock)
  const counters: World['counters'] = new Map([
    ['wan0', { since: 'one', receivedBytes: 5_000, sentBytes: 700 }],
  ])
  const parts: Awaited<ReturnType<typeof backhaul>>[] = []
  const plugin: Plugin<PeeringConfig> = {
    migrations: BACKHAUL_MIGRATIONS,
    tables: [UPLINKS, MONTHS],
    setup: async (context) => {
      const part = await backhaul(
        context,
        { device: () => 'mesh0' },
        {
          routes: async () => ROUTES,
          uplink: async (name) => {
            const seen = counters.get(name)
            return seen === undefined ? undefined : { name, ...seen }
          },
        },
      )
      parts.push(part)
      return part
    },
  }
  const inline = await pluginFrom(new URL('../backhaul.ts', import.meta.url).href, plugin)
  const bed = await startTestbed({
    plugins: [{ ...inline, manifest: { ...inline.manifest, requires: [], provides: [] } }],
    clock,
    config: { fairuse: { time_zone: 'Europe/Berlin' }, ...config },
  })
  const body: World['body'] = async () => {
    const answer = await bed.request('GET', '/v1/mesh/backhaul')
    assert.is(answer.status, 200, JSON.stringify(answer.body))
    return answer.body as Readonly<Record<string, unknown>>
  }
  try {
    await use({
      clock,
      counters,
      body,
      months: async (query = '') => {
        const answer = await bed.request('GET', `/v1/mesh/backhaul${query}`)
        return (answer.body as { readonly months: readonly Month[] }).months
      },
      health: async () => (await parts.at(-1)?.health?.()) ?? [],
    })
  } finally {
    await bed.stop()
    await stopClock()
  }
}

way('counts the ways out by the months of the place, whatever the counters do', () =>
  world(async ({ clock, counters, months, body }) => {
    const sums = async (): Promise<readonly unknown[]> =>
      (await months()).map(({ month, received_bytes, sent_bytes, total_bytes }) => [
        month,
        received_bytes,
        sent_bytes,
        total_bytes,
      ])
    const becomes = async (...expected: readonly unknown[]): Promise<void> => {
      await clock.advance(2 * MINUTE_MS)
      await eventually(async () => assert.equal(await sums(), expected))
    }
    assert.equal(await sums(), [['2026-10', 0, 0, 0]], 'what was carried before is of no known month')
    counters.set('wan0', { since: 'one', receivedBytes: 6_500, sentBytes: 800 })
    await becomes(['2026-10', 1_500, 100, 1_600])
    counters.set('lte0', { since: 'one', receivedBytes: 90_000, sentBytes: 90_000 })
    await becomes(['2026-10', 1_500, 100, 1_600])
    counters.set('lte0', { since: 'one', receivedBytes: 90_001, sentBytes: 90_002 })
    await becomes(['2026-10', 1_501, 102, 1_603])
    // The machine was started anew: its counters with it, even where they are higher by now.
    counters.set('wan0', { since: 'two', receivedBytes: 7_000, sentBytes: 10 })
    await becomes(['2026-10', 8_501, 112, 8_613])
    // Midnight of the place, an hour before that of UTC.
    await clock.advance(40 * MINUTE_MS)
    counters.set('wan0', { since: 'two', receivedBytes: 7_009, sentBytes: 11 })
    await becomes(['2026-11', 9, 1, 10], ['2026-10', 8_501, 112, 8_613])
    assert.equal((await months('?months=1')).length, 1)
    const { interfaces, cap_bytes } = await body()
    assert.equal([interfaces, cap_bytes], [['lte0', 'wan0'], null])
    const [november, october] = await months()
    assert.match(october?.from ?? '', /^2026-10-31T22:3/)
    assert.ok((november?.from ?? '') > (october?.until ?? ''))
  }),
)

way('says how much of the allowance is used, and that it is used up', () =>
  world(
    async ({ clock, counters, health, body }) => {
      assert.is((await body()).cap_bytes, 2_000)
      const says = async (status: string, share: string): Promise<void> => {
        await clock.advance(2 * MINUTE_MS)
        await eventually(async () => {
          const [found] = await health()
          assert.equal([found?.name, found?.status], ['backhaul', status])
          assert.match(found?.detail ?? '', new RegExp(`^${share} `))
        })
      }
      counters.set('wan0', { since: 'one', receivedBytes: 6_000, sentBytes: 1_690 })
      await says('ok', '99 %')
      counters.set('wan0', { since: 'one', receivedBytes: 6_010, sentBytes: 1_690 })
      await says('degraded', '100 %')
    },
    { peering: { backhaul_cap_bytes: 2_000 } },
  ),
)

way('finds the ways out among the routes, but not the one through the mesh', () => {
  assert.equal(uplinkNames(ROUTES, 'mesh0'), ['lte0', 'wan0'])
  assert.equal(uplinkNames(ROUTES, undefined), ['lte0', 'mesh0', 'wan0'])
})

way('reads counters as the kernel keeps them, and knows a machine that was started anew', async () => {
  await using folder = await tempDir()
  const write = (path: string, text: string): void => {
    mkdirSync(join(folder.path, path, '..'), { recursive: true })
    writeFileSync(join(folder.path, path), `${text}\n`)
  }
  const read = (name: string) => uplinkOf(name, join(folder.path, 'sys'), join(folder.path, 'proc'))
  write('proc/sys/kernel/random/boot_id', 'first')
  write('sys/class/net/wan0/ifindex', '2')
  write('sys/class/net/wan0/statistics/rx_bytes', '123456789012')
  write('sys/class/net/wan0/statistics/tx_bytes', '42')
  const before = await read('wan0')
  assert.equal([before?.receivedBytes, before?.sentBytes], [123_456_789_012, 42])
  assert.is(await read('gone0'), undefined)
  write('proc/sys/kernel/random/boot_id', 'second')
  assert.is.not((await read('wan0'))?.since, before?.since)
})

way('names months by the place', () => {
  const atMs = Date.UTC(2026, 11, 31, 23, 30)
  assert.is(monthOf(atMs, 'Europe/Berlin'), '2027-01')
  assert.is(monthOf(atMs, 'America/Lima'), '2026-12')
  assert.match(monthOf(atMs, ''), /^202[67]-(12|01)$/)
})

way.run()
