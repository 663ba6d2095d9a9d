import { readFileSync } from 'node:fs'
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Request, Settings } from '@steeple/contracts'
import { assert, fakeContext, type Overrides, suite, tempDir } from '@steeple/testkit'
import { devicesRoute, FOUND_ARGS, PROGRAM_PATHS } from '../../src/devices/devices-route.ts'

const test = suite('driver-ran/devices')

/** What sysfs says of a device, by the names of its files. */
interface Plugged {
  readonly idVendor: string
  readonly idProduct: string
  readonly product?: string
  readonly speed?: string
  readonly isHidden?: boolean
}

interface Machine {
  readonly root: string
  [Symbol.asyncDispose](): Promise<void>
}

const file = async (path: string, content: string, mode = 0o644): Promise<void> => {
  await mkdir(join(path, '..'), { recursive: true })
  await writeFile(path, content)
  await chmod(path, mode)
}

/**
 * A machine as Linux shows it: devices are links into the tree of buses, with their interfaces and root hubs beside them. See
 * Documentation/ABI/stable/sysfs-bus-usb.
 */
async function machine(plugged: readonly Plugged[], programs: readonly string[] = []): Promise<Machine> {
  const dir = await tempDir()
  const root = dir.path
  const list = join(root, 'sys/bus/usb/devices')
  const hub = join(root, 'sys/devices/pci0000:00/0000:00:14.0/usb1')
  await mkdir(list, { recursive: true })
  const add = async (name: string, place: string, files: Readonly<Record<string, string>>): Promise<void> => {
    for (const [key, value] of Object.entries(files)) await file(join(place, key), `${value}\n`)
    await symlink(place, join(list, name))
  }
  await add('usb1', hub, { idVendor: '1d6b', idProduct: '0002', busnum: '1', devnum: '1', speed: '480' })
  for (const [at, { isHidden, ...files }] of plugged.entries()) {
    const [port, number] = [`1-${at + 1}`, String(at + 2)]
    const place = join(hub, port)
    await add(port, place, { speed: '5000', ...files, busnum: '1', devnum: number })
    await add(`${port}:1.0`, join(place, `${port}:1.0`), { bInterfaceClass: 'ff' })
    if (isHidden !== true) await file(join(root, 'dev/bus/usb/001', number.padStart(3, '0')), '')
  }
  for (const path of programs) await file(join(root, path), '', 0o755)
  return { root, [Symbol.asyncDispose]: () => dir.remove() }
}

interface Found {
  readonly usb: boolean
  readonly binary: string
  readonly devices: readonly {
    readonly name: string
    readonly usb_id: string
    readonly port: string
    readonly in_use: boolean
    readonly problems: readonly { readonly code: string; readonly message: string }[]
    readonly choices: readonly { readonly program: string; readonly settings: Record<string, string> }[]
  }[]
  readonly programs: readonly { readonly program: string; readonly path: string | null }[]
}

async function found(root: string, ran: Overrides<Settings>['ran'] = {}): Promise<Found> {
  const { context } = fakeContext({ id: 'driver-ran', config: {}, settings: { ran } })
  const reply = await devicesRoute(context, root).handle({} as Request<never, never, never>)
  return reply.body as Found
}

const B210 = { idVendor: '2500', idProduct: '0020', product: 'USRP B210' }
const LTE = '/usr/bin/srsenb'
const NR = '/usr/local/bin/gnb'

test('finds software radios among all that is plugged in, and what opens them', async () => {
  await using here = await machine(
    [
      { idVendor: '046d', idProduct: 'c31c', product: 'Keyboard', speed: '1.5' },
      B210,
      { idVendor: '2cf0', idProduct: '5250' },
      { idVendor: '1d50', idProduct: '6108' },
      { idVendor: '0403', idProduct: '601f', product: 'FT601' },
      { idVendor: '0403', idProduct: '601f', product: 'LimeSDR Mini' },
      { idVendor: '0456', idProduct: 'b673', speed: '480' },
      { idVendor: '1d50', idProduct: '6089', speed: '480' },
    ],
    [LTE, NR],
  )
  const { usb, devices } = await found(here.root)
  assert.ok(usb)
  assert.equal(
    devices.map(({ name, port, problems, choices }) => [
      name,
      port,
      problems.map(({ code }) => code).join(),
      choices.map(({ settings }) => Object.values(settings).toSorted().join(' ')).join(' | '),
    ]),
    [
      ['USRP B200 or B210', '1-2', '', `${LTE} srsenb type=b200 uhd | ${NR} gnb type=b200 uhd`],
      ['bladeRF 2.0 micro', '1-3', '', `${LTE} auto bladerf srsenb`],
      ['LimeSDR-USB', '1-4', '', `${LTE} driver=lime soapy srsenb`],
      ['LimeSDR Mini', '1-6', '', `${LTE} driver=lime soapy srsenb`],
      ['ADALM-Pluto (PlutoSDR)', '1-7', '', `${LTE} driver=plutosdr soapy srsenb`],
      ['HackRF One', '1-8', 'half_duplex', ''],
    ],
  )
})

test('says what is missing: a right, a port that is fast enough, a program', async () => {
  await using here = await machine(
    [
      { ...B210, speed: '480', isHidden: true },
      // A USRP whose firmware nothing has loaded yet is at USB 2 in any port.
      { ...B210, product: 'WestBridge ', speed: '480' },
      { idVendor: '2cf0', idProduct: '5246' },
    ],
    [NR],
  )
  const { devices, programs } = await found(here.root)
  assert.equal(
    devices.map(({ problems }) => problems.map(({ code }) => code)),
    [['no_access', 'usb_2'], [], ['no_program']],
  )
  assert.ok(devices.every(({ problems }) => problems.every(({ message }) => message.includes('. '))))
  assert.equal(
    programs.map(({ program, path }) => [program, path]),
    [
      ['srsenb', null],
      ['gnb', NR],
    ],
  )
})

test('says that a machine shows no USB ports, and that none has a radio', async () => {
  await using bare = await tempDir()
  assert.equal([(await found(bare.path)).usb, (await found(bare.path)).devices], [false, []])
  await using here = await machine([])
  assert.equal([(await found(here.root)).usb, (await found(here.root)).devices], [true, []])
})

test('marks the radio that is configured, wherever its program is', async () => {
  await using here = await machine([B210, { idVendor: '2cf0', idProduct: '5250' }])
  const ran = { binary: '/opt/radio/enb', device_name: 'UHD', device_args: 'auto' } as const
  const { binary, devices, programs } = await found(here.root, ran)
  assert.is(binary, '/opt/radio/enb')
  assert.equal(
    devices.map(({ in_use, problems }) => [in_use, problems.map(({ code }) => code).join()]),
    [
      [true, ''],
      [false, 'no_program'],
    ],
  )
  assert.is(programs.find(({ program }) => program === 'srsenb')?.path, '/opt/radio/enb')
})

test('sets over the API exactly what it finds', () => {
  const { properties } = JSON.parse(
    readFileSync(new URL('../../config.schema.json', import.meta.url), 'utf8'),
  ).properties.ran
  assert.equal(properties.binary['x-settable'], Object.values(PROGRAM_PATHS).flat())
  assert.equal(properties.device_args['x-settable'].toSorted(), FOUND_ARGS.toSorted())
})

test.run()
