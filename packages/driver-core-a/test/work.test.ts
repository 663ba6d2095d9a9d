import { createSocket, type Socket } from 'node:dgram'
import { createServer, type Server } from 'node:net'
import { hssDriverRef, type Imsi } from '@steeple/contracts'
import { containerEngine } from '@steeple/lab-core'
import { assert, eventually, fakeContext, memoryDb, patient, suite } from '@steeple/testkit'
import { coreLogs } from '../src/diagnose/diagnose.ts'
import { poolAddresses } from '../src/mend/pool-addresses.ts'
import { logTales } from '../src/observe/log-tales.ts'
import { hasDiameterAt, tunLook } from '../src/observe/proc-net.ts'
import { tunPools } from '../src/render/kept-pools.ts'
import { phone } from './support/phones.ts'
import { type World, world } from './support/world.ts'

const work = suite('driver-core-a/work')

/** What the real daemons wrote when it happened to them (v2.8.0+66), with their colours. */
const line = (domain: string, level: string, text: string): string =>
  `\u001b[32m11/28 09:50:47.649\u001b[0m: [\u001b[33m${domain}\u001b[0m] \u001b[1;33m${level}\u001b[0m: ${text}`
const START = line('app', 'INFO', "Configuration: '/etc/open5gs/x.yaml' (../src/lib/app/ogs-init.c:144)")
const ASSOCIATED = line('sgwc', 'INFO', 'PFCP associated [127.0.0.6]:8805 (../src/src/sgwc/pfcp-sm.c:167)')
const RELEASED = line('sgwc', 'INFO', 'PFCP de-associated [127.0.0.6]:8805 (../src/src/sgwc/pfcp-sm.c:181)')
const connected = (peer: string): string =>
  line(
    'diam',
    'INFO',
    `CONNECTED TO '${peer}.localdomain' (TCP,soc#10): (../src/lib/diameter/common/logger.c:81)`,
  )
const state = (to: string, peer: string): string =>
  line(
    'diam',
    'ERROR',
    `pid:PSM/${peer}.localdomain in fd_psm_change_state@p_psm.c:284: 'STATE_OPEN'\t-> 'STATE_${to}'\t'${peer}.localdomain'`,
  )
const UNWRITABLE = line('upf', 'WARNING', 'ogs_tun_write() failed (../src/src/upf/gtp-path.c:876)')

const problemsOf = async (it: World): Promise<Readonly<Record<string, string>>> => {
  // A look of a moment ago counts for who asks at once.
  await it.fake.clock.advance(1_500)
  return Object.fromEntries((await it.a.driver.observe(patient())).problems ?? [])
}

async function withWorld(generation: 'epc' | '5gc', body: (it: World) => Promise<void>): Promise<void> {
  await using it = await world(generation)
  it.engine.written.set('core-sgwc', [START, ASSOCIATED])
  it.engine.written.set('core-mme', [START, connected('hss')])
  it.engine.written.set('core-smf', [START, connected('pcrf')])
  it.engine.written.set('core-upf', [START])
  assert.equal(await problemsOf(it), {}, 'all is well before')
  await body(it)
}

