import { readFileSync } from 'node:fs'

/** A setting as libconfig has it: a group, a list or array, or a value. */
type Setting = string | number | boolean | readonly Setting[] | Group
/** A group's settings by name. */
interface Group {
  readonly [name: string]: Setting
}

const TOKEN =
  /\s+|#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\/|("(?:[^"\\]|\\.)*")|([A-Za-z*][-A-Za-z0-9_*]*)|([-+]?(?:0[xX][0-9a-fA-F]+|[0-9.]+(?:[eE][-+]?\d+)?))|([{}()[\]=:;,])/gy

/** Reads a file of libconfig. Throws where libconfig sees a syntax error; `line` of the error is where. */
function readLibconfig(text: string): Group {
  const tokens = [...tokensOf(text)]
  let at = 0
  const take = (): string => tokens[at++]?.text ?? ''
  const next = (): string => tokens[at]?.text ?? ''
  const wrong = (): never => {
    throw Object.assign(new Error('syntax error'), { line: tokens[at]?.line ?? 0 })
  }
  const members = (end: string): Group => {
    const group: Record<string, Setting> = {}
    while (next() !== end) {
      const name = take()
      if (!/^[A-Za-z*]/.test(name) || !['=', ':'].includes(take())) wrong()
      group[name] = value()
      if ([';', ','].includes(next())) take()
    }
    take()
    return group
  }
  const items = (end: string): readonly Setting[] => {
    const list: Setting[] = []
    while (next() !== end) {
      list.push(value())
      if (next() === ',') take()
      else if (next() !== end) wrong()
    }
    take()
    return list
  }
  const value = (): Setting => {
    const token = take()
    if (token === '{') return members('}')
    if (token === '(') return items(')')
    if (token === '[') return items(']')
    if (token.startsWith('"')) return token.slice(1, -1)
    if (/^(?:true|false)$/i.test(token)) return token.toLowerCase() === 'true'
    return /^[-+.0-9]/.test(token) ? Number(token) : wrong()
  }
  return members('')
}

function* tokensOf(text: string): Iterable<{ readonly text: string; readonly line: number }> {
  TOKEN.lastIndex = 0
  let line = 1
  while (TOKEN.lastIndex < text.length) {
    const found = TOKEN.exec(text)
    if (found === null) throw Object.assign(new Error('syntax error'), { line })
    const token = found.slice(1).find((each) => each !== undefined)
    if (token !== undefined) yield { text: token, line }
    line += found[0].split('\n').length - 1
  }
}

/** How srsenb takes its files: what it prints, and the code with which it ends; undefined when it starts. */
export interface FileVerdict {
  readonly lines: readonly string[]
  readonly code: number | undefined
}

const REFUSED = 'Error processing arguments.'

/**
 * Reads the files of srsenb as the program of release 23.04 does, and refuses what it was seen to refuse: a section, a value
 * or a width that is missing or does not fit.
 */
export function readEnbFiles(enbConf: string): FileVerdict {
  try {
    const enb = iniOf(readFileSync(enbConf, 'utf8'))
    const blocks = Number(enb.get('enb.n_prb'))
    const read = (key: string, what: string): Group => libconfigFile(enb.get(`enb_files.${key}`) ?? '', what)
    checkBearers(read('rb_config', 'RB'))
    const radio = read('rr_config', 'Radio Resources')
    checkCells(radio)
    const cells = cellLines(read('sib_config', 'SIB'), blocks)
    return { lines: [...cells, ...announcementLines(radio)], code: undefined }
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return { lines: [...error.lines, REFUSED], code: 255 }
  }
}

class Refused extends Error {
  readonly lines: readonly string[]
  constructor(lines: readonly string[], options?: ErrorOptions) {
    super(lines[0], options)
    this.lines = lines
  }
}

function iniOf(text: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  let section = ''
  for (const line of text.split('\n')) {
    section = /^\[(.*)\]$/.exec(line)?.[1] ?? section
    const [, key = '', value = ''] = /^(\w+) = (.*)$/.exec(line) ?? []
    if (key !== '') values.set(`${section}.${key}`, value)
  }
  return values
}

