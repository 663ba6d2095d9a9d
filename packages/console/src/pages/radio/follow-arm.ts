import { api } from '../../api/client.ts'
import { soonAfter } from '../../api/soon.ts'
import { tx } from '../../app/transmitter.tsx'
import { t } from '../../text/index.ts'
import { toast } from '../../ui/toast.tsx'
import { type Air, airOf } from './air.ts'

const LOOK_MS = 2_000
/** A radio starts within seconds; one that needs longer tells why so far. */
const LONGEST_MS = 60_000

/** Says that a profile was armed, and then whether it is on the air, or why not. */
export function followArm(id: string): void {
  const text = (air: Air): string => {
    if (air.is === 'on') return t('radio.armed.on', { id })
    return air.is === 'off' ? t('radio.armed.off', { id, reason: air.why }) : t('radio.armed.waits', { id })
  }
  const told = toast({ text: text({ is: 'starting', why: '' }), tone: 'none', about: 'transmitter' })
  let isOver = false
  let said = ''
  const end = (): void => {
    isOver = true
    stop()
    clearInterval(often)
    clearTimeout(longest)
  }
  const say = (air: Air): void => {
    if (air.is === 'starting' || text(air) === said) return
    said = text(air)
    told.change(said, air.is === 'on' ? 'on' : 'bad')
  }
  const look = async (isLast = false): Promise<void> => {
    const [gate, health] = await Promise.all([api.get('/v1/tx/arm'), api.get('/v1/health')])
    if (!gate.ok || !health.ok || isOver) return
    tx.value = gate.data
    if (!gate.data.armed) return end()
    const air = airOf(gate.data, health.data.components, isLast)
    say(air)
    if (air.is === 'on' || isLast) end()
  }
  const stop = soonAfter(['tx.*', 'ran.*', 'health.*'], () => void look())
  const often = setInterval(() => void look(), LOOK_MS)
  const longest = setTimeout(() => void look(true), LONGEST_MS)
  void look()
}
