import type { Service } from '../harness/service.ts'
import type { Finding } from './measure.ts'
import { named, SIZES } from './store-of-sims.ts'

const SLACK = 1.5

/** Each list, filter and search of SIMs and of what grows with them, by what finds the SIM of number `n`. */
function searches(n: number, hash: string, batch: string): Readonly<Record<string, string>> {
  const { iccid, msisdn, label } = named(n)
  const sims = (query: string): string => `/v1/sims?limit=20&${query}`
  return {
    [PAGE]: '/v1/sims?limit=20',
    'SIMs by state': sims('state=issued'),
    'SIMs by state that none has': sims('state=suspended'),
    'SIMs by profile': sims('profile=default'),
    'SIMs by label': sims(`label=${encodeURIComponent(label)}`),
    'SIMs of a batch': sims(`batch_id=${batch}`),
    'SIMs by the last four digits of the card': sims(`iccid_last4=${iccid.slice(-4)}`),
    'SIMs by number': sims(`msisdn=${msisdn}`),
    'search: begin of the hash': sims(`q=${hash.slice(0, 6)}`),
    'search: word of many labels': sims('q=meter'),
    'search: word of few labels': sims(`q=place${Math.floor(n / 100)}`),
    'search: word of one label, a number': sims(`q=${n}`),
    'search: last 3 digits of the card': sims(`q=${iccid.slice(-3)}`),
    'search: last 4 digits of the card': sims(`q=${iccid.slice(-4)}`),
    'search: last 6 digits of the card': sims(`q=${iccid.slice(-6)}`),
    'search: last 8 digits of the number': sims(`q=${msisdn.slice(-8)}`),
    'search: two words': sims(`q=meter%20${n}`),
    [EMPTY_PAGE]: sims('q=nowhere'),
    'usage of a SIM': `/v1/sims/${hash}/usage`,
    sessions: '/v1/sessions?limit=20',
    'ended sessions': '/v1/sessions?state=ended&limit=20',
    'audit, a page': '/v1/audit?limit=20',
    'audit by action': '/v1/audit?limit=20&action=sim.import',
    alerts: '/v1/alerts?limit=20',
    nodes: '/v1/nodes',
    health: '/v1/health',
    status: '/v1/status',
  }
}

/** What one line of the searches took, and how many SIMs it answered. */
export interface SearchCost {
  readonly cpuUs: number
  readonly answers: number
}

const PAGE = 'SIMs, a page'
const EMPTY_PAGE = 'search: what none has'

/**
 * Every list, filter and search costs at a million SIMs what it costs at a thousand, or half more. The same four digits are
 * the end of more cards in a larger store: what one more answer costs is counted apart.
 */
export async function searchFindings(
  service: Service,
  sims: number,
  smallest: Map<string, SearchCost>,
  cpuUsOf: (path: string) => Promise<number>,
): Promise<readonly Finding[]> {
  const n = Math.floor(sims / 3)
  const { body } = await service.request('GET', `/v1/sims?limit=1&msisdn=${named(n).msisdn}`)
  const [{ imsi_sha256_12: hash, batch_id: batch }] = body.sims
  const costs = new Map<string, SearchCost>()
  for (const [what, path] of Object.entries(searches(n, hash, batch))) {
    const answers = (await service.request('GET', path)).body.sims?.length ?? 0
    costs.set(what, { cpuUs: await cpuUsOf(path), answers })
  }
  for (const [what, cost] of costs) smallest.set(what, smallest.get(what) ?? cost)
  return findingsOf(sims, costs, smallest)
}

function findingsOf(
  sims: number,
  costs: ReadonlyMap<string, SearchCost>,
  first: ReadonlyMap<string, SearchCost>,
): readonly Finding[] {
  const page = costs.get(PAGE) ?? { cpuUs: 0, answers: 1 }
  const answerUs = (page.cpuUs - (costs.get(EMPTY_PAGE)?.cpuUs ?? 0)) / page.answers
  return [...costs].map(([what, { cpuUs, answers }]) => {
    const before = first.get(what) ?? { cpuUs, answers }
    const value = before.cpuUs + Math.max(0, answers - before.answers) * answerUs
    return {
      name: `CPU of ${what} at ${sims} SIMs`,
      value: cpuUs,
      unit: 'µs',
      beside: { what: `at ${SIZES[0]} SIMs, for as many answers`, value },
      target: `≤ ${SLACK * 100} %`,
      isMet: cpuUs <= SLACK * value,
    }
  })
}
