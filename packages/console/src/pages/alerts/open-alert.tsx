import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { may } from '../../api/session.ts'
import { useAction } from '../../api/use-query.ts'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Facts } from '../../ui/facts.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Said } from '../../ui/said.tsx'
import { Time } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.tsx'
import { type Alert, remedyOf, ruleText, subjectText, toneOf } from './alert-words.ts'
import { SilenceDialog } from './silence-dialog.tsx'

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
