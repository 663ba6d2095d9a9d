import { constants } from 'node:fs'
import { access, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Context,
  type JsonSchema,
  ok,
  type Route,
  recordSchema,
  route,
  type Settings,
} from '@steeple/contracts'
import { machineHints } from '../process/preflight.ts'

type Program = Exclude<Settings['ran']['program'], 'external'>

/** A kind of software radio: what it is called, and how a program opens it. */
interface RadioKind {
  readonly name: string
  readonly device: Pick<Settings['ran'], 'device_name' | 'device_args'>
  /** Those that can open it; none of one that cannot send and receive at a time, as a base station does. */
  readonly programs: readonly Program[]
  /** Its USB id is that of a chip that others have too: its product begins with this. */
  readonly product?: string
  /** Whether it needs USB 3 for the widths of a cell. */
  readonly isFast?: boolean
}

const uhd = (name: string): RadioKind => ({
  name,
  device: { device_name: 'uhd', device_args: 'type=b200' },
  programs: ['srsenb', 'gnb'],
  isFast: true,
})
const bladeRf = (name: string): RadioKind => ({
  name,
  device: { device_name: 'bladerf', device_args: 'auto' },
  programs: ['srsenb'],
  isFast: true,
})
const soapy = (name: string, driver: string): RadioKind => ({
  name,
  device: { device_name: 'soapy', device_args: `driver=${driver}` },
  programs: ['srsenb'],
})

/**
 * By vendor and product. Sources: UHD host/lib/usrp/b200/b200_iface.hpp and uhd-usrp.rules, bladeRF 88-nuand-*.rules,
 * LimeSuite 64-limesuite.rules, hackrf 53-hackrf.rules, plutosdr-fw 53-adi-plutosdr-usb.rules.
 */
const KINDS: Readonly<Record<string, RadioKind>> = {
  '2500:0020': uhd('USRP B200 or B210'),
  '2500:0021': uhd('USRP B200mini'),
  '2500:0022': uhd('USRP B205mini'),
  '2500:0023': uhd('USRP B206mini'),
  '3923:7813': uhd('USRP B200 (NI-2900)'),
  '3923:7814': uhd('USRP B210 (NI-2901)'),
  '2cf0:5246': bladeRf('bladeRF'),
  '1d50:6066': bladeRf('bladeRF'),
  '2cf0:5250': bladeRf('bladeRF 2.0 micro'),
  '1d50:6108': { ...soapy('LimeSDR-USB', 'lime'), isFast: true },
  '0403:601f': { ...soapy('LimeSDR Mini', 'lime'), isFast: true, product: 'LimeSDR' },
  '0456:b673': soapy('ADALM-Pluto (PlutoSDR)', 'plutosdr'),
  '1d50:6089': { ...soapy('HackRF One', 'hackrf'), programs: [] },
}

/** What `ran.device_args` may be for a radio that is found. */
export const FOUND_ARGS: readonly string[] = [
  ...new Set(
    Object.values(KINDS)
      .filter(({ programs }) => programs.length > 0)
      .map(({ device }) => device.device_args),
  ),
]

/** Why a radio that is plugged in cannot be used as it is. */
type RadioProblem = 'half_duplex' | 'no_access' | 'usb_2'

/** A software radio that is plugged in. */
interface UsbRadio extends Pick<RadioKind, 'name' | 'device' | 'programs'> {
  /** Vendor and product, hexadecimal: `2500:0020`. */
  readonly usbId: string
  /** The port, as the kernel names it: `1-2`. */
  readonly port: string
  readonly problems: readonly RadioProblem[]
}

/** Mbit/s of USB 3.0. */
const USB_3 = 5_000
/** What the chip of a USRP calls itself before the program has loaded its firmware: it is at USB 2 until then, in any port. */
const UNLOADED = /westbridge/i

/**
 * The software radios at this machine's USB ports, by what Linux says of them; undefined where it says nothing, as in a container
 * without /sys/bus/usb. Nothing is opened. `root` is where sys and dev are.
 */
async function usbRadios(root: string): Promise<readonly UsbRadio[] | undefined> {
  const folder = join(root, 'sys/bus/usb/devices')
  const ports = await readdir(folder).catch(() => undefined)
  if (ports === undefined) return undefined
  const found = await Promise.all(ports.toSorted().map((port) => radioAt(root, join(folder, port), port)))
  return found.filter((radio) => radio !== undefined)
}

async function radioAt(root: string, folder: string, port: string): Promise<UsbRadio | undefined> {
  const read = async (name: string): Promise<string> =>
    (await readFile(join(folder, name), 'utf8').catch(() => '')).trim()
  const usbId = `${await read('idVendor')}:${await read('idProduct')}`
  const kind = Object.hasOwn(KINDS, usbId) ? KINDS[usbId] : undefined
  if (kind === undefined) return undefined
  const product = await read('product')
  if (kind.product !== undefined && !product.startsWith(kind.product)) return undefined
  const { name, device, programs } = kind
  const isSlow = Number(await read('speed')) < USB_3 && !UNLOADED.test(product)
  const [bus, number] = [await read('busnum'), await read('devnum')].map((text) => text.padStart(3, '0'))
  const isOpen = await mayUse(
    join(root, 'dev/bus/usb', bus ?? '', number ?? ''),
    constants.R_OK | constants.W_OK,
  )
  const problems: readonly RadioProblem[] = [
    ...(programs.length === 0 ? (['half_duplex'] as const) : []),
    ...(isOpen ? [] : (['no_access'] as const)),
    ...(kind.isFast === true && isSlow ? (['usb_2'] as const) : []),
  ]
  return { name, device, programs, usbId, port, problems }
}

