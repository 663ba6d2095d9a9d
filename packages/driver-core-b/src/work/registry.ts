import type { NetworkFunction } from '../render/functions.ts'
import type { Caller, Service } from '../sbi/caller.ts'
import { fieldOf, parseJson, textOf } from '../sbi/json.ts'

/** The functions that others look for at the NRF, each with one that does; the UPF knows no NRF. */
const WANTED_BY: readonly (readonly [NetworkFunction, string])[] = [
  ['udr', 'UDM'],
  ['udm', 'AMF'],
  ['ausf', 'AMF'],
  ['nssf', 'AMF'],
  ['pcf', 'SMF'],
  ['chf', 'SMF'],
  ['smf', 'AMF'],
  ['amf', 'SMF'],
]

/** What the NRF gives who looks for the others. */
export interface Registry {
  /** Functions that it does not have. */
  readonly missing: readonly NetworkFunction[]
  /** Why it does not say; undefined when it does. */
  readonly problem: string | undefined
}

const DISCOVERY = '/nnrf-disc/v1/nf-instances'

/**
 * Asks the NRF at `url` for each of `functions` as the others do (TS 29.510 §5.3.2.2). Throws `southbound_unavailable` when it
 * cannot be asked.
 */
export async function registryAt(
  caller: Caller,
  url: () => string,
  functions: readonly NetworkFunction[],
  signal: AbortSignal,
): Promise<Registry> {
  const missing: NetworkFunction[] = []
  for (const [nf] of WANTED_BY) {
    if (!functions.includes(nf)) continue
    const { status, ids } = await instancesOf(caller, url, nf, signal)
    if (status !== 200)
      return {
        missing,
        problem: `it answers ${status} to who looks for others: it may have lost its database`,
      }
    if (ids.length === 0) missing.push(nf)
  }
  return { missing, problem: undefined }
}

/** Under which ids the NRF at `url` has a function, and the status of its answer. Throws as `registryAt`. */
export async function instancesOf(
  caller: Caller,
  url: () => string,
  nf: NetworkFunction,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly ids: readonly string[] }> {
  const service: Service = { nfType: 'NRF', scope: 'nnrf-disc', url, file: 'nrfcfg.yaml' }
  const requester = WANTED_BY.find(([wanted]) => wanted === nf)?.[1] ?? 'AMF'
  const query = `target-nf-type=${nf.toUpperCase()}&requester-nf-type=${requester}`
  const call = { method: 'GET', path: `${DISCOVERY}?${query}` } as const
  const { status, text } = await caller.call(service, call, signal)
  const found = fieldOf(parseJson(text), 'nfInstances')
  const there = Array.isArray(found) ? found.filter((one) => textOf(one, 'nfStatus') === 'REGISTERED') : []
  return { status, ids: there.map((one) => textOf(one, 'nfInstanceId')) }
}
