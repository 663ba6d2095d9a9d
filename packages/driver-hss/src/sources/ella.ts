import { type FoundSlice, isRecord, type SubscriberFound, type SubscriberSource } from '@steeple/contracts'
import { partsText } from '../found-parts.ts'
import { octetsOf, parseRate } from '../free5gc/names.ts'
import type { Doc } from '../links/document-link.ts'
import { allPages, type Get, once, source, wholeNumber } from './values.ts'

const PAGE = 100

/** Ella Core by its REST API v1: a subscriber has a profile, whose policies say slice, data network and rates. */
export function ellaSource(get: Get): SubscriberSource {
  const listAt = async (path: string, signal: AbortSignal): Promise<readonly Doc[]> => {
    let [seen, total] = [0, Number.POSITIVE_INFINITY]
    // Static addresses come all at once, whichever page is asked for.
    const page = async (at: number): Promise<readonly Doc[]> => {
      if (seen >= total) return []
      const answer = resultOf(await get(`/api/v1/${path}?page=${at}&per_page=${PAGE}`, signal))
      const some = Array.isArray(answer.items) ? answer.items.filter(isRecord) : []
      seen += some.length
      total = wholeNumber(answer.total_count) ?? total
      return some
    }
    return await allPages(1, page, PAGE)
  }
  const list = (path: string) => once((signal) => listAt(path, signal))
  const [subscribers, profiles] = [list('subscribers'), list('profiles')]
  const [policies, slices] = [list('policies'), list('slices')]
  const addresses = once(async (signal) => {
    const networks = (await listAt('networking/data-networks', signal)).map(({ name }) => String(name))
    const all: Doc[] = []
    for (const name of networks)
      all.push(...(await listAt(`networking/data-networks/${encodeURIComponent(name)}/static-ips`, signal)))
    return all
  })
  return source('ella', subscribers, async (row, what, signal) => {
    const named = (rows: readonly Doc[], name: unknown): Doc => rows.find((one) => one.name === name) ?? {}
    const own = (await policies(signal)).filter((policy) => policy.profile_name === row.profile_name)
    const profile = named(await profiles(signal), row.profile_name)
    const [known, given] = [await slices(signal), await addresses(signal)]
    const its = given.filter(({ imsi }) => imsi === row.imsi)
    const bySlice = Map.groupBy(own, ({ slice_name: name }) => name)
    const found = [...bySlice].map(([name, some]) => sliceOf(named(known, name), some, its))
    const path = `/api/v1/subscribers/${encodeURIComponent(String(row.imsi))}/credentials`
    const card = what === 'with keys' ? resultOf(await get(path, signal)) : undefined
    return foundOf(found, profile, card)
  })
}

function resultOf(answer: unknown): Doc {
  const { result } = isRecord(answer) ? answer : {}
  return isRecord(result) ? result : {}
}

function sliceOf({ sst, sd }: Doc, policies: readonly Doc[], given: readonly Doc[]): FoundSlice {
  return {
    sst: wholeNumber(sst) ?? 1,
    sd: typeof sd === 'string' && sd !== '' ? sd : undefined,
    isDefault: policies.some((policy) => policy.default === true),
    apns: policies.map((policy) => ({
      name: String(policy.data_network_name),
      ambrBps: rateOf(policy.session_ambr_uplink, policy.session_ambr_downlink),
      qos: wholeNumber(policy.var5qi),
      addresses: given
        .filter(({ data_network: network }) => network === policy.data_network_name)
        .map(({ address }) => String(address)),
    })),
  }
}

function foundOf(slices: readonly FoundSlice[], profile: Doc, card: Doc | undefined): SubscriberFound {
  const [ki, opc] = [octetsOf(card?.key), octetsOf(card?.opc)]
  const { sequenceNumber: sqn } = card ?? {}
  const parts = {
    slices,
    ambrBps: rateOf(profile.ue_ambr_uplink, profile.ue_ambr_downlink),
    msisdn: undefined,
    amf: undefined,
  }
  const keys = ki === undefined || opc === undefined ? undefined : { ki, opc, isOp: false }
  return {
    ...parts,
    isBlocked: false,
    keys,
    sqn: typeof sqn === 'string' && /^[0-9a-fA-F]{1,12}$/.test(sqn) ? BigInt(`0x${sqn}`) : undefined,
    text: partsText(parts),
    problem: card !== undefined && keys === undefined ? 'Ella Core does not give its key and OPc' : undefined,
  }
}

function rateOf(uplink: unknown, downlink: unknown): SubscriberFound['ambrBps'] {
  const [up, down] = [parseRate(uplink), parseRate(downlink)]
  return up > 0 && down > 0 ? { up, down } : undefined
}
