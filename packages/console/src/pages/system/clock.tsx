import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { may } from '../../api/session.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { locale, t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Facts } from '../../ui/facts.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Said } from '../../ui/said.tsx'
import { durationText, Time } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.tsx'

/** Whether the clock of the machine is believed; who knows the time says so. */
export function Clock() {
  const [isAsked, setAsked] = useState(false)
  const clock = useQuery('/v1/clock', {}, { on: ['clock.*'], everyMs: 30_000 })
  // What this device says is sent too: the service refuses where the two differ by more than a minute.
  const confirm = useAction(() => api.post('/v1/clock/confirm', { body: { time: new Date().toISOString() } }))
  const run = async (): Promise<void> => {
    if ((await confirm.run())?.ok !== true) return
    setAsked(false)
    toast({ text: t('system.clock.confirmed') })
    clock.reload()
  }
  return (
    <section class="card" aria-label={t('system.clock')}>
      <h2>{t('system.clock')}</h2>
      <Loaded query={clock}>
        {({ status, machine_time, service_time, doubt }) => (
          <>
            <p>
              <Lamp tone={status === 'plausible' ? 'ok' : 'bad'} label={word('system.clock', status)} />
            </p>
            {doubt === null ? null : (
              <Notice tone="bad">
                <Said>{doubt}</Said>
              </Notice>
            )}
            <Facts
              facts={[
                [t('system.clock.machine'), <Time key="machine" at={machine_time} />],
                [t('system.clock.service'), status === 'plausible' ? undefined : <Time at={service_time} />],
                [t('system.clock.off'), offText(machine_time)],
              ]}
            />
          </>
        )}
      </Loaded>
      {may('admin') ? (
        <div class="actions">
          <Button onClick={() => setAsked(true)}>{t('system.clock.confirm')}</Button>
        </div>
      ) : null}
      <ConfirmDialog
        isOpen={isAsked}
        title={t('system.clock.confirm.title')}
        confirm={t('system.clock.confirm')}
        isBusy={confirm.isBusy}
        error={confirm.error}
        onConfirm={() => void run()}
        onClose={() => setAsked(false)}
      >
        <p>{t('system.clock.confirm.what', { now: new Date().toLocaleString(locale()) })}</p>
      </ConfirmDialog>
    </section>
  )
}

/** Less than that is the way and the reading. */
const NOTHING_MS = 5_000

function offText(machineTime: string): string | undefined {
  const offMs = Math.abs(Date.parse(machineTime) - Date.now())
  return offMs < NOTHING_MS ? undefined : durationText(offMs)
}