function libconfigFile(path: string, what: string): Group {
  try {
    return readLibconfig(readFileSync(path, 'utf8'))
  } catch (error) {
    const line = Reflect.get(Object(error), 'line')
    const lines = [`Parse error at ${path}:${line} - syntax error`, `Error parsing ${what} configuration`]
    throw new Refused(lines, { cause: error })
  }
}

function checkBearers(rb: Group): void {
  const end = 'Error parsing RB configuration'
  for (const name of ['qci_config', 'five_qi_config']) {
    if (!Array.isArray(rb[name])) throw new Refused([`Error section ${name} not found.`, end])
  }
  const signalling = ['srb1_5g_config', 'srb2_5g_config']
  if (signalling.some((name) => rb[name] === undefined)) {
    throw new Refused([
      'Optional 5G SRB configuration is not supported yet.',
      'Please specify 5G SRB1 and SRB2 configuration.',
      end,
    ])
  }
  const { qci_config, five_qi_config } = rb
  checkParts(qci_config, 'qci', ['pdcp_config', 'rlc_config', 'logical_channel_config'])
  checkParts(five_qi_config, '5qi', ['pdcp_nr_config', 'rlc_config'])
}

function checkParts(bearers: Setting | undefined, kind: string, names: readonly string[]): void {
  for (const each of items(bearers)) {
    const missing = names.find((name) => each[name] === undefined)
    if (missing === undefined) continue
    const [number] = Object.values(each)
    throw new Refused([`Error section ${missing} not found for ${kind}=${String(number)}`])
  }
}

/** The first downlink channel above b64. */
const FIRST_UNANNOUNCED = 65_536
/** The end of the program's table of bands, in b71. */
const LAST_EARFCN = 68_935

function checkCells({ cell_list }: Group): void {
  const end = 'Error parsing Radio Resources configuration'
  for (const [at, cell] of items(cell_list).entries()) {
    for (const name of ['cell_id', 'tac', 'pci', 'dl_earfcn']) {
      if (cell[name] === undefined) throw new Refused([`PARSER ERROR: Field "${name}" doesn't exist.`, end])
      if (typeof cell[name] !== 'number') throw new Refused([`${end}: cell_list.[${at}].${name}`])
    }
    const channel = Number(cell.dl_earfcn)
    if (channel > LAST_EARFCN)
      throw new Refused([`Invalid DL_EARFCN=${channel}`, 'Error deriving EUTRA cell parameters'])
  }
}

/** What is said of a cell that starts. PUCCH and PRACH share its resource blocks. */
function cellLines(sib: Group, blocks: number): readonly string[] {
  for (const name of ['sib1', 'sib2']) {
    if (sib[name] === undefined)
      throw new Refused([`Error section ${name} not found.`, 'Error parsing SIB configuration'])
  }
  const pucch = numberAt(sib, 'sib2', 'rr_config_common_sib', 'pucch_cnfg', 'n_rb_cqi')
  const prach = numberAt(
    sib,
    'sib2',
    'rr_config_common_sib',
    'prach_cnfg',
    'prach_cnfg_info',
    'prach_freq_offset',
  )
  if (blocks > 6 && (prach < pucch || prach + 6 > blocks - pucch)) {
    throw new Refused([
      `ERROR: Invalid PRACH configuration - prach_freq_offset=${prach} collides with PUCCH.`,
    ])
  }
  if (blocks === 6 && pucch > 1) {
    return [`Invalid PUCCH configuration: nrb_pucch=${pucch} does not allow space for Msg3 transmission..`]
  }
  return []
}

/** SIB1 holds bands up to b64: what the program was seen to say of another, and to go on. */
function announcementLines({ cell_list }: Group): readonly string[] {
  if (items(cell_list).every(({ dl_earfcn }) => Number(dl_earfcn) < FIRST_UNANNOUNCED)) return []
  return [
    '[ASN1   ] [E] [lib/src/asn1/rrc/bcch_msg.cc]Encoding failure.',
    '[RRC    ] [E] Failed to pack SIB message 0',
    "[RRC    ] [E] Couldn't generate SIBs.",
  ]
}

function items(value: Setting | undefined): readonly Group[] {
  return Array.isArray(value) ? (value as readonly Group[]) : []
}

function numberAt(group: Group, ...path: readonly string[]): number {
  let found: Setting | undefined = group
  for (const name of path) found = (found as Group | undefined)?.[name]
  return Number(found)
}
