import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { may } from '../../api/session.ts'
import { useAction } from '../../api/use-query.ts'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Facts } from '../../ui/facts.tsx'
import { Field, Select } from '../../ui/field.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Said } from '../../ui/said.tsx'
import { Time } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.tsx'
import { type Alert, remedyOf, ruleText, subjectText, toneOf } from './alert-words.ts'

const HOUR_MS = 3_600_000
const LENGTHS = { hour: HOUR_MS, shift: 8 * HOUR_MS, day: 24 * HOUR_MS, week: 168 * HOUR_MS } as const
const CHOICES = ['hour', 'shift', 'day', 'week', 'until'] as const

/** Asks until when receivers are to be told nothing of an alert's rule and subject. */
function SilenceDialog({
  alert,
  onClose,
  onChanged,
}: {
  readonly alert: Alert
  readonly onClose: () => void
  readonly onChanged: () => void
}) {
  const [choice, setChoice] = useState<string>('hour')
  const [until, setUntil] = useState('')
  const path = { id: alert.id }
  const silence = useAction((end: string | null) =>
    api.post('/v1/alerts/{id}/silence', { path, body: { until: end } }),
  )
  const confirm = async (): Promise<void> => {
    if ((await silence.run(endOf(choice, until)))?.ok !== true) return
    toast({ text: t('alerts.silenced'), undo: () => void silence.run(null).then(onChanged) })
    onChanged()
    onClose()
  }
  return (
    <ConfirmDialog
      isOpen
      title={t('alerts.silence.title')}
      confirm={t('alerts.silence')}
      isBusy={silence.isBusy}
      isDisabled={choice === 'until' && until === ''}
      error={silence.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>{t('alerts.silence.what', { rule: ruleText(alert.rule), subject: subjectText(alert) })}</p>
      <div class="stack">
        <Select
          label={t('alerts.silence.for')}
          value={choice}
          onChange={setChoice}
          options={CHOICES.map((value) => ({ value, label: t(`alerts.silence.${value}`) }))}
        />
        {choice === 'until' ? (
          <Field
            label={t('alerts.silence.until')}
            type="datetime-local"
            value={until}
            onInput={setUntil}
            isRequired
          />
        ) : null}
      </div>
    </ConfirmDialog>
  )
}

function endOf(choice: string, until: string): string {
  const lengthMs = (LENGTHS as Readonly<Record<string, number>>)[choice]
  return (lengthMs === undefined ? new Date(until) : new Date(Date.now() + lengthMs)).toISOString()
}

/** An alert that is not over, with what can be done about it. */
export function OpenAlert({ alert, onChanged }: { readonly alert: Alert; readonly onChanged: () => void }) {
  const [isSilencing, setSilencing] = useState(false)
  const path = { id: alert.id }
  const ack = useAction(() => api.post('/v1/alerts/{id}/ack', { path, body: {} }))
  const end = useAction(() => api.post('/v1/alerts/{id}/silence', { path, body: { until: null } }))
  const acknowledge = async (): Promise<void> => {
    if ((await ack.run())?.ok !== true) return
    toast({ text: t('alerts.acked') })
    onChanged()
  }
  const remedy = remedyOf(alert.rule)
  const error = ack.error ?? end.error
  const isSilent = alert.silenced_until !== null && Date.parse(alert.silenced_until) > Date.now()
  return (
    <article class="card" aria-label={`${ruleText(alert.rule)} ${subjectText(alert)}`}>
      <h2>
        <Lamp
          tone={toneOf(alert.severity)}
          label={`${word('alerts.severity', alert.severity)}: ${ruleText(alert.rule)}`}
        />
      </h2>
      <p>
        <Said>{alert.message}</Said>
      </p>
      {remedy === undefined ? null : <p>{remedy}</p>}
      <Facts facts={factsOf(alert, isSilent)} />
      {error === undefined ? null : <ErrorNotice error={error} />}
      {may('operator') ? (
        <div class="actions">
          {isSilent ? (
            <Button isBusy={end.isBusy} onClick={() => void end.run().then(onChanged)}>
              {t('alerts.silence.end')}
            </Button>
          ) : (
            <Button onClick={() => setSilencing(true)}>{t('alerts.silence')}</Button>
          )}
          {alert.state === 'firing' && alert.acked_at === null ? (
            <Button kind="primary" isBusy={ack.isBusy} onClick={() => void acknowledge()}>
              {t('alerts.ack')}
            </Button>
          ) : null}
        </div>
      ) : null}
      {isSilencing ? (
        <SilenceDialog alert={alert} onClose={() => setSilencing(false)} onChanged={onChanged} />
      ) : null}
    </article>
  )
}

function factsOf(alert: Alert, isSilent: boolean) {
  return [
    [t('alerts.subject'), subjectText(alert)],
    [t('alerts.state'), word('alerts.state', alert.state)],
    [t('alerts.since'), <Time key="since" at={alert.started_at} relative />],
    [
      t('alerts.value'),
      alert.value === null || alert.threshold === null
        ? undefined
        : t('alerts.value.of', { value: alert.value, threshold: alert.threshold }),
    ],
    [
      t('alerts.ackedBy'),
      alert.acked_at === null ? undefined : (
        <>
          {alert.acked_by ?? ''} · <Time at={alert.acked_at} relative />
        </>
      ),
    ],
    [
      t('alerts.silencedUntil'),
      isSilent && alert.silenced_until !== null ? <Time at={alert.silenced_until} /> : undefined,
    ],
  ] as const
}
