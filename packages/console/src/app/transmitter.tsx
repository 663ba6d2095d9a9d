import { signal } from '@preact/signals'
import type { AnswerOf } from '@steeple/client'
import { listen } from '../api/changes.ts'
import { api } from '../api/client.ts'
import { queryReader } from '../api/query-reader.ts'
import { may } from '../api/session.ts'
import { t } from '../text/index.ts'
import { DialogButton } from '../ui/dialog.tsx'
import { Lamp, type Tone } from '../ui/parts.tsx'
import { toast } from '../ui/toast.tsx'

import { nextLookMs } from './kept-off.ts'

/** State of the TX gate. */
export type Tx = AnswerOf<'GET', '/v1/tx/arm'>

/** The TX gate as it stands; undefined until it is known. */
export const tx = signal<Tx | undefined>(undefined)

const TX_EVENTS = ['tx.*', 'ran.*', 'policy.*', 'node.*', 'config.*', 'settings.*']

/** Keeps `tx` true until the returned function is called. */
export function watchTransmitter(): () => void {
  let timer: ReturnType<typeof setTimeout>
  const plan = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      if (!document.hidden) reader.look()
      plan()
    }, nextLookMs(tx.value))
  }
  // Without a tag: an answer of Stop may have been shown since.
  const reader = queryReader<Tx, string>(
    () => api.get('/v1/tx/arm'),
    (answer) => {
      if (!answer.ok) return
      tx.value = answer.data
      // What is not as it was told is looked at again soon, whatever was planned before.
      plan()
    },
  )
  reader.look()
  plan()
  const stop = listen(TX_EVENTS, reader.look)
  return () => {
    clearTimeout(timer)
    stop()
    reader.end()
  }
}

/** Whether it may be sending: what the lamp and the button go by. */
function isMaybeOnAir(state: Tx | undefined): boolean {
  return state !== undefined && (state.armed || state.transmitter !== 'off')
}

export function OnAirLamp() {
  const state = tx.value
  // Until it is known, nothing is said.
  if (state === undefined) return null
  const [tone, text] = lampOf(state)
  return <Lamp tone={tone} label={text} />
}

function lampOf(state: Tx): readonly [Tone, string] {
  if (state.transmitter === 'on') return ['on', t('tx.on')]
  return state.transmitter === 'unconfirmed' ? ['warn', t('tx.unconfirmed')] : ['none', t('tx.off')]
}

/** Stops the transmitter, after one question. For who may, and while something may be sending. */
export function StopButton() {
  if (!may('operator') || !isMaybeOnAir(tx.value)) return null
  return (
    <DialogButton
      text="tx.stop"
      button={{ icon: 'power', kind: 'danger', size: 'large' }}
      what={t(tx.value?.transmitter === 'off' ? 'tx.stop.what.off' : 'tx.stop.what')}
      isDanger
      act={() => api.post('/v1/tx/disarm')}
      onDone={(state) => {
        tx.value = state
        const isOff = state.transmitter === 'off'
        toast({
          text: t(isOff ? 'tx.stopped' : 'tx.stopped.unconfirmed'),
          tone: isOff ? 'ok' : 'warn',
          about: 'transmitter',
        })
      }}
    />
  )
}
