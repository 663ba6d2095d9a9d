import { randomUUID } from 'node:crypto'
import {
  chunksOf,
  createPause,
  eachAbreast,
  type ImsiHash,
  isServiceError,
  type MutationTx,
  msFromDuration,
  type ObservedTx,
  type Outcome,
  type Reconciler,
  type SubscriberView,
  simNotFound,
  simStateConflict,
  systemPrincipal,
  timestampFromMs,
} from '@steeple/contracts'
import { safeText } from '@steeple/telecom'
import type { Account } from './account.ts'
import { type FairUseParts, QUOTA_RESOURCE, termsOf } from './parts.ts'
import { recount } from './recount.ts'
import { type DueSim, edgeOf, type Step, stepsFor, throttleBpsOf, WARN_PERCENT } from './steps.ts'
import {
  beginEpoch,
  epochNow,
  heldOffAfter,
  letGo,
  putQuotaState,
  type QuotaState,
  quotaStatesOf,
} from './store/quota-state-store.ts'
import { newQuota, periodsOf, QUOTAS, quotaHashes, quotasOf, removeQuota } from './store/quota-store.ts'

/** A step that changes a SIM. */
type Move = Exclude<Step, 'warn' | 'exceed'>

const BY = systemPrincipal('fair-use')

/** Changes a SIM as its quota asks for, in a mutation of its own. What has been overtaken meanwhile changes nothing. */
async function move(parts: FairUseParts, imsi: ImsiHash, step: Move): Promise<void> {
  const { context } = parts
  await context.mutate(BY, `sim.${step}`, imsi, async (tx) => {
    const [now] = await stepsFor(parts, tx, [imsi])
    if (now === undefined || !now.steps.includes(step)) {
      tx.audit({ detail: { unchanged: 'the quota or what was used of it has changed meanwhile' } })
      return
    }
    const { account } = now
    const view = await act(parts, tx, imsi, step, account)
    await putQuotaState(tx, { ...now.quotaState, ...heldAfter(parts, step, account) })
    const facts = { to: view.state, reason: 'quota', ...rateOf(step, view) }
    tx.audit({ detail: { ...facts, used_bytes: account.usedBytes, allowance_bytes: account.limitBytes } })
    tx.event({ type: `sim.${step}`, subject: imsi, data: facts })
    tx.afterCommit(() => parts.metrics.done(step))
  })
}

async function act(
  parts: FairUseParts,
  tx: MutationTx,
  imsi: ImsiHash,
  step: Move,
  account: Account,
): Promise<SubscriberView> {
  const { subscribers, context } = parts
  if (step === 'suspend') return await subscribers.suspendIn(tx, imsi, 'quota')
  if (step === 'resume') return await subscribers.resumeIn(tx, imsi, 'quota')
  const bps = step === 'throttle' ? throttleBpsOf(account, termsOf(parts)) : undefined
  return await subscribers.capIn(tx, imsi, bps, context.config.throttle_reach)
}

function heldAfter(
  parts: FairUseParts,
  step: Move,
  account: Account,
): Pick<QuotaState, 'held' | 'held_from_ms' | 'held_bps'> {
  if (step === 'resume' || step === 'unthrottle') return { held: null, held_from_ms: null, held_bps: null }
  const bps = step === 'throttle' ? throttleBpsOf(account, termsOf(parts)) : null
  return { held: step, held_from_ms: account.startMs, held_bps: bps }
}

function rateOf(step: Move, { capBps }: SubscriberView): { readonly rate_bps?: number | null } {
  return step === 'throttle' || step === 'unthrottle' ? { rate_bps: capBps ?? null } : {}
}

/** Tells of edges, all in one transaction: each once for its period and allowance. */
async function tell(parts: FairUseParts, imsis: readonly string[]): Promise<void> {
  if (imsis.length === 0) return
  await parts.context.observe(async (tx) => {
    const pause = createPause()
    for (const due of await stepsFor(parts, tx, imsis)) {
      await tellOne(parts, tx, due)
      await pause()
    }
  })
}