/** What can be lost while everybody answers: how it dies, what is said of whom, and how it comes back. */
const LOSSES: readonly (readonly [
  what: string,
  generation: 'epc' | '5gc',
  dies: (it: World) => unknown,
  said: Readonly<Record<string, string>>,
  mends: (it: World) => unknown,
])[] = [
  [
    'PFCP between SMF and UPF',
    'epc',
    (it) => {
      it.core.fault = (_daemon, path) => (path === '/metrics' ? { body: 'pfcp_peers_active 0\n' } : undefined)
    },
    {
      upf: 'it has no PFCP association with the SMF',
      smf: 'it has no PFCP association with the UPF',
    },
    (it) => {
      it.core.fault = () => undefined
    },
  ],
  [
    'PFCP between SGW-C and SGW-U',
    'epc',
    (it) => it.engine.written.get('core-sgwc')?.push(RELEASED),
    { sgwc: 'it has no PFCP association with the SGW-U' },
    (it) => it.engine.written.get('core-sgwc')?.push(ASSOCIATED),
  ],
  [
    'Diameter between MME and HSS',
    'epc',
    (it) => it.engine.written.get('core-mme')?.push(state('SUSPECT', 'hss'), state('CLOSED', 'hss')),
    { mme: 'it has no Diameter connection to the HSS' },
    (it) => it.engine.written.get('core-mme')?.push(connected('hss')),
  ],
  [
    'Diameter between SMF and PCRF, since a restart',
    'epc',
    (it) => it.engine.written.get('core-smf')?.push(START),
    { smf: 'it has no Diameter connection to the PCRF' },
    (it) => it.engine.written.get('core-smf')?.push(connected('pcrf')),
  ],
  [
    'a watchdog of Diameter, of which nothing is written when it is answered again',
    'epc',
    (it) => it.engine.written.get('core-mme')?.push(state('SUSPECT', 'hss')),
    { mme: 'it has no Diameter connection to the HSS' },
    (it) => it.fake.clock.advance(75_000),
  ],
  [
    'the TUN device under a running UPF',
    'epc',
    (it) => it.engine.written.get('core-upf')?.push(UNWRITABLE, UNWRITABLE),
    { upf: 'it cannot use its TUN device' },
    (it) => it.fake.clock.advance(20_000),
  ],
  [
    'registrations at the NRF, one of them in part',
    '5gc',
    (it) => {
      it.bus.types = ['AMF', 'SMF', 'UDM', 'UDR', 'PCF', 'NSSF', 'BSF']
      it.bus.withdrawn.add('nudm-ueau')
    },
    { ausf: 'it is not registered at the NRF', udm: 'the NRF does not have its nudm-ueau' },
    (it) => {
      it.bus.types = [...it.bus.types, 'AUSF']
      it.bus.withdrawn.clear()
    },
  ],
]

for (const [what, generation, dies, said, mends] of LOSSES)
  work(`misses ${what}`, () =>
    withWorld(generation, async (it) => {
      dies(it)
      assert.equal(await problemsOf(it), said)
      assert.equal(await problemsOf(it), said, 'until it is back')
      await mends(it)
      assert.equal(await problemsOf(it), {})
    }),
  )

work('takes a core that does not count PFCP peers, and one whose logs cannot be read, for no fault', () =>
  withWorld('epc', async (it) => {
    it.core.fault = (_daemon, path) => (path === '/metrics' ? { body: 'up 1\n' } : undefined)
    it.engine.logsSince = async () => await Promise.reject(new Error('no engine'))
    assert.equal(await problemsOf(it), {})
  }),
)

work('takes functions of the service bus that turn no more for down', () =>
  withWorld('5gc', async (it) => {
    const frozen = await listening()
    const { port } = frozen.address() as { port: number } // it listens at an address
    it.bus.origin = `http://127.0.0.1:${port}`
    const { services } = await it.a.driver.observe(patient())
    const silent = [...services].filter(([, one]) => one === 'down').map(([daemon]) => daemon)
    assert.equal(silent.sort(), ['ausf', 'bsf', 'nrf', 'nssf', 'scp', 'udm', 'udr'])
    frozen.close()
  }),
)

work(
  'takes SGW-C and SGW-U for down once they echo no more, and for what their container says before they did',
  () =>
    withWorld('epc', async (it) => {
      const states = async (): Promise<readonly unknown[]> => {
        const { services } = await it.a.driver.observe(patient())
        return [services.get('sgwc'), services.get('sgwu')]
      }
      const { settings } = it.fake.context
      const addresses = { sgwc: '127.98.1.3', sgwu: '127.98.1.6' }
      it.fake.changeSettings({ ...settings, core_a: { ...settings.core_a, addresses } })
      assert.equal(await states(), ['up', 'up'], 'nobody is within reach')
      const asked: string[] = []
      const gateways = await Promise.all([
        echoing('127.98.1.3', 2123, asked),
        echoing('127.98.1.6', 2152, asked),
      ])
      await eventually(async () => {
        await states()
        assert.equal(new Set(asked).size, 2)
      })
      await Promise.all(gateways.map((gateway) => closed(gateway)))
      assert.equal(await states(), ['down', 'down'])
    }),
)

