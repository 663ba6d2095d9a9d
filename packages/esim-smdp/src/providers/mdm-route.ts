import {
  BATCH_ID_PATTERN,
  csvLine,
  type ImsiHash,
  notFound,
  objectSchema,
  type Route,
  route,
} from '@steeple/contracts'
import { activationOf } from '../codes/activation.ts'
import type { EsimParts } from '../parts.ts'
import { usableRows } from '../routes/usable-rows.ts'
import type { CodeRow } from '../store/rows.ts'

interface MdmQuery {
  readonly batch_id: string
}

/** `GET /v1/esim/mdm-list` */
export function mdmRoute(parts: EsimParts): Route {
  return route<unknown, MdmQuery, unknown>({
    method: 'GET',
    path: '/v1/esim/mdm-list',
    role: 'sim:issuer',
    summary: 'Get the codes of a batch for a device management (MDM)',
    description:
      'CSV with ICCID, ActivationCode, SmdpAddress, MatchingId and Label of each code of the batch that can still be downloaded, own codes and ' +
      'those of providers. Anyone who has it can download the profiles.',
    schema: {
      query: objectSchema({ batch_id: { type: 'string', pattern: BATCH_ID_PATTERN } }, ['batch_id']),
    },
    produces: ['text/csv'],
    errors: ['validation_failed', 'not_found', 'store_corrupt'],
    handle: async ({ query: { batch_id: batch } }) => {
      const pages = usableRows(parts, batch)
      const first = await pages.next()
      if (first.done === true) throw notFound(`code of batch ${batch} that can be downloaded`)
      return {
        headers: {
          'content-type': 'text/csv; charset=utf-8',
          'content-disposition': `attachment; filename="esim-${batch}.csv"`,
          'cache-control': 'no-store',
        },
        stream: lines(parts, first.value, pages),
      }
    },
  })
}

async function* lines(
  parts: EsimParts,
  first: readonly CodeRow[],
  rest: AsyncGenerator<readonly CodeRow[], undefined>,
): AsyncGenerator<string> {
  yield csvLine(['ICCID', 'ActivationCode', 'SmdpAddress', 'MatchingId', 'Label']) +
    (await linesOf(parts, first))
  for await (const rows of rest) yield await linesOf(parts, rows)
}

async function linesOf({ issuer, vault }: EsimParts, rows: readonly CodeRow[]): Promise<string> {
  // Hashes of rows are hashes.
  const cards = await issuer.cards(rows.map(({ hash }) => hash as ImsiHash))
  const labels = new Map<string, string | undefined>(cards.map(({ imsi, label }) => [imsi, label]))
  const made = rows.map(async (row) => {
    const code = activationOf(vault, row)
    const sim = await issuer.sim(row.hash as ImsiHash)
    const iccid = sim === undefined ? '' : Buffer.from(sim.iccid()).toString('latin1')
    return csvLine([iccid, code, row.smdp_address, code.split('$')[2], labels.get(row.hash)])
  })
  return (await Promise.all(made)).join('')
}