async function tellOne(
  parts: FairUseParts,
  tx: ObservedTx,
  { hash, account, quotaState, steps }: DueSim,
): Promise<void> {
  const edge = edgeOf(account)
  let told = quotaState
  if (steps.includes('warn')) {
    tx.event({ type: 'quota.warning', subject: hash, data: edgeFacts(account, WARN_PERCENT) })
    tx.afterCommit(() => parts.metrics.done('warn'))
    told = { ...told, warned: edge }
  }
  if (steps.includes('exceed')) {
    tx.event({ type: 'quota.exceeded', subject: hash, data: edgeFacts(account, 100) })
    tx.afterCommit(() => parts.metrics.done('exceed'))
    told = { ...told, exceeded: edge }
  }
  if (told !== quotaState) await putQuotaState(tx, told)
}

function edgeFacts(account: Account, percent: number): Readonly<Record<string, unknown>> {
  const { quota, usedBytes, limitBytes, startMs, endMs } = account
  return {
    percent,
    used_bytes: usedBytes,
    allowance_bytes: limitBytes,
    period: quota.period,
    period_start: timestampFromMs(startMs),
    period_end: endMs === undefined ? null : timestampFromMs(endMs),
    action: quota.action,
  }
}

/** SIMs of one transaction. */
const CHUNK = 200

/** Takes over the quotas that SIMs got while this plugin was away. */
async function adoptQuotas({ context, subscribers, clock }: FairUseParts): Promise<void> {
  for (let after = ''; ; ) {
    const sims = await subscribers.withQuota(after, CHUNK)
    const hashes = sims.map(({ imsi }) => imsi)
    await context.db.write(async (tx) => {
      const quotas = await quotasOf(tx, hashes)
      const known = await periodsOf(tx, hashes)
      for (const { imsi, quotaBytes } of sims) {
        const quota = quotas.get(imsi)
        // A damaged row is left to whoever mends it.
        if (!known.has(imsi)) await QUOTAS.insert(tx, newQuota(imsi, quotaBytes, clock))
        else if (quota !== undefined && quota.quota_bytes !== quotaBytes)
          await QUOTAS.put(tx, { ...quota, quota_bytes: quotaBytes })
      }
    })
    const last = sims.at(-1)
    if (sims.length < CHUNK || last === undefined) return
    after = last.imsi
  }
}

/** Whom an operator has let on is not held off any more: it is the quota's turn again. */
async function noticeResumed({ context, subscribers }: FairUseParts): Promise<void> {
  const pause = createPause()
  for (let after = ''; ; ) {
    const hashes = await heldOffAfter(context.db, after, CHUNK)
    const resumed: string[] = []
    for (const hash of hashes) {
      // A damaged row is left to whoever mends it.
      const state = (await subscribers.find(hash).catch(() => undefined))?.state
      if (state === 'issued' || state === 'in-use') resumed.push(hash)
    }
    if (resumed.length > 0)
      await context.db.write(async (tx) => {
        for (const hash of resumed) await letGo(tx, hash)
      })
    const last = hashes.at(-1)
    if (hashes.length < CHUNK || last === undefined) return
    after = last
    await pause()
  }
}

/** SIMs of one call; their mutations share commits. */
const BATCH = 100
/** Mutations at a time. */
const ABREAST = 25
/** Totals that are made from the ledger in one transaction: others wait as long. */
const RECOUNTS = 10
/** Quotas that are looked at in one go. */
const LOOK = 500
const DEFAULT_MS = 60_000

