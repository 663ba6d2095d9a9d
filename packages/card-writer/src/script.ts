import type { OpenableSim } from '@steeple/contracts'
import { accessClass, codeOctets, imsiOctets, plmnOctets, spnOctets } from '@steeple/telecom'

/** One file of a card and what it is to hold. */
interface CardFile {
  /** Stands over its part of script and output. */
  readonly name: string
  readonly path: readonly string[]
  /** Hexadecimal. */
  readonly octets: string
}

/** Files without which no phone gets online. The others depend on the card. */
const NEEDED = ['imsi', 'acc', 'ad', 'key'] as const
/** What comes after it, up to the next such line, is about one file. */
const MARK = '== '
/** pySim-shell takes the ADM key from the file of `--csv` where the command has none. */
const ADM_LINE = 'verify_adm'
/** Of EF.HPLMNwAcT: UTRAN, E-UTRAN, NG-RAN. TS 31.102 §4.2.5. */
const ACCESS_TECHNOLOGIES = 'c800'
/** Milenage with OPc, in the first octet of the key files of sysmoISIM-SJA2 and SJA5. */
const MILENAGE_OPC = '14'
/** Models of pySim-shell of which the key files are known here, as people know them. */
export const MODELS: Readonly<Record<string, string>> = {
  SysmocomSJA2: 'sysmoISIM-SJA2',
  SysmocomSJA5: 'sysmoISIM-SJA5',
}

/** Reads what names a card. */
export const READ_SCRIPT: string = [
  ...partOf({ name: 'iccid', path: ['EF.ICCID'] }),
  'read_binary',
  ...partOf({ name: 'imsi', path: ['ADF.USIM', 'EF.IMSI'] }),
  'read_binary',
  `echo ${MARK}end`,
  '',
].join('\n')

/** What pySim-shell is to do to make a card that SIM, with its IMSI and keys. Throws `store_corrupt`. */
export function cardScript(sim: OpenableSim, providerName: string): string {
  const credentials = sim.credentials()
  try {
    const [mcc = '', mnc = ''] = sim.view.plmn.split('-')
    const key = `${MILENAGE_OPC}${hex(credentials.ki)}${hex(credentials.opc)}`
    return scriptOf([
      { name: 'imsi', path: ['ADF.USIM', 'EF.IMSI'], octets: hex(imsiOctets(credentials.imsi)) },
      { name: 'acc', path: ['ADF.USIM', 'EF.ACC'], octets: hex(accessClass(credentials.imsi)) },
      { name: 'ad', path: ['ADF.USIM', 'EF.AD'], octets: `0000000${mnc.length}` },
      {
        name: 'hplmn',
        path: ['ADF.USIM', 'EF.HPLMNwAcT'],
        octets: `${hex(plmnOctets(mcc, mnc))}${ACCESS_TECHNOLOGIES}`,
      },
      // A card that a network refused before would not try that network again.
      { name: 'fplmn', path: ['ADF.USIM', 'EF.FPLMN'], octets: 'f'.repeat(24) },
      ...(providerName === ''
        ? []
        : [{ name: 'spn', path: ['ADF.USIM', 'EF.SPN'], octets: hex(spnOctets(providerName)) }]),
      { name: 'key', path: ['ADF.USIM', 'EF.USIM_AUTH_KEY'], octets: key },
      { name: 'key-isim', path: ['ADF.ISIM', 'EF.ISIM_AUTH_KEY'], octets: key },
      { name: 'key-2g', path: ['DF.SYSTEM', 'EF.SIM_AUTH_KEY'], octets: key },
    ])
  } finally {
    credentials.wipe()
  }
}

function scriptOf(files: readonly CardFile[]): string {
  return [
    '# Holds the keys of a SIM: delete this file when the card is written.',
    '# pySim-shell.py -p 0 --noprompt -e "set scripts_add_to_history false" --csv VENDOR.csv --script THIS_FILE',
    `echo ${MARK}adm`,
    ADM_LINE,
    ...files.flatMap((file) => [...partOf(file), `update_binary ${file.octets}`, 'read_binary']),
    `echo ${MARK}end`,
    '',
  ].join('\n')
}

/** Each path begins at the MF: where a file of it is missing nothing stays selected that could be written. */
function partOf({ name, path }: Pick<CardFile, 'name' | 'path'>): readonly string[] {
  return [`echo ${MARK}${name}`, ...['MF', ...path].map((file) => `select ${file}`)]
}

/** The script with the ADM key of the card: 4 to 8 digits as they are printed, or 8 octets in hexadecimal. Throws `RangeError`. */
export function withAdm(script: string, adm: string): string {
  return script.replace(
    /^verify_adm$/m,
    `${ADM_LINE} --pin-is-hex ${hex(codeOctets(Buffer.from(adm, 'latin1'), 'ADM'))}`,
  )
}

/** The lines of an output by the file that they are about. */
function partsOf(output: string): ReadonlyMap<string, readonly string[]> {
  const parts = new Map<string, string[]>()
  let part: string[] = []
  for (const line of output.split(/\r?\n/)) {
    if (line.startsWith(MARK)) {
      part = []
      parts.set(line.slice(MARK.length).trim(), part)
    } else part.push(line)
  }
  return parts
}

/**
 * The needed files of a script that the card does not hold by what pySim-shell said of it. It prints what it has written after the card
 * confirmed it, and what it reads; a card that lets nobody read its key is believed by the former.
 */
export function missingOf(script: string, output: string): readonly string[] {
  const wanted = partsOf(script.replaceAll(`echo ${MARK}`, MARK))
  const said = partsOf(output)
  return NEEDED.filter((name) => {
    const octets = octetsIn(wanted.get(name)?.find((line) => line.startsWith('update_binary ')) ?? '', 14)
    const lines =
      said
        .get(name)
        ?.map((line) => octetsIn(line, 0))
        .filter((line) => HEX.test(line)) ?? []
    return octets === '' || lines.at(-1) !== octets
  })
}

const HEX = /^[0-9a-f]{4,}$/

/** What a card that was read says of itself: digits of ICCID and IMSI, undefined where there are none. */
export function namesIn(output: string): {
  readonly iccid: string | undefined
  readonly imsi: string | undefined
} {
  const parts = partsOf(output)
  const read = (name: string): string =>
    swapped(
      parts
        .get(name)
        ?.map((line) => octetsIn(line, 0))
        .find((line) => HEX.test(line)) ?? '',
    )
  const iccid = /^([0-9]{18,20})f*$/.exec(read('iccid'))?.[1]
  // Length and parity stand before the digits. TS 31.102 §4.2.2.
  const imsi = /^[0-9a-f]{2}[19]([0-9]{6,15})f*$/.exec(read('imsi'))?.[1]
  return { iccid, imsi }
}

/** pySim-shell prints octets with or without quotation marks. */
function octetsIn(line: string, from: number): string {
  return line.slice(from).trim().replaceAll('"', '').toLowerCase()
}

function hex(octets: Uint8Array): string {
  return Buffer.from(octets).toString('hex')
}

function swapped(digits: string): string {
  return digits.replaceAll(/(.)(.)/g, '$2$1')
}
