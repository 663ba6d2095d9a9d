import { X509Certificate } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import {
  backoffMs,
  type ComponentHealth,
  desiredNewsRef,
  healthBoardRef,
  isServiceError,
  type Membership,
  messageOf,
  msFromDuration,
  type NodeReport,
  nodeReporterRef,
  serialOf,
  serviceInfoRef,
  timestampFromMs,
} from '@steeple/contracts'
import { createChanges } from '../enroll/changes.ts'
import { type MemberRecord, wireguardRecord } from '../enroll/member-record.ts'
import { memberOf, type RevocationListener, revocationListener } from '../enroll/membership-state.ts'
import { ownAddress } from '../enroll/own-names.ts'
import type { EnrollParts } from '../enroll/parts.ts'
import { putNote, readNote } from '../enroll/store.ts'
import type { PublishedWireguard } from '../members.ts'
import { CERTIFICATE_LIFE_MS, renewalPurpose } from '../shapes.ts'
import { enrolledFrom, newsFrom, refusal } from './answers.ts'
import { askMember, type RootClient, rootClient } from './box-calls.ts'
import { fieldOf, type MeshClient } from './mesh-client.ts'

/** A question for news waits so long at the root, and the answer a little longer on its way. */
const WAIT_S = 50
const NEWS_TIMEOUT_MS = 65_000

/** What goes to and fro between a member and its root about the members. */
function meshNews(parts: EnrollParts, root: RootClient, heard: RevocationListener) {
  const { context, identity, membershipState, node } = parts
  /** What was sent last: a root of an earlier version keeps less of it than it is told. */
  let sent: string | undefined
  /** Which list of the root the view is of. */
  let list: string | undefined
  return {
    /** Asks what is new; waits for it when `mayWait`. */
    ask: async (membership: Membership, mayWait: boolean): Promise<void> => {
      const known = membershipState.view()
      const mayAsk = known !== undefined && mayWait
      const number = membershipState.list()?.number
      const newer = number === undefined ? '' : `&after_crl=${number}`
      const answer = await root.call(membership, {
        signal: context.retiring,
        timeoutMs: NEWS_TIMEOUT_MS,
        method: 'GET',
        path: `/v1/mesh/members${mayAsk ? `?after=${known.revision}&wait_s=${WAIT_S}` : ''}`,
        ...(mayAsk && list !== undefined && { moreQuery: `&list=${list}${newer}` }),
      })
      const { view, crlPem, listId } = newsFrom(answer, known)
      // What was asked for in another mesh is not for this one.
      if (identity.membership()?.rootNodeId !== membership.rootNodeId) return
      if (!isDeepStrictEqual(view, known)) await membershipState.takeView(view)
      list = listId
      if (crlPem !== undefined) await heard.take(crlPem)
    },
    /** Keeps what this node tells of its WireGuard, in whatever mesh. */
    keep: (wireguard: PublishedWireguard) =>
      context.db.write((tx) => putNote(tx, 'wireguard', JSON.stringify(wireguard))),
    /** Sends it to the root unless that has it. */
    send: async (membership: Membership): Promise<void> => {
      const wanted = await readNote(context.db, 'wireguard')
      if (wanted === undefined) return
      // Written by `keep`.
      const record = JSON.parse(wanted) as PublishedWireguard
      const address = ownAddress(context) ?? null
      const known = memberOf(membershipState.view(), node.nodeId)
      const text = JSON.stringify([record, address])
      if (
        known !== undefined &&
        isTold(known, record) &&
        (isToldAll(known, record, address) || text === sent)
      )
        return
      const { takes, ...body } = record
      const answer = await root.call(membership, {
        signal: context.retiring,
        method: 'PUT',
        path: `/v1/mesh/members/${node.nodeId}/wireguard`,
        body,
        more: { takes, address },
      })
      if (answer.status !== 200) throw refusal(answer)
      sent = text
    },
  }
}

/** Whether the root has what each keeps. Where this node names no endpoint the root has filled one in. */
function isTold({ wireguard }: MemberRecord, record: PublishedWireguard): boolean {
  if (wireguard === null) return false
  const shown = { ...wireguard, endpoint: record.endpoint && wireguard.endpoint, takes: record.takes ?? [] }
  return textOf(shown) === textOf(record)
}

