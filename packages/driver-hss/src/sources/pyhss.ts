import { type FoundSlice, isRecord, type SubscriberFound, type SubscriberSource } from '@steeple/contracts'
import { partsText } from '../found-parts.ts'
import { octetsOf } from '../free5gc/names.ts'
import type { Doc } from '../links/document-link.ts'
import { allPages, type Get, once, source, wholeNumber } from './values.ts'

const PAGE = 500

/**
 * PyHSS 1.0 and 2.0 by its REST API. Keys are shown only where its `api.enable_insecure_auc` is on. Its slices are those of
 * 4G: one, without SD.
 */
export function pyhssSource(get: Get): SubscriberSource {
  const list = (path: string) =>
    once(async (signal) => {
      const page = async (at: number): Promise<readonly Doc[]> => {
        const some = await get(`/${path}/list?page=${at}&page_size=${PAGE}`, signal)
        return Array.isArray(some) ? some.filter(isRecord) : []
      }
      return await allPages(0, page, PAGE)
    })
  const [subscribers, apns, cards] = [list('subscriber'), list('apn'), list('auc')]
  return source('pyhss', subscribers, async (row, what, signal) => {
    const byId = new Map((await apns(signal)).map((apn) => [String(apn.apn_id), apn] as const))
    const ids = String(row.apn_list ?? '')
      .split(',')
      .map((id) => id.trim())
    const first = String(row.default_apn ?? '')
    const wanted = [...new Set([first, ...ids])].filter((id) => byId.has(id))
    const addresses = new Map<string, string>()
    for (const id of wanted) {
      const routing = await get(`/subscriber/routing/${Number(row.subscriber_id)}/${id}`, signal).catch(
        () => undefined,
      )
      if (isRecord(routing) && typeof routing.ip_address === 'string') addresses.set(id, routing.ip_address)
    }
    const all = what === 'with keys' ? await cards(signal) : []
    const card = all.find(({ auc_id: id }) => id === row.auc_id) ?? {}
    return foundOf(row, card, slicesOf(wanted, byId, addresses), what)
  })
}

function slicesOf(
  ids: readonly string[],
  byId: ReadonlyMap<string, Doc>,
  addresses: ReadonlyMap<string, string>,
): readonly FoundSlice[] {
  const apns = ids.map((id) => {
    const { apn, apn_ambr_dl: down, apn_ambr_ul: up, qci } = byId.get(id) ?? {}
    const address = addresses.get(id)
    return {
      name: String(apn),
      ambrBps: rateOf(up, down),
      qos: wholeNumber(qci),
      addresses: address === undefined ? [] : [address],
    }
  })
  return [{ sst: 1, sd: undefined, isDefault: true, apns }]
}

function foundOf(
  { msisdn, enabled, ue_ambr_ul: up, ue_ambr_dl: down }: Doc,
  { ki, opc, amf, sqn }: Doc,
  slices: readonly FoundSlice[],
  what: 'with keys' | 'without keys',
): SubscriberFound {
  const keys = what === 'with keys' ? keysOf(ki, opc) : undefined
  const parts = {
    slices,
    ambrBps: rateOf(up, down),
    msisdn: typeof msisdn === 'string' && msisdn !== '' ? msisdn : undefined,
    amf: typeof amf === 'string' && amf !== '' ? amf : undefined,
  }
  const number = wholeNumber(sqn)
  return {
    ...parts,
    isBlocked: enabled === false || enabled === 0,
    keys,
    sqn: number === undefined ? undefined : BigInt(number),
    text: partsText(parts),
    problem:
      what === 'with keys' && keys === undefined
        ? 'PyHSS does not show its keys; set api.enable_insecure_auc to True in its configuration for the time of the adoption'
        : undefined,
  }
}

function keysOf(ki: unknown, opc: unknown): SubscriberFound['keys'] {
  const [key, own] = [octetsOf(ki), octetsOf(opc)]
  return key === undefined || own === undefined ? undefined : { ki: key, opc: own, isOp: false }
}

function rateOf(up: unknown, down: unknown): SubscriberFound['ambrBps'] {
  const [one, other] = [wholeNumber(up), wholeNumber(down)]
  return one === undefined || other === undefined || one <= 0 || other <= 0
    ? undefined
    : { up: one, down: other }
}