async function mayUse(path: string, mode: number): Promise<boolean> {
  return await access(path, mode).then(
    () => true,
    () => false,
  )
}

/** Where packages and builds put the programs, and only root writes. */
export const PROGRAM_PATHS: Readonly<Record<Program, readonly string[]>> = {
  srsenb: ['/usr/bin/srsenb', '/usr/local/bin/srsenb'],
  gnb: ['/usr/bin/gnb', '/usr/local/bin/gnb'],
}

/** Where a program is; undefined when it is in none of its places. */
async function programPath(root: string, program: Program): Promise<string | undefined> {
  for (const path of PROGRAM_PATHS[program]) if (await mayUse(join(root, path), constants.X_OK)) return path
  return undefined
}

const TEXT: JsonSchema = { type: 'string' }
const NULLABLE_TEXT: JsonSchema = { type: ['string', 'null'] }
const FLAG: JsonSchema = { type: 'boolean' }
const PROGRAMS = ['srsenb', 'gnb'] as const

const list = (items: JsonSchema): JsonSchema => ({ type: 'array', items })
const DEVICE: JsonSchema = recordSchema({
  name: TEXT,
  usb_id: { ...TEXT, description: 'Vendor and product: 2500:0020.' },
  port: { ...TEXT, description: 'The USB port, as Linux names it: 1-2.' },
  in_use: { ...FLAG, description: 'The configuration names this kind of radio.' },
  problems: {
    ...list(recordSchema({ code: TEXT, message: TEXT })),
    description: 'What keeps a program from using it, and what to do.',
  },
  choices: {
    ...list(
      recordSchema({
        program: { type: 'string', enum: PROGRAMS },
        settings: {
          ...recordSchema({
            'ran.binary': TEXT,
            'ran.program': TEXT,
            'ran.device_name': TEXT,
            'ran.device_args': TEXT,
          }),
          description: 'What PUT /v1/settings takes to use it.',
        },
      }),
    ),
    description: 'The installed programs that can use it.',
  },
})
const ANSWER: JsonSchema = recordSchema({
  usb: {
    ...FLAG,
    description: 'False: this machine shows the service no USB ports, as a container without /sys/bus/usb.',
  },
  devices: list(DEVICE),
  programs: list(
    recordSchema({
      program: { type: 'string', enum: PROGRAMS },
      path: { ...NULLABLE_TEXT, description: 'Null: it is not installed where packages put it.' },
      in_use: FLAG,
    }),
  ),
  binary: { ...TEXT, description: 'ran.binary; empty: no radio is configured.' },
  hints: { ...list(TEXT), description: 'What this machine lacks for a radio.' },
})

const MESSAGES: Readonly<Record<RadioProblem | 'no_program', string>> = {
  half_duplex: 'It sends or receives, one at a time. A base station does both: use another radio.',
  no_access:
    'The service may not open it. Install the udev rule of its maker, add the group of the service, and plug it in again.',
  usb_2: 'It is at USB 2, which is too slow for wide cells. Plug it into a USB 3 port.',
  no_program: 'No program that can use it is installed. Install srsRAN 4G (srsenb) or srsRAN Project (gnb).',
}

/** `GET /v1/tx/devices`: what is there to transmit with. `root` is where sys, dev and usr are. */
export function devicesRoute({ settings }: Pick<Context, 'settings'>, root: string): Route {
  return route({
    method: 'GET',
    path: '/v1/tx/devices',
    role: 'viewer',
    summary: 'Show the software radios and radio programs of this machine',
    description:
      'USB radios by what Linux says of them; none is opened. With each the programs that can use it, the settings that do so, and ' +
      'what is missing.',
    schema: { response: ANSWER },
    handle: async () => {
      const { ran } = settings
      const radios = await usbRadios(root)
      const paths = new Map(
        await Promise.all(PROGRAMS.map(async (name) => [name, await programPath(root, name)] as const)),
      )
      const isUsed = (program: string): boolean => ran.binary !== '' && ran.program === program
      return ok({
        usb: radios !== undefined,
        devices: (radios ?? []).map((radio) => shown(radio, paths, ran)),
        programs: PROGRAMS.map((program) => ({
          program,
          path: isUsed(program) ? ran.binary : (paths.get(program) ?? null),
          in_use: isUsed(program),
        })),
        binary: ran.binary,
        hints: machineHints(),
      })
    },
  })
}

function shown(
  { name, usbId, port, device, programs, problems }: UsbRadio,
  paths: ReadonlyMap<keyof typeof PROGRAM_PATHS, string | undefined>,
  ran: Context['settings']['ran'],
): object {
  const choices = programs.flatMap((program) => {
    const path = paths.get(program)
    const keys = { 'ran.program': program, 'ran.device_name': device.device_name }
    return path === undefined
      ? []
      : [{ program, settings: { ...keys, 'ran.binary': path, 'ran.device_args': device.device_args } }]
  })
  const isConfigured = ran.binary !== '' && ran.device_name.toLowerCase() === device.device_name
  const isMissing = programs.length > 0 && choices.length === 0 && !isConfigured
  const codes = [...problems, ...(isMissing ? (['no_program'] as const) : [])]
  return {
    name,
    usb_id: usbId,
    port,
    in_use: isConfigured && ['auto', device.device_args].includes(ran.device_args),
    problems: codes.map((code) => ({ code, message: MESSAGES[code] })),
    choices,
  }
}
