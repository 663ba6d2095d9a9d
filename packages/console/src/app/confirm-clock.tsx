import { useState } from 'preact/hooks'
import { api } from '../api/client.ts'
import { useQuery } from '../api/use-query.ts'
import { locale, t } from '../text/index.ts'
import { Button } from '../ui/button.tsx'
import { FormDialog } from '../ui/dialog.tsx'
import { Checkbox } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { durationText } from '../ui/time.tsx'

/** As far as the service lets what is confirmed and its clock differ. */
const AGREES_MS = 60_000
/** The clock in the question goes on. */
const LOOK_MS = 5_000

/** Asks whether the time that the box shows is right, and how to set it where it is not. For who is an admin. */
export function ConfirmClock({ onDone }: { readonly onDone: () => void }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('system.clock.confirm')}</Button>
      {isOpen ? <Question onDone={onDone} onClose={() => setOpen(false)} /> : null}
    </>
  )
}

function Question({ onDone, onClose }: { readonly onDone: () => void; readonly onClose: () => void }) {
  const { data } = useQuery('/v1/clock', {}, { on: ['clock.*'], everyMs: LOOK_MS })
  const [isSure, setSure] = useState(false)
  const offMs = data === undefined ? 0 : Math.abs(Date.parse(data.machine_time) - Date.now())
  const isOff = offMs > AGREES_MS
  return (
    <FormDialog
      title={t('system.clock.confirm.title')}
      confirm={t('system.clock.confirm.yes')}
      what={data && t('system.clock.confirm.what', { time: timeText(data.machine_time) })}
      isDisabled={data === undefined || (isOff && !isSure)}
      act={() => api.post('/v1/clock/confirm', { body: { time: data?.machine_time ?? '' } })}
      done={t('system.clock.confirmed')}
      onDone={onDone}
      onClose={onClose}
    >
      {isOff ? (
        <Notice tone="warn">
          <p>{t('system.clock.confirm.off', { off: durationText(offMs) })}</p>
          <Checkbox text="system.clock.confirm.sure" isChecked={isSure} onChange={setSure} />
        </Notice>
      ) : null}
      <p>{t('system.clock.confirm.set')}</p>
      <p>{t('system.clock.confirm.depends')}</p>
    </FormDialog>
  )
}

function timeText(at: string): string {
  return new Date(at).toLocaleString(locale(), { dateStyle: 'long', timeStyle: 'short' })
}
