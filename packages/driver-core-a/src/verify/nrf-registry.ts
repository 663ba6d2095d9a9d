import { southboundUnavailable } from '@steeple/contracts'
import { recordOf } from '@steeple/open5gs-info'
import type { Daemon } from '../render/roles.ts'
import { type H2Answer, h2Request } from '../sbi/h2-request.ts'

const LIST_PATH = '/nnrf-nfm/v1/nf-instances'
/** More functions than any core of this driver has. */
const INSTANCES_MAX = 64

/** Types of network functions as the NRF names them, of the daemons that register. Source: TS 29.510 §6.1.6.3.3. */
export const NF_TYPES: Readonly<Partial<Record<Daemon, string>>> = {
  amf: 'AMF',
  smf: 'SMF',
  ausf: 'AUSF',
  udm: 'UDM',
  udr: 'UDR',
  pcf: 'PCF',
  nssf: 'NSSF',
  bsf: 'BSF',
}

/**
 * The types that are registered at the NRF now: who can be found by the others. Throws `southbound_unavailable`.
 *
 * Source: TS 29.510 §5.2.2.8 (list retrieval) and §5.2.2.9 (profile retrieval).
 */
export async function registeredTypes(origin: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const list = await h2Request('nrf', origin, { method: 'GET', path: LIST_PATH }, signal)
  const paths = instancePaths(list)
  const types = await Promise.all(
    paths.map(async (path) => {
      const profile = recordOf(parsed(await h2Request('nrf', origin, { method: 'GET', path }, signal)))
      return profile.nfStatus === 'REGISTERED' && typeof profile.nfType === 'string' ? [profile.nfType] : []
    }),
  )
  return new Set(types.flat())
}

function instancePaths(list: H2Answer): readonly string[] {
  const { item } = recordOf(recordOf(parsed(list))._links)
  const links = Array.isArray(item) ? item : item === undefined ? [] : [item]
  return links.slice(0, INSTANCES_MAX).flatMap((link) => {
    const { href } = recordOf(link)
    const path = typeof href === 'string' ? URL.parse(href)?.pathname : undefined
    // Asked at the NRF itself, whatever host its answer names.
    return path?.startsWith(`${LIST_PATH}/`) === true ? [path] : []
  })
}

function parsed({ status, body }: H2Answer): unknown {
  if (status !== 200) throw southboundUnavailable(`nrf cannot be asked: it answered ${status}`)
  try {
    return JSON.parse(body)
  } catch (error) {
    throw southboundUnavailable('nrf cannot be asked: its answer is no JSON', { cause: error })
  }
}
