import {
  type Context,
  type CoreDesired,
  type CoreDriver,
  type CorePlan,
  coreDriverRef,
  policyRef,
  type Rendered,
  type Settings,
  subscribersRef,
} from '@steeple/contracts'
import { errorWords } from '@steeple/southbound'

/** What of the core's settings would be otherwise; what is absent is as it is now. */
interface CoreChange {
  readonly mcc?: string
  readonly mnc?: string
  readonly tac?: number
  readonly apns?: readonly string[]
}

/** What the core must be set to: the settings, with the policy bundle's APNs, and `change`. Throws while the policy cannot be read. */
export function coreDesired(
  context: Context,
  change: CoreChange = {},
  { plmn, tac, policy }: Settings = context.settings,
): CoreDesired {
  const { apns } = context.use(policyRef).bundle()
  const { mcc = plmn.mcc, mnc = plmn.mnc } = change
  return {
    plmn: { mcc, mnc },
    tac: change.tac ?? tac,
    apns: [...(change.apns ?? apns)],
    maxUes: policy.max_ues,
  }
}

/** A plan where nothing is known. */
const NOTHING: CorePlan = {
  dir: '',
  state: 'unknown',
  files: [],
  daemons: [],
  dropped: undefined,
  expectedS: undefined,
  notes: [],
  problems: [],
  refused: undefined,
}

/** What the driver's `apply` would do with that set: the driver's own word, else by the hash of what it observes. */
export async function planOf(
  driver: CoreDriver,
  set: Rendered,
  signal: AbortSignal,
  settings?: Settings,
): Promise<CorePlan> {
  if (driver.plan !== undefined) return await driver.plan(set, signal, settings)
  const { configSha256 } = await driver.observe(signal)
  const isInSync = configSha256 === set.sha256
  const notes = ['the core driver does not tell which daemons a change restarts, nor whom that drops']
  return { ...NOTHING, state: isInSync ? 'in_sync' : 'changes', notes: isInSync ? [] : notes }
}

/** What an apply would do now, or after `change`, for people: what stands in its way is said in it. */
export async function planNow(
  context: Context,
  signal: AbortSignal,
  change: CoreChange = {},
): Promise<CorePlan> {
  const driver = context.maybe(coreDriverRef)
  if (driver === undefined) return { ...NOTHING, problems: [noDriverWords(context.settings.core)] }
  try {
    const desired = coreDesired(context, change)
    const plan = await planOf(driver, await driver.render(desired), signal)
    const misfits = await misfitsOf(context, desired)
    return misfits === undefined ? plan : { ...plan, notes: [...plan.notes, misfits] }
  } catch (error) {
    signal.throwIfAborted()
    return { ...NOTHING, problems: [errorWords(error)] }
  }
}

/** That SIMs would be of another network; a store that cannot be read is no reason for no plan. */
async function misfitsOf(context: Context, { plmn }: CoreDesired): Promise<string | undefined> {
  const subscribers = context.maybe(subscribersRef)
  return await subscribers?.misfits?.(`${plmn.mcc}-${plmn.mnc}`).catch(() => undefined)
}

/** That the core of the configuration has no driver now. */
export function noDriverWords(core: string): string {
  return `no driver for core ${core} is running: GET /v1/plugins says why`
}
