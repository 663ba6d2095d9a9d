import { api } from '../../api/client.ts'
import { watch } from '../../api/soon.ts'
import { t } from '../../text/index.ts'
import type { Tone } from '../../ui/parts.tsx'
import { toast } from '../../ui/toast.tsx'
import type { Sim } from '../sims/sim.tsx'

/** What every dialog here is given. */
export interface SimDialogProps {
  readonly sim: Sim
  /** The tag that the SIM was read with. */
  readonly etag: string | undefined
  readonly onClose: () => void
  readonly onChanged: () => void
}

/** How often it is looked at, for what no event tells of; and for how long at most. */
const WATCH = { on: ['sim.*', 'health.*'], everyMs: 2_000, forMs: 30 * 60_000 }
/** Outages in which nothing reaches the core. */
const AWAY = ['no_core', 'database_gone']

const DONE = { suspend: 'sim.suspended', resume: 'sim.resumed', revoke: 'sim.revoked' } as const
const TONES: Readonly<Record<Step, Tone>> = {
  ...{ asked: 'none', blocked: 'none', off: 'ok', may: 'ok', away: 'warn', failed: 'bad' },
}

/** Ends what is followed of a SIM: what is done to it later is what counts. */
const following = new Map<string, () => void>()

/** Whether the core or its database is away now. */
export async function isCoreAway(): Promise<boolean> {
  const health = await api.get('/v1/health')
  return health.ok && health.data.incidents.some(({ kind }) => AWAY.includes(kind))
}

/** Says that a SIM was suspended, resumed or revoked, and then how far it is, as the service knows it; `undo` takes it back. */
export function follow(move: Move, hash: string, name: string, undo?: () => void): void {
  following.get(hash)?.()
  let step: Step = 'asked'
  let isOver = false
  const text = (): string => `${t(DONE[move], { name })} ${t(`sim.step.${step}`)}`
  const told = toast({
    text: text(),
    tone: 'none',
    about: hash,
    ...(undo === undefined ? {} : { undo: take }),
  })
  const end = (): void => {
    isOver = true
    stop()
  }
  function take(): void {
    end()
    undo?.()
  }
  const look = async (): Promise<void> => {
    const [sim, isAway] = await Promise.all([
      api.get('/v1/sims/{imsi}', { path: { imsi: hash } }),
      isCoreAway(),
    ])
    if (!sim.ok || isOver) return
    if (isOvertaken(move, sim.data)) return end()
    const next = stepOf(move, sim.data, isAway)
    if (next === step) return
    step = next
    told.change(text(), TONES[step])
    if (isEnd(step)) end()
  }
  const stop = watch((isLast) => (isLast ? end() : void look()), WATCH)
  following.set(hash, end)
}

/** What somebody does to a SIM that the core has to follow. */
export type Move = 'suspend' | 'resume' | 'revoke'

/** How far it is. `away`: the core cannot be reached; the last three are ends. */
type Step = 'asked' | 'away' | 'blocked' | 'off' | 'may' | 'failed'
const ENDS: readonly Step[] = ['off', 'may', 'failed']

/** What of a SIM says how far it is. */
interface Provisioned {
  readonly state: string
  readonly provisioning: { readonly status: string; readonly waits_for: string | null }
}

/** How far a move is by what the service says of its SIM. `isAway`: an outage of the core or of its database goes on. */
export function stepOf(move: Move, { provisioning }: Provisioned, isAway: boolean): Step {
  const { status, waits_for: waitsFor } = provisioning
  if (status === 'failed') return 'failed'
  if (move !== 'resume' && status === 'synced') return 'off'
  if (isAway || waitsFor === 'hss') return 'away'
  if (status === 'synced') return 'may'
  return move !== 'resume' && waitsFor === 'phone' ? 'blocked' : 'asked'
}

/** Whether nothing comes behind it. */
function isEnd(step: Step): boolean {
  return ENDS.includes(step)
}

/** Whether somebody has done something else to the SIM since. */
export function isOvertaken(move: Move, { state }: Pick<Provisioned, 'state'>): boolean {
  if (move === 'resume') return state === 'suspended' || state === 'revoked'
  return state !== (move === 'suspend' ? 'suspended' : 'revoked')
}