function isToldAll(
  { wireguard, address }: MemberRecord,
  { takes = [] }: PublishedWireguard,
  own: string | null,
): boolean {
  return address === own && takes.join() === wireguard?.takes?.join()
}

function textOf(record: PublishedWireguard): string {
  return JSON.stringify(wireguardRecord(record))
}

const TIMEOUT_MS = 5_000
/** Members that are asked in one round. */
const MOST_ASKED = 3

/**
 * Asks some other members for the list of revoked certificates, when the root is away. Their word is worth its signature.
 * Whom it asks is drawn, and nobody is asked again before all have been.
 */
export function peerLists(
  parts: EnrollParts,
  client: MeshClient,
  take: (pem: string) => Promise<void>,
): () => Promise<void> {
  const { membershipState, node, context } = parts
  const asked = new Set<string>()
  const next = (): readonly MemberRecord[] => {
    const others = (membershipState.view()?.members ?? []).filter(({ node_id }) => node_id !== node.nodeId)
    if (others.every(({ node_id }) => asked.has(node_id))) asked.clear()
    const drawn = pick(others.filter(({ node_id }) => !asked.has(node_id)))
    for (const { node_id } of drawn) asked.add(node_id)
    return drawn
  }
  return async () => {
    for (const other of next()) {
      if (context.retiring.aborted) return
      const question = { method: 'GET', path: '/v1/mesh/crl', isAnonymous: true } as const
      const asking = askMember(parts, client, other, {
        ...question,
        timeoutMs: TIMEOUT_MS,
        signal: context.retiring,
      })
      const answer = await asking.catch((error: unknown) => {
        if (!isServiceError(error) && !context.retiring.aborted) throw error
      })
      const pem = fieldOf(answer?.body, 'crl_pem')
      if (typeof pem === 'string') await take(pem)
    }
  }
}

