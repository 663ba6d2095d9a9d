import { signal } from '@preact/signals'
import type { AnswerOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { listen } from '../api/changes.ts'
import { api } from '../api/client.ts'
import { queryReader } from '../api/query-reader.ts'
import { may } from '../api/session.ts'
import { useAction } from '../api/use-query.ts'
import { t } from '../text/index.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/dialog.tsx'
import { Lamp, type Tone } from '../ui/lamp.tsx'
import { toast } from '../ui/toast.tsx'
import { nextLookMs } from './next-look.ts'

/** State of the TX gate. */
export type Tx = AnswerOf<'GET', '/v1/tx/arm'>

/** The TX gate as it stands; undefined until it is known. */
export const tx = signal<Tx | undefined>(undefined)

const TX_EVENTS = ['tx.*', 'policy.*', 'node.*', 'config.*', 'settings.*']

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
export function isMaybeOnAir(state: Tx | undefined): boolean {
  return state !== undefined && (state.armed || state.transmitter !== 'off')
}

/** The lamp of the header. */
export function OnAirLamp() {
  const state = tx.value
  const [tone, text] = lampOf(state)
  return <Lamp tone={tone} label={text} />
}

function lampOf(state: Tx | undefined): readonly [Tone, string] {
  if (state === undefined) return ['none', t('tx.unknown')]
  if (state.transmitter === 'on') return ['on', t('tx.on')]
  return state.transmitter === 'unconfirmed' ? ['warn', t('tx.unconfirmed')] : ['none', t('tx.off')]
}

/** Stops the transmitter, after one question. For who may, and while something may be sending. */
export function StopButton() {
  const [isAsked, setAsked] = useState(false)
  const stop = useAction(() => api.post('/v1/tx/disarm'))
  if (!may('operator') || !isMaybeOnAir(tx.value)) return null
  const confirm = async (): Promise<void> => {
    const result = await stop.run()
    if (result?.ok !== true) return
    tx.value = result.data
    setAsked(false)
    const isOff = result.data.transmitter === 'off'
    toast({ text: t(isOff ? 'tx.stopped' : 'tx.stopped.unconfirmed'), tone: isOff ? 'ok' : 'warn' })
  }
  return (
    <>
      <Button kind="danger" size="large" onClick={() => setAsked(true)}>
        {t('tx.stop')}
      </Button>
      <ConfirmDialog
        isOpen={isAsked}
        title={t('tx.stop.title')}
        confirm={t('tx.stop')}
        isDanger
        isBusy={stop.isBusy}
        error={stop.error}
        onConfirm={() => void confirm()}
        onClose={() => setAsked(false)}
      >
        <p>{t('tx.stop.what')}</p>
      </ConfirmDialog>
    </>
  )
}
