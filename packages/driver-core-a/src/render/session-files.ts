import { rangeText, type Section } from '@steeple/southbound'
import type { CorePlan } from './core-plan.ts'
import { diameterMount, serverAt, speaksDiameter, userPlane } from './epc-files.ts'
import { sbiSection } from './five-g-files.ts'

/** Resolvers that phones are told when `core_a.addresses` names none: the stock ones. */
const RESOLVERS: Readonly<Record<4 | 6, readonly string[]>> = {
  4: ['8.8.8.8', '8.8.4.4'],
  6: ['2001:4860:4860::8888', '2001:4860:4860::8844'],
}
/** What is left of 1500 octets under GTP-U, with room for IPv6: the stock value. */
const SESSION_MTU = 1400
/** The TUN device of the stock installation. */
export const TUN_DEVICE = 'ogstun'

/** `smf` of smf.yaml: both generations share it. Diameter only toward a PCRF, the service bus only in 5G. */
export function smfSection(plan: CorePlan): Section {
  const { at, metrics, desired, settings } = plan
  const { dns, dns2 } = desired.addresses
  const named = settings.dns.length > 0 ? settings.dns : [dns, dns2].filter((one) => one !== undefined)
  return {
    ...(plan.generations.includes('5gc') ? { sbi: sbiSection(plan, 'smf') } : {}),
    pfcp: { server: serverAt(at('smf')), client: { upf: serverAt(at('upf')) } },
    gtpc: { server: serverAt(at('smf')) },
    gtpu: { server: serverAt(at('smf')) },
    metrics: { server: [{ ...metrics('smf') }] },
    session: sessions(plan),
    dns: named.length > 0 ? named : RESOLVERS[plan.pool.family],
    mtu: SESSION_MTU,
    ...(speaksDiameter('smf', plan) ? { freeDiameter: diameterMount('smf', plan) } : {}),
  }
}

/** `upf` of upf.yaml: the same pool, with its TUN device. A gNB is told `core_a.addresses.n3` where that is set. */
export function upfSection(plan: CorePlan): Section {
  const { at, metrics, desired } = plan
  return {
    pfcp: { server: serverAt(at('upf')) },
    gtpu: { server: [userPlane(at('upf'), desired.addresses.n3)] },
    session: sessions(plan).map((session) => ({ ...session, dev: TUN_DEVICE })),
    metrics: { server: [{ ...metrics('upf') }] },
  }
}

/**
 * A part of the pool for each APN, under one gateway and TUN device; an APN that is not among them gets no session. In
 * the order of their names, so that another order of the same APNs changes nothing. The core keeps network, gateway and
 * broadcast to itself.
 */
function sessions({ pool, desired }: CorePlan): readonly Section[] {
  const apns = desired.apns.toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1))
  const subnet = { subnet: rangeText(pool), gateway: pool.gateway }
  const { bounds } = pool.parts(apns.length)
  return apns.map((dnn, index) => {
    const part = bounds[index]
    const isWhole = part === undefined || apns.length === 1
    return { ...subnet, dnn, ...(isWhole ? {} : { range: [`${part.low}-${part.high}`] }) }
  })
}
