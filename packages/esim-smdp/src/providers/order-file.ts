import {
  ok,
  type Reader,
  type Reply,
  type Request,
  type Route,
  recordSchema,
  route,
  type SimCard,
  type Tx,
} from '@steeple/contracts'
import type { EsimParts } from '../parts.ts'
import {
  LEFT_OUT,
  type LeftOut,
  lookupReady,
  ORDER_BODY,
  type OrderBody,
  openCodeOf,
  type ProvidedSim,
  putOrdered,
  simsOf,
  standing,
  unfit,
} from './provided-code.ts'
import { encryptedTo, orderKeyFacts, providerBy, providerConflict } from './provider.ts'
import { PROVIDER_PARAMS, type ProviderParams } from './provider-routes.ts'

/** As pySim, card vendors and this service's own import call them. */
const HEADER = 'ICCID,IMSI,K,OPC,PIN1,PUK1,PIN2,PUK2,ADM1,PROFILE'
const COMMA = Buffer.from(',')
const LINE_END = Buffer.from('\r\n')

/** `POST /v1/esim/providers/{id}/order-file` */
export function orderFileRoute(parts: EsimParts): Route {
  return route<ProviderParams, unknown, OrderBody>({
    method: 'POST',
    path: '/v1/esim/providers/:id/order-file',
    role: 'sim:admin',
    summary: 'Get an order file for a provider',
    description:
      'CSV with ICCID, IMSI, K, OPc, PINs, PUKs, ADM1 and the name of the profile, encrypted to the provider’s OpenPGP key: only the provider ' +
      'can read it. SIMs that are ordered or have no code yet are in it. They wait as `allocated` until their codes come back.',
    example: { batch_id: 'b-20260101-000000000000' },
    schema: {
      params: PROVIDER_PARAMS,
      body: ORDER_BODY,
      response: recordSchema({
        file: { type: 'string', description: 'A name for it.' },
        order: { type: 'string', description: 'ASCII armor: gpg --decrypt reads it at the provider.' },
        sims: { type: 'integer' },
        key_fingerprint: { type: 'string' },
        left_out: LEFT_OUT,
      }),
    },
    errors: [
      'validation_failed',
      'not_found',
      'sim_not_found',
      'esim_provider_not_found',
      'esim_provider_conflict',
      'store_corrupt',
    ],
    audit: 'esim.order_file',
    handle: (request) => makeOrderFile(parts, request),
  })
}

/** SIMs of one file: they are one transaction, and other writers wait for it. */
const MOST_SIMS = 1_000

async function makeOrderFile(
  parts: EsimParts,
  request: Request<ProviderParams, unknown, OrderBody>,
): Promise<Reply> {
  const { context } = parts
  const { id } = request.params
  const provider = await providerBy(context.db, id)
  if (provider.order_key === '')
    throw providerConflict(
      `the provider ${id} has no public key; add it: svc esim provider set ${id} --order-key FILE`,
    )
  const nowMs = Math.floor(context.clock.nowMs())
  const { fingerprint } = await orderKeyFacts(provider.order_key, nowMs)
  const cards = await simsOf(parts, request.body, MOST_SIMS)
  const leftOut: LeftOut[] = []
  const ordered: SimCard[] = []
  for (const card of cards) {
    const reason = unfit(card) ?? (await whyNot(context.db, id, card))
    if (reason === undefined) ordered.push(card)
    else leftOut.push({ imsi_sha256_12: card.imsi, reason })
  }
  if (ordered.length === 0)
    throw providerConflict(`none of these SIMs can be ordered: ${leftOut[0]?.reason ?? 'there is none'}`)
  const name = `order-${id}-${new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z.csv`
  const { octets, iccids } = await orderCsv(parts, ordered, provider.profile_type)
  const order = await encryptedTo(provider.order_key, { name, octets }, nowMs)
  octets.fill(0)
  await lookupReady(parts)
  const sims = ordered.length
  return await request.mutate(id, async (tx) => {
    for (const card of ordered) await orderIn(parts, tx, id, { card, iccid: iccids.get(card.imsi) ?? '' })
    tx.audit({ detail: { sims, ids: ordered.map(({ imsi }) => imsi), key: fingerprint } })
    tx.event({ type: 'esim.order_file', subject: id, data: { sims } })
    return {
      ...ok({ file: `${name}.asc`, order, sims, key_fingerprint: fingerprint, left_out: leftOut }),
      headers: { 'cache-control': 'no-store' },
      sealed: true,
    }
  })
}

/** Why a SIM cannot be in an order file of that provider now; undefined: it can. */
async function whyNot(reader: Reader, provider: string, card: SimCard): Promise<string | undefined> {
  const { codes, obstacle } = await standing(reader, provider, card.imsi)
  const open = openCodeOf(provider, codes)
  if (obstacle !== undefined || open === undefined || open.code.state === 'allocated') return obstacle
  return `the SIM has the code ${open.code.token} of this provider already`
}

/** Notes that the SIM is ordered. Throws `esim_provider_conflict` when it got a code since it was looked at. */
async function orderIn(parts: EsimParts, tx: Tx, provider: string, sim: ProvidedSim): Promise<void> {
  const reason = await whyNot(tx, provider, sim.card)
  if (reason !== undefined) throw providerConflict(`${reason}; it came meanwhile: order again`)
  const { codes } = await standing(tx, provider, sim.card.imsi)
  if (openCodeOf(provider, codes) === undefined) await putOrdered(parts, tx, provider, sim)
}

/** The plain file, made of octets so that no string keeps a key, and the ICCIDs in it. The caller wipes it. Throws `store_corrupt`. */
async function orderCsv(
  { issuer }: Pick<EsimParts, 'issuer'>,
  cards: readonly SimCard[],
  profileType: string,
): Promise<{ readonly octets: Uint8Array; readonly iccids: ReadonlyMap<string, string> }> {
  const iccids = new Map<string, string>()
  const pieces: Uint8Array[] = [Buffer.from(HEADER), LINE_END]
  const type = Buffer.from(/[",]/.test(profileType) ? `"${profileType.replaceAll('"', '""')}"` : profileType)
  for (const card of cards) {
    const opened = await issuer.credentials(card.imsi)
    const { iccid, ki, opc, pin1, puk1, pin2, puk2, adm1 } = opened
    const cells = [iccid, Buffer.from(opened.imsi), hex(ki), hex(opc), pin1, puk1, pin2, puk2, adm1, type]
    iccids.set(card.imsi, Buffer.from(iccid).toString('latin1'))
    pieces.push(...cells.flatMap((cell, i) => [...(i === 0 ? [] : [COMMA]), Uint8Array.from(cell)]), LINE_END)
    opened.wipe()
  }
  const octets = new Uint8Array(Buffer.concat(pieces))
  for (const piece of pieces.slice(2)) if (piece !== COMMA && piece !== LINE_END) piece.fill(0)
  return { octets, iccids }
}

const DIGITS = Buffer.from('0123456789abcdef')

/** Hexadecimal as octets: a string of it would stay in memory. */
function hex(octets: Uint8Array): Uint8Array {
  const text = new Uint8Array(octets.length * 2)
  octets.forEach((octet, i) => {
    text[2 * i] = DIGITS[octet >> 4] ?? 0
    text[2 * i + 1] = DIGITS[octet & 15] ?? 0
  })
  return text
}
