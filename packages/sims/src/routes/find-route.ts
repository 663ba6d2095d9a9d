import { type JsonSchema, objectSchema, ok, type Reply, type Route, route } from '@steeple/contracts'
import { imsiHash, parseIccid, parseImsi } from '@steeple/telecom'
import { hashesByLongIccidEnd } from '../find/iccid-end.ts'
import type { SimsParts } from '../parts.ts'
import { SIM_SCHEMA } from '../record.ts'
import { simsOf } from '../store/card-store.ts'
import { areWordsBuilt, hashesByWord, msisdnKey } from '../store/word-store.ts'
import { matching } from './filter.ts'
import { simRecords } from './read-routes.ts'

interface FindBody {
  readonly imsi?: string
  readonly iccid?: string
  readonly msisdn?: string
}

/** SIMs that share an identifier: several can have been imported with one MSISDN. */
const MOST = 100

const BODY: JsonSchema = objectSchema(
  {
    imsi: { type: 'string', pattern: '^[0-9]{6,15}$', writeOnly: true },
    iccid: { type: 'string', pattern: '^[0-9]{18,20}$', writeOnly: true },
    msisdn: { type: 'string', pattern: '^[0-9]{3,15}$', description: 'Digits without a plus.' },
  },
  [],
  { minProperties: 1 },
)

/** `POST /v1/sims/find` */
export function findRoute(parts: SimsParts): Route {
  return route<unknown, unknown, FindBody>({
    method: 'POST',
    path: '/v1/sims/find',
    role: 'viewer',
    example: { msisdn: '15550100' },
    summary: 'Find a SIM by its IMSI, ICCID or number',
    description:
      'Changes nothing. Identifiers are in the body, so that no address and no log has them. A SIM must match ' +
      'everything that you give.',
    schema: {
      body: BODY,
      response: objectSchema({ sims: { type: 'array', items: SIM_SCHEMA } }, ['sims']),
    },
    errors: ['validation_failed', 'store_corrupt'],
    audit: { none: 'it changes nothing' },
    handle: (request) => find(parts, request.body),
  })
}

async function find(parts: SimsParts, body: FindBody): Promise<Reply> {
  const sets: ReadonlySet<string>[] = []
  if (body.imsi !== undefined) sets.push(byImsi(body.imsi))
  if (body.iccid !== undefined) sets.push(await byIccid(parts, body.iccid))
  if (body.msisdn !== undefined) sets.push(await byMsisdn(parts, body.msisdn))
  const [first = new Set<string>(), ...others] = sets
  const hashes = [...first].filter((hash) => others.every((set) => set.has(hash))).slice(0, MOST)
  const rows = await simsOf(parts.context.db, hashes)
  const found = rows.filter(({ msisdn }) => body.msisdn === undefined || msisdn === body.msisdn)
  return ok({ sims: await simRecords(parts, found) })
}

function byImsi(digits: string): ReadonlySet<string> {
  const imsi = parseImsi(digits)
  return new Set(imsi === undefined ? [] : [imsiHash(imsi)])
}

function byIccid(parts: SimsParts, text: string): Promise<ReadonlySet<string>> {
  const iccid = parseIccid(text)
  return hashesByLongIccidEnd(parts, iccid ?? text)
}

async function byMsisdn(parts: SimsParts, msisdn: string): Promise<ReadonlySet<string>> {
  const { db } = parts.context
  if (await areWordsBuilt(db)) return new Set(await hashesByWord(db, msisdnKey(msisdn), MOST))
  const rows = await matching(parts, { msisdn }, MOST, undefined)
  return new Set(rows.map(({ hash }) => hash))
}
