/** What the files of a core say of its network, whoever wrote them. No secret is in it. */
export interface FoundNetwork {
  readonly plmn: { readonly mcc: string; readonly mnc: string } | undefined
  /** Tracking areas as numbers; ranges as they are written. */
  readonly tacs: readonly string[]
  /** Pools of addresses with the APN that they are for; without one they are for any. */
  readonly pools: readonly { readonly apn: string | undefined; readonly subnet: string }[]
  /** APNs of the network: those that have a pool or are listed. */
  readonly apns: readonly string[]
  readonly slices: readonly { readonly sst: number; readonly sd?: string }[]
  readonly dns: readonly string[]
  /** Role → address. */
  readonly addresses: Readonly<Record<string, string>>
  /** Keys of this service and what they must be for it to say the same. */
  readonly settings: Readonly<Record<string, unknown>>
  /** What has no key of its own, in words. */
  readonly notes: readonly string[]
}

/** A part of a file: a map, a list, or a text. */
export type Part = unknown

/** What stands at a path; undefined where nothing does. */
export function at(part: Part, ...path: readonly (string | number)[]): Part {
  return path.reduce<Part>((inner, name) => {
    if (typeof inner !== 'object' || inner === null) return undefined
    return (inner as Readonly<Record<string | number, unknown>>)[name]
  }, part)
}

/** A text that is not empty. */
export function textAt(part: Part, ...path: readonly (string | number)[]): string | undefined {
  const value = at(part, ...path)
  return typeof value === 'string' && value !== '' && value !== 'null' ? value : undefined
}

/** A list, and one thing as a list of it, as the cores read both. */
export function listAt(part: Part, ...path: readonly (string | number)[]): readonly Part[] {
  const value = at(part, ...path)
  if (Array.isArray(value)) return value
  return value === undefined || value === null || value === '' ? [] : [value]
}

/** Without what is there already. */
export function distinct<T>(items: Iterable<T | undefined>): readonly T[] {
  return [...new Set(items)].filter((item): item is T => item !== undefined)
}

/** The digits of a network, each as it is written: `01` is not 1. */
export function plmnAt(part: Part): FoundNetwork['plmn'] {
  const [mcc, mnc] = [textAt(part, 'mcc'), textAt(part, 'mnc')]
  if (mcc === undefined || mnc === undefined || !/^\d{1,3}$/.test(mcc) || !/^\d{1,3}$/.test(mnc))
    return undefined
  return { mcc: mcc.padStart(3, '0'), mnc: mnc.padStart(2, '0') }
}

/** A slice, TS 23.003 §28.4.2; undefined where its type is none. */
function sliceAt(part: Part): { readonly sst: number; readonly sd?: string } | undefined {
  const [sst, sd] = [Number(textAt(part, 'sst') ?? Number.NaN), textAt(part, 'sd')]
  if (!Number.isInteger(sst)) return undefined
  return sd === undefined ? { sst } : { sst, sd: sd.padStart(6, '0').toLowerCase() }
}

/** Slices, each once. */
export function slicesOf(parts: readonly Part[]): FoundNetwork['slices'] {
  const slices = parts.flatMap((part) => sliceAt(part) ?? [])
  return [...new Map(slices.map((slice) => [JSON.stringify(slice), slice])).values()]
}
