import {
  createPause,
  type ImsiHash,
  type MutationTx,
  type ObservedTx,
  type SubscriberView,
  systemPrincipal,
  timestampFromMs,
} from '@steeple/contracts'
import { type Account, accountsOf } from './account.ts'
import { type FairUseParts, termsOf } from './parts.ts'
import { edgeOf, type Step, stepsOf, throttleBpsOf, WARN_PERCENT } from './steps.ts'
import { putQuotaState, type QuotaState, quotaStatesOf } from './store/quota-state-store.ts'

/** A step that changes a SIM. */
type Move = Exclude<Step, 'warn' | 'exceed'>

const BY = systemPrincipal('fair-use')

/** Changes a SIM as its quota asks for, in a mutation of its own. What has been overtaken meanwhile changes nothing. */
export async function move(parts: FairUseParts, imsi: ImsiHash, step: Move): Promise<void> {
  const { context } = parts
  await context.mutate(BY, `sim.${step}`, imsi, async (tx) => {
    const now = await quotaStateNow(parts, tx, imsi)
    if (now === undefined || !stepsOf(now.account, now.quotaState, termsOf(parts)).includes(step)) {
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

/** The quota no longer keeps off whom somebody else does: nothing that the SIM shows has changed. */
export async function letGo({ context }: FairUseParts, imsi: ImsiHash): Promise<void> {
  await context.db.write(async (tx) => {
    const quotaState = (await quotaStatesOf(tx, [imsi])).get(imsi)
    if (quotaState?.held === 'suspend')
      await putQuotaState(tx, { ...quotaState, held: null, held_from_ms: null })
  })
}

async function quotaStateNow(
  parts: FairUseParts,
  tx: MutationTx,
  imsi: ImsiHash,
): Promise<{ readonly account: Account; readonly quotaState: QuotaState } | undefined> {
  const account = (await accountsOf(tx, [imsi], parts.clock)).get(imsi)
  const quotaState = (await quotaStatesOf(tx, [imsi])).get(imsi)
  return account === undefined || quotaState === undefined ? undefined : { account, quotaState }
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
export async function tell(parts: FairUseParts, imsis: readonly string[]): Promise<void> {
  if (imsis.length === 0) return
  await parts.context.observe(async (tx) => {
    const accounts = await accountsOf(tx, imsis, parts.clock)
    const quotaStates = await quotaStatesOf(tx, imsis)
    const pause = createPause()
    for (const [imsi, account] of accounts) {
      const quotaState = quotaStates.get(imsi)
      if (quotaState !== undefined) await tellOne(parts, tx, account, quotaState)
      await pause()
    }
  })
}

async function tellOne(
  parts: FairUseParts,
  tx: ObservedTx,
  account: Account,
  quotaState: QuotaState,
): Promise<void> {
  const { hash } = quotaState
  const edge = edgeOf(account)
  const steps = stepsOf(account, quotaState, termsOf(parts))
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