/** Does what quotas ask for: suspends, throttles, tells, and lets on again. */
export function quotaReconciler(parts: FairUseParts): Reconciler {
  const { context } = parts
  let isBegun = false
  return {
    resource: QUOTA_RESOURCE,
    resyncMs: Math.max(1_000, msFromDuration(context.config.usage_interval) ?? DEFAULT_MS),
    batch: BATCH,
    urgentConcurrency: 1,
    backoff: { firstMs: 1_000, longestMs: 60_000 },
    keys: async () => {
      if (!isBegun) {
        // Nobody has counted while this plugin was away.
        await context.db.write((tx) => beginEpoch(tx, randomUUID()))
        await adoptQuotas(parts)
        await noticeResumed(parts)
        isBegun = true
      }
      return await hashesToLookAt(parts)
    },
    reconcile: async (keys, signal) => {
      const outcomes = new Map<string, Outcome>()
      await recountStale(parts, keys, signal)
      const due = await stepsFor(parts, context.db, keys)
      // They share commits, and go on together once one has held.
      const pause = createPause()
      await eachAbreast(due, ABREAST, async ({ hash, steps }) => {
        if (signal.aborted) return
        const reason = await moveAll(parts, hash, steps)
        if (reason !== undefined) outcomes.set(hash, { state: 'failed', reason })
        await pause()
      })
      const edges = due.filter(({ steps }) => steps.includes('warn') || steps.includes('exceed'))
      await tell(
        parts,
        edges.map(({ hash }) => hash),
      )
      return outcomes
    },
  }
}

/** Those whose totals may lack something, and those of whom something is to be done. */
async function hashesToLookAt(parts: FairUseParts): Promise<readonly string[]> {
  const { db } = parts.context
  const epoch = await epochNow(db)
  const found: string[] = []
  for await (const hashes of quotaHashes(db, LOOK)) {
    const due = new Set((await stepsFor(parts, db, hashes)).map(({ hash }) => hash))
    const quotaStates = await quotaStatesOf(db, hashes)
    found.push(...hashes.filter((hash) => due.has(hash) || quotaStates.get(hash)?.counted !== epoch))
  }
  return found
}

/** Makes the totals anew of those that were last made before an absence. */
async function recountStale(
  parts: FairUseParts,
  hashes: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { db } = parts.context
  const epoch = await epochNow(db)
  const quotaStates = await quotaStatesOf(db, hashes)
  const stale = hashes.filter((hash) => quotaStates.get(hash)?.counted !== epoch)
  for (const part of chunksOf(stale, RECOUNTS)) {
    signal.throwIfAborted()
    await db.write(async (tx) => {
      const quotas = await quotasOf(tx, part)
      const now = await quotaStatesOf(tx, part)
      for (const [hash, quota] of quotas) {
        await recount(parts, tx, quota)
        const quotaState = now.get(hash)
        if (quotaState !== undefined) await putQuotaState(tx, { ...quotaState, counted: epoch })
      }
    })
  }
}

/** Says why it did not go. */
async function moveAll(
  parts: FairUseParts,
  imsi: ImsiHash,
  steps: readonly Step[],
): Promise<string | undefined> {
  try {
    const view = await parts.subscribers.find(imsi)
    if (view === undefined || view.state === 'revoked') {
      await parts.context.db.write((tx) => removeQuota(tx, imsi))
      return undefined
    }
    for (const step of steps) await perform(parts, view, step)
    return undefined
  } catch (error) {
    // It was revoked or has expired in this very moment.
    const isGone =
      isServiceError(error) && (error.code === simStateConflict.code || error.code === simNotFound.code)
    return isGone ? undefined : safeText(error)
  }
}

async function perform(parts: FairUseParts, view: SubscriberView, step: Step): Promise<void> {
  // Nobody who has expired is on; whoever comes back from it is looked at again.
  if (step === 'warn' || step === 'exceed' || view.state === 'expired') return
  // Whoever lets it on asks for the quota's turn.
  const isOthers = view.state === 'suspended' && view.suspendReason !== 'quota'
  if (isOthers && step === 'suspend') return
  // The quota no longer keeps off whom somebody else does: nothing that the SIM shows has changed.
  if (isOthers && step === 'resume') await parts.context.db.write((tx) => letGo(tx, view.imsi))
  else await move(parts, view.imsi, step)
}
