import { type Imsi, southboundUnavailable } from '@steeple/contracts'
import type { Free5gcOam } from '@steeple/southbound'
import { imsiHash, parseImsi } from '@steeple/telecom'
import { assert, type BegunSession } from '@steeple/testkit'

interface ModelSession {
  readonly ref: string
  readonly dnn: string
}

/** AMF and SMF as a driver tells of them. */
export interface ModelCore extends Free5gcOam {
  /** By IMSI, one list per access; a phone without sessions has an empty one. */
  readonly phones: Map<Imsi, { isConnected: boolean; sessions: ModelSession[] }[]>
  /** Addresses of the sessions that the SMF has. */
  readonly smf: Map<string, string | undefined>
  away: Set<'amf' | 'smf'>
  /** How often the SMF was asked. */
  questions: number
  /** Another phone begins a session. */
  begin(): BegunSession & { readonly reference: string }
  end(session: BegunSession): void
  restart(): void
}

/** The IMSI of a test subscriber. */
export function imsiOf(number: number): Imsi {
  const imsi = parseImsi(`99970${String(number).padStart(10, '0')}`)
  assert.ok(imsi !== undefined)
  return imsi
}

/** Nobody is registered. `nowMs`: when the AMF is asked. */
export function modelCore(nowMs: () => number): ModelCore {
  let begun = 0
  const core: ModelCore = {
    phones: new Map(),
    smf: new Map(),
    away: new Set(),
    questions: 0,
    registrations: async () => {
      if (core.away.has('amf')) throw southboundUnavailable('the AMF cannot be asked')
      const registrations = [...core.phones].flatMap(([imsi, accesses]) =>
        accesses.map((access) => ({ imsi, plmn: '999-70', ...access, sessions: [...access.sessions] })),
      )
      return { registrations, askedMs: nowMs() }
    },
    charging: async () => undefined,
    uncharged: () => undefined,
    session: async (ref) => {
      core.questions += 1
      if (core.away.has('smf')) throw southboundUnavailable('the SMF cannot be asked')
      return core.smf.has(ref) ? { address: core.smf.get(ref) } : undefined
    },
    begin: () => {
      begun += 1
      const imsi = imsiOf(begun)
      const [ref, address] = [`urn:uuid:${begun}`, `10.60.${begun >> 8}.${begun & 0xff}`]
      core.phones.set(imsi, [{ isConnected: true, sessions: [{ ref, dnn: 'internet' }] }])
      core.smf.set(ref, address)
      return { imsi: imsiHash(imsi), apn: 'internet', address, prefix: undefined, reference: ref }
    },
    end: ({ imsi }) => {
      for (const [raw, accesses] of core.phones) {
        if (imsiHash(raw) !== imsi) continue
        for (const { ref } of accesses.flatMap(({ sessions }) => sessions)) core.smf.delete(ref)
        core.phones.set(raw, [{ isConnected: true, sessions: [] }])
      }
    },
    restart: () => {
      core.phones.clear()
      core.smf.clear()
    },
  }
  return core
}
