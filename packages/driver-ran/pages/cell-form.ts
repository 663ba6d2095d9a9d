/** Where programs and files of a switch must be for a page to name them. */
const SWITCH_FOLDER = '/etc/svc/switch.d/'

/** How a cell is switched. */
export const KINDS = ['command', 'http', 'snmp', 'genieacs'] as const
type Kind = (typeof KINDS)[number]

/** One field of a switch. `argv`: a program and its arguments, one a line. `file`: a name in the folder. `json`: as its value reads. */
export interface SwitchField {
  readonly key: string
  readonly as: 'text' | 'argv' | 'file' | 'json' | 'method'
  /** Where its value stands in the configuration of the kind. */
  readonly paths: readonly (readonly [string, ...string[]])[]
  readonly isRequired?: boolean
}

const field = (
  key: string,
  as: SwitchField['as'],
  path: readonly [string, ...string[]],
  isRequired = false,
): SwitchField => ({ key, as, paths: [path], isRequired })

const WEB = [field('authorization', 'file', ['authorization_file']), field('ca', 'file', ['ca_file'])]
/** What each kind is told. */
export const SWITCH_FIELDS: Readonly<Record<Kind, readonly SwitchField[]>> = {
  command: [
    field('on', 'argv', ['on'], true),
    field('off', 'argv', ['off'], true),
    field('status', 'argv', ['status'], true),
    field('env', 'file', ['env_file']),
  ],
  http: [
    {
      ...{ key: 'method', as: 'method' },
      paths: [
        ['on', 'method'],
        ['off', 'method'],
      ],
    },
    field('onUrl', 'text', ['on', 'url'], true),
    field('onBody', 'text', ['on', 'body']),
    field('offUrl', 'text', ['off', 'url'], true),
    field('offBody', 'text', ['off', 'body']),
    field('statusUrl', 'text', ['status', 'url'], true),
    field('pointer', 'text', ['status', 'pointer'], true),
    field('onValue', 'json', ['status', 'on'], true),
    field('offValue', 'json', ['status', 'off'], true),
    field('powerPointer', 'text', ['power', 'pointer']),
    field('channelPointer', 'text', ['channel', 'pointer']),
    ...WEB,
  ],
  snmp: [
    field('host', 'text', ['host'], true),
    field('group', 'json', ['group']),
    field('port', 'json', ['port_index'], true),
    field('powerOid', 'text', ['power', 'oid']),
    field('perWatt', 'json', ['power', 'per_watt']),
    field('community', 'file', ['community_file']),
    field('user', 'text', ['user']),
    field('authKey', 'file', ['auth_file']),
    field('privKey', 'file', ['priv_file']),
  ],
  genieacs: [
    field('acsUrl', 'text', ['url'], true),
    field('device', 'text', ['device'], true),
    field('channelParameter', 'text', ['channel']),
    ...WEB,
  ],
}

type Texts = Readonly<Record<string, string>>

/** A vendor's cell with the profile of its channel, as it is typed. */
export interface CellTyped {
  readonly kind: Kind
  /** By the key of its field. */
  readonly fields: Texts
  readonly staysOn: boolean
  readonly cell: Readonly<Record<'technology' | 'id' | 'address' | 'refresh', string>>
  readonly profile: Readonly<Record<'id' | 'channel' | 'band' | 'width' | 'power', string>>
}

/** The part of a radio profile that the form shows. */
interface ProfileShown {
  readonly id: string
  readonly technology: string
  readonly channel: number
  readonly band: string | null
  readonly bandwidth_mhz: number
  readonly eirp_dbm: number | null
}

/** Values of the configuration by their keys, as `GET /v1/settings` shows them. */
export type InForce = (key: string) => unknown

/** The kind of switch that is in force; undefined: none is. */
export function kindInForce(inForce: InForce): Kind | undefined {
  const config = Object(inForce('ran.external.switch'))
  return KINDS.find((one) => Object.hasOwn(config, one))
}

/** What stands in the form at first: what is in force. */
export function typedCell(inForce: InForce, profile: ProfileShown | undefined): CellTyped {
  const kind = kindInForce(inForce) ?? 'http'
  const technology = profile?.technology ?? (textOf(inForce('ran.external.technology')) || 'lte')
  const refresh = textOf(inForce('ran.external.refresh'))
  return {
    kind,
    fields: typedFields(kind, inForce),
    staysOn: inForce('ran.external.stays_on') === true,
    cell: {
      technology,
      id: textOf(inForce(stationKey(technology))),
      address: textOf(inForce('ran.external.address')),
      refresh: /^0s?$/.test(refresh) ? '' : refresh,
    },
    profile: {
      ...{ id: profile?.id ?? 'cell', channel: textOf(profile?.channel), band: profile?.band ?? '' },
      ...{ width: textOf(profile?.bandwidth_mhz), power: textOf(profile?.eirp_dbm) },
    },
  }
}