work(
  'cuts off a phone of the MME while the AMF is away, and says of others that it does not know',
  async () => {
    const addresses = { mme: '127.0.0.2', amf: '127.0.0.5' }
    const it = await world('epc', { core_a: { addresses } }, { kickLimits: { graceMs: 1, pollMs: 5 } })
    const one = phone(1)
    it.core.phones.push(one, phone(2, 'nr'))
    await it.core.stop('amf')
    it.fake.services.set(hssDriverRef.id, {
      cancelLocation: async (imsis: readonly Imsi[]) => {
        Object.assign(one, { state: 'cut', hasSession: false })
        return new Map(imsis.map((imsi) => [imsi, undefined]))
      },
    })
    const { driver } = it.a
    assert.is((await driver.diagnose?.(one.imsi, patient()))?.state, 'registered')
    assert.is(await driver.kick(one.imsi, patient()), 'yes')
    const other = phone(2).imsi
    for (const ask of [() => driver.kick(other, patient()), () => driver.diagnose?.(other, patient())])
      assert.match(String(await ask()?.catch((error: unknown) => error)), 'amf cannot be asked')
    const { radios, attachedUes } = await driver.observe(patient())
    assert.equal([radios, attachedUes], [1, undefined], 'of two lists one is no count')
    await it.close()
  },
)

/** Echo Responses as the real ones answered. */
async function echoing(address: string, port: number, asked: string[]): Promise<Socket> {
  const answers: Readonly<Record<number, string>> = {
    2123: '4002000e0000010003000100009800010000',
    2152: '3202000600000000000100000e00',
  }
  const socket = createSocket('udp4')
  socket.on('message', (request, from) => {
    assert.is(request[1], 1)
    asked.push(address)
    socket.send(Buffer.from(answers[port] ?? '', 'hex'), from.port, from.address)
  })
  await new Promise<void>((resolve) => socket.bind(port, address, resolve))
  return socket
}

const closed = async (socket: Socket): Promise<void> =>
  await new Promise((resolve) => socket.close(() => resolve()))

