import { southboundUnavailable } from '@steeple/contracts'
import { recordOf } from '@steeple/southbound'
import type { Daemon } from '../render/roles.ts'
import type { Bus } from '../sbi/bus.ts'
import type { H2Answer } from '../sbi/h2-request.ts'

const LIST_PATH = '/nnrf-nfm/v1/nf-instances'
/** More functions than any core of this driver has. */
const INSTANCES_MAX = 64

interface Registration {
  readonly type: string
  readonly services: readonly string[]
}

/**
 * What the daemons register at the NRF as (TS 29.510 §6.1.6.3.3), and the services that others of this core look for there
 * (§6.1.6.3.11).
 */
export const REGISTRATIONS: Readonly<Partial<Record<Daemon, Registration>>> = {
  amf: { type: 'AMF', services: ['namf-comm'] },
  smf: { type: 'SMF', services: ['nsmf-pdusession'] },
  ausf: { type: 'AUSF', services: ['nausf-auth'] },
  udm: { type: 'UDM', services: ['nudm-ueau', 'nudm-uecm', 'nudm-sdm'] },
  udr: { type: 'UDR', services: ['nudr-dr'] },
  pcf: { type: 'PCF', services: ['npcf-am-policy-control', 'npcf-smpolicycontrol'] },
  nssf: { type: 'NSSF', services: ['nnssf-nsselection'] },
  bsf: { type: 'BSF', services: ['nbsf-management'] },
}

/** Types that are registered at the NRF now, each with its registered services. */
export type Registry = ReadonlyMap<string, ReadonlySet<string>>

/**
 * Who can be found by the others. Throws `southbound_unavailable`.
 *
 * Source: TS 29.510 §5.2.2.8 (list retrieval) and §5.2.2.9 (profile retrieval).
 */
export async function registryAt(bus: Bus, origin: string, signal: AbortSignal): Promise<Registry> {
  const paths = instancePaths(await bus.get('nrf', origin, LIST_PATH, signal))
  const profiles = await Promise.all(
    paths.map(async (path) => {
      const answer = await bus.get('nrf', origin, path, signal)
      // It left meanwhile.
      return answer.status === 404 ? {} : recordOf(parsed(answer))
    }),
  )
  const found = new Map<string, Set<string>>()
  for (const { nfType, nfStatus, nfServices, nfServiceList } of profiles) {
    if (nfStatus !== 'REGISTERED' || typeof nfType !== 'string') continue
    const services = Array.isArray(nfServices) ? nfServices : Object.values(recordOf(nfServiceList))
    const names = found.get(nfType) ?? new Set()
    found.set(nfType, names)
    for (const { serviceName, nfServiceStatus } of services.map(recordOf))
      if (nfServiceStatus === 'REGISTERED') names.add(String(serviceName))
  }
  return found
}

/** Why the others do not find a daemon, or not what they need of it; undefined when they do. */
export function registryProblem(daemon: Daemon, registry: Registry): string | undefined {
  const own = REGISTRATIONS[daemon]
  if (own === undefined) return undefined
  const found = registry.get(own.type)
  if (found === undefined) return 'it is not registered at the NRF'
  const missing = own.services.filter((name) => !found.has(name))
  return missing.length === 0 ? undefined : `the NRF does not have its ${missing.join(', ')}`
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
