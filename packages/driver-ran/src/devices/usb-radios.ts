import { constants } from 'node:fs'
import { access, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Settings } from '@steeple/contracts'

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
export type RadioProblem = 'half_duplex' | 'no_access' | 'usb_2'

/** A software radio that is plugged in. */
export interface UsbRadio extends Pick<RadioKind, 'name' | 'device' | 'programs'> {
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
export async function usbRadios(root: string): Promise<readonly UsbRadio[] | undefined> {
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
  const isOpen = await access(
    join(root, 'dev/bus/usb', bus ?? '', number ?? ''),
    constants.R_OK | constants.W_OK,
  ).then(
    () => true,
    () => false,
  )
  const problems: readonly RadioProblem[] = [
    ...(programs.length === 0 ? (['half_duplex'] as const) : []),
    ...(isOpen ? [] : (['no_access'] as const)),
    ...(kind.isFast === true && isSlow ? (['usb_2'] as const) : []),
  ]
  return { name, device, programs, usbId, port, problems }
}

/** Where packages and builds put the programs, and only root writes. */
export const PROGRAM_PATHS: Readonly<Record<Program, readonly string[]>> = {
  srsenb: ['/usr/bin/srsenb', '/usr/local/bin/srsenb'],
  gnb: ['/usr/bin/gnb', '/usr/local/bin/gnb'],
}

/** Where a program is; undefined when it is in none of its places. */
export async function programPath(root: string, program: Program): Promise<string | undefined> {
  for (const path of PROGRAM_PATHS[program])
    if (
      await access(join(root, path), constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path
  return undefined
}
