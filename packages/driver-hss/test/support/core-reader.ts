import { COLLECTIONS } from '../../src/free5gc/names.ts'
import type { Look } from './database.ts'

/** What a slice of a phone is. */
export interface AskedSlice {
  readonly sst: number
  readonly sd?: string
}

type Doc = Readonly<Record<string, unknown>>

/**
 * Reads the documents of a subscriber as free5GC's functions do, from what UDR, UDM, SMF and PCF of 3.4.5 and 4.2.3 were
 * seen to take and to refuse. Each gives undefined when the function goes on, else what it stumbles over.
 */
export interface CoreReader {
  /** UDM: an authentication vector. */
  authentication(ueId: string): string | undefined
  /** AMF through UDM and PCF: a registration. */
  registration(ueId: string, plmn: string): string | undefined
  /** SMF through UDM and PCF: a session. */
  session(ueId: string, plmn: string, slice: AskedSlice, dnn: string): string | undefined
}

/** The reader of a release, of what is stored now. */
export async function coreReader(look: Look, release: '3.4.5' | '4.2.3'): Promise<CoreReader> {
  const stored = new Map<string, readonly Doc[]>()
  for (const name of Object.values(COLLECTIONS))
    stored.set(name, (await look.collection(name).find().toArray()).map(plain))
  const all = (collection: string, filter: Doc): readonly Doc[] =>
    (stored.get(collection) ?? []).filter((one) =>
      Object.entries(filter).every(([field, value]) => one[field] === value),
    )
  return {
    authentication: (ueId) => {
      const [one] = all(COLLECTIONS.auth, { ueId })
      if (one === undefined) return 'no authentication document'
      return release === '3.4.5' ? ofRelease3(one) : ofRelease4(one)
    },
    registration: (ueId, servingPlmnId) => {
      const [am] = all(COLLECTIONS.am, { ueId, servingPlmnId })
      if (am === undefined) return 'no access data'
      const slices = doc(am.nssai).defaultSingleNssais
      if (!Array.isArray(slices) || slices.length === 0) return 'no default slice'
      if (all(COLLECTIONS.policyAm, { ueId }).length === 0) return 'no access policy'
      const chosen = all(COLLECTIONS.selection, { ueId, servingPlmnId })
      return chosen.length === 0 ? 'no choice of SMF' : undefined
    },
    session: (ueId, servingPlmnId, slice, dnn) => {
      // Asked for a slice without SD, the UDR gives all of that SST, from 4.0 on whichever DNNs they have.
      const ofSst = all(COLLECTIONS.sm, { ueId, servingPlmnId }).filter(({ singleNssai }) => {
        const { sst, sd } = doc(singleNssai)
        return sst === slice.sst && (slice.sd === undefined || sd === slice.sd)
      })
      const sm = ofSst.find((one) => release !== '3.4.5' || dnn in doc(one.dnnConfigurations))
      const [policy] = all(COLLECTIONS.policySm, { ueId })
      const [charging] = all(COLLECTIONS.charging, { ueId, snssai: sliceKey(slice), dnn: '', filter: '' })
      const isCounted = ['Offline', 'Online'].includes(String(charging?.chargingMethod))
      const trouble = dnnTrouble(doc(doc(sm?.dnnConfigurations)[dnn])) ?? policyTrouble(policy, slice, dnn)
      return trouble ?? (isCounted ? undefined : 'no counting')
    },
  }
}

function sliceKey({ sst, sd }: AskedSlice): string {
  return `${sst.toString(16).padStart(2, '0')}${sd ?? ''}`
}

/** The SMF looks for the DNN as it is and for a type that it serves. */
function dnnTrouble(dnn: Doc): string | undefined {
  const types = doc(dnn.pduSessionTypes).allowedSessionTypes
  if (!Array.isArray(types) || !types.includes('IPV4')) return 'no session type'
  if (!isRate(doc(dnn.sessionAmbr).uplink)) return 'no session AMBR'
  // Not refused: the SMF ends.
  return typeof doc(dnn['5gQosProfile'])['5qi'] === 'number' ? undefined : 'no QoS'
}

/** The PCF looks for the DNN with underscores for its dots. */
function policyTrouble(policy: Doc | undefined, slice: AskedSlice, dnn: string): string | undefined {
  const its = doc(doc(policy?.smPolicySnssaiData)[sliceKey(slice)])
  const snssai = doc(its.snssai)
  if (snssai.sst !== slice.sst || snssai.sd !== slice.sd) return 'no policy for the slice'
  const allowed = doc(doc(its.smPolicyDnnData)[dnn.replaceAll('.', '_')])
  return allowed.dnn === dnn ? undefined : 'no policy for the DNN'
}

function ofRelease4(auth: Doc): string | undefined {
  if (typeof auth.sequenceNumber === 'string') return 'a SQN that is no document'
  if (!isKey(auth.encPermanentKey)) return 'no key'
  if (!isKey(auth.encOpcKey)) return 'no OPc'
  return common(auth, doc(auth.sequenceNumber).sqn)
}

function ofRelease3(auth: Doc): string | undefined {
  if (typeof auth.sequenceNumber === 'object') return 'a SQN that is no text'
  if (!isKey(doc(auth.permanentKey).permanentKeyValue)) return 'no key'
  if (doc(auth.milenage).op === undefined) return 'no Milenage'
  if (!isKey(doc(auth.opc).opcValue)) return 'no OPc'
  return common(auth, auth.sequenceNumber)
}

function common(auth: Doc, sqn: unknown): string | undefined {
  if (typeof sqn !== 'string' || !/^[0-9a-f]{12}$/.test(sqn)) return 'no SQN'
  if (auth.authenticationMethod !== '5G_AKA') return 'another method'
  // The card refuses a 5G authentication without the separation bit. TS 33.501 annex A.
  return auth.authenticationManagementField === '8000' ? undefined : 'no separation bit'
}

function isKey(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{32}$/.test(value)
}

function isRate(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9.]+ [KMGT]?bps$/.test(value)
}

function doc(value: unknown): Doc {
  return typeof value === 'object' && value !== null ? (value as Doc) : {} // a stored document
}

/** Numbers as JSON has them, as the UDR gives a document on. */
function plain(stored: Doc): Doc {
  return JSON.parse(JSON.stringify(stored)) as Doc // an object stays one
}
