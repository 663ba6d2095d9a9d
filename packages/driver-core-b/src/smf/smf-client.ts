import { isIPv4 } from 'node:net'
import { jsonIn, southboundUnavailable } from '@steeple/contracts'
import type { SmfSession } from '@steeple/southbound'
import type { Caller, Service } from '../sbi/caller.ts'
import { textOf } from '../sbi/http-client.ts'

/** What is asked of the SMF. Everything throws `southbound_unavailable` when it cannot be asked. */
export interface SmfClient {
  /** Whether the SMF still holds a session, by the AMF's reference to it. */
  hasSession(ref: string, signal: AbortSignal): Promise<boolean>
  /** What it says of one; undefined when it does not hold it. */
  session(ref: string, signal: AbortSignal): Promise<SmfSession | undefined>
  /** Asks it to release one, as an AMF does. */
  release(ref: string, signal: AbortSignal): Promise<void>
  /** Resolves when its OAM service answers. */
  ping(signal: AbortSignal): Promise<void>
}

/** A client of the SMF at `url`, a base URL without a slash at its end. */
export function createSmfClient(caller: Caller, url: () => string): SmfClient {
  const oam: Service = { nfType: 'SMF', scope: 'nsmf-oam', url, file: 'smfcfg.yaml' }
  const sessions: Service = { nfType: 'SMF', scope: 'nsmf-pdusession', url, file: 'smfcfg.yaml' }
  /** The text of what it says of a session. */
  const ask = async (ref: string, signal: AbortSignal): Promise<string | undefined> => {
    const path = `/nsmf-oam/v1/ue-pdu-session-info/${pathPart(ref)}`
    const { status, text } = await caller.call(oam, { method: 'GET', path }, signal)
    if (status === 404) return undefined
    if (status !== 200) throw unexpected(status)
    return text
  }
  return {
    hasSession: async (ref, signal) => (await ask(ref, signal)) !== undefined,
    session: async (ref, signal) => {
      const text = await ask(ref, signal)
      return text === undefined ? undefined : sessionFrom(text)
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

/** A session without an address has the text `<nil>` for one. */
function sessionFrom(text: string): SmfSession {
  const address = textOf(jsonIn(text), 'PDUAddress')
  if (address === '')
    throw southboundUnavailable('the SMF tells of a session in a way that this driver does not know')
  return { address: isIPv4(address) && address !== '0.0.0.0' ? address : undefined }
}

/** A reference is a URN; its colons stay, as the AMF writes them. */
function pathPart(ref: string): string {
  return encodeURIComponent(ref).replaceAll('%3A', ':')
}

function unexpected(status: number): Error {
  return southboundUnavailable(`the SMF answers ${status} to its OAM service`)
}