async function listening(): Promise<Server> {
  const server = createServer((socket) => socket.on('error', () => undefined).unref())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

work('misses a suspect peer until it connects again, or its connection is seen to be there', async () => {
  const engine = containerEngine(['core-mme'])
  const { context, clock } = fakeContext({
    id: 'driver-core-a',
    config: {},
    settings: { southbound: { driver: 'container' }, core_a: { containers: { mme: 'core-mme' } } },
  })
  let isThere: boolean | undefined = false
  const logs = coreLogs(engine, () => context.settings)
  const tales = logTales(context.clock, logs, async () => isThere)
  const told = async (afterMs: number, ...lines: readonly string[]): Promise<boolean> => {
    await clock.advance(afterMs)
    engine.written.set('core-mme', [...(engine.written.get('core-mme') ?? []), ...lines])
    return (await tales('mme', patient())) !== undefined
  }
  assert.is(await told(0, START, connected('hss')), false)
  assert.is(await told(1_000, state('SUSPECT', 'hss')), true)
  assert.is(await told(80_000), true, 'given up, of which nothing is written')
  assert.is(await told(80_000, connected('hss')), false)
  assert.is(await told(1_000, state('SUSPECT', 'hss')), true)
  isThere = true
  assert.is(await told(10_000), true, 'it may be there, and dead')
  assert.is(await told(80_000), false, 'answered again, of which nothing is written')
})

work('sees whether a Diameter connection is there', async () => {
  const row = (own: string, other: string, state: string): string =>
    `   0: ${own} ${other} ${state} 00000000:00000000 00:00000000 00000000     0        0 5 1 0\n`
  const table =
    (...rows: readonly string[]) =>
    async (path: string) =>
      path.endsWith('/comm')
        ? 'open5gs-mmed\n'
        : path === '/proc/7/net/tcp'
          ? `  sl  local_address rem_address   st\n${rows.join('')}`
          : await Promise.reject(new Error('ENOENT'))
  const ends = ['127.0.0.2', '127.0.0.8']
  const there = row('0100007F:EC42', '0800007F:0F1C', '01')
  assert.is(await hasDiameterAt('mme', container, ends, table(there)), true)
  assert.is(
    await hasDiameterAt('mme', container, ends, table(row('0800007F:0F1C', '0100007F:EC42', '01'))),
    true,
  )
  const others = [row('0900007F:0F1C', '0100007F:9DC4', '01'), row('0100007F:EC42', '0800007F:0F1C', '02')]
  assert.is(
    await hasDiameterAt('mme', container, ends, table(...others)),
    false,
    'of another pair, and one that is only asked for',
  )
  assert.is(await hasDiameterAt('mme', { ...container, pid: 8 }, ends, table(there)), undefined)
  assert.is(
    await hasDiameterAt('hss', container, ends, table(there)),
    undefined,
    'the number is of another process',
  )
  assert.is(await hasDiameterAt('mme', container, ['hss.example', '127.0.0.8'], table(there)), undefined)
})

const HEAD = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n'
const ROUTE = `${HEAD}ogstun\t00002D0A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n`
const container = {
  id: 'c0ffee',
  isRunning: true,
  startedAtMs: 1,
  exitCode: undefined,
  restartCount: 0,
  pid: 7,
}

work('misses the TUN device of a UPF that it knows, and elsewhere only one that was there', async () => {
  const files = new Map([['/proc/7/net/route', HEAD]])
  const look = tunLook(async (path) => files.get(path) ?? Promise.reject(new Error('ENOENT')))
  assert.is(await look(undefined, []), undefined, 'nothing can be read')
  assert.is(await look(container, []), undefined, 'it may be the network of another process')
  files.set('/proc/7/comm', 'open5gs-upfd\n')
  assert.match((await look(container, [])) ?? '', /^its TUN device ogstun is missing/)
  files.set('/proc/7/net/route', ROUTE)
  assert.is(await look(container, []), undefined)
  files.set('/proc/self/net/route', HEAD)
  assert.match((await look(undefined, [])) ?? '', /ogstun/)
})

const UPF = `upf:
  session:
    - { subnet: 10.45.0.0/16, gateway: 10.45.0.1, dnn: internet }
    - { subnet: 10.47.0.0/16, gateway: 10.47.0.9, dnn: iot, dev: ogstun }
    - { subnet: 10.47.0.0/16, dnn: video }
    - { subnet: '2001:db8::/48' }
    - { subnet: 10.48.0.0/24, dev: ogstun2 }
`
const pools = tunPools(UPF)

work('says of which pool the TUN device has no address, and the line that gives it one', async () => {
  const files = new Map([['/proc/self/net/route', ROUTE]])
  const look = tunLook(async (path) => files.get(path) ?? Promise.reject(new Error('ENOENT')))
  const line = 'ip addr add 10.47.0.9/16 dev ogstun; ip addr add 10.48.0.1/24 dev ogstun2'
  const said = await look(undefined, pools)
  assert.is(
    said,
    `phones of 10.47.0.0/16, 10.48.0.0/24 get no data: its TUN device has no address there. Run on its machine: ${line}`,
  )
  files.set('/proc/self/net/route', `${ROUTE}${routeLine('ogstun', '0000300A', '00FFFFFF')}`)
  assert.match((await look(undefined, pools)) ?? '', 'phones of 10.47.0.0/16 get no data')
  // A default route leads nowhere near a phone.
  files.set('/proc/self/net/route', `${ROUTE}${routeLine('lan0', '00000000', '00000000')}`)
  assert.match((await look(undefined, pools)) ?? '', '10.47.0.0/16, 10.48.0.0/24')
  assert.is(await look(undefined, pools.slice(0, 1)), undefined)
})

work('gives the TUN device its address of a new pool where it drives the core and may', async () => {
  const fake = fakeContext<unknown>({ id: 'driver-core-a', config: {}, db: memoryDb() })
  const added: string[] = []
  let isAllowed = false
  const keep = poolAddresses(fake.context, async () => pools, {
    read: async () => ROUTE + added.map((one) => routeOf(one)).join(''),
    add: async (address, device) => {
      if (!isAllowed) throw new Error('Operation not permitted')
      added.push(`${address} ${device}`)
    },
  })
  const { signal } = new AbortController()
  fake.changeSettings({ southbound: { driver: 'none' } })
  isAllowed = true
  await keep(signal)
  assert.equal(added, [], 'a core that is only looked at is left alone')
  fake.changeSettings({ southbound: { driver: 'container' } })
  isAllowed = false
  await keep(signal)
  isAllowed = true
  await keep(signal)
  assert.equal(added, [], 'what was refused is not tried at each look')
  await fake.clock.advance(300_000)
  await keep(signal)
  await keep(signal)
  assert.equal(added, ['10.47.0.9/16 ogstun', '10.48.0.1/24 ogstun2'])
  await fake.dispose()
})

/** A line of the table: device, destination and mask in hex, with the octets turned around. */
function routeLine(device: string, destination: string, mask: string): string {
  return `${device}\t${destination}\t00000000\t0001\t0\t0\t0\t${mask}\t0\t0\t0\n`
}

function routeOf(added: string): string {
  return added.startsWith('10.47.')
    ? routeLine('ogstun', '00002F0A', '0000FFFF')
    : routeLine('ogstun2', '0000300A', '00FFFFFF')
}

work.run()
