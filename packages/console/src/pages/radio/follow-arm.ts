import { api } from '../../api/client.ts'
import { watch } from '../../api/soon.ts'
import { tx } from '../../app/transmitter.tsx'
import { t } from '../../text/index.ts'
import { toast } from '../../ui/toast.tsx'

/** A radio starts within seconds; one that needs longer tells why so far. */
const WATCH = { on: ['tx.*', 'ran.*', 'health.*'], everyMs: 2_000, forMs: 60_000 }

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
  }
  const say = (air: Air): void => {
    if (air.is === 'starting' || text(air) === said) return
    said = text(air)
    told.change(said, air.is === 'on' ? 'on' : 'bad')
  }
  const look = async (isLast: boolean): Promise<void> => {
    const [gate, health] = await Promise.all([api.get('/v1/tx/arm'), api.get('/v1/health')])
    if (!gate.ok || !health.ok || isOver) return
    tx.value = gate.data
    if (!gate.data.armed) return end()
    const air = airOf(gate.data, health.data.components, isLast)
    say(air)
    if (air.is === 'on' || isLast) end()
  }
  const stop = watch((isLast) => void look(isLast), WATCH)
}

/** Whether an armed radio sends; `why`: what it says of itself. */
interface Air {
  readonly is: 'on' | 'starting' | 'off'
  readonly why: string
}

/** How far an armed radio is, by the gate and by what its parts say. One that is late sends nothing. */
export function airOf(
  { transmitter }: { readonly transmitter: string },
  components: readonly { readonly kind: string; readonly status: string; readonly detail: string }[],
  isLate = false,
): Air {
  const radios = components.filter(({ kind }) => kind === 'ran')
  const down = radios.find(({ status }) => status === 'down')
  if (down !== undefined) return { is: 'off', why: down.detail }
  const late = radios.find(({ status }) => status !== 'ok')
  const why = (late ?? radios[0])?.detail ?? ''
  if (late === undefined && transmitter === 'on') return { is: 'on', why }
  return { is: isLate ? 'off' : 'starting', why }
}
