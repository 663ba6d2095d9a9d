import { southboundUnavailable } from '@steeple/contracts'
import type { Caller, Service } from '../sbi/caller.ts'

/** What is asked of the SMF. Everything throws `southbound_unavailable` when it cannot be asked. */
export interface SmfClient {
  /** Whether the SMF still holds a session, by the AMF's reference to it. */
  hasSession(ref: string, signal: AbortSignal): Promise<boolean>
  /** Asks it to release one, as an AMF does. */
  release(ref: string, signal: AbortSignal): Promise<void>
  /** Resolves when its OAM service answers. */
  ping(signal: AbortSignal): Promise<void>
}

/** A client of the SMF at `url`, a base URL without a slash at its end. */
export function createSmfClient(caller: Caller, url: () => string): SmfClient {
  const oam: Service = { nfType: 'SMF', scope: 'nsmf-oam', url, file: 'smfcfg.yaml' }
  const sessions: Service = { nfType: 'SMF', scope: 'nsmf-pdusession', url, file: 'smfcfg.yaml' }
  return {
    hasSession: async (ref, signal) => {
      const path = `/nsmf-oam/v1/ue-pdu-session-info/${pathPart(ref)}`
      const { status } = await caller.call(oam, { method: 'GET', path }, signal)
      if (status === 404) return false
      if (status !== 200) throw unexpected(status)
      return true
    },
    release: async (ref, signal) => {
      const path = `/nsmf-pdusession/v1/sm-contexts/${pathPart(ref)}/release`
      const { status } = await caller.call(sessions, { method: 'POST', path, json: {} }, signal)
      if (status >= 300 && status !== 404)
        throw southboundUnavailable(`the SMF does not release a session: it answers ${status}`)
    },
    ping: async (signal) => {
      const { status } = await caller.call(oam, { method: 'GET', path: '/nsmf-oam/v1/' }, signal)
      if (status !== 200) throw unexpected(status)
    },
  }
}

/** A reference is a URN; its colons stay, as the AMF writes them. */
function pathPart(ref: string): string {
  return encodeURIComponent(ref).replaceAll('%3A', ':')
}

function unexpected(status: number): Error {
  return southboundUnavailable(`the SMF answers ${status} to its OAM service`)
}