function pick(all: readonly MemberRecord[]): readonly MemberRecord[] {
  return all
    .map((one) => ({ one, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .slice(0, MOST_ASKED)
    .map(({ one }) => one)
}

/** The root gives the same certificate again while half of its life is left, and its clock may be another. */
const AGAIN_MS = 3_600_000

/**
 * What renews the certificate of this node in the mesh when half of its life is over, also when it has expired. It throws what
 * keeps it from that.
 */
function certificateRenewal({ context, identity, node }: EnrollParts, root: RootClient) {
  let askedMs = Number.NEGATIVE_INFINITY
  const ask = async (membership: Membership, isExpired: boolean, signal: AbortSignal) => {
    const csrPem = await identity.request()
    if (!isExpired) {
      const path = `/v1/nodes/${node.nodeId}/enroll`
      const body = { csr_pem: csrPem, name: node.name }
      return await root.call(membership, { signal, method: 'POST', path, body })
    }
    const anonymous = { signal, isAnonymous: true }
    const challenge = await root.call(membership, { ...anonymous, method: 'GET', path: '/v1/mesh/challenge' })
    const nonce = fieldOf(challenge.body, 'nonce')
    if (typeof nonce !== 'string') throw refusal(challenge)
    const body = {
      certificate_pem: membership.certificatePem,
      csr_pem: csrPem,
      nonce,
      signature: Buffer.from(identity.sign(renewalPurpose(nonce, csrPem))).toString('base64'),
    }
    return await root.call(membership, { ...anonymous, method: 'POST', path: '/v1/mesh/renew', body })
  }
  return async (membership: Membership, signal: AbortSignal): Promise<void> => {
    const nowMs = context.clock.nowMs()
    const endMs = Date.parse(new X509Certificate(membership.certificatePem).validTo)
    const isExpired = nowMs >= endMs
    if (nowMs < endMs - CERTIFICATE_LIFE_MS / 2) return
    const sinceMs = context.clock.monotonicMs() - askedMs
    if (!isExpired && sinceMs < AGAIN_MS) return
    const enrolled = enrolledFrom(await ask(membership, isExpired, signal))
    askedMs = context.clock.monotonicMs()
    if (enrolled.certificatePem === membership.certificatePem) return
    // The node may have left meanwhile, or know the root at another address.
    const now = identity.membership()
    if (now?.rootNodeId !== membership.rootNodeId) return
    await identity.adopt({ ...now, certificatePem: enrolled.certificatePem })
    context.log.info(
      { serial: serialOf(new X509Certificate(enrolled.certificatePem)) },
      'certificate of the mesh renewed',
    )
  }
}

/** Whether another box said that the certificate of this one is worth nothing. */
function isCertificateRefused(error: unknown): boolean {
  return isServiceError(error) && / 401 certificate_revoked/.test(error.message)
}

/** What the intake takes; see POST /v1/telemetry. */
const MOST_COMPONENTS = 32
const LONGEST_DETAIL = 256
const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/

/** How this node itself is: all of it, or what roots of the first versions take. */
function toldOf(node: NodeReport | undefined): readonly object[] {
  if (node === undefined) return []
  const { lifecycle, plmn, on_air } = node
  return [{ node }, { node: { lifecycle, plmn, on_air: on_air ?? false } }]
}

/** What tells the root how this node is, and throws `southbound_unavailable`. `seq` grows over restarts, lost stores and clocks that go back. */
function heartbeats({ context, node }: EnrollParts, root: RootClient) {
  let seq: number | undefined
  const nextSeq = async (): Promise<number> => {
    seq ??= Number((await readNote(context.db, 'heartbeat_seq')) ?? 0)
    const next = Math.max(seq + 1, context.clock.nowMs())
    seq = next
    await context.db.write((tx) => putNote(tx, 'heartbeat_seq', String(next)))
    return next
  }
  return async (membership: Membership, signal: AbortSignal): Promise<void> => {
    const board = context.use(healthBoardRef)
    const components = board
      .components()
      .filter(({ name }) => NAME.test(name))
      .slice(0, MOST_COMPONENTS)
      .map(({ name, status, detail, required }) => ({
        name,
        // A node counts as degraded for what it needs; the root cannot know what that is.
        status: status === 'down' && !required ? 'degraded' : status,
        detail: detail.slice(0, LONGEST_DETAIL),
      }))
    const answer = await root.call(membership, {
      signal,
      method: 'POST',
      path: '/v1/telemetry',
      body: {
        node_id: node.nodeId,
        at: timestampFromMs(context.clock.nowMs()),
        seq: await nextSeq(),
        components,
        versions: { svc: context.use(serviceInfoRef).version },
      },
      more: toldOf(await context.maybe(nodeReporterRef)?.report()),
    })
    if (answer.status >= 300) throw refusal(answer)
    const version = fieldOf(answer.body, 'desired_version')
    if (typeof version === 'number') await context.maybe(desiredNewsRef)?.heard(version)
  }
}

const RETRY = { firstMs: 1_000, longestMs: 15_000 }
/** Without news for so long other members are asked for the revoked certificates. */
const SILENCE_MS = 60_000
const IDLE_MS = 3_600_000
const HEARTBEAT_MS = 15_000

/** What a member does by itself: follows its root, tells it how it is, renews its certificate, and hears when it is out. */
export interface MeshAgent {
  start(): void
  /** Tells the other members of this node's WireGuard; durable here when it resolves. */
  publish(wireguard: PublishedWireguard): Promise<void>
  /** Leaves the mesh; says whether the root has heard of it. */
  leave(signal: AbortSignal): Promise<{ readonly isRootTold: boolean }>
  health(): ComponentHealth
  /** Whether the root of this member has not answered the last question. */
  isRootAway(): boolean
}

/** Makes the agent. Nothing runs before `start`. */
export function meshAgent(parts: EnrollParts, client: MeshClient): MeshAgent {
  const { context, identity } = parts
  const woken = createChanges()
  const asking = rootClient(parts, client)
  const heard = revocationListener(parts, asking)
  const news = meshNews(parts, asking, heard)
  const root = rootWatch(parts)
  const renewWhenDue = certificateRenewal(parts, asking)
  const sendHeartbeat = heartbeats(parts, asking)
  const askPeers = peerLists(parts, client, heard.take)
  // What the root then says of this node is no news.
  let isLeaving = false
  const present = (): Membership | undefined => (context.config.enabled ? identity.membership() : undefined)
  const round = async (membership: Membership): Promise<void> => {
    await renewWhenDue(membership, context.retiring)
    await news.ask(identity.membership() ?? membership, !root.isAway())
    root.answered(membership)
    const still = present()
    if (still !== undefined) await news.send(still)
  }
  const afterFailure = async (membership: Membership, error: unknown): Promise<void> => {
    if (isLeaving) return
    root.failed(error)
    if (isCertificateRefused(error)) await heard.askRoot(membership).catch(() => undefined)
    if (identity.membership() !== undefined && root.isSilent()) await askPeers()
  }
  const follow = async (): Promise<void> => {
    let failures = 0
    while (!context.retiring.aborted) {
      const membership = present()
      if (membership === undefined) {
        await woken.next(IDLE_MS, context.retiring)
        continue
      }
      const error = await failureOf(() => round(membership))
      failures = error === undefined ? 0 : failures + 1
      if (error === undefined || context.retiring.aborted) continue
      const fault = await failureOf(() => afterFailure(membership, error))
      if (fault !== undefined) context.log.error({ err: fault }, 'the mesh could not be followed')
      await woken.next(backoffMs(RETRY, failures), context.retiring)
    }
  }
  const beat = async (signal: AbortSignal): Promise<void> => {
    const membership = present()
    if (membership === undefined) return
    // The loop that follows the root has the say about what a failure means.
    const error = await failureOf(() => sendHeartbeat(membership, signal))
    if (error !== undefined && !isServiceError(error)) throw error
  }
  return {
    start: () => {
      context.defer(identity.onChange(woken.tell))
      const followed = follow()
      context.defer(() => followed)
      context.every(msFromDuration(context.config.heartbeat) ?? HEARTBEAT_MS, beat, 'each')
    },
    publish: async (wireguard) => {
      await news.keep(wireguard)
      const membership = present()
      // Sent again by the loop when it fails.
      if (membership !== undefined) await failureOf(() => news.send(membership))
    },
    leave: async (signal) => {
      isLeaving = true
      try {
        return await leaveMesh(parts, asking, signal)
      } finally {
        isLeaving = false
      }
    },
    ...{ health: root.health, isRootAway: root.isAway },
  }
}

async function failureOf(work: () => Promise<void>): Promise<unknown> {
  try {
    await work()
    return undefined
  } catch (error) {
    return error ?? new Error('it failed without an error')
  }
}

async function leaveMesh(
  { identity, membershipState, node }: EnrollParts,
  root: RootClient,
  signal: AbortSignal,
): Promise<{ readonly isRootTold: boolean }> {
  const membership = identity.membership()
  if (membership === undefined) return { isRootTold: true }
  const path = `/v1/nodes/${node.nodeId}/leave`
  const answer = await root
    .call(membership, { signal, method: 'POST', path, body: {} })
    .catch(() => undefined)
  await identity.forget()
  await membershipState.clear()
  // 401: it had put this node out before.
  return { isRootTold: answer !== undefined && (answer.status === 200 || answer.status === 401) }
}

/** What is known of the root: whether it answers, since when it does not, and what that means for the health. */
function rootWatch({ context, identity, membershipState }: EnrollParts) {
  let heardMs = context.clock.monotonicMs()
  let trouble: string | undefined
  const base = { name: 'membership', kind: 'feature' as const, required: false }
  return {
    isAway: (): boolean => trouble !== undefined,
    answered: (membership: Membership): void => {
      if (trouble !== undefined) context.log.info({ root: membership.rootUrl }, 'the root answers again')
      trouble = undefined
      heardMs = context.clock.monotonicMs()
    },
    failed: (error: unknown): void => {
      if (trouble === undefined) context.log.warn({ err: error }, 'the root of the mesh does not answer')
      trouble = messageOf(error)
    },
    /** True once in each time of silence. */
    isSilent: (): boolean => {
      const nowMs = context.clock.monotonicMs()
      if (nowMs - heardMs < SILENCE_MS) return false
      heardMs = nowMs
      return true
    },
    health: (): ComponentHealth => {
      const membership = identity.membership()
      const gone = membershipState.expelled()
      if (membership === undefined && gone !== undefined) {
        const at = new Date(gone.atMs).toISOString()
        const detail = `this node was taken out of the mesh ${gone.mesh} at ${at}; join again if that was a mistake`
        return { ...base, status: 'degraded', detail }
      }
      if (membership === undefined) return { ...base, status: 'ok', detail: 'root of its own mesh' }
      const of = `member of ${membership.meshName}`
      if (trouble === undefined) return { ...base, status: 'ok', detail: of }
      return { ...base, status: 'degraded', detail: `${of}; goes on with what it knows: ${trouble}` }
    },
  }
}
