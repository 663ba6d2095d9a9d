import { api } from '../../api/client.ts'
import { soonAfter } from '../../api/soon.ts'
import { t } from '../../text/index.ts'
import type { Tone } from '../../ui/lamp.tsx'
import { toast } from '../../ui/toast.tsx'
import type { Sim } from '../sims/sim.tsx'
import { isEnd, isOvertaken, type Move, type Step, stepOf } from './steps.ts'

/** What every dialog here is given. */
export interface SimDialogProps {
  readonly sim: Sim
  /** The tag that the SIM was read with. */
  readonly etag: string | undefined
  readonly onClose: () => void
  readonly onChanged: () => void
}

/** How often it is looked at, for what no event tells of; and for how long at most. */
const LOOK_MS = 2_000
const LONGEST_MS = 30 * 60_000
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
    clearInterval(often)
    clearTimeout(longest)
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
  const stop = soonAfter(['sim.*', 'health.*'], () => void look())
  const often = setInterval(() => void look(), LOOK_MS)
  const longest = setTimeout(end, LONGEST_MS)
  following.set(hash, end)
  void look()
}