/** What is in force of that kind of switch. */
export function typedFields(kind: Kind, inForce: InForce): Texts {
  const own = Object(inForce('ran.external.switch'))[kind]
  return Object.fromEntries(
    SWITCH_FIELDS[kind].map(({ key, as, paths: [path = []] }) => {
      const value = path.reduce<unknown>((at, name) => Object(at)[name], own)
      const text = Array.isArray(value) ? value.map(textOf).join('\n') : textOf(value)
      const start = as === 'method' && text === '' ? 'POST' : text
      return [key, ['argv', 'file'].includes(as) ? start.replace(SWITCH_FOLDER, '') : start]
    }),
  )
}

/** What `PUT /v1/settings` takes. What the form does not show of the same kind of switch stays. */
export function cellSettings(typed: CellTyped, inForce: InForce): Readonly<Record<string, unknown>> {
  const { kind, fields, staysOn, cell } = typed
  const before = kept(Object(inForce('ran.external.switch'))[kind])
  const own = SWITCH_FIELDS[kind].reduce(
    (all, { key, as, paths }) =>
      paths.reduce((at, path) => withValue(at, path, givenAs(fields[key] ?? '', as)), all),
    Object(before),
  )
  return {
    'ran.program': 'external',
    'ran.external.technology': cell.technology,
    'ran.external.address': cell.address.trim(),
    'ran.external.switch': { [kind]: own },
    'ran.external.refresh': cell.refresh.trim() || '0s',
    'ran.external.stays_on': staysOn,
    ...(cell.id.trim() === '' ? {} : { [stationKey(cell.technology)]: jsonOf(cell.id) }),
  }
}

/** What `PUT /v1/tx/profiles/{id}` takes. */
export function cellProfile({ cell: { technology }, profile }: CellTyped): {
  readonly technology: 'lte' | 'nr'
  readonly channel: number
  readonly bandwidth_mhz: number
} {
  const band = profile.band.trim()
  const power = profile.power.trim()
  return {
    technology: technology === 'nr' ? 'nr' : 'lte',
    channel: numberOf(profile.channel),
    bandwidth_mhz: numberOf(profile.width),
    ...(band === '' ? {} : { band }),
    ...(power === '' ? {} : { eirp_dbm: numberOf(power) }),
  }
}

export function stationKey(technology: string): string {
  return technology === 'nr' ? 'ran.gnb_id' : 'ran.enb_id'
}

function numberOf(text: string): number {
  return Number(text.trim().replace(',', '.'))
}

/** Of a URL only scheme and host are shown: it is typed again. */
function textOf(value: unknown): string {
  const text = value === undefined || value === null ? '' : String(value)
  return text.includes('***') ? '' : text
}

function kept(value: unknown): unknown {
  if (typeof value === 'string') return value.includes('***') ? undefined : value
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).flatMap(([name, inner]) => [[name, kept(inner)]]))
}

function givenAs(text: string, as: SwitchField['as']): unknown {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  if (as === 'json') return jsonOf(trimmed)
  if (as === 'file') return inFolder(trimmed)
  if (as !== 'argv') return trimmed
  const [program = '', ...args] = trimmed.split('\n').map((line) => line.trim())
  return [inFolder(program), ...args.filter((line) => line !== '')]
}

function inFolder(name: string): string {
  return name.startsWith('/') ? name : `${SWITCH_FOLDER}${name}`
}

/** A number or a boolean where it reads as one. */
function jsonOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'number' || typeof value === 'boolean' ? value : text
  } catch {
    return text.trim()
  }
}

/** The same with that value at the path; without it, and without what is empty then, for `undefined`. */
function withValue(
  object: Record<string, unknown>,
  [name, ...rest]: readonly [string, ...string[]],
  value: unknown,
): Record<string, unknown> {
  const [next, ...others] = rest
  const inner: unknown =
    next === undefined ? value : withValue(Object(object[name]), [next, ...others], value)
  const { [name]: _, ...without } = object
  const isGone = inner === undefined || (next !== undefined && Object.keys(Object(inner)).length === 0)
  return isGone ? without : { ...object, [name]: inner }
}
