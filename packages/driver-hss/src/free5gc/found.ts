import type { Ambr, FoundSlice, SubscriberFound } from '@steeple/contracts'
import { opcFrom } from '@steeple/telecom'
import { EJSON } from 'bson'
import type { Doc } from '../links/document-link.ts'
import { sorted } from '../open5gs/document.ts'
import {
  COLLECTIONS,
  docOf,
  heldSqn,
  KEY_FIELDS,
  listOf,
  numberOf,
  octetsOf,
  parseRate,
  type Spelling,
  same,
} from './names.ts'
import { candidates, docsIn, type Held, isBlockedNow } from './read.ts'
import { sliceOf } from './session.ts'

/** The documents of a subscriber as they were found, by collection: without keys, SQN, and what says whose they are. */
export type FoundDocs = ReadonlyMap<string, readonly Doc[]>

/** What is of the database, what says whose a document is, and what nobody is told. */
const NOT_KEPT: ReadonlySet<string> = new Set([
  ...['_id', 'ueId', 'sequenceNumber'],
  ...KEY_FIELDS.v3,
  ...KEY_FIELDS.v4,
])

/** A subscriber as its documents have it, whoever wrote them; undefined when the core knows no key of it. */
export function foundOf(
  held: Held,
  what: 'with keys' | 'without keys',
  { plmn, spelling }: { readonly plmn: string; readonly spelling: Spelling },
): SubscriberFound | undefined {
  const [auth] = docsIn(held, COLLECTIONS.auth).live
  if (auth === undefined) return undefined
  const inPlmn = (collection: string): readonly Doc[] => ofNetwork(candidates(held, collection), plmn)
  const [am] = inPlmn(COLLECTIONS.am)
  const keys = what === 'with keys' ? keysOf(auth, spelling) : undefined
  const digits = heldSqn(auth.sequenceNumber)
  const { authenticationManagementField: amf } = auth
  const usual = listOf(docOf(am?.nssai).defaultSingleNssais)
  return {
    slices: inPlmn(COLLECTIONS.sm).flatMap((doc) => foundSlice(doc, usual) ?? []),
    ambrBps: readRate(am?.subscribedUeAmbr),
    msisdn: numberIn(am?.gpsis),
    isBlocked: isBlockedNow(held),
    keys,
    sqn: digits === undefined ? undefined : BigInt(`0x${digits.slice(-12)}`),
    amf: typeof amf === 'string' ? amf : undefined,
    text: textOf(held),
    problem:
      what === 'with keys' && keys === undefined
        ? 'its K, OPc or OP cannot be read: the core lets it not on either'
        : undefined,
  }
}

/** The documents for a network; all of them when none is for it. */
function ofNetwork(docs: readonly Doc[], plmn: string): readonly Doc[] {
  const its = docs.filter(({ servingPlmnId }) => servingPlmnId === plmn)
  return its.length === 0 ? docs : its
}

/** Ki and OPc of an authentication document, and whether the release reads them; undefined when they are no keys. */
export function keysOf(
  auth: Doc,
  spelling: Spelling,
): (NonNullable<SubscriberFound['keys']> & { readonly isReadable: boolean }) | undefined {
  const { permanentKey, opc, milenage, encPermanentKey, encOpcKey } = auth
  const words = {
    v4: { k: encPermanentKey, opc: encOpcKey, op: undefined },
    v3: {
      k: docOf(permanentKey).permanentKeyValue,
      opc: docOf(opc).opcValue,
      op: docOf(docOf(milenage).op).opValue,
    },
  } as const
  for (const each of spelling === 'v4' ? (['v4', 'v3'] as const) : (['v3', 'v4'] as const)) {
    const ki = octetsOf(words[each].k)
    const [own, operator] = [octetsOf(words[each].opc), octetsOf(words[each].op)]
    // Up to 3.4 the UDM refuses everybody without `milenage`.
    const isReadable = each === spelling && (each === 'v4' || milenage !== undefined)
    if (ki !== undefined && own !== undefined) {
      operator?.fill(0)
      return { ki, opc: own, isOp: false, isReadable }
    }
    if (ki !== undefined && operator !== undefined) {
      const made = opcFrom(ki, operator)
      operator.fill(0)
      return { ki, opc: made, isOp: true, isReadable }
    }
    ki?.fill(0)
    own?.fill(0)
    operator?.fill(0)
  }
  return undefined
}

function foundSlice(
  { singleNssai, dnnConfigurations }: Doc,
  usual: readonly unknown[],
): FoundSlice | undefined {
  const slice = sliceOf(singleNssai)
  if (slice === undefined) return undefined
  return {
    sst: slice.sst,
    sd: slice.sd,
    isDefault: usual.some((one) => same(sliceOf(one), slice)),
    apns: Object.entries(docOf(dnnConfigurations)).map(foundApn),
  }
}

function foundApn([name, value]: readonly [string, unknown]): FoundSlice['apns'][number] {
  const { sessionAmbr, '5gQosProfile': qos, staticIpAddress } = docOf(value)
  const addresses = listOf(staticIpAddress)
    .map(docOf)
    .flatMap(({ ipv4Addr, ipv6Addr, ipv6Prefix }) => [ipv4Addr, ipv6Addr, ipv6Prefix])
  return {
    name,
    ambrBps: readRate(sessionAmbr),
    qos: numberOf(docOf(qos)['5qi']),
    addresses: addresses.filter((one): one is string => typeof one === 'string' && one !== ''),
  }
}

/** Bit/s; undefined where the core reads none. */
export function readRate(ambr: unknown): Ambr | undefined {
  const { uplink, downlink } = docOf(ambr)
  const rate = { up: parseRate(uplink), down: parseRate(downlink) }
  return rate.up > 0 && rate.down > 0 ? rate : undefined
}

/** The first number among the names of a subscriber, as the web console takes it. */
export function numberIn(gpsis: unknown): string | undefined {
  const first = listOf(gpsis).find((one) => typeof one === 'string' && one.startsWith('msisdn-'))
  return /^msisdn-([0-9]+)$/.exec(String(first))?.[1]
}

/** Copies of charging data with a rating group are the core's own: they come and go with sessions. */
function textOf(held: Held): string {
  const all = [...held.keys()].map((collection) => {
    const docs = candidates(held, collection).filter(({ ratingGroup }) => ratingGroup === undefined)
    const texts = docs.map((doc) => {
      const kept = Object.entries(doc).filter(([name]) => !NOT_KEPT.has(name))
      return EJSON.stringify(sorted(Object.fromEntries(kept)), { relaxed: false })
    })
    // The core writes documents with their fields in any order.
    return [collection, texts.toSorted()] as const
  })
  const shown = all.filter(([, texts]) => texts.length > 0).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${shown.map(([name, texts]) => `${JSON.stringify(name)}:[${texts.join()}]`).join()}}`
}

/** The documents that a text of `foundOf` stands for; undefined when there is none. */
export function foundDocsOf(text: string | undefined): FoundDocs | undefined {
  if (text === undefined) return undefined
  return new Map(Object.entries(EJSON.parse(text, { relaxed: false }) as Record<string, readonly Doc[]>)) // as textOf writes it
}
