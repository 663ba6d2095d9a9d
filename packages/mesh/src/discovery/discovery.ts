import { X509Certificate } from 'node:crypto'
import {
  type ComponentHealth,
  type Context,
  meshAuthorityRef,
  meshIdentityRef,
  nodeIdentityRef,
  peerNotFound,
} from '@steeple/contracts'
import { fingerprintOf } from '../certificate.ts'
import type { PeeringConfig } from '../config.ts'
import { type ApiPlace, apiPlace } from '../enroll/own-address.ts'
import type { Members } from '../members.ts'
import type { MeshPart, PartTables } from '../part.ts'
import type { Suggestions } from '../suggestions.ts'
import { type Airwaves, openAirwaves } from './airwaves.ts'
import { type Announcement, suggestionFrom } from './announcement.ts'
import { confirmNode } from './confirm.ts'
import { type Heard, heardNodes } from './heard.ts'

export const DISCOVERY_TABLES: PartTables = { migrations: [], tables: [] }

const LOOK_MS = 60_000
/** One that misses so many looks is gone. */
const MISSED = 3
const PROBLEM_CHARACTERS = 200

/** What tests put in place of the network. */
export interface DiscoverySeams {
  readonly open?: typeof openAirwaves
}

/** Announces this node by mDNS, and suggests those that it hears. */
export async function discovery(
  context: Context<PeeringConfig>,
  members: Members,
  { open = openAirwaves }: DiscoverySeams = {},
): Promise<{ readonly part: MeshPart; readonly suggestions: Suggestions }> {
  const heard = heardNodes()
  const listeners = new Set<() => void>()
  const tell = (): void => {
    for (const listener of listeners) listener()
  }
  const { enabled, mdns } = context.config
  const place = enabled && mdns ? apiPlace(context) : { port: undefined, why: 'peering.mdns is false' }
  let airwaves: Airwaves | undefined
  let problem: string | undefined
  const announce = (): void => airwaves?.announce(announcementOf(context, place))
  const look = async (): Promise<void> => {
    if (heard.forget(context.clock.monotonicMs() - MISSED * LOOK_MS)) tell()
    problem = undefined
    airwaves?.look()
  }
  const start = async (): Promise<void> => {
    if (place.port === undefined) return
    airwaves = open({
      nowMs: () => context.clock.monotonicMs(),
      heard: (service) => {
        const suggestion = suggestionFrom(service, context.clock.monotonicMs())
        const isOwn = suggestion?.nodeId === context.use(nodeIdentityRef).nodeId
        if (suggestion !== undefined && !isOwn && heard.add(suggestion)) tell()
      },
      isWrong: (error) => {
        problem = error instanceof Error ? error.message.slice(0, PROBLEM_CHARACTERS) : 'the socket failed'
        context.log.debug({ problem }, 'mDNS')
      },
    })
    announce()
    context.defer(context.use(meshIdentityRef).onChange(announce))
    context.every(LOOK_MS, look, 'machine')
    await look()
  }
  return {
    part: {
      start,
      health: async () => [healthOf(place, problem)],
      stop: async () => {
        await airwaves?.end()
      },
    },
    suggestions: suggestionsOf(context, members, heard, listeners),
  }
}

function suggestionsOf(
  context: Context<PeeringConfig>,
  members: Members,
  heard: Heard,
  listeners: Set<() => void>,
): Suggestions {
  // A member is a peer by itself: there is nothing to suggest.
  const isMember = (nodeId: string): boolean => members.list().some((member) => member.nodeId === nodeId)
  return {
    list: () => heard.list().filter(({ nodeId }) => !isMember(nodeId)),
    get: (id) => heard.get(id),
    confirm: async (id, signal) => {
      const suggestion = heard.get(id)
      if (suggestion === undefined) throw peerNotFound(id)
      const identity = context.use(meshIdentityRef)
      const caPem = identity.membership()?.caPem ?? context.use(meshAuthorityRef).caPem
      const { isRevoked } = members
      return await confirmNode(suggestion, { tls: identity.tls(), caPem, isRevoked }, signal)
    },
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

function announcementOf(
  context: Context<PeeringConfig>,
  { port }: Pick<ApiPlace, 'port'>,
): Announcement | undefined {
  if (port === undefined) return undefined
  const { nodeId, name } = context.use(nodeIdentityRef)
  const identity = context.use(meshIdentityRef)
  const certificate = new X509Certificate(identity.tls().cert)
  return {
    nodeId,
    name,
    meshName: identity.membership()?.meshName ?? (context.config.name || name),
    fingerprint: fingerprintOf(certificate),
    port,
  }
}

function healthOf(
  { port, why }: Pick<ApiPlace, 'port' | 'why'>,
  problem: string | undefined,
): ComponentHealth {
  const detail = port === undefined ? `not announced: ${why}` : `announced on port ${port}`
  return problem === undefined
    ? { name: 'mdns', kind: 'feature', status: 'ok', detail }
    : { name: 'mdns', kind: 'feature', status: 'degraded', detail: `mDNS does not work: ${problem}` }
}
